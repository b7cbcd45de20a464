"""Scores of a saved extractive reader on a split."""

from __future__ import annotations

from typing import Literal

from transformers import AutoTokenizer

from ctxzoo.models.pipeline_question_answering import check_probability
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.scoring import score_splits


def evaluate_reader(
    checkpoint: str,
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    data_dir: str | None = None,
    squad_version: Literal["1.1", "2.0", "auto"] = "auto",
    no_answer_threshold: float | None = None,
    batch_size: int = 128,
    precision: str = "32-true",
    accelerator: str = "auto",
    cache_dir: str | None = None,
    progress: bool = True,
) -> dict[str, dict[str, float]]:
    """Score a checkpoint folder or Hub id; the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id with model and tokenizer.
        dataset: Hub id, folder, SQuAD JSON file, or "sample".
        splits: names of splits, as the DataModule has them.
        data_dir, squad_version, cache_dir: see `SquadDataModule`.
        no_answer_threshold: score above which "no answer" is given; default the one in the checkpoint's config, tuned
            on validation, if any.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        Split name to metrics, named as in `QuestionAnsweringTask` without the split's name in front.

    Raises:
        TypeError, ValueError: a threshold that is no number, or not from 0 to 1.
    """
    check_probability("no_answer_threshold", no_answer_threshold)
    task = QuestionAnsweringTask(pretrained=checkpoint)
    tuned = getattr(task.model.config, "no_answer_threshold", None)
    task.no_answer_threshold = tuned if no_answer_threshold is None else no_answer_threshold
    data = SquadDataModule(
        dataset,
        data_dir=data_dir,
        squad_version=squad_version,
        eval_batch_size=batch_size,
        cache_dir=cache_dir,
        tokenizer=AutoTokenizer.from_pretrained(checkpoint),
    )
    data.setup()
    return score_splits(task, data, splits, precision=precision, accelerator=accelerator, progress=progress)
