"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for taggers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import (
    TEXT,
    Option,
    TaskCommands,
    check_output,
    check_text_or_file,
    how_to_score,
    positive,
    write_json,
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
        check_text_or_file(options, own["text"])
        check_output(options)

        from ctxzoo.data.text_files import read_text_lines
        from ctxzoo.tasks.token_classification.card import CARD, tag_texts

        texts = [own["text"]] if options.file is None else read_text_lines(options.file)
        predictions = tag_texts(CARD.load_pipeline(options.checkpoint), texts, batch_size=options.batch_size)
        if options.file is None:
            for word in predictions[0]:
                print(f"{word['word']}\t{word['tag']}\t{word['score']:.4f}")
            return
        write_json(options.output, predictions)
        print(f"tags of {sum(map(len, predictions))} words in {len(texts)} texts: {options.output}")


COMMANDS = TokenClassificationCommands()
