"""A saved tagger: its scores and predictions agree, in transformers' own pipeline too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.tasks.token_classification.card import CARD, tag_texts
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import evaluate
from tests.support.tiny_tagger import TAGS, TEXT, tiny_tagger, tiny_tokenizer, write_tagger


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tagger(tmp_path_factory.mktemp("tagger") / "tagger-tiny"))


@pytest.fixture(scope="module")
def of_sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """A checkpoint with words and tags of the sample, and the data."""
    data = TokenClassificationDataModule("sample")
    data.setup()
    model = tiny_tagger(tags=data.label_names, vocab_size=data.tokenizer.num_ids)
    return str(write_tagger(tmp_path_factory.mktemp("tagger") / "sample", model, data.tokenizer)), data


def score(checkpoint: str, split: str = "test", **options: Any) -> dict[str, float]:
    return evaluate(checkpoint, "sample", split, accelerator="cpu", progress=False, **options)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_accuracy_is_that_of_the_predictions(of_sample: tuple[str, Any], split: str) -> None:
    checkpoint, data = of_sample
    sentences = [data.texts(split)[row] for row in data.rows(split).tolist()]
    predictions = tag_texts(
        CARD.load_pipeline(checkpoint), [" ".join(one["tokens"]) for one in sentences], batch_size=8
    )
    right = []
    for one, words in zip(sentences, predictions, strict=True):
        assert [word["word"] for word in words] == one["tokens"]
        right += [data.label_names[tag] == word["tag"] for tag, word in zip(one["labels"], words, strict=True)]
    assert 0 < sum(right) < len(right)
    assert score(checkpoint, split)["accuracy"] == pytest.approx(100 * sum(right) / len(right))


def test_batch_size_does_not_matter(of_sample: tuple[str, Any]) -> None:
    one, many = (score(of_sample[0], batch_size=size) for size in (1, 64))
    assert one == pytest.approx(many, rel=1e-4)


def test_other_tags_are_refused_or_left_out(of_sample: tuple[str, Any], tmp_path: Path) -> None:
    checkpoint, data = of_sample
    sentences = [data.texts("test")[row] for row in data.rows("test").tolist()][:5]
    blocks = [
        "".join(f"{word} {data.label_names[tag]}\n" for word, tag in zip(one["tokens"], one["labels"], strict=True))
        for one in sentences
    ]
    (tmp_path / "test.conll").write_text("\n".join(blocks))  # of some tags alone
    known = evaluate(checkpoint, str(tmp_path), accelerator="cpu", progress=False)
    (tmp_path / "test.conll").write_text("\n".join([*blocks[:2], "a X\nb X\n", *blocks[2:]]))
    with pytest.raises(ValueError, match=r"row 2: a tag that the model does not have; 2 of \d+ words .* 'X' \(2\);"):
        evaluate(checkpoint, str(tmp_path), accelerator="cpu", progress=False)
    with collect_reading_notes(skip_bad=True) as notes:
        assert evaluate(checkpoint, str(tmp_path), accelerator="cpu", progress=False) == pytest.approx(known)
    assert notes.counts() == {LEFT_OUT: 1}


def expected(text: str) -> list[tuple[str, str, float]]:
    model, tokenizer = tiny_tagger(), tiny_tokenizer()
    with torch.no_grad():
        probabilities = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(dim=1)
    best, tags = probabilities.max(dim=1)
    return [(word, TAGS[tag], p) for word, tag, p in zip(text.split(), tags.tolist(), best.tolist(), strict=True)]


@pytest.mark.parametrize("batch_size", [1, 3])
def test_every_word_of_every_text_is_tagged(checkpoint: str, batch_size: int) -> None:
    texts = [TEXT, "unknown", "  the\t[PAD]  [UNK] lamp", "Lamp lamp LAMP", "shine . 00 old old the unknown lamp"]
    found = tag_texts(CARD.load_pipeline(checkpoint), texts, batch_size=batch_size)
    for text, words in zip(texts, found, strict=True):
        assert [(word["word"], word["tag"]) for word in words] == [pair[:2] for pair in expected(text)]
        assert [word["score"] for word in words] == pytest.approx([pair[2] for pair in expected(text)], rel=1e-4)
    assert len({word["tag"] for words in found for word in words}) > 2
    assert "O" in {word["tag"] for words in found for word in words}  # which the pipeline drops by default


def test_a_text_without_words_has_no_tags(checkpoint: str) -> None:
    assert tag_texts(CARD.load_pipeline(checkpoint), [" \n"]) == [[]]


def test_the_stock_pipeline_takes_texts_and_words(checkpoint: str) -> None:
    tagger = pipeline("token-classification", model=checkpoint)
    found = tagger(TEXT, ignore_labels=[])
    assert [(TEXT[word["start"] : word["end"]], word["entity"]) for word in found] == [x[:2] for x in expected(TEXT)]
    assert [word["word"] for word in found][3:6] == ["'s", "light", "can"]  # unknown words as they are written
    assert tagger([TEXT.split()], is_split_into_words=True, ignore_labels=[])[0] == found
    groups = tagger(TEXT, aggregation_strategy="simple", ignore_labels=[])
    assert sum(len(group["word"].split()) for group in groups) == len(found)
