"""Extractive question answering for Lightning: loss and EM/F1."""

from __future__ import annotations

from typing import Any

import torch
import torchmetrics
from transformers import AutoModelForQuestionAnswering

from ctxzoo.metrics import SquadV2
from ctxzoo.models.ops_answer import AnswerSpans, decode_answers
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.training.optimisers import OptimiserName
from ctxzoo.training.task import Scores, ZooTask, model_inputs

# `no_answer_score` is p_na / (p_na + p_span); above a half, "no answer" is the more probable of the two.
MORE_PROBABLE = 0.5


class QuestionAnsweringTask(ZooTask):
    """Trains and scores any extractive reader of the zoo on a `SquadDataModule`.

    Scores: `nll` (nats), `exact`, `f1`, `AvNA`, the has-answer and no-answer parts, `span_exact` and `span_f1` (best
    span on answerable questions, "no answer" not allowed), `no_answer_auc`, and with a tuned threshold
    `exact_at_threshold`, `f1_at_threshold`.

    Args:
        model_config, pretrained, optimiser, learning_rate, weight_decay, warmup_steps, decay_steps: see `ZooTask`.

    Raises:
        ValueError, NonFiniteLossError: see `ZooTask`; the latter names the questions of the batch.
    """

    auto_class = AutoModelForQuestionAnswering
    monitor = "validation/f1"

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        optimiser: OptimiserName = "adadelta",
        learning_rate: float = 0.5,
        weight_decay: float = 0.0,
        warmup_steps: int = 0,
        decay_steps: int | None = None,
    ) -> None:
        super().__init__(
            model_config,
            pretrained,
            optimiser=optimiser,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            warmup_steps=warmup_steps,
            decay_steps=decay_steps,
        )
        self.no_answer_threshold: float | None = None

    def tune_threshold(self, validation: dict[str, float]) -> None:
        """Take the no-answer threshold with the best F1 on validation over; it is saved with the model's config."""
        if self.model.config.squad_version == "2.0":
            self.no_answer_threshold = self.model.config.no_answer_threshold = validation["best_f1_thresh"]

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, Any]:
        outputs = self.model(**model_inputs(batch))
        return {"row": batch["row"], "spans": self._decode(outputs, batch)}

    @property
    def data(self) -> SquadDataModule:
        """The DataModule that the trainer runs on."""
        data = self.trainer.datamodule
        if not isinstance(data, SquadDataModule):
            raise TypeError(f"QuestionAnsweringTask reads answers from a SquadDataModule, got {type(data).__name__}")
        return data

    def new_scores(self) -> _Scores:
        return _Scores()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return f"questions of the batch: {[self.data.texts('train')[row]['id'] for row in rows]}"

    def update_scores(self, scores: _Scores, batch: dict[str, torch.Tensor], split: str) -> None:
        outputs = self.model(**model_inputs(batch))
        may_refuse = self.model.config.squad_version == "2.0"
        predictions, references = self.data.answers(split, batch["row"], self._decode(outputs, batch), may_refuse)
        scores.update(outputs.loss, predictions, references)

    def compute_scores(self, scores: _Scores) -> dict[str, float]:
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

    def update(self, loss: torch.Tensor, predictions: list[Any], references: list[Any]) -> None:
        self.nll.update(loss, weight=len(predictions))
        self.rules.update(predictions, references)

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
