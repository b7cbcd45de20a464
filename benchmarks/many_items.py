"""What an epoch and a recommendation take by the number of items, with all items in the loss or a sample of them.

    python -m benchmarks.many_items             10^4, 10^5 and 10^6 items, about ten minutes on one thread
    python -m benchmarks.many_items --quick     does it run? (few items and steps)

The model is that of `ctxzoo train session-recommendation`: HCRNN-3 + Bi, 200 wide, batches of 16 sessions, here of 12
items drawn from Zipf's distribution, with every position trained at once; the sample is of 2,000 items. An epoch is of
100,000 predictions: the time of some steps (forward, backward, Adam), scaled. A recommendation is the ten likeliest
items after five, by name: the median of several, after a first one. Each row runs in a process of its own, on one
thread, in the processor's seconds; memory is the greatest resident one. "floor" is Adam's step alone, which reads and
writes every item's vector, gradient and moments.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reporting import RESULTS, Value, format_number, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

NAME = "many_items"
ITEMS, SAMPLED = (10_000, 100_000, 1_000_000), (0, 2000)
SESSIONS, LENGTH, EPOCH = 16, 12, 100_000
STEPS, RECOMMENDATIONS = 10, 9
SIZES = {"embedding_size": 200, "hidden_size": 200, "embedding_dropout": 0.5, "pooled_dropout": 0.5}


def measure_model(num_items: int, num_sampled: int, steps: int) -> dict[str, Value]:
    """Train and ask one model in this process; return a row of the results file."""
    import torch  # the parent process needs none of it

    from benchmarks.memory import measure_own_peak_memory_mb
    from ctxzoo.models.configuration_hcrnn import HcrnnConfig
    from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
    from ctxzoo.training.allocator import keep_freed_memory

    torch.set_num_threads(1)
    keep_freed_memory()  # as every training does
    torch.manual_seed(0)
    counts = [1 + 10 * num_items // (item + 1) for item in range(num_items)]
    fields: Any = {"num_items": num_items, "num_sampled": num_sampled, "item_counts": counts, **SIZES}
    names = [f"item {item}" for item in range(num_items)]
    model: Any = HcrnnForNextItem(HcrnnConfig.of_variant("hcrnn3_bi", item_names=names, **fields)).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    weights = torch.tensor(counts, dtype=torch.float64).cumsum(0)
    draws = torch.rand(steps + 1, SESSIONS, LENGTH, dtype=torch.float64) * weights[-1]
    sessions = torch.searchsorted(weights, draws).clamp(max=num_items - 1) + 1
    adam = []

    def run_training_step(ids: torch.Tensor) -> None:
        optimizer.zero_grad()
        model(input_ids=ids[:, :-1].contiguous(), labels=ids[:, 1:].contiguous(), every_position=True).loss.backward()
        started = time.process_time()
        optimizer.step()
        adam.append(time.process_time() - started)
        model.project_parameters()

    run_training_step(sessions[0])
    started = time.process_time()
    for ids in sessions[1:]:
        run_training_step(ids)
    seconds = (time.process_time() - started) / steps
    trained_mb = measure_own_peak_memory_mb()
    answers = []
    for _ in range(1 + RECOMMENDATIONS):
        started = time.process_time()
        model.recommend(names[:5], 10)
        answers.append(time.process_time() - started)
    epoch_steps = EPOCH / (SESSIONS * (LENGTH - 1))
    return {
        "items": num_items,
        "sampled": num_sampled,
        "step_ms": 1000 * seconds,
        "epoch_seconds": epoch_steps * seconds,
        "floor_seconds": epoch_steps * statistics.median(adam[1:]),
        "first_recommendation_ms": 1000 * answers[0],
        "recommendation_ms": 1000 * statistics.median(answers[1:]),
        "peak_memory_mb": trained_mb,
        "table_mb": 4e-6 * num_items * SIZES["embedding_size"],
    }


def measure_in_new_process(num_items: int, num_sampled: int, steps: int) -> dict[str, Value]:
    """Return the row of one model, measured in a process of its own."""
    program = (
        "import ctxzoo.openmp, json, sys; from benchmarks.many_items import measure_model; "
        "print(json.dumps(measure_model(*map(int, sys.argv[1:]))))"
    )
    words = [sys.executable, "-c", program, *map(str, (num_items, num_sampled, steps))]
    finished = subprocess.run(words, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"{num_items} items, {num_sampled} sampled: {finished.stderr[-2000:]}")
    row: dict[str, Value] = json.loads(finished.stdout.splitlines()[-1])
    return row


def format_many_items_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of seconds and memory by the number of items."""
    headings = ["items", "in the loss", "step, ms", "epoch, s", "floor, s", "recommendation, ms", "memory, MB"]
    body = [
        [
            f"{int(row['items']):,}",
            f"{int(row['sampled']):,} sampled" if int(row["sampled"]) else "all",
            *(format_number(row[name], 0) for name in ("step_ms", "epoch_seconds", "floor_seconds")),
            format_number(row["recommendation_ms"], 1),
            format_number(row["peak_memory_mb"], 0),
        ]
        for row in rows
    ]
    return format_markdown_table(headings, body, left_aligned=2)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure each number of items, print the table and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few items and steps")
    parser.add_argument("--output", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    rows = []
    for number in (3_000, 4_000) if options.quick else ITEMS:
        for sampled in SAMPLED:
            rows.append(measure_in_new_process(number, sampled, 1 if options.quick else STEPS))
            print(rows[-1], flush=True)
    write_rows(options.output, rows, commit)
    return Path(options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
