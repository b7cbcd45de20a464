"""Tiny configs of the word embeddings for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from tests.support.mistakes import all_changed, changed, drop, put
from tests.support.model_cases import BadInput, Batch, ModelCase, OverfitGoal

SIZES: dict[str, Any] = {"vocab_size": 30, "num_special_tokens": 2, "word_dim": 6, "window": 2}
HEAD = "AutoModelForMaskedLM"
ARCHITECTURES = ("cbow", "attention_cbow", "skip_gram", "structured_skip_gram", "cwindow", "positional_cbow")


def move_weights(model: torch.nn.Module) -> None:
    """Every weight from N(0, 0.5^2) but the rows of special tokens: O, K and s start at 0."""
    generator = torch.Generator().manual_seed(int(torch.randint(2**31, ())))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
            if name.endswith(".weight"):
                parameter[: SIZES["num_special_tokens"]].zero_()


class WordEmbeddingCase(ModelCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "labels")}
    representative = "attention_cbow"
    trained_head = HEAD
    overfit = OverfitGoal(steps=200, learning_rate=0.1, bound=0.3)  # skip_gram has one vector for each context word
    draws_in_training = False

    def configs(self) -> dict[str, ZooConfig]:
        return {
            **{name: WordEmbeddingConfig(**SIZES, architecture=name) for name in ARCHITECTURES},
            "word_logits_alone": WordEmbeddingConfig(**SIZES, position_logits=False),
            "position_logits_alone": WordEmbeddingConfig(**SIZES, word_logits=False),
            "low_rank": WordEmbeddingConfig(**SIZES, logit_rank=3),
        }

    def leave_the_start(self, model: torch.nn.Module) -> torch.nn.Module:
        move_weights(model)
        return model

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        """Words, and the mask (id 1) in the last place of the longer sentences."""
        lengths_ = torch.tensor(lengths).unsqueeze(1)
        places = torch.arange(max(lengths))
        mask = (places < lengths_).long()
        ids = torch.randint(2, 30, mask.shape, generator=generator) * mask
        return {"input_ids": ids.masked_fill((places == lengths_ - 1) & (lengths_ > 2), 1), "attention_mask": mask}

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        """One word for each sentence, so that all count alike."""
        if head != HEAD:
            return {}
        lengths = batch["attention_mask"].sum(dim=1)
        labels = torch.full_like(batch["input_ids"], -100)
        labels[torch.arange(len(labels)), lengths // 2] = torch.randint(2, 30, lengths.shape, generator=generator)
        return {"labels": labels}

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = [
            BadInput("no_words", drop("input_ids"), "input_ids", TypeError),
            BadInput("one_row_as_vector", changed("input_ids", lambda x: x[0]), r"shape \(batch, words\), got \(7,\)"),
            BadInput(
                "float_ids", changed("input_ids", torch.Tensor.float), r"integers, got torch.float32 of shape \(3, "
            ),
            BadInput("bool_ids", changed("input_ids", torch.Tensor.bool), "input_ids must be integers, got torch.bool"),
            BadInput("empty_batch", all_changed(lambda x: x[:0]), r"input_ids of shape \(0, \d+\) is an empty batch"),
            BadInput(
                "short_mask", changed("attention_mask", lambda x: x[:, 1:]), "attention_mask of shape .* does not fit"
            ),
            BadInput("mask_of_twos", changed("attention_mask", lambda x: 2 * x), "attention_mask holds 2"),
            BadInput("unknown_word", put("input_ids", (0, 1), 30), "word id 30 is outside the table of 30 rows"),
            BadInput("negative_word", put("input_ids", (0, 1), -1), "word id -1 is outside the table of 30 rows"),
        ]
        if head == HEAD:
            mistakes += [
                BadInput(
                    "float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got torch.flo"
                ),
                BadInput(
                    "bool_labels", changed("labels", torch.Tensor.bool), "labels must be integers, got torch.bool"
                ),
                BadInput("unknown_label", put("labels", (0, 1), 30), "label 30 is no word; expected 2 to 29, or -100"),
                BadInput("special_label", put("labels", (0, 1), 1), "label 1 is no word"),
                BadInput("label_of_a_row", changed("labels", lambda x: x[:, 0]), r"labels must have shape \(3, 7\)"),
            ]
        return mistakes


CASE = WordEmbeddingCase()
