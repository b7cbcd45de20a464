"""Committed results that stand for a recipe as it is were made with its own settings; others carry a name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import RunResult, build_result_path, read_result
from ctxzoo.runs import many
from ctxzoo.runs.run import Run
from recipes import (
    embedding_evaluation,
    mr_contextualizer,
    sentence_contextualizer,
    sentence_text_baseline,
    squad_bidaf,
)
from recipes import wikipedia_attention_cbow as word_vectors
from tests.support.committed_results import committed_results
from tests.support.recipe_here import ask
from tests.support.result_tables import make_run


class AskedError(Exception):
    """In place of the first run."""


ROOT = Path(__file__).parents[2]
HARDWARE = ("precision", "threads")  # what may follow the machine


@cache
def runs_of(recipe: Any, dataset: str) -> dict[tuple[str, str, int | None], Run]:
    """Variant, tag and fold to what the recipe runs on a dataset without further arguments."""
    found: dict[tuple[str, str, int | None], Run] = {}

    def gather(work: Any, runs: Any, *_: Any) -> Any:
        found.update({(run.variant, run.tag, run.experiment.fold): run for run in runs})
        raise AskedError

    tables = [["--table", "2"], ["--table", "3"]] if recipe is mr_contextualizer else [[]]
    option = "--dataset" if recipe is mr_contextualizer else "--datasets"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "run_in_processes", gather)
        for table in tables:
            with suppress(AskedError):
                ask(recipe, [option, dataset, *table])
    return found


def other_settings(recipe: Any, results: list[RunResult]) -> dict[str, list[str]]:
    """Results that have the variant and tag of the recipe's own cells, and the settings in which they differ."""
    found = {}
    for result in results:
        run = runs_of(recipe, result.dataset).get((result.variant, result.tag, result.fold))
        if run is None:
            continue
        told = {**run.defaults, **result.settings}
        names = {*run.settings, *told} - set(HARDWARE)
        differ = sorted(name for name in names if {**run.implied_values, **run.settings}.get(name) != told.get(name))
        if differ:
            found[f"{result.dataset}, {result.variant}, fold {result.fold}"] = differ
    return found


@pytest.mark.parametrize("recipe", [mr_contextualizer, sentence_contextualizer, sentence_text_baseline])
def test_unnamed_results_have_the_settings_of_their_recipe(recipe: Any) -> None:
    results = [one for one in committed_results() if one.recipe == recipe.BASE.recipe]
    assert results
    assert other_settings(recipe, results) == {}


def test_other_settings_are_found() -> None:
    (named,) = [one for one in committed_results() if one.tag == "fixed_start"]
    assert other_settings(sentence_contextualizer, [named]) == {}
    unnamed = replace(named, tag="", variant="learned_embeddings")
    assert other_settings(sentence_contextualizer, [unnamed]) == {
        f"{named.dataset}, learned_embeddings, fold 0": ["eval_context", "freeze_embeddings", "word_dim"]
    }


def test_readers_that_went_on_have_the_word_vectors_of_the_run_they_went_on_from() -> None:
    results = [one for one in committed_results() if one.recipe == squad_bidaf.BASE.recipe]
    continued = [one for one in results if "--init_from" in one.command]
    assert len(continued) == 2
    for one in continued:
        start = Path(one.command.partition("--init_from ")[2].split()[0]).parent.name
        assert one.settings["init_from"] == start
        variant, tag, dataset, seed = start.split("-")
        file = f"{variant}-{dataset}-test-{seed}-{tag}.json"
        first = read_result(ROOT / "results" / squad_bidaf.BASE.recipe / file)
        for name in ("word_vectors", "extensions", "query_to_context", "squad_version"):
            assert one.settings[name] == first.settings[name], name
        assert one.parameters == first.parameters


def trainings_of(results: list[RunResult]) -> dict[str, RunResult]:
    """Trainings of word vectors by the name that their vectors have."""
    names = ("recipe", "variant", "dataset", "split", "seed", "tag")
    return {
        build_result_path("", **{name: getattr(one, name) for name in names}).stem: one
        for one in results
        if one.recipe == word_vectors.BASE.recipe
    }


def word_vector_run(variant: str, window: int) -> Run:
    """What the recipe of word vectors runs without further arguments."""
    asked: list[Run] = []

    def begin(run: Any, **_: Any) -> Any:
        asked.append(run)
        raise AskedError

    with pytest.MonkeyPatch.context() as patch, suppress(AskedError):
        patch.setattr(word_vectors, "execute", begin)
        ask(word_vectors, ["--architecture", variant, "--window", str(window)])
    return asked[0]


def other_word_vectors(results: list[RunResult]) -> list[str]:
    """Unnamed trainings of word vectors whose settings are not the recipe's, each with those that differ."""
    found = []
    for name, training in trainings_of(results).items():
        told = training.settings
        if training.tag != f"b{told['window']}":
            continue
        run = word_vector_run(training.variant, told["window"])
        own, told = {**run.implied_values, **run.settings}, {**run.defaults, **run.implied_values, **told}
        differ = [key for key in {*told, *own} - set(HARDWARE) if told.get(key) != own.get(key)]
        if differ:
            found.append(f"{name}: {', '.join(sorted(differ))}")
    return found


def misnamed_evaluations(results: list[RunResult]) -> list[str]:
    """Evaluations of checkpoints that do not say which training made the vectors."""
    trainings = trainings_of(results)
    found = []
    for one in results:
        if one.recipe != embedding_evaluation.RECIPE or one.settings["window"] is None:
            continue
        training = trainings.get(one.settings["vectors"])
        tag = "-".join(part for part in (f"b{one.settings['window']}", one.settings["name"]) if part)
        told = (one.settings["architecture"], one.seed, tag)
        if training is None or (training.variant, training.seed, training.tag) != told:
            found.append(f"{one.settings['task']} of {one.settings['vectors']}")
    return found


def test_word_vectors_are_evaluated_under_the_name_of_their_training() -> None:
    results = list(committed_results())
    assert other_word_vectors(results) == []
    assert misnamed_evaluations(results) == []


def test_misnamed_word_vectors_are_found() -> None:
    def training(tag: str, **changes: Any) -> RunResult:
        run = word_vector_run("cbow", 20)
        made = make_run("cbow", 1, recipe=word_vectors.BASE.recipe, dataset="someone/texts", tag=tag)
        return replace(made, settings={**run.settings, **changes})

    def evaluation(name: str, vectors: str, seed: int = 1) -> RunResult:
        told = {"architecture": "cbow", "window": 20, "name": name, "vectors": vectors, "task": "sentiment"}
        return replace(make_run("cbow-b20", seed, recipe=embedding_evaluation.RECIPE), settings=told)

    plain, thinned = training("b20", threads=2), training("b20-subsampled", subsampling=0.001)
    first, second = "cbow-texts-test-seed1-b20", "cbow-texts-test-seed1-b20-subsampled"
    assert other_word_vectors([plain, thinned]) == []
    assert other_word_vectors([training("b20", subsampling=0.001, epochs=5)]) == [f"{first}: epochs, subsampling"]
    good = [plain, thinned, evaluation("", first), evaluation("subsampled", second)]
    assert misnamed_evaluations(good) == []
    for bad in (evaluation("", second), evaluation("", first, seed=0), evaluation("", "elsewhere")):
        assert misnamed_evaluations([plain, thinned, bad]) == [f"sentiment of {bad.settings['vectors']}"]
