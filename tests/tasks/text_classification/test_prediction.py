"""`ctxzoo predict` reads the rows that `ctxzoo train` read, and writes them back with all that the model says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.data.text_columns import join_texts
from ctxzoo.tasks.text_classification.reader import read_texts
from tests.support.toy_classifier import LABELS, registered_toy, toy_data, write_toy

ROWS = pd.DataFrame(
    {
        "id": ["007", "01", "1"],
        "subject": ["w1 w2", "w3 w4", ""],
        "body": ["w5", "w6 w7 w8", "zz yy"],
        "label": ["good", "bad", "good"],
    }
)
READ = ["w1 w2\nw5", "w3 w4\nw6 w7 w8", "zz yy"]
BOTH = ["--text_column", "subject", "body"]
COLUMNS = ["predicted_label", "predicted_probability", *(f"probability_{name}" for name in LABELS)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("toy")
    with registered_toy():
        yield str(write_toy(folder / "checkpoint", toy_data(folder)))


def as_file(folder: Path, kind: str) -> Path:
    file = folder / f"rows.{kind}"
    write = {"csv": ROWS.to_csv, "csv.gz": ROWS.to_csv, "parquet": ROWS.to_parquet}
    if kind == "jsonl":
        ROWS.to_json(file, orient="records", lines=True)
    elif kind == "tsv":
        ROWS.to_csv(file, sep="\t", index=False)
    else:
        write[kind](file, index=False)
    return file


def expected(checkpoint: str) -> pd.DataFrame:
    """What transformers' pipeline says of the texts."""
    found = ctxzoo.pipeline(checkpoint)(READ, top_k=None, batch_size=3)
    told = [{f"probability_{one['label']}": one["score"] for one in each} for each in found]
    best = [max(each, key=lambda one: one["score"]) for each in found]
    chosen = {
        "predicted_label": [one["label"] for one in best],
        "predicted_probability": [one["score"] for one in best],
    }
    return pd.concat([ROWS, pd.DataFrame(chosen), pd.DataFrame(told)], axis=1)


def test_every_kind_of_file_gives_the_same_answers(
    checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = expected(checkpoint)
    for kind in ("csv", "tsv", "jsonl", "parquet", "csv.gz"):
        file, out = as_file(tmp_path, kind), tmp_path / "out.csv"
        assert main(["predict", checkpoint, "--file", str(file), "--output", str(out), "--batch_size", "2", *BOTH]) == 0
        captured = capsys.readouterr()
        assert captured.out == f"3 labels: {out}\n"
        assert "knows no word of 1 of 3 texts (row 2; rows are counted from 0)" in captured.err
        found = pd.read_csv(out, dtype={"id": str}, keep_default_na=False)
        assert found["no_known_word"].tolist() == [False, False, True]
        assert found["words_left_out"].tolist() == [0, 0, 0]
        pd.testing.assert_frame_equal(found[table.columns], table, rtol=1e-5)
        assert found[[f"probability_{name}" for name in LABELS]].sum(axis=1).tolist() == pytest.approx([1, 1, 1])


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux alone")
def test_answers_of_texts_that_processes_share_are_the_same(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.concat([ROWS] * 7).to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr("ctxzoo.data.rows.CHUNK", 8)
    told, written = [], []
    for processes in (1, 2):
        monkeypatch.setattr("ctxzoo.runs.processes.count_sharing_processes", lambda number=processes: number)
        monkeypatch.setattr("ctxzoo.tasks.text_classification.prediction.SHARED_TEXTS", 6)
        out = tmp_path / "out.csv"
        assert main(["predict", checkpoint, "--file", str(tmp_path / "rows.csv"), "--output", str(out), *BOTH]) == 0
        told.append(capsys.readouterr())
        written.append(pd.read_csv(out))
    pd.testing.assert_frame_equal(*written, rtol=1e-6)
    assert told[0] == told[1]
    assert "knows no word of 7 of 21 texts (row 2, 5, 8, 11, 14, …; rows are counted from 0)" in told[0].err
    assert written[0]["predicted_probability"].nunique() > 2


def test_json_lines_nest_what_csv_spreads(checkpoint: str, tmp_path: Path) -> None:
    out = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "jsonl", "json")}
    for file in out.values():
        command = ["predict", checkpoint, "--file", str(as_file(tmp_path, "csv")), "--output", str(file), *BOTH]
        assert main(command) == 0
    table = pd.read_csv(out["csv"], dtype={"id": str}, keep_default_na=False)
    lines = [json.loads(line) for line in out["jsonl"].read_text().splitlines()]
    assert [line.pop("probabilities") for line in lines] == [
        {name: row[f"probability_{name}"] for name in LABELS} for row in table.to_dict("records")
    ]
    names = [name for name in table.columns if not name.startswith("probability_")]
    assert lines == table[names].to_dict("records")
    alone = [{"label": row["predicted_label"], "score": row["predicted_probability"]} for row in lines]
    assert json.loads(out["json"].read_text()) == [*alone[:2], {**alone[2], "no_known_word": True}]


