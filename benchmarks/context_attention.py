"""Attention of the encoders beside torch's fused attention, by the length of the text.

    python -m benchmarks.context_attention                 every comparison, 1 thread; on a machine with a GPU, on that
    python -m benchmarks.context_attention --comparisons linear --threads 1 all
    python -m benchmarks.context_attention --redraw        the plot again, from the file
    python -m benchmarks.context_attention --quick --output F    does it run? (tiny sizes)

All sides of a comparison read the same random tokens, without padding, in processes of their own and in turns. linear,
causal and decoding: the attention alone, its queries, keys and values the tokens themselves. stock decoding: a Llama of
two layers by transformers with its cache of keys, and with linear attention. kernels and pairs: a whole layer with
linear maps to queries, keys and values, and one behind. performer-pytorch runs where it is installed, and causal sums
by Triton's kernels on a GPU. A forward pass
computes no gradients; a backward pass computes those of the sum of the outputs with respect to tokens and weights.
Seconds are medians over rounds. Peak memory is counted in passes that are not timed.
"""

from __future__ import annotations

import argparse
import importlib.util
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
from benchmarks.context_attention_sides import HEADS, PEER, Side
from benchmarks.length_plot import plot_times
from benchmarks.passes import LAYER_PASSES
from benchmarks.reporting import Value, read_rows, write_rows
from ctxzoo.results.environment import git_commit

LENGTHS = (256, 512, 1024, 2048, 4096)
# What takes quadratic time is not measured at all lengths; some of the pairs keep matrices of weights, too.
QUADRATIC_UP_TO = {"kernels": 4096, "pairs": 1024, "stock decoding": 4096}
FITTED_FROM = 1024  # shorter texts show what a call costs
COLOURS = {"sdpa": "#d1792b", "esa": "#1f5fa8", "performer": "#3b8a5a"}


def _list_linear_sides(causal: bool) -> tuple[Side, ...]:
    """Return the sides that compare attention in linear time with the peer, torch's fused attention."""
    return (
        Side("learned, default M", "esa", (), causal),
        Side("favor, M = 64", "esa", ("feature_map=favor", "num_features=64"), causal),
        Side("favor, default M", "esa", ("feature_map=favor",), causal),
        Side("elu", "esa", ("feature_map=elu",), causal),
        Side(PEER, "sdpa", (), causal),
    )


PERFORMER = "performer-pytorch, M = 64"
KERNELS = (
    Side("learned, default M, Triton", "esa", (), True, implementation="triton"),
    Side("favor, default M, Triton", "esa", ("feature_map=favor",), True, implementation="triton"),
)


def _make_layer_side(label: str, model: str, *fields: str, causal: bool = False) -> Side:
    """Return a side with attention and its linear maps; `model` names the attention, `fields` its options."""
    return Side(label, model, fields, causal, alone=False)


COMPARISONS = (
    *(
        Comparison(
            name,
            (*_list_linear_sides(causal), *kernels, Side(PERFORMER, "performer", (), causal)),
            PEER,
            LAYER_PASSES,
        )
        for name, causal, kernels in (("linear", False, ()), ("causal", True, KERNELS))
    ),
    Comparison(
        "decoding",
        (*_list_linear_sides(True), Side("factorised", "hsa", ("order_type=factorised",), True)),
        reference=PEER,
        passes=("one more token",),
    ),
    Comparison(
        "stock decoding",
        (Side("linear attention with its state", "stock_esa", (), True), Side("stock attention", "stock", (), True)),
        reference="stock attention",
        passes=("one more token",),
    ),
    Comparison(
        "kernels",
        (
            _make_layer_side("dot", "dot"),
            _make_layer_side("ikan, direct", "ikan", "kernel=direct"),
            _make_layer_side("ika", "ika"),
            _make_layer_side("mikan", "mikan"),
            _make_layer_side(PEER, "sdpa"),
        ),
        reference=PEER,
        passes=LAYER_PASSES,
    ),
    Comparison(
        "pairs",
        (
            _make_layer_side("contextual", "hsa"),
            _make_layer_side("factorised", "hsa", "order_type=factorised"),
            _make_layer_side("factorised, causal", "hsa", "order_type=factorised", causal=True),
            _make_layer_side("anova", "hsa", "order_type=anova"),
            _make_layer_side(PEER, "sdpa"),
        ),
        reference=PEER,
        passes=LAYER_PASSES,
    ),
)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time the encoders' attention beside torch's by text length; write the results file and the plot.

    Returns the path of the results file.
    """
    options = parse_options(arguments, "cuda" if torch.cuda.is_available() else "cpu")
    commit = git_commit()
    if not options.redraw:
        rows: list[dict[str, Value]] = []
        for setting in iterate_settings(options, fitted_from=FITTED_FROM):
            for comparison in select_possible_comparisons(COMPARISONS, options):
                limit = QUADRATIC_UP_TO.get(comparison.name, max(options.lengths))
                lengths = [length for length in options.lengths if length <= limit] or options.lengths[:1]
                sizes = [(options.batch_size, n, options.width) for n in lengths]
                rows += compare_sides(comparison, sizes, setting, _list_obstacles(options.device))
        write_rows(options.target, rows, commit)
        print(f"wrote {options.target}")
    plot_times(read_rows(options.target), options.target.with_suffix(".png"), "linear", COLOURS)
    return Path(options.target)


def _list_obstacles(device: str) -> dict[str, str]:
    """Return why a side cannot run on this machine, by its label; empty where it can."""
    obstacles = {side.label: explain_missing_kernels(side, device) for side in KERNELS}
    if importlib.util.find_spec("performer_pytorch") is None:
        obstacles[PERFORMER] = "performer-pytorch is not installed"
    return obstacles


def parse_options(arguments: Sequence[str] | None, device: str) -> argparse.Namespace:
    """Parse the command line, and fill in what `--quick` and the device stand for."""
    parser = build_argument_parser("context_attention", __doc__, COMPARISONS, device)
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), help="n, tokens in a text")
    parser.add_argument("--width", type=int, default=512, help="m, numbers in a token")
    parser.add_argument("--batch_size", type=int, default=1)
    options = parse_arguments(parser, arguments)
    if options.quick:
        options.lengths, options.width, options.batch_size = [8, 16], 16, 2
    if options.width % (2 * HEADS):
        parser.error(f"--width {options.width} is no multiple of {2 * HEADS}: give another")
    options.lengths = sorted(set(options.lengths))
    return options


if __name__ == "__main__":
    main(sys.argv[1:])
