"""Seconds of an answer of the published reader beside a reader of DistilBERT's size, passages of 150 and 10,000 words.

    python -m benchmarks.reader
    python -m benchmarks.reader --quick --output FILE        does it run? (a small peer, short passages)

One thread, both sides in turns in one process, seconds of the processor, medians over rounds. Ours is
`ctxzoo.pipeline("model_cards/bidaf-squad")`, from the text to the answer. The peer is a
`DistilBertForQuestionAnswering` of random weights that reads 1.3 tokens for each word, in windows of 384 tokens that
share 128, 16 at once; its tokenizer and the choice of a span are not counted. `gigaflops` are the multiplications and
additions of each side's matrix products and convolutions, the limit of the ratio.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DistilBertConfig, DistilBertForQuestionAnswering

import ctxzoo
from benchmarks.reporting import RESULTS, Value, format_number, write_rows
from benchmarks.timing import measure_seconds
from ctxzoo.models.layers_recurrent import MaskedBiRNN
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

CHECKPOINT = Path(__file__).resolve().parents[1] / "model_cards" / "bidaf-squad"
QUESTION = "Who built the lighthouse that stands at the end of the old harbour wall?"
AIMS = {150: 0.015, 10_000: 0.8}  # seconds of ours, by words of the passage
TOKENS_PER_WORD, QUESTION_TOKENS, WINDOW, SHARED, WINDOWS_AT_ONCE = 1.3, 18, 384, 128, 16
KNOWN_WORDS = 5_000  # the most frequent, of which passages are made


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time both readers on passages of each length, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reader", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="timed answers of each side")
    parser.add_argument("--quick", action="store_true", help="a small peer, short passages, one round")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit, rounds = git_commit(), 1 if options.quick else options.rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    small = {"dim": 32, "hidden_dim": 64, "n_heads": 2, "n_layers": 1} if options.quick else {}
    peer, reader = DistilBertForQuestionAnswering(DistilBertConfig(**small)).eval(), ctxzoo.pipeline(str(CHECKPOINT))
    rows = [measure_passage(reader, peer, words, rounds) for words in ((20, 1_100) if options.quick else AIMS)]
    target = options.output or RESULTS / "reader.csv"
    write_rows(target, rows, commit)
    return Path(target)


def measure_passage(reader: Any, peer: Any, words: int, rounds: int) -> dict[str, Value]:
    """Time both sides on a passage of so many words; return its row."""
    known = reader.tokenizer.convert_ids_to_tokens(range(2, KNOWN_WORDS))
    passage = " ".join(known[row] for row in np.random.default_rng(0).integers(len(known), size=words))
    sides: list[Callable[[], Any]] = [
        partial(reader, question=QUESTION, context=passage),
        partial(read_with_peer, peer, words),
    ]
    flops = [count_flops(side, reader.model) for side in sides]  # which warms up, too
    seconds: list[list[float]] = [[], []]
    for _ in range(rounds):
        for side, of_side in zip(sides, seconds, strict=True):
            of_side.append(measure_seconds(side, torch.device("cpu")))
    ours, other = (statistics.median(of_side) for of_side in seconds)
    row: dict[str, Value] = {
        **{"words": words, "rounds": rounds, "our_seconds": ours, "other_seconds": other, "ratio": other / ours},
        **{"our_gigaflops": flops[0] / 1e9, "other_gigaflops": flops[1] / 1e9, "aim_seconds": AIMS.get(words)},
    }
    print(row, flush=True)
    return row


@torch.inference_mode()
def read_with_peer(peer: Any, words: int) -> None:
    """Compute the peer's logits of all windows of a passage of so many words, of random tokens."""
    passage, room = math.ceil(words * TOKENS_PER_WORD), WINDOW - QUESTION_TOKENS
    windows = 1 + max(0, math.ceil((passage - room) / (room - SHARED)))
    length = min(WINDOW, QUESTION_TOKENS + passage)
    for first in range(0, windows, WINDOWS_AT_ONCE):
        size = min(WINDOWS_AT_ONCE, windows - first)
        peer(input_ids=torch.randint(1_000, peer.config.vocab_size, (size, length)))


def count_flops(work: Callable[[], Any], model: torch.nn.Module) -> int:
    """Count multiplications and additions of the matrix products of `work`, those of LSTMs in `model` among them."""
    of_lstms = 0

    def count_lstm(layer: Any, inputs: tuple[torch.Tensor, ...], _: Any) -> None:
        nonlocal of_lstms
        if layer.cell == "lstm":  # one operation of torch, which its counter does not know
            weights = sum(one.numel() for one in layer.rnn.parameters() if one.dim() == 2)
            of_lstms += 2 * weights * inputs[0].shape[:2].numel()

    hooks = [one.register_forward_hook(count_lstm) for one in model.modules() if isinstance(one, MaskedBiRNN)]
    with FlopCounterMode(display=False) as counter:
        work()
    for hook in hooks:
        hook.remove()
    return int(counter.get_total_flops()) + of_lstms


def format_reader_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of seconds of an answer of both readers."""
    headings = ["words", "ours, ms", "DistilBERT's size, ms", "ratio", "ours, GFLOP", "other, GFLOP", "aim, ms"]
    return format_markdown_table(
        headings,
        [
            [
                format_number(row["words"], 0),
                *(format_number(row[name], 1, 1e-3) for name in ("our_seconds", "other_seconds")),
                *(format_number(row[name], 2) for name in ("ratio", "our_gigaflops", "other_gigaflops")),
                format_number(row["aim_seconds"], 0, 1e-3),
            ]
            for row in rows
        ],
    )


if __name__ == "__main__":
    main(sys.argv[1:])
