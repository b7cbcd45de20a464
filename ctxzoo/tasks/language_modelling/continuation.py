"""What a language model makes of the beginning of a line: a continuation, drawn word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.rows import LINES, TEXT, Row, RowStream
from ctxzoo.data.text_columns import ColumnNames, TextsOfRows
from ctxzoo.hub.row_pipeline import RowPipeline
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.tasks.language_modelling.problem import WORDS

PART = 1024  # words of a prompt that are read at once


def continue_text(
    model: Any,
    tokenizer: WordTokenizer,
    prompt: str,
    words: int,
    *,
    temperature: float | None = 1.0,
    seed: int | None = None,
) -> str:
    """Return the words that a model puts after the beginning of a line, until it ends the line.

    The model reads an end mark first, as before every line of its training. It is in evaluation mode while it reads,
    and never gives padding or the unknown word. A long prompt, such as a text of one line, is read in parts, whose
    state goes on from one to the next.

    Args:
        model: Language model with a `generate` method, as of transformers.
        tokenizer: Tokenizer that the model was trained with.
        prompt: Beginning of the line to continue; empty: a new line is generated.
        words: Largest number of words to generate, 1 or more.
        temperature: Temperature that divides the logits before a word is sampled; below 1 sharpens the distribution;
            None: greedy decoding, without sampling.
        seed: Seed of the sampling; None: torch's global random state is used.

    Returns:
        The words with blanks between them, without the prompt and the end mark.

    Raises:
        ValueError: words below 1, or temperature not above 0.
    """
    if words < 1:
        raise ValueError(f"words is {words}; expected 1 or more")
    if temperature is not None and not temperature > 0:
        raise ValueError(f"temperature is {temperature}; expected more than 0, or None")
    end = tokenizer.eos_token_id
    ids = _encode_prompt(model, tokenizer, prompt)
    draws: dict[str, Any] = {"do_sample": False}
    if temperature is not None:
        draws = {"do_sample": True, "temperature": temperature, "top_k": 0}
    with in_evaluation_mode(model), torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        generated = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            state=_read_long_prompt(model, ids),
            max_new_tokens=words,
            eos_token_id=end,
            pad_token_id=tokenizer.pad_token_id,
            suppress_tokens=[tokenizer.pad_token_id, tokenizer.unk_token_id],
            **draws,
        )
    added = [index for index in generated[0, ids.size(1) :].tolist() if index != end]
    return " ".join(tokenizer.convert_ids_to_tokens(added))


def predict_next_words(model: Any, tokenizer: WordTokenizer, prompt: str, k: int) -> list[tuple[str, float]]:
    """Return the words that a model expects next after the beginning of a line, with their probabilities, best first.

    Args:
        model, tokenizer: Language model and its tokenizer, as in `continue_text`.
        prompt: Beginning of the line; empty: the first word of a line is predicted.
        k: Number of words, fewer where the model knows fewer. The end mark is one of them; padding and the unknown word
            are left out.
    """
    ids = _encode_prompt(model, tokenizer, prompt)
    with in_evaluation_mode(model):
        state = _read_long_prompt(model, ids)
        logits = model(ids if state is None else ids[:, -1:], state=state).logits[0, -1].float()
    probabilities = logits.softmax(dim=0)
    probabilities[[tokenizer.pad_token_id, tokenizer.unk_token_id]] = 0
    best = probabilities.topk(min(k, len(tokenizer)))
    words: list[str] = tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return list(zip(words, best.values.tolist(), strict=True))


def _encode_prompt(model: Any, tokenizer: WordTokenizer, prompt: str) -> torch.Tensor:
    """Return word ids (1, n) of an end mark and the words of a prompt, on the device of the model."""
    words = tokenizer(prompt)["input_ids"] if prompt.strip() else []
    return torch.tensor([[tokenizer.eos_token_id, *words]], device=model.device)


def _read_long_prompt(model: Any, ids: torch.Tensor) -> Any:
    """Return the model's state after reading all word ids (1, n) but the last; None for a short prompt."""
    if ids.size(1) <= PART:
        return None
    state = None
    for part in torch.split(ids[:, :-1], PART, dim=1):
        state = model.base_model(input_ids=part, state=state, use_cache=True, return_dict=True).state
    return state


class Continuations:
    """The answers of a language model to rows of a user's file, each the beginning of a line.

    Args:
        model: Language model with a `generate` method, which runs on the device where its weights are.
        tokenizer: Tokenizer that the model was trained with.
        text_column: Name of the column of prompts, or of several to join; default: the usual names, such as text.
        words: Largest number of words to generate for each row, 1 or more.
        temperature: Temperature that divides the logits before a word is sampled; None: greedy decoding.
        seed: Seed of the sampling for row 0; row i uses seed + i, however rows are batched.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: WordTokenizer,
        *,
        text_column: ColumnNames = None,
        words: int,
        temperature: float,
        seed: int,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.texts_of = TextsOfRows(text_column)
        self.words = words
        self.temperature = temperature
        self.seed = seed

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Continue the text of each row and return the answers in order; None for a row without a text."""
        begin = self.texts_of.rows
        texts = self.texts_of(rows, stream.name, stream.kind == LINES)
        answers: list[Answer | None] = []
        for number, text in enumerate(texts, start=begin):
            if text is None:
                answers.append(None)
                continue
            (added,) = self.continue_prompts([text], first_number=number)
            fields = {"continuation": added}
            answers.append(Answer(fields=fields, cells=[fields], alone={"prompt": text, **fields}))
        return answers

    def continue_prompts(self, prompts: Sequence[str], first_number: int = 0) -> list[str]:
        """Return the continuation of each prompt; `first_number` is the first one's number, which seeds its draws."""
        return [
            continue_text(
                self.model,
                self.tokenizer,
                prompt,
                self.words,
                temperature=self.temperature,
                seed=self.seed + number,
            )
            for number, prompt in enumerate(prompts, start=first_number)
        ]


class ContinuationPipeline(RowPipeline):
    """Continues the beginnings of lines, which are texts."""

    depth = 0

    def build_answers(self, *, words: int = WORDS, temperature: float = 1.0, seed: int = 0) -> Continuations:
        """Build the object that continues texts by words drawn from the model."""
        return Continuations(self.model, self.tokenizer, words=words, temperature=temperature, seed=seed)

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a text or a row with texts, as a row."""
        return dict(pipeline_input) if isinstance(pipeline_input, Mapping) else {TEXT: pipeline_input}
