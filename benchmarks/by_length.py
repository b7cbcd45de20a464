"""Sides timed in turns at one length of the text after another: the command line, the rows, the fitted exponent.

A benchmark names its comparisons; the `Runner` beside their `Side` is a `PassRunner`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value
from benchmarks.timing import measure_median_seconds, parse_thread_counts
from benchmarks.worker import Worker, WorkerEndedError
from ctxzoo.models.ops_triton import can_run

PRECISIONS = {"cpu": ("float32",), "cuda": ("bfloat16", "float32")}
# The allowed differences of outputs and gradients, relative to the largest value of the tensor.
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.06}

Answer = TypeVar("Answer")
Size = tuple[int, int, int]  # documents, tokens in each, numbers in a token
RowsByLength = dict[tuple[int, str, str], dict[str, Any]]  # by length, label of the side, pass


class Side(Protocol):
    """What a benchmark times: a dataclass that names an implementation and its options."""

    @property
    def label(self) -> str:
        """The name of the timed implementation in tables."""

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the layer in results; sides with equal columns must give equal outputs."""


@dataclass(frozen=True)
class Comparison:
    """Sides that run in turns, in the same passes; `reference` is the label of the one that ratios are taken to."""

    name: str
    sides: tuple[Any, ...]
    reference: str
    passes: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """The setting in which sides run.

    Attributes:
        device, threads, precision: Device, number of threads and precision of all sides.
        rounds: Number of timed rounds of each side; the median is taken over them.
        fitted_from: Shortest length that counts in the fit of the exponent.
        extra: Names of further columns of the table; for each the runner has a method that takes the name of the pass.
    """

    device: str
    threads: int
    precision: str
    rounds: int
    fitted_from: int = 0
    extra: tuple[str, ...] = ()


def build_argument_parser(
    program: str, text: str | None, comparisons: Sequence[Comparison], device: str
) -> argparse.ArgumentParser:
    """Return the command-line parser of a benchmark by text length, with the options that all of these have."""
    names = [comparison.name for comparison in comparisons]
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{program}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = RESULTS / f"{program}-{device}.csv"
    parser.add_argument("--comparisons", nargs="+", choices=names, default=names)
    parser.add_argument("--precisions", nargs="+", choices=list(TOLERANCES), default=list(PRECISIONS[device]))
    parser.add_argument("--threads", nargs="+", default=["1"], help="numbers, or all; CPU only")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds of each side")
    parser.add_argument("--output", type=Path, help=f"default: results/{default.name}")
    parser.add_argument("--redraw", action="store_true", help="measure nothing, draw the plot from the file")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round, one thread")
    parser.set_defaults(target=default, device=device)
    return parser


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line with `parser`, and fill in the default output file and what `--quick` stands for."""
    options = parser.parse_args(arguments)
    if options.quick:
        if options.output is None:
            parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
        options.rounds, options.threads = 1, ["1"]
    options.target = options.output or options.target
    return options


def iterate_settings(options: argparse.Namespace, **more: Any) -> Iterator[Setting]:
    """Yield a `Setting` for each number of threads and precision on the command line; `more` are its other fields."""
    for threads in parse_thread_counts(options.threads if options.device == "cpu" else ["all"]):
        for precision in options.precisions:
            yield Setting(options.device, threads, precision, options.rounds, **more)


def select_possible_comparisons(comparisons: Sequence[Comparison], options: argparse.Namespace) -> list[Comparison]:
    """Return the requested ones of `comparisons`, on a CPU without the sides of Triton's kernels, which need a GPU."""
    return [
        replace(comparison, sides=tuple(side for side in comparison.sides if _is_side_possible(side, options.device)))
        for comparison in comparisons
        if comparison.name in options.comparisons
    ]


def _is_side_possible(side: Side, device: str) -> bool:
    """Return whether a side runs on a device: Triton kernels need CUDA."""
    return device == "cuda" or not runs_kernels(side)


def runs_kernels(side: Side) -> bool:
    """Return whether a side is one of Triton's kernels, which is named by its implementation."""
    return getattr(side, "implementation", None) in ("triton", "one_kernel")


def explain_missing_kernels(side: Side, device: str) -> str:
    """Return the reason why the kernels of a side cannot run on this machine; empty if they can, or it has none."""
    if runs_kernels(side) and not can_run(torch.empty(0, device=device)):
        return "skipped: the kernels need Triton and a CUDA device of compute capability 8.0"
    return ""


def compare_sides(
    comparison: Comparison, sizes: Sequence[Size], setting: Setting, obstacles: Mapping[str, str] | None = None
) -> list[dict[str, Value]]:
    """Time the sides of a comparison at each size; return a row for each length, side and pass.

    What was not measured has empty cells and a note.

    Args:
        sizes: Lengths, from short to long.
        obstacles: Label of a side to the reason why it cannot run on this machine; empty where it can.
    """
    rows = build_empty_rows(comparison, sizes, setting)
    notes = {label: reason for label, reason in (obstacles or {}).items() if reason}
    with ExitStack() as stack:
        able = [side for side in comparison.sides if side.label not in notes]
        workers = [stack.enter_context(Worker(side, setting.threads, setting.device)) for side in able]
        try:
            workers = select_agreeing_workers(workers, (*sizes[0], setting.precision), notes, setting.device)
            measure_rows(workers, rows, sizes, comparison.passes, setting)
        except WorkerEndedError as error:
            notes |= {worker.side.label: str(error) for worker in workers}
    for (length, label, name), row in rows.items():
        if row["peak_memory_mb"] is None:
            row["note"] = notes[label]
        if row["seconds"] is not None:
            reference = rows[length, comparison.reference, name]["seconds"]
            row["ratio"] = reference and reference / row["seconds"]
            of_lengths = [rows[n, label, name] for _, n, _ in sizes if n >= setting.fitted_from]
            row["exponent"] = fit_growth_exponent(
                {one["length"]: one["seconds"] / one["batch_size"] for one in of_lengths if one["seconds"] is not None}
            )
        print(format_row_line(row), flush=True)
    return list(rows.values())


