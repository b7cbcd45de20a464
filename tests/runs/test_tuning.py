"""A search for settings: what it tries, for every problem; how it goes on, what it leaves out and what it keeps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.cli.main import main
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs import tuning
from ctxzoo.runs.experiment import Experiment, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, widen_space
from ctxzoo.runs.tuning import TUNED, Search, Study, Trial, search_run
from ctxzoo.tasks.text_classification.experiments import TextData, TextModel
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from ctxzoo.training.callbacks import get_judge_callbacks
from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.task import NonFiniteLossError
from tests.support.own_trainings import config_of, each_problem
from tests.support.plain_run import PlainRun

START = Experiment(
    problem="text-classification",
    recipe="planted",
    data=TextData(char_ngrams=(1, 2)),
    model=TextModel(architecture="lama", variant="lama", dropout=0.2),
    optimizer=OptimizerArgs(learning_rate=0.1),
    trainer=TrainerArgs(epochs=8),
)
RATES = {"learning_rate": Between(1e-4, 1.0, log=True)}
Score = Callable[[Mapping[str, Any]], Sequence[float]]


def presets(problem: Any) -> list[Any]:
    """The settings of every variant of every architecture, default and of papers, where there are some."""
    found = []
    for architecture in problem.list_architectures():
        for variant in problem.get_variants(architecture):
            for name in ("default", "paper"):
                try:
                    found.append(problem.get_settings(name, architecture, variant))
                except (KeyError, ValueError):  # nobody has written them
                    continue
    assert found
    return found


@dataclass(frozen=True)
class TriedRun(PlainRun):
    trial: Trial

    @property
    def tried(self) -> dict[str, Any]:
        return self.experiment.values()


def search_for(folder: Path, space: Mapping[str, Any], start: Any = START) -> Search:
    """A search whose runs are their settings and where they would be."""

    def run_of(settings: Experiment, trial: Trial) -> TriedRun:
        places = {"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")}
        return TriedRun(settings.copy_with(recipe="planted", tag=trial.name, **places), trial)

    return Search(build_run=run_of, start=start, space=space, objective="accuracy", lower_is_better=False)


@pytest.fixture
def _journal_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal file is written in every draw of every setting, and waits for the disk."""
    monkeypatch.setattr(optuna.storages, "JournalStorage", lambda backend: optuna.storages.InMemoryStorage())


class Planted:
    """Trainings whose scores after each epoch are known, and which take a second each.

    Args:
        score: Gives those of some settings.
        most: Number of trainings after which the search is stopped, in the next one behind its first epoch.
    """

    def __init__(self, score: Score, most: int = 10**6) -> None:
        self.score, self.most = score, most
        self.tried: list[dict[str, Any]] = []
        self.epochs: list[int] = []
        self.clock = 0.0

    def execute(self, run: Any, *, resume: bool, quiet: bool) -> Any:
        stops = len(self.tried) == self.most
        if not stops:
            self.tried.append(run.tried)
            self.epochs.append(0)
            self.clock += 1
        run.folder.mkdir(parents=True, exist_ok=True)
        scores = self.score(run.tried)
        for epoch, score in enumerate(scores):
            if stops and epoch == 1:
                raise TrainingInterrupted("stopped")
            if not stops:
                self.epochs[-1] += 1
            trainer = SimpleNamespace(
                callback_metrics={"validation/accuracy": score}, current_epoch=epoch, max_epochs=len(scores)
            )
            for judge in get_judge_callbacks():
                judge.on_validation_end(trainer, None)
        return SimpleNamespace(metrics={"validation/accuracy": max(scores)}, wall_seconds=1.0)


