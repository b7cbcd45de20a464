"""Scores of a language model on a split, and of each of its lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
from ctxzoo.tasks.language_modelling.task import LanguageModellingTask
from ctxzoo.training.scoring import build_scorer, score_splits, task_of, tokenizer_of


@dataclass(frozen=True)
class LineScore:
    """The score of one line.

    Attributes:
        row: of the line in its split.
        tokens: its words and its end mark.
        nll: negative log-likelihood of the line, given all lines before it, in nats, the sum over its tokens.
    """

    row: int
    tokens: int
    nll: float


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    text_column: ColumnNames = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a language model on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated text.
        split: name of a split, as the DataModule has it.
        tokenizer: of a model; default: that of the checkpoint.
        data_dir, text_column: of `LanguageModellingDataModule`.
        batch_size: words that are read at once; no score depends on it.
        precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `perplexity`, `nll`, in nats of a token, and `unknown_words`, in percent; see `LanguageModellingScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; a model without its tokenizer.
    """
    task = task_of(LanguageModellingTask, checkpoint)
    data = LanguageModellingDataModule(
        dataset,
        data_dir=data_dir,
        text_column=text_column,
        eval_batch_size=batch_size,
        tokenizer=tokenizer_of(checkpoint, tokenizer),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def line_scores(
    model: PreTrainedModel, data: LanguageModellingDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[LineScore]:
    """Return the score of each line of a split, by row, for paired tests of two models.

    Args:
        model: a language model.
        data: after `setup`.
        split: name of a split, as the DataModule has it.
        accelerator: how to run.

    Raises:
        ValueError: no such split; a model of another problem.
    """
    task: Any = task_of(LanguageModellingTask, model)
    device = model.device
    trainer = build_scorer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    model.to(device)  # Lightning leaves it on the CPU
    lines, nats = (np.concatenate([batch[name][0].cpu().numpy() for batch in batches]) for name in ("lines", "nll"))
    sums, tokens = np.bincount(lines, nats), np.bincount(lines)
    return [LineScore(row, *both) for row, both in enumerate(zip(tokens.tolist(), sums.tolist(), strict=True))]
