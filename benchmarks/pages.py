"""Seconds until the page of each published checkpoint is up, and until it answers.

    python -m benchmarks.pages                               all of model_cards, and a model of each other problem
    python -m benchmarks.pages --only tagger-ewt             one
    python -m benchmarks.pages --rounds 1 --output F         does it run?

Of regression and language modelling, which have no published checkpoint, `ctxzoo train` makes a model of its sample
first. A page is up when its server answers, with the example answered already. Its answers are asked for over HTTP by
gradio's own client, as the browser does, with what the page holds when it is opened: the median over rounds, the
slowest, all cores.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reporting import CARDS, RESULTS, Value, format_number, list_checkpoints, write_rows
from ctxzoo.app.server import start_page
from ctxzoo.checkpoints import build_app, open_checkpoint
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

TRAINED = ("language-modelling", "regression")
ROUNDS = 9
AIM = 1.0  # seconds


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure the pages, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*list_checkpoints(), *TRAINED]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="CHECKPOINT")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"answers that are timed; default: {ROUNDS}")
    parser.add_argument("--output", type=Path, help="CSV file; default: that of benchmarks/results")
    options = parser.parse_args(arguments)
    commit, rows = git_commit(), []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.only:
            checkpoint = train_sample(name, Path(scratch)) if name in TRAINED else CARDS / name
            rows.append(measure_page(name, checkpoint, options.rounds))
            print(rows[-1], flush=True)
    target: Path = options.output or RESULTS / "pages.csv"
    write_rows(target, rows, commit)
    return target


def train_sample(problem: str, scratch: Path) -> Path:
    """Train a model of a problem on its sample by the command line, and return its checkpoint."""
    command = [sys.executable, "-m", "ctxzoo.cli", "train", problem, "--dataset", "sample", "--epochs", "1"]
    folders = ["--output_dir", str(scratch / problem), "--results_dir", str(scratch / "results")]
    subprocess.run([*command, *folders], check=True, capture_output=True)
    (config,) = (scratch / problem).rglob("checkpoint/config.json")
    return config.parent


def measure_page(name: str, checkpoint: Path, rounds: int) -> dict[str, Value]:
    """Return the row of a checkpoint: seconds until its page is up, and of an answer."""
    from gradio_client import Client

    begin = time.perf_counter()
    page = build_app(str(checkpoint))
    address = start_page(page)
    seconds_until_up = time.perf_counter() - begin
    client = Client(address, verbose=False)
    endpoint = client.view_api(print_info=False, return_format="dict")["named_endpoints"]["/answer"]
    empty = {one["parameter_name"]: None for one in endpoint["parameters"] if not one["parameter_has_default"]}
    seconds = []
    for _ in range(1 + rounds):  # the first opens the connection
        begin = time.perf_counter()
        client.predict(api_name="/answer", **empty)
        seconds.append(time.perf_counter() - begin)
    page.close(verbose=False)
    return {
        "checkpoint": name,
        "problem": open_checkpoint(str(checkpoint))[0].name,
        "seconds_until_up": seconds_until_up,
        "seconds_of_an_answer": statistics.median(seconds[1:]),
        "slowest_answer": max(seconds[1:]),
        "aim_seconds": AIM,
    }


def format_pages_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of the seconds that pages take to come up and to answer."""
    headings = ["checkpoint", "problem", "seconds until it is up", "seconds of an answer", "slowest", "aim: 1 at most"]
    numbers = ("seconds_until_up", "seconds_of_an_answer", "slowest_answer")
    return format_markdown_table(
        headings,
        [
            [
                row["checkpoint"],
                row["problem"],
                *(format_number(row[name], 2) for name in numbers),
                "reached" if float(row["seconds_of_an_answer"]) <= float(row["aim_seconds"]) else "missed",
            ]
            for row in rows
        ],
        left_aligned=2,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