@pytest.fixture
def carry_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, list[str]]]:
    """A function that searches among planted trainings, and gives the run that is kept, and what was said."""

    def run_trials(
        planted: Planted,
        space: Mapping[str, Any],
        *,
        trials: int,
        seed: int = 0,
        resume: bool = False,
        start: Any = START,
    ) -> tuple[Any, list[str]]:
        monkeypatch.setattr(tuning, "execute", planted.execute)
        monkeypatch.setattr(tuning, "time", SimpleNamespace(monotonic=lambda: planted.clock))
        said: list[str] = []
        search = search_for(tmp_path, space, start)
        # None is begun with less than half a second left.
        run = search_run(search, minutes=(trials - 0.4) / 60, seed=seed, resume=resume, tell=said.append)
        return run, said

    return run_trials


def peak(settings: Mapping[str, Any]) -> list[float]:
    """Scores that are the better the nearer the rate is to 0.01."""
    rate = settings["learning_rate"]
    return [min(rate, 1e-4 / rate) * epoch for epoch in range(1, 9)]


def drawn(search: Search, seed: int, number: int) -> list[dict[str, Any]]:
    """What the first trials of a search would change, all with the same score."""
    study, found = Study(search, seed=seed, minutes=1, resume=False), []
    for one in range(number):
        trial = study.draw_trial(one)
        settings = study.get_trial_settings(trial.params)
        found.append({name: settings.values()[name] for name in search.space})
        study.record_end(trial, tuning.EndedTrial(one, settings, 1.0, 0.0))
    return found


@each_problem
@pytest.mark.usefixtures("_journal_in_memory")
def test_the_usual_settings_come_first_and_every_setting_is_tried(problem: Any, tmp_path: Path) -> None:
    start = problem.get_settings("default", *problem.default)
    space = problem.build_search_space(start)
    assert len(space) >= 5
    search = search_for(tmp_path, space, start)
    first = [drawn(search, seed, 10) for seed in (0, 1, 0)]
    assert first[0] == first[2] != first[1]
    for trials in first:
        assert trials[0] == {name: start.values()[name] for name in space}
        assert len({tuple(trial.values()) for trial in trials}) == 10
        for name in space:
            assert len({trial[name] for trial in trials}) > 1, name


@each_problem
def test_every_setting_of_the_space_is_one_of_some_preset(problem: Any) -> None:
    assert set(problem.space) <= {name for preset in presets(problem) for name in problem.build_search_space(preset)}


@each_problem
@pytest.mark.usefixtures("_journal_in_memory")
def test_every_model_takes_every_value_of_its_space(problem: Any, tmp_path: Path) -> None:
    for preset in presets(problem):
        architecture = preset.model.architecture
        needed = {"num_legislators": 3} if architecture in ("nipen", "vote_baseline") else {}
        search = search_for(tmp_path, problem.build_search_space(preset), preset)
        for changes in drawn(search, 0, 6):
            for name, values in search.space.items():
                own = preset.values()[name]
                assert changes[name] in widen_space({name: values}, {name: own})[name]
            config = config_of(preset.copy_with(**changes))
            ARCHITECTURES[architecture].config_class(**{**needed, **config})


def test_a_small_space_is_tried_whole_and_once(carry_out: Callable[..., Any]) -> None:
    planted = Planted(peak)
    space = {"dropout": (0.2, 0.5), "epochs": Between(7, 8), "char_ngrams": ((1, 2), (1, 3), (1, 3))}
    _, said = carry_out(planted, space, trials=99)
    tried = [(one["dropout"], one["epochs"], one["char_ngrams"]) for one in planted.tried]
    assert tried[0] == (0.2, 8, (1, 2))
    assert sorted(tried) == [
        (rate, epochs, words) for rate in (0.2, 0.5) for epochs in (7, 8) for words in ((1, 2), (1, 3))
    ]
    assert said[-1].startswith("8 trials in ")


def test_a_rate_is_drawn_from_all_magnitudes_with_few_digits(carry_out: Callable[..., Any]) -> None:
    planted = Planted(lambda settings: [0.0])
    carry_out(planted, RATES, trials=11)
    rates = [one["learning_rate"] for one in planted.tried[1:]]
    assert len(rates) == 10
    assert all(1e-4 <= rate <= 1.0 and rate == float(f"{rate:.3g}") for rate in rates)
    assert sum(rate < 1e-2 for rate in rates) >= 2  # of equal distances this were one in a hundred each


