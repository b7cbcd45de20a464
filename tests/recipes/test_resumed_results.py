"""`--resume` finds the committed results: the command in each of them, given again, would repeat no run."""

from __future__ import annotations

import importlib
import shlex
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import VECTORS_CONTENT, RunResult, build_result_path
from ctxzoo.runs import many
from ctxzoo.runs.run import Run
from tests.support.committed_results import RESULTS, committed_results
from tests.support.recipe_here import ask
from tests.support.subprocesses import REPOSITORY_ROOT

# The others start from files that lie beside the repository; readers also tell what the code of then did otherwise.
RECIPES = (
    "badges_lste",
    "default_text_classifier",
    "document_context_encoder",
    "document_lama",
    "document_linear",
    "mr_contextualizer",
    "music_beta_lstm",
    "music_floors",
    "pos_bilstm_tagger",
    "ptb_beta_lstm",
    "ptb_floors",
    "regression_ika",
    "roll_call_floors",
    "roll_call_nipen",
    "sentence_beta_lstm",
    "sentence_context_encoder",
    "sentence_contextualizer",
    "sentence_linear",
    "sentence_text_baseline",
    "citeulike_hcrnn",
    "session_baselines",
    "session_floors",
    "squad_sliding_window",
    "wikipedia_attention_cbow",
)


class AskedError(Exception):
    """In place of the first run."""


def results_by_command(recipe: str) -> dict[str, list[RunResult]]:
    """The committed results of a recipe without those of given word vectors, which are not committed as they were."""
    found = defaultdict(list)
    for one in committed_results():
        is_drawn = VECTORS_CONTENT not in one.settings
        if one.recipe == recipe and is_drawn and all(map(is_there, vectors_of(one.command))):
            found[one.command].append(one)
    return found


def vectors_of(command: str) -> list[str]:
    """What stands behind an option that names word vectors."""
    words = shlex.split(command)
    places = [number for number, word in enumerate(words) if word.startswith("--") and "vectors" in word]
    return [word for place in places for word in takewhile(lambda one: not one.startswith("--"), words[place + 1 :])]


def is_there(vectors: str) -> bool:
    return vectors == "none" or (vectors.startswith("model_cards/") and (REPOSITORY_ROOT / vectors).exists())


def runs_of(command: str, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """What the recipe would run, in the folder of committed results."""
    asked: list[Run] = []

    def begin(work: Any, runs: Sequence[Run], *rest: Any) -> Any:
        asked.extend(runs)
        raise AskedError

    def begin_one(run: Run, **options: Any) -> Any:
        asked.append(run)
        return run.read_finished_result()

    _, script, *options = shlex.split(command)
    recipe = importlib.import_module(f"recipes.{Path(script).stem}")
    monkeypatch.setattr(many, "run_in_processes", begin)
    if hasattr(recipe, "execute"):
        monkeypatch.setattr(recipe, "execute", begin_one)
    with suppress(AskedError):
        ask(recipe, [*options, "--results_dir", str(RESULTS)])
    return asked


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_recorded_commands_would_repeat_no_run(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY_ROOT)
    commands = results_by_command(recipe)
    assert commands
    for command, results in commands.items():
        runs = {run.results_file: run for run in runs_of(command, monkeypatch)}
        for one in results:
            names = ("recipe", "variant", "dataset", "split", "seed", "fold", "tag")
            file = build_result_path(RESULTS, **{name: getattr(one, name) for name in names})
            assert file in runs, f"{command} asks for no {file.name}"
            assert runs[file].read_finished_result() == one, f"{command} would repeat {file.name}"


def test_another_setting_would_repeat_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    command = next(iter(results_by_command("mr_contextualizer")))
    (*runs,) = runs_of(f"{command} --batch_size 63", monkeypatch)
    assert [run.read_finished_result() for run in runs] == [None] * len(runs)
