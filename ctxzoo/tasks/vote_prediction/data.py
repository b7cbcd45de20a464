"""Votes for Lightning: from a dataset, a long table or the generated sample to batches of bills and their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from torch.utils.data import Dataset

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.formats import Rows, TextFormatError
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.models.ops_vote_text import OUTCOME_WORDS, remove_outcomes, split_into_words
from ctxzoo.tasks.vote_prediction.experiments import MAX_WORDS
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, VoteSplits, read_votes, separate_votes

MIN_BILLS, MAX_FRACTION = 5, 0.5
NO_WORDS = ["-"]  # the words of a model whose training had no text: one, which is in none

Cells = npt.NDArray[np.float32]  # (bills, legislators) 1 yea, 0 nay, NaN unknown


def build_vocabulary(
    texts: Sequence[str],
    *,
    min_bills: int = MIN_BILLS,
    max_fraction: float = MAX_FRACTION,
    max_words: int = MAX_WORDS,
) -> list[str]:
    """Return the words of the bills' texts that a model reads, sorted.

    Left out are stop words, `OUTCOME_WORDS`, single letters, words of fewer than `min_bills` texts and of more than
    `max_fraction` of them; of more than `max_words` others the most frequent stay.
    """
    counts = Counter(word for text in texts for word in set(split_into_words(text)))
    most = max_fraction * len(texts)
    scored_words = [
        (-count, word)
        for word, count in counts.items()
        if min_bills <= count <= most and len(word) > 1 and word not in ENGLISH_STOP_WORDS and word not in OUTCOME_WORDS
    ]
    return sorted(word for _, word in sorted(scored_words)[:max_words])


def count_words_in_texts(texts: Sequence[str], words: Sequence[str]) -> csr_array:
    """Return (bills, V) counts of the words in texts, float32."""
    places = {word: place for place, word in enumerate(words)}
    rows, columns, values = [], [], []
    for row, text in enumerate(texts):
        for word, count in Counter(split_into_words(text)).items():
            if word in places:
                rows.append(row)
                columns.append(places[word])
                values.append(count)
    return csr_array((np.array(values, np.float32), (rows, columns)), shape=(len(texts), len(words)))


def get_model_names(config: Any) -> dict[str, Any]:
    """Return the `VoteDataModule` arguments by which data gets the legislators, bills and words of a trained model."""
    return {
        "legislator_names": [config.get_legislator_name(row) for row in range(config.num_legislators)],
        "known_bills": config.get_bill_names(),
        "words": config.words or [f"word {number}" for number in range(config.vocab_size)],
        "cut_outcomes": config.cut_outcomes,
    }


class VoteBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[rows]` is a whole batch, see `VoteDataModule`."""

    def __init__(self, data: VoteDataModule, split: str) -> None:
        self.data = data
        self.labels = data.vote_matrix(split)
        self.bills = np.flatnonzero(~np.isnan(self.labels).all(axis=1))

    def __len__(self) -> int:
        return len(self.bills)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return zeros (n,), since all bills are as long; batches sort by length."""
        return np.zeros(len(self), np.int64)

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the bills of these numbers as a batch: words (B, vocabulary), votes and labels (B, legislators)."""
        rows: Rows = np.asarray(numbers, np.int64)
        bills = self.bills[rows]
        return {
            "bag_of_words": torch.from_numpy(self.data.bags[bills].toarray()),
            "bill_ids": torch.from_numpy(self.data.bill_ids[bills]),
            "votes": torch.from_numpy(self.data.observed[bills]),
            "labels": torch.from_numpy(self.labels[bills]),
            "row": torch.from_numpy(bills),
        }


