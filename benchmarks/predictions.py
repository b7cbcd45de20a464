"""Texts a second that `ctxzoo predict` labels, beside scikit-learn's linear SVM on TF-IDF, as whole commands.

    python -m benchmarks.predictions                                  100,000 news texts of about 38 words
    python -m benchmarks.predictions --quick --output F               does it run? (a few texts of the sample)

Both read a CSV file and write one, in a process of its own with all cores: the default classifier, trained on 3,000
texts, and words (1-2) and characters (2-5) in a linear SVM, fitted to the same. Each is run on few texts and on all;
the difference gives the texts a second without the start of the program. Texts are four headlines of
ctxzoo-data/news_aggregator, one after another.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import joblib
import numpy as np

import ctxzoo
from benchmarks.reporting import RESULTS, Value, build_environment, format_number, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.tasks.text_classification.linear import build_linear_baseline
from ctxzoo.tasks.text_classification.reader import read_texts

DATASET, COLUMN, HEADLINES = "ctxzoo-data/news_aggregator", ("title",), 4
TRAIN_TEXTS, FEW, MANY = 3_000, 2_000, 100_000
AIM = 3_000  # texts a second on two cores
PEER, AT_ONCE = "words_characters_svm", 1_000
ROOT = Path(__file__).resolve().parents[1]
# A small process in between: the memory of a child begins as that of its parent.
LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train both classifiers, time their commands, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predictions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--texts", type=int, default=MANY)
    parser.add_argument("--quick", action="store_true", help="tiny model, few texts of the sample")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)  # the other command: model, texts, answers
    options = parser.parse_args(arguments)
    if options.peer:
        return label_with_peer(*map(Path, options.peer))
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit, few, many = git_commit(), 10 if options.quick else FEW, 30 if options.quick else options.texts
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train_texts, labels, texts = read_rows_of(options.quick)
        write_csv(folder / "few.csv", islice(generate_texts(texts), few))
        write_csv(folder / "many.csv", islice(generate_texts(texts), many))
        commands = build_commands(folder, train_texts, labels, tiny=options.quick)
        rows = [measure_command(name, words, folder, few, many) for name, words in commands.items()]
    for row in rows:
        row["ratio"] = float(row["texts_per_second"] or 0) / float(rows[1]["texts_per_second"] or 1)
        print(row, flush=True)
    target = options.output or RESULTS / "predictions.csv"
    write_rows(target, rows, commit)
    return Path(target)


def read_rows_of(quick: bool) -> tuple[list[str], list[str], list[str]]:
    """Return training texts, their labels, and the headlines of which texts to label are made."""
    read = read_texts("sample" if quick else DATASET, None, None if quick else COLUMN, None, None)
    train, other = read.splits["train"], read.splits["test"]
    names = np.array(read.label_names)[train["label"][:TRAIN_TEXTS]]
    return train["text"][:TRAIN_TEXTS], names.tolist(), other["text"][:]


def generate_texts(headlines: Sequence[str]) -> Iterator[str]:
    """Yield texts of a few headlines each, drawn with a seed, without end."""
    generator = np.random.default_rng(0)
    while True:
        yield " ".join(headlines[row] for row in generator.integers(len(headlines), size=HEADLINES))


def write_csv(file: Path, texts: Iterator[str]) -> None:
    """Write texts as a CSV file with the column "text"."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([["text"], *([text] for text in texts)])


def build_commands(folder: Path, texts: list[str], labels: list[str], *, tiny: bool) -> dict[str, list[str]]:
    """Train the default classifier and fit the peer; return the words of each one's command but for its files."""
    with (folder / "train.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([["text", "label"], *zip(texts, labels, strict=True)])
    options = {"epochs": 2, "baselines": False, "output_dir": str(folder / "runs"), "tiny": tiny}
    trained = ctxzoo.train("text-classification", str(folder / "train.csv"), **options)
    joblib.dump(build_linear_baseline(PEER).fit(texts, labels), folder / "peer.joblib")
    answer_file = ["--file", "{file}", "--output", "answers.csv"]
    return {
        "`ctxzoo predict`": ["-m", "ctxzoo.cli", "predict", str(trained.checkpoint), *answer_file],
        "TF-IDF and linear SVM": ["-m", "benchmarks.predictions", "--peer", "peer.joblib", "{file}", "answers.csv"],
    }


def measure_command(name: str, words: Sequence[str], folder: Path, few: int, many: int) -> dict[str, Value]:
    """Run a command on few texts and on many; return a row of the results file."""
    seconds, memory = {}, 0.0
    for file, number in (("few.csv", few), ("many.csv", many)):
        (folder / "answers.csv").unlink(missing_ok=True)
        command = [sys.executable, *(word.replace("{file}", file) for word in words)]
        begin = time.perf_counter()
        found = subprocess.run(
            [sys.executable, "-c", LAUNCHER, *command],
            cwd=folder,
            env=build_environment(PYTHONPATH=str(ROOT)),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds[number], memory = time.perf_counter() - begin, int(found.stdout.split()[-1]) / 1024
        with (folder / "answers.csv").open(newline="", encoding="utf-8") as opened:
            answers = sum(1 for _ in csv.reader(opened)) - 1
        if answers != number:
            raise RuntimeError(f"{name} gave {answers} answers to {number} texts")
    per_second = (many - few) / max(seconds[many] - seconds[few], 1e-9)
    return {
        "command_measured": name,
        "texts": many,
        "seconds": seconds[many],
        "start_seconds": seconds[few] - few / per_second,
        "texts_per_second": per_second,
        "peak_memory_mb": memory,
        "aim": AIM,
    }


def label_with_peer(model: Path, file: Path, answers: Path) -> Path:
    """Label the texts of a CSV file with a fitted pipeline, so many at once; return the file of answers."""
    pipeline = joblib.load(model)
    with file.open(newline="", encoding="utf-8") as texts, answers.open("w", newline="", encoding="utf-8") as opened:
        rows, writer = csv.DictReader(texts), csv.writer(opened)
        writer.writerow(["text", "predicted_label"])
        while chunk := [row["text"] for row in islice(rows, AT_ONCE)]:
            writer.writerows(zip(chunk, pipeline.predict(chunk), strict=True))
    return answers


def format_predictions_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of texts a second of both commands."""
    headings = ["command", "texts", "seconds", "of which start", "texts a second", "of the SVM's", "memory, MB", "aim"]
    return format_markdown_table(
        headings,
        [
            [
                row["command_measured"],
                format_number(row["texts"], 0),
                *(format_number(row[name], 1) for name in ("seconds", "start_seconds")),
                format_number(row["texts_per_second"], 0),
                format_number(row["ratio"], 2),
                format_number(row["peak_memory_mb"], 0),
                format_number(row["aim"], 0) if number == 0 else "",
            ]
            for number, row in enumerate(rows)
        ],
        left_aligned=1,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
