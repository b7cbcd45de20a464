"""Scores outside a training: what is scored, a checkpoint or a model in memory, and its scores over splits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeVar

import lightning
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.models.registration import ARCHITECTURES, MODEL_TYPE_PREFIX
from ctxzoo.training.libraries import hide_library_messages
from ctxzoo.training.task import ZooTask

AnyTask = TypeVar("AnyTask", bound=ZooTask)


def load_task(task_class: type[AnyTask], checkpoint: str | Path | PreTrainedModel) -> AnyTask:
    """Return the LightningModule that scores a model, loaded from a folder or the Hub if it is a name.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: its architecture has no head for the task.
    """
    check_checkpoint_head(task_class.auto_class, checkpoint)
    build: Any = task_class  # each task has arguments of its own behind these two
    if not isinstance(checkpoint, PreTrainedModel):
        task: AnyTask = build(pretrained=str(checkpoint))
        return task
    task = build(model_config=checkpoint.config.to_dict())
    task.model = checkpoint
    return task


def check_checkpoint_head(auto_class: Any, checkpoint: str | Path | PreTrainedModel) -> None:
    """Raise an error if the architecture of a checkpoint or model has no head for an Auto class.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: no such head; the message says what its heads do.
    """
    if isinstance(checkpoint, PreTrainedModel):
        source, config = f"a {type(checkpoint).__name__}", checkpoint.config
    else:
        refuse_missing_path(str(checkpoint), "checkpoint")
        source, config = repr(str(checkpoint)), AutoConfig.from_pretrained(str(checkpoint))
    name = config.model_type.removeprefix(MODEL_TYPE_PREFIX)
    head_name = getattr(auto_class, "__name__", None)  # an AutoHead says by itself what it misses
    if name in ARCHITECTURES and head_name is not None and head_name not in ARCHITECTURES[name].model_classes:
        tasks = sorted(head.zoo_task for head in ARCHITECTURES[name].model_classes.values() if head.zoo_task)
        raise ValueError(
            f"{source} is of the architecture {name!r}, which has no {head_name}; it does {', '.join(tasks)}; take "
            "`evaluate` of that problem"
        )


def load_tokenizer(checkpoint: str | Path | PreTrainedModel, tokenizer: Any = None) -> Any:
    """Return the tokenizer that was passed or, if there is none, that of the checkpoint folder or Hub id.

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


class HasSplits(Protocol):
    """A DataModule of the zoo: any of its splits by name, in evaluation order."""

    def split_dataloader(self, split: str) -> Any:
        """Return the batches of a split."""


def score_splits(
    task: ZooTask,
    data: HasSplits,
    splits: tuple[str, ...],
    *,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, dict[str, float]]:
    """Return the scores of a task's model on splits of a DataModule, by split and name.

    Args:
        task: LightningModule whose model is scored.
        data: DataModule of the problem, after its `setup`.
        splits: Names of the splits to score, such as "validation" and "test".
        precision, accelerator: Precision and kind of device, as Lightning's Trainer takes them, such as "32-true" and
            "cpu".
        progress: Whether a progress bar is shown.

    Returns:
        Split name to metrics, named as the task logs them, without the split's name in front.
    """
    trainer = build_scoring_trainer(data, precision=precision, accelerator=accelerator, progress=progress)
    scores: dict[str, dict[str, float]] = {}
    device = task.model.device
    for split in splits:
        task.test_split = split
        (values,) = trainer.test(task, dataloaders=data.split_dataloader(split), verbose=False)
        scores[split] = {name.removeprefix("test/"): value for name, value in values.items()}
    task.model.to(device)  # Lightning leaves it on the CPU
    return scores


def build_scoring_trainer(data: HasSplits, *, precision: str, accelerator: str, progress: bool) -> lightning.Trainer:
    """Return a Lightning Trainer that scores on one device and writes no files."""
    hide_library_messages()
    trainer = lightning.Trainer(
        accelerator=accelerator,
        devices=1,
        precision=precision,  # type: ignore[arg-type, unused-ignore]
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=progress,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.datamodule = data
    return trainer
