"""What a checkpoint expects after a history of events at times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer, ranked_answer
from ctxzoo.data.event_rows import EventColumns, seconds_of
from ctxzoo.data.reading_notes import note
from ctxzoo.data.row_stream import Row, RowStream, stream_of
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.next_event.reader import read_histories
from ctxzoo.tasks.next_event.sample import EVENTS, HISTORY, TIMES


def next_events(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    timestamps: Sequence[Any],
    k: int | None = None,
) -> list[tuple[str, float]]:
    """Return the k events that are likeliest to come after a history, the likeliest first.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `next_events` does the same.
        history: Names of events in the order of time, as in the data of the training: the whole number 10 and the text
            "10" are the event called "10". The last ones are read, as many as predictions of the training saw at most.
        timestamps: A number for each, in the unit of the training data, or a date or time where those were dates; see
            `ctxzoo.data.event_rows.seconds_of`.
        k: Number of events; default: 10, or all where there are fewer.

    Returns:
        (name, probability) of each.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem, an empty history, an unknown event, other timestamps, or a k that
            cannot be.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "next_events"):
        raise ValueError(f"a {type(model).__name__} predicts no events; expected one of next-event")
    found: list[tuple[str, float]] = model.next_events(history, seconds_of(timestamps), k)
    return found


class EventAnswers:
    """The answers of a model to histories, of which it reads the events that it knows; `note` counts the others.

    Args:
        model: With `next_events`; it computes where it is.
        top: Number of events; None: the model's.
    """

    def __init__(self, model: Any, top: int | None) -> None:
        self.model = model
        self.top = top
        self.known = set(model.config.names())
        self.left_out = self.without_history = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer]:
        """Return the answers to histories of `history_rows`, in their order; their events are taken out of the rows."""
        answers = [self._answer(next(iter(row.values())), row.pop(EVENTS), row.pop(TIMES)) for row in rows]
        note(stream.name, "events that the model does not know, left out of what is read", self.left_out)
        note(stream.name, "histories without a known event, for which nothing is predicted", self.without_history)
        return answers

    def _answer(self, history: str, events: Sequence[str], times: Sequence[float]) -> Answer:
        kept = [(event, time) for event, time in zip(events, times, strict=True) if event in self.known]
        left_out = len(events) - len(kept)
        self.left_out += left_out
        self.without_history += not kept
        read = ([event for event, _ in kept], [time for _, time in kept])
        found = self.model.next_events(*read, self.top) if kept else []
        alone = {"history_id": history, "left_out": left_out, "next": [list(pair) for pair in found]}
        return ranked_answer(found, "event", left_out, alone)


def history_rows(source: Path, columns: Mapping[str, str | None]) -> RowStream:
    """Return the histories of a file, folder or Hub id: the user, under the name of its column, events and times.

    Args:
        source: See `read_histories`.
        columns: Fields of `EventColumns` to names; None: the usual one.

    Raises:
        OSError, ValueError: It is missing or not as it should be.
    """
    named = EventColumns(**{name: value for name, value in columns.items() if value is not None})
    splits = read_histories(str(source), columns=named).splits.values()
    told = (one for rows in splits for one in zip(rows[HISTORY], rows[EVENTS], rows[TIMES], strict=True))
    rows = ({named.user: name, EVENTS: events, TIMES: times} for name, events, times in told)
    return stream_of(str(source), rows)
