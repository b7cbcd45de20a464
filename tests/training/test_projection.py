"""Constraints on parameters in transformers' Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainingArguments

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.layers_hcrnn import LEAST_DRIFT
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.training.projection import ProjectParameters


@pytest.mark.parametrize("projected", [False, True])
def test_drift_weights_are_put_back_behind_every_step(projected: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = HcrnnConfig(num_items=12, embedding_size=5, hidden_size=4, num_topics=3)
    model: Any = HcrnnForNextItem(config)
    rows = [{"input_ids": torch.tensor([3, 7, 1]), "labels": torch.tensor(number % 12 + 1)} for number in range(32)]
    arguments = TrainingArguments(
        str(tmp_path),
        max_steps=20,
        learning_rate=0.05,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    Trainer(model, arguments, train_dataset=rows, callbacks=[ProjectParameters()] if projected else None).train()
    lowest = float(model.hcrnn.cell.drift.detach().min())
    assert (lowest > 0.9 * LEAST_DRIFT) == projected  # and without it the test would show nothing
