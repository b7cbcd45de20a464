"""A search for settings within a budget of minutes: the preset, then random ones, compared on validation alone."""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.results.result import TRIALS, RunResult, finished_result
from ctxzoo.runs.own_training import OwnTraining, Trial
from ctxzoo.runs.preset import Preset, told
from ctxzoo.runs.run import Run, execute
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.training.task import NonFiniteLossError

TUNED = "tuned"
LEAST_SECONDS = 1e-3  # more than none, which would end a trial before its first epoch
WORTH_IT = 0.5  # of a usual trial: with less time left none is begun


@dataclass(frozen=True)
class Found:
    """A finished trial.

    Attributes:
        preset, trial: what was tried, and how long it had.
        run: of it.
        score: of validation.
    """

    preset: Preset
    trial: Trial
    run: Run
    score: float


def tuned_run(
    training: OwnTraining, request: TrainingRequest, preset: Preset, splits: OwnSplits, tell: Callable[[str], None]
) -> Run:
    """Search for settings, and return the run of the best: executed with `resume`, it goes on where its trial ended.

    Each trial leaves a results file with the scores of validation in the folder of trials, and the best one its
    checkpoint. With `request.resume` trials that are finished count with the time that they took.

    Args:
        training: of the problem.
        request: of the user; `minutes` is the budget, after which the running trial ends with its epoch.
        preset: tried first; settings that the user gave are not changed.
        splits: of the data.
        tell: is called with a line for the user.

    Raises:
        ValueError: no trial gave a finite loss.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    assert request.minutes is not None, "a search needs a budget"
    trials = replace(request, results_dir=str(Path(request.results_dir) / TRIALS))
    budget, spent = 60 * request.minutes, 0.0
    best: Found | None = None
    free = {name: values for name, values in training.search_space(preset).items() if name not in request.changes}
    number = 0
    for number, changes in enumerate(_candidates(free, preset, request.seed)):
        left = budget - spent
        if number and left < WORTH_IT * spent / number:
            break
        tried = preset.changed(**changes)
        trial = Trial(name=f"trial{number}", minutes=max(left, LEAST_SECONDS) / 60)
        run = training.run(trials, tried, splits, trial)
        began = time.monotonic()
        kept = finished_result(run.spec.results_file, run.spec.settings) if request.resume else None
        try:
            result = execute(run, resume=request.resume, quiet=True)
        except (NonFiniteLossError, FloatingPointError, ValueError) as error:
            if number == 0 and not isinstance(error, (NonFiniteLossError, FloatingPointError)):
                raise  # of the data or the preset; behind it, of settings that do not go together
            spent += time.monotonic() - began
            tell(f"trial {number}: {_changes(tried, preset)}: {error}")
            continue
        spent += result.wall_seconds if kept is not None else max(time.monotonic() - began, result.wall_seconds)
        found = Found(tried, trial, run, _score(training, result))
        best, other = _better(best, found, training.lower_is_better)
        if other is not None:
            shutil.rmtree(other.run.spec.folder, ignore_errors=True)  # its results file is what is kept of it
        tell(_line(training, number, _changes(tried, preset), found, best, result.wall_seconds))
    else:
        number += 1
    if best is None:
        raise ValueError("no trial of --tune gave a finite loss; lower --learning_rate")
    tell(f"{count_of(number, 'trials')} in {spent / 60:.1f} min; the best has {told(best.preset.values(), free)}")
    kept_trial = replace(best.trial, name=TUNED, score="test")
    run = training.run(request, best.preset, splits, kept_trial)
    if finished_result(run.spec.results_file, run.spec.settings) is None and best.run.spec.folder.is_dir():
        shutil.rmtree(run.spec.folder, ignore_errors=True)
        shutil.copytree(best.run.spec.folder, run.spec.folder)
        # It is trained already; no epoch is to follow where the budget ended it.
        run = training.run(request, best.preset, splits, replace(kept_trial, minutes=0.0))
    return run


def _candidates(space: Mapping[str, Sequence[Any]], preset: Preset, seed: int) -> Iterator[dict[str, Any]]:
    """Yield values of the settings of a space: the preset's first, then every other combination once, in random order.

    Each setting deals its values from a shuffled deck of its own, which is shuffled anew when it is empty. So the first
    few combinations hold every value of every setting, which a walk through the grid and plain chance do not.
    """
    own, generator = preset.values(), random.Random(seed)
    values = {name: list(dict.fromkeys(of_setting)) for name, of_setting in space.items()}
    first = {name: own[name] for name in space}
    yield first
    seen = {tuple(first.values())}
    is_in_grid = all(own[name] in of_setting for name, of_setting in values.items())
    everything = math.prod(map(len, values.values())) + (not is_in_grid)
    decks: dict[str, list[Any]] = {name: [] for name in values}
    while len(seen) < everything:
        for name, deck in decks.items():
            if not deck:
                deck.extend(generator.sample(values[name], len(values[name])))
        changes = {name: deck.pop() for name, deck in decks.items()}
        if tuple(changes.values()) not in seen:
            seen.add(tuple(changes.values()))
            yield changes


def _changes(tried: Preset, preset: Preset) -> str:
    """Write for a person what a trial changes of the preset."""
    own = preset.values()
    changed = {name: value for name, value in tried.values().items() if value != own[name]}
    return told(changed) or "the settings as they are"


def _score(training: OwnTraining, result: RunResult) -> float:
    return result.metrics[f"validation/{training.objective}"]


def _better(best: Found | None, found: Found, lower: bool) -> tuple[Found, Found | None]:
    """Return the better of the two, of equal ones the earlier, and the other."""
    if best is None:
        return found, None
    is_better = found.score < best.score if lower else found.score > best.score
    return (found, best) if is_better else (best, found)


def _line(training: OwnTraining, number: int, changes: str, found: Found, best: Found, seconds: float) -> str:
    score = f"validation {training.objective.replace('_', ' ')} {found.score:.2f}"
    return f"trial {number}: {changes}: {score} in {seconds:.0f} s; best {best.score:.2f}"
