"""Tags of the words of a user's rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.rows import LINES, Row, RowStream, build_row_stream
from ctxzoo.data.text_columns import TextsOfRows
from ctxzoo.data.text_encoding import count_filling_rows, group_alike
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.tasks.token_classification.reader import TAG_COLUMNS
from ctxzoo.tasks.token_classification.sources import COLUMN_FILES, TOKENS, UNIVERSAL, read_tag_file


class TagAnswers:
    """The answers of a tagger to rows of a user's file: lists `tokens`, or texts, which its tokenizer cuts.

    Args:
        model: Tagging model, which runs on the device where its weights are.
        tokenizer: Tokenizer that the model was trained with.
        batch_size: Number of sentences in a batch.
    """

    def __init__(self, model: Any, tokenizer: WordTokenizer, *, batch_size: int = 32) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.work = partial(tag_sentences, model, tokenizer, batch_size=batch_size)
        self.texts_of = TextsOfRows(None)
        self.rows = self.words = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row that is left out."""
        column = TOKENS if TOKENS in rows[0] else ""
        if column:
            sentences = [self._read_tokens(row, f"{stream.name}, row {self.rows + n}") for n, row in enumerate(rows)]
        else:
            texts = self.texts_of(rows, stream.name, stream.kind == LINES)
            sentences = [None if text is None else self.tokenizer.split_into_words(text) for text in texts]
            column = self.texts_of.names[0]
        tagged = iter(self.tag_and_count([sentence for sentence in sentences if sentence]))
        answers: list[Answer | None] = []
        for row, sentence in zip(rows, sentences, strict=True):
            answers.append(_build_answer(next(tagged), row, self.rows, column) if sentence else None)
            self.rows += 1
        return answers

    def tag_and_count(self, sentences: Sequence[list[str]]) -> list[list[dict[str, Any]]]:
        """Tag sentences as `tag_sentences` does, and count their words."""
        tagged = self.work(sentences)
        self.words += sum(map(len, tagged))
        return tagged

    def _read_tokens(self, row: Row, location: str) -> list[str] | None:
        words = row.get(TOKENS)
        if (
            isinstance(words, list)
            and words
            and all(isinstance(word, str) and len(word.split()) == 1 for word in words)
        ):
            return words
        message = f"{location}: {str(words)[:60]!r} in {TOKENS!r}; expected a list of words without blanks in them"
        skip_or_raise(location, TextFormatError(message))
        return None


def tag_sentences(
    model: Any, tokenizer: WordTokenizer, sentences: Sequence[list[str]], *, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """Tag sentences; return for each word `word`, its most probable `tag`, the `score`, and all `probabilities`."""
    names = get_label_names(model.config)
    tagged: list[list[dict[str, Any]]] = [[]] * len(sentences)
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    with in_evaluation_mode(model):
        for rows, length in group_alike(np.argsort(-lengths, kind="stable"), lengths, lambda _: batch_size):
            filling = [["a"] * length] * count_filling_rows(len(rows))
            batch = [*(sentences[row] for row in rows), *filling]
            words = tokenizer(batch, is_split_into_words=True, padding=True)
            inputs = {name: torch.tensor(words[name], device=model.device) for name in tokenizer.model_input_names}
            probabilities = model(**inputs).logits.float().softmax(dim=2).cpu()
            for row, of_words in zip(rows.tolist(), probabilities, strict=False):  # behind them is filling
                tagged[row] = [
                    {
                        "word": word,
                        "tag": names[int(of_tags.argmax())],
                        "score": float(of_tags.max()),
                        "probabilities": dict(zip(names, of_tags.tolist(), strict=True)),
                    }
                    for word, of_tags in zip(sentences[row], of_words, strict=False)
                ]
    return tagged


def stream_conll_sentences(file: Path, kind: str | None) -> RowStream | None:
    """Return the sentences of a CoNLL or CoNLL-U file; None for a file of another kind.

    Args:
        file: Path of the file; the lines of a .txt file are plain sentences, unless `kind` says otherwise.
        kind: File format, "conll" or "conllu"; None: recognized by the file's suffix.
    """
    by_name = file.suffix.lower() in {*COLUMN_FILES, UNIVERSAL} - {".txt"} and kind is None
    if not file.is_file() or not (by_name or kind in ("conll", "conllu")):
        return None
    return build_row_stream(str(file), read_tag_file(file, kind=None if kind is None else f".{kind}"))


def _build_answer(words: Sequence[dict[str, Any]], row: Row, number: int, column: str) -> Answer:
    gold = [name for name in TAG_COLUMNS if isinstance(row.get(name), list)]
    cells = [
        {
            "sentence": number,
            "position": position,
            "word": word["word"],
            **{name: row[name][position] for name in gold},
            "predicted_tag": word["tag"],
            "predicted_probability": word["score"],
            **{f"probability_{name}": value for name, value in word["probabilities"].items()},
        }
        for position, word in enumerate(words)
    ]
    fields = {"predicted_tags": "tag", "predicted_probabilities": "score", "probabilities": "probabilities"}
    return Answer(
        fields={name: [word[key] for word in words] for name, key in fields.items()},
        cells=cells,
        alone=[{name: value for name, value in word.items() if name != "probabilities"} for word in words],
        replaced=frozenset({column, *gold}),
    )
