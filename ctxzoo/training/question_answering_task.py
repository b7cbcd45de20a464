"""Extractive question answering for Lightning: loss, optimiser, EM/F1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import torch
import torchmetrics
from transformers import AutoConfig, AutoModelForQuestionAnswering

from ctxzoo.data.squad_datamodule import SquadDataModule
from ctxzoo.metrics import SquadV2
from ctxzoo.models.ops_answer import AnswerSpans, decode_answers
from ctxzoo.training.optimisers import OptimiserName, build_optimiser

# `no_answer_score` is p_na / (p_na + p_span); above a half, "no answer" is the more probable of the two.
MORE_PROBABLE = 0.5
NOT_INPUTS = ("row",)


class NonFiniteLossError(RuntimeError):
    """The loss is NaN or infinite."""


class QuestionAnsweringTask(lightning.LightningModule):
    """Trains and scores any extractive reader of the zoo on a `SquadDataModule`.

    Logged: train/loss; for validation and test `nll` (nats), `exact`, `f1`, `AvNA`, the has-answer and no-answer parts,
    `span_exact` and `span_f1` (best span on answerable questions, "no answer" not allowed), `no_answer_auc`, and with a
    tuned threshold `exact_at_threshold`, `f1_at_threshold`. All are over the whole split, never means of batches.

    Args:
        model_config: a config as a plain dict with its `model_type`.
        pretrained: a checkpoint folder or Hub id instead.
        optimiser: adadelta or adamw.
        learning_rate, weight_decay, warmup_steps: of the optimiser.
        decay_steps: steps until AdamW's rate is zero; None keeps it constant.

    Raises:
        ValueError: not exactly one of model_config and pretrained.
        NonFiniteLossError: in training, naming step, learning rate and questions.
    """

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
        super().__init__()
        if (model_config is None) == (pretrained is None):
            raise ValueError("give either model_config or pretrained")
        self.save_hyperparameters()
        if pretrained is not None:
            self.model = AutoModelForQuestionAnswering.from_pretrained(pretrained, use_safetensors=True)
        else:
            self.model = AutoModelForQuestionAnswering.from_config(AutoConfig.for_model(**dict(model_config or {})))
        self.model.train()
        self.no_answer_threshold: float | None = None
        self.test_split = "test"  # the split that test_step's batches come from
        self.scores = torch.nn.ModuleDict({stage: _Scores() for stage in ("validation", "test")})

    def forward(self, **inputs: Any) -> Any:
        return self.model(**inputs)

    def set_word_vectors(self, vectors: torch.Tensor | None) -> None:
        """Put pretrained vectors (vocab_size, d) into the word table; None leaves it as it is.

        Raises:
            ValueError: the shape is not that of the table.
        """
        if vectors is None:
            return
        table = self.model.get_input_embeddings().weight
        if vectors.shape != table.shape:
            raise ValueError(f"vectors of shape {tuple(vectors.shape)} do not fit the word table {tuple(table.shape)}")
        with torch.no_grad():
            table.copy_(vectors)

    def load_weights(self, checkpoint: Path) -> None:
        """Load the weights of a Lightning checkpoint: the averaged ones, where an average was kept."""
        self.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"])

    def tune_threshold(self, validation: dict[str, float]) -> None:
        """Take the no-answer threshold with the best F1 on validation over; it is saved with the model's config."""
        if self.model.config.squad_version == "2.0":
            self.no_answer_threshold = self.model.config.no_answer_threshold = validation["best_f1_thresh"]

    def configure_optimizers(self) -> Any:
        settings = self.hparams
        return build_optimiser(
            settings["optimiser"],
            self.parameters(),
            learning_rate=settings["learning_rate"],
            weight_decay=settings["weight_decay"],
            warmup_steps=settings["warmup_steps"],
            total_steps=settings["decay_steps"],
        )

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        loss: torch.Tensor = self.model(**_inputs(batch)).loss
        if not torch.isfinite(loss):
            self._refuse_loss(loss, batch)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["row"]))
        return loss

    def validation_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> None:
        self._score(batch, "validation")

    def test_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> None:
        self._score(batch, "test")

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, Any]:
        outputs = self.model(**_inputs(batch))
        return {"row": batch["row"], "spans": self._decode(outputs, batch)}

    def on_validation_epoch_end(self) -> None:
        self._log_scores("validation")

    def on_test_epoch_end(self) -> None:
        self._log_scores("test")

    @property
    def data(self) -> SquadDataModule:
        """The DataModule that the trainer runs on."""
        data = self.trainer.datamodule
        if not isinstance(data, SquadDataModule):
            raise TypeError(f"QuestionAnsweringTask reads answers from a SquadDataModule, got {type(data).__name__}")
        return data

    def _decode(self, outputs: Any, batch: dict[str, torch.Tensor]) -> AnswerSpans:
        return decode_answers(outputs, batch["attention_mask"], self.model.config.max_answer_length)

    def _score(self, batch: dict[str, torch.Tensor], stage: str) -> None:
        outputs = self.model(**_inputs(batch))
        may_refuse = self.model.config.squad_version == "2.0"
        split = self.test_split if stage == "test" else stage
        predictions, references = self.data.answers(split, batch["row"], self._decode(outputs, batch), may_refuse)
        scores = self.scores[stage]
        assert isinstance(scores, _Scores)
        scores.update(outputs.loss, predictions, references)

    def _log_scores(self, stage: str) -> None:
        scores = self.scores[stage]
        assert isinstance(scores, _Scores)
        values = scores.compute(self.no_answer_threshold)
        scores.reset()
        self.log_dict(
            {f"{stage}/{name}": value for name, value in values.items()},
            prog_bar=False,
            sync_dist=False,  # SquadV2 and MeanMetric have gathered every process's questions
        )

    def _refuse_loss(self, loss: torch.Tensor, batch: dict[str, torch.Tensor]) -> None:
        rates = [group["lr"] for optimiser in self.trainer.optimizers for group in optimiser.param_groups]
        ids = [self.data.texts("train")[int(row)]["id"] for row in batch["row"]]
        raise NonFiniteLossError(
            f"loss is {loss.item()} at step {self.global_step} (epoch {self.current_epoch}), learning rate {rates}; "
            f"questions of the batch: {ids}. Lower the learning rate or clip gradients more; the last checkpoint is "
            "from before this step"
        )


