"""The sides of `document_attention` that train a whole model: one step on random words and classes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from benchmarks.passes import PassRunner
from benchmarks.reporting import Value
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.training.optimizers import OptimizerArgs, build_optimizer

VOCABULARY = 30_000
CLASSES = 8
STEP_PASSES = ("training step",)
# The settings are those of recipes/document_lama.py.
LEARNING_RATE = 0.05
GRADIENT_CLIP = 5.0


@dataclass(frozen=True)
class Side:
    """One timed model ("side" of a comparison): a document classifier with its options.

    Attributes:
        label: Name of the side in the printed tables.
        model: Model that is trained: LAMA+ctx; SAN, the text baseline self_attentive with the penalty in its loss; TE,
            the text baseline transformer_1024.
        heads: Number of heads of the model's attention.
    """

    label: str
    model: Literal["LAMA+ctx", "SAN", "TE"]
    heads: int

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the model in results; sides with equal columns must give equal losses."""
        return {"model": self.model, "heads": self.heads}


class Runner(PassRunner):
    """Runs the training steps of one side in its worker process, at one size after another."""

    def prepare(self, batch: int, length: int, width: int, dtype: torch.dtype) -> None:
        """Build the model, its optimizer, and a batch of random words (batch, length) with classes.

        Weights stay in float32; with another dtype the forward pass is in mixed precision.
        """
        self.module = build_model(self.side, width).to(self.device).train()
        self.x = torch.randint(2, VOCABULARY, (batch, length)).to(self.device)
        self.labels = torch.randint(CLASSES, (batch,)).to(self.device)
        self.optimizer = build_optimizer(
            OptimizerArgs(optimizer="sgd", learning_rate=LEARNING_RATE), self.module.parameters()
        )["optimizer"]
        self.precision: Any = nullcontext() if dtype == torch.float32 else torch.autocast(self.device.type, dtype)

    def get_pass(self, name: str) -> Callable[[], Any]:
        """Return the only pass of these sides, a training step, whatever `name` is."""
        return self._train_step

    def compute_answers(self) -> dict[str, torch.Tensor]:
        """Return the loss of the batch, in which sides of the same model must agree."""
        return {"loss": self._compute_loss().detach()}

    def _compute_loss(self) -> torch.Tensor:
        """Return the loss of the batch, in the side's precision."""
        with self.precision:
            loss: torch.Tensor = self.module(self.x, labels=self.labels).loss
        return loss

    def _train_step(self) -> None:
        """Do one training step on the batch: gradients, clipping, and the optimizer's update."""
        self.forget_gradients()
        self._compute_loss().backward()  # type: ignore[no-untyped-call, unused-ignore]
        nn.utils.clip_grad_norm_(self.module.parameters(), GRADIENT_CLIP)
        self.optimizer.step()


def build_model(side: Side, width: int) -> nn.Module:
    """Return the document classifier of a side for word vectors of `width` numbers.

    Its GRU has half that width in each direction.
    """
    sizes: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "word_dim": width,
        "position_dim": 0,
        "recurrent_size": width // 2,
        "classifier_size": 512,
        "classifier_dropout": 0.4,
        "num_labels": CLASSES,
    }
    if side.model == "LAMA+ctx":
        return LamaForSequenceClassification(LamaConfig.of_variant("lama_ctx", num_heads=side.heads, **sizes))
    if side.model == "SAN":
        config = TextBaselineConfig.of_variant("self_attentive", attention_heads=side.heads, **sizes)
    else:
        config = TextBaselineConfig.of_variant("transformer_1024", num_heads=side.heads, **sizes)
    return TextBaselineForSequenceClassification(config)
