"""The tables of the Beta-LSTM: which runs stand where, what is missing, and the tests beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_beta_lstm import DATASET, PTB, TABLES
from tests.support.result_tables import make_folds, make_run, rows

chorales, sets, gates, penn_treebank, sentences = (
    TABLES[f"beta-lstm-{name}"] for name in ("chorales", "music", "gates", "ptb", "sentences")
)
COMPARED = ("lstm", "g2", "beta", "bibeta5", "bibeta5_prior")


def music(cell: str, nll: float, *, seed: int = 0, config: str = "jsb_chorales", **changes: Any) -> RunResult:
    metrics = {
        "test/nll": nll,
        "validation/nll": nll + 0.5,
        "test/frame_accuracy": 30.0,
        "validation/epoch1/nll": nll + 2,
        "validation/epoch2/nll": nll + 0.5,
        "validation/epoch3/nll": nll + 1,
        "epochs": 3,
    }
    run = make_run(cell, seed, settings={"epochs": 100})
    return replace(
        run,
        **{
            "recipe": "music_beta_lstm",
            "architecture": "beta_lstm",
            "dataset": DATASET,
            "tag": config,
            "metrics": metrics,
            "wall_seconds": 60.0,
            **changes,
        },
    )


def test_chorales() -> None:
    results = [music("lstm", 8.6 + seed / 10, seed=seed) for seed in range(3)]
    results += [music("bibeta5", 8.4 + seed / 10, seed=seed) for seed in range(2)]
    table = rows(chorales(results))
    assert table["`lstm`"]["seeds"] == "3"
    assert table["`lstm`"]["test"] == "8.700 ± 0.100"
    assert table["`lstm`"]["validation"] == "9.200 ± 0.100"
    assert table["`lstm`"]["best epoch"] == "2 ± 0"
    assert table["`lstm`"]["seconds an epoch"] == "20 ± 0"
    assert table["`bibeta5`"]["seeds"] == "2 of 3"
    assert (
        table["`bibeta5`"]["test − `lstm` (p over seeds)"] == "-0.250 (p = 0.049)"
    )  # scipy's ttest_ind, equal_var=False
    assert table["`lstm`"]["test − `lstm` (p over seeds)"] == "–"
    assert table["`beta`"]["seeds"] == "not run yet"
    (command,) = [line for line in chorales(results).splitlines() if line.startswith("python")]
    assert command == (
        "python recipes/music_beta_lstm.py --patience 20 --cells coupled g2 noisin beta bibeta3 bibeta5 "
        "kumaraswamy bibeta5_prior --seeds 0 1 2 --resume --results_dir results"
    )


def test_runs_under_a_name_stand_apart_with_what_they_changed() -> None:
    named = music("lstm", 8.2, tag="jsb_chorales-slow")
    named = replace(named, settings={**named.settings, "learning_rate": 1e-4})
    table = rows(chorales([music("lstm", 8.6), named]))
    assert table["`lstm`, slow (learning_rate 0.0001)"]["test"] == "8.200"
    assert table["`lstm`"]["test"] == "8.600"


def test_cells_with_more_dropout_are_compared_with_an_lstm_that_has_as_much() -> None:
    lstm = [music("lstm", 8.6 + seed / 10, seed=seed, tag="jsb_chorales-dropout0.2") for seed in range(3)]
    cells = [music(name, 8.4 + seed / 10, seed=seed) for name in ("g2", "bibeta5") for seed in range(2)]
    heading = "test − `lstm`, dropout0.2 (p over seeds)"
    table = rows(chorales([*lstm, *cells]))
    assert (table["`bibeta5`"][heading], table["`g2`"][heading]) == ("-0.250 (p = 0.049)", "")


def test_trials_and_other_data_are_left_out() -> None:
    results = [
        music("lstm", 8.6, settings={"tiny": True}),
        music("lstm", 8.6, seed=1, dataset="sample"),
        music("lstm", 8.6, seed=2, config="nottingham"),
    ]
    assert rows(chorales(results))["`lstm`"]["seeds"] == "not run yet"


def test_four_sets() -> None:
    results = [music(cell, 8.0 + number, config="nottingham") for number, cell in enumerate(COMPARED[:2])]
    results += [music("bibeta5_prior", 7.5, config="nottingham"), music("kumaraswamy", 9.0, config="piano_midi")]
    results.append(music("key_markov", 10.4914, config="jsb_chorales", recipe="music_floors"))
    table = rows(sets(results))
    assert table["`g2`"] == dict.fromkeys(table["`g2`"], "not run yet") | {"Nottingham": "9.000"}
    assert table["`g2` − `lstm` (p over seeds)"]["Nottingham"] == "+1.000 (one seed)"
    assert table["`bibeta5` + prior − `lstm` (p over seeds)"]["Nottingham"] == "-0.500 (one seed)"
    assert table["`bibeta5` + prior − `lstm` (p over seeds)"]["Piano-midi"] == "–"
    kumaraswamy = table["`kumaraswamy`"]  # not one that all sets need
    assert kumaraswamy == dict.fromkeys(kumaraswamy, "–") | {"Piano-midi": "9.000"}
    assert "`noisin`" not in table
    assert table["each key by whether it sounded before"]["JSB chorales"] == "10.491"
    commands = [line for line in sets(results).splitlines() if line.startswith("python")]
    assert "--dataset nottingham --batch_size 4 --patience 10 --cells beta bibeta5 --resume" in commands[0]
    assert len(commands) == 3


def gate_run(cell: str, seed: int, correlation: float) -> RunResult:
    names = {"correlation": correlation, "positive_units": 40.0, "input_gate": 0.5, "forget_gate": 0.6}
    metrics = {f"test/layer{layer}/{name}": value + layer for layer in (1, 2) for name, value in names.items()}
    start = {f"test/layer{layer}/start/{name}": 0.25 for layer in (1, 2) for name in names}
    settings = {"weights": f"hash{seed}"}
    return music(cell, 0.0, seed=seed, recipe="music_gates", metrics=metrics | start, settings=settings)


def test_gates_before_and_after() -> None:
    table = rows(gates([gate_run("bibeta5", 0, -0.5), gate_run("bibeta5", 1, -0.3)]))
    found = table["JSB chorales, `bibeta5`, 2"]
    assert found["seeds"] == "2"
    assert list(found.values())[1:3] == ["0.250 ± 0.000 → 1.600 ± 0.141", "0.2 ± 0.0 → 42.0 ± 0.0"]
    assert table["JSB chorales, `bibeta5` + prior"]["seeds"] == "not run yet"
    assert "JSB chorales, `bibeta3`, 1" not in table


def folds(variant: str, accuracies: list[float], **changes: Any) -> list[RunResult]:
    settings = {"hidden_size": 100} | changes.pop("settings", {})
    return make_folds(
        accuracies, recipe="sentence_beta_lstm", architecture="beta_lstm", variant=variant, settings=settings, **changes
    )


def test_sentences() -> None:
    accuracies, better = [75.0, 76.0, 77.0, 76.5, 75.5], [76.0, 77.5, 77.0, 78.0, 77.0]
    results = folds("lstm", accuracies) + folds("bibeta5", better, settings={"hidden_size": 63})
    results += folds("lstm", better, tag="dropout", settings={"dropout": 0.5})
    results += make_folds(better, recipe="sentence_linear", variant="words_characters_svm")
    text = sentences(results)
    table = rows(text)
    assert table["`lstm`"]["CR"] == "76.00 ± 0.79"
    assert table["`lstm`"]["MR"] == "not run yet"
    assert (table["`lstm`"]["units"], table["`bibeta5`"]["units"]) == ("100", "63")
    assert table["`bibeta5` − `lstm`"]["CR"].startswith("+1.10 (p = ")
    assert table["`bibeta5` − `lstm`"]["MR"] == "–"
    assert table["`lstm`, dropout (dropout 0.5)"]["CR"] == "77.10 ± 0.74"
    assert "`bibeta5`, dropout" not in text
    assert "`kumaraswamy`" not in table
    assert table["TF-IDF of words and characters, SVM"]["CR"] == "77.10 ± 0.74"
    assert "python recipes/sentence_beta_lstm.py --cells lstm coupled g2 beta bibeta5 --resume --results_dir" in text


P = "nats of a token − `lstm` (p over seeds)"


def language_model(variant: str, nll: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {
        **{"test/nll": nll, "test/perplexity": math.exp(nll), "validation/perplexity": math.exp(nll) + 4},
        **{f"validation/epoch{epoch}/nll": nll + abs(epoch - 2) for epoch in (1, 2, 3)},
        "epochs": 3,
    }
    values = {
        **{"recipe": "ptb_beta_lstm", "architecture": "beta_lstm", "dataset": PTB["dataset"], "tag": ""},
        **{"metrics": metrics, "wall_seconds": 600.0},
    }
    return replace(make_run(variant, seed, settings={"hidden_size": 200}), **{**values, **changes})


def test_penn_treebank() -> None:
    results = [language_model("lstm", 4.6 + seed / 10, seed=seed) for seed in range(2)]
    results += [language_model("bibeta5", 4.4, seed=1, settings={"hidden_size": 175})]
    results += [language_model("kneser_ney_5", 4.9, recipe="ptb_floors"), language_model("kumaraswamy", 4.0)]
    text = penn_treebank(results)
    table = rows(text)
    assert table["`lstm`"]["test"] == f"{(math.exp(4.6) + math.exp(4.7)) / 2:.2f} ± {7.40:.2f}"
    assert table["`lstm`"]["best epoch"] == "2 ± 0"
    assert table["`lstm`"][P] == "–"
    assert table["`bibeta5`"]["units"] == "175"
    assert table["`bibeta5`"]["minutes"] == "10"
    assert table["`bibeta5`"][P] == "-0.250 (one seed)"
    assert table["counts of five words, modified Kneser-Ney"]["test"] == "134.29"
    assert table["how often each word occurs"]["test"] == "not run yet"
    assert table["`g2`"]["seeds"] == "not run yet"
    assert "`noisin`" not in table
    assert "`kumaraswamy`" in table
    commands = [line for line in text.splitlines() if line.startswith("python")]
    assert commands == [
        "python recipes/ptb_floors.py --resume --results_dir results",
        "python recipes/ptb_beta_lstm.py --cells coupled g2 beta --resume --results_dir results",
    ]


def test_runs_of_the_penn_treebank_under_a_name_stand_apart() -> None:
    named = language_model("lstm", 4.2, tag="long")
    named = replace(named, settings={**named.settings, "epochs": 60})
    table = rows(penn_treebank([language_model("lstm", 4.6), named]))
    assert table["`lstm`, long (epochs 60)"]["test"] == f"{math.exp(4.2):.2f}"
    assert table["`lstm`"]["test"] == f"{math.exp(4.6):.2f}"


def test_other_texts_and_trials_are_left_out() -> None:
    results = [
        language_model("lstm", 4.6, dataset="sample"),
        language_model("lstm", 4.6, settings={"tiny": True, "hidden_size": 6}),
    ]
    assert rows(penn_treebank(results))["`lstm`"]["seeds"] == "not run yet"
    with pytest.raises(ValueError, match="were not made alike"):
        penn_treebank([language_model("lstm", 4.6), language_model("lstm", 4.6, seed=1, settings={"hidden_size": 5})])
