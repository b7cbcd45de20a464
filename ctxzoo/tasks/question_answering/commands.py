"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for readers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    device_of,
    how_to_score,
    probability,
    say_written,
    write_json,
)


class QuestionAnsweringCommands(TaskCommands):
    title = "question answering"
    fix_answer_start = Option("fix_answer_start", "move wrong offsets of answers; default: no", choices=("yes", "no"))
    train_options = (
        Option("word_vectors", "start from these: file, checkpoint folder or Hub id; they are kept as they are"),
        fix_answer_start,
    )
    evaluate_options = (
        Option("squad_version", "default: auto, as the data is", choices=("auto", "1.1", "2.0")),
        fix_answer_start,
        Option("threshold", "no-answer score above which it abstains; default: the model's", probability),
    )
    predict_options = (
        Option("question"),
        Option("context", "the text that answers it"),
        Option("na_prob", "JSON file of id to no-answer score; with --file", Path),
        Option("threshold", "no-answer score above which the answer is empty", probability),
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.question_answering.training import ReaderTraining

        request = request_of(options, {"word_vectors": own["word_vectors"]})
        train_own_data(ReaderTraining(fix_answer_start=own["fix_answer_start"] == "yes"), request)

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.question_answering.evaluation import evaluate

        return evaluate(
            options.checkpoint,
            options.dataset,
            options.split,
            squad_version=own["squad_version"] or "auto",
            fix_answer_start=own["fix_answer_start"] == "yes",
            no_answer_threshold=own["threshold"],
            **how_to_score(options),
        )

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        question, context, na_prob, threshold = (own[option.name] for option in self.predict_options)
        one = question is not None or context is not None
        if one == (options.file is not None):
            raise ValueError("give either --question with --context, or --file")
        if one and (question is None or context is None):
            raise ValueError("--question and --context belong together; only one of them was given")
        if one and (options.output is not None or na_prob is not None):
            raise ValueError("--output and --na_prob belong to --file")

        from ctxzoo.tasks.question_answering.card import CARD
        from ctxzoo.tasks.question_answering.prediction import COLUMNS, QuestionAnswers, question_rows

        rows = None if one else question_rows(options.file)
        reader = CARD.load_pipeline(options.saved, device=device_of(options))
        if one:
            parameters = {} if threshold is None else {"no_answer_threshold": threshold}
            _print_answer(reader(question=question, context=context, **parameters))
            return
        answers = QuestionAnswers(reader, no_answer_threshold=threshold, batch_size=options.batch_size)
        number = answer_file(options, answers, rows=rows, columns=COLUMNS)
        if na_prob is not None:
            write_json(na_prob, answers.no_answer_scores)
        say_written(options, f"{count_of(number, 'answers')}, {answers.empty} of them empty", na_prob)


def _print_answer(answer: Mapping[str, Any]) -> None:
    if answer["answer"]:
        print(answer["answer"])
        print(f"characters {answer['start']} to {answer['end']}, probability {answer['score']:.4f}")
    else:
        print("(no answer)")
    print(f"no-answer score {answer['no_answer_score']:.4f}")


COMMANDS = QuestionAnsweringCommands()
