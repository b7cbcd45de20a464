"""Readers as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors, draw_ids, draw_mask
from ctxzoo.export.texts import describe_subwords, draw_subwords
from ctxzoo.models.ops_bidaf_words import NUM_WORD_FEATURES

QUESTION = "question_"
_OF_A_TEXT = {
    "input_ids": "ids of the words of the {}, behind an extra token of id 1",
    "attention_mask": "1 at words of the {} and its extra token, 0 at padding",
    "char_ids": "ids of the characters of each word of the {}, 0 behind its last; of the extra token 1 throughout",
    "word_features": "features of each word of the {}, 0 for its extra token",
    "subword_ids": "ids of the encoder's sub-words of each word of the {} plus 1, filled up with 0",
}


class QuestionAnsweringExport(TaskExport):
    """A question and a context, apart, to scores of the answer's first and last word."""

    inputs = {  # noqa: RUF012
        prefix + name: meaning.format(text)
        for prefix, text in (("", "context"), (QUESTION, "question"))
        for name, meaning in _OF_A_TEXT.items()
    }
    outputs = {  # noqa: RUF012
        "start_logits": "scores of the first word of the answer, (batch, length); place 0 stands for no answer",
        "end_logits": "scores of its last word, (batch, length)",
    }
    example_at = "ctxzoo.tasks.question_answering.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        inputs: Tensors = {}
        for prefix, sizes in (("", lengths), (QUESTION, [1 + length // 2 for length in lengths])):
            one = self._draw_text(model.config, sizes, generator)
            inputs |= {prefix + name: value for name, value in one.items()}
        return inputs

    def _draw_text(self, config: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        """Return the inputs of one of the two texts, without the prefix of their names."""
        mask = draw_mask(lengths)
        inputs = {"input_ids": draw_ids(1, config.vocab_size, mask, generator), "attention_mask": mask}
        if config.char_vocab_size:
            places = torch.arange(config.max_word_length)
            sizes = torch.randint(1, len(places) + 1, (*mask.shape, 1), generator=generator)
            of_words = mask.unsqueeze(2) * (places < sizes)
            inputs["char_ids"] = draw_ids(1, config.char_vocab_size, of_words, generator)
        if config.word_features:
            inputs["word_features"] = torch.rand(*mask.shape, NUM_WORD_FEATURES, generator=generator) * mask.unsqueeze(
                2
            )
        return inputs | draw_subwords(config, mask, generator)

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        config = model.config
        yield (
            "`tokenizer.json` (Hugging Face tokenizers) cuts question and context into words. A word has the id of the "
            "first of these forms in its vocabulary: as written, small letters, first letter capital, capitals; else "
            "1. The double quotes of LaTeX are looked up as the plain one. Both texts begin with an extra token, id 1."
        )
        if config.char_vocab_size:
            yield (
                f"`char_ids`: the first {config.max_word_length} characters of a word as written, by `char_vocab` of "
                "tokenizer_config.json; others have the id 1."
            )
        if config.word_features:
            yield (
                f"`word_features`: the {NUM_WORD_FEATURES} numbers of `compute_word_features` in ops_bidaf_words.py, "
                "of the context's words beside the question, and of the question's beside the context."
            )
        if tokenizer.encoder_tokenizer is not None:
            yield describe_subwords("0 at the extra token")
        yield (
            "Start and end scores become log-probabilities by a softmax each over all places. The answer are the words "
            f"i to j, 1 <= i <= j < i + {config.max_answer_length}, whose sum is largest, of equal ones the first; its "
            "score is the exponential of the sum."
        )
        if config.squad_version == "2.0":
            threshold = 0.5 if config.no_answer_threshold is None else config.no_answer_threshold
            yield (
                "No answer has the sum at place 0; with n that one and s that of the best words, the no-answer score "
                f"is 1 / (1 + exp(s - n)), and there is no answer where it is above {threshold:g}."
            )
        yield (
            "Texts of more than 1,000 words are read by `ctxzoo predict` in windows that overlap; the program reads "
            "any length at once, which gives other scores."
        )


EXPORT = QuestionAnsweringExport()
