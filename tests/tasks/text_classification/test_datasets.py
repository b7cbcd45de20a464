"""The document sets by name, and what their arguments make of the real ones."""

from __future__ import annotations

import pytest

from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.experiments import (
    DOCUMENT_DATASETS,
    build_document_experiment,
    build_result_tag,
    get_document_dataset,
    set_document_dataset,
)


def test_values_are_those_of_an_experiment_and_may_be_changed() -> None:
    for name in DOCUMENT_DATASETS:
        set_document_dataset(build_document_experiment("lama", "lama"), name)
    get_document_dataset("imdb")["pre_tokenizer"] = "whitespace"
    assert get_document_dataset("imdb")["pre_tokenizer"] == "english"


def test_any_other_name_is_a_dataset_of_english_texts() -> None:
    assert get_document_dataset("someone/reviews.csv") == {"dataset": "someone/reviews.csv", "pre_tokenizer": "english"}


def test_names_of_one_hub_id_have_tags_of_their_own() -> None:
    places = [(get_document_dataset(name)["dataset"], build_result_tag(name)) for name in DOCUMENT_DATASETS]
    assert len(set(places)) == len(places)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "labels"),
    [("reuters8", (4484, 1001, 2189), 8), ("news_aggregator", (15345, 1918, 1918), 4)],
)
def test_splits_of_real_documents(name: str, sizes: tuple[int, ...], labels: int) -> None:
    data = TextClassificationDataModule.from_options(**get_document_dataset(name), min_word_count=5, max_length=512)
    data.setup()
    assert tuple(len(data.rows(split)) for split in ("train", "validation", "test")) == sizes
    assert data.num_labels == labels


@pytest.mark.data
def test_longer_reviews_alone() -> None:
    every, longer = (
        TextClassificationDataModule.from_options(**get_document_dataset(name)) for name in ("yelp", "yelp_long")
    )
    every.setup()
    longer.setup()
    assert len(longer.rows("test")) < len(every.rows("test")) == 1999
    shortest = min(longer.texts("test")["text"][:], key=len)
    assert len(longer.tokenizer.backend_tokenizer.encode(shortest).ids) >= 119
