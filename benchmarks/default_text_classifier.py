"""Processor seconds of `ctxzoo train text-classification` on 5,000 headlines, beside a tuned TF-IDF SVM.

    python -m benchmarks.default_text_classifier
    python -m benchmarks.default_text_classifier --quick --output FILE        does it run? (few texts of the sample)

Whole commands in processes of their own, in turns, one thread each: reading a CSV file, training, saving; user and
system seconds of the processor, medians over rounds. Ours leaves out the linear model that it prints beside its own.
The peer, `words_characters_svm_tuned` of `build_linear_baseline`, is fitted and saved. Each is run on a few texts too,
which shows what a start costs, and the imports that any training with Lightning needs stand by themselves, as 0 texts.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import joblib

from benchmarks.predictions import read_rows_of
from benchmarks.reporting import RESULTS, Value, build_environment, format_number, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.tasks.text_classification.linear import build_linear_baseline

ROOT = Path(__file__).resolve().parents[1]
PEER = "words_characters_svm_tuned"
FEW, MANY, AIM = 100, 5_000, 15  # texts; processor seconds of ours on many
OURS = ["-m", "ctxzoo.cli", "train", "text-classification", "--data", "{file}", "--no_baselines"]
IMPORTS = "imports alone"
COMMANDS = {
    "`ctxzoo train`": OURS,
    IMPORTS: ["-c", "import datasets, lightning.pytorch, sklearn.svm; from transformers import AutoModel"],
    "TF-IDF and linear SVM, tuned": ["-m", "benchmarks.default_text_classifier", "--peer", "{file}"],
}


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time both commands, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.default_text_classifier",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few texts of the sample, one round")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)  # the other command: the file to fit
    options = parser.parse_args(arguments)
    if options.peer:
        return fit_peer(options.peer)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit, rounds = git_commit(), 1 if options.quick else options.rounds
    sizes = (60,) if options.quick else (FEW, MANY)
    texts, labels, _ = read_rows_of(options.quick)
    seconds: dict[tuple[str, int], list[float]] = {(IMPORTS, 0): []}
    seconds |= {(name, size): [] for size in sizes for name in COMMANDS if name != IMPORTS}
    with tempfile.TemporaryDirectory() as scratch:
        for size in sizes:
            with Path(scratch, f"{size}.csv").open("w", newline="", encoding="utf-8") as opened:
                csv.writer(opened).writerows([["text", "label"], *zip(texts[:size], labels[:size], strict=True)])
        for _ in range(rounds):
            for name, size in seconds:
                words = [word.replace("{file}", f"{size}.csv") for word in COMMANDS[name]]
                seconds[name, size].append(measure_processor_seconds(words, Path(scratch)))
    rows: list[dict[str, Value]] = [
        {"command_measured": name, "texts": size, "rounds": rounds, "processor_seconds": statistics.median(values)}
        | {"aim": AIM if (name, size) == ("`ctxzoo train`", MANY) else None}
        for (name, size), values in seconds.items()
    ]
    print(*rows, sep="\n")
    target = options.output or RESULTS / "default_text_classifier.csv"
    write_rows(target, rows, commit)
    return Path(target)


def measure_processor_seconds(words: Sequence[str], folder: Path) -> float:
    """Run Python with these arguments in a folder; return the processor seconds of it and of its children.

    Raises:
        RuntimeError: the command failed; with the end of what it printed.
    """
    shutil.rmtree(folder / "runs", ignore_errors=True)
    log = folder / "printed.txt"
    with log.open("w") as printed:
        environment = build_environment(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=environment, stdout=printed, stderr=printed
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit status {process.returncode}\n{log.read_text()[-3000:]}")
    return usage.ru_utime + usage.ru_stime


def fit_peer(file: Path) -> Path:
    """Fit the peer to the texts of a CSV file and save it; return its file."""
    with file.open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    model = build_linear_baseline(PEER).fit([row["text"] for row in rows], [row["label"] for row in rows])
    target = file.with_suffix(".joblib")
    joblib.dump(model, target)
    return target


def format_default_text_classifier_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of processor seconds of both commands."""
    return format_markdown_table(
        ["command", "texts", "processor seconds", "aim"],
        [
            [
                row["command_measured"],
                format_number(row["texts"], 0),
                format_number(row["processor_seconds"], 1),
                format_number(row["aim"], 0),
            ]
            for row in rows
        ],
        left_aligned=1,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
