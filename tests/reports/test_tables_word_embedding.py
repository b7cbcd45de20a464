"""Word vectors' tables: which runs stand in which cell, beside which numbers of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from ctxzoo.tasks.word_embeddings import sentiment
from reports.tables_word_embedding import GIVEN, MEANS, MODELS, PAPER, STUDIES, TABLES, USES, WINDOWS
from tests.support.result_tables import make_folds, make_run, rows


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


TAG, SCALED = "attention_cbow", "attention_cbow_scaled"
MEANS_TABLE = TABLES["word-embedding-sentiment"]


def of_means(base: float) -> dict[str, float]:
    return {f"test/{name}/accuracy": base + place for place, name in enumerate(MEANS)}


def test_every_mean_has_a_column_and_the_control_a_row() -> None:
    assert list(MEANS) == list(sentiment.MEANS)
    results = [
        *trainings("sentiment_means", [of_means(60), of_means(62)]),
        *trainings("sentiment_means", [of_means(70)], name="uniform"),
        *trainings("sentiment", [{"test/accuracy": 99.0}], "cbow"),
    ]
    table = rows(MEANS_TABLE(results))
    assert table["Attention CBOW"] == {
        "as they are": "61.00 ± 1.41",
        "length 1": "62.00 ± 1.41",
        "weighted": "63.00 ± 1.41",
        "length 1, weighted": "64.00 ± 1.41",
        "trainings": "2",
    }
    assert table["Attention CBOW, K = s = 0 throughout"]["length 1, weighted"] == "73.00"
    assert table["CBOW"]["as they are"] == "not run yet"


def test_the_command_of_means_goes_when_nothing_is_missing() -> None:
    assert "--vectors CHECKPOINT" in MEANS_TABLE([])
    three = [of_means(60)] * 3
    names = ("cbow", "skip_gram", "structured_skip_gram", "cwindow", "attention_cbow")
    results = [run for name in names for run in trainings("sentiment_means", three, name)]
    assert "--vectors CHECKPOINT" in MEANS_TABLE(results)
    assert "```" not in MEANS_TABLE([*results, *trainings("sentiment_means", three, name="uniform")])


COMMAND = "python recipes/embedding_evaluation.py --vectors"


def test_every_study_has_a_row_before_it_is_run() -> None:
    table = rows(TABLES["word-embedding-studies"]([]))
    assert list(table) == list(STUDIES.values())
    assert set(table["Attention CBOW, s without K"].values()) == {"not run yet", "–", "0"}


def test_a_study_stands_beside_the_unnamed_runs() -> None:
    both = induction(56, 50, 60) | induction(48, 44, 52, "upos")
    results = [
        *trainings("pos_induction", [both, both]),
        *trainings("pos_induction", [induction(50, 40, 55)], name="konly"),
        *trainings("pos_tagging", [{"test/accuracy": 93.5}], name="konly"),
        *trainings("sentiment", [{"test/accuracy": 71.0}], "cbow", name="exact-rate0.2"),
        *trainings("similarity", [{"test/wordsim353/spearman": 47.27, "test/men3000/spearman": 41.06}], "cbow"),
        *trainings("sentiment", [{"test/accuracy": 99.0}], "cbow", window=5),
    ]
    table = rows(TABLES["word-embedding-studies"](results))
    plain = table["Attention CBOW"]
    assert (plain["POS induction, V"], plain["its spread"]) == ("56.00 ± 0.00", "50.00 to 60.00")
    assert (plain["12 tags, V"], plain["trainings"]) == ("48.00 ± 0.00", "2")
    study = table["Attention CBOW, K without s"]
    assert (study["POS induction, V"], study["POS tagging"], study["sentiment"]) == ("50.00", "93.50", "not run yet")
    assert table["CBOW, exact gradient, learning rate 0.2"]["sentiment"] == "71.00"
    assert (table["CBOW"]["WordSim-353"], table["CBOW"]["MEN"]) == ("47.27", "41.06")
    assert table["CBOW"]["sentiment"] == "not run yet"  # that of b = 5 does not count


def test_what_attention_adds_is_tested_over_trainings() -> None:
    results = [
        *trainings("pos_induction", [induction(54, 50, 60), induction(55, 50, 60)]),
        *trainings("pos_induction", [induction(50, 50, 60), induction(51, 50, 60)], name="uniform"),
    ]
    table = rows(TABLES["word-embedding-studies"](results))
    row = table["Attention CBOW − Attention CBOW, K = s = 0 throughout (p over trainings)"]
    assert (row["POS induction, V"], row["POS tagging"], row["MEN"]) == ("+4.00 (p = 0.030)", "–", "")


def test_other_names_with_results_have_rows_of_their_own() -> None:
    results = [
        *trainings("sentiment", [{"test/accuracy": 70.0}], "cwindow", name="trial"),
        *trainings("sentiment", [{"test/accuracy": 99.0}], "cbow", name="narrow", window=5),
        *trainings("sentiment", [{"test/accuracy": 99.0}], "word_vectors", window=None, name="theirs"),
    ]
    table = rows(TABLES["word-embedding-studies"](results))
    assert list(table)[len(STUDIES) :] == ["CWindow, trial"]
    assert table["CWindow, trial"]["sentiment"] == "70.00"


def test_windows_have_columns() -> None:
    results = [
        *trainings("pos_induction", [induction(50, 40, 55), induction(54, 40, 55)], window=2),
        *trainings("pos_induction", [induction(60, 40, 65)], window=2, name="konly"),
        *trainings("pos_induction", [induction(40, 30, 45) | induction(33, 30, 35, "upos")], "cbow", window=20),
    ]
    table = rows(TABLES["word-embedding-windows"](results))
    assert table["Attention CBOW, the treebank's tags"] == {
        "b = 2": "52.00 ± 2.83",
        "b = 5": "not run yet",
        "b = 10": "not run yet",
        "b = 20": "not run yet",
    }
    assert (table["CBOW, the treebank's tags"]["b = 20"], table["CBOW, 12 tags"]["b = 20"]) == ("40.00", "33.00")


@pytest.mark.parametrize("name", ["word-embedding-studies", "word-embedding-windows"])
def test_the_command_goes_when_nothing_is_missing(name: str) -> None:
    assert COMMAND in TABLES[name]([])
    scores = {"test/accuracy": 71.0, "test/wordsim353/spearman": 60.0, "test/men3000/spearman": 60.0}
    cells = [(architecture, name, 20) for architecture, name in STUDIES]
    cells += [(architecture, "", window) for architecture in ("attention_cbow", "cbow") for window in WINDOWS[:-1]]
    results = [
        run
        for architecture, study, window in cells
        for task in ("pos_induction", "pos_tagging", "sentiment", "similarity")
        for run in trainings(task, [scores | induction(50, 40, 55)], architecture, name=study, window=window)
    ]
    assert COMMAND not in TABLES[name](results)


BIDAF, CONTEXTUALIZER, LAMA = (
    "BiDAF with learned positions, part of SQuAD 1.1, F1",
    "Contextualizer with dropout, CR, accuracy",
    "LAMA, Reuters, accuracy",
)


def uses(results: list[RunResult]) -> dict[str, dict[str, str]]:
    return rows(TABLES["word-embedding-uses"](results))


def lama_run(seed: int, accuracy: float, **changes: object) -> RunResult:
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
    assert list(rows(made)) == [use["label"] for use, _ in USES]
    assert {cell for row in rows(made).values() for cell in row.values()} >= {"not run yet", "–", "0"}
    commands = [line for line in made.splitlines() if line.startswith("python")]
    assert len(commands) == len({(where["recipe"], use["options"]) for use, where in USES}) == 4
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
        lama_run(0, 95.0),
        lama_run(1, 97.0),
        lama_run(2, 60.0),
        lama_run(0, 96.0, tag=TAG),
        lama_run(1, 97.5, tag=TAG),
        lama_run(0, 10.0, tag="m5"),
    ]
    made = uses([*results, *make_folds([81.0, 82.0], tag=SCALED)])
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
    made = TABLES["word-embedding-uses"]([make_run("learned", 1, tag=TAG), lama_run(0, 95.0, tag=TAG)])
    assert [line.split()[1] for line in made.splitlines() if line.startswith("python")] == [
        "recipes/sentence_contextualizer.py",
        "recipes/sentence_contextualizer.py",
    ]
    assert rows(made)[BIDAF]["difference"] == "–"


def test_a_run_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="seed 0"):
        uses([lama_run(0, 95.0), lama_run(0, 96.0)])
    with pytest.raises(ValueError, match=r"not made alike: .* in epochs"):
        uses([*make_folds([78.0], tag=TAG), *make_folds([78.0, 79.0], tag=TAG, settings={"epochs": 3})[1:]])
