"""What is scored: a checkpoint, or a model and its tokenizer that are in memory already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import AutoTokenizer, PreTrainedModel

from ctxzoo.training.task import ZooTask

AnyTask = TypeVar("AnyTask", bound=ZooTask)


def task_of(task_class: Callable[..., AnyTask], checkpoint: str | Path | PreTrainedModel) -> AnyTask:
    """The task that scores a checkpoint folder or Hub id, or a model, which is held and not copied.

    Raises:
        OSError, ValueError: there is no such checkpoint, or its model is none of the task.
    """
    if not isinstance(checkpoint, PreTrainedModel):
        return task_class(pretrained=str(checkpoint))
    with torch.random.fork_rng(devices=[]):  # the weights that are drawn here are not used
        task = task_class(model_config=checkpoint.config.to_dict())
    task.model = checkpoint
    return task


def tokenizer_of(checkpoint: str | Path | PreTrainedModel, tokenizer: Any = None) -> Any:
    """The tokenizer that is given, else the one of the checkpoint folder or Hub id.

    Raises:
        ValueError: a model without its tokenizer.
    """
    if tokenizer is not None:
        return tokenizer
    if isinstance(checkpoint, PreTrainedModel):
        raise ValueError(
            f"a {type(checkpoint).__name__} was given without its tokenizer; give it as tokenizer=..., or the "
            "checkpoint folder of both"
        )
    return AutoTokenizer.from_pretrained(str(checkpoint))
