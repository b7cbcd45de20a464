"""Sets of texts by name: sentences, and documents with the arguments of `TextClassificationDataModule`."""

from __future__ import annotations

from typing import Any

# The sentence classification sets of the literature: name in papers to Hub id.
SENTENCE_DATASETS = {
    "MR": "cornell-movie-review-data/rotten_tomatoes",
    "CR": "SetFit/CR",
    "SUBJ": "SetFit/subj",
    "MPQA": "ctxzoo-data/mpqa",
}

YELP = "Yelp/yelp_review_full"

# Document classification sets: name to arguments of `TextClassificationDataModule`.
# Reuters holds 1,001 of its training documents out for validation, IMDB 1,000; the others have a split of their own.
DOCUMENT_DATASETS: dict[str, dict[str, Any]] = {
    "reuters8": {"dataset": "ctxzoo-data/reuters8", "dev_share": 0.1825},
    "imdb": {"dataset": "stanfordnlp/imdb", "dev_share": 0.04, "cutter": "english"},
    # IMDB's training reviews of one film stand side by side: validation in blocks shares fewer films with training.
    "imdb_blocks": {"dataset": "stanfordnlp/imdb", "dev_share": 0.04, "dev_block": 50, "cutter": "english"},
    "yelp": {"dataset": YELP, "cutter": "english"},
    "yelp_long": {"dataset": YELP, "cutter": "english", "min_words": 119},
    "news_aggregator": {"dataset": "ctxzoo-data/news_aggregator", "text_column": "title", "cutter": "english"},
    "sample": {"dataset": "sample"},
}
TAGS = {"yelp_long": "long", "imdb_blocks": "blocks"}  # what distinguishes their results from others of the Hub id


def document_dataset(name: str) -> dict[str, Any]:
    """Return the arguments of one of `DOCUMENT_DATASETS`; another Hub id, folder or file is read with English rules."""
    return dict(DOCUMENT_DATASETS.get(name, {"dataset": name, "cutter": "english"}))


def tag_of(name: str, run: str = "") -> str:
    """Return what distinguishes results on a dataset, and those of the run `run`, from others; may be empty.

    Several datasets have one Hub id, and several runs of a dataset differ in settings only.
    """
    return "-".join(part for part in (TAGS.get(name, ""), run) if part)
