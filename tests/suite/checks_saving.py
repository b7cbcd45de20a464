"""Saving and loading one's own checkpoints."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch
import transformers

from ctxzoo.training.task import AutoHead
from tests.suite.marks import needs_base
from tests.suite.subjects import Subject, named_tensors


def assert_equal_states(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        assert found[name].dtype == x.dtype, name
        assert torch.equal(found[name], x), name


def assert_clean(info: dict[str, Any]) -> None:
    problems = {kind: names for kind, names in info.items() if names}
    assert problems == {}


class SavingChecks:
    def test_saved_and_loaded_bit_for_bit(self, subject: Subject, tmp_path: Path) -> None:
        model, batch = subject.model(), subject.batch(labels=True)
        model.save_pretrained(tmp_path)
        torch.manual_seed(99)
        loaded, info = subject.model_class.from_pretrained(tmp_path, output_loading_info=True)
        assert_clean(info)
        assert_equal_states(loaded.state_dict(), model.state_dict())
        trained = {name: p.requires_grad for name, p in model.named_parameters()}
        assert {name: p.requires_grad for name, p in loaded.named_parameters()} == trained
        assert not loaded.training
        # Copies, because a matrix product's last bit may depend on how its weights are aligned in memory, and those of
        # a file lie as the file has them.
        found, expected = (named_tensors(copy.deepcopy(each)(**batch)) for each in (loaded, model))
        assert_equal_states(found, expected)

    def test_folder_holds_code_and_every_head_and_its_auto_class_reads_it(
        self, subject: Subject, tmp_path: Path
    ) -> None:
        model = subject.model()
        model.save_pretrained(tmp_path)
        names = {path.name for path in tmp_path.iterdir()}
        expected = {"config.json", "model.safetensors", *(["generation_config.json"] if model.can_generate() else [])}
        assert {name for name in names if not name.endswith(".py")} == expected
        auto_map = json.loads((tmp_path / "config.json").read_text())["auto_map"]
        assert auto_map.keys() == {"AutoConfig", *subject.architecture.model_classes}
        for reference in auto_map.values():
            assert f"{reference.partition('.')[0]}.py" in names

        auto_class: Any = getattr(transformers, subject.head, None) or AutoHead(str(subject.model_class.zoo_task))
        loaded = auto_class.from_pretrained(tmp_path)
        assert type(loaded) is subject.model_class
        assert_equal_states(loaded.state_dict(), model.state_dict())

    def test_saved_dtype_is_kept(self, setting: Subject, tmp_path: Path) -> None:
        model = setting.model(dtype=torch.bfloat16)
        model.save_pretrained(tmp_path)
        assert_equal_states(setting.model_class.from_pretrained(tmp_path).state_dict(), model.state_dict())

    @needs_base
    def test_base_loads_from_head(self, subject: Subject, tmp_path: Path) -> None:
        model = subject.model()
        prefix = f"{model.base_model_prefix}."
        own = {name for name in model.state_dict() if not name.startswith(prefix)}
        model.save_pretrained(tmp_path)
        base_class = subject.with_head("AutoModel").model_class
        base, info = base_class.from_pretrained(tmp_path, output_loading_info=True)
        assert set(info.pop("unexpected_keys")) == own
        assert_clean(info)
        expected = {name.removeprefix(prefix): x for name, x in model.state_dict().items() if name not in own}
        assert_equal_states(base.state_dict(), expected)

    @needs_base
    def test_head_loads_from_base(self, subject: Subject, tmp_path: Path) -> None:
        base = subject.with_head("AutoModel").model()
        base.save_pretrained(tmp_path)
        model, info = subject.model_class.from_pretrained(tmp_path, output_loading_info=True)
        prefix = f"{model.base_model_prefix}."
        own = {name for name in model.state_dict() if not name.startswith(prefix)}
        assert set(info.pop("missing_keys")) == own
        assert_clean(info)
        loaded = {name.removeprefix(prefix): x for name, x in model.state_dict().items() if name not in own}
        assert_equal_states(loaded, base.state_dict())
        assert all(x.isfinite().all() for x in model.state_dict().values())
