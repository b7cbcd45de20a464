"""What a checkpoint recommends after a history of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer, ranked_answer
from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.reading_notes import note
from ctxzoo.data.row_stream import Row, RowStream, stream_of
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.session_recommendation.reader import read_sessions
from ctxzoo.tasks.session_recommendation.sample import ITEMS, SESSION


def recommend(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    k: int | None = None,
    *,
    only_new: bool = False,
) -> list[tuple[str, float]]:
    """Return the k items that are likeliest to come after a history, the likeliest first.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `recommend` does the same.
        history: Names of items in the order of time, as in the data of the training: the whole number 10 and the text
            "10" are the item called "10". The last ones are read, as many as predictions of the training saw at most.
        k: Number of items; default: 10, or all that can be recommended where they are fewer.
        only_new: Whether to leave out the items of the whole history.

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


class Recommendations:
    """The answers of a model to sessions, of which it reads the items that it knows; `note` counts the others.

    Args:
        model: With `recommend`; it computes where it is.
        k: Number of items, fewer where `only_new` leaves fewer; None: the model's.
        only_new: Whether to leave out the items of the session.
    """

    def __init__(self, model: Any, *, k: int | None = None, only_new: bool = False) -> None:
        self.model = model
        self.k = k
        self.only_new = only_new
        self.known = set(model.config.names())
        self.left_out = self.without_history = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer]:
        """Return the answers to sessions of `session_rows`, in their order; their items are taken out of the rows."""
        answers = [self._answer(next(iter(row.values())), row.pop(ITEMS)) for row in rows]
        note(stream.name, "items that the model does not know, left out of what is read", self.left_out)
        note(stream.name, "sessions without a known item, for which nothing is recommended", self.without_history)
        return answers

    def _answer(self, session: str, items: Sequence[str]) -> Answer:
        history = [item for item in items if item in self.known]
        left_out = len(items) - len(history)
        self.left_out += left_out
        self.without_history += not history
        new = len(self.known) - len(set(history))
        k = min(self.k, new) if self.only_new and self.k else self.k
        can = history and (new or not self.only_new)
        found = self.model.recommend(history, k, only_new=self.only_new) if can else []
        alone = {"session_id": session, "left_out": left_out, "recommended": [list(pair) for pair in found]}
        return ranked_answer(found, "item", left_out, alone)


def session_rows(source: Path, columns: Mapping[str, str | None]) -> RowStream:
    """Return the sessions of a file, folder or Hub id: the user, under the name of its column, and the items.

    Args:
        source: See `read_sessions`.
        columns: Fields of `EventColumns` to names; None: the usual one.

    Raises:
        OSError, ValueError: It is missing or not as it should be.
    """
    named = EventColumns(**{name: value for name, value in columns.items() if value is not None})
    splits = read_sessions(str(source), columns=named).splits.values()
    pairs = (pair for rows in splits for pair in zip(rows[SESSION], rows[ITEMS], strict=True))
    return stream_of(str(source), ({named.user: session, ITEMS: items} for session, items in pairs))
