"""Tables of numbers, of which one column is predicted from others, each divided at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.catalogue.entry import Entry, Files, RawFile, RawFileError, Splits
from ctxzoo.catalogue.order import rows_to_columns, split_randomly
from ctxzoo.catalogue.read_lines import parse_csv_rows

SPLIT_SEED = 1000


@dataclass(frozen=True)
class NumberTable:
    """A file of columns, with their names in its first line.

    Attributes:
        file: Name of the file with the table.
        features: Columns that become the features `x` of a row, in this order; empty: the number of the row, from 0, is
            the only feature.
        target: Column with the target of the regression.
    """

    file: str
    features: tuple[str, ...]
    target: str


def make_number_table_converter(tables: Mapping[str, NumberTable]) -> Callable[[Files], Splits]:
    """Return a function that converts CSV tables to rows with a number, features `x` and target `y`.

    Args:
        tables: Name of each configuration of the dataset to its table.
    """

    def convert(files: Files) -> Splits:
        """Return the splits of every table, divided at random."""
        return {
            f"{name}/{split}": rows_to_columns(rows)
            for name, table in tables.items()
            for split, rows in split_randomly(_read_number_rows(files[table.file], table), "row", SPLIT_SEED).items()
        }

    return convert


def _read_number_rows(path: Path, table: NumberTable) -> Iterator[dict[str, Any]]:
    """Yield each row of a table: its number, its features x and its target y."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(parse_csv_rows(file, path.name, (*table.features, table.target))):
            if line[table.target] == table.target:
                return  # an earlier commit of Parkinson's has the whole file twice, one copy after the other
            features = [_parse_cell_as_number(path, number, line, name) for name in table.features]
            target = _parse_cell_as_number(path, number, line, table.target)
            yield {"row": number, "x": features or [float(number)], "y": target}


def _parse_cell_as_number(path: Path, row: int, line: Mapping[str, str | None], column: str) -> float:
    """Return the number in one column of a line; `row` is its number, for errors."""
    text = line[column]
    try:
        return float(text or "")
    except ValueError as error:
        raise RawFileError(f"{path.name}, row {row}, column {column!r}: {text!r}; expected a number") from error


_GITHUB = "https://raw.githubusercontent.com"
_FOLDERS = {
    "airline": f"{_GITHUB}/jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f",
    "co2": f"{_GITHUB}/datasets/co2-ppm/146bdc608e1078d3e28e7a5d4755fdc316ffed2d/data",
    "concrete": f"{_GITHUB}/aslanovmustafa/concrete/b3a1cbbb9b6297b9b737a90721138693c18aa339",
    "parkinsons": f"{_GITHUB}/behnazrzf/Parkinson-s_Telemonitoring/f603774b38bfc967f20b4752bec4b6f872917d98/data",
}
NUMBER_TABLES = {
    "airline": NumberTable("airline-passengers.csv", (), "Passengers"),
    # In the rows of this file "Interpolated" is the mean with the season taken out.
    "co2": NumberTable("co2-mm-mlo.csv", ("Average",), "Interpolated"),
    "concrete": NumberTable(
        "Concrete_Data.csv", ("Cement", "BFS", "FAsh", "Water", "Superplasticizer", "CA", "FA", "Age"), "CCS"
    ),
    "parkinsons": NumberTable(
        "parkinsons_updrs.data",
        (
            *("subject#", "age", "sex", "test_time"),
            *("Jitter(%)", "Jitter(Abs)", "Jitter:RAP", "Jitter:PPQ5", "Jitter:DDP"),
            *("Shimmer", "Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "Shimmer:APQ11", "Shimmer:DDA"),
            *("NHR", "HNR", "RPDE", "DFA", "PPE"),
        ),
        "total_UPDRS",
    ),
}

ENTRIES = (
    Entry(
        name="ctxzoo-data/ika_regression",
        description=(
            "Four small sets of numbers with a target, after those of the code of Implicit Kernel Attention (Song et "
            "al. 2021): 144 monthly totals of airline passengers by the number of the month; 820 monthly means of CO2 "
            "on Mauna Loa, from 1958 to 2026; the compressive strength of 1,030 samples of concrete by 8 features; and "
            "the total UPDRS of 5,875 recordings of people with Parkinson's by 20 features."
        ),
        licence=(
            "CO2: ODC-PDDL (NOAA); Parkinson's: CC BY 4.0 (UCI); none is stated where the passengers and the concrete "
            "(UCI) come from"
        ),
        source=(
            "GitHub jbrownlee/Datasets, commit d20fcb6, datasets/co2-ppm, commit 146bdc6, aslanovmustafa/concrete, "
            "commit b3a1cbb, and behnazrzf/Parkinson-s_Telemonitoring, commit f603774"
        ),
        how=(
            "Rows are in the order of the files, numbers as they are. Of a permutation of each set by numpy's "
            "generator with seed 1000 the first 80 % are for training, the next and the last 10 % for validation and "
            "test. In co2 `x` is the mean of the month, not its date, and `y` is that mean with the season taken out, "
            "which the file's first line calls Interpolated. In parkinsons the first feature is the number of the "
            "person, and motor UPDRS is left out. IKA's code divides anew into 90 % and 10 %."
        ),
        uses=("regression_ika",),
        megabytes=0.5,
        kinds={"row": "int32", "x": "float64s", "y": "number"},
        files=tuple(RawFile(f"{_FOLDERS[name]}/{table.file}") for name, table in NUMBER_TABLES.items()),
        convert=make_number_table_converter(NUMBER_TABLES),
    ),
)
