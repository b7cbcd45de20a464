"""Tables of results as they are declared: which runs a row has, what a column shows of them, and what is compared.

A table is a `Table` of rows and columns. The runs of a cell are those of the table, its row and its column together,
see `select_alike_runs`; a `Difference` is a row of tests between two rows. Rows may be made from the results, where
those say which there are. `Trials` is a table with a row for each run. Both are called with all results and return
Markdown, below it the commands that run what is missing. A column of `STANDARD_COLUMNS` is declared by its heading.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ctxzoo.results import table_parts
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    append_commands,
    format_commands_not_run,
    format_markdown_table,
    format_setting_changes,
    format_trial_rows,
    make_seconds_column,
)
from reports.run_selection import Runs, Where, list_run_names, select_alike_runs, select_runs


@dataclass(frozen=True)
class Column:
    """A column: what it shows.

    Attributes:
        heading: Text in the head of the column; a column without functions shows the cells that rows give as text.
        show: Function from the runs of a cell to its text; None: cells show no scores.
        minus: Function from the runs of two rows to the text of their difference; None: the column shows none.
        total: Function from the runs of all cells of a row to one text, such as the number of parameters.
        where: Values that the runs of this column must have, in addition to those of the row.
        base: Values of the runs to which a column of differences compares, in place of the row's own.
        absent: Text of a cell without runs; empty: that of the row.
        partly: Text after a cell with too few runs, with the placeholders ``{have}`` and ``{need}``; empty: none.
        fill: Texts for the placeholders in the rows' commands, by placeholder name.
    """

    heading: str
    show: Callable[[Runs], str] | None = None
    minus: Callable[[Runs, Runs], str] | None = None
    total: Callable[[list[Runs]], str] | None = None
    where: Where = field(default_factory=dict)
    base: Where = field(default_factory=dict)
    absent: str = ""
    partly: str = ""
    fill: Mapping[str, str] = field(default_factory=dict)


AnyColumn: TypeAlias = Column | table_parts.Column | str  # the last: the heading of one of `STANDARD_COLUMNS`


def find_column(column: AnyColumn) -> Column:
    """Return a `Column` for a table's declared column, which may be a heading or a simpler column."""
    if isinstance(column, str):
        return STANDARD_COLUMNS[column]
    return column if isinstance(column, Column) else Column(column.heading, column.show)


Source: TypeAlias = Where | Runs | Callable[[Column], Where | Runs]


def pick_by_heading(runs_of_headings: Mapping[str, Runs]) -> Callable[[Column], Runs]:
    """Return a `source` for a `Row`: a function from a column to its runs, looked up by the column's heading."""
    return lambda column: runs_of_headings.get(column.heading, [])


@dataclass(frozen=True)
class Row:
    """A row of runs.

    Attributes:
        label: Text of the first cell, or texts of the first cells.
        source: Runs of the row: the values that they must have by field, the runs themselves, or a function from a
            column to either.
        base: Runs to which columns of differences compare the row, or the values in which they differ from it; None: no
            comparison.
        given: Fixed texts of cells, by heading of the column.
        behind: Texts appended to cells, by heading of the column.
        only: Headings of the columns in which the row has cells; empty: all.
        beside: Values of the reference runs, from which the row's label lists changed settings; None: none are listed.
        optional: Whether a row without runs is left out of the table.
        absent: Text of a cell without runs; default: not run.
        need: Number of runs that a complete cell has.
        seeds: Seeds that a complete cell has; empty: `need` tells a number of runs.
        command: Command lines that produce missing runs, or a function of the column to them; one that begins with an
            option is of the recipe of the runs. ``{missing}`` stands for the missing variants of all rows with the same
            command, ``{seeds}`` for the missing seeds, ``{NAME}`` for a column's `fill`: columns without it ask for
            nothing.
        variant: Text for ``{missing}`` in the command; empty: the variant of the row.
    """

    label: str | tuple[str, ...]
    source: Source
    base: Where | Runs | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, str] = field(default_factory=dict)
    only: Collection[str] = ()
    beside: Where | None = None
    optional: bool = False
    absent: str = NOT_RUN
    need: int = 1
    seeds: Sequence[int] = ()
    command: str | Callable[[Column], str] = ""
    variant: str = ""


