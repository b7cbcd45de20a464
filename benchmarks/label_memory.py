"""Memory, disk and seconds of the default text classifier by its number of labels, now and in an earlier checkout.

    python -m benchmarks.label_memory                                   this checkout
    python -m benchmarks.label_memory --earlier ../ctxzoo-of-then       beside one of an earlier commit

Each row is one `ctxzoo train text-classification` of generated texts, 15 words each, in a process of its own: its
greatest resident memory, the size of the checkpoint folder and of the whole folder of the run, and the accuracy on
validation.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.memory import measure_disk_mb
from benchmarks.reporting import RESULTS, Value, build_environment, format_number, read_rows, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

LABELS = (2, 6, 50, 200)
TEXTS, WORDS, EPOCHS = 3_000, 15, 2
AIM_MEMORY_MB, AIM_DISK_MB = 1_500, 30
COLUMNS = (
    *("code", "labels", "texts", "peak_memory_mb", "checkpoint_mb", "run_mb", "seconds"),
    "validation_accuracy",
)
COMMON, OF_LABEL = 6_000, 20  # generated words
OWN, MISLEADING = 4, 0.4  # words of a text that are of one label, and how many of them are of another than its own
ROOT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train with each number of labels, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--labels", type=int, nargs="*", default=LABELS)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--earlier", type=Path, help="checkout of an earlier commit, which is measured too")
    parser.add_argument("--tiny", action="store_true", help="tiny models: does it run?")
    parser.add_argument(
        "--add", type=Path, nargs="*", default=(), help="results files of this commit to join, in order"
    )
    parser.add_argument("--output", type=Path, default=RESULTS / "label_memory.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    rows: list[dict[str, Value]] = [
        {name: row[name] for name in COLUMNS}
        for file in options.add
        for row in read_rows(file)
        if row["commit"] == commit
    ]
    for number in options.labels:
        for checkout in (ROOT, options.earlier):
            if checkout is not None:
                rows.append(measure_training(checkout, number, options.texts, tiny=options.tiny))
                print(rows[-1], flush=True)
                write_rows(options.output, rows, commit)  # a long program, which may be stopped
    write_rows(options.output, rows, commit)
    return Path(options.output)


def measure_training(checkout: Path, num_labels: int, num_texts: int, *, tiny: bool) -> dict[str, Value]:
    """Train on generated texts with the code of a checkout; return a row of the results file."""
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder, "texts.csv"), num_labels, num_texts)
        words = ["train", "text-classification", "--data", "texts.csv", "--epochs", str(EPOCHS), "--baselines", "no"]
        words += ["--progress", "no", *(["--tiny"] if tiny else [])]
        environment = build_environment(PYTHONPATH=str(checkout.resolve()))
        begin = time.perf_counter()
        with Path(folder, "output.txt").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "ctxzoo.cli", *words], cwd=folder, env=environment, stdout=output, stderr=output
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        printed = Path(folder, "output.txt").read_text()
        if process.returncode:
            raise RuntimeError(f"training with {num_labels} labels ended with {process.returncode}: {printed[-2000:]}")
        (run,) = (one.parent for one in Path(folder, "runs").glob("*/*/checkpoint"))
        accuracy = next(line for line in printed.splitlines() if line.startswith("│ accuracy")).split("│")[2]
        return {
            "code": "now" if checkout == ROOT else read_commit(checkout),
            "labels": num_labels,
            "texts": num_texts,
            "peak_memory_mb": usage.ru_maxrss / 1024,
            "checkpoint_mb": measure_disk_mb(run / "checkpoint"),
            "run_mb": measure_disk_mb(run),
            "seconds": seconds,
            "validation_accuracy": float(accuracy),
        }


def write_texts(file: Path, num_labels: int, num_texts: int) -> None:
    """Write texts of generated words as CSV; a few of each text's words are those of its label, or of another."""
    generator = np.random.default_rng(0)
    letters = np.array(list("aabcdeeefghiijklmnoopqrsttuuvwxyz"))
    count = COMMON + OF_LABEL * num_labels
    vocabulary = ["".join(generator.choice(letters, length)) for length in generator.integers(3, 9, count)]
    frequency = 1 / np.arange(1, COMMON + 1)
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(("text", "label"))
        for row in range(num_texts):
            label = row % num_labels
            common = generator.choice(COMMON, WORDS - OWN, p=frequency / frequency.sum())
            of_labels = np.where(generator.random(OWN) < MISLEADING, generator.integers(0, num_labels, OWN), label)
            own = COMMON + OF_LABEL * of_labels + generator.integers(0, OF_LABEL, OWN)
            chosen = generator.permutation(np.concatenate([common, own]))
            writer.writerow((" ".join(vocabulary[word] for word in chosen), f"label {label}"))


def read_commit(checkout: Path) -> str:
    """Return the first digits of the commit of a checkout."""
    words = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout[:12]


def format_label_memory_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of memory, disk and seconds by the number of labels."""
    headings = ["labels", "code", "memory, MB", "checkpoint, MB", "folder of the run, MB", "seconds", "accuracy"]
    return format_markdown_table(
        headings,
        [
            [
                row["labels"],
                row["code"],
                *(f"{float(row[name]):,.0f}" for name in ("peak_memory_mb",)),
                *(format_number(row[name], 1) for name in ("checkpoint_mb", "run_mb", "seconds")),
                format_number(row["validation_accuracy"], 2),
            ]
            for row in sorted(rows, key=lambda row: int(row["labels"]))
        ],
        left_aligned=2,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
