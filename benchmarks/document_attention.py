"""LAMA's attention beside SAN's and self-attention by the length of a document, its training step, and its recurrence.

    python -m benchmarks.document_attention            every comparison, 1 thread; on a machine with a GPU, on that
    python -m benchmarks.document_attention --comparisons "30 heads" --threads 1 all
    python -m benchmarks.document_attention --redraw   the plot again, from the file
    python -m benchmarks.document_attention --quick --output F    does it run? (tiny sizes)

All sides of a comparison read the same number of random words, without padding, in processes of their own and in turns
(A B C A B C ...). Attention always reads as many words in a pass, so that what a call costs counts alike at every
length; exponents are those of the time for a document. Seconds are medians over rounds. Sides with the same layer must
give the same output and gradients at the first length. Peak memory is counted in passes that are not timed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks import document_layer_sides as layer
from benchmarks import document_step_sides as step
from benchmarks.by_length import (
    Comparison,
    Size,
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
from ctxzoo.results.environment import git_commit

WIDTH = 100  # of word vectors and of states
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
WORDS = {"cpu": 4096, "cuda": 65_536}  # that attention reads in a pass
DOCUMENTS = 32  # in the other comparisons
QUICK_SIZES = ((4, 8, 16), (2, 16, 16))
COLOURS = {
    "LAMA": "#1f5fa8",
    "LAMA, W_w of 32 rows": "#2f3b8a",
    "LAMA, W_w of 16 rows": "#6a51a3",
    "LAMA without W_w": "#3f9fc8",
    "SAN": "#d1792b",
    "self-attention": "#3b8a5a",
}


def build_heads_comparison(count: int) -> Comparison:
    """Return the comparison of LAMA, SAN and self-attention with `count` heads.

    LAMA is the attention of Mehta et al. (2019), on a GPU by Triton's kernels too; SAN that of Lin et al. (2017).
    """
    return Comparison(
        f"{count} heads",
        (
            layer.Side("LAMA", "LAMA", count),
            layer.Side("LAMA, W_w of 32 rows", "LAMA, W_w of 32 rows", count),
            layer.Side("LAMA, W_w of 16 rows", "LAMA, W_w of 16 rows", count),
            layer.Side("LAMA without W_w", "LAMA without W_w", count),
            layer.Side("LAMA, Triton", "LAMA", count, implementation="triton"),
            layer.Side("LAMA without W_w, Triton", "LAMA without W_w", count, implementation="triton"),
            layer.Side("SAN", "SAN", count),
            layer.Side("self-attention", "self-attention", count),
        ),
        reference="SAN",
        passes=LAYER_PASSES,
    )


STEP = Comparison(
    "training step",
    (step.Side("LAMA+ctx", "LAMA+ctx", 15), step.Side("SAN", "SAN", 30), step.Side("TE", "TE", 16)),
    reference="SAN",
    passes=step.STEP_PASSES,
)
RECURRENCE = Comparison(
    "recurrence",
    (
        layer.Side("MaskedBiRNN", "GRU"),
        layer.Side("nn.GRU, packed", "GRU", way="packed"),
        layer.Side("nn.GRU, unpacked", "GRU", way="unpacked"),
    ),
    reference="nn.GRU, unpacked",
    passes=LAYER_PASSES,
)
COMPARISONS = (build_heads_comparison(30), build_heads_comparison(15), STEP, RECURRENCE)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time LAMA's attention beside others by document length; write the results file and the plot.

    Returns the path of the results file.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = parse_arguments(build_argument_parser("document_attention", __doc__, COMPARISONS, device), arguments)
    commit = git_commit()
    if not options.redraw:
        comparisons = select_possible_comparisons(COMPARISONS, options)
        rows: list[dict[str, Value]] = []
        for setting in iterate_settings(options):
            for comparison in comparisons:
                sizes = QUICK_SIZES if options.quick else list_sizes(comparison, device)
                obstacles = {side.label: explain_missing_kernels(side, device) for side in comparison.sides}
                rows += compare_sides(comparison, sizes, setting, obstacles)
        write_rows(options.target, rows, commit)
        print(f"wrote {options.target}")
    plot_times(read_rows(options.target), options.target.with_suffix(".png"), COMPARISONS[0].name, COLOURS)
    return Path(options.target)


def list_sizes(comparison: Comparison, device: str) -> list[Size]:
    """Return the sizes to time on a device, from short to long: documents, words in each, numbers in a word."""
    if comparison is STEP:
        return [(DOCUMENTS, 230, WIDTH)]
    if comparison is RECURRENCE:
        return [(DOCUMENTS, length, WIDTH) for length in (100, 230, 500)]
    return [(WORDS[device] // length, length, WIDTH) for length in LENGTHS]


if __name__ == "__main__":
    main(sys.argv[1:])
