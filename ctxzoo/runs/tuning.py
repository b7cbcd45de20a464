"""A search for settings within a budget of minutes: the preset, then random ones, compared on validation alone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

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
        except (NonFiniteLossError, FloatingPointError) as error:
            spent += time.monotonic() - began
            tell(f"trial {number}: {told(changes)}: {error}")
            continue
        spent += result.wall_seconds if kept is not None else max(time.monotonic() - began, result.wall_seconds)
        found = Found(tried, trial, run, _score(training, result))
        best, other = _better(best, found, training.lower_is_better)
        if other is not None:
            shutil.rmtree(other.run.spec.folder, ignore_errors=True)  # its results file is what is kept of it
        tell(_line(training, number, changes, found, best, result.wall_seconds))
    else:
        number += 1
    if best is None:
        raise ValueError("no trial of --tune gave a finite loss; lower --learning_rate")
    trials_told = "1 trial" if number == 1 else f"{number} trials"
    tell(f"{trials_told} in {spent / 60:.1f} min; the best has {told(best.preset.settings(), free)}")
    kept_trial = replace(best.trial, name=TUNED, score="test")
    run = training.run(request, best.preset, splits, kept_trial)
    if finished_result(run.spec.results_file, run.spec.settings) is None and best.run.spec.folder.is_dir():
        shutil.rmtree(run.spec.folder, ignore_errors=True)
        shutil.copytree(best.run.spec.folder, run.spec.folder)
        # It is trained already; no epoch is to follow where the budget ended it.
        run = training.run(request, best.preset, splits, replace(kept_trial, minutes=0.0))
    return run


def _candidates(space: Mapping[str, Sequence[Any]], preset: Preset, seed: int) -> Iterator[dict[str, Any]]:
    """Yield changes of the preset: none, and then all of the space in random order, but for the preset itself."""
    settings = preset.settings()
    yield {name: settings[name] for name in space}
    if space:
        number = len(ParameterGrid(dict(space)))
        for changes in ParameterSampler(dict(space), number, random_state=seed):
            if any(settings[name] != value for name, value in changes.items()):
                yield {name: changes[name] for name in space}


def _score(training: OwnTraining, result: RunResult) -> float:
    return result.metrics[f"validation/{training.objective}"]


def _better(best: Found | None, found: Found, lower: bool) -> tuple[Found, Found | None]:
    """Return the better of the two, of equal ones the earlier, and the other."""
    if best is None:
        return found, None
    is_better = found.score < best.score if lower else found.score > best.score
    return (found, best) if is_better else (best, found)


def _line(
    training: OwnTraining, number: int, changes: Mapping[str, Any], found: Found, best: Found, seconds: float
) -> str:
    score = f"validation {training.objective.replace('_', ' ')} {found.score:.2f}"
    return f"trial {number}: {told(changes)}: {score} in {seconds:.0f} s; best {best.score:.2f}"
