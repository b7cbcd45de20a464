"""Each problem answers the rows of a user's file beside their own columns, as it answers one that is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.tasks.token_classification.card import tag_texts
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer, write_tiny
from tests.support.tiny_tagger import TAGS, write_tagger
from tests.support.tiny_word_embedding import TEXT as MASKED
from tests.support.tiny_word_embedding import tiny_model as tiny_embeddings
from tests.support.tiny_word_embedding import tiny_tokenizer as embeddings_tokenizer
from tests.support.tiny_word_embedding import write_tiny as write_embeddings


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))


def predict(checkpoint: Path, file: str, output: str, *options: str) -> Any:
    """What is written: a table of a .csv file, the objects of others."""
    assert main(["predict", str(checkpoint), "--file", file, "--output", output, *options]) == 0
    if output.endswith(".csv"):
        return pd.read_csv(output, dtype={"id": str}, keep_default_na=False)
    text = Path(output).read_text(encoding="utf-8")
    return json.loads(text) if output.endswith(".json") else [json.loads(line) for line in text.splitlines()]


def test_tags_of_every_kind_of_file(tmp_path: Path) -> None:
    tagger = write_tagger(tmp_path / "tagger")
    sentences = ["the old lamp can shine .", "unknown"]
    words = [sentence.split() for sentence in sentences]
    expected = [
        [(word["word"], word["tag"]) for word in one] for one in tag_texts(ctxzoo.pipeline(str(tagger)), sentences)
    ]
    Path("a.txt").write_text("\n".join(sentences))
    Path("a.csv").write_text("id,text\n" + "".join(f"{n:03},{one}\n" for n, one in enumerate(sentences)))
    pd.DataFrame({"id": ["000", "001"], "tokens": words}).to_parquet("a.parquet")
    Path("a.jsonl").write_text("\n".join(json.dumps({"id": f"{n:03}", "tokens": one}) for n, one in enumerate(words)))
    Path("a.conll").write_text("\n\n".join("\n".join(f"{word}\tNN" for word in one) for one in words) + "\n")
    for file in ("a.txt", "a.csv", "a.parquet", "a.jsonl", "a.conll"):
        lines = predict(tagger, file, "out.jsonl")
        found = [
            list(zip(line.get("tokens") or line["text"].split(), line["predicted_tags"], strict=True)) for line in lines
        ]
        assert found == expected, file
        for line in lines:
            assert [sum(each.values()) for each in line["probabilities"]] == pytest.approx(
                [1.0] * len(line["predicted_tags"])
            )
        assert [line.get("id", "000") for line in lines][:1] == ["000"]
        table = predict(tagger, file, "out.csv")
        assert list(zip(table["word"], table["predicted_tag"], strict=True)) == [
            pair for one in expected for pair in one
        ]
        assert table["sentence"].tolist() == [0] * 6 + [1]
        best = table[[f"probability_{tag}" for tag in TAGS]].max(axis=1)
        assert best.tolist() == table["predicted_probability"].tolist()
    assert predict(tagger, "a.conll", "out.csv")["tags"].tolist() == ["NN"] * 7
    alone = predict(tagger, "a.parquet", "out.json")
    assert [[(word["word"], word["tag"]) for word in one] for one in alone] == expected


def test_tags_of_rows_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = write_tagger(tmp_path / "tagger")
    Path("a.jsonl").write_text('{"tokens": ["the"]}\n{"tokens": ["two words"]}\n{"tokens": []}\n')
    assert main(["predict", str(tagger), "--file", "a.jsonl"]) == 2
    assert "row 1: \"['two words']\" in 'tokens'; expected a list of words" in capsys.readouterr().err
    assert len(predict(tagger, "a.jsonl", "out.jsonl", "--skip_bad")) == 1
    assert "left out 2 of the data" in capsys.readouterr().err


def test_questions_of_every_kind_of_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = write_tiny(tmp_path / "reader")
    rows = [
        {"id": "007", "question": QUESTION, "context": CONTEXT},
        {"id": "7", "question": CONTEXT, "context": QUESTION},
    ]
    alone = ask(tiny_model(), tiny_tokenizer())
    pd.DataFrame(rows).to_csv("q.csv", index=False)
    pd.DataFrame(rows).to_parquet("q.parquet")
    Path("q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    paragraphs = [{"context": row["context"], "qas": [{"id": row["id"], "question": row["question"]}]} for row in rows]
    Path("folder").mkdir()
    for file in (Path("q.json"), Path("folder/q.json")):
        file.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    for file in ("q.csv", "q.parquet", "q.jsonl", "q.json", "folder"):
        table = predict(reader, file, "out.csv")
        assert table["id"].tolist() == ["007", "7"]
        assert table["predicted_answer"][0] == alone["answer"]
        assert table["no_answer_score"][0] == pytest.approx(alone["no_answer_score"], rel=1e-5)
        assert "2 answers" in capsys.readouterr().out
        assert predict(reader, file, "out.json") == dict(zip(table["id"], table["predicted_answer"], strict=True))
    pd.DataFrame(rows).drop(columns=["question", "context"]).to_csv("q.csv", index=False)
    assert main(["predict", str(reader), "--file", "q.csv"]) == 2
    assert "no column 'question', 'context'; there are ['id']" in capsys.readouterr().err


def test_masked_words_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embeddings = write_embeddings(tmp_path / "embeddings")
    best = FILL_MASK.predict(tiny_embeddings(), embeddings_tokenizer(), {"text": MASKED})
    pd.DataFrame({"id": ["01", "02"], "words": [MASKED, "no mask"]}).to_csv("m.csv", index=False)
    column = ["--text_column", "words"]
    table = predict(embeddings, "m.csv", "out.csv", "--skip_bad", *column)
    assert table["id"].tolist() == ["01"]
    (line,) = predict(embeddings, "m.csv", "out.jsonl", "--skip_bad", *column)
    words = pd.read_csv("out.csv", dtype=str).filter(regex="predicted_word").iloc[0].tolist()
    assert [one["word"] for one in line["predicted_words"]] == words
    assert table["predicted_word_1"][0] in json.dumps(best)
    capsys.readouterr()
    assert main(["predict", str(embeddings), "--file", "m.csv", *column]) == 2
    assert "m.csv, row 1: 'no mask' has 0 [MASK]; expected one" in capsys.readouterr().err
