"""What a checkpoint expects after a sequence: the next items of a session, the next events of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer, format_ranked_answer
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.rows import Row, RowStream, build_row_stream, iterate_column
from ctxzoo.data.text_encoding import count_filling_rows, group_alike
from ctxzoo.hub.row_pipeline import RowPipeline
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.modeling_session import TOGETHER
from ctxzoo.models.ops_inputs import format_name
from ctxzoo.tasks.sequences.kinds import EVENTS, HISTORIES, ITEMS, SESSIONS, TIMES, EventColumns, SequenceKind
from ctxzoo.tasks.sequences.reader import convert_to_seconds, read_rows_of_sequences, read_sequences


def recommend(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    k: int | None = None,
    *,
    only_new: bool = False,
) -> list[tuple[str, float]]:
    """Return the k items that most likely come next after a session's items, likeliest first.

    Args:
        checkpoint: Checkpoint folder or Hub id, or a loaded model, whose method `recommend` does the same.
        history: Names of the items in temporal order, as in the training data; 10 and "10" are the same name. Only the
            last `max_history` are read.
        k: Number of recommended items; default: 10, or all where there are fewer.
        only_new: Whether items that the history already contains are left out of the recommendations.

    Returns:
        (name, probability) of each.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem, an empty history, an unknown item, or a k that cannot be.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "recommend"):
        raise ValueError(f"a {type(model).__name__} recommends nothing; expected one of session-recommendation")
    found: list[tuple[str, float]] = model.recommend(history, k, only_new=only_new)
    return found


def next_events(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    timestamps: Sequence[Any],
    k: int | None = None,
) -> list[tuple[str, float]]:
    """Return the k events that most likely come next after a history, likeliest first.

    Args:
        checkpoint: Checkpoint folder or Hub id, or a loaded model, whose method `next_events` does the same.
        history: Names of the events in temporal order, as in the training data; 10 and "10" are the same name.
        timestamps: Time of each event, as a number in the unit of the training data, or as a date if that had dates;
            read by `ctxzoo.tasks.sequences.reader.convert_to_seconds`.
        k: Number of events to return; default: 10, or all where there are fewer.

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
    found: list[tuple[str, float]] = model.next_events(history, convert_to_seconds(timestamps), k)
    return found


class SequenceAnswers:
    """The answers of a model to sequences, of which it reads the things that it knows; `record_note` counts the others.

    After a session of which it knows nothing it recommends what is popular in its training, where its config tells.

    Args:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        model: Model with a method `recommend` or `next_events`, which runs on the device where its weights are.
        k: Number of predicted items or events for each sequence, fewer if `only_new` leaves fewer; None: the model's
            default.
        only_new: Whether items that the session already contains are left out of its recommendations.
    """

    def __init__(self, kind: SequenceKind, model: Any, *, k: int | None = None, only_new: bool = False) -> None:
        self.kind = kind
        self.model = model
        self.k = k
        self.only_new = only_new
        self.work = self._recommend if kind is SESSIONS else self._predict_events
        self.known = set(model.config.get_row_names())
        self.knows_popular = getattr(model.config, "item_counts", None) is not None
        self.left_out = self.without_history = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer]:
        """Predict what follows each row of `stream_sequences`; items and times are taken out of the rows."""
        kind, verb = self.kind, "recommended" if self.kind is SESSIONS else "predicted"
        names = [next(iter(row.values())) for row in rows]
        parts = [self._select_known_things(row) for row in rows]
        rankings = self._rank(parts)
        without = f"{kind.several} without a known {kind.thing}, for which nothing is {verb}"
        if self.knows_popular:
            without = f"{kind.several} without a known {kind.thing}, for which what is popular in training is {verb}"
        record_note(stream.name, f"{kind.things} that the model does not know, left out of what is read", self.left_out)
        record_note(stream.name, without, self.without_history)
        return [
            self._build_answer(name, known, left_out, ranking)
            for name, (known, left_out), ranking in zip(names, parts, rankings, strict=True)
        ]

    def _select_known_things(self, row: Row) -> tuple[list[list[Any]], int]:
        """Take the things out of a row and return the known ones, in lists by column, and how many are left out."""
        things = list(zip(*(row.pop(column) for column in self.kind.columns), strict=True))
        known_things = [thing for thing in things if thing[0] in self.known]
        self.left_out += len(things) - len(known_things)
        self.without_history += not known_things
        return [[thing[place] for thing in known_things] for place in range(len(self.kind.columns))], (
            len(things) - len(known_things)
        )

    def _rank(self, parts: Sequence[tuple[list[list[Any]], int]]) -> list[list[tuple[str, float]]]:
        """Return what follows each sequence, sessions read many at once; nothing where nothing can be said."""
        if self.kind is not SESSIONS:
            return self.work([known for known, _ in parts])
        readable = [bool(known[0]) or self.knows_popular for known, _ in parts]
        histories = [known[0] for (known, _), is_one in zip(parts, readable, strict=True) if is_one]
        found = iter(self.work(histories))
        return [next(found) if is_one else [] for is_one in readable]

    def _predict_events(self, histories: Sequence[list[list[Any]]]) -> list[list[tuple[str, float]]]:
        """Return the next events after each history of events and times, one by one; none after an empty one."""
        return [self.model.next_events(*known, self.k) if known[0] else [] for known in histories]

    def _recommend(self, histories: Sequence[list[Any]]) -> list[list[tuple[str, float]]]:
        """Return the next items after each history; what a history gets does not depend on the others."""
        found: list[list[tuple[str, float]]] = [[] for _ in histories]
        lengths = np.array([len(history) for history in histories], np.int64)
        for rows, length in group_alike(np.argsort(-lengths, kind="stable"), lengths, lambda _: TOGETHER):
            batch = [histories[row] for row in rows]
            filling = [(batch[0] * length)[:length]] * count_filling_rows(len(batch))
            batch += filling
            rankings = self.model.recommend_batch(batch, self.k, only_new=self.only_new, batch_size=len(batch))
            for row, ranking in zip(rows.tolist(), rankings, strict=False):  # behind them is filling
                found[row] = ranking
        return found

    def _build_answer(
        self, name: Any, known: list[list[Any]], left_out: int, ranking: list[tuple[str, float]]
    ) -> Answer:
        """Return the answer to a sequence of this name; one that only says what is popular is marked as `popular`."""
        key = "recommended" if self.kind is SESSIONS else "next"
        marked = {"popular": True} if ranking and not known[0] else {}
        alone = {self.kind.ids[0]: name, "left_out": left_out, **marked, key: [list(pair) for pair in ranking]}
        answer = format_ranked_answer(ranking, self.kind.thing, left_out, alone)
        return replace(answer, fields={**answer.fields, **marked})


class SessionPipeline(RowPipeline):
    """Recommends the next items after histories, lists of the names of items in the order of time."""

    depth = 1

    def build_answers(self, *, top_k: int | None = None, only_new: bool = False) -> SequenceAnswers:
        """Build the object that recommends the `top_k` likeliest next items of sessions."""
        return SequenceAnswers(SESSIONS, self.model, k=top_k, only_new=only_new)

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a list of items or a row with one, as a row."""
        items = pipeline_input[ITEMS] if isinstance(pipeline_input, Mapping) else pipeline_input
        return {SESSIONS.ids[0]: str(number), ITEMS: [format_name(item, "item") for item in items]}

    def convert_answer(self, answer: Any) -> Any:
        """Return an answer without the name of its session."""
        return {name: value for name, value in answer.items() if name not in SESSIONS.ids}


