"""An epoch of sessions with every position in one pass, beside prefixes as examples of their own.

    python -m benchmarks.session_positions                 HCRNN-3 + Bi and NARM on CiteULike, one thread
    python -m benchmarks.session_positions --quick         does it run? (the generated sample, tiny models)

Sides: "one pass": batches of 16 sessions of similar length, every position of each at once, as the recipes train.
"prefixes": batches of 512 prefixes drawn from all sessions, padded to the longest, as the authors of HCRNN train.
"prefixes by length": batches of 512 prefixes of similar length. All make the same predictions with the same model; a
test compares one pass with prefixes. A step is forward, backward and Adam. Seconds are those of the processor, so that
other work on the machine counts less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value, write_rows
from ctxzoo.data.bucketing import BucketSampler
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.results.environment import git_commit
from ctxzoo.tasks.sequences.data import SESSION_DATASETS, Session, SessionDataModule, collate_sessions
from ctxzoo.training.allocator import keep_freed_memory

NAME = "session_positions"
SESSIONS, PREFIXES = 16, 512  # in a batch
ONE_PASS, AUTHORS, SORTED = "one pass", "prefixes", "prefixes by length"
AIM = 1 / 3  # of the authors' way

Batch = dict[str, Any]


def list_batch_makers(side: str, sessions: Sequence[Session], seed: int = 0) -> list[Callable[[], Batch]]:
    """Return a function for each batch of an epoch, which builds it: whole sessions, or prefixes as examples."""
    if side == ONE_PASS:
        sampler = BucketSampler([len(session) for session in sessions], SESSIONS, shuffle=True, seed=seed)
        return [
            lambda rows=rows: {**collate_sessions([sessions[row] for row in rows]), "every_position": True}
            for rows in sampler
        ]
    prefixes = [(session, step) for session in sessions for step in range(1, len(session))]
    pool = 50 if side == SORTED else 1
    drawn = BucketSampler([step for _, step in prefixes], PREFIXES, shuffle=True, seed=seed, pool_batches=pool)
    return [lambda rows=rows: _build_prefix_batch([prefixes[row] for row in rows]) for rows in drawn]


def _build_prefix_batch(sessions_and_steps: Sequence[tuple[Session, int]]) -> Batch:
    """Return a batch of prefixes: the first `step` items of each session, padded by 0, labelled with the next item."""
    ids = torch.zeros(len(sessions_and_steps), max(step for _, step in sessions_and_steps), dtype=torch.int64)
    for row, (session, step) in enumerate(sessions_and_steps):
        ids[row, :step] = torch.from_numpy(session[:step])
    labels = torch.tensor([int(session[step]) for session, step in sessions_and_steps])
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def measure_epoch_seconds(model: Any, batches: Sequence[Callable[[], Batch]]) -> float:
    """Return the CPU seconds of training on all batches once; the first batch runs once before, untimed."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def run_training_step(make: Callable[[], Batch]) -> None:
        optimizer.zero_grad()
        model(**make()).loss.backward()
        optimizer.step()
        model.project_parameters()

    run_training_step(batches[0])
    started = time.process_time()
    for make in batches:
        run_training_step(make)
    return time.process_time() - started


def measure_rows(data: SessionDataModule, sizes: dict[str, Any]) -> Iterator[dict[str, Value]]:
    """Time an epoch of each model in both ways; yield a row for each."""
    sessions = data.sequences("train")
    models: dict[str, Callable[[], Any]] = {
        "HCRNN-3 + Bi": lambda: HcrnnForNextItem(HcrnnConfig(**sizes, **data.model_sizes())),  # type: ignore[arg-type]
        "NARM": lambda: SessionBaselineForNextItem(SessionBaselineConfig(**sizes, **data.model_sizes())),  # type: ignore[arg-type]
    }
    for name, make in models.items():
        for side in (ONE_PASS, AUTHORS, SORTED):
            torch.manual_seed(0)
            batches = list_batch_makers(side, sessions)
            seconds = measure_epoch_seconds(make().train(), batches)
            print(f"{name}, {side}: {seconds:.1f} s, {len(batches)} batches")
            predictions = int(np.sum([len(session) - 1 for session in sessions]))
            yield {"model": name, "side": side, "batches": len(batches), "predictions": predictions, "seconds": seconds}


def main(arguments: Sequence[str] | None = None) -> None:
    """Time both ways of reading sessions, print the table and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    torch.set_num_threads(1)
    keep_freed_memory()  # as every training does
    source = "sample" if options.quick else SESSION_DATASETS["citeulike"]
    data = SessionDataModule(source, data_dir=options.data_dir)
    data.setup()
    sizes = {"embedding_size": 6, "hidden_size": 6} if options.quick else {}
    rows = [{"data": source, **row} for row in measure_rows(data, sizes)]
    write_rows(options.out, rows, commit)


if __name__ == "__main__":
    main()
