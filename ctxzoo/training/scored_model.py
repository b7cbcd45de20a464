"""What is scored: a checkpoint, or a model and its tokenizer that are in memory already."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from transformers import AutoConfig, AutoTokenizer, PreTrainedModel

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.models.registration import ARCHITECTURES, MODEL_TYPE_PREFIX
from ctxzoo.training.task import ZooTask

AnyTask = TypeVar("AnyTask", bound=ZooTask)


def task_of(task_class: type[AnyTask], checkpoint: str | Path | PreTrainedModel) -> AnyTask:
    """Return the task that scores a checkpoint folder or Hub id, or a model, which is held and not copied.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: its architecture has no head for the task.
    """
    check_head(task_class.auto_class, checkpoint)
    build: Any = task_class  # each task has arguments of its own behind these two
    if not isinstance(checkpoint, PreTrainedModel):
        task: AnyTask = build(pretrained=str(checkpoint))
        return task
    task = build(model_config=checkpoint.config.to_dict())
    task.model = checkpoint
    return task


def check_head(auto_class: Any, checkpoint: str | Path | PreTrainedModel) -> None:
    """Refuse a checkpoint or model of the zoo whose architecture has no head of an Auto class.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: no such head; the message says what its heads do.
    """
    if isinstance(checkpoint, PreTrainedModel):
        what, config = f"a {type(checkpoint).__name__}", checkpoint.config
    else:
        refuse_missing_path(str(checkpoint), "checkpoint")
        what, config = repr(str(checkpoint)), AutoConfig.from_pretrained(str(checkpoint))
    name = config.model_type.removeprefix(MODEL_TYPE_PREFIX)
    wanted = getattr(auto_class, "__name__", None)  # an AutoHead says by itself what it misses
    if name in ARCHITECTURES and wanted is not None and wanted not in ARCHITECTURES[name].model_classes:
        done = sorted(head.zoo_task for head in ARCHITECTURES[name].model_classes.values() if head.zoo_task)
        raise ValueError(
            f"{what} is of the architecture {name!r}, which has no {wanted}; it does {', '.join(done)}; take "
            "`evaluate` of that problem"
        )


def tokenizer_of(checkpoint: str | Path | PreTrainedModel, tokenizer: Any = None) -> Any:
    """Return the tokenizer that is given, else the one of the checkpoint folder or Hub id.

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
