"""A search for settings within a budget of minutes, by Optuna: the usual ones first, judged by validation alone."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.data.notices import format_count, format_error_on_one_line
from ctxzoo.runs.experiment import describe_values
from ctxzoo.runs.run import Run, execute
from ctxzoo.runs.spaces import Between, Space, count_combinations, widen_space
from ctxzoo.training.callbacks import stop_training_by_judge
from ctxzoo.training.interrupted import TrainingPruned
from ctxzoo.training.process_group import broadcast_from_first_process, run_in_first_process
from ctxzoo.training.task import NonFiniteLossError

TUNED = "tuned"
LEAST_SECONDS = 1e-3  # more than none, which would end a trial before its first epoch
WORTH_IT = 0.5  # of a usual trial: with less time left none is begun
JUDGES = 4  # whole trials before any is ended early, and of these with the same epoch three
REPORTS = 50  # of a training, at most: each is written to the disk
ENDED, REPORTED = "ended", "reported"  # what the journal keeps of a trial beside what Optuna does
DRAWS = 100  # in a row of settings that were tried, after which a space counts as exhausted


class Settings(Protocol):
    """Settings of a training by name."""

    def values(self) -> Mapping[str, Any]:
        """Return all settings by name."""

    def copy_with(self, **settings: Any) -> Any:
        """Return a copy with some settings changed."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What tells a run of a search from a plain training.

    Attributes:
        name: Name of the trial, such as "trial3", which becomes part of its file names.
        minutes: Minutes of training after which the trial stops at the end of the running epoch.
        score: Split scored at the end beside validation: "validation" while searching, so that test is untouched,
            "test" for the run that is kept.
    """

    name: str
    minutes: float
    score: str = "validation"


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is searched for.

    Attributes:
        build_run: Function from an experiment and a trial (name, minutes, split) to the training run.
        start: Settings that the first trial uses unchanged.
        space: Values that trials may try, by name of the setting.
        objective: Name of the validation metric by which trials are compared.
        lower_is_better: Whether a lower score is better, as of a loss.
    """

    build_run: Callable[[Any, Trial], Run]
    start: Settings
    space: Space
    objective: str
    lower_is_better: bool

    @property
    def name_of_score(self) -> str:
        """Name of the objective for messages, such as "validation macro f1"."""
        return f"validation {self.objective.replace('_', ' ')}"


@dataclass(frozen=True)
class EndedTrial:
    """A trial that is over.

    Attributes:
        number: Number of the trial, from 0.
        settings: Settings that the trial used.
        seconds: Duration of the trial in seconds.
        score: Objective on the validation split; None: the trial failed or was stopped early.
        said: Message on why a trial has no score; empty for one with a score.
    """

    number: int
    settings: Any
    seconds: float
    score: float | None
    said: str = ""

    @property
    def trial(self) -> Trial:
        """The `Trial` of this number, to build its run again."""
        return Trial(name=f"trial{self.number}", minutes=LEAST_SECONDS / 60)


