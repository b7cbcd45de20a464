"""Word vectors' tables of other settings and of windows."""

from __future__ import annotations

import pytest

from reports.tables_word_embedding import STUDIES, TABLES, WINDOWS
from tests.reports.test_tables_word_embedding import induction, trainings
from tests.support.result_tables import rows

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