@dataclass(frozen=True)
class Difference:
    """A row of the differences of one row to another in all columns that have a test.

    Attributes:
        label: Text of the first cell.
        ours: Runs that are compared: values that they must have, the runs, or a function from a column to either.
        base: Runs whose scores are subtracted, given in the same ways as `ours`.
        optional: Whether the row is left out if nothing can be compared.
    """

    label: str
    ours: Source
    base: Source
    optional: bool = False


def make_rows(
    labels: Mapping[str, str], where: Where | None = None, *, needed: Collection[str] | None = None, **more: Any
) -> list[Row]:
    """Return a `Row` for each variant in `labels`, whose runs have the values `where`.

    Args:
        labels: Label of the row by variant.
        where: What the runs have beside the variant.
        needed: Variants that the table needs, if not all; of the others nothing is missing.
        more: Further attributes of `Row`.
    """
    others = {"absent": NOTHING, **more, "optional": True, "command": ""}
    return [
        Row(label, {**(where or {}), "variant": variant}, **(more if needed is None or variant in needed else others))
        for variant, label in labels.items()
    ]


def make_difference_rows(
    labels: Mapping[str, str],
    pairs: Iterable[tuple[str, str]],
    where: Where | None = None,
    *,
    optional: bool = False,
    note: str = " (p over seeds)",
) -> list[Difference]:
    """Return a `Difference` row for each pair of variants: scores of the first minus those of the second.

    Args:
        labels: Label by variant.
        pairs: Variants, the second of which is taken away from the first.
        where: What the runs of both have beside the variant.
        optional: Whether a row is left out where nothing can be compared.
        note: What stands behind both labels.
    """
    rows = []
    for pair in pairs:
        ours, base = ({**(where or {}), "variant": variant} for variant in pair)
        rows.append(Difference(f"{labels[pair[0]]} − {labels[pair[1]]}{note}", ours, base, optional))
    return rows


def make_named_rows(results: Iterable[RunResult], where: Where, labels: Mapping[str, str], part: str = "") -> list[Row]:
    """Return a `Row` for the runs of each name, which have other than default settings; labels list these.

    Args:
        results: Results of the runs of all recipes.
        where: Values that the runs must have, as in `select_runs`.
        labels: Label of the row, by variant.
        part: Prefix of the runs' tags, before the name; empty: none.
    """
    return [
        Row(f"{label}, {name}", {"variant": variant, "name": name}, beside={"name": ""}, optional=True)
        for name in list_run_names(results, where, part)
        for variant, label in labels.items()
    ]


Line: TypeAlias = Row | Difference | Sequence[str]  # the last: the cells themselves


@dataclass(frozen=True)
class Table:
    """A table of results, which is written by calling it.

    Attributes:
        columns: Columns after the labels, or headings of `STANDARD_COLUMNS`.
        rows: Rows of the table, or a function from all results to them.
        where: Values that the runs of all rows must have, unless a row overrides them.
        headings: Headings of the leading columns, which hold the rows' labels.
        having: Name of a score that every run of the table must have; empty: none.
        prepare: Function that returns a run with defaults, or without the settings in which repetitions may differ.
        complete: Function that tells whether a cell's runs are complete; default: by the row's number of needed runs.
        further: Function from all results to further command lines below the table.
    """

    columns: Sequence[AnyColumn]
    rows: Sequence[Line] | Callable[[Runs], Iterable[Line]]
    where: Where = field(default_factory=dict)
    headings: Sequence[str] = ("model",)
    having: str = ""
    prepare: Callable[[RunResult], RunResult] = lambda run: run
    complete: Callable[[Runs], bool] | None = None
    further: Callable[[Runs], Sequence[str]] = lambda results: ()

    def __call__(self, results: Sequence[RunResult]) -> str:
        """Return the table in Markdown from all results, and below it the commands that run what is missing."""
        results = [self.prepare(run) for run in results if not self.having or self.having in run.metrics]
        rows = self.rows(results) if callable(self.rows) else self.rows
        cells = _Cells(self, results)
        lines = [line for row in rows if (line := cells.write_line(row)) is not None]
        headings = [*self.headings, *(column.heading for column in cells.columns)]
        table = format_markdown_table(headings, lines, len(self.headings))
        return append_commands(table, [*format_commands_not_run(cells.list_commands()), *self.further(results)])


