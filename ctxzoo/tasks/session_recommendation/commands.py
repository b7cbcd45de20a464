"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for session recommendation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxzoo.tasks.commands import Option, TaskCommands, check_output, how_to_score, positive, write_json

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
        from ctxzoo.tasks.session_recommendation.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        if (own["history"] is None) == (options.file is None):
            raise ValueError("give either --history, or --file with --output")
        if own["history"] is not None and options.output is not None:
            raise ValueError("--output belongs to --file")
        check_output(options)

        from ctxzoo.hub.saved_model import load_saved_model

        model, _ = load_saved_model(options.checkpoint)
        how = {"k": own["top"], "only_new": own["only_new"] == "yes"}
        if own["history"] is not None:
            history = [name.strip() for name in own["history"].split(BETWEEN)]
            for name, probability in model.recommend(history, **how):
                print(f"{probability:.4f}  {name}")
            return
        sessions = _sessions(options.file, own, model)
        told = [
            {
                "session_id": session,
                "left_out": left_out,
                "recommended": [list(pair) for pair in model.recommend(history, **how)] if history else [],
            }
            for session, history, left_out in sessions
        ]
        write_json(options.output, told)
        print(f"{len(told)} sessions: {options.output}")


def _sessions(file: Path, own: Mapping[str, Any], model: Any) -> list[tuple[str, list[str], int]]:
    """Return name, known items, and the number of unknown ones, of each session of a file.

    Raises:
        OSError, ValueError: the file is missing or not as it should be.
    """
    from ctxzoo.data.event_rows import EventColumns
    from ctxzoo.tasks.session_recommendation.reader import read_sessions
    from ctxzoo.tasks.session_recommendation.sample import ITEMS, SESSION

    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected a .csv, .tsv or .parquet file of events")
    names = {option.name.removesuffix("_column"): own[option.name] for option in COLUMNS}
    columns = EventColumns(**{name: value for name, value in names.items() if value is not None})
    rows = read_sessions(str(file), columns=columns).splits["train"]
    known = set(model.config.names())
    found = []
    for session, items in zip(rows[SESSION], rows[ITEMS], strict=True):
        history = [item for item in items if item in known]
        found.append((session, history, len(items) - len(history)))
    return found


COMMANDS = SessionRecommendationCommands()
