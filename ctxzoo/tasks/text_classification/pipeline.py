"""transformers' pipeline for texts, whose answers say so where a classifier knows no word."""

from __future__ import annotations

from typing import Any

import torch
from transformers import TextClassificationPipeline

from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.tasks.text_classification.known_words import NO_KNOWN_WORD, count_word_ids


class KnownWordsPipeline(TextClassificationPipeline):
    """transformers' pipeline, which reads no more words of a text than the training did, as `classify_texts`.

    It cuts texts at the `word_limit` of the tokenizer, where it has one; `truncation=False` reads them whole. Answers
    to a text without a known word also have `no_known_word`: True. Of a model that gives a text several labels, the
    answer to a text is the list of those at its threshold or above, unless `top_k` says how many.
    """

    def __call__(self, inputs: Any, **options: Any) -> Any:
        config = self.model.config
        if config.problem_type != SEVERAL_LABELS or "top_k" in {**self._postprocess_params, **options}:
            return super().__call__(inputs, **options)
        threshold = get_label_threshold(config)
        answers = super().__call__(inputs, top_k=None, **options)
        several = not isinstance(inputs, (str, dict))
        given = ([one for one in answer if one["score"] >= threshold] for answer in (answers if several else [answers]))
        return next(given) if not several else list(given) if isinstance(answers, list) else given

    def preprocess(self, inputs: Any, **options: Any) -> Any:
        return super().preprocess(inputs, **{"truncation": self.tokenizer.word_limit is not None, **options})

    def _forward(self, model_inputs: Any) -> dict[str, torch.Tensor]:
        known = [count_word_ids(ids, self.tokenizer) for ids in model_inputs["input_ids"].tolist()]
        return {"logits": super()._forward(model_inputs)["logits"], "known_words": torch.tensor(known)}

    def postprocess(self, model_outputs: Any, *args: Any, **options: Any) -> Any:
        answer = super().postprocess(model_outputs, *args, **options)
        if not int(model_outputs["known_words"]):
            for one in answer if isinstance(answer, list) else [answer]:
                one[NO_KNOWN_WORD] = True
        return answer
