"""A rating is a mean, plus a number for the person, one for the thing, and the product of two vectors.

No `from __future__ import annotations` here: transformers reads the class behind `config: RatingConfig` from it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel


@strict
class RatingConfig(ZooConfig):
    model_type = "ctxzoo_rating"

    num_users: int = 8
    num_items: int = 6
    factors: int = 2


@dataclass
class RatingOutput(ModelOutput):
    loss: torch.Tensor | None = None
    ratings: torch.Tensor | None = None


class RatingForPairs(ZooPreTrainedModel):
    config: RatingConfig
    zoo_task: ClassVar[str | None] = "rating"
    base_model_prefix = "rating"
    main_input_name = "users"
    _auto_class = "RatingForPairs"  # its code travels, also when a program without ctxzoo saves it again

    def __init__(self, config: RatingConfig) -> None:
        super().__init__(config)
        self.users = nn.Embedding(config.num_users, config.factors + 1)
        self.items = nn.Embedding(config.num_items, config.factors + 1)
        self.mean = nn.Linear(1, 1)
        self.post_init()

    def forward(
        self,
        users: torch.Tensor,
        items: torch.Tensor,
        labels: torch.Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> RatingOutput | tuple[Any, ...]:
        for name, ids in (("users", users), ("items", items)) if not torch.compiler.is_compiling() else ():
            if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < getattr(self.config, f"num_{name}"):
                raise ValueError(f"{name} go from {int(ids.min())} to {int(ids.max())}; there are fewer")
        user, item = self.users(users), self.items(items)
        found = self.mean(torch.ones_like(user[:, :1])).squeeze(1) + user[:, 0] + item[:, 0]
        ratings = found + (user[:, 1:] * item[:, 1:]).sum(dim=1)
        output = RatingOutput(loss=None if labels is None else F.mse_loss(ratings, labels), ratings=ratings)
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()
