"""A training step beside other work, by how long threads that wait for work spin (`ctxzoo/openmp.py`).

    python -m benchmarks.waiting_threads                  about five minutes on two cores
    python -m benchmarks.waiting_threads --quick          does it run? (tiny sizes, generated corpus)

A training takes BiDAF's steps in a process of its own with all cores: alone, beside one process that keeps a core busy,
and beside a second training like itself. Seconds are those of the clock on the wall, medians over rounds.
"""

from __future__ import annotations

from ctxzoo.openmp import SPINS

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.reporting import RESULTS, Value, write_rows
from benchmarks.sides import Side
from benchmarks.timing import parse_thread_counts
from benchmarks.training_step import write_inputs
from benchmarks.worker import Worker
from ctxzoo.results.environment import git_commit

VARIANT = "learned_char7"
UNBOUNDED = "unbounded"
POLICY, SPIN_COUNT = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
# None stands for no setting. Unbounded is how torch starts where nobody sets anything.
SETTINGS: dict[str, Mapping[str, str | None]] = {
    UNBOUNDED: {POLICY: None, SPIN_COUNT: None},
    **{
        f"{SPIN_COUNT}={spins}": {POLICY: None, SPIN_COUNT: str(spins)}
        for spins in sorted({SPINS, 10_000, 3_000, 1_000}, reverse=True)
    },
    f"{POLICY}=passive": {POLICY: "passive", SPIN_COUNT: None},
}
ONE_THREAD = "one thread"
SITUATIONS = ("alone", "beside a busy process", "two trainings")


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time a training step by how long waiting threads spin, print and write the results file; return its path."""
    options = parse_arguments(arguments)
    commit = git_commit()
    (cores,) = parse_thread_counts(["all"])
    seconds: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs.pt")
        dataset = write_inputs({VARIANT: inputs}, options.quick, options.batch_size, options.batches)
        for name in (*SETTINGS, ONE_THREAD):
            threads = 1 if name == ONE_THREAD else cores
            for situation in SITUATIONS:
                spent = measure_round_seconds(inputs, situation, SETTINGS.get(name, {}), threads, options.rounds)
                seconds[name, situation] = spent / options.batches
                print(f"{name:26} {situation:22} {1 / seconds[name, situation]:.2f} steps/s", flush=True)
    rows: list[dict[str, Value]] = [
        {
            "setting": name,
            "situation": situation,
            "dataset": dataset,
            "variant": VARIANT,
            "threads": 1 if name == ONE_THREAD else cores,
            "batch_size": options.batch_size,
            "rounds": options.rounds,
            "steps_per_second": 1 / spent,
            "ratio": seconds[UNBOUNDED, situation] / spent,
        }
        for (name, situation), spent in seconds.items()
    ]
    write_rows(options.output, rows, commit)
    print(f"wrote {options.output}")
    return Path(options.output)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and fill in what `--quick` stands for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.waiting_threads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=2, help="training steps in a round")
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--output", type=Path, help="default: results/waiting_threads.csv beside this file")
    parser.add_argument("--quick", action="store_true", help="tiny model, one round")
    options = parser.parse_args(arguments)
    if options.quick:
        if options.output is None:
            parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
        options.rounds, options.batches, options.batch_size = 1, 1, 4
    options.output = options.output or RESULTS / "waiting_threads.csv"
    return options


def measure_round_seconds(
    inputs: Path, situation: str, variables: Mapping[str, str | None], threads: int, rounds: int
) -> float:
    """Return the median seconds of a training round in a situation, such as beside a busy process.

    Of two trainings at once, the rounds of both count.
    """
    trainings = 2 if situation == "two trainings" else 1
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(Side("ctxzoo"), threads, str(inputs), "cpu", variables=variables))
            for _ in range(trainings)
        ]
        for worker in workers:
            worker.ask("warm_up", "training")
        if situation == "beside a busy process":
            stack.enter_context(run_busy_process())
        pool = stack.enter_context(ThreadPoolExecutor(trainings))
        return statistics.median(spent for _ in range(rounds) for spent in pool.map(time_training_round, workers))


def time_training_round(worker: Worker) -> float:
    """Return the wall seconds of one training round."""
    begin = time.perf_counter()
    worker.ask("time_round", "training")
    return time.perf_counter() - begin


@contextmanager
def run_busy_process() -> Iterator[None]:
    """Keep another process computing without a pause while the block runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
