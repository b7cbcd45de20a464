"""Configurations: copies, files, misspelt names."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields
from pathlib import Path

import pytest
from transformers import AutoConfig, PreTrainedConfig

from tests.suite.subjects import Subject


class ConfigChecks:
    def test_config_copies_are_equal_and_independent(self, setting: Subject) -> None:
        config = setting.config()
        for twin in (copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
            assert type(twin) is type(config)
            assert twin.to_dict() == config.to_dict()
            twin.id2label = {0: "changed"}
            assert config.id2label != twin.id2label

    def test_config_survives_json(self, setting: Subject, tmp_path: Path) -> None:
        config = setting.config()
        config_class = type(config)
        assert config_class.from_dict(json.loads(config.to_json_string(use_diff=False))).to_dict() == config.to_dict()
        config.save_pretrained(tmp_path)
        for loaded in (config_class.from_pretrained(tmp_path), AutoConfig.from_pretrained(tmp_path)):
            assert type(loaded) is config_class
            for field in fields(config_class):
                if field.name != "transformers_version":
                    assert getattr(loaded, field.name) == getattr(config, field.name), field.name

    def test_misspelt_field_is_refused_with_the_right_name(self, family: Subject) -> None:
        config_class = type(family.config())
        ours = {field.name for field in fields(config_class)} - {field.name for field in fields(PreTrainedConfig)}
        assert ours
        for name in ours:
            misspelt = name[:2] + name[3:]
            with pytest.raises(TypeError, match=f"no field '{misspelt}'.*did you mean '{name}'"):
                config_class(**{misspelt: 1})

    def test_wrong_type_is_refused_by_name(self, family: Subject) -> None:
        config_class = type(family.config())
        ours = {field.name for field in fields(config_class)} - {field.name for field in fields(PreTrainedConfig)}
        for name in ours:
            with pytest.raises(Exception, match=name) as caught:
                config_class(**{name: object()})
            assert "Validation" in type(caught.value).__name__

    def test_config_of_another_architecture_is_refused(self, family: Subject) -> None:
        config_class = type(family.config())
        with pytest.raises(ValueError, match=f"'bert'.*'{config_class.model_type}'"):
            config_class.from_dict({**family.config().to_dict(), "model_type": "bert"})
