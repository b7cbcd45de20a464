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
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.by_length import (
    Comparison,
    build_argument_parser,
    compare_sides,
    explain_missing_kernels,
    iterate_settings,
    parse_arguments,
    select_possible_comparisons,
)
from benchmarks.length_plot import plot_times
from benchmarks.passes import LAYER_PASSES
from benchmarks.reporting import Value, read_rows, write_rows
from benchmarks.second_order_sides import HEADS, Side
from ctxzoo.cli.doctor import find_cxx_compiler
from ctxzoo.results.environment import git_commit

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
BATCH_SIZES = {"cpu": 2, "cuda": 64}
FITTED_FROM = 512  # shorter texts show what a call costs
COLOURS = {"contextualizer": "#1f5fa8", "encoder layer": "#d1792b", "self-attention": "#3b8a5a", "GRU": "#8a5fb0"}

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
        passes=LAYER_PASSES,
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
        passes=LAYER_PASSES,
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
        passes=LAYER_PASSES,
    ),
)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time the Contextualizer beside other layers by text length; write the results file and the plot.

    Returns the path of the results file.
    """
    options = parse_options(arguments, "cuda" if torch.cuda.is_available() else "cpu")
    commit = git_commit()
    if not options.redraw:
        sizes = [(options.batch_size, length, options.width) for length in options.lengths]
        rows: list[dict[str, Value]] = []
        for setting in iterate_settings(options, fitted_from=FITTED_FROM, extra=("floor_seconds",)):
            for comparison in select_possible_comparisons(COMPARISONS, options):
                obstacles = {side.label: explain_missing_support(side, options.device) for side in comparison.sides}
                rows += compare_sides(comparison, sizes, setting, obstacles)
        write_rows(options.target, rows, commit)
        print(f"wrote {options.target}")
    plot_times(read_rows(options.target), options.target.with_suffix(".png"), "layers", COLOURS)
    return Path(options.target)


def parse_options(arguments: Sequence[str] | None, device: str) -> argparse.Namespace:
    """Parse the command line, and fill in what `--quick` and the device stand for."""
    parser = build_argument_parser("second_order_attention", __doc__, COMPARISONS, device)
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), help="n, tokens in a document")
    parser.add_argument("--width", type=int, default=512, help="m, numbers in a token")
    parser.add_argument("--batch_size", type=int, default=BATCH_SIZES[device])
    options = parse_arguments(parser, arguments)
    if options.quick:
        options.lengths, options.width, options.batch_size = [8, 16], 16, 2
    if options.width % HEADS:
        parser.error(f"--width {options.width} is no multiple of {HEADS}, the heads of the peers: give another")
    options.lengths = sorted(set(options.lengths))
    return options


def explain_missing_support(side: Side, device: str) -> str:
    """Return the reason why a side cannot run on this machine; empty if it can."""
    if side.compiled and find_cxx_compiler() is None:
        return "skipped: torch.compile finds no C++ compiler"
    return explain_missing_kernels(side, device)


if __name__ == "__main__":
    main(sys.argv[1:])
