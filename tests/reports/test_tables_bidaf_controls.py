"""The controls: which runs stand in which row, and what is compared with what."""

from __future__ import annotations

from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_bidaf import TABLES
from tests.support.result_tables import make_run

PRESENT: dict[str, Any] = {"product_start": 0.122474, "word_vectors": "wiki2015_cbow.100d", "optimizer": "adadelta"}


def run(variant: str, seed: int, f1: float, **settings: Any) -> RunResult:
    return make_run(variant, seed, f1, settings=PRESENT | settings)


def cells(table: str) -> dict[tuple[str, str], list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "]
    return {(line[0], line[1]): line[2:] for line in lines[2:]}


def test_rows_are_compared_at_equal_seeds() -> None:
    results = [
        run("baseline", 1, 60.0),
        run("baseline", 2, 62.0),
        run("baseline", 3, 10.0, product_start=0.172774),
        run("baseline", 3, 10.0, word_vectors="learned"),
        run("baseline", 3, 10.0, levers=["word_features"]),
        run("baseline", 3, 10.0, left_out_source="reddit"),
        run("second_dropout", 1, 63.0),
        run("second_dropout", 2, 64.0),
        run("second_dropout", 3, 99.0),
        run("learned", 1, 50.0, optimizer="adamw"),
        run("learned_attention", 1, 20.0, optimizer="adamw"),
    ]
    table = TABLES["bidaf-controls"](results)
    found = cells(table)
    assert found["baseline", "adadelta"] == ["–", "51.00 ± 1.41", "61.00 ± 1.41", "62.00 ± 1.41", "–", "2"]
    assert found["second_dropout", "adadelta"][0] == "baseline"
    assert found["second_dropout", "adadelta"][-2:] == ["+2.50 ± 0.71 (2)", "3"]
    assert found["learned_attention", "adamw"] == ["learned", "10.00", "20.00", "21.00", "-30.00 (1)", "1"]
    assert found["sinusoidal", "adadelta"][1] == found["learned", "adadelta"][1] == "not run yet"
    commands = [line.partition("--variant ")[2] for line in table.splitlines() if line.startswith("python")]
    seeds = [(line.split()[0], line.partition("--seeds ")[2].partition(" --precision")[0]) for line in commands]
    assert seeds == [
        ("baseline", "3"),
        ("sinusoidal", "1 2 3"),
        ("learned", "1 2 3"),
        ("learned_char7", "1 2 3"),
        ("learned_attention_residual", "1 2 3"),
        ("learned", "2 3"),
        ("learned_attention", "2 3"),
    ]
    assert all(("--optimizer adamw" in line) == (place > 4) for place, line in enumerate(commands))


def test_what_was_not_made_alike_is_no_row() -> None:
    with pytest.raises(ValueError, match="were not made alike"):
        TABLES["bidaf-controls"]([run("baseline", 1, 60.0), run("baseline", 2, 61.0, epochs=9)])
    with pytest.raises(ValueError, match="two results for baseline"):
        TABLES["bidaf-controls"]([run("baseline", 1, 60.0), run("baseline", 1, 61.0)])
