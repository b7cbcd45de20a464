"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for next events."""

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
    Option("item_column", "what happened; default: item"),
    Option("time_column", "when, as numbers or dates; default: time"),
)
SEEN = "events that a prediction sees at most; default: {}"
BETWEEN, AT = "|", "@"  # the events of a history, and an event and its time


class NextEventCommands(TaskCommands):
    title = "next event"
    train_options = (
        *COLUMNS,
        Option("max_length", SEEN.format(100), positive),
        Option("hidden_size", "numbers of a step", positive),
    )
    evaluate_options = (
        *COLUMNS,
        Option("max_length", SEEN.format("as in the training"), positive),
        Option("ties", "events that tie with the right one: before it, or behind", str, ("pessimistic", "optimistic")),
    )
    predict_options = (
        Option(
            "history",
            f'names of events with their times, "water {AT} 0 {BETWEEN} feed {AT} 86400", or dates where those of the '
            "training were dates",
        ),
        Option("top", "number of events; default: 10, or all where there are fewer", positive),
        *COLUMNS,
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.next_event.training import NextEventTraining

        columns = tuple(option.name for option in COLUMNS)
        train_own_data(NextEventTraining(), request_of(options, own, columns=columns))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.sequences.evaluation import evaluate_histories

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate_histories(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_input(options, "history", own["history"])
        typed = None if own["history"] is None else parsed_history(own["history"])

        from ctxzoo.data.row_stream import as_file
        from ctxzoo.tasks.sequences.kinds import HISTORIES
        from ctxzoo.tasks.sequences.prediction import SequenceAnswers, sequence_rows

        model, _ = options.saved.load()
        model.to(device_of(options))
        if typed is not None:
            for name, probability in model.next_events(*typed, own["top"]):
                print(f"{probability:.4f}  {name}")
            return
        columns = {option.name.removesuffix("_column"): own[option.name] for option in COLUMNS}
        header = [name or usual for usual, name in columns.items()]
        with as_file(options.file, kind=options.format, columns=header) as file:
            rows = sequence_rows(HISTORIES, file, columns)
            number = answer_file(options, SequenceAnswers(HISTORIES, model, k=own["top"]), rows=rows)
        say_written(options, count_of(number, "histories"))


def parsed_history(text: str) -> tuple[list[str], list[float]]:
    """Return events and times of a history as it is typed; times are read as those of a file of events.

    Raises:
        ValueError: an event without a time; times that are none.
    """
    from ctxzoo.tasks.sequences.reader import seconds_of

    events, times = [], []
    for part in text.split(BETWEEN):
        name, at, time = part.rpartition(AT)
        if not at or not name.strip() or not time.strip():
            raise ValueError(f'--history: {part.strip()!r} is no event with a time; expected as "water {AT} 86400"')
        events.append(name.strip())
        times.append(time.strip())
    return events, seconds_of(times)


COMMANDS = NextEventCommands()
