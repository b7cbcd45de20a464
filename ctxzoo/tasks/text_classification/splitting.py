"""Which texts of a dataset train a classifier, choose its best epoch, and test it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import datasets
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ctxzoo.data.formats import SPLITS, Rows
from ctxzoo.data.own_splits import RowGroups, hash_normalized_text, number_groups_by_key
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.text_encoding import count_words
from ctxzoo.data.text_folds import DEV_SHARE, hold_out_row_blocks, hold_out_rows, split_stratified_fold
from ctxzoo.tasks.text_classification.label_sets import is_list_of_labels
from ctxzoo.tasks.text_classification.reader import TextSplits


class SplitTexts(NamedTuple):
    """The splits of a dataset.

    Attributes:
        texts: Dataset with the columns `text` and `label` from which each split selects its rows, by split name.
        rows: Row numbers of each split in its dataset of `texts`, ascending, by split name.
    """

    texts: dict[str, datasets.Dataset]
    rows: dict[str, Rows]


@dataclass(frozen=True, kw_only=True)
class TextSplitting:
    """How rows are divided into `train`, `validation` and `test`.

    With `folds`, all splits of the dataset are joined in this order; fold `fold` is `test`, `dev_share` of the rest is
    `validation`, and what remains is `train`; both draws keep the fraction of every class; where texts have several
    labels, rows are drawn at random. Without `folds` the dataset's own splits are read, and a missing `validation` is
    drawn from `train` in the same way. With a `dev_share` of 0 nothing is drawn, and `validation` may be missing. Where
    `folds`, `dev_share` and `dev_block` have their defaults, a DataModule divides rows that are all `train` by its own
    rule, see `CheckedDataModule`.

    Attributes:
        folds: Number of cross-validation folds; None: the dataset's own splits.
        fold: Number of the fold that is the test set, 0..folds-1.
        fold_seed: Seed of the folds and of the randomly drawn validation rows.
        dev_share: Fraction of the non-test rows that becomes the validation split, 0 or more and below 1.
        dev_block: Number of consecutive training rows of one class that are held out together, so that related texts
            stay in one split; 1: single rows. Not with `folds`.
        min_words: Least number of words, known or not, of a text; shorter texts are left out of every split first.
        train_rows: Number of rows drawn from `train`, for learning curves: `dev_share` of them become `validation`, the
            others and the only row of a label `train`, and the rows of the earlier `validation` become
            `test`; None: all rows as above.
        train_seed: Seed of these rows.

    Raises:
        ValueError: a value out of range.
    """

    folds: int | None = None
    fold: int = 0
    fold_seed: int = 0
    dev_share: float = DEV_SHARE
    dev_block: int = 1
    min_words: int = 0
    train_rows: int | None = None
    train_seed: int = 0

    def __post_init__(self) -> None:
        if self.folds is None and self.fold != 0:
            raise ValueError(f"fold={self.fold} without folds; give both")
        if not 0 <= self.dev_share < 1:
            raise ValueError(f"dev_share is {self.dev_share}; expected 0 or more, and less than 1")
        if self.dev_block < 1 or (self.dev_block > 1 and self.folds is not None):
            raise ValueError(
                f"dev_block is {self.dev_block}, folds {self.folds}; expected 1 or more rows, and 1 with folds"
            )
        if self.min_words < 0:
            raise ValueError(f"min_words is {self.min_words}; expected 0 (every text) or more")
        if self.train_rows is not None and (self.train_rows < 2 or not self.dev_share):
            raise ValueError(
                f"train_rows is {self.train_rows}, dev_share {self.dev_share}; expected 2 or more rows, some of which "
                "are held out"
            )

    @property
    def overrides_division(self) -> bool:
        """Whether `folds`, `dev_share` or `dev_block` decide how rows that are all `train` are divided."""
        return self.folds is not None or self.dev_share != DEV_SHARE or self.dev_block != 1

    def drop_short_texts(
        self, splits: dict[str, datasets.Dataset], pre_tokenizer: Tokenizer
    ) -> dict[str, datasets.Dataset]:
        """Return the splits without the texts that have fewer than `min_words` words.

        Args:
            splits: Dataset of each split, by split name, with a column `text`.
            pre_tokenizer: Pre-tokenizer that cuts texts into the words to be counted.

        Raises:
            ValueError: none is left of a split.
        """
        if self.min_words == 0:
            return splits
        long_texts = {}
        for name, texts in splits.items():
            rows = np.flatnonzero(count_words(pre_tokenizer, texts["text"][:]) >= self.min_words)
            if not len(rows):
                raise ValueError(f"min_words={self.min_words} leaves none of the {len(texts)} {name!r} texts; lower it")
            long_texts[name] = texts.select(rows)
        return long_texts

    def split(self, splits: dict[str, datasets.Dataset]) -> SplitTexts:
        """Divide the rows of a dataset, given by its own splits.

        Raises:
            ValueError: `train_rows` of data without train or validation rows.
        """
        split = (
            self._use_dataset_splits(splits)
            if self.folds is None
            else self._split_for_cross_validation(splits, self.folds)
        )
        return split if self.train_rows is None else self._draw_training_rows(split, self.train_rows)

    def _draw_training_rows(self, split: SplitTexts, number: int) -> SplitTexts:
        missing = [name for name in ("train", "validation") if name not in split.rows]
        if missing:
            raise ValueError(f"train_rows={number} needs rows of {' and '.join(missing)}; there are none")
        texts, labels = split.texts["train"], get_labels(split.texts["train"])
        rows = split.rows["train"]
        if number < len(rows):
            rows = rows[draw_rows_of_every_label(labels[rows], number, self.train_seed)]
        strata = _get_strata(texts)
        of_stratum = np.bincount(strata[rows])
        can_be_held_out = of_stratum[strata[rows]] > 1  # the only row of a label stays in train
        train, validation = hold_out_rows(strata, rows[can_be_held_out], self.dev_share, self.train_seed)
        train = np.sort(np.concatenate([train, rows[~can_be_held_out]]))
        return SplitTexts(
            {"train": texts, "validation": texts, "test": split.texts["validation"]},
            {"train": train, "validation": validation, "test": split.rows["validation"]},
        )

    def _split_for_cross_validation(self, splits: dict[str, datasets.Dataset], folds: int) -> SplitTexts:
        joined = datasets.concatenate_datasets([splits[name] for name in SPLITS if name in splits])
        labels = _get_strata(joined)
        training_rows, test = split_stratified_fold(labels, folds, self.fold, self.fold_seed)
        rows = {"train": training_rows, "test": test}
        if self.dev_share:
            rows["train"], rows["validation"] = hold_out_rows(labels, training_rows, self.dev_share, self.fold_seed)
        return SplitTexts(dict.fromkeys(rows, joined), rows)

    def _use_dataset_splits(self, splits: dict[str, datasets.Dataset]) -> SplitTexts:
        texts = dict(splits)
        rows: dict[str, Rows] = {name: np.arange(len(split)) for name, split in splits.items()}
        if "train" in splits and "validation" not in splits and self.dev_share:
            texts["validation"] = splits["train"]
            of = _get_strata(splits["train"]), rows["train"], self.dev_share
            rows["train"], rows["validation"] = (
                hold_out_rows(*of, self.fold_seed)
                if self.dev_block == 1
                else hold_out_row_blocks(*of, self.dev_block, self.fold_seed)
            )
        return SplitTexts(texts, rows)


def group_equal_texts(checked: TextSplits) -> RowGroups:
    """Group the rows that must stay in one split: equal texts; each split has every label in proportion."""
    return RowGroups(
        groups=number_groups_by_key(
            {name: map(hash_normalized_text, iterate_column(split["text"])) for name, split in checked.splits.items()}
        ),
        unit="texts",
        together="equal texts",
        labels=get_labels(checked.splits["train"]) if "train" in checked.splits else None,
        label_names=checked.label_names,
    )


def get_labels(texts: datasets.Dataset) -> npt.NDArray[np.int64]:
    """Return the labels (rows,) of texts; where a text may have several, 0 and 1 (rows, L), as int8."""
    feature = texts.features["label"]
    if is_list_of_labels(feature):
        lists = texts.with_format("arrow")[:].column("label").combine_chunks()
        marks: npt.NDArray[Any] = np.zeros((len(lists), len(feature.feature.names)), np.int8)
        marks[lists.value_parent_indices().to_numpy(), lists.flatten().to_numpy()] = 1
        return marks
    labels: npt.NDArray[np.int64] = texts.with_format("numpy", columns=["label"])[:]["label"]
    return labels


def _get_strata(texts: datasets.Dataset) -> npt.NDArray[np.int64]:
    """Return the classes (rows,) that draws keep in proportion: labels, or one for all where texts have several."""
    labels = get_labels(texts)
    return np.zeros(len(labels), np.int64) if labels.ndim == 2 else labels


def draw_rows_of_every_label(labels: npt.NDArray[np.int64], number: int, seed: int) -> Rows:
    """Draw a number of rows, ascending: the first of each label, and others at random.

    Args:
        labels: (rows,) class number of each row; or (rows, L) 0 and 1 where it may have several.
        number: Number of rows to draw, at least the number of labels.
        seed: Seed of the random draw.
    """
    several = labels.ndim == 2
    first = np.unique(labels.argmax(axis=0)[labels.any(axis=0)] if several else np.unique(labels, return_index=True)[1])
    others = np.setdiff1d(np.random.default_rng(seed).permutation(len(labels)), first, assume_unique=True)
    return np.sort(np.concatenate([first, others[: number - len(first)]]))
