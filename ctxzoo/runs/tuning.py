"""A search for settings within a budget of minutes: first the usual ones, then random ones, by validation alone."""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ctxzoo.data.notices import count_of
from ctxzoo.runs.preset import told
from ctxzoo.runs.run import Run, execute
from ctxzoo.training.task import NonFiniteLossError

TUNED = "tuned"
LEAST_SECONDS = 1e-3  # more than none, which would end a trial before its first epoch
WORTH_IT = 0.5  # of a usual trial: with less time left none is begun


class Settings(Protocol):
    """Settings of a training by name."""

    def values(self) -> Mapping[str, Any]: ...

    def changed(self, **settings: Any) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What tells a run of a search from a plain training.

    Attributes:
        name: Name in those of its files.
        minutes: Minutes of training, after which it ends with the running epoch.
        score: Name of the split that is scored at the end beside validation; of all but the one that is kept
            "validation", so that test is not.
    """

    name: str
    minutes: float
    score: str = "validation"


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is searched for.

    Attributes:
        run_of: Gives the run of some settings in a trial.
        start: Settings that are tried first.
        space: Name to values of the settings that a trial may change.
        objective: Score of validation by which trials are compared.
        lower_is_better: Whether a lower one is better.
    """

    run_of: Callable[[Any, Trial], Run]
    start: Settings
    space: Mapping[str, Sequence[Any]]
    objective: str
    lower_is_better: bool


@dataclass(frozen=True)
class Found:
    """A finished trial.

    Attributes:
        settings: Settings that were tried.
        trial: Its name and its minutes.
        run: Run of the trial.
        score: Objective on validation.
    """

    settings: Any
    trial: Trial
    run: Run
    score: float


def tuned_run(search: Search, *, minutes: float, seed: int, resume: bool, tell: Callable[[str], None]) -> Run:
    """Search for settings, and return the run of the best: executed with `resume`, it goes on where its trial ended.

    Each trial leaves a results file with the scores of validation in the folder of trials, and the best one its
    checkpoint.

    Args:
        search: What is searched for.
        minutes: Budget, after which the running trial ends with its epoch.
        seed: Seed of the order of trials.
        resume: Whether trials that are finished count with the time that they took.
        tell: is called with a line for the user.

    Raises:
        ValueError: no trial gave a finite loss.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    budget, spent = 60 * minutes, 0.0
    best: Found | None = None
    number = 0
    for number, changes in enumerate(_candidates(search.space, search.start, seed)):
        left = budget - spent
        if number and left < WORTH_IT * spent / number:
            break
        tried = search.start.changed(**changes)
        trial = Trial(name=f"trial{number}", minutes=max(left, LEAST_SECONDS) / 60)
        run = search.run_of(tried, trial)
        began = time.monotonic()
        kept = run.spec.finished() if resume else None
        try:
            result = execute(run, resume=resume, quiet=True)
        except (NonFiniteLossError, FloatingPointError, ValueError) as error:
            if number == 0 and not isinstance(error, (NonFiniteLossError, FloatingPointError)):
                raise  # of the data or the preset; behind it, of settings that do not go together
            spent += time.monotonic() - began
            tell(f"trial {number}: {_changes(tried, search.start)}: {error}")
            continue
        spent += result.wall_seconds if kept is not None else max(time.monotonic() - began, result.wall_seconds)
        found = Found(tried, trial, run, result.metrics[f"validation/{search.objective}"])
        best, other = _better(best, found, search.lower_is_better)
        if other is not None:
            shutil.rmtree(other.run.spec.folder, ignore_errors=True)  # its results file is what is kept of it
        tell(_line(search.objective, number, _changes(tried, search.start), found, best, result.wall_seconds))
    else:
        number += 1
    if best is None:
        raise ValueError("no trial of --tune gave a finite loss; lower --learning_rate")
    found_best = told(best.settings.values(), search.space)
    tell(f"{count_of(number, 'trials')} in {spent / 60:.1f} min; the best has {found_best}")
    kept_trial = replace(best.trial, name=TUNED, score="test")
    run = search.run_of(best.settings, kept_trial)
    if run.spec.finished() is None and best.run.spec.folder.is_dir():
        shutil.rmtree(run.spec.folder, ignore_errors=True)
        shutil.copytree(best.run.spec.folder, run.spec.folder)
        # It is trained already; no epoch is to follow where the budget ended it.
        run = search.run_of(best.settings, replace(kept_trial, minutes=0.0))
    return run


def _candidates(space: Mapping[str, Sequence[Any]], start: Settings, seed: int) -> Iterator[dict[str, Any]]:
    """Yield values of the settings of a space: the start's first, then every other combination once, in random order.

    Each setting deals its values from a shuffled deck of its own, which is shuffled anew when it is empty. So the first
    few combinations hold every value of every setting, which a walk through the grid and plain chance do not.
    """
    own, generator = start.values(), random.Random(seed)
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


def _changes(tried: Settings, start: Settings) -> str:
    """Write for a person what a trial changes of the start."""
    own = start.values()
    changed = {name: value for name, value in tried.values().items() if value != own[name]}
    return told(changed) or "the settings as they are"


def _better(best: Found | None, found: Found, lower: bool) -> tuple[Found, Found | None]:
    """Return the better of the two, of equal ones the earlier, and the other."""
    if best is None:
        return found, None
    is_better = found.score < best.score if lower else found.score > best.score
    return (found, best) if is_better else (best, found)


def _line(objective: str, number: int, changes: str, found: Found, best: Found, seconds: float) -> str:
    score = f"validation {objective.replace('_', ' ')} {found.score:.2f}"
    return f"trial {number}: {changes}: {score} in {seconds:.0f} s; best {best.score:.2f}"