def build_empty_rows(comparison: Comparison, sizes: Sequence[Size], setting: Setting) -> RowsByLength:
    """Return a row for each size, side and pass, with empty cells for what will be measured."""
    rows: RowsByLength = {}
    for batch, length, width in sizes:
        for side in comparison.sides:
            for name in comparison.passes:
                rows[length, side.label, name] = {
                    "comparison": comparison.name,
                    "device": setting.device,
                    "threads": setting.threads,
                    "precision": setting.precision,
                    "side": side.label,
                    **side.columns(),
                    "batch_size": batch,
                    "length": length,
                    "width": width,
                    "pass": name,
                    "rounds": setting.rounds,
                    "reference": comparison.reference,
                    **dict.fromkeys(("seconds", "ratio", "exponent", "peak_memory_mb", *setting.extra)),
                    "note": "",
                }
    return rows


def select_agreeing_workers(
    workers: Sequence[Worker], size: tuple[int, int, int, str], notes: dict[str, str], device: str
) -> list[Worker]:
    """Return the workers whose outputs agree with those of the first side with the same layer.

    The others get the reason in `notes`, by label of the side.
    """
    agreeing: list[Worker] = []
    answers_of_layer: dict[tuple[Value, ...], dict[str, torch.Tensor]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {worker.side.label: Path(folder, f"{index}.pt") for index, worker in enumerate(workers)}

        def save_answers_or_note(worker: Worker) -> bool:
            """Store a side's outputs in its file; return False, with a note, if its process ended."""
            try:
                worker.ask("resize", *size)
                worker.ask("save_answers", str(files[worker.side.label]))
            except WorkerEndedError as error:
                notes[worker.side.label] = str(error)
                return False
            return True

        for worker, has_answered in zip(
            workers, call_for_each_worker(workers, save_answers_or_note, device), strict=True
        ):
            if not has_answered:
                continue
            side: Side = worker.side
            answers = torch.load(files[side.label], weights_only=True)
            expected = answers_of_layer.setdefault(tuple(side.columns().values()), answers)
            name, difference = find_largest_difference(answers, expected)
            if difference <= TOLERANCES[size[-1]]:
                agreeing.append(worker)
            else:
                notes[side.label] = f"left out: {name} differs by {difference:.2g} of its largest value"
    return agreeing


def call_for_each_worker(workers: Sequence[Worker], work: Callable[[Worker], Answer], device: str) -> list[Answer]:
    """Call `work` with each worker and return the results; not for timing, as calls may run at the same time.

    On a GPU all work at the same time: beginnings are waits, for a context of the device, for libraries and compilers.
    """
    with ThreadPoolExecutor(max(1, len(workers)) if device == "cuda" else 1) as pool:
        return list(pool.map(work, workers))


def find_largest_difference(actual: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> tuple[str, float]:
    """Return the name of the tensor that differs most, and its difference as a fraction of its largest value.

    The difference is infinite where a value is NaN.
    """
    worst = "output", 0.0
    for name, value in expected.items():
        difference = float((actual[name] - value).abs().max() / value.abs().max().clamp(min=1e-30))
        if not difference <= worst[1]:
            worst = name, difference if difference == difference else float("inf")
    return worst


def measure_rows(
    workers: Sequence[Worker], rows: RowsByLength, sizes: Sequence[Size], passes: Sequence[str], setting: Setting
) -> None:
    """Time every pass at every size, and write seconds, extra columns and peak memory into `rows`, in place."""
    for batch, length, width in sizes:
        size = (batch, length, width, setting.precision)
        call_for_each_worker(workers, lambda worker, size=size: worker.ask("resize", *size), setting.device)
        for name in passes:
            for worker, seconds in zip(workers, measure_median_seconds(workers, name, setting.rounds), strict=True):
                row = rows[length, worker.side.label, name]
                row["seconds"] = seconds
                for column in setting.extra:
                    row[column] = worker.ask(column, name)
        for name in passes:
            for worker in workers:
                rows[length, worker.side.label, name]["peak_memory_mb"] = worker.ask("measure_peak_memory", name)


def fit_growth_exponent(seconds: dict[int, float]) -> float | None:
    """Return the exponent p of time ~ length^p, fitted by least squares on logarithms; None for one length.

    Args:
        seconds: Length of the input in tokens to seconds of one pass.
    """
    if len(seconds) < 2:
        return None
    lengths, values = np.log(np.array(list(seconds.items()))).T
    return float(np.polyfit(lengths, values, 1)[0])


def format_row_line(row: dict[str, Any]) -> str:
    """Return the line that is printed for a measured row: what ran, milliseconds, ratio and memory."""
    about = f"{row['comparison']:15} {row['side']:31} {row['precision']} n = {row['length']:<5} {row['pass']:20} "
    if row["seconds"] is None:
        return f"{about} not measured: {row['note']}"
    parts = [f"{1000 * row['seconds']:10.2f} ms"]
    for name, unit in (("ratio", " x " + str(row["reference"])), ("peak_memory_mb", " MiB")):
        if row[name] is not None:
            parts.append(f"{row[name]:.1f}{unit}")
    return about + "  ".join(parts)
