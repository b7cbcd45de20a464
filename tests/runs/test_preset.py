"""Presets: settings by the part of a run that takes them."""

from __future__ import annotations

import pytest

from ctxzoo.runs.preset import Preset, told

PRESET = Preset(
    architecture="lama",
    variant="plain",
    config={"dropout": 0.3, "char_ngrams": (2, 5)},
    data={"batch_size": 32},
    task={"learning_rate": 1e-3},
    trainer={"epochs": 10},
    run={"decay": True},
)


def test_a_change_reaches_the_part_that_takes_it_and_leaves_the_preset() -> None:
    changed = PRESET.changed(dropout=0.5, epochs=3)
    assert (changed.config["dropout"], changed.trainer["epochs"]) == (0.5, 3)
    assert (changed.data, changed.task, changed.run) == (PRESET.data, PRESET.task, PRESET.run)
    assert (PRESET.config["dropout"], PRESET.trainer["epochs"]) == (0.3, 10)


def test_settings_are_all_of_them_as_json_keeps_them() -> None:
    assert PRESET.settings() == {
        **{"dropout": 0.3, "char_ngrams": [2, 5], "batch_size": 32, "learning_rate": 1e-3},
        **{"epochs": 10, "decay": True},
    }


def test_an_unknown_setting_is_named_with_those_that_are_there() -> None:
    with pytest.raises(ValueError, match="lama plain has no setting rank; it has batch_size, char_ngrams, decay"):
        PRESET.changed(rank=3)


def test_settings_for_a_person() -> None:
    assert told(PRESET.settings(), ("learning_rate", "decay")) == "learning_rate 0.001, decay True"