def test_standard_input_to_standard_output(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with as_file(tmp_path, "csv").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["predict", checkpoint, "--file", "-", *BOTH]) == 0
    captured = capsys.readouterr()
    header, *lines = captured.out.splitlines()
    assert header.split(",")[: 4 + len(COLUMNS)] == [*ROWS.columns, *COLUMNS]
    assert lines[0].startswith("007,w1 w2,w5,good,")
    assert captured.err.splitlines()[:2] == [
        "ctxzoo: the standard input is read as csv (--format says otherwise)",
        "3 labels",
    ]


def test_a_training_reads_and_records_the_same_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is trained on two columns is predicted, and scored, on the two without being told again."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": n, "head": f"good day {n}" if n % 2 else None, "rest": f"bad night {n}" if n % 3 else "", "kind": k}
        for n, k in enumerate(["yes", "no"] * 15, start=1)
        if n % 2 or n % 3
    ]
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    texts = read_texts("rows.csv", text_column=["head", "rest"], label_column="kind").splits["train"]["text"][:]
    assert texts == [join_texts([row["head"] or "", row["rest"]]) for row in rows]
    command = ["train", "text-classification", "--data", "rows.csv", "--text_column", "head", "rest", "--label_column"]
    assert main([*command, "kind", "--tiny", "--linear", "no", "--threads", "1"]) == 0
    (checkpoint,) = (str(path.parent) for path in Path("runs").rglob("model.safetensors"))
    capsys.readouterr()
    card = Path(checkpoint, "README.md").read_text(encoding="utf-8")
    assert not any(part in card for row in rows for part in (row["head"], row["rest"]) if part)
    assert "license:" not in card
    assert "language:" not in card
    for columns, out in (
        ([], "a.json"),
        (["--text_column", "head", "rest"], "b.json"),
        (["--text_column", "head"], "c.json"),
    ):
        if "c" not in out:
            assert main(["predict", checkpoint, "--file", "rows.csv", "--output", out, *columns]) == 0
    assert Path("a.json").read_text() == Path("b.json").read_text()
    lines = Path("lines.jsonl")
    lines.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    assert main(["predict", checkpoint, "--file", str(lines), "--output", "d.json"]) == 2
    assert "no column 'head', no column 'rest' for the text" in capsys.readouterr().err
    assert main(["predict", checkpoint, "--file", str(lines), "--output", "d.json", "--text_column", "text"]) == 0
    assert Path("a.json").read_text() == Path("d.json").read_text()
    scored = ["evaluate", checkpoint, "--dataset", "rows.csv", "--split", "train", "--label_column", "kind"]
    assert main([*scored, "--output", "scores.json", "--device", "cpu", "--threads", "1"]) == 0
    right = [one["label"] == row["kind"] for one, row in zip(json.loads(Path("a.json").read_text()), rows, strict=True)]
    accuracy = json.loads(Path("scores.json").read_text())["metrics"]["accuracy"]
    assert accuracy == pytest.approx(100 * sum(right) / len(right))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text_column", "head", "rest"], "no column 'head', no column 'rest' for the text; rename one of ['id', "),
        ([], "no column of the usual names text, sentence, document, content, review for the text"),
        (["--text_column", "body", "--device", "cuda"], "--device cuda: torch finds no GPU"),
        (["--text_column", "subject"], "row 2: '' in 'subject'; expected a text, or leave the row out"),
    ],
)
def test_predict_refuses(
    checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    import torch

    if "cuda" in message and torch.cuda.is_available():
        message = "labels"
    main(
        ["predict", checkpoint, "--file", str(as_file(tmp_path, "csv")), "--output", str(tmp_path / "o.csv"), *options]
    )
    assert message in "".join(capsys.readouterr())


def test_bad_rows_are_left_out_and_counted(checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, file = tmp_path / "o.csv", as_file(tmp_path, "csv")
    command = ["predict", checkpoint, "--file", str(file), "--output", str(out), "--text_column", "subject"]
    assert main([*command, "--skip_bad"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"2 labels: {out}\n"
    assert "--skip_bad left out 1 of the data" in captured.err
    assert pd.read_csv(out, dtype=str)["id"].tolist() == ["007", "01"]


def test_both_missing_columns_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    message = r"usual names text.* for the text, and no column 'z' for the label; .* \(or set `text_column`, `label_col"
    with pytest.raises(ValueError, match=message):
        read_texts(str(tmp_path / "a.csv"), label_column="z")
