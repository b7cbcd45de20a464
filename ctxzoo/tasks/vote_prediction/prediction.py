"""How legislators vote on a bill, by a checkpoint: on one, and on each row of a user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.rows import LINES, TEXT, Row, RowStream
from ctxzoo.data.text_columns import join_texts, list_column_names
from ctxzoo.data.text_encoding import count_filling_rows
from ctxzoo.hub.row_pipeline import RowPipeline
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, VoteSplits, convert_to_text


class Bill(NamedTuple):
    """A bill of a user's file: its name, which may be empty, and its text."""

    name: str
    text: str


KnownVotes = Mapping[str, Mapping[str, int]]  # bill to legislator to 1 yea or 0 nay


def predict_votes(
    checkpoint: str | Path | PreTrainedModel,
    text: str | None = None,
    bill: str | int = NEW_BILL,
    *,
    known: Mapping[str, int] | None = None,
) -> list[tuple[str, float]]:
    """Return each legislator's name and probability of a yea to a bill.

    Args:
        checkpoint: Checkpoint folder or Hub id, or a loaded model, whose method `predict_votes` does the same.
        text: Text of the bill. A model that reads new bills needs it for training bills too.
        bill: Name of the bill, for a bill of the training data (10 and "10" are the same name); -1: a new bill.
        known: Known votes on the bill, 1 yea or 0 nay (or booleans) by legislator's name; they help models with a trust
            network; default: none.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: A checkpoint of another problem; an unknown bill or legislator; a vote that is neither; a new bill
            and a model that knows those of its training alone; no text where the model reads one.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "predict_votes"):
        raise ValueError(f"a {type(model).__name__} predicts no votes; expected one of vote-prediction")
    predictions: list[tuple[str, float]] = model.predict_votes(text, bill, known)
    return predictions


def get_legislator_names(model: Any) -> list[str]:
    """Return the names of a model's legislators, in the order of its table."""
    return [model.config.get_legislator_name(row) for row in range(model.config.num_legislators)]


def collect_known_votes(source: str, votes: VoteSplits, model: Any) -> dict[str, dict[str, int]]:
    """Return the votes of a dataset by bill and legislator that the model may read; unknown legislators' are left out.

    Args:
        source: Description of the data for error messages.
        votes: Votes of all splits, of which the split "train", or the only split, is looked up.
        model: Model of votes, which knows a fixed set of legislators.

    Raises:
        TextFormatError: It knows none of them.
    """
    names = get_legislator_names(model)
    split_votes = votes.splits["train" if "train" in votes.splits else next(iter(votes.splits))]
    known_legislators = {name for name in votes.legislators if name in set(names)}
    votes_by_bill: dict[str, dict[str, int]] = {}
    left_out = 0
    for row, column, vote in zip(
        split_votes.bills.tolist(), split_votes.legislators.tolist(), split_votes.votes.tolist(), strict=True
    ):
        if votes.legislators[column] in known_legislators:
            votes_by_bill.setdefault(votes.bills[row], {})[votes.legislators[column]] = vote
        else:
            left_out += 1
    if not votes_by_bill:
        raise TextFormatError(
            f"{source}: none of its {len(votes.legislators):,} legislators, such as {votes.legislators[0]!r}, is one "
            f"of the {len(names):,} of the checkpoint, such as {names[0]!r}"
        )
    record_note(source, "known votes of legislators whom the checkpoint does not know, left out", left_out)
    return votes_by_bill


