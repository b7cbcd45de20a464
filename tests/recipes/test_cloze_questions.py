"""The recipe writes files that the readers' recipe reads, without articles of the test."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pytest

from ctxzoo.tasks.question_answering import reader
from ctxzoo.tasks.question_answering.reader import read_squad
from recipes.cloze_questions import Settings, main
from tests.tasks.question_answering.test_cloze import FILLER, LIFE, WORK


@pytest.fixture
def text(tmp_path: Path, small_sample: None) -> Path:
    """Two articles of two rows, one of two hundred, and one that quotes the test split of the sample."""
    quoted = next(context for context in reader.sample_squad()["test"]["context"] if len(context.split()) > 12)
    rows = [
        *((title, f"{sentence} {FILLER}.\nHeading.") for title in ("Ada", "Byron") for sentence in (LIFE, WORK)),
        *[("filler", FILLER)] * 200,
        *(("quoted", f"{sentence} {FILLER}.\n{quoted}") for sentence in (LIFE, WORK)),
    ]
    titles, texts = zip(*rows, strict=True)
    folder = tmp_path / "text"
    for split in ("train", "validation"):
        datasets.Dataset.from_dict({"title": titles, "text": texts}).to_parquet(folder / f"{split}.parquet")
    return folder


def settings(text: Path, **changes: object) -> Settings:
    return Settings(**{"dataset": str(text), "held_out": "sample", "output_dir": str(text.parent / "out"), **changes})  # type: ignore[arg-type]


def test_its_files_are_squad_without_the_articles_of_the_test(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(settings(text))
    read = read_squad(str(text.parent / "out"))
    assert read.squad_version == "1.1"
    assert {name: len(rows) for name, rows in read.splits.items()} == {"train": 4, "validation": 4}
    assert set(read.splits["train"]["title"]) == {"Ada", "Byron"}
    assert "train: 4 of 4 questions, 3 articles, 1 left out" in capsys.readouterr().out
    assert (
        "cloze"
        in json.loads((text.parent / "out" / "train.json").read_text())["data"][0]["paragraphs"][0]["qas"][0]["id"]
    )


def test_a_draw_of_the_questions_keeps_their_order(text: Path) -> None:
    main(settings(text, questions=3))
    ids = read_squad(str(text.parent / "out")).splits["train"]["id"]
    numbers = [int(name.removeprefix("cloze")) for name in ids]
    assert len(numbers) == 3
    assert numbers == sorted(numbers)


def test_text_without_titles_or_questions_is_refused(tmp_path: Path, text: Path) -> None:
    datasets.Dataset.from_dict({"text": [LIFE]}).to_parquet(tmp_path / "untitled" / "train.parquet")
    with pytest.raises(ValueError, match="'title'"):
        main(settings(tmp_path / "untitled", output_dir=str(tmp_path / "none")))
    assert not list((tmp_path / "none").iterdir())
    with pytest.raises(ValueError, match="gives no question"):
        main(settings(text, min_overlap=1000))