def test_the_rates_of_a_search_are_around_that_of_the_settings() -> None:
    problem = TOKEN_CLASSIFICATION
    space = problem.build_search_space(problem.get_settings("paper", *problem.default))  # momentum, at 0.2
    assert space["learning_rate"] == Between(0.05, 0.8, log=True)


def test_what_is_drawn_goes_to_where_scores_are_good_and_the_best_is_kept(carry_out: Callable[..., Any]) -> None:
    planted = Planted(peak)
    run, said = carry_out(planted, RATES, trials=30)
    rates = [one["learning_rate"] for one in planted.tried]
    near = [[0.003 < rate < 0.03 for rate in part].count(True) for part in (rates[:10], rates[-10:])]
    assert near[1] > near[0]
    assert run.tried["learning_rate"] == max(rates, key=lambda rate: peak({"learning_rate": rate}))
    assert (run.trial.name, run.trial.score, run.trial.minutes) == (TUNED, "test", 0.0)
    assert run.folder.is_dir()
    assert len([folder for folder in run.folder.parent.iterdir() if folder.is_dir()]) == 2  # and the best trial's
    assert said[0] == "trial 0: the settings as they are: validation accuracy 0.01 in 1 s; best 0.01"
    assert said[-1] == f"30 trials in 0.5 min; the best has learning_rate {run.tried['learning_rate']:g}"


@pytest.mark.parametrize("stopped_after", [0, 1, 14])
def test_a_stopped_search_goes_on_and_repeats_no_trial(stopped_after: int, carry_out: Callable[..., Any]) -> None:
    whole = Planted(peak)
    _, said_at_once = carry_out(whole, RATES, trials=18)
    parts = Planted(peak, most=stopped_after)
    with pytest.raises(TrainingInterrupted):
        carry_out(parts, RATES, trials=18)
    parts.most = 10**6
    _, said = carry_out(parts, RATES, trials=18, resume=True)
    assert parts.tried == whole.tried
    assert parts.epochs == whole.epochs
    assert said == said_at_once
    assert carry_out(parts, RATES, trials=18, resume=True)[1] == said  # all is over: nothing is trained
    assert parts.tried == whole.tried
    carry_out(parts, RATES, trials=19, resume=True)
    assert parts.tried[:-1] == whole.tried
    carry_out(parts, RATES, trials=1)  # without resume all begins anew
    assert parts.tried[-1] == whole.tried[0]


def test_each_of_several_processes_draws_the_same_and_keeps_a_journal_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, found = search_for(tmp_path, RATES), []
    for process in range(2):
        monkeypatch.setattr(rank_zero_only, "rank", process)
        found.append(drawn(search, 0, 3))
    assert found[0] == found[1]
    assert len(list(tmp_path.rglob("*.journal"))) == 2


def test_a_search_of_other_settings_takes_no_trial_over(carry_out: Callable[..., Any]) -> None:
    planted = Planted(peak)
    carry_out(planted, RATES, trials=2)
    carry_out(planted, RATES, trials=2, resume=True, start=START.copy_with(dropout=0.3))
    carry_out(planted, RATES, trials=2, resume=True, seed=1)
    assert [one["learning_rate"] for one in planted.tried[::2]] == [0.1] * 3
    assert len(planted.tried) == 6


def test_a_trial_that_is_worse_than_most_ends_early(carry_out: Callable[..., Any]) -> None:
    def score(settings: Mapping[str, Any]) -> list[float]:
        grows = 1.0 if len(planted.tried) <= 5 else 0.1 if len(planted.tried) == 6 else 2.0
        return [grows * epoch for epoch in range(1, 9)]

    planted = Planted(score)
    run, said = carry_out(planted, RATES, trials=8)
    assert planted.epochs[:7] == [8, 8, 8, 8, 8, 2, 8]  # judged once a quarter of the epochs is over
    assert said[5].endswith(": ended after 2 epochs with validation accuracy 0.20, worse than the median")
    assert not run.folder.with_name(run.folder.name.replace(TUNED, "trial5")).exists()
    assert run.tried["learning_rate"] == planted.tried[6]["learning_rate"]
    assert carry_out(planted, RATES, trials=8, resume=True)[1] == said


