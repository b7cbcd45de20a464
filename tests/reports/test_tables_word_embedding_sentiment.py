"""The table of sentiment from several means."""

from __future__ import annotations

from ctxzoo.tasks.word_embeddings import sentiment
from reports.tables_word_embedding import MEANS, TABLES
from tests.reports.test_tables_word_embedding import trainings
from tests.support.result_tables import rows

TABLE = TABLES["word-embedding-sentiment"]


def scores(base: float) -> dict[str, float]:
    return {f"test/{name}/accuracy": base + place for place, name in enumerate(MEANS)}


def test_every_mean_has_a_column_and_the_control_a_row() -> None:
    assert list(MEANS) == list(sentiment.MEANS)
    results = [
        *trainings("sentiment_means", [scores(60), scores(62)]),
        *trainings("sentiment_means", [scores(70)], name="uniform"),
        *trainings("sentiment", [{"test/accuracy": 99.0}], "cbow"),
    ]
    table = rows(TABLE(results))
    assert table["Attention CBOW"] == {
        "as they are": "61.00 ± 1.41",
        "length 1": "62.00 ± 1.41",
        "weighted": "63.00 ± 1.41",
        "length 1, weighted": "64.00 ± 1.41",
        "trainings": "2",
    }
    assert table["Attention CBOW, K = s = 0 throughout"]["length 1, weighted"] == "73.00"
    assert table["CBOW"]["as they are"] == "not run yet"


def test_the_command_goes_when_nothing_is_missing() -> None:
    assert "--vectors CHECKPOINT" in TABLE([])
    three = [scores(60)] * 3
    names = ("cbow", "skip_gram", "structured_skip_gram", "cwindow", "attention_cbow")
    results = [run for name in names for run in trainings("sentiment_means", three, name)]
    assert "--vectors CHECKPOINT" in TABLE(results)
    assert "```" not in TABLE([*results, *trainings("sentiment_means", three, name="uniform")])
