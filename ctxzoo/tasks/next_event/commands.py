"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for next events."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import Option, TaskCommands, check_output, how_to_score, positive, write_json

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
        from ctxzoo.tasks.next_event.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        if (own["history"] is None) == (options.file is None):
            raise ValueError("give either --history, or --file with --output")
        if own["history"] is not None and options.output is not None:
            raise ValueError("--output belongs to --file")
        check_output(options)

        from ctxzoo.hub.saved_model import load_saved_model

        top = own["top"]
        if own["history"] is not None:
            events, times = parsed_history(own["history"])
            model, _ = load_saved_model(options.checkpoint)
            for name, probability in model.next_events(events, times, top):
                print(f"{probability:.4f}  {name}")
            return
        model, _ = load_saved_model(options.checkpoint)
        told = _predictions(options, own, model, top)
        write_json(options.output, told)
        print(f"{len(told)} histories: {options.output}")


def parsed_history(text: str) -> tuple[list[str], list[float]]:
    """Return events and times of a history as it is typed; times are read as those of a file of events.

    Raises:
        ValueError: an event without a time; times that are none.
    """
    from ctxzoo.data.event_rows import seconds_of

    events, times = [], []
    for part in text.split(BETWEEN):
        name, at, time = part.rpartition(AT)
        if not at or not name.strip() or not time.strip():
            raise ValueError(f'--history: {part.strip()!r} is no event with a time; expected as "water {AT} 86400"')
        events.append(name.strip())
        times.append(time.strip())
    return events, seconds_of(times)


def _predictions(
    options: argparse.Namespace, own: Mapping[str, Any], model: Any, top: int | None
) -> list[dict[str, Any]]:
    """Return of each history of a file its name, the number of unknown events, and the likeliest next ones.

    Raises:
        OSError, ValueError: the file is missing or not as it should be.
    """
    from ctxzoo.data.event_rows import EventColumns
    from ctxzoo.tasks.next_event.reader import read_histories
    from ctxzoo.tasks.next_event.sample import EVENTS, HISTORY, TIMES

    if not options.file.is_file():
        raise FileNotFoundError(f"no file {str(options.file)!r}; expected a .csv, .tsv or .parquet file of events")
    names = {option.name.removesuffix("_column"): own[option.name] for option in COLUMNS}
    columns = EventColumns(**{name: value for name, value in names.items() if value is not None})
    rows = read_histories(str(options.file), columns=columns).splits["train"]
    known = set(model.config.names())
    told = []
    for history, events, times in zip(rows[HISTORY], rows[EVENTS], rows[TIMES], strict=True):
        kept = [(event, time) for event, time in zip(events, times, strict=True) if event in known]
        found = model.next_events([event for event, _ in kept], [time for _, time in kept], top) if kept else []
        told.append(
            {"history_id": history, "left_out": len(events) - len(kept), "next": [list(pair) for pair in found]}
        )
    return told


COMMANDS = NextEventCommands()
