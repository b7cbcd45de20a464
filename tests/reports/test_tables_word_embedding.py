"""Word vectors' tables: which runs stand in which cell, beside which numbers of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_word_embedding import GIVEN, MODELS, PAPER, TABLES
from tests.support.result_tables import make_run, rows


def trainings(
    task: str, metrics: list[dict[str, float]], architecture: str = "attention_cbow", **settings: Any
) -> list[RunResult]:
    told = {"task": task, "architecture": architecture, "window": 20, "name": "", **settings}
    return [
        replace(make_run(architecture, seed), recipe="embedding_evaluation", settings=told, metrics=numbers)
        for seed, numbers in enumerate(metrics)
    ]


def induction(median: float, lowest: float, highest: float, tags: str = "pos_tags") -> dict[str, float]:
    values = {"median": median, "lowest": lowest, "highest": highest}
    return {f"all/{tags}/v_measure_{name}": value for name, value in values.items()}


def test_every_row_of_the_paper_is_there_with_its_numbers() -> None:
    table = rows(TABLES["word-embedding-downstream"]([]))
    assert set(PAPER) == set(MODELS) - {"cwindow"}
    assert table["Attention CBOW"] == {
        "POS induction, V": "not run yet (54.00)",
        "its spread": "–",
        "12 tags, V": "not run yet",
        "its spread, 12 tags": "–",
        "POS tagging": "not run yet (97.39)",
        "sentiment": "not run yet (71.39)",
        "trainings": "0",
    }
    assert table["CWindow"]["POS tagging"] == "not run yet"


def test_vectors_of_others_have_a_row_where_they_were_evaluated() -> None:
    ours = trainings("sentiment", [{"test/accuracy": 71.0}] * 3)
    given = trainings("sentiment", [{"test/accuracy": 76.0}], "glove.6B.100d_wink", window=None)
    label = GIVEN["glove.6B.100d_wink"]
    assert label not in rows(TABLES["word-embedding-downstream"](ours))
    row = rows(TABLES["word-embedding-downstream"]([*ours, *given]))[label]
    assert (row["sentiment"], row["POS induction, V"], row["trainings"]) == ("76.00", "–", "1")
    assert label not in rows(TABLES["word-embedding-intrinsic"]([*ours, *given]))


def test_trainings_stand_in_the_cells_of_their_task() -> None:
    results = [
        *trainings("pos_induction", [induction(50, 40, 55), induction(52, 45, 60), induction(54, 42, 58)]),
        *trainings("sentiment", [{"test/accuracy": 71.0}, {"test/accuracy": 72.0}]),
        *trainings("pos_tagging", [{"test/accuracy": 97.25}]),
        *trainings("sentiment", [{"test/accuracy": 60.0}], "cbow"),
        # Other settings have tables of their own.
        *trainings("sentiment", [{"test/accuracy": 99.0}], window=5),
        *trainings("sentiment", [{"test/accuracy": 99.0}], name="subsampled"),
        *[replace(run, recipe="other") for run in trainings("sentiment", [{"test/accuracy": 99.0}])],
    ]
    table = rows(TABLES["word-embedding-downstream"](results))
    row = table["Attention CBOW"]
    assert row["POS induction, V"] == "52.00 ± 2.00 (54.00)"
    assert row["its spread"] == "40.00 to 60.00"
    assert (row["12 tags, V"], row["its spread, 12 tags"]) == ("–", "–")
    assert (row["POS tagging"], row["sentiment"], row["trainings"]) == ("97.25 (97.39)", "71.50 ± 0.71 (71.39)", "3")
    assert table["CBOW"]["sentiment"] == "60.00 (71.99)"


def test_attention_is_compared_over_trainings() -> None:
    ours = trainings("sentiment", [{"test/accuracy": 24.0}, {"test/accuracy": 25.0}])
    base = trainings("sentiment", [{"test/accuracy": 20.0}, {"test/accuracy": 21.0}], "cbow")
    lacking = trainings("pos_induction", [{"all/pos_tags/v_measure_median": 50.0}])
    table = rows(TABLES["word-embedding-downstream"]([*ours, *base, *lacking]))
    row = table["Attention CBOW − CBOW (p over trainings)"]
    assert (row["sentiment"], row["POS induction, V"]) == ("+4.00 (p = 0.030)", "–")
    assert "Attention CBOW − CWindow (p over trainings)" not in table


def test_universal_tags_have_a_column_without_a_number_of_the_paper() -> None:
    results = trainings("pos_induction", [induction(50, 40, 55, "upos") | induction(60, 59, 61)])
    row = rows(TABLES["word-embedding-downstream"](results))["Attention CBOW"]
    assert (row["12 tags, V"], row["its spread, 12 tags"]) == ("50.00", "40.00 to 55.00")


def test_intrinsic_cells_tell_their_coverage() -> None:
    sets = ("wordsim353", "men3000", "rare_words", "simverb3500")
    similarity = {f"test/{name}/spearman": 60.0 for name in sets} | {f"test/{name}/coverage": 90.4 for name in sets}
    del similarity["test/rare_words/spearman"]
    analogy = {"test/semantic/accuracy": 40.0, "test/semantic/coverage": 100.0}
    results = [*trainings("similarity", [similarity]), *trainings("analogy", [analogy])]
    row = rows(TABLES["word-embedding-intrinsic"](results))["Attention CBOW"]
    assert (row["MEN"], row["rare words"]) == ("60.00 (of 90 %)", "–")
    assert (row["semantic"], row["syntactic"]) == ("40.00 (of 100 %)", "–")


def test_the_command_goes_when_every_row_is_whole() -> None:
    command = "python recipes/embedding_evaluation.py --vectors"
    assert command in TABLES["word-embedding-downstream"]([])
    whole = [
        run
        for architecture in MODELS
        for task, numbers in (
            ("pos_induction", induction(50, 40, 55)),
            ("pos_tagging", {"test/accuracy": 97.0}),
            ("sentiment", {"test/accuracy": 71.0}),
        )
        for run in trainings(task, [numbers] * 3, architecture)
    ]
    assert command not in TABLES["word-embedding-downstream"](whole)
    assert command in TABLES["word-embedding-intrinsic"](whole)


def test_a_seed_twice_is_refused() -> None:
    twice = trainings("sentiment", [{"test/accuracy": 71.0}]) * 2
    with pytest.raises(ValueError, match="two results for attention_cbow"):
        TABLES["word-embedding-downstream"](twice)


def test_trainings_that_were_not_evaluated_alike_are_refused() -> None:
    def run(seed: int, data: str, **settings: Any) -> RunResult:
        told = {"vectors": f"v{seed}", "vectors_fingerprint": f"{seed}f", **settings}
        made = trainings("pos_tagging", [{"test/accuracy": 90.0}], **told)[0]
        return replace(made, seed=seed, data={"source": "x", "fingerprint": f"{data}, word vectors {seed}f"})

    table = rows(TABLES["word-embedding-downstream"]([run(0, "a"), run(1, "a")]))
    assert table["Attention CBOW"]["POS tagging"] == "90.00 ± 0.00 (97.39)"
    with pytest.raises(ValueError, match="not made alike: seed 1, fold None differs from seed 0, fold None in epochs"):
        TABLES["word-embedding-downstream"]([run(0, "a", epochs=50), run(1, "a", epochs=5)])
    with pytest.raises(ValueError, match=r"not made alike: .* in data"):
        TABLES["word-embedding-downstream"]([run(0, "a"), run(1, "b")])