class _Scores(torch.nn.Module):
    """The metrics of one stage: by the model's own rule, without "no answer", and at a tuned threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.nll = torchmetrics.MeanMetric()
        self.answers = SquadV2(no_answer_threshold=MORE_PROBABLE)
        self.spans = SquadV2(no_answer_threshold=1.0)  # no score exceeds 1: the best span of every question
        self.tuned = SquadV2()

    def update(self, loss: torch.Tensor, predictions: list[Any], references: list[Any]) -> None:
        self.nll.update(loss, weight=len(predictions))
        for metric in (self.answers, self.spans, self.tuned):
            metric.update(predictions, references)

    def compute(self, tuned_threshold: float | None) -> dict[str, float]:
        values: dict[str, Any] = {"nll": self.nll.compute(), **self.answers.compute()}
        spans = self.spans.compute()
        values |= {f"span_{name}": spans[f"HasAns_{name}"] for name in ("exact", "f1") if f"HasAns_{name}" in spans}
        if tuned_threshold is not None:
            self.tuned.no_answer_threshold = tuned_threshold
            tuned = self.tuned.compute()
            values |= {f"{name}_at_threshold": tuned[name] for name in ("exact", "f1")}
        if "NoAns_total" in values:
            values["always_no_answer"] = 100.0 * values["NoAns_total"] / values["total"]
        return {name: float(value) for name, value in values.items()}

    def reset(self) -> None:
        for metric in (self.nll, self.answers, self.spans, self.tuned):
            metric.reset()


def _inputs(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in batch.items() if name not in NOT_INPUTS}
