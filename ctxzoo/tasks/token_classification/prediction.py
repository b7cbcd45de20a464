"""Tags of sentences with all their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import leave_out
from ctxzoo.data.row_stream import LINES, Row, RowStream, stream_of
from ctxzoo.data.text_columns import TextsOfRows
from ctxzoo.hub.classification_facts import label_names
from ctxzoo.tasks.token_classification.files import COLUMN_FILES, TOKENS, UNIVERSAL, read_tag_file
from ctxzoo.tasks.token_classification.reader import TAG_COLUMNS
from ctxzoo.training.scoring import in_evaluation_mode

if TYPE_CHECKING:
    from ctxzoo.models.tokenization_word import WordTokenizer


class TagAnswers:
    """The answers of a tagger to rows of a user's file: lists `tokens`, or texts whose words blanks set apart.

    Args:
        model: With a tagging head; it computes where it is.
        tokenizer: Of the model.
        batch_size: Sentences that are read at once.
    """

    def __init__(self, model: Any, tokenizer: WordTokenizer, *, batch_size: int = 32) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.texts_of = TextsOfRows(None)
        self.rows = self.words = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row that is left out."""
        column = TOKENS if TOKENS in rows[0] else ""
        if column:
            sentences = [self._tokens(row, f"{stream.name}, row {self.rows + n}") for n, row in enumerate(rows)]
        else:
            texts = self.texts_of(rows, stream.name, stream.kind == LINES)
            sentences = [None if text is None else text.split() for text in texts]
            column = self.texts_of.names[0]
        found = iter(self.tags([sentence for sentence in sentences if sentence]))
        answers: list[Answer | None] = []
        for row, sentence in zip(rows, sentences, strict=True):
            answers.append(_answer(next(found), row, self.rows, column) if sentence else None)
            self.rows += 1
        return answers

    def tags(self, sentences: Sequence[list[str]]) -> list[list[dict[str, Any]]]:
        """Return what `tag_sentences` does, and count the words."""
        found = tag_sentences(self.model, self.tokenizer, sentences, batch_size=self.batch_size)
        self.words += sum(map(len, found))
        return found

    def _tokens(self, row: Row, where: str) -> list[str] | None:
        words = row.get(TOKENS)
        if (
            isinstance(words, list)
            and words
            and all(isinstance(word, str) and len(word.split()) == 1 for word in words)
        ):
            return words
        told = f"{where}: {str(words)[:60]!r} in {TOKENS!r}; expected a list of words without blanks in them"
        leave_out(where, TextFormatError(told))
        return None


def tag_sentences(
    model: Any, tokenizer: WordTokenizer, sentences: Sequence[list[str]], *, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """Return of each word of each sentence `word`, its most probable `tag`, the `score`, and all `probabilities`."""
    names = label_names(model.config)
    found: list[list[dict[str, Any]]] = [[]] * len(sentences)
    order = sorted(range(len(sentences)), key=lambda row: len(sentences[row]))
    with in_evaluation_mode(model):
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            words = tokenizer([sentences[row] for row in rows], is_split_into_words=True, padding=True)
            inputs = {name: torch.tensor(words[name], device=model.device) for name in ("input_ids", "attention_mask")}
            probabilities = model(**inputs).logits.float().softmax(dim=2).cpu()
            for row, of_words in zip(rows, probabilities, strict=True):
                found[row] = [
                    {
                        "word": word,
                        "tag": names[int(of_tags.argmax())],
                        "score": float(of_tags.max()),
                        "probabilities": dict(zip(names, of_tags.tolist(), strict=True)),
                    }
                    for word, of_tags in zip(sentences[row], of_words, strict=False)
                ]
    return found


def tag_rows(file: Path, kind: str | None) -> RowStream | None:
    """Return the sentences of a CoNLL or CoNLL-U file; None for a file of another kind.

    Args:
        file: What a user named. The lines of a .txt file are sentences, unless `kind` says otherwise.
        kind: "conll" or "conllu"; None: by the name.
    """
    by_name = file.suffix.lower() in {*COLUMN_FILES, UNIVERSAL} - {".txt"} and kind is None
    if not file.is_file() or not (by_name or kind in ("conll", "conllu")):
        return None
    return stream_of(str(file), read_tag_file(file, kind=None if kind is None else f".{kind}"))


def without_probabilities(words: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the words of `tag_sentences` as a .json file and the terminal have them."""
    return [{name: value for name, value in word.items() if name != "probabilities"} for word in words]


def _answer(words: Sequence[dict[str, Any]], row: Row, number: int, column: str) -> Answer:
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
        alone=without_probabilities(words),
        replaced=frozenset({column, *gold}),
    )