def search_run(search: Search, *, minutes: float, seed: int, resume: bool, tell: Callable[[str], None]) -> Run:
    """Search for the best settings, and return their run; executed with `resume`, it trains on to the end.

    Each whole trial leaves a results file with the scores of validation in the folder of trials, and the best one its
    checkpoint. A trial whose best epoch so far is worse than the median of the others at that epoch is ended.

    Args:
        search: Description of the search: space, objective, and how a trial is run.
        minutes: Time budget in minutes, after which the running trial stops at the end of its epoch.
        seed: Seed of the drawn settings; equal seeds and scores give equal trials.
        resume: Whether an interrupted search continues: finished trials and their time count, an unfinished one goes
            on.
        tell: Function that receives each line of progress for the user.

    Raises:
        ValueError: no trial gave a finite loss.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    spent, number = 0.0, 0
    best: EndedTrial | None = None
    for trial in run_trials(search, minutes=minutes, seed=seed, resume=resume):
        number, spent = trial.number + 1, spent + trial.seconds
        changes = _describe_changes(trial.settings, search.start)
        if trial.score is None:
            tell(f"trial {trial.number}: {changes}: {trial.said}")
            continue
        best, worse = _choose_better(best, trial, search.lower_is_better)
        if worse is not None:
            # Its results file is what is kept of it.
            shutil.rmtree(search.build_run(worse.settings, worse.trial).folder, ignore_errors=True)
        score = f"{search.name_of_score} {trial.score:.2f} in {trial.seconds:.0f} s"
        tell(f"trial {trial.number}: {changes}: {score}; best {best.score:.2f}")
    if best is None:
        raise ValueError("no trial of --tune gave a finite loss; lower --learning_rate")
    best_values = describe_values(best.settings.values(), search.space)
    tell(f"{format_count(number, 'trials')} in {spent / 60:.1f} min; the best has {best_values}")
    best_trial_run = search.build_run(best.settings, best.trial)
    # Of a trial whose folder is gone it is a training anew, in the minutes of the whole search.
    kept_trial = Trial(name=TUNED, minutes=minutes, score="test")
    run = search.build_run(best.settings, kept_trial)
    if run.read_finished_result() is None and best_trial_run.folder.is_dir():
        run_in_first_process(lambda: _replace_by_copy(run.folder, best_trial_run.folder))
        # It is trained already; no epoch is to follow where the budget ended it.
        run = search.build_run(best.settings, replace(kept_trial, minutes=0.0))
    return run


def _replace_by_copy(folder: Path, source: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)


def run_trials(search: Search, *, minutes: float, seed: int, resume: bool) -> Iterator[EndedTrial]:
    """Yield the trials that an earlier search ended, then run new ones while time is left and yield each.

    Arguments and errors are those of `search_run`.
    """
    study = Study(search, seed=seed, minutes=minutes, resume=resume)
    budget, spent, number = 60 * minutes, 0.0, 0
    for ended_trial in study.list_ended_trials():
        yield ended_trial
        spent, number = spent + ended_trial.seconds, ended_trial.number + 1
    # The clocks of processes that train together differ.
    while not number or broadcast_from_first_process(budget - spent >= WORTH_IT * spent / number):
        optuna_trial = study.draw_trial(number)
        if optuna_trial is None:
            return
        ended_trial = _run_drawn_trial(study, optuna_trial, search, number, budget - spent, resume)
        yield ended_trial
        spent, number = spent + ended_trial.seconds, number + 1


def _run_drawn_trial(
    study: Study, optuna_trial: Any, search: Search, number: int, seconds: float, resume: bool
) -> EndedTrial:
    """Train with the settings that a trial drew, and record how it ended."""
    settings = study.get_trial_settings(optuna_trial.params)
    run = search.build_run(settings, Trial(name=f"trial{number}", minutes=max(seconds, LEAST_SECONDS) / 60))
    start_time = time.monotonic()
    try:
        with stop_training_by_judge(f"validation/{search.objective}", study.build_judge(optuna_trial)):
            result = execute(run, resume=resume, quiet=True)
    except TrainingPruned as error:
        shutil.rmtree(run.folder, ignore_errors=True)
        ended_trial = EndedTrial(number, settings, time.monotonic() - start_time, None, str(error))
        study.record_end(optuna_trial, ended_trial, pruned=True)
    except (NonFiniteLossError, FloatingPointError, ValueError) as error:
        if number == 0 and not isinstance(error, (NonFiniteLossError, FloatingPointError)):
            raise  # of the data or the preset; behind it, of settings that do not go together
        ended_trial = EndedTrial(number, settings, time.monotonic() - start_time, None, format_error_on_one_line(error))
        study.record_end(optuna_trial, ended_trial)
    else:
        seconds_taken = max(time.monotonic() - start_time, result.wall_seconds)
        ended_trial = EndedTrial(number, settings, seconds_taken, result.metrics[f"validation/{search.objective}"])
        study.record_end(optuna_trial, ended_trial)
    return ended_trial


class Study:
    """The trials of a search, which Optuna draws by those before and keeps in a journal beside their folders.

    What is drawn depends on the seed, the number of the trial and the scores so far alone, so that a search that was
    stopped goes on as if it had not been.

    Args:
        search: Description of the search: space, objective, and how a trial is run.
        seed: Seed of all random draws.
        minutes: Time budget of the search in minutes.
        resume: Whether the saved journal of earlier trials is continued; otherwise it is deleted.

    Raises:
        OSError: the journal cannot be written.
        ValueError: the journal is damaged.
    """

    def __init__(self, search: Search, *, seed: int, minutes: float, resume: bool) -> None:
        import optuna
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.search, self.seed = search, seed
        self.own = search.start.values()
        self.space = widen_space(search.space, self.own)
        self.distributions = {name: _build_distribution(values) for name, values in self.space.items()}
        epochs = int(self.own.get("epochs") or 1)
        self.every = -(-epochs // REPORTS)
        run = search.build_run(search.start, Trial(name="trials", minutes=minutes))
        # Of several processes that train together each draws by itself, and the same.
        process = rank_zero_only.rank
        suffix = f"-{process}.journal" if process else ".journal"
        self.file = run.folder.with_name(run.folder.name + suffix)
        check_folder_is_writable(self.file.parent)
        if not resume:
            self.file.unlink(missing_ok=True)
        told_apart = json.dumps([run.settings, repr(self.space), seed, search.objective], default=str, sort_keys=True)
        try:
            self.study = optuna.create_study(
                storage=optuna.storages.JournalStorage(JournalFileBackend(str(self.file))),
                study_name=hashlib.sha256(told_apart.encode()).hexdigest()[:16],
                load_if_exists=True,
                direction="minimize" if search.lower_is_better else "maximize",
                pruner=optuna.pruners.MedianPruner(
                    n_startup_trials=JUDGES, n_warmup_steps=epochs // 4, n_min_trials=JUDGES - 1
                ),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self.file} is no whole journal of a search ({format_error_on_one_line(error)}); remove it to begin "
                "anew"
            ) from error
        self._recover()

    def _recover(self) -> None:
        """Queue again the trials that were running when the search was stopped."""
        from optuna.trial import TrialState

        for stopped in self.study.get_trials(states=(TrialState.RUNNING,)):
            if ENDED in stopped.user_attrs:  # stopped as its end was written down
                journal_entry = stopped.user_attrs[ENDED]
                self.study.tell(stopped.number, journal_entry["score"], TrialState[journal_entry["state"]])
                continue
            self.study.tell(stopped.number, state=TrialState.FAIL)
            if stopped.params.keys() == self.distributions.keys():
                self.study.enqueue_trial(stopped.params, user_attrs={REPORTED: stopped.intermediate_values})

    def list_ended_trials(self) -> list[EndedTrial]:
        """Return the trials that have ended, from the journal."""
        return [
            EndedTrial(
                journal_entry["number"],
                self.get_trial_settings(trial.params),
                journal_entry["seconds"],
                journal_entry["score"],
                journal_entry["said"],
            )
            for trial in self.study.get_trials()
            if (journal_entry := trial.user_attrs.get(ENDED)) is not None
        ]

    def draw_trial(self, number: int) -> Any:
        """Draw the settings of the next trial that were not tried before; None if all were.

        Args:
            number: Number of trials that have ended.
        """
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        if not self.study.get_trials():
            self.study.enqueue_trial({name: _convert_to_label(self.space[name], self.own[name]) for name in self.space})
        past = [one for one in self.study.get_trials() if ENDED in one.user_attrs]
        scores_by_point = {tuple(sorted(one.params.items())): one.user_attrs[ENDED]["score"] for one in past}
        if len(scores_by_point) >= count_combinations(self.space):
            return None
        for attempt in range(DRAWS):
            draws = random.Random(f"{self.seed} {number} {attempt}")
            self.study.sampler = TPESampler(seed=draws.getrandbits(32))
            trial = self.study.ask(self.distributions)
            point = tuple(sorted(trial.params.items()))
            if point not in scores_by_point:
                return trial
            score = scores_by_point[point]  # the same settings have the same score: nothing is trained for it
            self.study.tell(trial, score, TrialState.FAIL if score is None else TrialState.COMPLETE)
        return None

    def get_trial_settings(self, params: Mapping[str, Any]) -> Any:
        """Return the settings of a trial from the parameters that Optuna drew."""
        return self.search.start.copy_with(
            **{name: _convert_from_label(values, params[name], self.own[name]) for name, values in self.space.items()}
        )

    def build_judge(self, trial: Any) -> Callable[[int, float], str | None]:
        """Build the function that is told each epoch's score and returns why to end a bad trial, or None."""
        before = {int(epoch): score for epoch, score in trial.user_attrs.get(REPORTED, {}).items()}
        for epoch, score in before.items():
            trial.report(score, epoch)

        def judge(epoch: int, score: float) -> str | None:
            """Return why the trial ends after an epoch of this score; None if it goes on."""
            if epoch % self.every or epoch in before:
                return None
            trial.report(score, epoch)
            if not trial.should_prune():
                return None
            epochs = format_count(epoch, "epochs")
            return f"ended after {epochs} with {self.search.name_of_score} {score:.2f}, worse than the median"

        return judge

    def record_end(self, trial: Any, ended_trial: EndedTrial, *, pruned: bool = False) -> None:
        """Write to the journal how a trial ended."""
        from optuna.trial import TrialState

        state = TrialState.PRUNED if pruned else TrialState.FAIL if ended_trial.score is None else TrialState.COMPLETE
        values = {name: getattr(ended_trial, name) for name in ("number", "seconds", "score", "said")}
        trial.set_user_attr(ENDED, {**values, "state": state.name})
        self.study.tell(trial, ended_trial.score, state)


