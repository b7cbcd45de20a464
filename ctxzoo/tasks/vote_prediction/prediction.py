"""How legislators vote on a bill, by a checkpoint: on one, and on each row of a user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import leave_out, note
from ctxzoo.data.row_stream import LINES, TEXT, Row, RowStream
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, VoteSplits, as_text

KnownVotes = Mapping[str, Mapping[str, int]]  # bill to legislator to 1 yea or 0 nay


def predict_votes(
    checkpoint: str | Path | PreTrainedModel,
    text: str = "",
    bill: str | int = NEW_BILL,
    *,
    known: Mapping[str, int] | None = None,
) -> list[tuple[str, float]]:
    """Return (name, probability of a yea) of each legislator for a bill.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `predict_votes` does the same.
        text: What the bill says. A model that reads new bills needs it of a bill of its training too.
        bill: The name of one of the training, where 10 and "10" are one name; -1: it is new.
        known: The votes on it that are known, name of a legislator to 1 yea or 0 nay, or booleans; default: none. What
            a model with a trust network says is much better with them; the own vote of a legislator is not read.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: A checkpoint of another problem; an unknown bill or legislator; a vote that is neither; a new bill
            and a model that knows those of its training alone; no text where the model reads one.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "predict_votes"):
        raise ValueError(f"a {type(model).__name__} predicts no votes; expected one of vote-prediction")
    found: list[tuple[str, float]] = model.predict_votes(text, bill, known)
    return found


def known_votes(source: str, votes: VoteSplits, model: Any) -> dict[str, dict[str, int]]:
    """Return the votes of data by bill and legislator; those of legislators whom the model does not know are left out.

    Args:
        source: What messages call the data.
        votes: Of whose splits "train" counts, or the only one.
        model: Whose legislators count.

    Raises:
        TextFormatError: It knows none of them.
    """
    names = {model.config.name_of(row) for row in range(model.config.num_legislators)}
    some = votes.splits["train" if "train" in votes.splits else next(iter(votes.splits))]
    found: dict[str, dict[str, int]] = {}
    left_out = 0
    for row, column, vote in zip(some.bills.tolist(), some.legislators.tolist(), some.votes.tolist(), strict=True):
        if votes.legislators[column] in names:
            found.setdefault(votes.bills[row], {})[votes.legislators[column]] = vote
        else:
            left_out += 1
    if not found:
        raise TextFormatError(
            f"{source}: none of its {len(votes.legislators):,} legislators, such as {votes.legislators[0]!r}, is one "
            f"of the {len(names):,} of the checkpoint, such as {model.config.name_of(0)!r}"
        )
    note(source, "known votes of legislators whom the checkpoint does not know, left out", left_out)
    return found


class VoteAnswers:
    """Answers to rows of a user's file: to a row of a bill how everyone votes, to a row of a vote how that one votes.

    A row is of a vote where the file has a column of legislators. A bill that was in the training, by its name, is read
    as that one; others are new.

    Args:
        model: Of votes.
        columns: Of the file.
        texts: Name of a bill to its text, where the file has none.
        known: Votes that are known.
    """

    def __init__(
        self,
        model: Any,
        columns: VoteColumns,
        *,
        texts: Mapping[str, str] | None = None,
        known: KnownVotes | None = None,
    ) -> None:
        self.model, self.columns = model, columns
        self.texts, self.known = texts or {}, known or {}
        self.bills = set(model.config.names_of_bills())
        self.legislators = {model.config.name_of(row) for row in range(model.config.num_legislators)}
        self.predicted: dict[tuple[str, str], dict[str, float]] = {}  # by name and text of a bill
        self.rows = self.strangers = 0
        self.matched: set[str] = set()  # bills with known votes

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row that is left out.

        Raises:
            TextFormatError: Neither a bill nor a text in the columns; a row that cannot be answered, unless bad rows
                are left out.
        """
        columns = VoteColumns(text=TEXT) if stream.kind == LINES else self.columns
        if rows and not {columns.bill, columns.text} & rows[0].keys():
            raise TextFormatError(
                f"{stream.name}: neither a column {columns.bill!r} of bills nor {columns.text!r} of their texts; there "
                f"are {list(rows[0])}"
            )
        found: list[Answer | None] = []
        for row in rows:
            try:
                found.append(self._answer(row, columns))
            except ValueError as error:
                where = f"{stream.name}, row {self.rows}"
                leave_out(where, TextFormatError(f"{where}: {error}"))
                found.append(None)
            self.rows += 1
        note(stream.name, "rows of legislators whom the checkpoint does not know, left out", self.strangers)
        bills = {bill for bill, _ in self.predicted if bill}
        note(stream.name, "bills of the training, by their names", len(bills & self.bills))
        note(stream.name, "bills whose known votes are read", len(self.matched))
        return found

    def _answer(self, row: Row, columns: VoteColumns) -> Answer | None:
        bill = as_text(row.get(columns.bill)) or ""
        text = as_text(row.get(columns.text)) or self.texts.get(bill, "")
        who = as_text(row[columns.legislator]) if columns.legislator in row else None
        if who is not None and who not in self.legislators:
            self.strangers += 1
            return None
        yeas = self._yeas(bill, text)
        if who is None:
            cells = [{"predicted_legislator": name, "predicted_yea": yea} for name, yea in yeas.items()]
            named = {"bill": bill} if bill else {}
            return Answer(fields={"yea": yeas}, cells=cells, alone={**named, "text": text, "yea": yeas})
        vote = {"predicted_vote": "yea" if yeas[who] > 0.5 else "nay", "predicted_yea": yeas[who]}
        return Answer(fields=vote, cells=[vote], alone={"legislator": who, "bill": bill, **vote})

    def _yeas(self, bill: str, text: str) -> dict[str, float]:
        if (bill, text) not in self.predicted:
            of_training = bill if bill in self.bills else NEW_BILL
            if of_training == NEW_BILL and bill and not self.model.reads_new_bills:
                raise ValueError(f"the bill {bill!r} was not in the training of this model, which reads no new ones")
            known = self.known.get(bill)
            self.predicted[bill, text] = dict(self.model.predict_votes(text, of_training, known))
            self.matched |= set() if known is None else {bill}
        return self.predicted[bill, text]
