"""Classifiers of texts as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.export.texts import describe_ngrams, describe_subwords, describe_words, draw_text
from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS


class TextClassificationExport(TaskExport):
    """Texts as ids of words and n-grams to scores of labels."""

    inputs = {  # noqa: RUF012
        "input_ids": "ids of the known words, then of the n-grams",
        "attention_mask": "1 at ids, 0 at padding",
        "subword_ids": "ids of the encoder's sub-words of each word plus 1, filled up with 0",
    }
    outputs = {"logits": "scores of the labels, (batch, labels), in the order of `id2label` in config.json"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.text_classification.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        return draw_text(model, lengths, generator)

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield describe_words(tokenizer, "and those that it does not know (id 0) are left out")
        limit = tokenizer.word_limit
        if limit is not None:
            yield f"The first {limit:,} known words are kept (`model_max_length` of tokenizer_config.json)."
        yield from describe_ngrams(tokenizer, "up to the last word that is kept")
        if tokenizer.encoder_tokenizer is not None:
            yield describe_subwords("0 at n-grams")
        if model.config.problem_type == SEVERAL_LABELS:
            yield (
                "The sigmoid of a label's score is its probability; given are the labels whose probability is at least "
                f"{get_label_threshold(model.config):g}."
            )
        else:
            yield "The softmax of the scores are the probabilities; the label is the most probable one."


EXPORT = TextClassificationExport()
