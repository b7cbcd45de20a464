"""Extractive question answering for Lightning: loss and EM/F1."""

from __future__ import annotations

from typing import Any

import torch
import torchmetrics
from transformers import AutoModelForQuestionAnswering

from ctxzoo.metrics import SquadV2
from ctxzoo.models.ops_answer import AnswerSpans, decode_answers
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.training.optimizers import OptimizerArgs
from ctxzoo.training.task import Scores, ZooTask, model_inputs

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
        model_config, pretrained, model, optimizer_args: see `ZooTask`.

    Raises:
        ValueError, NonFiniteLossError: see `ZooTask`; the latter names the questions of the batch.
    """

    auto_class = AutoModelForQuestionAnswering
    monitor = "validation/f1"
    no_answer_threshold: float | None = None  # see `tune_threshold`
    default_optimizer = OptimizerArgs(optimizer="adadelta", learning_rate=0.5)

    def tune_threshold(self, validation: dict[str, float]) -> None:
        """Take the no-answer threshold with the best F1 on validation over; it is saved with the model's config."""
        if self.model.config.squad_version == "2.0":
            self.no_answer_threshold = self.model.config.no_answer_threshold = validation["best_f1_thresh"]

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, Any]:
        outputs = self.model(**model_inputs(batch))
        rows = {"row": batch["row"]} if "row" in batch else {}
        return {**rows, "spans": self._decode(outputs, batch)}

    @property
    def data(self) -> SquadDataModule | None:
        """The DataModule that the trainer runs on; None where batches come from another loader."""
        data = self.trainer.datamodule
        return data if isinstance(data, SquadDataModule) else None

    def new_scores(self) -> _Scores:
        return _Scores()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        questions = rows if self.data is None else [self.data.texts("train")[row]["id"] for row in rows]
        return f"questions of the batch: {questions}"

    def update_scores(self, scores: _Scores, batch: dict[str, torch.Tensor], split: str) -> None:
        outputs = self.model(**model_inputs(batch))
        scores.nll.update(outputs.loss, weight=len(batch["input_ids"]))
        if self.data is not None:
            may_refuse = self.model.config.squad_version == "2.0"
            scores.rules.update(*self.data.answers(split, batch["row"], self._decode(outputs, batch), may_refuse))

    def compute_scores(self, scores: _Scores) -> dict[str, float]:
        if self.data is None:
            return {"nll": float(scores.nll.compute())}
        return scores.compute(self.no_answer_threshold)

    def _decode(self, outputs: Any, batch: dict[str, torch.Tensor]) -> AnswerSpans:
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