def _build_distribution(values: tuple[Any, ...] | Between) -> Any:
    """Return Optuna's distribution of the values of a setting."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Between):
        return CategoricalDistribution([_convert_to_label(values, value) for value in values])
    kind = IntDistribution if values.is_whole else FloatDistribution
    return kind(values.low, values.high, log=values.log)


def _convert_to_label(values: tuple[Any, ...] | Between, value: Any) -> Any:
    """Convert a value to the form that Optuna's journal holds: choices as JSON text."""
    return value if isinstance(values, Between) else json.dumps(value)


def _convert_from_label(values: tuple[Any, ...] | Between, label: Any, usual: Any) -> Any:
    """Convert a value from the form in Optuna's journal; drawn numbers are rounded."""
    if isinstance(values, Between):
        return usual if label == usual else values.round_number(label)
    return next(value for value in values if _convert_to_label(values, value) == label)


def _describe_changes(settings: Settings, start: Settings) -> str:
    """Return as text the settings in which a trial differs from the start."""
    start_values = start.values()
    changed = {name: value for name, value in settings.values().items() if value != start_values[name]}
    return describe_values(changed) or "the settings as they are"


def _choose_better(best: EndedTrial | None, candidate: EndedTrial, lower: bool) -> tuple[EndedTrial, EndedTrial | None]:
    """Return the better of two trials and then the other one; of equal ones the earlier is better."""
    if best is None:
        return candidate, None
    assert best.score is not None
    assert candidate.score is not None
    is_better = candidate.score < best.score if lower else candidate.score > best.score
    return (candidate, best) if is_better else (best, candidate)
