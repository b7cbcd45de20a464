"""Extractive question answering for Lightning: loss and EM/F1."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

import torch
import torchmetrics
from transformers import AutoModelForQuestionAnswering, PreTrainedModel

from ctxzoo.metrics import SquadV2
from ctxzoo.metrics.squad_text import compute_exact_match_and_f1
from ctxzoo.models.ops_answer import AnswerSpans, decode_answers
from ctxzoo.models.pipeline_question_answering import check_probability
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.training.optimizers import OptimizerArgs
from ctxzoo.training.scoring import build_scoring_trainer, load_task, load_tokenizer, score_splits
from ctxzoo.training.task import Scores, ZooTask, select_model_inputs

# `no_answer_score` is p_na / (p_na + p_span); above a half, "no answer" is the more probable of the two.
MORE_PROBABLE = 0.5


class QuestionAnsweringTask(ZooTask):
    """Trains and scores any extractive reader of the zoo.

    A batch holds the inputs of the model with `start_positions` and `end_positions`, (B,) words of the context, 0 for
    "no answer". Scores on a `SquadDataModule`: `nll` (nats), `exact`, `f1`, `AvNA`, the has-answer and no-answer parts,
    `span_exact` and `span_f1` (best span on answerable questions, "no answer" not allowed), `no_answer_auc`, and with a
    tuned threshold `exact_at_threshold`, `f1_at_threshold`. Batches of other loaders come without the texts of answers:
    they are scored by `nll` alone.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.

    Raises:
        ValueError, NonFiniteLossError: see `ZooTask`; the latter names the questions of the batch.
    """

    auto_class = AutoModelForQuestionAnswering
    monitor = "validation/f1"
    no_answer_threshold: float | None = None  # see `tune_threshold`
    default_optimizer = OptimizerArgs(optimizer="adadelta", learning_rate=0.5)

    def tune_threshold(self, validation_scores: dict[str, float]) -> None:
        """Set the no-answer threshold to the one with the best F1 on validation, and save it in the model's config."""
        if self.model.config.squad_version == "2.0":
            self.no_answer_threshold = self.model.config.no_answer_threshold = validation_scores["best_f1_thresh"]

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, Any]:
        outputs = self.model(**select_model_inputs(batch))
        rows = {"row": batch["row"]} if "row" in batch else {}
        return {**rows, "spans": self._decode(outputs, batch)}

    @property
    def data(self) -> SquadDataModule | None:
        """The DataModule that the trainer runs on; None where batches come from another loader."""
        data = self.trainer.datamodule
        return data if isinstance(data, SquadDataModule) else None

    def build_scores(self) -> _Scores:
        """Return empty scores of question answering."""
        return _Scores()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the mean cross-entropy of the answers' first and last words."""
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        # Streamed questions are known by their numbers.
        named = None if self.data is None or self.data.streaming else self.data
        questions = rows if named is None else [named.texts("train")[row]["id"] for row in rows]
        return f"questions of the batch: {questions}"

    def update_scores(self, scores: _Scores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the loss and the predicted answers of a batch to the scores."""
        outputs = self.model(**select_model_inputs(batch))
        scores.nll.update(outputs.loss, weight=len(batch["input_ids"]))
        if self.data is not None:
            may_refuse = self.model.config.squad_version == "2.0"
            spans = self._decode(outputs, batch)
            scores.rules.update(*self.data.format_answers(split, batch["row"], spans, may_refuse))

    def compute_scores(self, scores: _Scores) -> dict[str, float]:
        """Return the scores by name; without the data's texts only the loss."""
        if self.data is None:
            return {"nll": float(scores.nll.compute())}
        return scores.compute(self.no_answer_threshold)

    def _decode(self, outputs: Any, batch: dict[str, torch.Tensor]) -> AnswerSpans:
        """Return the likeliest answer of each row of a batch."""
        return decode_answers(outputs, batch["attention_mask"], self.model.config.max_answer_length)


class _Scores(Scores):
    """The metrics of one stage: by the model's own rule, without "no answer", and at a tuned threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.nll = torchmetrics.MeanMetric()
        rules = {
            "answers": SquadV2(no_answer_threshold=MORE_PROBABLE),
            "spans": SquadV2(no_answer_threshold=1.0),  # no score exceeds 1: the best span of every question
            "tuned": SquadV2(),
        }
        # They differ in what they compute alone, so each question is scored once for all of them.
        self.rules = torchmetrics.MetricCollection(rules, compute_groups=[list(rules)])

    def compute(self, tuned_threshold: float | None) -> dict[str, float]:
        """Return loss, exact match and F1 by name, also at a tuned no-answer threshold where one is given."""
        rules: dict[str, Any] = dict(self.rules.items())  # which makes what each has seen that of all
        values: dict[str, Any] = {"nll": self.nll.compute(), **rules["answers"].compute()}
        spans = rules["spans"].compute()
        values |= {f"span_{name}": spans[f"HasAns_{name}"] for name in ("exact", "f1") if f"HasAns_{name}" in spans}
        if tuned_threshold is not None:
            rules["tuned"].no_answer_threshold = tuned_threshold
            tuned = rules["tuned"].compute()
            values |= {f"{name}_at_threshold": tuned[name] for name in ("exact", "f1")}
        if "NoAns_total" in values:
            values["always_no_answer"] = 100.0 * values["NoAns_total"] / values["total"]
        return {name: float(value) for name, value in values.items()}


ARTICLES = "articles"  # what the lists of `score_articles` are called


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
    """Return a question answering model's scores on a split by name; for a checkpoint those of its training.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id with model and tokenizer, or a loaded model.
        dataset: Data to score on: a Hub id, folder or SQuAD JSON file, or "sample" (generated questions).
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        data_dir, squad_version, fix_answer_start, cache_dir: Folder of datasets, version of SQuAD, correction of answer
            offsets, and cache folder, as in `SquadDataModule`.
        no_answer_threshold: No-answer score above which "no answer" is predicted; default: the threshold in the model's
            config, tuned on validation.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        Name to score, named as in `QuestionAnsweringTask` without the split's name in front; percentages but for `nll`
        (nats) and counts.

    Raises:
        OSError: there is no such checkpoint or dataset.
        TypeError, ValueError: a threshold that is no number, or not from 0 to 1; no such split; a
            checkpoint of another problem; a model without its tokenizer.
    """
    check_probability("no_answer_threshold", no_answer_threshold)
    task = load_task(QuestionAnsweringTask, checkpoint)
    tuned = getattr(task.model.config, "no_answer_threshold", None)
    task.no_answer_threshold = tuned if no_answer_threshold is None else no_answer_threshold
    data = SquadDataModule(
        dataset,
        data_dir=data_dir,
        squad_version=squad_version,
        fix_answer_start=fix_answer_start,
        eval_batch_size=batch_size,
        cache_dir=cache_dir,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def score_articles(
    task: QuestionAnsweringTask, data: SquadDataModule, split: str, *, progress: bool = False
) -> dict[str, list[float]]:
    """Return the scores of a model on the questions of each article of a split.

    Questions of one article are not independent of each other, so that an interval of a score is one over articles.

    Args:
        task: LightningModule of the reader, whose no-answer threshold is set.
        data: DataModule after its `setup`, whose rows have a column `title`.
        split: Name of the split, such as "test".
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
    trainer = build_scoring_trainer(data, precision="32-true", accelerator="auto", progress=progress)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    for batch in batches:
        found = data.format_answers(split, batch["row"], batch["spans"], may_refuse)
        for row, prediction, reference in zip(batch["row"].tolist(), *found, strict=True):
            answer = "" if prediction["no_answer_probability"] > threshold else prediction["prediction_text"]
            scores = 1.0, *compute_exact_match_and_f1(answer, reference["answers"]["text"])
            sums[titles[row]] = [one + more for one, more in zip(sums[titles[row]], scores, strict=True)]
    columns = zip(*(sums[title] for title in sorted(sums)), strict=True)
    names = ("questions", "exact", "f1")
    return {f"{split}/{ARTICLES}/{name}": list(column) for name, column in zip(names, columns, strict=True)}
