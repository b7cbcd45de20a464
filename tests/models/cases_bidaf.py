"""Tiny BiDAF configs and batches for the shared model suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_bidaf import WORD_FEATURES, BidafConfig
from tests.support.model_cases import BadInput, Batch, ModelCase, OverfitGoal

SIZES: dict[str, Any] = {"vocab_size": 30, "word_embedding_size": 5, "hidden_size": 6, "max_position_embeddings": 40}
CHARACTERS: dict[str, Any] = {
    "char_vocab_size": 11,
    "char_embedding_size": 4,
    "char_channels": 5,
    "char_kernel_size": 3,
    "max_word_length": 7,
}
QUESTION_ANSWERING = "AutoModelForQuestionAnswering"


class BidafCase(ModelCase):
    sequences: ClassVar[Mapping[str, Sequence[str]]] = {
        "attention_mask": ("input_ids", "char_ids", "word_features"),
        "question_attention_mask": ("question_input_ids", "question_char_ids", "question_word_features"),
    }
    representative = "all_extensions"
    trained_head = QUESTION_ANSWERING
    overfit = OverfitGoal(steps=150, learning_rate=0.02, bound=0.1)
    # Its recurrent layers are those of the taggers and of LAMA.
    built = (
        "bidaf.char_cnn",
        "bidaf.highway",
        "bidaf.self_attention",
        "bidaf.attention_flow",
        "bidaf.context_self_attention.similarity",
    )

    def configs(self) -> dict[str, ZooConfig]:
        return {
            "baseline": BidafConfig(**SIZES),
            "learned_char": BidafConfig(**SIZES, **CHARACTERS, position_embedding="learned"),
            "learned_attention": BidafConfig(**SIZES, position_embedding="learned", self_attention=True),
            "max": BidafConfig(
                **SIZES,
                position_embedding="sinusoidal",
                position_scale=0.5,
                query_to_context="max",
                squad_version="1.1",
            ),
            "all_extensions": BidafConfig(
                **SIZES,
                **CHARACTERS,
                position_embedding="learned",
                self_attention=True,
                self_attention_residual=True,
                train_word_embeddings=True,
                word_features=True,
                context_self_attention=True,
            ),
        }

    def make_batch(self, config: ZooConfig, head: str, lengths: Sequence[int], generator: torch.Generator) -> Batch:
        assert isinstance(config, BidafConfig)
        question_lengths = [1 + (length + row) % 4 for row, length in enumerate(lengths)]
        batch = {}
        for prefix, numbers in (("", list(lengths)), ("question_", question_lengths)):
            steps = max(numbers)
            mask = (torch.arange(steps) < torch.tensor(numbers).unsqueeze(1)).long()
            shape = (len(numbers), steps)
            batch[f"{prefix}input_ids"] = torch.randint(1, config.vocab_size, shape, generator=generator) * mask
            batch[f"{prefix}attention_mask"] = mask
            if config.char_vocab_size:
                width = config.max_word_length
                word_lengths = torch.randint(1, width + 1, (*shape, 1), generator=generator)
                characters = torch.randint(1, config.char_vocab_size, (*shape, width), generator=generator)
                batch[f"{prefix}char_ids"] = characters * (torch.arange(width) < word_lengths) * mask.unsqueeze(-1)
            if config.word_features:
                features = torch.rand(*shape, WORD_FEATURES, generator=generator)
                batch[f"{prefix}word_features"] = features * mask.unsqueeze(-1)
        return batch

    def make_labels(self, config: ZooConfig, head: str, batch: Batch, generator: torch.Generator) -> Batch:
        assert isinstance(config, BidafConfig)
        if head != QUESTION_ANSWERING:
            return {}
        starts, ends = [], []
        for row, length in enumerate(batch["attention_mask"].sum(dim=1).tolist()):
            without_answer = length == 1 or (config.squad_version == "2.0" and row % 2 == 1)
            places = torch.randint(1, max(length, 2), (2,), generator=generator).sort().values.tolist()
            starts.append(0 if without_answer else places[0])
            ends.append(0 if without_answer else places[1])
        return {"start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}

    def frozen(self, config: ZooConfig) -> set[str]:
        assert isinstance(config, BidafConfig)
        return set() if config.train_word_embeddings else {"embeddings.words.weight"}

    def without_gradient(self, config: ZooConfig, head: str) -> dict[str, str]:
        assert isinstance(config, BidafConfig)
        base = "" if head == "AutoModel" else "bidaf."
        shift = "it adds one number to all logits of a softmax"
        names = {f"{base}attention_flow.similarity.bias": shift}
        if config.context_self_attention:
            names[f"{base}context_self_attention.similarity.bias"] = shift
            names[f"{base}context_self_attention.similarity.context_weight"] = "it shifts a whole row of a softmax"
        if head == QUESTION_ANSWERING:
            for end in ("start", "end"):
                names |= {f"{end}_from_flow.bias": shift, f"{end}_from_modelling.bias": shift}
        return names

    def bad_inputs(self, config: ZooConfig, head: str) -> list[BadInput]:
        assert isinstance(config, BidafConfig)
        mistakes = [
            BadInput("no_context", _drop("input_ids"), "input_ids", TypeError),
            BadInput("no_question", _drop("question_input_ids"), "question_input_ids", TypeError),
            BadInput("one_row_as_vector", _map("input_ids", lambda x: x[0]), r"input_ids must be \(batch, words\)"),
            BadInput("no_words", _cut("question_", 0), "question_input_ids holds no words"),
            BadInput(
                "float_ids", _map("input_ids", torch.Tensor.float), "input_ids must be integers, got torch.float32"
            ),
            BadInput("bool_ids", _map("question_input_ids", torch.Tensor.bool), "question_input_ids must be integers"),
            BadInput("fewer_questions", _rows("question_", 1), "3 contexts, question_input_ids 1"),
            BadInput(
                "short_mask", _map("attention_mask", lambda x: x[:, 1:]), "mask of shape .* does not fit input_ids"
            ),
            BadInput("empty_row", _put("question_attention_mask", 1, 0), "mask of question_input_ids .* row 1"),
            BadInput("left_padding", _map("attention_mask", lambda x: x.flip(1)), "padding on the right"),
            BadInput("unknown_word", _put("input_ids", (0, 1), 30), "word id 30 is outside the table of 30 rows"),
            BadInput("negative_word", _put("question_input_ids", (0, 0), -1), "word id -1 is outside the table"),
        ]
        if config.position_embedding == "learned":
            mistakes.append(BadInput("too_long", _lengthen(8), "max_position_embeddings=40"))
        if config.char_vocab_size:
            mistakes += [
                BadInput("no_characters", _drop("char_ids"), "pass char_ids"),
                BadInput("no_question_characters", _drop("question_char_ids"), "question_char_ids"),
                BadInput("unknown_character", _put("char_ids", (0, 0, 0), 11), "character id 11 is outside the table"),
                BadInput("long_word", _map("char_ids", lambda x: x.repeat(1, 1, 2)), "14 characters .* takes 7"),
                BadInput("float_characters", _map("char_ids", torch.Tensor.float), "char_ids must be integers, got"),
                BadInput("flat_characters", _map("char_ids", lambda x: x[..., 0]), "char ids of shape"),
            ]
        if config.word_features:
            mistakes += [
                BadInput("no_features", _drop("word_features"), "pass word_features"),
                BadInput(
                    "narrow_features", _map("word_features", lambda x: x[..., :2]), "expected 12 numbers for each word"
                ),
            ]
        if head == QUESTION_ANSWERING:
            mistakes += [
                BadInput("late_answer", _put("end_positions", 0, 99), r"end_positions must lie in 0\.\.6.* got 99"),
                BadInput(
                    "negative_answer", _put("start_positions", 0, -100), "start_positions must lie in .* got -100"
                ),
                BadInput("answer_at_padding", _span(1, 1, 1), r"start_positions must lie in 0\.\.0, .* context 1 "),
                BadInput("end_at_padding", _span(2, 1, 4), r"end_positions must lie in 0\.\.3, .* context 2 .* got 4"),
                BadInput("end_before_start", _span(0, 3, 2), "context 0 begins at 3 and ends at 2; expected an end"),
                BadInput("half_an_answer", _span(0, 0, 2), "context 0 begins at 0 and ends at 2; .* 0 for both"),
                BadInput("float_labels", _map("end_positions", torch.Tensor.float), "end_positions must be integers"),
                BadInput("bool_labels", _map("start_positions", torch.Tensor.bool), "start_positions must be integers"),
                BadInput("only_starts", _drop("end_positions"), "belong together"),
                BadInput("label_column", _map("start_positions", lambda x: x.unsqueeze(1)), r"must have shape \(3,\)"),
            ]
        return mistakes


def _drop(name: str) -> Any:
    def change(batch: Batch) -> None:
        del batch[name]

    return change


def _map(name: str, function: Any) -> Any:
    def change(batch: Batch) -> None:
        batch[name] = function(batch[name])

    return change


def _put(name: str, place: Any, value: int) -> Any:
    def change(batch: Batch) -> None:
        batch[name] = batch[name].clone()
        batch[name][place] = value

    return change


def _sequence(prefix: str, function: Any) -> Any:
    def change(batch: Batch) -> None:
        for part in ("input_ids", "attention_mask", "char_ids", "word_features"):
            if prefix + part in batch:
                batch[prefix + part] = function(batch[prefix + part])

    return change


def _rows(prefix: str, number: int) -> Any:
    return _sequence(prefix, lambda x: x[:number])


def _cut(prefix: str, length: int) -> Any:
    return _sequence(prefix, lambda x: x[:, :length])


def _lengthen(times: int) -> Any:
    def change(batch: Batch) -> None:
        # The first row alone is full; its repetition stays right-padded.
        _sequence("", lambda x: x[:1].repeat(1, times, *[1] * (x.dim() - 2)))(batch)
        _rows("question_", 1)(batch)

    return change


CASE = BidafCase()


def _span(row: int, start: int, end: int) -> Any:
    def change(batch: Batch) -> None:
        _put("start_positions", row, start)(batch)
        _put("end_positions", row, end)(batch)

    return change
