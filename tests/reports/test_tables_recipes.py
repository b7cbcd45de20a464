from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reports.tables_recipes import make_recipe_table
from tests.support.result_tables import make_run


def rows_of(results: list[Any]) -> dict[tuple[str, str], list[str]]:
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in make_recipe_table(results).splitlines()[2:]
    ]
    return {(cells[0].strip("`"), cells[1].strip("`")): cells[2:] for cells in lines}


def run(variant: str, seed: int, accuracy: float, **changes: Any) -> Any:
    place = {"recipe": "document_lama", "architecture": "lama", "dataset": "ctxzoo-data/reuters8"}
    metrics = {"test/accuracy": accuracy, "validation/accuracy": accuracy} | changes.pop("metrics", {})
    return make_run(variant, seed=seed, metrics=metrics, **(place | changes))


REUTERS = ("recipes/document_lama.py", "ctxzoo-data/reuters8")


def test_every_recipe_and_its_data_has_a_row() -> None:
    rows = rows_of([])
    assert rows[REUTERS] == ["`ctxzoo data get reuters8`", *["–"] * 5]
    assert ("recipes/small_reader.py", "ctxzoo-data/squad_v1_mini") in rows
    assert ("recipes/wikipedia_attention_cbow.py", "ctxzoo-data/wikipedia_en_2015") in rows


def test_the_row_of_the_defaults_with_the_most_runs_is_shown() -> None:
    few = [run("cnn", 1, 99.0)]
    named = [run("lama", seed, 98.0, tag="extensions") for seed in (1, 2, 3)]
    worse = [run("avg", seed, 80.0) for seed in (1, 2)]
    shown = [run("lama", 1, 90.0, wall_seconds=60.0), run("lama", 2, 92.0, wall_seconds=120.0, peak_memory_mb=2048.4)]
    cells = rows_of([*few, *named, *worse, *shown])[REUTERS]
    assert cells[1:] == ["lama", "2", "1.5", "2,048", "accuracy 91.00 ± 1.41"]


def test_the_variant_is_chosen_on_validation() -> None:
    better = run("cnn", 1, 80.0, metrics={"validation/accuracy": 95.0})
    assert rows_of([run("lama", 1, 90.0), better])[REUTERS][1::4] == ["cnn", "accuracy 80.00"]


def test_where_nothing_is_validated_all_rows_are_shown() -> None:
    fitted = [replace(run(name, 1, value), metrics={"test/accuracy": value}) for name, value in (("a", 80), ("b", 90))]
    assert rows_of(fitted)[REUTERS][1::4] == ["2 rows", "accuracy 80.00 to 90.00"]


def test_runs_of_fewer_epochs_are_no_row_of_the_defaults() -> None:
    short = [run("lama", seed, 99.0, settings={"epochs": 1}) for seed in (1, 2)]
    assert rows_of([*short, run("lama", 3, 90.0, settings={"epochs": 4})])[REUTERS][-1] == "accuracy 90.00"


def test_data_that_only_results_name_has_a_row() -> None:
    found = rows_of([run("both", 1, 90.0, recipe="default_text_classifier")])
    assert found["recipes/default_text_classifier.py", "ctxzoo-data/reuters8"][1] == "both"


def test_the_settings_of_the_defaults_may_have_a_name() -> None:
    place = {"recipe": "squad_bidaf", "architecture": "bidaf", "dataset": "ctxzoo-data/squad_v1_mini"}
    runs = [
        make_run(name, tag=tag, metrics={"test/f1": f1, "validation/f1": f1}, **place)
        for name, tag, f1 in (("char7", "", 60.0), ("char7", "start", 65.0), ("char7", "reader", 70.0))
    ]
    assert rows_of(runs)["recipes/squad_bidaf.py", "ctxzoo-data/squad_v1_mini"][1] == "char7, start"


@pytest.mark.parametrize(
    "further", [{"init_from": "run-seed1", "finish_source": "v2"}, {"extensions": ["word_features"]}]
)
def test_runs_that_go_on_from_a_checkpoint_or_have_options_are_no_row_of_the_defaults(further: dict[str, Any]) -> None:
    cells = rows_of([run("lama", 1, 99.0, settings=further), run("cnn", 1, 90.0)])[REUTERS]
    assert cells[1] == "cnn"


def test_named_settings_are_shown_where_no_others_are() -> None:
    assert rows_of([run("lama", 1, 90.0, tag="k5")])[REUTERS][1] == "lama, k5"


def test_a_score_that_is_better_when_lower() -> None:
    wiki = {"recipe": "wikipedia_attention_cbow", "dataset": "ctxzoo-data/wikipedia_en_2015"}
    scores = {"cbow": 9.0, "best": 7.0}
    runs = [
        make_run(name, metrics={"test/perplexity": value, "validation/perplexity": value}, **wiki)
        for name, value in scores.items()
    ]
    cells = rows_of(runs)["recipes/wikipedia_attention_cbow.py", "ctxzoo-data/wikipedia_en_2015"]
    assert (cells[1], cells[-1]) == ("best", "perplexity 7.00")


def test_runs_with_other_settings_are_no_row_together() -> None:
    runs = [run("lama", seed, 90.0 + seed, settings={"dropout": seed / 10}) for seed in (1, 2, 3)]
    cells = rows_of(runs)[REUTERS]
    assert (cells[2], cells[-1]) == ("1", "accuracy 93.00")


def test_runs_on_vectors_of_several_seeds_are_one_row() -> None:
    runs = [run("lama", seed, 90.0, settings={"vectors": f"cbow-seed{seed}-b20"}) for seed in (1, 2)]
    assert rows_of(runs)[REUTERS][2] == "2"


def test_less_than_six_seconds() -> None:
    assert rows_of([run("lama", 1, 90.0, wall_seconds=5.0)])[REUTERS][3] == "< 0.1"
