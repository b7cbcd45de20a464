"""Language models as exported programs, which score the next word; words are drawn outside of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.export.texts import describe_words, draw_text


class LanguageModellingExport(TaskExport):
    """Words to scores of the next word at each place."""

    inputs = {  # noqa: RUF012
        "input_ids": "ids of the words, behind the end mark of the line before",
        "attention_mask": "1 at words, 0 at padding",
    }
    outputs = {"logits": "scores of the word behind each place, (batch, length, words)"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.language_modelling.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        return draw_text(model, lengths, generator)

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield describe_words(tokenizer, 'or that of "[UNK]"')
        yield f"In front stands the end mark of the line before, id {tokenizer.eos_token_id}."
        yield (
            "The softmax of the scores at the last word is the probability of each next word. To continue a line, draw "
            "one (or take the most probable), append it and read again, until the end mark comes; padding and the "
            "unknown word are never drawn. The program keeps no state: each call reads the line from its beginning."
        )


EXPORT = LanguageModellingExport()
