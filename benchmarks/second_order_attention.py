"""The Contextualizer beside an encoder layer, self-attention and a GRU, by the length of the text; its implementations.

    python -m benchmarks.second_order_attention            every comparison, 1 thread; on a machine with a GPU, on that
    python -m benchmarks.second_order_attention --comparisons layers --threads 1 all
    python -m benchmarks.second_order_attention --redraw   the plot again, from the file
    python -m benchmarks.second_order_attention --quick --output F    does it run? (tiny sizes)

All sides of a comparison read the same number of random tokens, without padding, in processes of their own and in turns
(A B C A B C ...). A forward pass computes no gradients; a backward pass computes those of the sum of the outputs with
respect to tokens and weights. Seconds are medians over rounds. Sides with the same layer must give the same output and
gradients at the first length; one that does not is left out. Peak memory is counted in passes that are not timed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value, read_rows, write_rows
from benchmarks.second_order_plot import plot_times
from benchmarks.second_order_sides import HEADS, Pass, Side
from benchmarks.timing import medians, thread_counts
from benchmarks.worker import Worker, WorkerEndedError
from ctxzoo.evaluation.doctor import cxx_compiler
from ctxzoo.evaluation.environment import git_commit
from ctxzoo.models.ops_second_order_triton import available

PASSES: tuple[Pass, ...] = get_args(Pass)
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
FITTED_LENGTHS = (512, 4096)  # first and last: shorter ones show what a call costs
BATCH_SIZES = {"cpu": 2, "cuda": 64}
PRECISIONS = {"cpu": ("float32",), "cuda": ("bfloat16", "float32")}
Rows = dict[tuple[int, str, Pass], dict[str, Any]]  # by length, label of the side, pass
# Of outputs and gradients, by the largest value of the tensor.
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.06}


@dataclass(frozen=True)
class Comparison:
    """Sides that run in turns; `reference` is the label of the one that ratios are taken to."""

    name: str
    sides: tuple[Side, ...]
    reference: str


COMPARISONS = (
    Comparison(
        "layers",
        (
            Side("contextualizer, K = 1", "contextualizer"),
            Side("contextualizer, K = 5", "contextualizer", num_steps=5),
            Side("contextualizer, K = 5, compiled", "contextualizer", num_steps=5, compiled=True),
            Side("contextualizer, K = 5, u = 100", "contextualizer", num_steps=5, rank=100),
            Side("encoder layer", "encoder layer"),
            Side("self-attention", "self-attention"),
            Side("GRU, both directions", "GRU"),
        ),
        reference="encoder layer",
    ),
    Comparison(
        "attention alone",
        (
            Side("plain", "attention alone", implementation="plain"),
            Side("closed form", "attention alone", implementation="closed_form"),
            Side("recompute", "attention alone", implementation="recompute"),
            Side("triton", "attention alone", implementation="triton"),
        ),
        reference="plain",
    ),
    Comparison(
        "five steps",
        (
            Side("plain", "contextualizer", num_steps=5, implementation="plain"),
            Side("closed form", "contextualizer", num_steps=5, implementation="closed_form"),
            Side("recompute", "contextualizer", num_steps=5, implementation="recompute"),
            Side("triton", "contextualizer", num_steps=5, implementation="triton"),
        ),
        reference="plain",
    ),
)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure, print, write the CSV and draw the plot; returns the path of the CSV."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = parse(arguments, device)
    commit = git_commit()
    target = Path(options.output or RESULTS / f"second_order_attention-{device}.csv")
    if not options.redraw:
        rows: list[dict[str, Value]] = []
        wanted = [comparison for comparison in COMPARISONS if comparison.name in options.comparisons]
        for threads in thread_counts(options.threads if device == "cpu" else ["all"]):
            for precision in options.precisions:
                for comparison in wanted:
                    rows += compare(comparison, device, threads, precision, options)
        write_rows(target, rows, commit)
        print(f"wrote {target}")
    plot_times(read_rows(target), target.with_suffix(".png"))
    return target


def parse(arguments: Sequence[str] | None, device: str) -> argparse.Namespace:
    """The command line, `--quick` and what depends on the device filled in."""
    names = [comparison.name for comparison in COMPARISONS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.second_order_attention",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--comparisons", nargs="+", choices=names, default=names)
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), help="n, tokens in a document")
    parser.add_argument("--width", type=int, default=512, help="m, numbers in a token")
    parser.add_argument("--batch_size", type=int, default=BATCH_SIZES[device])
    parser.add_argument("--precisions", nargs="+", choices=list(TOLERANCES), default=list(PRECISIONS[device]))
    parser.add_argument("--threads", nargs="+", default=["1"], help="numbers, or all; CPU only")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds of each side")
    parser.add_argument("--output", type=Path, help="default: results/second_order_attention-<device>.csv")
    parser.add_argument("--redraw", action="store_true", help="measure nothing, draw the plot from the file")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round, one thread")
    options = parser.parse_args(arguments)
    if options.quick:
        if options.output is None:
            parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
        options.lengths, options.width, options.batch_size, options.rounds = [8, 16], 16, 2, 1
        options.threads = ["1"]
    if options.width % HEADS:
        parser.error(f"--width {options.width} is no multiple of {HEADS}, the heads of the peers: give another")
    options.lengths = sorted(set(options.lengths))
    return options


def compare(
    comparison: Comparison, device: str, threads: int, precision: str, options: argparse.Namespace
) -> list[dict[str, Value]]:
    """One row for each length, side and pass; what was not measured is empty, with a note."""
    sides = [side for side in comparison.sides if device == "cuda" or side.implementation != "triton"]
    about = {"comparison": comparison.name, "device": device, "threads": threads, "precision": precision}
    rows = empty_rows(sides, about, comparison.reference, options)
    notes = {side.label: obstacle(side, device) for side in sides}
    with ExitStack() as stack:
        able = [side for side in sides if not notes[side.label]]
        workers = [stack.enter_context(Worker(side, threads, device)) for side in able]
        try:
            workers = agreeing(workers, (options.batch_size, options.lengths[0], options.width, precision), notes)
            measure(workers, rows, precision, options)
        except WorkerEndedError as error:
            notes |= {worker.side.label: str(error) for worker in workers}
    for (length, label, name), row in rows.items():
        if row["peak_memory_mb"] is None:
            row["note"] = notes[label]
        if row["seconds"] is not None:
            reference = rows[length, comparison.reference, name]["seconds"]
            row["ratio"] = reference and reference / row["seconds"]
            seconds = {n: rows[n, label, name]["seconds"] for n in options.lengths}
            row["exponent"] = exponent({n: value for n, value in seconds.items() if value is not None})
        print(line(row), flush=True)
    return list(rows.values())


MEASURED = ("seconds", "ratio", "exponent", "peak_memory_mb", "floor_seconds")


def empty_rows(sides: Sequence[Side], about: dict[str, Any], reference: str, options: argparse.Namespace) -> Rows:
    """What is known of every row before anything is measured."""
    rows: Rows = {}
    for length in options.lengths:
        sizes = {"batch_size": options.batch_size, "length": length, "width": options.width}
        for side in sides:
            what = {"side": side.label, "model": side.model, "num_steps": side.num_steps, "rank": side.rank}
            for name in PASSES:
                how = {"pass": name, "rounds": options.rounds, "reference": reference}
                rows[length, side.label, name] = {
                    **about,
                    **what,
                    **sizes,
                    **how,
                    **dict.fromkeys(MEASURED),
                    "note": "",
                }
    return rows


def obstacle(side: Side, device: str) -> str:
    """Why a side cannot run here, or nothing."""
    if side.compiled and cxx_compiler() is None:
        return "skipped: torch.compile finds no C++ compiler"
    if side.implementation == "triton" and not available(torch.empty(0, device=device)):
        return "skipped: the kernels need Triton and a CUDA device of compute capability 8.0"
    return ""


def agreeing(workers: Sequence[Worker], size: tuple[int, int, int, str], notes: dict[str, str]) -> list[Worker]:
    """Those whose output and gradients are those of the first side with the same layer; `notes` tell of the others."""
    kept: list[Worker] = []
    first: dict[tuple[str, int, int], dict[str, torch.Tensor]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for worker in workers:
            side = worker.side
            file = Path(folder, "answers.pt")
            try:
                worker.ask("resize", *size)
                worker.ask("save_answers", str(file))
            except WorkerEndedError as error:
                notes[side.label] = str(error)
                continue
            found = torch.load(file, weights_only=True)
            expected = first.setdefault((side.model, side.num_steps, side.rank), found)
            name, difference = largest_difference(found, expected)
            if difference <= TOLERANCES[size[-1]]:
                kept.append(worker)
            else:
                notes[side.label] = f"left out: {name} differs by {difference:.2g} of its largest value"
    return kept


def largest_difference(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> tuple[str, float]:
    """Name of the tensor that differs most, and by how much of its largest value; infinite where it has NaN."""
    worst = "output", 0.0
    for name, value in expected.items():
        difference = float((found[name] - value).abs().max() / value.abs().max().clamp(min=1e-30))
        if not difference <= worst[1]:
            worst = name, difference if difference == difference else float("inf")
    return worst


def measure(workers: Sequence[Worker], rows: Rows, precision: str, options: argparse.Namespace) -> None:
    """Fill in seconds, floors and peak memory, from short to long."""
    for length in options.lengths:
        for worker in workers:
            worker.ask("resize", options.batch_size, length, options.width, precision)
        for name in PASSES:
            for worker, seconds in zip(workers, medians(workers, name, options.rounds), strict=True):
                row = rows[length, worker.side.label, name]
                row["seconds"] = seconds
                # On a CPU such an operation waits for arithmetic, not for memory.
                if row["model"] == "attention alone" and row["device"] == "cuda":
                    row["floor_seconds"] = worker.ask("floor_seconds", name)
        for name in PASSES:
            for worker in workers:
                rows[length, worker.side.label, name]["peak_memory_mb"] = worker.ask("peak_memory", name)


def exponent(seconds: dict[int, float]) -> float | None:
    """The power of the length that the seconds grow with, fitted to the logarithms by least squares.

    Args:
        seconds: length -> seconds; only lengths within `FITTED_LENGTHS` count, and None comes back for less than two.
    """
    first, last = FITTED_LENGTHS
    points = [(length, value) for length, value in seconds.items() if first <= length <= last]
    if len(points) < 2:
        return None
    lengths, values = np.log(np.array(points)).T
    return float(np.polyfit(lengths, values, 1)[0])


def line(row: dict[str, Any]) -> str:
    """What is printed of a row."""
    about = f"{row['comparison']:15} {row['side']:31} {row['precision']} n = {row['length']:<5} {row['pass']:20} "
    if row["seconds"] is None:
        return f"{about} not measured: {row['note']}"
    parts = [f"{1000 * row['seconds']:10.2f} ms"]
    for name, unit in (("ratio", " x " + str(row["reference"])), ("peak_memory_mb", " MiB")):
        if row[name] is not None:
            parts.append(f"{row[name]:.1f}{unit}")
    return about + "  ".join(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
