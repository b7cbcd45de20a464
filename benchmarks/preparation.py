"""The time from SQuAD files to a DataModule that is ready: the first time, and again from the cache.

    python -m benchmarks.preparation                       both mini corpora, and a corpus of SQuAD 2.0's size
    python -m benchmarks.preparation --quick --output F    does it run? (a small generated corpus)

A start is `SquadDataModule.setup` in a fresh interpreter with two threads: reading and checking, cutting into words,
building vocabulary and tables (learned vectors, characters). "cold" has no cache of `datasets` or of ctxzoo, "second"
has both. SQuAD 2.0 itself is not needed: a row extrapolates to its 142,192 questions on 20,239 contexts, and another
measures a corpus of just that size, made by repeating the questions of a mini corpus under numbered contexts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets

from benchmarks.memory import measure_own_peak_memory_mb
from benchmarks.reporting import RESULTS, Value, build_environment, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.tasks.question_answering.reader import read_squad

DATASETS, SAMPLE = ("ctxzoo-data/squad_v1_mini", "ctxzoo-data/squad_v2_mini"), "sample"
THREADS = 2
FEW = 20
COLD, SECOND = "cold", "second"
AIMS = {COLD: 60.0, SECOND: 3.0}  # seconds for SQuAD 2.0, without imports
STAGES = ("reading_seconds", "cutting_seconds", "tables_seconds")
ROOT = Path(__file__).resolve().parents[1]

Splits = dict[str, datasets.Dataset]


@dataclass(frozen=True)
class Size:
    """Questions and distinct contexts of one split."""

    questions: int
    contexts: int


SQUAD_V2 = {"train": Size(130_319, 19_035), "validation": Size(11_873, 1_204)}
QUICK = {"train": Size(90, 20), "validation": Size(20, 5)}


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time the preparation of SQuAD data, print the seconds and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.preparation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3, help="starts of each kind; the median counts")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="small generated corpora, one round")
    parser.add_argument("--start", help=argparse.SUPPRESS)  # the fresh interpreter
    options = parser.parse_args(arguments)
    if options.start:
        print(json.dumps(measure_start(options.start)))
        return Path(options.start)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit = git_commit()
    target = options.output or RESULTS / "preparation.csv"
    full = QUICK if options.quick else SQUAD_V2
    rounds = 1 if options.quick else options.rounds
    rows: list[dict[str, Value]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in [SAMPLE] if options.quick else list_available_datasets():
            splits: Splits = dict(read_squad(name).splits)
            if options.quick:
                splits = repeat_to_sizes(splits, QUICK)
            corpora = {"whole": splits, "first": select_first_questions(splits), "few": select_few_questions(splits)}
            measured = {}
            for kind, corpus in corpora.items():
                saved = folder / f"{Path(name).name}-{kind}"
                save_splits(corpus, saved)
                measured[kind] = measure_cold_and_warm_starts(saved, rounds)
            rows += [build_preparation_time_row(name, splits, kind, measured["whole"]) for kind in (COLD, SECOND)]
            rows += [build_extrapolated_row(name, splits, kind, measured, full) for kind in (COLD, SECOND)]
            for one in rows[-4:]:
                print(format_row_line(one), flush=True)
        # `splits` is the last corpus: SQuAD 2.0 in shape, where the data is there.
        grown = repeat_to_sizes(splits, full)
        save_splits(grown, folder / "full")
        of_full = measure_cold_and_warm_starts(folder / "full", rounds)
        for kind in (COLD, SECOND):
            rows.append(build_preparation_time_row(f"{name}, repeated", grown, kind, of_full, aim=AIMS[kind]))
            print(format_row_line(rows[-1]), flush=True)
    write_rows(target, rows, commit)
    print(f"wrote {target}")
    return Path(target)


def list_available_datasets() -> list[str]:
    """Return the datasets to measure: the small SQuAD corpora if CTXZOO_DATA has them, else a generated sample."""
    folder = os.environ.get("CTXZOO_DATA")
    found = [name for name in DATASETS if folder and Path(folder, name).is_dir()]
    return found or [SAMPLE]


def select_first_questions(splits: Splits) -> Splits:
    """Return the splits with the first question of each context alone."""
    first_questions: Splits = {}
    for name, rows in splits.items():
        row_of_context: dict[str, int] = {}
        for index, context in enumerate(rows["context"]):
            row_of_context.setdefault(context, index)
        first_questions[name] = rows.select(list(row_of_context.values()))
    return first_questions


def select_few_questions(splits: Splits) -> Splits:
    """Return a few questions of each split, to measure what every start costs apart from the questions."""
    return {name: rows.select(range(min(FEW, len(rows)))) for name, rows in splits.items()}


def repeat_to_sizes(splits: Splits, sizes: dict[str, Size]) -> Splits:
    """Return splits of the sizes `sizes`, made by repeating the contexts of train with a number behind each."""
    of_context: dict[str, list[dict[str, Any]]] = {}
    for row in splits["train"].to_list():
        of_context.setdefault(row["context"], []).append(row)
    contexts = list(of_context.values())
    grown: Splits = {}
    context_number = 0
    for name, size in sizes.items():
        rows = []
        for index in range(size.contexts):
            questions = contexts[context_number % len(contexts)]
            count = size.questions // size.contexts + (index < size.questions % size.contexts)
            for number in range(count):
                row = questions[number % len(questions)]
                # A number behind the text leaves the answers where they are.
                rows.append(
                    {**row, "id": f"{context_number}-{number}", "context": f"{row['context']} {context_number}"}
                )
            context_number += 1
        grown[name] = datasets.Dataset.from_list(rows, features=splits["train"].features)
    return grown


def save_splits(splits: Splits, folder: Path) -> None:
    """Write splits into a folder in the form of a dataset on the Hub: one Parquet file for each split."""
    folder.mkdir()
    for name, rows in splits.items():
        rows.to_parquet(str(folder / f"{name}.parquet"))


def measure_cold_and_warm_starts(corpus: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return median seconds of preparing a corpus the first time ("cold") and again from the cache ("warm")."""
    measurements: dict[str, list[dict[str, float]]] = {COLD: [], SECOND: []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as caches:
            for kind in (COLD, SECOND):
                measurements[kind].append(measure_start_in_new_process(corpus, Path(caches)))
    return {
        kind: {name: statistics.median(one[name] for one in starts) for name in starts[0]}
        for kind, starts in measurements.items()
    }


def measure_start_in_new_process(corpus: Path, caches: Path) -> dict[str, float]:
    """Run `measure_start` in a new interpreter; add `total_seconds`, the time of the whole process."""
    environment = build_environment(
        OMP_NUM_THREADS=str(THREADS),
        RAYON_NUM_THREADS=str(THREADS),
        TOKENIZERS_PARALLELISM="true",
        HF_HUB_OFFLINE="1",
        HF_DATASETS_CACHE=str(caches / "datasets"),
        HF_DATASETS_DISABLE_PROGRESS_BARS="1",
        CTXZOO_CACHE=str(caches / "ctxzoo"),
    )
    begin = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.preparation", "--start", str(corpus)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    answer: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return {**answer, "total_seconds": time.perf_counter() - begin}


def measure_start(corpus: str) -> dict[str, float]:
    """Prepare a corpus in this process; return the seconds of each stage, CPU seconds and memory, without imports."""
    from ctxzoo.tasks.question_answering.data import SquadDataModule

    before = resource.getrusage(resource.RUSAGE_SELF)
    times = [time.perf_counter()]
    data = SquadDataModule(corpus, divide=False)
    _ = data.squad_version  # reads and checks
    times.append(time.perf_counter())
    data.prepare_data()
    times.append(time.perf_counter())
    data.setup()
    times.append(time.perf_counter())
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = dict(zip(STAGES, (end - begin for begin, end in pairwise(times)), strict=True))
    return {
        **seconds,
        "setup_seconds": times[-1] - times[0],
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_memory_mb": measure_own_peak_memory_mb(),
    }


def build_preparation_time_row(
    corpus: str, splits: Splits, kind: str, measured: dict[str, dict[str, float]], aim: float | None = None
) -> dict[str, Value]:
    """Return the results row of a measured start."""
    return _build_row(corpus, "measured", count_questions_and_contexts(splits), kind, measured[kind], aim)


def build_extrapolated_row(
    corpus: str, splits: Splits, kind: str, measured: dict[str, dict[str, dict[str, float]]], full: dict[str, Size]
) -> dict[str, Value]:
    """Return the results row of a start on a full corpus, estimated from measured costs of a context and a question.

    t = f + a C + b Q, solved from a start on a few questions (f), on one question of each context, and on all.
    """
    size = count_questions_and_contexts(splits)
    target = Size(sum(one.questions for one in full.values()), sum(one.contexts for one in full.values()))
    whole, first, few = (measured[name][kind] for name in ("whole", "first", "few"))
    guessed: dict[str, float] = {}
    for name in (*STAGES, "cpu_seconds"):
        question = max(0.0, whole[name] - first[name]) / max(1, size.questions - size.contexts)
        context = max(0.0, (first[name] - few[name]) / size.contexts - question)
        guessed[name] = few[name] + context * target.contexts + question * target.questions
    guessed["setup_seconds"] = sum(guessed[name] for name in STAGES)
    # Only the setup grows; interpreter and imports do not.
    guessed["total_seconds"] = guessed["setup_seconds"] + whole["total_seconds"] - whole["setup_seconds"]
    return _build_row(f"SQuAD 2.0, from {corpus}", "extrapolated", target, kind, guessed, AIMS[kind])


def count_questions_and_contexts(splits: Splits) -> Size:
    """Return the number of questions, and of contexts that are distinct within their split."""
    return Size(sum(map(len, splits.values())), sum(len(set(rows["context"])) for rows in splits.values()))


def _build_row(
    corpus: str, method: str, size: Size, kind: str, values: dict[str, float], aim: float | None
) -> dict[str, Value]:
    """Return a results row: the corpus and its size, what was measured, and the aim in seconds.

    `method` says whether it was measured or estimated, `kind` whether the cache was filled.
    """
    return {
        "corpus": corpus,
        "how": method,
        "start": kind,
        "questions": size.questions,
        "contexts": size.contexts,
        "threads": THREADS,
        **{name: values[name] for name in (*STAGES, "setup_seconds", "cpu_seconds", "total_seconds")},
        "questions_per_second": size.questions / values["setup_seconds"],
        "peak_memory_mb": values.get("peak_memory_mb"),
        "aim_seconds": aim,
    }


def format_row_line(row: dict[str, Value]) -> str:
    """Return the line that is printed for a row: corpus, size and seconds."""
    aim = "" if row["aim_seconds"] is None else f", aim {row['aim_seconds']:.0f} s"
    return (
        f"{row['corpus']} ({row['how']}), {row['start']}: {row['questions']:,} questions in "
        f"{row['setup_seconds']:.2f} s, {row['total_seconds']:.2f} s with imports, "
        f"{row['questions_per_second']:,.0f} questions/s{aim}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
