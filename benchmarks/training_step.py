"""A training step and an evaluation pass of ctxzoo's BiDAF beside the textbook's, and what each switch is worth.

    python -m benchmarks.training_step                     every comparison, 1 thread and all
    python -m benchmarks.training_step --threads 1 --comparisons starter packing
    python -m benchmarks.training_step --quick             does it run? (tiny sizes, generated corpus)

Both sides of a comparison run in processes of their own, in turns (A B A B ...), on the same questions; a round is one
pass over them. Seconds are medians over rounds. Before anything is timed both sides must give the same
log-probabilities, loss and answers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value, write_rows
from benchmarks.sides import Batch, Phase, Side
from benchmarks.timing import measure_median_seconds, parse_thread_counts
from benchmarks.worker import Worker, WorkerEndedError
from ctxzoo.data.bucketing import POOL_BATCHES
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.results.environment import git_commit
from ctxzoo.tasks.question_answering.batches import SquadBatches
from ctxzoo.tasks.question_answering.data import SquadDataModule

DATASET, SAMPLE = "ctxzoo-data/squad_v1_mini", "sample"
VARIANTS = ("baseline", "learned_char7")
PHASES: tuple[Phase, ...] = ("evaluation", "training")
WORD_WIDTH = 100
SEED = 224
TOLERANCE = 1e-4  # of log-probabilities and loss in float32
HALF_TOLERANCE = 0.05  # of probabilities in bfloat16, which keeps 8 bits


class DisagreementError(RuntimeError):
    """Two sides that must be equal are not; nothing was timed."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of ctxzoo's BiDAF with another side; `variants` and `devices` say where it makes sense."""

    name: str
    ours: Side
    other: Side
    variants: tuple[str, ...] = ("learned_char7",)
    devices: tuple[str, ...] = ("cpu", "cuda")


CTXZOO = Side("ctxzoo")
# The usual way to run such a model: shuffled batches, the C library's own allocator.
STARTER = Side("starter", model="starter", batches="shuffled", keep_freed_memory=False)
TEXTBOOK = replace(STARTER, label="textbook", model="textbook")
SAME_BATCHES = replace(CTXZOO, label="ctxzoo, shuffled, plain malloc", batches="shuffled", keep_freed_memory=False)
HALF = replace(CTXZOO, label="bf16-mixed", precision="bf16-mixed")

COMPARISONS = (
    Comparison("starter", CTXZOO, STARTER, VARIANTS),
    Comparison("textbook", CTXZOO, TEXTBOOK, VARIANTS),
    Comparison("kernels", SAME_BATCHES, STARTER, VARIANTS),
    Comparison("buckets", CTXZOO, replace(CTXZOO, label="shuffled batches", batches="shuffled")),
    Comparison("malloc", CTXZOO, replace(CTXZOO, label="plain malloc", keep_freed_memory=False), devices=("cpu",)),
    Comparison("packing", CTXZOO, replace(CTXZOO, label="packed LSTM", recurrent="packed")),
    Comparison("dropout", CTXZOO, replace(CTXZOO, label="torch dropout", dropout="torch"), devices=("cpu",)),
    Comparison("characters", CTXZOO, replace(CTXZOO, label="every word", characters="every word"), devices=("cpu",)),
    Comparison("precision", HALF, replace(CTXZOO, label="32-true")),
    Comparison(
        "starter-bf16", HALF, replace(STARTER, label="starter, bf16", precision="bf16-mixed"), devices=("cuda",)
    ),
)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time BiDAF's training step and evaluation beside the textbook's, write the results file and return its path."""
    options = parse_arguments(arguments)
    commit = git_commit()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    threads = parse_thread_counts(options.threads if device == "cpu" else ["all"])
    comparisons = [comparison for comparison in COMPARISONS if comparison.name in options.comparisons]
    target = options.output or RESULTS / f"training_step-{device}.csv"
    rows: list[dict[str, Value]] = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = {variant: Path(folder, f"{variant}.pt") for variant in options.variants}
        dataset = write_inputs(inputs, options.quick, options.batch_size, options.batches)
        for variant, file in inputs.items():
            for count in threads:
                for comparison in comparisons:
                    if variant in comparison.variants and device in comparison.devices:
                        about: dict[str, Value] = {"dataset": dataset, "variant": variant, "threads": count}
                        rows += compare_sides(comparison, file, device, count, options, about)
    if not rows:
        raise SystemExit("none of the requested comparisons has a meaning here; nothing was written")
    write_rows(target, rows, commit)
    print(f"wrote {target}")
    return Path(target)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and fill in what `--quick` stands for."""
    names = list(dict.fromkeys(comparison.name for comparison in COMPARISONS))
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training_step",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--comparisons", nargs="+", choices=names, default=names)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--threads", nargs="+", default=["1", "all"], help="numbers, or all; CPU only")
    parser.add_argument("--rounds", type=int, default=5, help="timed passes of each side")
    parser.add_argument("--batches", type=int, default=4, help="batches in a pass")
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--output", type=Path, help="default: results/training_step-<device>.csv beside this file")
    parser.add_argument("--quick", action="store_true", help="tiny model, one round, one thread")
    options = parser.parse_args(arguments)
    if options.quick:
        if options.output is None:
            parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
        options.rounds, options.batches, options.batch_size, options.threads = 1, 1, 4, ["1"]
    return options


