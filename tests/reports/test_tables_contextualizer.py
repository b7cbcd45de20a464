"""The Contextualizer's tables: which runs stand in which cell, beside which numbers of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.models import configuration_contextualizer, configuration_text_baseline
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS as DATASETS
from ctxzoo.tasks.text_classification.linear import LINEAR_BASELINES
from reports.tables_contextualizer import NEURAL, PAPER_STARTS, PAPER_STEPS, TABLES
from tests.support.result_tables import make_folds, rows

OURS, THEIRS = [80.0, 81.5, 79.0, 82.0, 80.5], [79.0, 79.5, 79.5, 80.0, 80.0]
MEANS = {"OURS": "80.60 ± 1.19", "THEIRS": "79.60 ± 0.42"}


def mr(variant: str, k: int, accuracies: list[float], **changes: Any) -> list[RunResult]:
    place = {"recipe": "mr_contextualizer", "dataset": DATASETS["MR"], "variant": variant, "tag": f"k{k}"}
    return make_folds(accuracies, **place | changes)


def everywhere(accuracies: list[float], **changes: Any) -> list[RunResult]:
    return [run for dataset in DATASETS.values() for run in make_folds(accuracies, dataset=dataset, **changes)]


def linear(variant: str, accuracies: list[float]) -> list[RunResult]:
    return everywhere(accuracies, recipe="sentence_linear", architecture="linear", variant=variant)


def test_every_variant_has_its_row() -> None:
    assert set(NEURAL) == set(configuration_text_baseline.SENTENCE_VARIANTS)
    named = {variant for rows_ in (PAPER_STEPS, PAPER_STARTS) for variant, _ in rows_.values()}
    assert named | {"learned_embeddings"} == set(configuration_contextualizer.ContextualizerConfig.variants)


def test_steps_by_their_number() -> None:
    results = [
        *mr("recurrent", 1, [60.0, 62.0, 61.0, 60.0, 62.0]),
        *mr("recurrent", 5, OURS),
        *mr("regular", 5, THEIRS)[:3],
        *mr("recurrent", 10, OURS, recipe="sentence_contextualizer"),
        *mr("recurrent", 20, OURS, dataset="sample"),
        *mr("regular", 10, OURS, settings={"tiny": True}),
    ]
    table = TABLES["contextualizer-steps"](results)
    found = rows(table)
    assert list(found) == ["recurrent, the paper", "recurrent, ours", "regular, the paper", "regular, ours"]
    assert list(found["recurrent, the paper"].items()) == [
        ("K = 1", "57.9"),
        ("K = 5", "72.4"),
        ("K = 10", "72.8"),
        ("K = 20", "72.3"),
    ]
    assert list(found["recurrent, ours"].values()) == ["61.00 ± 1.00", MEANS["OURS"], "not run yet", "not run yet"]
    assert list(found["regular, the paper"].values()) == ["57.8", "70.7", "72.1", "71.4"]
    assert list(found["regular, ours"].values()) == [
        "not run yet",
        "79.33 ± 0.29 (3 of 5 folds)",
        "not run yet",
        "not run yet",
    ]
    assert "python recipes/mr_contextualizer.py --table 2 --resume" in table


def test_starts() -> None:
    variants = {"ones": "ones", "learned": "learned_start", "random": "recurrent"}
    results = [
        run
        for place, variant in enumerate(variants.values())
        for k in (1, 5)
        for run in mr(variant, k, [score + place + 10 * k for score in OURS])
    ]
    table = TABLES["contextualizer-starts"](results)
    found = rows(table)
    assert list(found) == [f"{name}, {whose}" for name in variants for whose in ("the paper", "ours")]
    assert list(found["learned, the paper"].values()) == ["73.5", "72.2"]
    assert list(found["ones, ours"].values()) == ["90.60 ± 1.19", "130.60 ± 1.19"]
    assert list(found["learned, ours"].values()) == ["91.60 ± 1.19", "131.60 ± 1.19"]
    assert list(found["random, ours"].values()) == ["92.60 ± 1.19", "132.60 ± 1.19"]
    assert "```" not in table  # all is there
    assert "--table 3" in TABLES["contextualizer-starts"](results[1:])


def test_cells_of_both_tables_again_with_other_settings() -> None:
    slow = {"tag": "k5-slow", "settings": {"learning_rate": 1e-4}}
    results = [
        *mr("ones", 5, OURS),
        *mr("recurrent", 1, OURS),
        *mr("ones", 5, THEIRS, **slow),
        *mr("ones", 1, THEIRS, tag="k1-slow"),
    ]
    found = rows(TABLES["contextualizer-deviations"](results))
    assert len(found["ours"]) == 4 + 4 + 2 + 2
    shown = ("recurrent, K = 1", "ones, K = 5", "ones, K = 1", "regular, K = 5")
    assert {name: [row[cell] for cell in shown] for name, row in found.items()} == {
        "the paper": ["57.9", "71.2", "73.1", "70.7"],
        "ours": [MEANS["OURS"], MEANS["OURS"], "–", "–"],
        "slow (learning_rate 0.0001)": ["–", MEANS["THEIRS"], MEANS["THEIRS"], "–"],
    }


def test_mpqa_over_phrases_with_a_known_word() -> None:
    def mpqa(known: list[float], **changes: Any) -> list[RunResult]:
        runs = make_folds(OURS, dataset=DATASETS["MPQA"], **changes)
        return [
            replace(run, metrics={**run.metrics, "test/known_accuracy": value, "test/known_share": 85.0})
            for run, value in zip(runs, known, strict=True)
        ]

    table = TABLES["contextualizer-known"]([*mpqa(THEIRS), *make_folds(OURS, dataset=DATASETS["MPQA"], tag="dropout")])
    found = rows(table)
    assert list(found["Contextualizer, the paper"].values()) == ["85.3", "", ""]
    assert list(found["Contextualizer, the paper's settings"].values()) == [
        MEANS["OURS"],
        MEANS["THEIRS"],
        "85.00 ± 0.00",
    ]
    assert list(found["Contextualizer, dropout 0.5, vectors from U(−0.1, 0.1)"].values()) == [MEANS["OURS"], "–", "–"]
    (command,) = [line for line in table.splitlines() if line.startswith("python")]
    assert command == (
        "python recipes/sentence_contextualizer.py --datasets ctxzoo-data/mpqa --dropout 0.5 --embedding_bound 0.1 "
        "--name dropout --results_dir results"
    )


def test_sentences() -> None:
    results = [
        *everywhere(THEIRS),
        *linear("majority_class", [50.0] * 5),
        *make_folds(OURS, recipe="sentence_text_baseline", architecture="text_baseline", variant="bigru"),
        *everywhere(OURS, tag="dropout"),
    ]
    table = TABLES["contextualizer-sentences"](results)
    found = rows(table)
    headings = [*DATASETS, "weights, at most"]
    assert all(list(row) == headings for row in found.values())
    assert list(found["majority class"].values()) == [*["50.00 ± 0.00"] * 4, "1,439,405"]
    assert list(found["Contextualizer, the paper"].values()) == ["76.6", "79.0", "91.2", "85.3", ""]
    assert list(found["Contextualizer, the paper's settings"].values())[:4] == [MEANS["THEIRS"]] * 4
    dropout = "Contextualizer, dropout 0.5, vectors from U(−0.1, 0.1)"
    assert list(found[dropout].values())[:4] == [MEANS["OURS"]] * 4
    assert dropout not in rows(TABLES["contextualizer-sentences"](results[:-1]))  # some folds are missing
    assert found["BiGRU"] == dict.fromkeys(DATASETS, "not run yet") | {
        "CR": MEANS["OURS"],
        "weights, at most": "1,439,405",
    }
    assert found["CNN"] == dict.fromkeys(DATASETS, "not run yet") | {"weights, at most": ""}
    assert list(found["NBSVM, words and pairs [lit]"].values())[:4] == ["79.4", "81.8", "93.2", "86.3"]
    assert "Contextualizer, strongest settings of each set" not in found
    commands = table.split("```bash\n")[1].splitlines()
    assert commands[1:-1] == [
        "python recipes/sentence_linear.py --resume --results_dir results",
        "python recipes/sentence_text_baseline.py --resume --results_dir results",
        "python recipes/sentence_text_baseline.py --dropout 0.5 --pooled_dropout 0.5 --embedding_bound 0.1 "
        "--name dropout --resume --results_dir results",
    ]


def test_the_most_weights_of_a_row_are_told() -> None:
    results = [replace(run, parameters={"trainable": 100 + run.fold, "total": 200}) for run in everywhere(THEIRS)]
    found = rows(TABLES["contextualizer-sentences"](results))
    assert found["Contextualizer, the paper's settings"]["weights, at most"] == "104"


def test_the_strongest_settings_beside_the_best_linear_baseline_of_each_dataset() -> None:
    weak = [score - 20 for score in OURS]
    results = [*everywhere(OURS, tag="best"), *linear(LINEAR_BASELINES[0], THEIRS), *linear(LINEAR_BASELINES[1], weak)]
    better_on_cr = make_folds(OURS, recipe="sentence_linear", variant=LINEAR_BASELINES[2])
    table = TABLES["contextualizer-sentences"]([*results, *better_on_cr])
    found = rows(table)
    assert list(found["Contextualizer, strongest settings of each set"].values())[:4] == [MEANS["OURS"]] * 4
    difference = "+1.00 (p = 0.233)"
    assert list(found["strongest settings − best linear baseline"].values()) == [
        difference,
        "+0.00 (p = 1.000)",
        difference,
        difference,
        "",
    ]
    without_cr = [run for run in results if (run.tag, run.dataset) != ("best", DATASETS["CR"])]
    assert not [name for name in rows(TABLES["contextualizer-sentences"](without_cr)) if "strongest" in name]


def test_attention_wins_where_it_beats_the_plain_mean() -> None:
    command = "python recipes/sentence_contextualizer.py --epochs 5 --name best --resume --results_dir results"
    strongest = [replace(run, command=command) for run in everywhere(OURS, tag="best")]
    control = everywhere(THEIRS, tag="best_mean", settings={"zeroed": ["w"]})
    found = rows(TABLES["contextualizer-sentences"]([*strongest, *control]))
    assert list(found["strongest settings with W = 0: a plain mean"].values())[:4] == [MEANS["THEIRS"]] * 4
    assert list(found["strongest settings − W = 0"].values())[:4] == ["+1.00 (p = 0.233)"] * 4
    without = TABLES["contextualizer-sentences"](strongest)
    assert rows(without)["strongest settings − W = 0"]["MR"] == "–"
    assert (
        "python recipes/sentence_contextualizer.py --epochs 5 --plain_mean true --name best_mean --resume "
        "--results_dir results\n" in without
    )
    assert (
        "python recipes/sentence_contextualizer.py --epochs 5 --eval_context fixed --eval_context_samples 8 "
        "--name best_fixed --resume --results_dir results\n" in without
    )
    assert not [name for name in rows(TABLES["contextualizer-sentences"](control)) if "W = 0" in name]


def test_baselines_with_the_dropout_and_the_start_of_the_contextualizers_row() -> None:
    results = [
        *everywhere(OURS, tag="dropout"),
        *everywhere(THEIRS, recipe="sentence_text_baseline", variant="mean", tag="dropout"),
    ]
    found = rows(TABLES["contextualizer-sentences"](results))
    assert list(found["mean of words, dropout 0.5, U(−0.1, 0.1)"].values())[:4] == [MEANS["THEIRS"]] * 4
    difference = found["Contextualizer − mean of words, both with dropout 0.5, U(−0.1, 0.1)"]
    assert list(difference.values())[:4] == ["+1.00 (p = 0.233)"] * 4
    assert found["CNN, dropout 0.5, U(−0.1, 0.1)"]["MR"] == found["mean of words"]["MR"] == "not run yet"
    assert found["Contextualizer − CNN, both with dropout 0.5, U(−0.1, 0.1)"]["MR"] == "–"


def test_settings_chosen_for_each_fold_by_its_own_validation_part() -> None:
    def scored(validation: list[float], test: list[float], **changes: Any) -> list[RunResult]:
        return [
            replace(run, metrics={"validation/accuracy": ours, "test/accuracy": theirs})
            for run, ours, theirs in zip(make_folds(OURS, **changes), validation, test, strict=True)
        ]

    results = [
        *scored([90.0, 70.0, 90.0, 70.0, 70.0], [1.0, 99.0, 2.0, 99.0, 99.0]),
        *scored([80.0] * 5, [50.0, 3.0, 50.0, 4.0, 5.0], tag="dropout", settings={"dropout": 0.5}),
        *scored([99.0] * 5, [50.0] * 5, tag="partly")[:4],
        *scored([99.0] * 5, [50.0] * 5, tag="given", settings={"word_vectors": "of other texts"}),
        *[
            replace(run, metrics={"test/accuracy": 60.0})
            for run in everywhere(OURS, tag="best")  # chose nothing
        ],
    ]
    row = rows(TABLES["contextualizer-sentences"](results))[
        "Contextualizer, settings chosen for each fold on its own validation part"
    ]
    assert (row["CR"], row["MR"]) == ("3.00 ± 1.58", "–")


@pytest.mark.parametrize(("variant", "label"), [("mean", "mean of words"), ("bigru", "BiGRU")])
def test_what_is_ahead_of_the_papers_settings_is_compared_with_them(variant: str, label: str) -> None:
    ahead = everywhere(THEIRS, recipe="sentence_text_baseline", variant=variant)
    found = rows(TABLES["contextualizer-sentences"]([*everywhere(OURS), *ahead]))
    row = found[f"{label} − Contextualizer, the paper's settings"]
    assert list(row.values())[:4] == ["-1.00 (p = 0.233)"] * 4


def test_macro_f1_has_the_same_models_without_numbers_of_others() -> None:
    results = [*everywhere(THEIRS), *everywhere(OURS, tag="best"), *linear(LINEAR_BASELINES[0], THEIRS)]
    accuracy, f1 = (rows(TABLES[f"contextualizer-sentences{end}"](results)) for end in ("", "-f1"))
    assert f1["Contextualizer, the paper's settings"]["CR"] == "77.60 ± 0.42"
    others = [name for name in accuracy if name not in f1]
    assert others[0] == "Contextualizer, the paper"
    assert len(others) == 7
    assert all("[lit" in name for name in others[1:])
    assert f1.keys() <= accuracy.keys()


def test_the_climb_shows_validation_only() -> None:
    results = [
        *everywhere(THEIRS),
        *everywhere(OURS, tag="dropout", settings={"dropout": 0.5}),
        *make_folds(OURS, tag="ngrams", settings={"ngram_buckets": 50})[:3],
        *make_folds(THEIRS, variant="frozen_embeddings", tag="frozen"),  # of another row of the paper
        *make_folds(OURS, tag="toy", dataset="sample"),
        *[replace(run, metrics={"test/accuracy": 99.0}) for run in make_folds(OURS, tag="all rows")],  # chose nothing
    ]
    table = TABLES["contextualizer-climb"](results)
    found = rows(table)
    assert list(found) == [
        "Contextualizer, the paper's settings",
        "dropout (dropout 0.5)",
        "ngrams (ngram_buckets 50)",
    ]
    assert list(found["Contextualizer, the paper's settings"].values()) == ["80.60 ± 0.42", "–"] * 4
    # Of the rows not tested 1/10 is scored and 9/10 is trained on, so p is another than that of test scores.
    assert list(found["dropout (dropout 0.5)"].values()) == ["81.60 ± 1.19", "+1.00 (p = 0.166)"] * 4
    assert found["ngrams (ngram_buckets 50)"] == {
        **{name: "–" for dataset in DATASETS for name in (dataset, f"{dataset}, difference")},
        "CR": "81.17 ± 1.26 (3 of 5 folds)",
    }
    assert "```" not in table
    other_test_scores = [replace(run, metrics=run.metrics | {"test/accuracy": 1.0}) for run in results]
    assert TABLES["contextualizer-climb"](other_test_scores) == table


def test_the_climb_without_levers() -> None:
    table = TABLES["contextualizer-climb"](everywhere(THEIRS))
    assert rows(table)["each option"]["MR"] == "not run yet"
    assert table.count("python recipes/sentence_contextualizer.py") == 1
    assert TABLES["contextualizer-climb"]([]).count("python recipes/sentence_contextualizer.py") == 2


@pytest.mark.parametrize("table", ["contextualizer-sentences", "contextualizer-sentences-f1", "contextualizer-climb"])
def test_folds_with_other_settings_are_no_part_of_a_cell(table: str) -> None:
    mixed = [*make_folds(OURS)[:4], make_folds(OURS, settings={"epochs": 3})[4]]
    with pytest.raises(ValueError, match="fold 4 differs from seed 0, fold 0 in epochs"):
        TABLES[table](mixed)
