"""`ctxzoo evaluate` and `ctxzoo predict` for models of masked words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import TEXT, Option, TaskCommands, check_output, check_text_or_file, positive, write_json


class FillMaskCommands(TaskCommands):
    title = "masked words"
    evaluate_options = (
        Option("text_column", "default: text"),
        Option("words", "how many of the text are predicted, a line at a time; default: 5000", positive),
    )
    predict_options = (TEXT,)

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
        from ctxzoo.tasks.word_embeddings.predictions import fill_masks

        texts = [own["text"]] if options.file is None else read_text_lines(options.file)
        found = fill_masks(CARD.load_pipeline(options.checkpoint), texts, batch_size=options.batch_size)
        if options.output is None:
            for word in found[0]:
                print(json.dumps(word, ensure_ascii=False))
            return
        write_json(options.output, found)
        print(f"words for {len(texts)} texts: {options.output}")


COMMANDS = FillMaskCommands()