def write_inputs(files: dict[str, Path], quick: bool, batch_size: int, batches: int) -> str:
    """Write configuration, weights and batches of each model variant into its file; return the dataset's name.

    Bucketed batches are taken at even distances from one of the sampler's pools, from the longest to the shortest;
    shuffled ones are the same questions in a random order.
    """
    folder = os.environ.get("CTXZOO_DATA")
    dataset = DATASET if folder and not quick and Path(folder, DATASET).is_dir() else SAMPLE
    data = SquadDataModule(dataset, batch_size=batch_size)
    data.setup()
    loader = data.train_dataloader()
    pool = loader.dataset
    assert isinstance(pool, SquadBatches)
    questions = choose_questions(pool.lengths(), batch_size, batches)
    shuffled = np.random.default_rng(SEED).permutation(questions.flatten()).reshape(questions.shape)
    stored = {
        name: [select_model_inputs(pool[rows]) for rows in order]
        for name, order in (("bucketed", questions), ("shuffled", shuffled))
    }
    sizes = {**data.model_sizes(), "word_embedding_size": WORD_WIDTH, "train_word_embeddings": False}
    if quick:
        sizes |= {"word_embedding_size": 8, "hidden_size": 8, "char_channels": 8}
    for variant, file in files.items():
        config = BidafConfig.of_variant(variant, squad_version=data.squad_version, **sizes)
        torch.manual_seed(SEED)
        weights = BidafForQuestionAnswering(config).state_dict()
        fields = {name: getattr(config, name) for name in BidafConfig.__annotations__ if name != "model_type"}
        kept = {name: [select_inputs_of_variant(batch, config) for batch in stored[name]] for name in stored}
        torch.save({"config": fields, "weights": weights, **kept}, file)
    return dataset


def choose_questions(lengths: np.ndarray, batch_size: int, batches: int) -> np.ndarray:
    """Return the positions (batches, batch_size) of the questions of each batch, similar in length within a batch.

    They are drawn as the length-sorting sampler does, with batches spread evenly over all lengths.

    Raises:
        ValueError: there are fewer questions than that.
    """
    pool = np.random.default_rng(SEED).permutation(len(lengths))[: POOL_BATCHES * batch_size]
    full = len(pool) // batch_size
    if full < batches:
        raise ValueError(f"{len(lengths)} questions make {full} full batches of {batch_size}, {batches} are needed")
    pool = pool[np.argsort(-lengths[pool], kind="stable")][: full * batch_size].reshape(full, batch_size)
    chosen: np.ndarray = pool[((np.arange(batches) + 0.5) * full / batches).astype(int)]
    return chosen


def select_model_inputs(batch: Batch) -> Batch:
    """Return a batch of the DataModule without the entries that no model reads."""
    return {name: value for name, value in batch.items() if name != "row"}


def select_inputs_of_variant(batch: Batch, config: BidafConfig) -> Batch:
    """Return the inputs that a model variant reads: without characters where it has none."""
    return {name: value for name, value in batch.items() if config.char_vocab_size or not name.endswith("char_ids")}


