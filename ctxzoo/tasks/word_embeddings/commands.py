"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for models of masked words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import (
    TEXT,
    TEXT_COLUMN,
    Option,
    TaskCommands,
    answer_file,
    check_input,
    device_of,
    positive,
    say_written,
)

COLUMNS = Option("text_column", "of a dataset, one or several, read one after another; default: text", many=True)


class FillMaskCommands(TaskCommands):
    title = "masked words"
    train_name = "word-embeddings"
    train_options = (
        COLUMNS,
        Option("word_dim", "numbers of a word's vector", positive),
        Option("window", "words on each side that are read", positive),
        Option("min_count", "occurrences in the training text that a word needs", positive),
    )
    evaluate_options = (
        COLUMNS,
        Option("words", "how many of the text are predicted, a line at a time; default: 5000", positive),
    )
    predict_options = (TEXT, TEXT_COLUMN)

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.word_embeddings.training import WordVectorTraining

        train_own_data(WordVectorTraining(), request_of(options, own, columns=("text_column",)))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.word_embeddings.evaluation import evaluate

        if options.precision != "32-true":
            raise ValueError(f"--precision is {options.precision}; masked words are scored with 32-true")
        if options.device not in ("auto", "cpu"):
            raise ValueError(f"--device {options.device}: masked words are scored on the CPU; leave it out")
        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, data_dir=options.data_dir, **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "text", own["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.word_embeddings.card import CARD
        from ctxzoo.tasks.word_embeddings.prediction import MaskAnswers, fill_masks

        filler = CARD.load_pipeline(options.saved, device=device_of(options))
        if options.file is None:
            for word in fill_masks(filler, [own["text"]])[0]:
                print(json.dumps(word, ensure_ascii=False))
            return
        columns = own["text_column"] or TEXT_COLUMNS[:1]
        answers = MaskAnswers(filler, text_column=own["text_column"], batch_size=options.batch_size)
        say_written(options, f"words for {count_of(answer_file(options, answers, columns=columns), 'texts')}")


COMMANDS = FillMaskCommands()