class _Cells:
    """The cells of a table and what is missing for them."""

    def __init__(self, table: Table, results: Iterable[RunResult]) -> None:
        """Collect the runs by recipe, for the cells of `table`."""
        self.table = table
        self.columns = list(map(find_column, table.columns))
        self.by_recipe: dict[str, list[RunResult]] = defaultdict(list)
        for run in results:
            self.by_recipe[run.recipe].append(run)
        self.of_one = not any(column.where for column in self.columns)  # row, not column, tells the runs
        self.missing: dict[tuple[int, str], list[str]] = {}  # variants by place of the column and command

    def write_line(self, row: Line) -> Sequence[str] | None:
        """Return the cells of a row of the table, as text; None for a row that is left out."""
        if isinstance(row, Row):
            return self._write_row(row)
        if not isinstance(row, Difference):
            return row
        cells = [
            column.minus(self._find_runs(row.ours, column), self._find_runs(row.base, column))
            if column.minus
            else NOTHING
            for column in self.columns
        ]
        if row.optional and set(cells) == {NOTHING}:
            return None
        last = max(place for place, column in enumerate(self.columns) if column.minus)
        return [row.label, *cells[: last + 1]]

    def list_commands(self) -> list[str]:
        """Return the commands that would run what the table lacks, in the order of the columns."""
        commands = []
        order = sorted(self.missing.items(), key=lambda item: item[0] if item[0][0] >= 0 else (-1, ""))
        for (place, command), variants in order:
            fill = self.columns[max(place, 0)].fill
            commands += command.format(missing=" ".join(dict.fromkeys(variants)), **fill).splitlines()
        return list(dict.fromkeys(commands))

    def _find_runs(self, source: Source, column: Column, instead: Where | None = None) -> Runs:
        """Return the runs of a row's source in a column; `instead` has values that replace those of the row."""
        values = source(column) if callable(source) else source
        if not isinstance(values, Mapping):
            return values
        where = {**self.table.where, **values, **column.where, **(instead or {})}
        return select_alike_runs(self.by_recipe[where["recipe"]], where)

    def _write_row(self, row: Row) -> list[str] | None:
        """Return the cells of a row as text, and note which of its runs are missing; None if it is left out."""
        columns = self.columns
        if self.of_one and not callable(row.source):
            all_runs = [self._find_runs(row.source, columns[0])] * len(columns)
        else:
            all_runs = [
                self._find_runs(row.source, column) if column.show or column.minus else [] for column in columns
            ]
        self._note_missing_runs(row, all_runs)
        if row.optional and not any(all_runs):
            return None
        cells: list[str] = []
        for column, runs in zip(columns, all_runs, strict=True):
            if row.only and column.heading not in row.only:
                cells.append(NOTHING)
            elif column.show and not runs and column.heading not in row.given and self.of_one:
                cells.append(row.absent)
                return [*self._write_label(row, all_runs), *cells]
            else:
                cells.append(self._write_cell(row, column, runs, all_runs))
        last = max(place for place, column in enumerate(columns) if not row.only or column.heading in row.only)
        return [*self._write_label(row, all_runs), *cells[: last + 1]]

    def _write_cell(self, row: Row, column: Column, runs: Runs, all_runs: Sequence[Runs]) -> str:
        """Return the text of one cell: a fixed text, a score, a total, or a difference to the base."""
        if column.heading in row.given:
            return row.given[column.heading]
        if column.total:
            return column.total([runs for runs, other in zip(all_runs, self.columns, strict=True) if other.show])
        if column.show:
            need = len(row.seeds) or row.need
            note = column.partly.format(have=len(runs), need=need) if 0 < len(runs) < need else ""
            shown = column.show(runs) + note if runs else column.absent or row.absent
            return shown + row.behind.get(column.heading, "")
        if column.minus and (row.base is not None or column.base):
            if row.base is None or isinstance(row.base, Mapping):
                base = self._find_runs(row.source, column, {**(row.base or {}), **column.base})
            else:
                base = row.base
            return NOTHING if base == runs else column.minus(runs, base)
        return NOTHING

    def _write_label(self, row: Row, all_runs: Sequence[Runs]) -> list[str]:
        """Return the first cells of a row, with the settings in which it differs from the row `beside`."""
        label = [row.label] if isinstance(row.label, str) else list(row.label)
        if row.beside is not None:
            pairs = {}
            for column, runs in zip(self.columns, all_runs, strict=True):
                plain = self._find_runs(row.source, column, row.beside) if column.show and runs else []
                if plain:
                    pairs[column.heading] = runs[0], plain[0]
            label[-1] += format_setting_changes(pairs)
        return label

    def _note_missing_runs(self, row: Row, all_runs: Sequence[Runs]) -> None:
        """Note for each column whose runs are too few the command that makes them."""
        for place, (column, runs) in enumerate(zip(self.columns, all_runs, strict=True)):
            seeds = [str(seed) for seed in row.seeds if seed not in {run.seed for run in runs}]
            enough = self.table.complete(runs) if self.table.complete else len(runs) >= row.need
            if not column.show or column.heading in row.given or (not seeds if row.seeds else enough):
                continue
            command = row.command(column) if callable(row.command) else row.command
            source = row.source(column) if callable(row.source) else row.source
            where = {**self.table.where, **(source if isinstance(source, Mapping) else {})}
            if command.startswith("--"):
                command = f"python recipes/{where['recipe']}.py {command}"
            command = command.replace("{seeds}", " ".join(seeds))
            by_column = "{" in command.replace("{missing}", "")  # then columns that fill in nothing ask for nothing
            if command and (column.fill or not by_column):
                variant = row.variant or where.get("variant", "")
                self.missing.setdefault((place if by_column else -1, command), []).append(variant)


