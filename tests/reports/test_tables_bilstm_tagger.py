"""The table of taggers: a row for each corpus, tags and word vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_encoders import taggers
from tests.support.result_tables import make_run


def tagger(variant: str, accuracy: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {"validation/accuracy": accuracy + 1, "test/accuracy": accuracy, "test/macro_f1": 80.0, "epochs": 9}
    values = {"recipe": "pos_bilstm_tagger", "dataset": "some/corpus", "tag": "upos", "metrics": metrics}
    return replace(make_run(variant, seed), **{**values, **changes})


def test_rows_are_told_apart_by_corpus_tags_and_vectors() -> None:
    results = [
        tagger("random_vectors", 90.0),
        tagger("random_vectors", 92.0, seed=1),
        tagger("own", 93.5),
        tagger("own", 99.0, tag="xpos", settings={"tiny": True}),
    ]
    lines = taggers(results).splitlines()[2:]
    assert lines[0].startswith("| `some/corpus` | upos | drawn | 2 | 92.00 ± 1.41 | 91.00 ± 1.41 | 80.00 ± 0.00 |")
    assert lines[1].startswith("| `some/corpus` | upos | own | 1 | 94.50 | 93.50 |")
    assert len(lines) == 2


def test_without_results_the_command_stands_there() -> None:
    assert "python recipes/pos_bilstm_tagger.py --dataset ud_english_ewt" in taggers([])


def test_a_seed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        taggers([tagger("own", 90.0), tagger("own", 91.0)])