class VoteDataModule(BucketedDataModule[VoteSplits]):
    """Bills in random batches, each with its text and the votes of all legislators.

    The legislators are those of the training split, or those that are given; votes of others are left out and noted. A
    bill without a vote in the training is new: it has the id -1, and no known votes.

    A batch has `bag_of_words` (B, V) float32 counts, `bill_ids` (B,) int64, `votes` (B, U) float32, which are those of
    the training split and of no other, `labels` (B, U) float32, those of the split itself, and `row` (B,) int64, the
    places of the bills in the data. Votes are 1, 0, or NaN.

    Args:
        dataset: Data to read: "sample" (generated votes), or a Hub id, folder or file, as `read_votes` takes it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        configuration: Name of the dataset's configuration, such as "votes_new_bills"; default: its first.
        legislator_column, bill_column, vote_column, text_column, party_column: Names of the columns for legislator,
            bill, vote, text of the bill and party in a table of votes, as in `VoteColumns`.
        texts: File with the texts of bills, for votes without texts; None: none.
        cut_outcomes: Whether bracketed parts of a bill's text that reveal the outcome of the vote are removed, by
            `remove_outcomes`.
        min_bills, max_fraction, max_words: Limits of the vocabulary: least number of bills with a word, largest
            fraction of bills, largest number of words, as in `build_vocabulary`.
        legislator_names, known_bills, words: Names of legislators, names of bills, and vocabulary of an existing model;
            default: those of the training split.
        batch_size, eval_batch_size: Number of bills in a batch, in training and in evaluation.
        seed: Seed of the random order of batches.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`.
    """

    tokenizer = None  # words are counted, not tokenized

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        configuration: str | None = None,
        legislator_column: str = "legislator",
        bill_column: str = "bill",
        vote_column: str = "vote",
        text_column: ColumnNames = "text",
        party_column: str = "party",
        texts: str | None = None,
        cut_outcomes: bool = True,
        min_bills: int = MIN_BILLS,
        max_fraction: float = MAX_FRACTION,
        max_words: int = MAX_WORDS,
        legislator_names: Sequence[str] | None = None,
        known_bills: Sequence[str] | None = None,
        words: Sequence[str] | None = None,
        batch_size: int = 128,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        divide: bool = True,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
            pool_batches=1,
        )
        self.configuration = configuration
        self.columns = VoteColumns(legislator_column, bill_column, vote_column, text_column, party_column)
        self.texts_file = texts
        self.cut_outcomes = cut_outcomes
        self.word_limits = {"min_bills": min_bills, "max_fraction": max_fraction, "max_words": max_words}
        self.legislator_names = None if legislator_names is None else list(legislator_names)
        self.known_bills = None if known_bills is None else list(known_bills)
        self.words = None if words is None else list(words)
        self._cells: dict[str, Cells] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._cells)

    @property
    def groups(self) -> list[str]:
        """The party of each legislator, or ""; after `setup`."""
        assert self.legislator_names is not None
        of = dict(zip(self.load_checked_data().legislators, self.load_checked_data().groups, strict=True))
        return [of.get(name, "") for name in self.legislator_names]

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the data: sizes and names."""
        assert self.legislator_names is not None
        assert self.known_bills is not None
        assert self.words is not None
        return {
            "num_legislators": len(self.legislator_names),
            "num_bills": len(self.known_bills),
            "vocab_size": len(self.words),
            "legislator_names": self.legislator_names,
            "legislator_groups": self.groups,
            "bill_names": self.known_bills,
            "words": self.words,
            "cut_outcomes": self.cut_outcomes,
        }

    def vote_matrix(self, split: str) -> Cells:
        """Return the votes of a split as a matrix (bills, legislators) of 1, 0 and NaN.

        Raises:
            ValueError: there is no such split.
        """
        return self.get_split(self._cells, split)

    def setup(self, stage: str | None = None) -> None:
        """Number legislators, bills and words, and build the matrices of votes, on every process."""
        if self._cells:
            return
        data = self.load_checked_data()
        train = data.splits.get("train")
        if train is None and (self.legislator_names is None or self.known_bills is None or self.words is None):
            raise TextFormatError(
                f"dataset {self.dataset!r} has the splits {sorted(data.splits)}, none that says which legislators and "
                "bills there are; expected one named 'train'"
            )
        if self.legislator_names is None:
            assert train is not None
            self.legislator_names = [data.legislators[number] for number in np.unique(train.legislators)]
        if self.known_bills is None:
            assert train is not None
            self.known_bills = [data.bills[number] for number in np.unique(train.bills)]
        known = {name: number for number, name in enumerate(self.known_bills)}
        self.bill_ids = np.array([known.get(name, NEW_BILL) for name in data.bills], np.int64)
        texts = data.texts
        if self.cut_outcomes:
            texts = [remove_outcomes(text) for text in texts]
            cut = sum(one != other for one, other in zip(texts, data.texts, strict=True))
            record_note(
                self.dataset, "texts of bills, of which a part in brackets that tells how the vote ended is cut", cut
            )
        if self.words is None:
            of_training = [text for text, number in zip(texts, self.bill_ids, strict=True) if number >= 0]
            self.words = build_vocabulary(of_training, **self.word_limits) or NO_WORDS  # type: ignore[arg-type]
        self.bags = count_words_in_texts(texts, self.words)
        self._cells = {split: self.build_vote_matrix(data, split) for split in data.splits}
        shape = (len(data.bills), len(self.legislator_names))
        self.observed = self._cells.get("train", np.full(shape, np.nan, np.float32))

    def build_vote_matrix(self, votes: VoteSplits, split: str) -> Cells:
        """Return votes, also of other data, as a matrix (bills, legislators) of this data's bills and legislators."""
        assert self.legislator_names is not None
        rows_of_bills = {name: row for row, name in enumerate(self.load_checked_data().bills)}
        columns_of = {name: column for column, name in enumerate(self.legislator_names)}
        split_votes = votes.splits[split]
        rows = np.array([rows_of_bills.get(name, -1) for name in votes.bills], np.int64)[split_votes.bills]
        columns = np.array([columns_of.get(name, -1) for name in votes.legislators], np.int64)[split_votes.legislators]
        inside = (rows >= 0) & (columns >= 0)
        cells = np.full((len(rows_of_bills), len(columns_of)), np.nan, np.float32)
        cells[rows[inside], columns[inside]] = split_votes.votes[inside]
        return cells

    def batches(self, split: str, *, training: bool) -> VoteBatches:
        """Return the bills of a split on which a known legislator votes, to batch."""
        vote_batches = VoteBatches(self, split)
        unknown = len(self.load_checked_data().splits[split].votes) - int((~np.isnan(vote_batches.labels)).sum())
        record_note(
            f"{self.dataset}, split {split!r}", "votes of legislators that the model does not know, left out", unknown
        )
        if not len(vote_batches):
            raise TextFormatError(
                f"dataset {self.dataset!r}, split {split!r}: none of the {len(self.legislator_names or ()):,} known "
                "legislators votes in it"
            )
        return vote_batches

    def read_dataset(self) -> VoteSplits:
        """Read and check the votes of each split and the texts of the bills."""
        return read_votes(self.dataset, self.data_dir, self.configuration, columns=self.columns, texts=self.texts_file)

    def group_related_rows(self, checked: VoteSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return separate_votes(checked)
