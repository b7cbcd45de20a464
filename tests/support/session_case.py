"""The common part of models of sessions in the shared model suite: batches, labels and callers' mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from tests.support.mistakes import all_changed, changed, drop, put
from tests.support.model_cases import BadInput, Batch, ModelCase

ITEMS = 20
SIZES: dict[str, Any] = {"num_items": ITEMS, "embedding_size": 6, "embedding_dropout": 0.1, "pooled_dropout": 0.2}


class SessionCase(ModelCase):
    """An architecture that reads sessions; its configs have 20 items."""

    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids",)}

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
        return {
            "input_ids": torch.randint(1, ITEMS + 1, mask.shape, generator=generator) * mask,
            "attention_mask": mask,
        }

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head != self.trained_head:
            return {}
        return {"labels": torch.randint(1, ITEMS + 1, (len(batch["input_ids"]),), generator=generator)}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = [
            BadInput("no_items", drop("input_ids"), "pass input_ids"),
            BadInput("one_session_as_vector", changed("input_ids", lambda x: x[0]), r"\(batch, steps\), got \(7,\)"),
            BadInput("float_ids", changed("input_ids", torch.Tensor.float), "input_ids must be integers, got torch.fl"),
            BadInput("empty_batch", all_changed(lambda x: x[:0]), r"input_ids of shape \(0, 7\) hold no session"),
            BadInput("no_steps", changed("input_ids", lambda x: x[:, :0]), r"input_ids of shape \(3, 0\) hold no sess"),
            BadInput("unknown_item", put("input_ids", (0, 1), 21), r"item id 21 is none of the items 1\.\.20"),
            BadInput("negative_item", put("input_ids", (0, 1), -1), "item id -1 is none of the items"),
            BadInput("mask_of_twos", changed("attention_mask", lambda x: 2 * x), "attention_mask holds 2"),
            BadInput(
                "short_mask", changed("attention_mask", lambda x: x[:, 1:]), "attention_mask of shape .* does not"
            ),
        ]
        if head == self.trained_head:
            mistakes += [
                BadInput("padding_as_label", put("labels", 0, 0), r"label 0 is none of the items 1\.\.20"),
                BadInput("unknown_label", put("labels", 0, 21), "label 21 is none of the items"),
                BadInput("ignored_label", put("labels", 0, -100), "label -100 is none of the items"),
                BadInput(
                    "float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got torch.fl"
                ),
                BadInput("labels_of_steps", changed("labels", lambda x: x.unsqueeze(1)), "with every_position=False"),
                BadInput("labels_of_fewer", changed("labels", lambda x: x[1:]), r"labels of shape \(2,\): expected"),
            ]
        return mistakes
