from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ctxzoo.catalogue import order
from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.order import apply_stored_order, hash_row_values
from ctxzoo.catalogue.read_samples import read_headline_sample, read_wikipedia_sample, read_yelp_sample, repair_mojibake


def orders(monkeypatch: pytest.MonkeyPatch, **keys: list[tuple[object, ...]]) -> None:
    arrays = {split: np.array([hash_row_values(values) for values in rows], np.uint32) for split, rows in keys.items()}
    monkeypatch.setattr(order, "load_packaged_arrays", lambda name: arrays)


def test_rows_are_arranged_and_absent_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    orders(monkeypatch, train=[("b", 1), ("absent", 0), ("a", 0)], test=[("a", 1)])
    rows = [
        {"t": "a", "n": 0, "x": 1},
        {"t": "a", "n": 1, "x": 2},
        {"t": "b", "n": 1, "x": 3},
        {"t": "a", "n": 0, "x": 4},
    ]
    assert apply_stored_order(rows, ("t", "n"), "any") == {
        "train": {"t": ["b", "a"], "n": [1, 0], "x": [3, 1]},
        "test": {"t": ["a"], "n": [1], "x": [2]},
    }


def test_keys_tell_where_values_end() -> None:
    assert hash_row_values(("ab", "c")) != hash_row_values(("a", "bc"))
    assert hash_row_values(("text", 1)) == 1087305582, "stored orders are made of these"


def test_yelp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(
        monkeypatch,
        train=[('it was \\"fine\\"\\n\\nreally', 4), ("so so", 2)],
        test=[('bad\\n\\"food\\"', 0), ("good", 3)],
    )
    first = [{"label": "neutral", "sentence": "Text: so so\n"}]
    (tmp_path / "train.json").write_text(json.dumps(first), encoding="utf-8")
    (tmp_path / "dev.csv").write_text(
        'text,label1,label2\n"bad\n""food"" ",Business Category: Bars,Review Stars: 1.0\n'
    )
    (tmp_path / "test.csv").write_text("text,label1,label2\ngood,Business Category: Bars,Review Stars: 4.0\n")
    with zipfile.ZipFile(tmp_path / "yelp.csv.zip", "w") as archive:
        archive.writestr("yelp.csv", 'id,stars,text\nx,5,"it was ""fine""\r\n\r\nreally"\n')
    files = {name: tmp_path / name for name in ("train.json", "dev.csv", "test.csv", "yelp.csv.zip")}
    splits = read_yelp_sample(files)
    assert splits["train"] == {"label": [4, 2], "text": ['it was \\"fine\\"\\n\\nreally', "so so"]}
    assert splits["test"]["label"] == [0, 3]
    (tmp_path / "test.csv").write_text("text,label1,label2\ngood,x,Review Stars: 6.0\n")
    with pytest.raises(RawFileError, match=r"test\.csv: '6\.0' stars; expected 1 to 5"):
        read_yelp_sample(files)
    (tmp_path / "dev.csv").write_text("words\n")
    with pytest.raises(RawFileError, match=r"dev\.csv has the columns .*; expected 'text'"):
        read_yelp_sample(files)


def test_headlines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(
        monkeypatch,
        train=[('"Candy Crush" maker', 0), ("Swift’s mansion", 2)],
        test=[("Plane found", 1), ("Fed waits", 0)],
    )
    contents = {
        "train.txt": 'b\t"""Candy Crush"" maker"\ne\tSwiftâ€™s mansion\n',
        "valid.txt": "t\tPlane found\n",
        "test.txt": "broken by a stray quote\nm\n",
        "publishers-train.txt": '7\t"""Candy Crush"" maker"\thttp://x\tReuters\tb\ts\th\t1\n',
        "publishers-valid.txt": "8\tSwiftâ€™s mansion\thttp://x\tContactmusic.com\te\ts\th\t1\n",
        "publishers-test.txt": "",
        "uci-news-aggregator.csv": "ID,TITLE,URL,PUBLISHER,CATEGORY,STORY,HOSTNAME\n1,Fed waits,u,NASDAQ,b,s,h\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    splits = read_headline_sample({name: tmp_path / name for name in contents})
    assert splits["train"]["publisher"] == ["Reuters", "Contactmusic.com"]
    assert splits["test"] == {
        "title": ["Plane found", "Fed waits"],
        "label": [1, 0],
        "publisher": ["Daily Mail", "NASDAQ"],
    }


def test_repaired_leaves_right_characters_alone() -> None:
    assert repair_mojibake("â€˜Nâ€™ café – naÃ¯ve â€\x9d") == "‘N’ café – naïve ”"


def wikipedia(number: int, body: str) -> str:
    return f'<doc id="{number}" url="http://x?curid={number}" title="A &amp; B">\nA &amp; B\n\n{body}\n</doc>\n'


def test_wikipedia(tmp_path: Path) -> None:
    long = " ".join(["word"] * 600)
    # 305 is of train, 786 of test, 1484 of validation, 12 of none.
    texts = [
        wikipedia(12, long),
        wikipedia(786, f"{long}\n\n{long}\n &lt;ref&gt;see</ref> x &amp;  y <br />"),
        wikipedia(305, f"{long}\nHistory.\n"),
        wikipedia(1484, "short"),
    ]
    (tmp_path / "AA-wiki_00").write_text("".join(texts[:2]), encoding="utf-8")
    (tmp_path / "AA-wiki_01").write_text("".join(texts[2:]), encoding="utf-8")
    splits = read_wikipedia_sample({path.name: path for path in sorted(tmp_path.iterdir())})
    assert splits["train"] == {"curid": [305], "title": ["A & B"], "text": [f"{long}\nHistory."]}
    assert splits["test"]["text"] == [long, f"{long}\nsee x & y "]
    assert splits["validation"] == {}
    (tmp_path / "AA-wiki_02").write_text("no article", encoding="utf-8")
    with pytest.raises(RawFileError, match="AA-wiki_02 holds no <doc"):
        read_wikipedia_sample({"AA-wiki_02": tmp_path / "AA-wiki_02"})
