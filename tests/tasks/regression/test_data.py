"""Rows of numbers: read, checked, divided and scaled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.regression.data import RegressionDataModule, Scaling, draw_random_split
from ctxzoo.tasks.regression.experiments import get_dataset_arguments
from ctxzoo.tasks.regression.reader import check_rows, read_rows, sample_rows


def test_a_file_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,price,b\n1,10,0.5\n2,20,-1\n")
    found = read_rows(str(path), target_column="price")
    assert (found.feature_names, found.target_name) == (["a", "b"], "price")
    assert found.splits["train"].features.tolist() == [[1.0, 0.5], [2.0, -1.0]]
    assert found.splits["train"].targets.tolist() == [10.0, 20.0]
    assert read_rows(str(path)).target_name == "b"  # the last, where none is named y


@pytest.mark.parametrize(
    ("columns", "target", "message"),
    [
        ({"a": ["x", "z"], "y": [1.0, 2.0]}, None, "column 'a' begins with 'x', which is no number"),
        ({"a": [1.0, None], "y": [1.0, 2.0]}, None, "row 1: no finite number in 'a'"),
        ({"a": [1.0, 2.0], "y": [1.0, float("inf")]}, None, "row 1: no finite number in 'y'"),
        ({"a": [1.0], "y": [1.0]}, "price", "no column 'price' to predict; there are"),
        ({"y": [1.0]}, None, "expected a target and others to predict it from"),
        ({"x": [[1.0], [1.0, 2.0]], "y": [1.0, 2.0]}, None, "row 1: 2 numbers in 'x'; expected 1"),
        ({"x": [[1.0, 2.0], [3.0, float("nan")]], "y": [1.0, 2.0]}, None, "row 1: no finite number in 'x1'"),
        ({"x": [[1.0], [None]], "y": [1.0, 2.0]}, None, "row 1: no finite number in 'x0'"),
    ],
)
def test_what_is_refused(columns: dict[str, Any], target: str | None, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        check_rows({"train": datasets.Dataset.from_dict(columns)}, target)


def test_scaling_is_that_of_the_training_rows_alone() -> None:
    data = RegressionDataModule("sample", split_number=3)
    data.setup()
    train = data.features[data.row_indices("train")]
    scaled = data.scale_all_features()
    assert np.allclose(scaled[data.row_indices("train")].min(axis=0), -1)
    assert np.allclose(scaled[data.row_indices("train")].max(axis=0), 1)
    assert np.allclose(data.scaling.scales[:-1], np.ptp(train, axis=0) / 2)
    assert Scaling.from_rows(np.ones((3, 1)), np.array([1.0, 2.0, 5.0])) == Scaling([1.0, 3.0], [1.0, 2.0])


def test_all_rows_are_one_sequence_and_targets_of_one_split_are_known() -> None:
    data = RegressionDataModule("sample")
    data.setup()
    seen = torch.zeros(160, dtype=torch.long)
    for split in ("train", "validation", "test"):
        (batch,) = data.split_dataloader(split)
        assert batch["inputs_embeds"].shape == (1, 160, 3)
        known = ~batch["labels"][0, :, 0].isnan()
        assert known.nonzero().flatten().tolist() == data.row_indices(split).tolist()
        seen += known
    assert seen.tolist() == [1] * 160


def test_many_training_rows_are_read_in_parts_that_differ_by_epoch() -> None:
    data = RegressionDataModule("sample", rows_per_step=50, seed=1)
    data.setup()
    train = data.row_indices("train")
    loader = data.train_dataloader()
    drawn = []
    for epoch in (0, 1):
        loader.sampler.set_epoch(epoch)  # type: ignore[attr-defined]
        batches = list(loader)
        assert sorted(batch["inputs_embeds"].size(1) for batch in batches) == [40, 40, 40]  # of 120, not 50, 50, 20
        places = torch.cat([batch["row"] for batch in batches])
        assert sorted(places.tolist()) == list(range(120))
        whole = data.batches("train")
        for batch in batches:
            rows = train[batch["row"].numpy()]
            assert np.allclose(batch["inputs_embeds"][0], data.scale_all_features()[rows], atol=1e-6)
            assert np.allclose(batch["labels"][0, :, 0], whole.labels[rows], atol=1e-6)
            assert batch["attention_mask"].all()
        drawn.append(places.tolist())
    assert drawn[0] != drawn[1]
    (validation,) = data.val_dataloader()
    assert validation["inputs_embeds"].shape == (1, 160, 3)
    all_at_once = RegressionDataModule("sample", rows_per_step=120)
    all_at_once.setup()
    (batch,) = all_at_once.train_dataloader()
    assert batch["inputs_embeds"].shape == (1, 160, 3)
    with pytest.raises(ValueError, match="rows_per_step=1: expected 2 or more"):
        RegressionDataModule("sample", rows_per_step=1)


def test_random_splits() -> None:
    alone = np.arange(100)
    for protocol, sizes in (("validation", (80, 10, 10)), ("best_test", (90, 10, 10))):
        parts = draw_random_split(alone, 0, protocol)
        assert tuple(len(parts[name]) for name in ("train", "validation", "test")) == sizes
        assert set(parts["train"]).isdisjoint(parts["test"])
        assert np.unique(np.concatenate(list(parts.values()))).tolist() == alone.tolist()
    first, second = (draw_random_split(alone, seed, "validation")["test"].tolist() for seed in (0, 1))
    assert draw_random_split(alone, 0, "best_test")["test"].tolist() == first != second


def test_the_epoch_is_chosen_on_test_rows_in_the_authors_protocol_alone() -> None:
    chosen = draw_random_split(np.arange(100), 4, "best_test")
    assert chosen["validation"].tolist() == chosen["test"].tolist()
    ours = draw_random_split(np.arange(100), 4, "validation")
    assert set(ours["validation"]).isdisjoint(ours["test"])
    with pytest.raises(ValueError, match="a split_number with best_test"):
        RegressionDataModule("sample", protocol="best_test")


def test_data_that_cannot_be(tmp_path: Path) -> None:
    data = RegressionDataModule("sample")
    data.setup()
    with pytest.raises(ValueError, match="gives no 'dev' rows"):
        data.split_dataloader("dev")
    path = tmp_path / "few.csv"
    path.write_text("a,y\n1,2\n")
    few = RegressionDataModule(str(path), split_number=0)
    with pytest.raises(TextFormatError, match="has 1 row; expected 10 or more to divide"):
        few.setup()
    with pytest.raises(ValueError, match="has no configurations; leave it out"):
        read_rows("sample", config_name="airline")
    with pytest.raises(ValueError, match="seed is -1"):
        sample_rows(-1)


PERSONS = {
    "person": [*"aaaaabbbbbccccc"],
    "hour": [float(hour) for hour in range(15)],
    "weight": [1.0] * 15,
    "y": [float(hour % 5) for hour in range(15)],
}


@pytest.mark.parametrize("protocol", ["validation", "best_test"])
def test_rows_of_a_group_stay_together(tmp_path: Path, protocol: str) -> None:
    path = tmp_path / "persons.csv"
    datasets.Dataset.from_dict(PERSONS).to_csv(str(path))
    held_out = set()
    for number in range(12):
        data = RegressionDataModule(str(path), group_column="person", split_number=number, protocol=protocol)
        data.setup()
        assert data.load_checked_data().feature_names == ["hour", "weight"]  # words cannot be features
        persons = {split: {PERSONS["person"][row] for row in data.row_indices(split)} for split in data.splits}
        assert persons["test"].isdisjoint(persons["train"])
        assert persons["validation"].isdisjoint(persons["train"])
        assert (persons["validation"] == persons["test"]) == (protocol == "best_test")
        assert sum(len(data.row_indices(split)) for split in ("train", "test")) == (
            10 if protocol == "validation" else 15
        )
        held_out |= persons["test"]
    assert held_out == {"a", "b", "c"}


def test_groups_are_the_same_in_all_splits_and_orders() -> None:
    def rows(persons: str) -> datasets.Dataset:
        return datasets.Dataset.from_dict({"person": [*persons], "a": [1.0] * len(persons), "y": [0.0] * len(persons)})

    found = check_rows({"train": rows("abb"), "test": rows("cba")}, group_column="person").splits
    train, test = found["train"].groups, found["test"].groups
    assert train is not None
    assert test is not None
    assert (train[0], train[1], train[2]) == (test[2], test[1], test[1])
    assert len({*train, *test}) == 3


def test_chosen_columns_are_what_is_read() -> None:
    splits = {"train": datasets.Dataset.from_dict(PERSONS)}
    found = check_rows(splits, feature_columns=["weight", "hour"])
    assert (found.feature_names, found.splits["train"].features[3].tolist()) == (["weight", "hour"], [1.0, 3.0])
    assert found.splits["train"].groups is None
    lists = {"train": datasets.Dataset.from_dict({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "y": [0.0, 1.0]})}
    third = check_rows(lists, feature_columns=["x2"], group_column="x0").splits["train"]
    assert third.features.tolist() == [[3.0], [6.0]]
    assert third.groups is not None
    assert third.groups.tolist() == [0, 1]
    assert check_rows(lists, group_column="x0").feature_names == ["x1", "x2"]


def test_columns_that_cannot_be(tmp_path: Path) -> None:
    rows = datasets.Dataset.from_dict(PERSONS)
    with pytest.raises(TextFormatError, match="column 'y' is what is predicted; name others as features and groups"):
        check_rows({"train": rows}, feature_columns=["hour", "y"])
    with pytest.raises(TextFormatError, match="column 'y' is what is predicted"):
        check_rows({"train": rows}, group_column="y")
    with pytest.raises(TextFormatError, match=r"no column 'day'; there are .*, expected \['day'\]"):
        check_rows({"train": rows}, feature_columns=["day"])
    with pytest.raises(TextFormatError, match="no column 'patient' of groups; there are"):
        check_rows({"train": rows}, group_column="patient")
    with pytest.raises(TextFormatError, match="none is left to predict from"):
        check_rows({"train": rows.select_columns(["hour", "y"])}, group_column="hour")
    for nothing in (None, ""):
        gap = datasets.Dataset.from_dict({**PERSONS, "person": [*"aaaaabbbbbcccc", nothing]})
        with pytest.raises(TextFormatError, match="row 14: nothing in 'person'"):
            check_rows({"train": gap}, group_column="person")
    lists = {"x": [[1.0, 2.0]], "y": [0.0]}
    splits = {"train": datasets.Dataset.from_dict(lists), "test": datasets.Dataset.from_dict({**lists, "x": [[1.0]]})}
    with pytest.raises(TextFormatError, match="split 'test', row 0: 1 number in 'x'; expected 2"):
        check_rows(splits)
    path = tmp_path / "two.csv"
    rows.select(range(10)).to_csv(str(path))
    two = RegressionDataModule(str(path), group_column="person", split_number=0)
    with pytest.raises(TextFormatError, match="has 2 values in 'person'; expected 3 or more to divide by"):
        two.setup()


@pytest.mark.data
def test_persons_of_parkinsons_are_in_one_part() -> None:
    data = RegressionDataModule(**get_dataset_arguments("parkinsons"), group_column="x0", split_number=0)
    data.setup()
    assert data.features.shape == (5875, 19)
    groups = [rows.groups for rows in data.load_checked_data().splits.values()]
    assert len({number for each in groups if each is not None for number in each}) == 42
    sizes = [len(data.row_indices(split)) for split in ("train", "validation", "test")]
    assert sum(sizes) == 5875
    assert min(sizes[1:]) > 400
    assert max(sizes[1:]) < 800


@pytest.mark.data
def test_the_real_sets() -> None:
    expected = {"airline": (115, 14, 15, 1), "co2": (656, 82, 82, 1), "concrete": (824, 103, 103, 8)}
    expected["parkinsons"] = (4700, 587, 588, 20)
    for name, (train, validation, test, width) in expected.items():
        data = RegressionDataModule(**get_dataset_arguments(name))
        data.setup()
        assert tuple(len(data.row_indices(split)) for split in ("train", "validation", "test")) == (
            train,
            validation,
            test,
        )
        assert data.features.shape == (train + validation + test, width)


NUMBERS = st.one_of(st.floats(-1e30, 1e30), st.integers(-(2**53), 2**53), st.booleans())
ROWS = st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(ROWS, st.sampled_from(["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.csv.gz"]))
def test_numbers_are_those_that_pandas_wrote(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[Any]], name: str
) -> None:
    path = tmp_path_factory.mktemp("files") / name
    frame = pd.DataFrame({f"c{place}": [float(row[place]) for row in rows] for place in range(len(rows[0]))})
    whole = [float(row[0]).is_integer() and abs(float(row[0])) < 2**53 for row in rows]
    if all(whole):
        frame["c0"] = frame["c0"].astype("int64")
    if name == "a.parquet":
        frame.to_parquet(path)
    elif name == "a.jsonl":
        path.write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    else:
        frame.to_csv(path, index=False, sep="\t" if name == "a.tsv" else ",")
    found = read_rows(str(path)).splits["train"]
    assert np.column_stack([found.features, found.targets]).tolist() == frame.astype("float64").values.tolist()
