"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for taggers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import (
    TEXT,
    Option,
    TaskCommands,
    answer_file,
    check_input,
    device_of,
    how_to_score,
    positive,
    say_written,
)


class TokenClassificationCommands(TaskCommands):
    title = "token classification"
    train_options = (
        Option("tag_column", "default: pos_tags or the like; of CoNLL-U upos or xpos"),
        Option("min_word_count", "occurrences in the training sentences that a word needs", positive),
        Option("word_vectors", "start from these: file, checkpoint folder or Hub id"),
    )
    evaluate_options = (Option("tag_column", "default: pos_tags or the like"),)
    predict_options = (TEXT,)

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.token_classification.training import TaggerTraining

        train_own_data(TaggerTraining(), request_of(options, own, columns=("tag_column",)))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.token_classification.evaluation import evaluate

        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **own)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "text", own["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.token_classification.prediction import TagAnswers, tag_rows

        model, tokenizer = options.saved.load()
        answers = TagAnswers(model.to(device_of(options)), tokenizer, batch_size=options.batch_size)
        if options.file is None:
            for word in answers.tags([own["text"].split()])[0]:
                print(f"{word['word']}\t{word['tag']}\t{word['score']:.4f}")
            return
        rows = tag_rows(options.file, options.format)
        number = answer_file(options, answers, rows=rows, columns=TEXT_COLUMNS[:1])
        say_written(options, f"tags of {count_of(answers.words, 'words')} in {count_of(number, 'texts')}")


COMMANDS = TokenClassificationCommands()