class EventPipeline(RowPipeline):
    """Predicts the next events after histories, dicts of `events` and their `timestamps` in the order of time."""

    depth = 0

    def build_answers(self, *, top_k: int | None = None) -> SequenceAnswers:
        """Build the object that predicts the `top_k` likeliest next events of histories."""
        return SequenceAnswers(HISTORIES, self.model, k=top_k)

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a dict of events and times, as a row with times in seconds."""
        if not isinstance(pipeline_input, Mapping) or not {EVENTS, TIMES} <= pipeline_input.keys():
            raise ValueError(f"input {number} is {pipeline_input!r:.80}; expected a dict of {EVENTS!r} and {TIMES!r}")
        if len(pipeline_input[EVENTS]) != len(pipeline_input[TIMES]):
            raise ValueError(
                f"input {number} has {len(pipeline_input[EVENTS])} events and {len(pipeline_input[TIMES])} times"
            )
        names = [format_name(event, "event") for event in pipeline_input[EVENTS]]
        return {HISTORIES.ids[0]: str(number), EVENTS: names, TIMES: convert_to_seconds(pipeline_input[TIMES])}

    def convert_answer(self, answer: Any) -> Any:
        """Return an answer without the name of its history."""
        return {name: value for name, value in answer.items() if name not in HISTORIES.ids}


def stream_sequences(
    kind: SequenceKind,
    source: str | Path,
    columns: Mapping[str, str | None],
    rows: Sequence[Mapping[str, Any]] | None = None,
) -> RowStream:
    """Yield the sessions or histories of a file, folder or Hub id as rows with name, items or events, and times.

    Args:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        source: Data to read: a file, folder or Hub id, as `read_sequences` takes it.
        columns: Names of the user, item and time columns, by field of `EventColumns`; None: the usual name.
        rows: Rows to read in place of the source, which is only their name.

    Raises:
        OSError, ValueError: It is missing or not as it should be.
    """
    event_columns = EventColumns(**{name: value for name, value in columns.items() if value is not None})
    kept = (kind.ids[0], *kind.columns)
    if rows is None:
        splits = [*read_sequences(kind, str(source), columns=event_columns).splits.values()]
    else:
        splits = [read_rows_of_sequences(kind, str(source), rows, event_columns)]
    told = (
        values for rows in splits for values in zip(*(iterate_column(rows[column]) for column in kept), strict=True)
    )
    return build_row_stream(
        str(source), (dict(zip((event_columns.user, *kind.columns), values, strict=True)) for values in told)
    )
