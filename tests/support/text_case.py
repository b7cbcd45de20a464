"""The common part of classifiers of texts in the shared model suite: batches, labels and callers' mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from tests.support.mistakes import all_changed, changed, drop, put
from tests.support.model_cases import BadInput, Batch, ModelCase

CLASSIFIER = "AutoModelForSequenceClassification"
GAP = "attention_mask has a word at row 0, position 2, after padding"

# Of the configurations whose words an encoder reads.
ENCODER = {
    **{"model_type": "bert", "vocab_size": 30, "hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2},
    **{"intermediate_size": 5, "max_position_embeddings": 40, "cls_token_id": 2, "sep_token_id": 3, "pad_token_id": 0},
}
READ_AS_VECTORS = ("no_words", "vectors_of_integers", "wide_vectors")


class TextCase(ModelCase):
    """An architecture that reads `input_ids` through `TextInput`; its configs have 30 words, 6 wide, and 3 labels."""

    sequences: ClassVar[Mapping[str, Sequence[str]]] = {"attention_mask": ("input_ids", "subword_ids")}
    trained_head = CLASSIFIER

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
        ids = torch.randint(1, 30, mask.shape, generator=generator)
        buckets = getattr(config, "wide_buckets", 0) or getattr(config, "ngram_buckets", 0)
        if buckets:  # some n-grams stand behind the words of each text
            first = 30 - buckets
            is_word = torch.arange(ids.size(1)) < torch.tensor(lengths).unsqueeze(1).sub(2).clamp(min=1)
            ids = torch.where(is_word, (ids - 1) % (first - 1) + 1, first + ids % buckets)
        batch = {"input_ids": ids * mask, "attention_mask": mask}
        if getattr(config, "encoder_config", None) is None:
            return batch
        subwords = torch.randint(1, 31, (*mask.shape, 3), generator=generator)
        return {**batch, "subword_ids": subwords * (torch.arange(3) <= ids.unsqueeze(2) % 3) * mask.unsqueeze(2)}

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        if head != self.trained_head:
            return {}
        return {"labels": torch.randint(0, 3, (len(batch["input_ids"]),), generator=generator)}

    def without_gradient(self, config: ZooConfig, head: str) -> dict[str, str]:
        if getattr(config, "encoder_config", None) is None:
            return {}
        base = "" if head == "AutoModel" else f"{config.model_type.removeprefix('ctxzoo_')}."
        name = "embeddings.words.encoder.encoder.layer.0.attention.self.key.bias"
        return {base + name: "it adds the same number to all scores of a query"}

    def frozen(self, config: ZooConfig) -> set[str]:
        return {"embeddings.words.weight"} if config.freeze_embeddings else set()

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        mistakes = [
            BadInput("no_words", drop("input_ids"), "pass either input_ids or inputs_embeds"),
            BadInput("words_twice", _embeds(6, keep_ids=True), "pass either input_ids or inputs_embeds"),
            BadInput("one_row_as_vector", changed("input_ids", lambda x: x[0]), r"shape \(batch, words\), got \(7,\)"),
            BadInput(
                "float_ids", changed("input_ids", torch.Tensor.float), r"integers, got torch.float32 of shape \(3, "
            ),
            BadInput("bool_ids", changed("input_ids", torch.Tensor.bool), "input_ids must be integers, got torch.bool"),
            BadInput("vectors_of_integers", _embeds(6, dtype=torch.long), "must be vectors, got torch.int64; ids are"),
            BadInput("empty_batch", all_changed(lambda x: x[:0]), r"input_ids of shape \(0, \d+\) is an empty batch"),
            BadInput(
                "short_mask", changed("attention_mask", lambda x: x[:, 1:]), "attention_mask of shape .* does not fit"
            ),
            BadInput("mask_of_twos", changed("attention_mask", lambda x: 2 * x), "attention_mask holds 2"),
            BadInput("unknown_word", put("input_ids", (0, 1), 30), "word id 30 is outside the table of 30 rows"),
            BadInput("negative_word", put("input_ids", (0, 1), -1), "word id -1 is outside the table of 30 rows"),
            BadInput("wide_vectors", _embeds(7), r"inputs_embeds of shape \(3, .*, 7\): expected \(batch, words, 6\)"),
        ]
        if head == self.trained_head and getattr(config, "wide_buckets", 0):
            mistakes = [mistake for mistake in mistakes if mistake.name not in READ_AS_VECTORS]
            mistakes.append(BadInput("vectors_for_ngrams", _embeds(6), "wide_buckets=8: the wide part reads ids"))
        return [*mistakes, *(self.bad_labels() if head == self.trained_head else [])]

    def bad_labels(self) -> list[BadInput]:
        return [
            BadInput(
                "float_labels", changed("labels", torch.Tensor.float), "labels must be integers, got torch.float32"
            ),
            BadInput("bool_labels", changed("labels", torch.Tensor.bool), "labels must be integers, got torch.bool"),
            BadInput("unknown_label", put("labels", 0, 3), r"labels must lie in 0\.\.2, got \[3, "),
            BadInput("negative_label", put("labels", 0, -100), r"labels must lie in 0\.\.2"),
            BadInput("label_column", changed("labels", lambda x: x.unsqueeze(1)), r"labels must have shape \(3,\)"),
        ]


def drop_second_word(batch: Batch) -> None:
    """Put padding where the second word of the first text stood."""
    batch["attention_mask"] = batch["attention_mask"].clone()
    batch["attention_mask"][0, 1] = 0


def _embeds(width: int, keep_ids: bool = False, dtype: torch.dtype = torch.float32) -> Callable[[Batch], None]:
    def change(batch: Batch) -> None:
        batch["inputs_embeds"] = torch.zeros(*batch["input_ids"].shape, width, dtype=dtype)
        if not keep_ids:
            del batch["input_ids"]

    return change
