"""Taggers as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.export.texts import describe_subwords, describe_words, draw_text
from ctxzoo.models.tokenization_features import NUM_FEATURES


class TokenClassificationExport(TaskExport):
    """Words to scores of tags; what a CRF or a scheme of spans decides is in the scores."""

    inputs = {  # noqa: RUF012
        "input_ids": "ids of the words",
        "attention_mask": "1 at words, 0 at padding",
        "feature_ids": "ids of the features of each word, 0 for unknown ones",
        "subword_ids": "ids of the encoder's sub-words of each word plus 1, filled up with 0",
        "inputs_embeds": "numbers of each step",
    }
    outputs = {"logits": "scores of the tags, (batch, length, tags), in the order of `id2label` in config.json"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.token_classification.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        inputs = draw_text(model, lengths, generator)
        num_features = getattr(model.config, "num_features", 0) if model.config.model_type.endswith("tagger") else 0
        if num_features:
            mask = inputs["attention_mask"].unsqueeze(2).expand(-1, -1, NUM_FEATURES)
            inputs["feature_ids"] = torch.randint(0, num_features, mask.shape, generator=generator) * mask
        return inputs

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield describe_words(tokenizer, 'or that of "[UNK]"')
        if tokenizer.num_feature_ids:
            yield (
                f"`feature_ids`: the {NUM_FEATURES} features that `tokenization_features.py` lists for a word as "
                "written; the id of a feature is its place in `features` of tokenizer_config.json, counted from 1, and "
                "0 if it is not there."
            )
        if tokenizer.encoder_tokenizer is not None:
            yield describe_subwords("0 at padding")
        yield "The softmax of a word's scores are the probabilities of its tags; the tag is the most probable one."
        if getattr(model, "sequence", None) is not None:
            yield "These tags are Viterbi's path: the scores of a word are those of the best path through each tag."


EXPORT = TokenClassificationExport()
