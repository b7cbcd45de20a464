"""The tables of generated tasks: which runs stand where, and the commands of what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_encoders import documents, lookups, pairs
from tests.support.result_tables import make_run, rows


def made(variant: str, place: str, accuracy: float, seed: int = 0, **changes: Any) -> RunResult:
    values = {"recipe": "long_context_esa", "tag": place, "metrics": {"test/accuracy": accuracy}, **changes}
    return replace(make_run(variant, seed), **values)


def test_each_probe_and_length_has_its_cell() -> None:
    results = [
        made("dot", "copy-n64", 99.0),
        made("dot", "recall-n64", 88.0, seed=0),
        made("dot", "recall-n64", 90.0, seed=1),
        made("elu", "recall-n256", 12.0),
        made("elu", "recall-n256", 77.0, recipe="another"),
    ]
    text = lookups(results)
    table = rows(text)
    assert table["softmax attention"]["copy, n = 64"] == "99.0"
    assert table["softmax attention"]["associative recall, n = 64"] == "89.0 ± 1.4"
    assert table["softmax attention"]["copy, n = 128"] == "not run yet"
    assert table["ESA, elu + 1"]["associative recall, n = 256"] == "12.0"
    assert "--probes copy recall --attentions dot favor learned elu --resume" in text


def test_heads_of_pairs_stand_apart_from_lookups() -> None:
    finished = [made(variant, "marked_product-n17", 99.5) for variant in ("dot", "trilinear", "volume", "factorised")]
    assert "python" not in pairs(finished)
    text = pairs([*finished[:3], made("factorised", "copy-n64", 50.0)])
    assert rows(text)["pairs: volume"]["test accuracy"] == "99.5"
    assert rows(text)["pairs: factorised"]["seeds"] == "not run yet"
    assert "--probes marked_product --attentions factorised --resume" in text


def test_whole_documents_are_those_of_their_recipe_and_blocks() -> None:
    place = {"recipe": "document_context_encoder", "dataset": "stanfordnlp/imdb"}
    metrics = {"test/accuracy": 88.0, "validation/accuracy": 89.0, "epochs": 2.0}
    metrics |= {"validation/epoch1/accuracy": 89.0, "validation/epoch2/accuracy": 87.0}
    results = [
        made("dot", "blocks", 0.0, metrics=metrics, **place),
        made("dot", "", 1.0, **place),
        made("elu", "blocks", 2.0, recipe="another", dataset="stanfordnlp/imdb"),
        made("learned", "blocks", 3.0, recipe="document_context_encoder"),
    ]
    text = documents(results)
    found = rows(text)["softmax attention"]
    assert (found["validation accuracy"], found["test accuracy"], found["best epoch"]) == ("89.00", "88.00", "1")
    assert rows(text)["ESA, elu + 1"]["seeds"] == rows(text)["ESA, learned features"]["seeds"] == "not run yet"
    assert "recipes/document_context_encoder.py --attentions favor learned elu --resume" in text


def test_seeds_that_were_made_otherwise_are_refused() -> None:
    mixed = [
        made("dot", "copy-n64", 99.0, settings={"steps": 1000}),
        made("dot", "copy-n64", 50.0, seed=1, settings={"steps": 3}),
    ]
    with pytest.raises(ValueError, match="steps"):
        lookups(mixed)


def test_seeds_whose_sequences_are_drawn_with_them_are_one_mean() -> None:
    def drawn(seed: int, with_seed: int) -> RunResult:
        data = {"source": "sample", "fingerprint": f"copy, drawn with seed {with_seed}"}
        return made("dot", "copy-n64", 99.0 + seed, seed, data=data)

    assert rows(lookups([drawn(0, 0), drawn(1, 1)]))["softmax attention"]["copy, n = 64"] == "99.5 ± 0.7"
    with pytest.raises(ValueError, match="data"):
        lookups([drawn(0, 0), drawn(1, 0)])
