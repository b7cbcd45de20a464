"""How near to the stock attention learned kernels start, and what a causal layer of them costs.

    python -m benchmarks.kernel_start            about a minute on one thread
    python -m benchmarks.kernel_start --quick    does it run? (few frequencies, short texts)

start: BERT, 128 wide with 2 layers, its weights as they are drawn and four times as large, reads 8 texts of 24 tokens
with the stock attention and with each kernel in its place. A distance is the norm of the difference of the last states
divided by that of the stock states, the mean over 3 starts. uniform: queries of 0, so that every key has one weight.
causal: forward and backward pass of one layer over a text of 256 tokens, 128 wide with 4 heads, in the processor's
milliseconds, the median of 7, beside torch's `nn.MultiheadAttention` with a causal mask.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertModel

from benchmarks.reporting import RESULTS, Value, write_rows
from ctxzoo import use_attention
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.layers_kernel_encoder import SpectralDensity, build_kernel_attention
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

NAME = "kernel_start"
UNIFORM, PEER = "uniform", "nn.MultiheadAttention"
KERNELS: dict[str, dict[str, Any]] = {
    "ikan, direct": {"attention": "ikan", "kernel": "direct", "p_norm": 2.0},
    "ika": {"attention": "ika"},
    "mikan": {"attention": "mikan", "p_norm": 2.0},
    "mikan, gated": {"attention": "mikan", "p_norm": 2.0, "kernel_gate": True},
}
FACTORS, FREQUENCIES, STARTS = (1, 4), (64, 256, 512, 1024, 8192), 3
WIDTH, HEADS, TEXTS, LENGTH, CAUSAL_LENGTH, ROUNDS = 128, 4, 8, 24, 256, 7


def build_stock_model(factor: float) -> BertModel:
    """Return a random BERT in evaluation mode, with its weights multiplied by `factor`."""
    torch.manual_seed(0)
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 4 * WIDTH}
    model = BertModel(BertConfig(vocab_size=1000, **sizes), add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name:
                weight.mul_(factor)
    return model


@torch.no_grad()
def measure_attention_distances(frequencies: Sequence[int]) -> Iterator[dict[str, Value]]:
    """Compare learned kernels before training with BERT's own attention.

    Yields a row for each factor of the weights, kernel and number of frequencies.
    """
    ids = torch.randint(5, 1000, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(1))
    for factor in FACTORS:
        stock = build_stock_model(factor)
        states = stock(ids).last_hidden_state

        def measure_distance(model: Any, states: torch.Tensor = states) -> float:
            return float((model(ids).last_hidden_state - states).norm() / states.norm())

        def build_row(attention: str, number: int | None, value: float, factor: int = factor) -> dict[str, Value]:
            what = {"part": "start", "attention": attention, "weights": factor, "frequencies": number}
            return {**what, "distance": value, "milliseconds": None}

        uniform = copy.deepcopy(stock)
        for layer in uniform.encoder.layer:
            layer.attention.self.query.weight.zero_()
            layer.attention.self.query.bias.zero_()
        yield build_row(UNIFORM, None, measure_distance(uniform))
        for attention, options in KERNELS.items():
            for number in frequencies:
                distances = []
                for start in range(STARTS):
                    torch.manual_seed(100 + start)
                    model = copy.deepcopy(stock)
                    use_attention(model, "ctxzoo_implicit_kernel", **options, num_features=number)
                    densities = [module for module in model.modules() if isinstance(module, SpectralDensity)]
                    for index, density in enumerate(densities):
                        density.noise_seed = start + index
                        density.draw_evaluation_noise()
                    distances.append(measure_distance(model))
                yield build_row(attention, number, statistics.mean(distances))


def measure_causal_costs(length: int) -> Iterator[dict[str, Value]]:
    """Time causal layers of each kernel and of the peer on `length` tokens; yield a row for each."""
    torch.manual_seed(0)
    peer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    tokens = torch.randn(1, length, WIDTH, requires_grad=True)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    passes: dict[str, Callable[[], torch.Tensor]] = {
        PEER: lambda: peer(tokens, tokens, tokens, attn_mask=later, need_weights=False)[0]
    }
    heads = torch.randn(3, 1, HEADS, length, WIDTH // HEADS, requires_grad=True)
    for name, options in KERNELS.items():
        config = KernelEncoderConfig(hidden_size=WIDTH, num_heads=HEADS, position="none", causal=True, **options)
        layer: Any = build_kernel_attention(config, 0).train()
        passes[name] = lambda layer=layer: layer(*heads, None, True)[0]
    seconds: dict[str, list[float]] = {name: [] for name in passes}
    for _ in range(1 + ROUNDS):  # in turns; the first round warms up
        for name, forward in passes.items():
            started = time.process_time()
            forward().sum().backward()
            seconds[name].append(time.process_time() - started)
    for name, taken in seconds.items():
        what = {"part": "causal", "attention": name, "weights": None, "frequencies": None, "distance": None}
        yield {**what, "milliseconds": 1000 * statistics.median(taken[1:])}


def format_kernel_start_table(rows: list[dict[str, str]]) -> str:
    """Return two Markdown tables: how far kernels start from BERT's attention, and what causal layers cost."""
    start, causal = ([row for row in rows if row["part"] == part] for part in ("start", "causal"))
    numbers = list(dict.fromkeys(row["frequencies"] for row in start if row["frequencies"]))
    body = []
    for key in dict.fromkeys((row["weights"], row["attention"]) for row in start):
        found = {row["frequencies"]: row["distance"] for row in start if (row["weights"], row["attention"]) == key}
        cells = [found.get(number, found.get("", "")) for number in numbers]
        body.append([f"x{key[0]}", key[1], *(f"{float(cell):.4f}" for cell in cells)])
    peer = next(float(row["milliseconds"]) for row in causal if row["attention"] == PEER)
    costs = [
        [row["attention"], f"{float(row['milliseconds']):.1f}", f"{float(row['milliseconds']) / peer:.1f}"]
        for row in causal
    ]
    headings = ["weights", "attention", *(f"{int(number):,} frequencies" for number in numbers)]
    distances_table = format_markdown_table(headings, body, left_aligned=2)
    return f"{distances_table}\n\n{format_markdown_table(['causal layer', 'ms', 'times the peer'], costs)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure distances and costs, print them and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    torch.set_num_threads(1)
    rows = [
        *measure_attention_distances((8, 16) if options.quick else FREQUENCIES),
        *measure_causal_costs(9 if options.quick else CAUSAL_LENGTH),
    ]
    write_rows(options.out, rows, commit)
    print(
        format_kernel_start_table(
            [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        )
    )


if __name__ == "__main__":
    main()
