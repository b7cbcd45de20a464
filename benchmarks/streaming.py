"""Memory and seconds of trainings by the number of rows, with training rows on the disk and in memory.

    python -m benchmarks.streaming                                     10^5, 10^6 and 10^7 rows
    python -m benchmarks.streaming --rows 100000 1000000 --problems text-classification

Each row is one `ctxzoo train` of a small model on generated Parquet files, in a process of its own, for 2,000 steps:
its greatest resident memory, the seconds until the training began (all rows are read, checked and divided by then) and
in all, the size of what was written of the rows, and the score on validation. In memory as many rows are read as
`--in_memory` says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.memory import measure_disk_mb
from benchmarks.reporting import RESULTS, Value, build_environment, format_number, read_rows, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.figures import draw_if_matplotlib_is_installed, new_figure, save_figure
from ctxzoo.results.result import read_result
from ctxzoo.results.table_parts import format_markdown_table

ROWS, IN_MEMORY, STEPS = (10**5, 10**6, 10**7), 10**6, 2_000
AT_ONCE = 10**5  # rows that are generated together, and are a file
COLUMNS = (
    *("problem", "mode", "rows", "steps", "peak_memory_mb", "seconds_before_training", "seconds", "rows_mb"),
    "validation_score",
)
WORDS, TEXT_WORDS, LABELS, ITEMS, LONGEST = 5_000, 6, 4, 5_000, 8
MOST_WORDS_APART = 40  # the words that tell of one label
SCORES = {
    "text-classification": "accuracy",
    "session-recommendation": "mrr_at_20",
    "language-modelling": "perplexity",
    "question-answering": "f1",
}
STREAMING, MEMORY = "streaming", "in memory"
# Small models, so that most of the memory is that of rows.
OPTIONS: Mapping[str, Sequence[str]] = {
    "text-classification": (
        *("--word_dim", "16", "--num_filters", "16", "--wide_rows", "10000", "--word_vectors", "null"),
        *("--vector_words", "0", "--vectors_std", "0"),
    ),
    "session-recommendation": (
        *("--architecture", "session_baseline", "--variant", "gru4rec", "--embedding_size", "16"),
        *("--hidden_size", "16", "--batch_size", "64"),
    ),
    "language-modelling": ("--word_dim", "16", "--hidden_size", "16"),
    "question-answering": ("--word_embedding_size", "8", "--hidden_size", "8", "--char_channels", "8"),
}


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train with each number of rows, print and write the results file and its picture; return the file's path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.streaming",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--problems", nargs="*", choices=SCORES, default=list(SCORES)[:2])
    parser.add_argument("--in_memory", type=int, default=IN_MEMORY, help="most rows that are also read into memory")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--folder", type=Path, help="folder for generated rows and trainings; default: a temporary one")
    parser.add_argument("--output", type=Path, default=RESULTS / "streaming.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    measured: list[dict[str, Value]] = []
    for problem in options.problems:
        for number in options.rows:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                write_generated_rows(Path(folder, "rows"), problem, number)
                for mode in (STREAMING, MEMORY):
                    if mode == STREAMING or number <= options.in_memory:
                        measured.append(measure_training(Path(folder), problem, mode, number, options.steps))
                        print(measured[-1], flush=True)
                        write_rows(options.output, measured, commit)  # a long program, which may be stopped
    rows, picture = read_rows(options.output), options.output.with_suffix(".png")
    draw_if_matplotlib_is_installed(lambda: plot_memory(rows, picture))
    return Path(options.output)


def measure_training(folder: Path, problem: str, mode: str, number: int, steps: int) -> dict[str, Value]:
    """Train on the rows in `folder` in a process of its own; return a row of the results file."""
    output = folder / mode.replace(" ", "_")
    output.mkdir()
    words = ["train", problem, "--data", str(folder / "rows"), "--epochs", "1000", "--max_steps", str(steps)]
    words += ["--patience", "0", "--baselines", "no", "--progress", "no", "--threads", "1", *OPTIONS[problem]]
    words += ["--streaming"] if mode == STREAMING else []
    environment = build_environment(
        PYTHONPATH=str(Path(__file__).resolve().parents[1]),
        PYTHONUNBUFFERED="1",
        HF_DATASETS_CACHE=str(output / "cache"),
    )
    begin, before_training, printed = time.perf_counter(), 0.0, []
    with subprocess.Popen(
        [sys.executable, "-m", "ctxzoo.cli", *words],
        cwd=output,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if line.startswith("training ") and not before_training:
                before_training = time.perf_counter() - begin
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(
            f"{problem}, {mode}, {number} rows ended with {process.returncode}: {''.join(printed[-20:])}"
        )
    (file,) = (output / "runs" / "results").rglob("*.json")
    metrics = read_result(file).metrics
    return {
        "problem": problem,
        "mode": mode,
        "rows": number,
        "steps": int(metrics["steps"]),
        "peak_memory_mb": usage.ru_maxrss / 1024,
        "seconds_before_training": before_training,
        "seconds": time.perf_counter() - begin,
        "rows_mb": measure_disk_mb(next((output / "runs").glob("train_*/data-*"))),
        "validation_score": metrics[f"validation/{SCORES[problem]}"],
    }


def write_generated_rows(folder: Path, problem: str, number: int) -> None:
    """Write rows of a problem as Parquet files of `AT_ONCE` rows or fewer."""
    folder.mkdir()
    generator, draw = np.random.default_rng(0), DRAWS[problem]
    for file, start in enumerate(range(0, number, AT_ONCE)):
        table = draw(generator, min(AT_ONCE, number - start))
        pq.write_table(table, folder / f"train-{file:05d}.parquet")


def _draw_texts(generator: np.random.Generator, number: int) -> pa.Table:
    """Return texts of six words; of most the first is one of those that tell of its label."""
    labels = generator.integers(0, LABELS, number)
    words = generator.integers(0, WORDS, (number, TEXT_WORDS))
    tells = generator.random(number) < 0.9
    own = labels * MOST_WORDS_APART + generator.integers(0, MOST_WORDS_APART, number)
    words[tells, 0] = own[tells]
    return pa.table({"text": _join_words(words), "label": _name("label", labels)})


def _draw_lines(generator: np.random.Generator, number: int) -> pa.Table:
    """Return lines of six words, each word but the first near the one before it."""
    steps = generator.integers(0, 3, (number, TEXT_WORDS))
    steps[:, 0] = generator.integers(0, WORDS, number)
    return pa.table({"text": _join_words(steps.cumsum(axis=1) % WORDS)})


def _draw_sessions(generator: np.random.Generator, number: int) -> pa.Table:
    """Return sessions of two to eight items, each item but the first near the one before it."""
    lengths = generator.integers(2, LONGEST + 1, number)
    ends = np.cumsum(lengths)
    steps = generator.integers(1, 4, int(ends[-1]))
    starts = np.concatenate([[0], ends[:-1]])
    steps[starts] = 0
    walked = np.cumsum(steps)
    first = generator.integers(0, ITEMS, number) - walked[starts]
    items = _name("item", (walked + np.repeat(first, lengths)) % ITEMS)
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.table({"items": pa.ListArray.from_arrays(offsets, items)})


def _draw_questions(generator: np.random.Generator, number: int) -> pa.Table:
    """Return questions for the word behind another, each with a context of its own of six words."""
    words = generator.integers(0, WORDS, (number, TEXT_WORDS))
    place = generator.integers(1, TEXT_WORDS, number)
    rows = []
    for row, (of_row, answer) in enumerate(zip(words.tolist(), place.tolist(), strict=True)):
        named = [f"word{word}" for word in of_row]
        answers = {"text": [named[answer]], "answer_start": [len(" ".join(named[:answer])) + 1]}
        question = f"what is behind {named[answer - 1]} ?"
        rows.append(
            {
                "id": f"{generator.integers(2**62)}-{row}",
                "title": "",
                "context": " ".join(named),
                "question": question,
                "answers": answers,
            }
        )
    return pa.Table.from_pylist(rows)


DRAWS: Mapping[str, Callable[[np.random.Generator, int], pa.Table]] = {
    "text-classification": _draw_texts,
    "session-recommendation": _draw_sessions,
    "language-modelling": _draw_lines,
    "question-answering": _draw_questions,
}


def _name(kind: str, numbers: np.ndarray) -> pa.Array:
    """Return numbers as names, "label3"."""
    return pc.binary_join_element_wise(kind, pa.array(numbers).cast(pa.string()), "")


def _join_words(numbers: np.ndarray) -> pa.Array:
    """Return rows of word numbers as texts."""
    return pc.binary_join_element_wise(*(_name("word", column) for column in numbers.T), " ")


def format_streaming_table(rows: list[dict[str, str]]) -> str:
    """Return the picture and the Markdown table of memory and seconds by the number of rows."""
    headings = [
        "problem",
        "training rows",
        "rows",
        "memory, MB",
        "rows on the disk, MB",
        "s before training",
        "s in all",
    ]
    table = format_markdown_table(
        [*headings, "validation"],
        [
            [
                row["problem"],
                row["mode"],
                f"{int(row['rows']):,}",
                *(format_number(row[name], 0) for name in ("peak_memory_mb", "rows_mb")),
                *(format_number(row[name], 0) for name in ("seconds_before_training", "seconds")),
                format_number(row["validation_score"], 2),
            ]
            for row in rows
        ],
        left_aligned=2,
    )
    return f"![memory by the number of rows](results/streaming.png)\n\n{table}"


def plot_memory(rows: list[dict[str, str]], path: Path) -> None:
    """Draw the greatest memory against the number of rows, a line for each problem and mode.

    Raises:
        ImportError: matplotlib is missing.
    """
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    for place, problem in enumerate(dict.fromkeys(row["problem"] for row in rows)):
        for mode, style in ((STREAMING, "o-"), (MEMORY, "s--")):
            points = [row for row in rows if (row["problem"], row["mode"]) == (problem, mode)]
            axes.plot(
                [int(row["rows"]) for row in points],
                [float(row["peak_memory_mb"]) for row in points],
                style,
                color=f"C{place}",
                label=f"{problem}, {mode}",
            )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows of the data")
    axes.set_ylabel("greatest resident memory, MB")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save_figure(figure, path)


if __name__ == "__main__":
    main(sys.argv[1:])
