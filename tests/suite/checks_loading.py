"""Checkpoints that must not be loaded: each gives an error that says what is wrong."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.suite.marks import through_heads
from tests.suite.subjects import Subject


class _TouchesAFile:
    """Unpickled, it runs code."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
        return Path.touch, (self.path,)


def _change_config(folder: Path, name: str, value: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))


def _truncate(folder: Path, share: float) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


DAMAGES: dict[str, tuple[Callable[[Path], object], type[Exception], str]] = {
    "half_the_weights": (lambda folder: _truncate(folder, 0.5), OSError, "damaged or incomplete"),
    "a_few_bytes": (lambda folder: _truncate(folder, 0.001), OSError, "damaged or incomplete"),
    "empty_weights": (lambda folder: _truncate(folder, 0), OSError, "damaged or incomplete"),
    "no_weights": (lambda folder: (folder / "model.safetensors").unlink(), OSError, "no file named model.safetensors"),
    "no_config": (lambda folder: (folder / "config.json").unlink(), OSError, "no config.json"),
    "half_a_config": (lambda folder: (folder / "config.json").write_text('{"mod'), OSError, "not a valid JSON"),
    "foreign_weights": (
        lambda folder: save_file({"encoder.weight": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"}),
        ValueError,
        "holds no weights of .*encoder.weight",
    ),
    "foreign_config": (lambda folder: _change_config(folder, "model_type", "bert"), ValueError, "'bert'"),
    "unknown_field": (lambda folder: _change_config(folder, "hiden", 3), TypeError, "no field 'hiden'"),
}


class LoadingChecks:
    @pytest.mark.parametrize("damage", DAMAGES)
    def test_damaged_checkpoint_is_refused(self, family: Subject, damage: str, tmp_path: Path) -> None:
        spoil, error, message = DAMAGES[damage]
        family.model().save_pretrained(tmp_path)
        spoil(tmp_path)
        with pytest.raises(error, match=message) as caught:
            family.model_class.from_pretrained(tmp_path)
        if error is OSError:
            assert str(tmp_path) in str(caught.value)

    def test_weights_of_other_sizes_are_refused(self, family: Subject, tmp_path: Path) -> None:
        model = family.model()
        model.save_pretrained(tmp_path)
        name, weight = max(model.state_dict().items(), key=lambda item: item[1].numel())
        state = {key: x.clone() for key, x in model.state_dict().items()} | {name: torch.zeros(len(weight) + 1, 2)}
        save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
        with pytest.raises(RuntimeError, match="mismatch"):
            family.model_class.from_pretrained(tmp_path)

    @through_heads
    def test_another_number_of_labels_gets_a_new_head(self, subject: Subject, tmp_path: Path) -> None:
        """As transformers does it on request: what does not depend on the labels is that of the checkpoint."""
        saved = subject.model()
        saved.save_pretrained(tmp_path)
        labels = saved.config.num_labels + 3
        loaded = subject.model_class.from_pretrained(tmp_path, num_labels=labels, ignore_mismatched_sizes=True)
        assert loaded.config.num_labels == len(loaded.config.id2label) == labels
        fresh = subject.model_class(loaded.config).state_dict()
        new = [name for name, x in saved.state_dict().items() if fresh[name].shape != x.shape]
        assert bool(new) == ("Classification" in subject.head)
        for name, x in loaded.state_dict().items():
            if name in new:
                assert x.shape == fresh[name].shape
                assert torch.isfinite(x).all()
                assert x.any() == fresh[name].any(), f"{name} is drawn in another way than in a new model"
            else:
                assert torch.equal(x, saved.state_dict()[name]), name
        if new:
            assert loaded(**subject.batch()).logits.size(-1) == labels

    def test_pickled_weights_are_refused_and_not_run(self, family: Subject, tmp_path: Path) -> None:
        family.model().save_pretrained(tmp_path)
        (tmp_path / "model.safetensors").unlink()
        evidence = tmp_path / "ran"
        with (tmp_path / "pytorch_model.bin").open("wb") as file:
            pickle.dump(_TouchesAFile(evidence), file)
        for choice in ({}, {"use_safetensors": True}, {"use_safetensors": False}):
            with pytest.raises((OSError, pickle.UnpicklingError)):
                family.model_class.from_pretrained(tmp_path, **choice)
            assert not evidence.exists()

    def test_pickled_weights_that_are_sound_are_not_read_either(self, family: Subject, tmp_path: Path) -> None:
        model = family.model()
        model.save_pretrained(tmp_path)
        (tmp_path / "model.safetensors").unlink()
        torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
        with pytest.raises(OSError, match=r"model\.safetensors"):
            family.model_class.from_pretrained(tmp_path)
