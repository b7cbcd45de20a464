"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for classifiers of texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
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


class TextClassificationCommands(TaskCommands):
    title = "text classification"
    train_options = (
        TEXT_COLUMN,
        Option("label_column", "default: label or the like"),
        Option("max_length", "cut texts to so many known words", positive),
        Option("min_word_count", "occurrences in the training texts that a word needs", positive),
        Option("word_vectors", "start from these: file, checkpoint folder or Hub id"),
        Option("linear", "a linear model beside the scores; default: yes", choices=("yes", "no")),
    )
    evaluate_options = (
        TEXT_COLUMN,
        Option("label_column", "default: label or the like"),
        Option("folds", "of the cross-validation that the checkpoint is from", positive),
        Option("fold", "which of them, from 0", int),
        Option("fold_seed", "of the folds", int),
        Option("max_length", "cut texts to so many known words", positive),
    )
    predict_options = (
        TEXT,
        TEXT_COLUMN,
        Option("explain", "page (.html), or picture of one text (.png), of which words decided", Path),
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.text_classification.training import ClassifierTraining

        settings = {name: value for name, value in own.items() if name != "linear"}
        request = request_of(options, settings, columns=("text_column", "label_column"))
        train_own_data(ClassifierTraining(linear=own["linear"] != "no"), request)

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.data.formats import SAMPLE
        from ctxzoo.tasks.text_classification.evaluation import evaluate
        from ctxzoo.tasks.text_classification.prediction import recorded_text_columns

        given = {name: value for name, value in own.items() if value is not None}
        if options.dataset != SAMPLE:
            given.setdefault("text_column", recorded_text_columns(options.checkpoint))
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        text, page = own["text"], own["explain"]
        check_input(options, "text", text)
        if page is not None:
            _check_explanation_file(page)

        from ctxzoo.data.row_stream import open_rows
        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.text_classification.prediction import (
            TextAnswers,
            recorded_text_columns,
            without_probabilities,
        )

        columns = own["text_column"] or recorded_text_columns(options.checkpoint)
        model, tokenizer = options.saved.load()
        model.to(device_of(options))
        answers = TextAnswers(
            model, tokenizer, text_column=columns, batch_size=options.batch_size, keeps_texts=page is not None
        )
        header = columns or TEXT_COLUMNS[:1]
        if text is not None:
            (label,) = answers.labels([text])
        elif page is None or options.output is not None:
            answer_file(options, answers, columns=header)
        else:
            with open_rows(options.file, kind=options.format, columns=header) as rows:
                for chunk in rows.chunks:
                    answers(chunk, rows)
        if page is not None:
            _explain(model, tokenizer, answers.texts, page)
        if text is not None:
            print(json.dumps(without_probabilities(label), ensure_ascii=False))
        else:
            say_written(options, count_of(len(answers.known), "labels"), page)
        for note in answers.notes():
            print(f"ctxzoo: {note}", file=sys.stderr)


def _check_explanation_file(file: Path) -> None:
    if file.suffix not in (".html", ".png"):
        raise ValueError(f"--explain is {str(file)!r}; expected a name that ends in .html (page) or .png (picture)")
    if not file.parent.is_dir():
        raise ValueError(f"--explain is {str(file)!r}, but there is no folder {str(file.parent)!r}; make it first")
    from ctxzoo.data.files import check_output_file

    check_output_file(file, "--explain")
    if file.suffix == ".png":
        from ctxzoo.results.figures import check_plots

        check_plots()


def _explain(model: Any, tokenizer: Any, texts: Sequence[str], file: Path) -> None:
    """Write the page, or the picture, of which words decided."""
    from ctxzoo.tasks.text_classification.contributions import explain_text
    from ctxzoo.tasks.text_classification.explanation import write_explanation_page
    from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation

    if file.suffix == ".png" and len(texts) != 1:
        raise ValueError(f"--explain is {str(file)!r}, a picture of one text, but there are {len(texts)}; take .html")
    explanations = [explain_text(model, tokenizer, text) for text in texts]
    if file.suffix == ".png":
        draw_explanation(explanations[0], file)
    else:
        write_explanation_page(explanations, file)


COMMANDS = TextClassificationCommands()
