"""What other models gain by starting from word vectors: which runs stand beside which."""

from __future__ import annotations

import pytest

from ctxzoo.results.result import RunResult
from reports.tables_word_embedding import SCALED, TABLES, TAG, USES
from tests.support.result_tables import make_folds, make_run, rows

BIDAF, CONTEXTUALIZER, LAMA = (
    "BiDAF with learned positions, part of SQuAD 1.1, F1",
    "Contextualizer with dropout, CR, accuracy",
    "LAMA, Reuters, accuracy",
)


def table(results: list[RunResult]) -> dict[str, dict[str, str]]:
    return rows(TABLES["word-embedding-uses"](results))


def lama(seed: int, accuracy: float, **changes: object) -> RunResult:
    settings = changes.pop("settings", {})
    return make_run(
        "lama",
        seed,
        recipe="document_lama",
        dataset="ctxzoo-data/reuters8",
        metrics={"test/accuracy": accuracy},
        settings=settings,
        **changes,
    )


def test_a_command_for_each_recipe_before_anything_is_run() -> None:
    made = TABLES["word-embedding-uses"]([])
    assert list(rows(made)) == [use.label for use in USES]
    assert {cell for row in rows(made).values() for cell in row.values()} >= {"not run yet", "–", "0"}
    commands = [line for line in made.splitlines() if line.startswith("python")]
    assert len(commands) == len({(use.where["recipe"], use.ours["tag"]) for use in USES}) == 4
    assert "--word_vectors CHECKPOINT" in commands[0]
    assert "--vectors CHECKPOINT --name attention_cbow " in commands[1]
    assert "--vectors_std 0.0577 --vectors CHECKPOINT --name attention_cbow_scaled " in commands[2]


def test_seeds_and_folds_are_compared_in_pairs() -> None:
    results = [
        make_run("learned", 1, f1=60.0),
        make_run("learned", 1, f1=61.5, tag=TAG),
        make_run("learned", 1, f1=10.0, tag=TAG, settings={"tiny": True}),
        make_run("learned_char7", 1, f1=90.0),
        *make_folds([78.0, 80.0], tag="dropout"),
        *make_folds([77.0, 78.0], tag=TAG),
        *make_folds([99.0, 99.0]),
        lama(0, 95.0),
        lama(1, 97.0),
        lama(2, 60.0),
        lama(0, 96.0, tag=TAG),
        lama(1, 97.5, tag=TAG),
        lama(0, 10.0, tag="m5"),
    ]
    made = table([*results, *make_folds([81.0, 82.0], tag=SCALED)])
    assert list(made[f"{CONTEXTUALIZER}, vectors scaled"].values())[1:] == [
        "79.00 ± 1.41",
        "81.50 ± 0.71",
        "+2.50",
        "2",
    ]
    assert list(made[BIDAF].values())[1:] == ["60.00", "61.50", "+1.50", "1"]
    assert list(made[CONTEXTUALIZER].values())[1:] == ["79.00 ± 1.41", "77.50 ± 0.71", "-1.50", "2"]
    # Seed 2 has no partner and is part of the mean alone.
    assert list(made[LAMA].values())[1:] == ["84.00 ± 20.81", "96.75 ± 1.06", "+0.75", "2"]


def test_the_commands_go_one_by_one() -> None:
    made = TABLES["word-embedding-uses"]([make_run("learned", 1, tag=TAG), lama(0, 95.0, tag=TAG)])
    assert [line.split()[1] for line in made.splitlines() if line.startswith("python")] == [
        "recipes/sentence_contextualizer.py",
        "recipes/sentence_contextualizer.py",
    ]
    assert rows(made)[BIDAF]["difference"] == "–"


def test_a_run_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed 0"):
        table([lama(0, 95.0), lama(0, 96.0)])
    with pytest.raises(ValueError, match=r"not made alike: .* in epochs"):
        table([*make_folds([78.0], tag=TAG), *make_folds([78.0, 79.0], tag=TAG, settings={"epochs": 3})[1:]])
