"""The cells of the Beta-LSTM beside `nn.LSTM`: forward pass and training step.

    python -m benchmarks.beta_lstm            every comparison, 1 thread; on a machine with a GPU, on that
    python -m benchmarks.beta_lstm --comparisons "batch of 16" --threads 1 all
    python -m benchmarks.beta_lstm --quick --output F    does it run? (tiny sizes)

Two layers read random steps of 88 numbers without padding, in processes of their own and in turns. Every cell has 148
units, the size of bibeta5 in the authors' experiments on music; so has the reference, and one more `nn.LSTM` has as
many parameters as bibeta5. Gates are drawn in every pass where the cell draws any, in the forward pass too; rows of
means take theirs. On a GPU there are sides with all steps in one kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.beta_lstm_sides import Side
from benchmarks.by_length import (
    Comparison,
    Size,
    build_argument_parser,
    compare_sides,
    iterate_settings,
    parse_arguments,
    select_possible_comparisons,
)
from benchmarks.passes import LAYER_PASSES
from benchmarks.reporting import Value, write_rows
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.results.environment import git_commit

SIZE, OF_EQUAL_PARAMETERS = 148, 200
STEPS, WIDTH = 64, 88
WITHOUT_DRAWS = ("lstm", "coupled")
QUICK: list[Size] = [(1, 4, 8)]


def list_sides() -> tuple[Side, ...]:
    """Return the sides that are compared: `nn.LSTM`, the reference, one with as many weights, and each cell."""
    return (
        Side("nn.LSTM", "nn.LSTM", SIZE),
        Side(f"nn.LSTM of {OF_EQUAL_PARAMETERS} units", "nn.LSTM", OF_EQUAL_PARAMETERS),
        *(Side(cell, cell, SIZE, "mean" if cell in WITHOUT_DRAWS else "sample") for cell in CELLS),
        *(Side(f"{cell}, means", cell, SIZE, "mean") for cell, about in CELLS.items() if about.drawn),
    )


KERNELS = (
    Side("lstm, one kernel", "lstm", SIZE, implementation="one_kernel"),
    Side("bibeta5, one kernel", "bibeta5", SIZE, "sample", "one_kernel"),
)
COMPARISONS = {
    "one sequence": [(1, STEPS, WIDTH)],
    "batch of 16": [(16, STEPS, WIDTH)],
}


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time the Beta-LSTM cells beside `nn.LSTM`, print the times and write the results file; return its path."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sides = (*list_sides(), *KERNELS)
    comparisons = [Comparison(name, sides, "nn.LSTM", LAYER_PASSES) for name in COMPARISONS]
    parser = build_argument_parser("beta_lstm", __doc__, comparisons, device)
    options = parse_arguments(parser, arguments)
    if options.redraw:
        parser.error("--redraw: there is no plot of this benchmark")
    commit = git_commit()
    rows: list[dict[str, Value]] = []
    for setting in iterate_settings(options):
        for comparison in select_possible_comparisons(comparisons, options):
            rows += compare_sides(comparison, QUICK if options.quick else COMPARISONS[comparison.name], setting)
    write_rows(options.target, rows, commit)
    print(f"wrote {options.target}")
    return Path(options.target)


if __name__ == "__main__":
    main(sys.argv[1:])
