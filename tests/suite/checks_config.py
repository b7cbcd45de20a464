"""Configurations: copies, files, misspelt names."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, PreTrainedConfig

from ctxzoo.models.configuration_base import LARGEST_COUNT, SEVERAL_LABELS
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

    def test_numbers_without_end_are_refused_by_name(self, family: Subject) -> None:
        config_class, refused = type(family.config()), set()
        for field in fields(config_class):
            if field.name in {field.name for field in fields(PreTrainedConfig)}:
                continue
            kinds = {field.type, *get_args(field.type)}
            wrong: list[Any] = []
            if float in kinds:
                wrong = [float("nan"), float("inf"), -float("inf"), 1e39]
            elif int in kinds:
                wrong = [10**20] if field.name == "embedding_seed" else [10**9, 10**10, 10**12]
            if list in kinds or list[int] in kinds:
                wrong = [[10**9], [3] * (LARGEST_COUNT + 1)]
            for value in wrong:
                with pytest.raises((ValueError, StrictDataclassError), match=field.name):
                    config_class(**{field.name: value})
                refused.add(field.name)
        assert refused

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"num_labels": 1}, "num_labels must be a whole number from 2 to 100,000, got 1"),
            ({"num_labels": 10**10}, "got 10000000000"),
            ({"num_labels": "3"}, "got '3'"),
            ({"id2label": {0: "one"}}, "num_labels must be a whole number from 2 .*got 1"),
            ({"id2label": {0: "one", 2: "two"}}, r"id2label has the keys \[0, 2\]; expected 0, 1 and so on"),
            ({"problem_type": "regression"}, "problem_type='regression'"),
            ({"pad_token_id": 3}, "pad_token_id must be 0, .* got 3"),
        ],
        ids=str,
    )
    def test_labels_and_padding_that_cannot_be(self, family: Subject, given: dict[str, Any], message: str) -> None:
        with pytest.raises((ValueError, StrictDataclassError), match=message):
            type(family.config())(**given)

    def test_several_labels_are_for_configs_that_say_so(self, family: Subject) -> None:
        config_class, several = type(family.config()), {"problem_type": SEVERAL_LABELS}
        if config_class.takes_several_labels:
            assert config_class(**several).problem_type == SEVERAL_LABELS
        else:
            with pytest.raises(
                StrictDataclassError, match=f"problem_type='{SEVERAL_LABELS}': a {config_class.__name__}"
            ):
                config_class(**several)

    def test_config_of_another_architecture_is_refused(self, family: Subject) -> None:
        config_class = type(family.config())
        with pytest.raises(ValueError, match=f"'bert'.*'{config_class.model_type}'"):
            config_class.from_dict({**family.config().to_dict(), "model_type": "bert"})