def test_a_trial_without_a_finite_loss_fails_and_is_not_begun_again(carry_out: Callable[..., Any]) -> None:
    def score(settings: Mapping[str, Any]) -> list[float]:
        if settings["learning_rate"] >= 0.01:
            raise NonFiniteLossError("the loss is nan")
        return [1.0]

    planted = Planted(score)
    run, said = carry_out(planted, RATES, trials=6)
    assert said[0] == "trial 0: the settings as they are: the loss is nan"
    assert run.tried["learning_rate"] < 0.01
    before = len(planted.tried)
    carry_out(planted, RATES, trials=1, resume=True)
    assert len(planted.tried) == before
    with pytest.raises(ValueError, match="no trial of --tune gave a finite loss; lower --learning_rate"):
        carry_out(Planted(score), {"dropout": (0.2, 0.3)}, trials=6)


def test_settings_that_do_not_go_together_fail_but_an_error_of_the_first_trial_is_raised(
    carry_out: Callable[..., Any],
) -> None:
    def score(settings: Mapping[str, Any]) -> list[float]:
        if settings["dropout"] != wanted:
            raise ValueError("no such dropout")
        return [1.0]

    wanted = 0.2
    _, said = carry_out(Planted(score), {"dropout": (0.2, 0.3)}, trials=9)
    assert said[1] == "trial 1: dropout 0.3: no such dropout"
    wanted = 0.3
    with pytest.raises(ValueError, match="no such dropout"):
        carry_out(Planted(score), {"dropout": (0.2, 0.3)}, trials=9)


def test_a_damaged_journal_is_one_line(carry_out: Callable[..., Any], tmp_path: Path) -> None:
    carry_out(Planted(peak), RATES, trials=2)
    (file,) = tmp_path.rglob("*.journal")
    file.write_text("nothing\n" + file.read_text())
    with pytest.raises(ValueError, match=rf"^{re.escape(str(file))} is no whole journal of a search .*; remove it"):
        carry_out(Planted(peak), RATES, trials=2, resume=True)


@pytest.mark.parametrize("problem", ["session-recommendation", "text-classification"])
def test_without_optuna_it_is_said_what_to_install(
    problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["train", problem, "--data", "sample", "--tune", "1"]) == 2
    said = capsys.readouterr()
    assert said.err == "ctxzoo: error: a search for settings needs Optuna, of the extra tune: pip install optuna\n"
    assert said.out == ""


@pytest.mark.parametrize(
    ("low", "high", "log", "message"),
    [
        (1.0, 1.0, False, "low=1, high=1: expected low below high"),
        (0.0, 1.0, True, "low=0 with log=True: expected a number above 0, or log=False"),
    ],
)
def test_ends_that_cannot_be_are_named(low: float, high: float, log: bool, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Between(low, high, log=log)


def test_a_space_holds_the_usual_value() -> None:
    space = {"rate": Between(0.1, 0.3), "words": Between(2, 5), "sizes": (1, 2, 2)}
    found = widen_space(space, {"rate": 0.0, "words": 7, "sizes": 3})
    assert found == {"rate": Between(0.0, 0.3), "words": Between(2, 7), "sizes": (3, 1, 2)}
    with pytest.raises(ValueError, match="rate=None: expected a number; give --rate, and it is not searched"):
        widen_space({"rate": Between(0.1, 0.3)}, {"rate": None})
    with pytest.raises(ValueError, match=r"rate=0\.0: expected a number above 0"):
        widen_space({"rate": Between(0.1, 0.3, log=True)}, {"rate": 0.0})
