"""Perplexity of text against a loop in float64 over its words."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings import evaluate, evaluation
from ctxzoo.tasks.word_embeddings.evaluation import score_word_prediction
from ctxzoo.tasks.word_embeddings.sample import SAMPLE_SEED, sample_corpus
from tests.references.word_embedding import reference_loss
from tests.support.tiny_word_embedding import tiny_model, tiny_tokenizer, write_tiny

SHORT_LINES = ["the mill stands", "in 1710", "town", "", "nothing known", "the town in the mill ."]


def loss_of(model: WordEmbeddingForMaskedLM, words: str) -> list[float]:
    ids = tiny_tokenizer()(words)["input_ids"]
    return [reference_loss(model, ids, place, word) for place, word in enumerate(ids)]


def test_every_word_counts_once() -> None:
    model = tiny_model()
    losses = [loss for line in (SHORT_LINES[0], SHORT_LINES[1], SHORT_LINES[5]) for loss in loss_of(model, line)]
    assert len(losses) == 3 + 2 + 6
    found = score_word_prediction(model, tiny_tokenizer(), SHORT_LINES, words=100)
    assert found["nll"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp(found["nll"]))


def test_it_ends_with_the_line_that_reaches_the_wanted_words() -> None:
    model, taken = tiny_model(), []

    def lines() -> object:
        for line in SHORT_LINES:
            taken.append(line)
            yield line

    found = score_word_prediction(model, tiny_tokenizer(), lines(), words=4)
    assert taken == SHORT_LINES[:2]
    losses = [loss for line in taken for loss in loss_of(model, line)]
    assert found["nll"] == pytest.approx(sum(losses) / 5, rel=1e-5)


def test_long_lines_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PIECE_WORDS", 4)
    model = tiny_model()
    found = score_word_prediction(model, tiny_tokenizer(), [SHORT_LINES[5]], words=100)
    losses = loss_of(model, "the town in the")
    assert found["nll"] == pytest.approx(sum(losses) / 4, rel=1e-5)


def test_text_without_two_known_words_in_a_line_is_named() -> None:
    with pytest.raises(ValueError, match="no line of the test text has two known words; give other text"):
        score_word_prediction(tiny_model(), tiny_tokenizer(), SHORT_LINES[2:5], words=100)


LINES = ["the mill stands in town .", "in the mill 1710 stands ."]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("embeddings") / "tiny")


def expected(lines: list[str], words: int = 100) -> dict[str, float]:
    return pytest.approx(score_word_prediction(tiny_model(), tiny_tokenizer(), lines, words=words), rel=1e-5)


def test_a_file_of_text(checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES))
    assert evaluate(checkpoint, str(file), "train") == expected(LINES)
    assert evaluate(checkpoint, str(file), "train", words=1) == expected(LINES[:1]) != expected(LINES)
    with pytest.raises(ValueError, match=r"has no split 'test'; it has train"):
        evaluate(checkpoint, str(file))


def test_a_split_and_a_column_of_a_dataset(checkpoint: Path, tmp_path: Path) -> None:
    splits = {split: Dataset.from_dict({"line": [line]}) for split, line in zip(("train", "test"), LINES, strict=True)}
    for split, rows in DatasetDict(splits).items():
        (tmp_path / "texts").mkdir(exist_ok=True)
        rows.to_csv(tmp_path / "texts" / f"{split}.csv")
    assert evaluate(checkpoint, str(tmp_path / "texts"), text_column="line") == expected(LINES[1:])
    with pytest.raises(ValueError, match="no column 'text'"):
        evaluate(checkpoint, str(tmp_path / "texts"))


def test_several_columns_and_none(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    columns = {"line": LINES[:1], "other": LINES[1:2], "number": [1]}
    Dataset.from_dict(columns).to_csv(tmp_path / "texts" / "test.csv")
    both = evaluate(checkpoint, str(tmp_path / "texts"), text_column=["other", "line"])
    assert both == expected([LINES[1], LINES[0]])
    with pytest.raises(ValueError, match="no column 'title'"):
        evaluate(checkpoint, str(tmp_path / "texts"), text_column=["line", "title"])
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    with pytest.raises(ValueError, match=r"text\.txt is running text, .* no column line, other: name none"):
        evaluate(checkpoint, str(tmp_path / "text.txt"), "train", text_column=["line", "other"])


def test_generated_sentences_are_others_than_those_of_trainings(checkpoint: Path) -> None:
    lines = list(itertools.islice(sample_corpus(SAMPLE_SEED), 200))
    train, test = (evaluate(checkpoint, "sample", split, words=100) for split in ("train", "test"))
    assert train == expected(lines)
    assert test["perplexity"] != pytest.approx(train["perplexity"], rel=1e-6)
    with pytest.raises(ValueError, match="sample has no split 'dev'; it has train, test"):
        evaluate(checkpoint, "sample", "dev")


def test_a_model_in_memory(checkpoint: Path) -> None:
    found = evaluate(tiny_model(), "sample", tokenizer=tiny_tokenizer(), words=50)
    assert found == pytest.approx(evaluate(checkpoint, "sample", words=50))
    with pytest.raises(ValueError, match="a WordEmbeddingForMaskedLM was given without its tokenizer"):
        evaluate(tiny_model(), "sample")


def test_refuses(checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="words is 0"):
        evaluate(checkpoint, "sample", words=0)
    with pytest.raises(FileNotFoundError, match="there is no checkpoint '/nowhere/at/all'"):
        evaluate("/nowhere/at/all", "sample")
