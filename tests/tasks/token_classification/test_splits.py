from __future__ import annotations

import datasets
import pytest

from ctxzoo.tasks.token_classification.splits import split_rows


def rows_of(**files: list[str]) -> dict[str, tuple[str, list[int]]]:
    splits = {name: datasets.Dataset.from_dict({"file": column}) for name, column in files.items()}
    return {name: (source, rows.tolist()) for name, (source, rows) in split_rows(splits).items()}


def test_splits_that_are_there_stay():
    found = rows_of(train=["a"] * 4, validation=["a"] * 2, test=["a"])
    assert found == {"train": ("train", [0, 1, 2, 3]), "validation": ("validation", [0, 1]), "test": ("test", [0])}
    assert rows_of(test=["a"] * 2) == {"test": ("test", [0, 1])}


def test_the_last_tenth_of_train_is_validation():
    found = rows_of(train=["a"] * 25, test=["b"])
    assert found["train"] == ("train", list(range(23)))
    assert found["validation"] == ("train", [23, 24])
    with pytest.raises(ValueError, match="train split has 9 sentences; a tenth of it is no validation"):
        rows_of(train=["a"] * 9, test=["b"])


def test_files_are_dealt_out_by_the_order_of_their_first_sentence():
    files = [f"f{number:02}" for number in reversed(range(20)) for _ in range(number % 3 + 1)]
    found = rows_of(train=[*files, "f19"])  # a sentence of the first file, far from the others
    parts = {name: [[*files, "f19"][row] for row in rows] for name, (source, rows) in found.items()}
    assert {source for source, _ in found.values()} == {"train"}
    assert set(parts["validation"]) == {"f11", "f01"}  # the ninth and the nineteenth
    assert set(parts["test"]) == {"f10", "f00"}
    assert len(set(parts["train"])) == 16
    assert sorted(row for _, rows in found.values() for row in rows) == list(range(len(files) + 1))
    assert len(files) in found["train"][1]


def test_a_validation_split_of_its_own_leaves_the_rest_to_train():
    found = rows_of(train=[f"f{number}" for number in range(10)], validation=["x"])
    assert found == {"train": ("train", list(range(9))), "validation": ("validation", [0]), "test": ("train", [9])}


def test_what_cannot_be_cut_is_said():
    with pytest.raises(ValueError, match="the train split has 9 files; expected 10 or more"):
        rows_of(train=[f"f{number}" for number in range(9)])
    with pytest.raises(ValueError, match=r"no test split, only \['validation'\], and no train split"):
        rows_of(validation=["a"])
    with pytest.raises(ValueError, match=r"no test split, only \['train'\], and no column 'file'"):
        split_rows({"train": datasets.Dataset.from_dict({"tokens": [["a"]]})})
