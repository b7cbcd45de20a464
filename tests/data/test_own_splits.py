"""A user's rows: who is on which side, what is said of it, and what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pytest

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.own_splits import (
    OwnRows,
    draw_stratified_group_split,
    hash_normalized_text,
    merge_groupings,
    number_groups_by_key,
    write_own_splits,
)

TENTHS = {"validation": 0.1, "test": 0.1}
Numbers = npt.NDArray[np.int64]


def numbers(*values: int) -> Numbers:
    return np.array(values, np.int64)


def rows_of(texts: list[str], labels: list[int] | None = None, **changes: Any) -> OwnRows:
    split = datasets.Dataset.from_dict({"text": texts, "label": labels or [0] * len(texts)})
    values: dict[str, Any] = {
        "splits": {"train": split},
        "groups": number_groups_by_key({"train": map(hash_normalized_text, texts)}),
        "unit": "texts",
        "together": "equal texts",
        "labels": None if labels is None else np.array(labels),
        "label_names": ["bad", "good", "odd"],
    }
    return OwnRows(**{**values, **changes})


def test_every_class_has_its_proportion_in_each_part() -> None:
    labels = np.repeat([0, 1], [400, 100])
    parts = draw_stratified_group_split(np.arange(500), labels, TENTHS, seed=3)
    assert {name: np.bincount(labels[rows]).tolist() for name, rows in parts.items()} == {
        "train": [320, 80],
        "validation": [40, 10],
        "test": [40, 10],
    }
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(500))


def test_a_seed_decides_the_draw() -> None:
    first, again, other = (draw_stratified_group_split(np.arange(100), None, TENTHS, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["test"], other["test"])


def test_a_group_is_on_one_side() -> None:
    groups = np.random.default_rng(0).integers(30, size=400)
    parts = draw_stratified_group_split(groups, None, TENTHS, seed=0)
    sides = [set(groups[rows].tolist()) for rows in parts.values()]
    assert sum(map(len, sides)) == len(set.union(*sides)) == 30
    assert all(sides)


def test_parts_of_unequal_groups_are_near_their_fraction() -> None:
    groups = np.repeat(np.arange(40), np.arange(1, 41))  # 820 rows
    parts = draw_stratified_group_split(groups, None, TENTHS, seed=5)
    assert abs(len(parts["validation"]) - 82) <= 40
    assert abs(len(parts["test"]) - 82) <= 40


def test_one_large_group_leaves_rows_for_every_part() -> None:
    groups = np.concatenate([np.zeros(100, np.int64), numbers(1, 2)])
    parts = draw_stratified_group_split(groups, None, TENTHS, seed=0)
    assert sorted(len(rows) for rows in parts.values()) == [1, 1, 100]


def test_a_class_with_too_few_groups_is_in_the_rest() -> None:
    labels = np.repeat([0, 1, 2], [60, 2, 3])
    parts = draw_stratified_group_split(np.arange(65), labels, TENTHS, seed=0)
    assert not {1} & set(labels[parts["validation"]]) | {1} & set(labels[parts["test"]])
    assert (labels[parts["train"]] == 1).sum() == 2
    assert all((labels[rows] == 2).sum() == 1 for rows in parts.values())


def test_groups_that_share_a_row_are_one() -> None:
    first = {"train": numbers(0, 0, 1, 2), "test": numbers(3, 2)}
    second = {"train": numbers(0, 1, 1, 2), "test": numbers(3, 4)}
    joined = merge_groupings(first, second)
    train, test = joined["train"], joined["test"]
    assert train[0] == train[1] == train[2]  # 0 and 1 by the first, 1 and 2 by the second
    assert len({int(train[0]), int(train[3]), int(test[0])}) == 3
    assert test[1] == train[3]


@pytest.mark.parametrize("other", ["The  Lamp is\tbright", "the lamp is bright "])
def test_texts_that_differ_in_blanks_and_case_are_equal(other: str) -> None:
    assert hash_normalized_text(other) == hash_normalized_text("the lamp is bright")
    assert hash_normalized_text(other) != hash_normalized_text("the lamp is not bright")


def test_what_is_written_is_read_again_with_its_labels(tmp_path: Path) -> None:
    texts, labels = [f"text {i}" for i in range(40)], [i % 2 for i in range(40)]
    own = rows_of(texts, labels)
    named = {"train": own.splits["train"].cast_column("label", datasets.ClassLabel(names=["bad", "good"]))}
    written = write_own_splits(OwnRows(**{**vars(own), "splits": named}), "mine.csv", tmp_path)
    loaded = datasets.load_dataset(str(written.folder), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in loaded.items()} == written.sizes
    assert sorted(text for split in loaded.values() for text in split["text"]) == sorted(texts)
    assert loaded["test"].features["label"].names == ["bad", "good"]
    assert written.lines == (
        "mine.csv: 40 texts: 32 train, 4 validation, 4 test (validation and test drawn from train with seed 0, every "
        "label in proportion, equal texts on one side)",
    )


def test_the_same_rows_are_written_once_and_others_elsewhere(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(40)]
    first = write_own_splits(rows_of(texts), "a.csv", tmp_path).folder
    assert write_own_splits(rows_of(texts), "b.csv", tmp_path).folder == first
    assert write_own_splits(rows_of([*texts[:-1], "another"]), "a.csv", tmp_path).folder != first


def test_files_of_their_own_stay_as_they_are_and_shared_texts_are_told(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(40)]
    split = datasets.Dataset.from_dict({"text": ["TEXT 1", "new", "text 2 "], "label": [0, 0, 0]})
    own = rows_of(texts)
    splits = {**own.splits, "test": split}
    groups = number_groups_by_key({name: map(hash_normalized_text, one["text"]) for name, one in splits.items()})
    written = write_own_splits(OwnRows(**{**vars(own), "splits": splits, "groups": groups}), "mine.csv", tmp_path)
    assert written.sizes == {"train": 36, "validation": 4, "test": 3}
    assert written.lines[1] == "note: 2 of the 3 texts of test share equal texts with train"


def test_a_label_that_only_train_has_is_told(tmp_path: Path) -> None:
    labels = [0] * 20 + [1] * 20 + [2]
    written = write_own_splits(rows_of([f"text {i}" for i in range(41)], labels), "mine.csv", tmp_path)
    assert written.lines[1:] == (
        "note: label 'odd' with 1 text, all in train: it is neither validated nor tested; add some, or "
        "correct it where it is a slip",
    )


def test_many_rare_labels_are_told_in_one_line(tmp_path: Path) -> None:
    rows = rows_of([f"text {i}" for i in range(44)], [0] * 20 + [1] * 20 + [2, 3, 4, 5])
    rows = OwnRows(**{**vars(rows), "label_names": ["good", "bad", "odd", "even", "so", "no"]})
    assert write_own_splits(rows, "mine.csv", tmp_path).lines[1:] == (
        "note: 4 labels ('odd', 'even', 'so' …) with 4 texts, all in train: they are neither validated nor tested; add "
        "some, or correct them where they are slips",
    )


def test_labels_are_counted_in_the_splits_themselves(tmp_path: Path) -> None:
    """Each text stands once as good and once as bad: its group counts as bad, but both are in every split."""
    texts = [f"text {i // 2}" for i in range(40)]
    written = write_own_splits(rows_of(texts, [i % 2 for i in range(40)]), "mine.csv", tmp_path)
    for split in ("train", "validation", "test"):
        assert set(
            datasets.Dataset.from_parquet(str(written.folder / f"{split}.parquet"), cache_dir=str(tmp_path))["label"]
        ) == {0, 1}
    assert len(written.lines) == 1


def test_a_label_that_one_drawn_split_lacks_is_told(tmp_path: Path) -> None:
    """Its only row stands beside a text of validation, or of test."""
    texts = [f"text {i}" for i in range(20)]
    told: set[str] = set()
    for place in range(20):
        rows = rows_of([*texts, texts[place]], [i % 2 for i in range(20)] + [2])
        told.update(write_own_splits(rows, "mine.csv", tmp_path / str(place)).lines[1:])
    said = (
        "all in train: it is neither validated nor tested",
        *("none in test: it is not tested", "none in validation: it is not validated"),
    )
    end = "; add some, or correct it where it is a slip"
    assert told == {f"note: label 'odd' with 1 text, {where}{end}" for where in said}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", "b", "c"], "mine.csv has 3 texts; expected 10 or more, to train, validate and test on: add some"),
        (["a", "A"] * 6, "of 12 texts none is left for validation, since equal texts stay on one side; add others"),
    ],
)
def test_too_little_to_divide(texts: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(TextFormatError, match=message):
        write_own_splits(rows_of(texts), "mine.csv", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_without_training_rows(tmp_path: Path) -> None:
    own = rows_of(["a"])
    with pytest.raises(TextFormatError, match=r"mine has the splits \['test'\], none to train on"):
        write_own_splits(OwnRows(**{**vars(own), "splits": {"test": own.splits["train"]}}), "mine", tmp_path)
