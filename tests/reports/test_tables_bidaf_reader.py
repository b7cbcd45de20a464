"""The reader's tables: trials by validation, and final runs by their names."""

from __future__ import annotations

from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_bidaf import TABLES, TRIAL_TABLES
from tests.support.result_tables import make_run, rows

SETTINGS = {"optimizer": "adamw", "learning_rate": 0.0015, "levers": ["word_features"]}


def run(tag: str, seed: int, f1: float, left_out: float | None = None, **settings: Any) -> RunResult:
    metrics = {} if left_out is None else {"left_out/f1": left_out, "left_out/exact": left_out - 5}
    return make_run("char7", seed, f1, tag=tag, settings=SETTINGS | settings, metrics=metrics)


def trial(f1: float, seed: int = 1, **settings: Any) -> RunResult:
    made = make_run("char7", seed, settings=SETTINGS | settings, split="validation")
    made.metrics = {"validation/f1": f1, "validation/exact": f1 - 10, "epochs": 4}
    return made


def test_trials_stand_by_their_validation_score() -> None:
    found = [trial(60.0), trial(66.0, learning_rate=0.001), trial(63.0, epochs=6), trial(61.0, seed=2)]
    table = TRIAL_TABLES["bidaf-reader-trials"]([*found, make_run("char7", f1=99.0)])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [line[10] for line in lines] == ["66.00", "63.00", "60.50 ± 0.71"]
    assert [line[1:3] for line in lines] == [["adamw", "0.001"], ["adamw", "0.0015"], ["adamw", "0.0015"]]
    assert [line[11] for line in lines] == ["1", "1", "2"]
    assert "not run yet" in TRIAL_TABLES["bidaf-reader-trials"]([])


def test_trials_tell_sizes_and_starts_that_files_leave_out() -> None:
    wide = trial(66.0, hidden_size=128, dropout=0.3, keep_words=30000)
    others = [trial(60.0), trial(63.0, init_from="cloze", word_vectors="glove_filled")]
    table = TRIAL_TABLES["bidaf-reader-trials"]([wide, *others])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [line[3:8] for line in lines] == [
        ["128", "0.3", "learned", "–", "30000"],
        ["100", "0.2", "glove_filled", "cloze", "all"],
        ["100", "0.2", "learned", "–", "all"],
    ]


def test_the_reader_small_and_without_a_source() -> None:
    results = [
        run("reader", 1, 75.0),
        run("reader", 2, 77.0),
        run("reader_small", 1, 74.5, keep_words=30000, weights="float16"),
        run("reader_without_reddit", 1, 70.0, 60.0, left_out_source="reddit"),
        run("other", 1, 99.0),
    ]
    table = TABLES["bidaf-reader"](results)
    found = rows(table)
    assert found["all training rows"]["test F1"] == "76.00 ± 1.41"
    assert found["all training rows"]["left out − test, F1"] == "–"
    assert found["sliding window over words, no network"]["trainable parameters"] == "not run yet"
    assert found["the first seed of these, half precision, 30,000 words"]["test F1"] == "74.50"
    without = found["without the rows of `reddit`"]
    assert (without["left out F1"], without["left out − test, F1"]) == ("60.00", "-10.00")
    assert found["without the rows of `new_wiki`"]["trainable parameters"] == "not run yet"
    commands = [line for line in table.splitlines() if line.startswith("python")]
    assert commands.pop(0) == "python recipes/squad_sliding_window.py --results_dir results"
    asked = [line.partition("--threads 1 ")[2].removesuffix(" --results_dir results") for line in commands]
    assert asked == [
        "--epochs 6 --seeds 3 --name reader",
        "--epochs 8 --hidden_size 128 --dropout 0.3 --seeds 1 --name reader_wide",
        "--epochs 6 --left_out_source reddit --seeds 2 3 --name reader_without_reddit",
        "--epochs 6 --left_out_source new_wiki --seeds 1 2 3 --name reader_without_new_wiki",
    ]
    assert "small_reader.py --checkpoint RUN/checkpoint" in TABLES["bidaf-reader"]([])


def test_runs_of_one_name_that_were_not_made_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="were not made alike"):
        TABLES["bidaf-reader"]([run("reader", 1, 75.0), run("reader", 2, 77.0, learning_rate=0.002)])


def test_a_baseline_without_a_network_stands_above_the_readers() -> None:
    window = make_run("sliding_window", 0, 20.0, recipe="squad_sliding_window", architecture="counts", settings={})
    other = make_run("sliding_window", 0, 90.0, recipe="squad_sliding_window", dataset="sample")
    table = TABLES["bidaf-reader"]([run("reader", 1, 75.0), window, other])
    first = table.splitlines()[2]
    assert first.startswith("| sliding window over words, no network | 1,439,405 | ")
    assert " | 10.00 | 20.00 | – | – | – | 1 | " in first
    assert "squad_sliding_window.py" not in table
