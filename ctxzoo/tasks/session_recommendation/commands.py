"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for session recommendation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    check_input,
    device_of,
    how_to_score,
    positive,
    say_written,
)

COLUMNS = (
    Option("user_column", "of a file of events: whose they are; default: user"),
    Option("item_column", "what was chosen; default: item"),
    Option("time_column", "when, as numbers or dates; default: time"),
)
SEEN = "items that a prediction sees at most; default: {}"
BETWEEN = "|"  # the names of a history


class SessionRecommendationCommands(TaskCommands):
    title = "session recommendation"
    train_options = (
        *COLUMNS,
        Option("max_length", SEEN.format(50), positive),
        Option("hidden_size", "units of the state", positive),
    )
    evaluate_options = (
        *COLUMNS,
        Option("max_length", SEEN.format("as in the training"), positive),
        Option(
            "ties", "items with the score of the right one: before it, or behind", str, ("pessimistic", "optimistic")
        ),
    )
    predict_options = (
        Option("history", f'names of items in the order of time, with "{BETWEEN}" between them'),
        Option("top", "number of items; default: 10, or all that can be recommended where they are fewer", positive),
        Option("only_new", "whether to leave out the items of the history", str, ("yes", "no")),
        *COLUMNS,
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.session_recommendation.training import SessionTraining

        columns = tuple(option.name for option in COLUMNS)
        train_own_data(SessionTraining(), request_of(options, own, columns=columns))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.sequences.evaluation import evaluate_sessions

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate_sessions(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "history", own["history"])

        from ctxzoo.data.row_stream import as_file
        from ctxzoo.tasks.sequences.kinds import SESSIONS
        from ctxzoo.tasks.sequences.prediction import SequenceAnswers, sequence_rows

        model, _ = options.saved.load()
        model.to(device_of(options))
        how = {"k": own["top"], "only_new": own["only_new"] == "yes"}
        if own["history"] is not None:
            history = [name.strip() for name in own["history"].split(BETWEEN)]
            for name, probability in model.recommend(history, **how):
                print(f"{probability:.4f}  {name}")
            return
        columns = {option.name.removesuffix("_column"): own[option.name] for option in COLUMNS}
        header = [name or usual for usual, name in columns.items()]
        with as_file(options.file, kind=options.format, columns=header) as file:
            rows = sequence_rows(SESSIONS, file, columns)
            number = answer_file(options, SequenceAnswers(SESSIONS, model, **how), rows=rows)
        say_written(options, count_of(number, "sessions"))


COMMANDS = SessionRecommendationCommands()