@dataclass(frozen=True)
class Trials:
    """A table of the runs by which settings were chosen, a row for each: the best of each group first.

    Attributes:
        headings: Headings of the leading columns, which hold the groups' labels.
        columns: Columns after the varied settings, which show the scores of each run.
        groups: Values that the runs of each group must have, by the group's labels.
        by: Name of the score by which the runs of a group are sorted, highest first.
        apart: Whether the varied settings are found for each group by itself, instead of over all groups.
    """

    headings: Sequence[str]
    columns: Sequence[AnyColumn]
    groups: Mapping[tuple[str, ...], Where]
    by: str
    apart: bool = True

    def __call__(self, results: Sequence[RunResult]) -> str:
        """Return the table of trial runs in Markdown, a row for each run."""
        columns = map(find_column, self.columns)
        shown_columns = [table_parts.Column(column.heading, column.show) for column in columns if column.show]
        labels: list[tuple[str, ...]] = []
        runs_of_sources: list[Runs] = []
        for label, where in self.groups.items():
            runs = sorted(select_runs(results, where), key=lambda run: run.metrics[self.by], reverse=True)
            labels += [label] * len(runs)
            runs_of_sources.append(runs)
        groups = runs_of_sources if self.apart else [[run for runs in runs_of_sources for run in runs]]
        cells = [row for runs in groups for row in format_trial_rows(runs, shown_columns)]
        headings = [*self.headings, "settings", *(column.heading for column in shown_columns)]
        rows = [[*label, *row] for label, row in zip(labels, cells, strict=True)]
        return format_markdown_table(headings, rows, left_aligned=len(self.headings) + 1)


_SEEDS, *_OTHERS = (*table_parts.RUN_COLUMNS, PARAMETERS_COLUMN, make_seconds_column())
STANDARD_COLUMNS = {column.heading: Column(column.heading, column.show) for column in _OTHERS}
STANDARD_COLUMNS[_SEEDS.heading] = Column(_SEEDS.heading, _SEEDS.show, partly=" of {need}")
