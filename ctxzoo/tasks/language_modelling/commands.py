"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for language models."""

from __future__ import annotations

import argparse
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
    how_to_score,
    positive,
    say_written,
)

WORDS = 30  # that are added at most


class LanguageModellingCommands(TaskCommands):
    title = "language modelling"
    train_options = (
        TEXT_COLUMN,
        Option("min_word_count", "occurrences in the training texts that a word needs", positive),
        Option(
            "cutter",
            "texts are cut into words by blanks, or by rules for English",
            choices=("whitespace", "english"),
        ),
        Option("hidden_size", "units of a layer", positive),
    )
    evaluate_options = (TEXT_COLUMN,)
    predict_options = (
        TEXT,
        TEXT_COLUMN,
        Option("words", f"to add at most; default: {WORDS}", positive),
        Option("temperature", "below 1: what is likely becomes likelier; default: 1", float),
        Option("draw_seed", "of the draws; default: 0", int),
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.language_modelling.training import LanguageModelTraining

        train_own_data(LanguageModelTraining(), request_of(options, own, columns=(TEXT_COLUMN.name,)))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.language_modelling.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "text", own["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.language_modelling.prediction import Continuations

        model, tokenizer = options.saved.load()
        continuations = Continuations(
            model.to(device_of(options)),
            tokenizer,
            text_column=own["text_column"],
            words=own["words"] or WORDS,
            temperature=1.0 if own["temperature"] is None else own["temperature"],
            seed=own["draw_seed"] or 0,
        )
        if options.file is None:
            print(f"{own['text']} {continuations.of([own['text']])[0]}".rstrip())
            return
        number = answer_file(options, continuations, columns=own["text_column"] or TEXT_COLUMNS[:1])
        say_written(options, count_of(number, "continuations"))


COMMANDS = LanguageModellingCommands()
