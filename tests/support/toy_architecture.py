"""A small classifier that passes the model suite, and the same with one flaw: to see that the checks can fail.

No `from __future__ import annotations` here: transformers reads the class behind `config: ToyConfig` from it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput

from ctxzoo.models import Architecture
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from tests.support.model_cases import BadInput, Batch, ModelCase, OverfitGoal

Flaw = Literal[
    "none",
    "pads",
    "mixes_rows",
    "forgets_a_buffer",
    "starts_elsewhere",
    "draws_over_given_weights",
    "loses_state",
    "cuts_a_gradient",
    "scales_a_gradient",
    "drops_in_eval",
    "takes_any_id",
    "leaves_float64",
]


@strict
class ToyConfig(ZooConfig):
    model_type = "ctxzoo_toy"

    vocab_size: int = 20
    hidden_size: int = 4
    flaw: str = "none"


class ToyEncoder(nn.Module):
    """tanh of a linear map with a fixed scale for each feature."""

    scale: torch.Tensor
    noise: torch.Tensor

    def __init__(self, width: int, flaw: str) -> None:
        super().__init__()
        self.flaw = flaw
        self.linear = nn.Linear(width, width)
        self.weight = nn.Parameter(torch.empty(width))
        self.register_buffer("scale", torch.empty(width), persistent=False)
        self.register_buffer("noise", torch.zeros(width), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.flaw == "draws_over_given_weights":
            self.weight.data.normal_()
        else:
            init.normal_(self.weight)
        if self.flaw != "forgets_a_buffer":
            init.copy_(self.scale, torch.linspace(1, 2, len(self.scale)))
        if self.flaw == "loses_state":
            init.normal_(self.noise)
        else:
            init.zeros_(self.noise)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x) * self.weight) * self.scale + self.noise


class TwiceTheGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


class ToyPreTrainedModel(ZooPreTrainedModel):
    config: ToyConfig
    base_model_prefix = "toy"


class ToyModel(ToyPreTrainedModel):
    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoder = ToyEncoder(config.hidden_size, config.flaw)
        self.post_init()
        if config.flaw == "starts_elsewhere" and not self.words.weight.is_meta:
            with torch.no_grad():
                self.words.weight.mul_(3)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **requested: Any) -> BaseModelOutput:
        flaw = self.config.flaw
        if flaw != "takes_any_id" and not torch.compiler.is_compiling() and int(input_ids.max()) >= 20:
            raise ValueError(f"id {int(input_ids.max())} is outside the table")
        words = self.words(input_ids.clamp(max=19))
        if flaw == "cuts_a_gradient":
            words = words.detach()
        if flaw == "scales_a_gradient":
            words = TwiceTheGradient.apply(words)
        x = F.dropout(self.encoder(words), 0.3, training=self.training or flaw == "drops_in_eval")
        if flaw != "pads":
            x = x * attention_mask.unsqueeze(-1)
        if flaw == "mixes_rows":
            x = x - x.mean(dim=0)
        if flaw == "leaves_float64":
            x = x.float()
        return BaseModelOutput(last_hidden_state=x)


class ToyForSequenceClassification(ToyPreTrainedModel):
    zoo_task = "text-classification"

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        self.toy = ToyModel(config)
        self.classifier = nn.Linear(config.hidden_size, 3)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        labels: torch.Tensor | None = None,
        **requested: Any,
    ) -> SequenceClassifierOutput:
        x = self.toy(input_ids, attention_mask).last_hidden_state.sum(dim=1)
        logits = self.classifier(x.to(self.classifier.weight.dtype)).to(x.dtype)
        return SequenceClassifierOutput(loss=None if labels is None else F.cross_entropy(logits, labels), logits=logits)


class ToyCase(ModelCase):
    sequences: ClassVar = {"attention_mask": ("input_ids",)}
    representative = "tiny"
    trained_head = "AutoModelForSequenceClassification"
    overfit = OverfitGoal(steps=100, learning_rate=0.1, bound=0.1)

    def __init__(self, flaw: Flaw = "none") -> None:
        self.flaw = flaw

    def configs(self) -> dict[str, ZooConfig]:
        return {"tiny": ToyConfig(flaw=self.flaw)}

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
        return {"input_ids": torch.randint(1, 20, mask.shape, generator=generator) * mask, "attention_mask": mask}

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head == "AutoModel":
            return {}
        return {"labels": torch.randint(0, 3, (len(batch["input_ids"]),), generator=generator)}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        def unknown(batch: Batch) -> None:
            batch["input_ids"] = batch["input_ids"] + 20

        return [BadInput("unknown_word", unknown, "outside the table")]


TOY = Architecture(
    "toy", ToyConfig, {"AutoModel": ToyModel, "AutoModelForSequenceClassification": ToyForSequenceClassification}
)
