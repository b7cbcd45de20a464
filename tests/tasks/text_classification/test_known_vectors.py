"""What a text classifier knows by given word vectors: words that no training text has, in no other language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear import WordVectorFeatures
from ctxzoo.word_vectors.vectors import read_word_vectors

pytestmark = pytest.mark.usefixtures("own_cache")


def write_texts(path: Path, texts: Sequence[str], labels: Sequence[str]) -> str:
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True)))
    return str(path)


def build_vector_data(dataset: str, **options: Any) -> TextClassificationDataModule:
    vectors: dict[str, Any] = {"word_vectors": "small", "vector_words": 2_000}
    data = TextClassificationDataModule.from_options(
        dataset, pre_tokenizer="english", min_word_count=1, **vectors, **options
    )
    data.setup()
    return data


def test_words_of_given_vectors_are_known_beside_those_of_the_texts(tmp_path: Path) -> None:
    texts = ["the president said so frobnicated", "the company had more money"] * 20
    data = build_vector_data(write_texts(tmp_path / "a.csv", texts, ["yes", "no"] * 20))
    sizes = data.model_sizes()
    assert sizes["trained_words"] == 1 + len(set(" ".join(texts).split()))
    assert sizes["word_dim"] == 100
    assert len(data.tokenizer) > 1_900
    assert data.tokenizer("a former minister")["attention_mask"] == [1, 1, 1]  # none of them is in the texts
    fixed = data.build_fixed_vectors()
    unknown = data.tokenizer("frobnicated")["input_ids"]
    assert fixed.vectors[unknown].abs().max() == 0
    assert fixed.differences[unknown].abs().max() > 0
    known = data.tokenizer("president")["input_ids"]
    expected = read_word_vectors("small").vector("president")
    torch.testing.assert_close(fixed.vectors[known[0]] * fixed.scales, expected, atol=0.03, rtol=0)
    assert fixed.differences[known].abs().max() == 0


def test_vectors_of_another_language_are_left_out_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["niemand wollte gestern abends spazieren gehen", "jeder konnte morgens fruehstuecken und lesen"] * 20
    data = build_vector_data(write_texts(tmp_path / "a.csv", texts, ["ja", "nein"] * 20))
    assert "too few to help; training starts without them" in caplog.text
    assert not data.has_fixed_vectors
    assert "trained_words" not in data.model_sizes()


def test_a_number_of_words_of_no_vectors_is_refused() -> None:
    with pytest.raises(ValueError, match="vector_words=5 with word_vectors=None; expected 0"):
        TextClassificationDataModule.from_options("sample", vector_words=5)


def test_drawn_training_rows_leave_the_validation_rows_as_test(tmp_path: Path) -> None:
    texts, labels = [f"text number {number}" for number in range(200)], ["yes", "no"] * 100
    path = write_texts(tmp_path / "a.csv", texts, labels)
    options = {"pre_tokenizer": "english", "min_word_count": 1, "dev_share": 0.2}
    whole = TextClassificationDataModule.from_options(path, **options)
    whole.setup()
    some = TextClassificationDataModule.from_options(path, **options, train_rows=50, train_seed=3)
    some.setup()
    assert set(some.rows("test")) == set(whole.rows("validation"))
    drawn = {*some.rows("train").tolist(), *some.rows("validation").tolist()}
    assert (len(some.rows("train")), len(some.rows("validation")), len(drawn)) == (40, 10, 50)
    assert drawn <= set(whole.rows("train").tolist())
    rare = write_texts(tmp_path / "b.csv", texts, [*labels[:-2], "rare", "rare"])
    few = TextClassificationDataModule.from_options(rare, **options, train_rows=20, train_seed=0)
    few.setup()
    number = few.label_names.index("rare")
    assert number in few.labels("train")  # a row that is the only one of its label is not held out
    assert number not in few.labels("validation")
    with pytest.raises(ValueError, match=r"train_rows is 50, dev_share 0\.0; expected 2 or more rows"):
        TextClassificationDataModule.from_options(path, train_rows=50, dev_share=0.0)


def test_features_of_vectors_are_mean_and_maximum() -> None:
    features = WordVectorFeatures("english").fit([]).transform(["The president said.", "xyzzy"])
    vectors = read_word_vectors("small")
    rows = [vectors.index[word] for word in ("the", "president", "said", ".")]
    frequency = 1 / (np.arange(len(vectors)) + 10.0)
    weights = 1e-3 / (1e-3 + frequency[rows] / frequency.sum())
    expected = vectors.vectors[rows].double().numpy()
    np.testing.assert_allclose(features[0, :100], weights @ expected / weights.sum(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(features[0, 100:], expected.max(axis=0), rtol=1e-6)
    assert not features[1].any()


def test_characters_are_the_words_of_scripts_without_blanks_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["\u8fd9\u672c\u4e66\u5f88\u597d good", "\u8fd9\u672c\u4e66\u4e0d\u597d bad"] * 20
    data = build_vector_data(write_texts(tmp_path / "a.csv", texts, ["yes", "no"] * 20))
    assert "40 texts in a script without blanks, whose characters are the words" in caplog.text
    assert data.tokenizer.tokenize("\u672c\u4e66 good") == ["\u672c", "\u4e66", "good"]
