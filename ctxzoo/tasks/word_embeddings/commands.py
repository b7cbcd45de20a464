"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for models of masked words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ctxzoo.tasks.commands import TEXT, Option, TaskCommands, check_output, check_text_or_file, positive, write_json

if TYPE_CHECKING:
    from transformers import FillMaskPipeline

WORDS_SHOWN = 5


class FillMaskCommands(TaskCommands):
    title = "masked words"
    train_name = "word-embeddings"
    train_options = (
        Option("text_column", "of a dataset; default: text"),
        Option("word_dim", "numbers of a word's vector", positive),
        Option("window", "words on each side that are read", positive),
        Option("min_count", "occurrences in the training text that a word needs", positive),
    )
    evaluate_options = (
        Option("text_column", "default: text"),
        Option("words", "how many of the text are predicted, a line at a time; default: 5000", positive),
    )
    predict_options = (TEXT,)

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.word_embeddings.training import WordVectorTraining

        train_own_data(WordVectorTraining(), request_of(options, own, columns=("text_column",)))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.word_embeddings.evaluation import evaluate

        if options.precision != "32-true":
            raise ValueError(f"--precision is {options.precision}; masked words are scored with 32-true")
        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, data_dir=options.data_dir, **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_text_or_file(options, own["text"])
        check_output(options)

        from ctxzoo.data.text_files import read_text_lines
        from ctxzoo.tasks.word_embeddings.card import CARD

        texts = [own["text"]] if options.file is None else read_text_lines(options.file)
        found = fill_masks(CARD.load_pipeline(options.checkpoint), texts, batch_size=options.batch_size)
        if options.output is None:
            for word in found[0]:
                print(json.dumps(word, ensure_ascii=False))
            return
        write_json(options.output, found)
        print(f"words for {len(texts)} texts: {options.output}")


def fill_masks(filler: FillMaskPipeline, texts: list[str], *, batch_size: int = 32) -> list[list[dict[str, Any]]]:
    """Return the most probable words for the one mask of each text, `word` and probability `score`, the best first.

    Raises:
        ValueError: a text with no mask, or with several.
    """
    mask = filler.tokenizer.mask_token
    for text in texts:
        if text.count(mask) != 1:
            raise ValueError(f"{text[:80]!r} has {text.count(mask)} {mask}; expected one, for the word to predict")
    found = filler(texts, top_k=WORDS_SHOWN, batch_size=batch_size)
    rows = [found] if len(texts) == 1 else found
    return [[{"word": each["token_str"], "score": each["score"]} for each in row] for row in rows]


COMMANDS = FillMaskCommands()
