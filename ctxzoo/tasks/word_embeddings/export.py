"""Models of masked words as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.export.texts import describe_words, draw_text


class WordEmbeddingExport(TaskExport):
    """Words to scores of the word at each place, from those around it."""

    inputs = {  # noqa: RUF012
        "input_ids": "ids of the words; 1 is [MASK]",
        "attention_mask": "1 at words, 0 at padding",
    }
    outputs = {"logits": "scores of the word at each place from those around it, (batch, length, words)"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.word_embeddings.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        return draw_text(model, lengths, generator)

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield describe_words(tokenizer, "and those that it does not know (id 0) are left out").replace(
            "special tokens in a text are text", "[MASK] stands for the word to predict, id 1"
        )
        yield "The softmax of the scores at the mask are the probabilities of the words there."


EXPORT = WordEmbeddingExport()
