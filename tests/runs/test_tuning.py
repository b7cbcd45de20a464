"""What a search for settings tries, for every problem."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.tuning import _candidates
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from tests.support.own_trainings import config_of, each_training


def presets(training: Any) -> list[Any]:
    """The default settings of every variant of every architecture that has some."""
    found = []
    for architecture in training.architectures():
        for variant in training.variants(architecture):
            try:
                found.append(training.preset("default", architecture, variant))
            except (KeyError, ValueError):  # nobody has written default settings for it
                continue
    assert found
    return found


@each_training
def test_the_first_ten_trials_differ_in_every_setting(training: Any) -> None:
    preset = training.preset("default", *training.default)
    space = training.search_space(preset)
    assert len(space) >= 5
    first = []
    for seed in range(3):
        trials = list(islice(_candidates(space, preset, seed), 10))
        assert trials[0] == {name: preset.values()[name] for name in space}
        for name, values in space.items():
            assert {trial[name] for trial in trials} >= set(values), f"seed {seed}: {name} has not had all of {values}"
        assert len({tuple(trial.values()) for trial in trials}) == 10
        first.append(trials)
    assert first[0] != first[1] != first[2]


@each_training
def test_every_setting_of_the_space_is_one_of_some_preset(training: Any) -> None:
    assert set(training.space) <= {name for preset in presets(training) for name in training.search_space(preset)}


@each_training
def test_every_model_takes_every_value_of_its_space(training: Any) -> None:
    for preset in presets(training):
        space = training.search_space(preset)
        architecture = preset.model.architecture if isinstance(preset, Experiment) else preset.architecture
        needed = {"num_legislators": 3} if architecture in ("nipen", "vote_baseline") else {}
        for changes in islice(_candidates(space, preset, 0), 10):
            tried = preset.changed(**changes)
            config = {name: value for name, value in config_of(tried).items() if name != "architecture"}
            ARCHITECTURES[architecture].config_class(**{**needed, **config})


def test_a_small_space_is_tried_whole_and_once() -> None:
    preset = Preset(architecture="lama", variant="lama", config={"dropout": 0.2}, task={"learning_rate": 0.1})
    space = {"dropout": (0.2, 0.5), "learning_rate": (0.3, 0.5, 0.5)}
    trials = [tuple(trial.values()) for trial in _candidates(space, preset, 0)]
    assert trials[0] == (0.2, 0.1)
    assert sorted(trials[1:]) == [(0.2, 0.3), (0.2, 0.5), (0.5, 0.3), (0.5, 0.5)]


def test_the_rates_of_a_search_are_around_that_of_the_settings() -> None:
    problem = TOKEN_CLASSIFICATION
    space = problem.search_space(problem.settings("paper", *problem.default))  # momentum, at 0.2
    assert space["learning_rate"] == [0.05, 0.1, 0.2, 0.4]