def compare_sides(
    comparison: Comparison,
    inputs: Path,
    device: str,
    threads: int,
    options: argparse.Namespace,
    about: dict[str, Value],
) -> list[dict[str, Value]]:
    """Time both sides of a comparison; return a row for each phase.

    Where a side ran out of memory, its cells are empty, with a note.
    """
    sides = (comparison.ours, comparison.other)
    questions = options.batches * options.batch_size
    rows: list[dict[str, Value]] = []
    for phase in PHASES:
        row: dict[str, Value] = {
            "comparison": comparison.name,
            "phase": phase,
            **about,
            "device": device,
            "batch_size": options.batch_size,
            "questions": questions,
            "rounds": options.rounds,
            "ours": comparison.ours.label,
            "other": comparison.other.label,
        }
        row |= dict.fromkeys(MEASURED)
        row["note"] = ""
        rows.append(row)
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(side, threads, str(inputs), device)) for side in sides]
        try:
            difference = compare_answers(workers, inputs.parent)
            for row, phase in zip(rows, PHASES, strict=True):
                row |= measure_phase(workers, phase, options.rounds, questions)
                row["largest_difference"] = difference
        except WorkerEndedError as error:
            for row in rows:
                if row["ratio"] is None:
                    row["note"] = str(error)
    for row in rows:
        print(format_row_line(row), flush=True)
    return rows


MEASURED = (
    "our_seconds",
    "other_seconds",
    "our_examples_per_second",
    "other_examples_per_second",
    "ratio",
    "our_peak_memory_mb",
    "other_peak_memory_mb",
    "largest_difference",
)


def measure_phase(workers: Sequence[Worker], phase: Phase, rounds: int, questions: int) -> dict[str, Value]:
    """Return the medians of a phase over rounds in turns; a `ratio` above 1 means that ours is faster."""
    our_seconds, other_seconds = measure_median_seconds(workers, phase, rounds)
    memory = [worker.ask("measure_peak_memory") for worker in workers]
    return {
        "our_seconds": our_seconds,
        "other_seconds": other_seconds,
        "our_examples_per_second": questions / our_seconds,
        "other_examples_per_second": questions / other_seconds,
        "ratio": other_seconds / our_seconds,
        "our_peak_memory_mb": memory[0],
        "other_peak_memory_mb": memory[1],
    }


def compare_answers(workers: Sequence[Worker], folder: Path) -> float:
    """Return the largest difference between the outputs of both sides.

    In float32 log-probabilities and loss may differ by `TOLERANCE`, in bfloat16 probabilities and loss by
    `HALF_TOLERANCE`.

    Raises:
        DisagreementError: they differ by more.
    """
    answers = []
    for number, worker in enumerate(workers):
        file = folder / f"answers-{number}.pt"
        worker.ask("save_answers", str(file))
        answers.append(torch.load(file, weights_only=True))
    names = " and ".join(worker.side.label for worker in workers)
    half = any(worker.side.precision != "32-true" for worker in workers)
    return find_largest_difference(answers[0], answers[1], names, half=half)


def find_largest_difference(our_answers: Batch, other_answers: Batch, names: str, *, half: bool) -> float:
    """Return the largest difference between the answers of two sides; raise where they differ too much."""
    largest = 0.0
    for name, value in our_answers.items():
        other_value = other_answers[name]
        value, other_value = value.float(), other_value.float()
        if half and not name.endswith("loss"):
            value, other_value = value.exp(), other_value.exp()
        difference = float((value - other_value).abs().max())
        allowed = HALF_TOLERANCE if half else TOLERANCE
        if not difference <= allowed:
            raise DisagreementError(f"{names} differ by {difference:.3g} in {name}, more than {allowed:g}")
        largest = max(largest, difference)
    return largest


def format_row_line(row: dict[str, Value]) -> str:
    """Return the line that is printed for a row: the phase and the numbers of both sides."""
    about = f"{row['comparison']:14} {row['phase']:10} {row['variant']:13} {row['threads']} threads  "
    if row["ratio"] is None:
        return f"{about} not measured {row['note']}"
    return about + "  ".join(
        [
            f"{row['ours']} {row['our_examples_per_second']:.1f}/s {row['our_peak_memory_mb']:.0f} MiB",
            f"{row['other']} {row['other_examples_per_second']:.1f}/s {row['other_peak_memory_mb']:.0f} MiB",
            f"ratio {row['ratio']:.2f}",
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