class VoteAnswers:
    """Answers to rows of a user's file: to a row of a bill how everyone votes, to a row of a vote how that one votes.

    A row is of a vote where the file has a column of legislators. A bill that was in the training, by its name, is read
    as that one; others are new.

    Args:
        model: Model of votes that makes the predictions.
        columns: Column names of the user's file.
        texts: Text of each bill, by the bill's name, for files without texts; None: none.
        known: Known votes that the model may read, 1 yea or 0 nay, by the names of bill and legislator.
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
        self.texts, self.known = texts, known or {}
        self.names = get_legislator_names(model)
        self.places = {name: place for place, name in enumerate(self.names)}
        self.bills = {name: row for row, name in enumerate(model.config.get_bill_names())}
        self.work = self._compute_yeas
        self.predicted: dict[Bill, npt.NDArray[np.float32]] = {}  # (U,) of a yea, each
        self.rows = self.strangers = self.silent = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Predict the votes of each row and return the answers in order; None for a row that is left out.

        Raises:
            TextFormatError: Neither a bill nor a text in the columns; a row that cannot be answered, unless bad rows
                are left out.
        """
        columns = VoteColumns(text=TEXT) if stream.kind == LINES else self.columns
        named = list_column_names(columns.text)
        absent = [name for name in named if rows and name not in rows[0]]
        if 0 < len(absent) < len(named):
            raise TextFormatError(f"{stream.name}: no column {absent[0]!r} of texts; there are {list(rows[0])}")
        if rows and columns.bill not in rows[0] and absent:
            raise TextFormatError(
                f"{stream.name}: neither a column {columns.bill!r} of bills nor {absent[0]!r} of their texts; there "
                f"are {list(rows[0])} (or set `no_header`, where that is a row)"
            )
        questions: list[tuple[Bill, str | None] | None] = []
        for row in rows:
            location = f"{stream.name}, row {self.rows}"
            try:
                questions.append(self._read_bill_and_legislator(row, columns))
            except TextFormatError as error:
                skip_or_raise(location, TextFormatError(f"{location}: {error}"))
                questions.append(None)
            self.rows += 1
        self._predict_bills([question[0] for question in questions if question is not None])
        record_note(stream.name, "rows of legislators whom the checkpoint does not know, left out", self.strangers)
        record_note(stream.name, "rows of bills without a text, read as texts without a word", self.silent)
        names = {bill.name for bill in self.predicted}
        record_note(stream.name, "bills of the training, by their names", len(names & self.bills.keys()))
        record_note(stream.name, "bills of which known votes are read", len(names & self.known.keys()))
        return [None if question is None else self._build_answer(*question) for question in questions]

    def _read_bill_and_legislator(self, row: Row, columns: VoteColumns) -> tuple[Bill, str | None] | None:
        """Return the bill of a row and its legislator, if any; None for a legislator unknown to the model."""
        name = convert_to_text(row.get(columns.bill)) or ""
        names = list_column_names(columns.text)
        parts = [convert_to_text(row.get(name)) or "" for name in names]
        text = (join_texts(parts) if len(parts) > 1 else parts[0]) or (self.texts or {}).get(name)
        if not self.model.reads_new_bills:
            if name not in self.bills:
                raise TextFormatError(f"the bill {name!r} was not in the training of this model, which reads no others")
        elif text is None:
            if names[0] not in row and self.texts is None:
                raise TextFormatError(
                    f"this model reads what a bill says, and there is no column {names[0]!r}; give the texts with "
                    "--texts, or name their column with --text_column"
                )
            self.silent += 1
        who = convert_to_text(row[columns.legislator]) if columns.legislator in row else None
        if who is not None and who not in self.places:
            self.strangers += 1
            return None
        return Bill(name, text or ""), who

    def _predict_bills(self, bills_to_predict: Sequence[Bill]) -> None:
        """Predict all legislators' votes on the bills without a prediction, and keep them in `predicted`."""
        bills = [bill for bill in dict.fromkeys(bills_to_predict) if bill not in self.predicted]
        if bills:
            self.predicted |= dict(zip(bills, self.work(bills), strict=True))

    @torch.no_grad()
    def _compute_yeas(self, bills: Sequence[Bill]) -> list[npt.NDArray[np.float32]]:
        """Return the probability of a yea of each legislator, (U,), to each bill, whatever the other bills are."""
        number, bills = len(bills), [*bills, *[bills[0]] * count_filling_rows(len(bills))]
        votes = torch.full((len(bills), len(self.names)), torch.nan)
        for row, bill in enumerate(bills):
            for name, vote in self.known.get(bill.name, {}).items():
                votes[row, self.places[name]] = vote
        ids = torch.tensor([self.bills.get(bill.name, NEW_BILL) for bill in bills])
        device, kind = self.model.device, self.model.dtype
        bags = self.model.bags_of_words([bill.text for bill in bills])
        with in_evaluation_mode(self.model):
            logits = self.model(
                bag_of_words=bags.to(device, kind), bill_ids=ids.to(device), votes=votes.to(device, kind)
            ).logits
        return list(logits.float().sigmoid().cpu().numpy()[:number])

    def _build_answer(self, bill: Bill, legislator: str | None) -> Answer:
        """Return the answer that is written for a bill: the vote of one legislator, or with None those of all."""
        yeas = self.predicted[bill]
        if legislator is not None:
            yea = float(yeas[self.places[legislator]])
            vote = {"predicted_vote": "yea" if yea > 0.5 else "nay", "predicted_yea": yea}
            return Answer(fields=vote, cells=[vote], alone={"legislator": legislator, "bill": bill.name, **vote})
        of_all = dict(zip(self.names, yeas.tolist(), strict=True))
        cells = [{"predicted_legislator": name, "predicted_yea": yea} for name, yea in of_all.items()]
        named = {"bill": bill.name} if bill.name else {}
        return Answer(fields={"yea": of_all}, cells=cells, alone={**named, "text": bill.text, "yea": of_all})


class VotePipeline(RowPipeline):
    """Predicts how legislators vote on bills: texts of new ones, or dicts of `bill`, its name, `text`, `legislator`.

    A bill of the training, by its name, is read as that one. The option `known` has known votes on bills, 1 yea or 0
    nay, by the names of bill and legislator; a new bill without a name is "".
    """

    depth = 0

    def build_answers(self, *, known: KnownVotes | None = None) -> VoteAnswers:
        """Build the object that predicts votes; `known` are votes that the model is told."""
        names = set(get_legislator_names(self.model))
        unknown = [name for votes in (known or {}).values() for name in votes if name not in names]
        if unknown:
            raise ValueError(f"known has a vote of {unknown[0]!r}, whom the model does not know; leave it out")
        return VoteAnswers(self.model, VoteColumns(), known=known)

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a bill's text or a row, as a row."""
        return (
            dict(pipeline_input)
            if isinstance(pipeline_input, Mapping)
            else {VoteColumns().bill: "", TEXT: pipeline_input}
        )
