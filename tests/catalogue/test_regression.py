from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.regression import SPLIT_SEED, NumberTable, make_number_table_converter

CONVERT = make_number_table_converter(
    {"months": NumberTable("m.csv", (), "sold"), "wine": NumberTable("w.csv", ("age", "ph"), "y")}
)
MONTHS = "".join(['"month","sold"\n', *(f'"1949-{month:02}",{100 + month}\n' for month in range(20))])


def written(folder: Path, wine: str, months: str = MONTHS) -> dict[str, Path]:
    files = {"m.csv": folder / "m.csv", "w.csv": folder / "w.csv"}
    files["m.csv"].write_bytes(months.encode())
    files["w.csv"].write_bytes(wine.encode())
    return files


def test_rows_are_divided_and_keep_their_number(tmp_path: Path) -> None:
    splits = CONVERT(written(tmp_path, "age,ph,y\n1,2,3\n"))
    drawn = np.random.default_rng(SPLIT_SEED).permutation(20)
    for split, part in (("train", drawn[:16]), ("validation", drawn[16:18]), ("test", drawn[18:])):
        expected = sorted(part.tolist())
        assert splits[f"months/{split}"] == {
            "row": expected,
            "x": [[float(row)] for row in expected],
            "y": [100.0 + row for row in expected],
        }


def test_features_are_taken_by_name_in_the_order_of_the_table(tmp_path: Path) -> None:
    text = "\ufeffph,y,age,z\r\n3.5 ,2.6e-005,1,no,-9.99\r\n" + "0,0,0,\r\n" * 9
    splits = CONVERT(written(tmp_path, text))
    parts = [splits[f"wine/{split}"] for split in ("train", "validation", "test")]
    assert [len(part["row"]) for part in parts] == [8, 1, 1]
    rows = {row: (x, y) for part in parts for row, x, y in zip(part["row"], part["x"], part["y"], strict=True)}
    assert sorted(rows) == list(range(10))
    assert rows[0] == ([1.0, 3.5], 2.6e-5)


def test_a_copy_behind_the_table_is_left_out(tmp_path: Path) -> None:
    table = "age,ph,y\n" + "1,2,3\n" * 10
    once = CONVERT(written(tmp_path, table))
    assert CONVERT(written(tmp_path, table + table)) == once


def test_what_is_not_in_the_form_of_the_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(RawFileError, match=r"w\.csv has the columns \['age', 'y'\]; expected 'ph'"):
        CONVERT(written(tmp_path, "age,y\n1,2\n"))
    with pytest.raises(RawFileError, match=r"w\.csv, row 1, column 'ph': 'old'; expected a number"):
        CONVERT(written(tmp_path, "age,ph,y\n1,2,3\n1,old,3\n"))
    with pytest.raises(RawFileError, match=r"w\.csv, row 0, column 'y': None; expected a number"):
        CONVERT(written(tmp_path, "age,ph,y\n1,2\n"))
    with pytest.raises(RawFileError, match=r"m\.csv has the columns \[\]; expected 'sold'"):
        CONVERT(written(tmp_path, "age,ph,y\n1,2,3\n", months=""))
