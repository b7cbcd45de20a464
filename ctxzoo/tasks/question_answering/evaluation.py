"""Scores of an extractive reader on a split."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

from transformers import PreTrainedModel

from ctxzoo.metrics.squad_text import exact_and_f1
from ctxzoo.models.pipeline_question_answering import check_probability
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.scoring import build_scorer, score_splits, task_of, tokenizer_of

ARTICLES = "articles"  # what the lists of `article_scores` are called


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    squad_version: Literal["1.1", "2.0", "auto"] = "auto",
    fix_answer_start: bool = False,
    no_answer_threshold: float | None = None,
    batch_size: int = 128,
    precision: str = "32-true",
    accelerator: str = "auto",
    cache_dir: str | None = None,
    progress: bool = True,
) -> dict[str, float]:
    """Score a reader on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id with model and tokenizer, or a model.
        dataset: Hub id, folder, SQuAD JSON file, or "sample" for the generated corpus.
        split: name of a split, as the DataModule has it.
        tokenizer: Tokenizer of a model; default: that of the checkpoint.
        data_dir, squad_version, fix_answer_start, cache_dir: see `SquadDataModule`.
        no_answer_threshold: score above which "no answer" is given; default the one in the model's config, tuned on
            validation, if any.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        Name to score, named as in `QuestionAnsweringTask` without the split's name in front; percentages but for `nll`
        (nats) and counts.

    Raises:
        OSError: there is no such checkpoint or dataset.
        TypeError, ValueError: a threshold that is no number, or not from 0 to 1; no such split; a
            checkpoint of another problem; a model without its tokenizer.
    """
    check_probability("no_answer_threshold", no_answer_threshold)
    task = task_of(QuestionAnsweringTask, checkpoint)
    tuned = getattr(task.model.config, "no_answer_threshold", None)
    task.no_answer_threshold = tuned if no_answer_threshold is None else no_answer_threshold
    data = SquadDataModule(
        dataset,
        data_dir=data_dir,
        squad_version=squad_version,
        fix_answer_start=fix_answer_start,
        eval_batch_size=batch_size,
        cache_dir=cache_dir,
        tokenizer=tokenizer_of(checkpoint, tokenizer),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def article_scores(
    task: QuestionAnsweringTask, data: SquadDataModule, split: str, *, progress: bool = False
) -> dict[str, list[float]]:
    """Return how a reader answers the questions of each article of a split.

    Questions of one article are not independent of each other, so that an interval of a score is one over articles.

    Args:
        task: Reader, with the threshold that counts.
        data: Data after `setup`, whose rows have a `title`.
        split: Name of a split.
        progress: Whether a progress bar is shown.

    Returns:
        By `split/articles/questions`, `split/articles/exact` and `split/articles/f1` a list of one number an article,
        in the order of their titles: questions, and the sums of EM and F1, in questions. Empty without titles.

    Raises:
        ValueError: No such split.
    """
    texts = data.texts(split)
    if "title" not in texts.column_names:
        return {}
    titles, may_refuse = texts["title"][:], task.model.config.squad_version == "2.0"
    threshold = 1.0 if task.no_answer_threshold is None else task.no_answer_threshold
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    trainer = build_scorer(data, precision="32-true", accelerator="auto", progress=progress)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    for batch in batches:
        found = data.answers(split, batch["row"], batch["spans"], may_refuse)
        for row, prediction, reference in zip(batch["row"].tolist(), *found, strict=True):
            answer = "" if prediction["no_answer_probability"] > threshold else prediction["prediction_text"]
            scores = 1.0, *exact_and_f1(answer, reference["answers"]["text"])
            sums[titles[row]] = [one + more for one, more in zip(sums[titles[row]], scores, strict=True)]
    columns = zip(*(sums[title] for title in sorted(sums)), strict=True)
    names = ("questions", "exact", "f1")
    return {f"{split}/{ARTICLES}/{name}": list(column) for name, column in zip(names, columns, strict=True)}
