"""The table of published checkpoints: scores of the very run, an interval, and which row is the strongest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.published import PublishedCheckpoint, list_published_checkpoints
from ctxzoo.results.result import RunResult
from reports.tables_published import compare_with_best, format_interval, make_checkpoint_table
from tests.support.result_tables import make_run, rows

ROOT = Path(__file__).resolve().parents[2]


def lama(accuracy: float, *, seed: int = 1, tag: str = "", **changes: Any) -> RunResult:
    changes = {"architecture": "lama", "dataset": "ctxzoo-data/reuters8", "tag": tag} | changes
    metrics = {"test/accuracy": accuracy} | changes.pop("metrics", {})
    return make_run("lama_ctx", seed, metrics=metrics, **changes)


def row_of(accuracies: list[float], tag: str) -> list[RunResult]:
    return [lama(accuracy, seed=seed, tag=tag) for seed, accuracy in enumerate(accuracies)]


def test_a_row_of_the_table() -> None:
    run = make_run("char7", f1=75.5, metrics={"test/total": 1376.0}, tag="reader")
    found = rows(
        make_checkpoint_table(
            [run], [PublishedCheckpoint(Path("model_cards/reader"), "question-answering", 9_960_000, run)]
        )
    )
    assert found["[reader](../../model_cards/reader/README.md)"] == {
        "task": "question-answering",
        "data": "`ctxzoo-data/squad_v1_mini`",
        "score": "F1 75.50, EM 65.50",
        "95 % interval": "EM 62.9 to 67.9",
        "beside the tables' rows": "–",
        "MB": "10.0",
        "load": '`ctxzoo.pipeline("model_cards/reader")`',
    }


def test_a_checkpoint_without_a_pipeline_and_with_a_loss() -> None:
    def music(nll: float, seed: int, variant: str = "lstm", config: str = "jsb_chorales") -> RunResult:
        metrics = {"test/nll": nll, "test/frame_accuracy": 30.0}
        same = {"architecture": "beta_lstm", "dataset": "ctxzoo-data/polyphonic_music", "tag": config}
        return make_run(variant, seed, settings={"config_name": config}, metrics=metrics, **same)

    results = [music(8.6, seed) for seed in range(3)] + [music(8.4, seed, "bibeta5") for seed in range(3)]
    results += [music(3.0, seed, config="nottingham") for seed in range(3)]
    published = [PublishedCheckpoint(Path("model_cards/chorales"), "polyphonic-music", 2_400_000, results[3])]
    found = rows(make_checkpoint_table(results, published))["[chorales](../../model_cards/chorales/README.md)"]
    assert found["score"] == "nats of a step 8.40, frame accuracy 30.00"
    assert found["95 % interval"] == "–"
    assert found["beside the tables' rows"] == "one of the strongest row: 8.40 ± 0.00"
    assert found["load"] == '`ctxzoo.pipeline("model_cards/chorales")`'
    other = compare_with_best(results[0], results, "polyphonic-music")
    assert other == "not of the strongest row, bibeta5, jsb_chorales: 8.40 ± 0.00"


def test_the_strongest_row_with_several_runs_is_told() -> None:
    results = [
        *row_of([95.0, 95.1, 95.2], ""),
        *row_of([97.0, 97.2, 97.4], "levers"),
        lama(99.0, tag="one seed"),
        lama(99.0, tag="levers", recipe="document_ensemble"),
        *(lama(99.0, seed=seed, tag="elsewhere", dataset="stanfordnlp/imdb") for seed in range(3)),
    ]
    assert (
        compare_with_best(results[0], results, "text-classification")
        == "not of the strongest row, lama_ctx, levers: 97.20 ± 0.20"
    )
    assert compare_with_best(results[3], results, "text-classification") == "one of the strongest row: 97.20 ± 0.20"
    assert compare_with_best(results[0], results[:2], "text-classification") == "–"
    alone = lama(99.0, tag="one seed")  # no row of several runs: it stands beside the strongest one that there is
    assert (
        compare_with_best(alone, results, "text-classification") == "above the mean of lama_ctx, levers: 97.20 ± 0.20"
    )


def test_the_strongest_row_is_chosen_on_validation_where_all_rows_have_a_score_there() -> None:
    plain, levers = row_of([95.0, 95.1, 95.2], ""), row_of([97.0, 97.2, 97.4], "levers")
    for runs, accuracy in ((plain, 96.0), (levers, 94.0)):
        for run in runs:
            run.metrics["validation/accuracy"] = accuracy
    assert (
        compare_with_best(plain[0], [*plain, *levers], "text-classification")
        == "one of the strongest row: 95.10 ± 0.10"
    )


def test_perplexities_of_other_vocabularies_are_not_compared() -> None:
    def words(tag: str, total: int, perplexity: float, seed: int) -> RunResult:
        sizes = {"trainable": total, "total": total}
        return make_run("cbow", seed, tag=tag, parameters=sizes, metrics={"test/perplexity": perplexity})

    large = [words("b20", 6_600_000, 900.0, seed) for seed in range(3)]
    small = words("small", 700_000, 500.0, 0)
    study = [words("b20-study", 6_600_000, 900.0, seed) for seed in range(3)]
    for runs in ([*large, *study, small], [*study, *large, small]):
        assert compare_with_best(small, runs, "fill-mask") == "not of the strongest row, cbow, b20: 6.6M weights"


def test_intervals_need_texts_that_are_right_or_wrong() -> None:
    assert format_interval(lama(96.0), "text-classification") == "accuracy 95.1 to 96.7"
    assert format_interval(lama(96.0, dataset="someone/news"), "text-classification") == "–"
    assert format_interval(lama(96.0, metrics={"test/total": 100.0}), "token-classification") == "–"


@pytest.mark.parametrize("one", list_published_checkpoints(ROOT), ids=lambda one: one.folder.name)
def test_a_published_accuracy_is_a_share_of_as_many_texts(one: PublishedCheckpoint) -> None:
    """So the number of texts that the interval is of is right."""
    texts = DATASET_FACTS[one.result.dataset].test_rows
    if texts is None or one.task != "text-classification":
        pytest.skip("no interval from this table")
    right = one.result.metrics["test/accuracy"] * texts / 100
    assert right == pytest.approx(round(right), abs=0.01)


def test_a_folder_without_published_checkpoints_has_none(tmp_path: Path) -> None:
    assert list_published_checkpoints(tmp_path) == []
