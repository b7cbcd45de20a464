"""Committed results that stand for a recipe as it is were made with its own settings; others carry a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.evaluation.results import RunResult, read_results
from ctxzoo.hub.cross_validation import Cell, run_of
from recipes import mr_contextualizer, sentence_contextualizer, sentence_text_baseline

ROOT = Path(__file__).parents[2]
HARDWARE = ("precision",)  # what may follow the machine


def cells(recipe: Any, dataset: str) -> list[Cell]:
    """All cells of a recipe without arguments on a dataset."""
    settings = recipe.Settings()
    if recipe is sentence_contextualizer:
        return [recipe.cell_of(dataset, settings)]
    if recipe is sentence_text_baseline:
        return [recipe.cell_of(model, dataset, settings) for model in settings.models]
    return [
        recipe.cell_of(name, variant, {**changes, "num_steps": k}, recipe.Settings(dataset=dataset))
        for rows, columns in recipe.TABLES.values()
        for name, (variant, changes) in rows.items()
        for k in columns
    ]


def other_settings(recipe: Any, results: list[RunResult]) -> dict[str, list[str]]:
    """Results that have the variant and tag of the recipe's own cells, and the settings in which they differ."""
    found = {}
    for result in results:
        for cell in cells(recipe, result.dataset):
            if (cell.variant, cell.tag) != (result.variant, result.tag):
                continue
            run = run_of(cell, recipe.Settings(), result.seed, result.fold or 0, recipe="", architecture="", commit="")
            names = {*run.settings, *result.settings} - set(HARDWARE)
            differ = sorted(name for name in names if run.settings.get(name) != result.settings.get(name))
            if differ:
                found[f"{result.dataset}, {result.variant}, fold {result.fold}"] = differ
    return found


@pytest.mark.parametrize("recipe", [mr_contextualizer, sentence_contextualizer, sentence_text_baseline])
def test_unnamed_results_have_the_settings_of_their_recipe(recipe: Any) -> None:
    results = [one for one in read_results(ROOT / "results") if one.recipe == recipe.RECIPE]
    assert other_settings(recipe, results) == {}


def test_other_settings_are_found() -> None:
    (named,) = [one for one in read_results(ROOT / "results") if one.tag == "fixed_start"]
    assert other_settings(sentence_contextualizer, [named]) == {}
    unnamed = replace(named, tag="", variant="learned_embeddings")
    assert other_settings(sentence_contextualizer, [unnamed]) == {
        f"{named.dataset}, learned_embeddings, fold 0": ["eval_context", "freeze_embeddings", "word_dim"]
    }
