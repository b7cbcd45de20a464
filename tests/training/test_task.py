"""What every task logs, and what it takes as a model."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models import ARCHITECTURES
from ctxzoo.tasks.polyphonic_music.task import PolyphonicMusicTask
from ctxzoo.training.task import record_logged_outputs

SIZES: dict[str, Any] = {"vocab_size": 30, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_labels": 3}


@pytest.mark.parametrize("head", ["AutoModelForSequenceClassification", "AutoModelForTokenClassification"])
def test_outputs_of_the_base_model_are_noted(head: str) -> None:
    linear, kernel = ARCHITECTURES["linear_encoder"], ARCHITECTURES["kernel_encoder"]
    model: Any = linear.model_classes[head](linear.config_class(**SIZES, qk_norm=False)).train()
    ids = torch.arange(2, 18).view(2, 8)
    with record_logged_outputs(model) as noted:
        model(ids)
    assert set(noted) == {"clamped"}
    assert not noted["clamped"].requires_grad
    assert float(noted["clamped"]) == float(model.base_model(ids).clamped)
    before = dict(noted)
    model(ids.flip(1) + 5)  # outside of the block
    assert noted == before
    with record_logged_outputs(kernel.model_classes[head](kernel.config_class(**SIZES)).train()) as noted:
        model(ids)
    assert not noted  # dot products clamp nothing
    with record_logged_outputs(torch.nn.Linear(2, 2)) as noted:
        pass
    assert not noted


@pytest.mark.parametrize(("cell", "names"), [("bibeta5", {"train/dead_fraction"}), ("lstm", set())])
def test_training_logs_them(cell: str, names: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"model_type": "ctxzoo_beta_lstm", "cell": cell, "hidden_size": 5, "input_size": 88, "num_labels": 88}
    task = PolyphonicMusicTask(config)
    logged: dict[str, float] = {}
    monkeypatch.setattr(task, "log", lambda name, value, **_: logged.update({name: float(value)}))
    steps = torch.randint(2, (2, 4, 88)).float()
    batch = {"inputs_embeds": steps, "attention_mask": torch.ones(2, 4).long(), "labels": steps, "row": torch.arange(2)}
    task.training_step(batch, 0)
    assert set(logged) - {"train/loss", "train/epoch_loss"} == names
    assert all(0 <= value <= 1 for name, value in logged.items() if name in names)


def test_a_plain_module_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"the model is a Linear; expected a PreTrainedModel.*change_a_model"):
        PolyphonicMusicTask(model=torch.nn.Linear(2, 2))
