"""Published checkpoints as PyTorch models in float32 and bfloat16, and as ONNX in float32 and 8 bits.

    python -m benchmarks.export                              all of model_cards
    python -m benchmarks.export --only tagger-ewt            some of them
    python -m benchmarks.export --only contextualizer-mr --quick --output F     does it run? (few rows)

Size: the numbers of the weights, or the ONNX file. Accuracy, of `lama-imdb` and `lama-reuters8`: of the answers of
`ctxzoo predict` to 1,000 drawn test rows, by the same code, in which the model's `forward` is that of the form. Same:
predictions equal to those of float32 on random inputs, those of the check of `ctxzoo export`. Milliseconds: processor
time a row of random inputs of 30 steps, one thread, the median over rounds, alone and in batches of 32.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.reporting import RESULTS, Value, format_number, write_rows
from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.export.folder import list_outputs
from ctxzoo.export.program import FILES, ONNX, compare, open_program, trace, write_program
from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.tasks import get_problem

CARDS = Path(__file__).resolve().parents[1] / "model_cards"
FORMS = ("float32", "bfloat16", "onnx", "onnx int8")
STEPS, ROUNDS, BATCH = 30, 15, 32
TEXTS = 1_000
# Test rows; those of checkpoints of a cross-validation hold texts of their training.
TEST_ROWS = {"lama-imdb": "stanfordnlp/imdb", "lama-reuters8": "ctxzoo-data/reuters8"}

Run = Callable[[Tensors], list[torch.Tensor]]


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure the forms of checkpoints, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = sorted(one.parent.name for one in CARDS.glob("*/config.json"))
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="CHECKPOINT")
    parser.add_argument("--quick", action="store_true", help="few rounds and rows")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit, target = git_commit(), options.output or RESULTS / "export.csv"
    torch.set_num_threads(1)
    rows: list[dict[str, Value]] = []
    for name in options.only:
        for row in measure_checkpoint(name, options.quick):
            print(row, flush=True)
            rows.append(row)
        write_rows(target, rows, commit)  # what is measured so far
    return Path(target)


def measure_checkpoint(name: str, quick: bool) -> Iterator[dict[str, Value]]:
    """Yield a row of the results file for each form of a checkpoint."""
    card, saved = open_checkpoint(str(CARDS / name))
    task = get_problem(card.name).load_export()
    model: Any
    model, tokenizer = saved.load()
    texts = None if name not in TEST_ROWS else read_test_texts(TEST_ROWS[name], 20 if quick else TEXTS)
    with tempfile.TemporaryDirectory() as scratch:
        for form, run, megabytes in open_forms(model, task, saved.folder, Path(scratch)):
            same = compare(run, model, task)
            yield {
                "checkpoint": name,
                "form": form,
                "megabytes": megabytes,
                "score": None if texts is None else score_texts(model, tokenizer, run, task, *texts),
                "rows_scored": None if texts is None else len(texts[0]),
                "largest_difference": same.difference,
                "same_predictions": same.equal / same.decided if same.decided else None,
                **{
                    f"ms_a_row_batch_{rows}": measure_row(run, task, model, rows, 2 if quick else ROUNDS)
                    for rows in (1, BATCH)
                },
            }


def open_forms(model: Any, task: TaskExport, folder: Path, scratch: Path) -> Iterator[tuple[str, Run, float]]:
    """Yield the name of each form, a function from inputs to outputs, and its megabytes."""
    outputs = list_outputs(model, task)
    half = type(model)(model.config)
    half.load_state_dict(model.state_dict())
    half = half.eval().to(torch.bfloat16)
    for form, one in (("float32", model), ("bfloat16", half)):
        program = task.build_program(one)
        kind = one.dtype
        bits = sum(x.numel() * x.element_size() for x in one.state_dict().values())

        def run(inputs: Tensors, program: Any = program, kind: torch.dtype = kind) -> list[torch.Tensor]:
            """Return the outputs of a PyTorch model; float inputs have the type of its weights, times stay."""
            given = {name: x.to(kind) if x.dtype == torch.float32 else x for name, x in inputs.items()}
            return [value.float() for value in program(**given)]

        yield form, run, bits / 1e6
    traced = trace(model, task)
    for form in FORMS[2:]:
        file = scratch / FILES[ONNX]
        write_program(traced, file, outputs, int8=form.endswith("int8"))
        yield form, open_program(file), file.stat().st_size / 1e6


def read_test_texts(dataset: str, number: int) -> tuple[list[str], list[str]]:
    """Return drawn texts of the test split, or of the only split, and their labels by name."""
    from ctxzoo.tasks.text_classification.reader import read_texts

    read = read_texts(dataset, None, None, None, None)
    rows = read.splits.get("test", next(iter(read.splits.values())))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:number].tolist()
    chosen = rows.select(order)
    return chosen["text"][:], [read.label_names[label] for label in chosen["label"]]


def score_texts(
    model: Any, tokenizer: Any, run: Run, task: TaskExport, texts: Sequence[str], labels: Sequence[str]
) -> float:
    """Return the percentage of texts that a form labels right, by the code of `ctxzoo predict`."""
    from ctxzoo.tasks.text_classification.prediction import classify_texts

    forward = model.forward
    names = list_outputs(model, task)

    def run_form(**inputs: torch.Tensor) -> Any:
        model.forward = forward
        try:
            return SimpleNamespace(**dict(zip(names, run(inputs), strict=True)))
        finally:
            model.forward = run_form

    model.forward = run_form
    try:
        answers = classify_texts(model, tokenizer, texts)
    finally:
        model.forward = forward
    return 100 * sum(one["label"] == label for one, label in zip(answers, labels, strict=True)) / len(labels)


@torch.no_grad()
def measure_row(run: Run, task: TaskExport, model: Any, rows: int, rounds: int) -> float:
    """Return the median milliseconds of processor time that a form takes for a row of a batch."""
    inputs = task.draw_inputs(model, [STEPS] * rows, torch.Generator().manual_seed(0))
    run(inputs)
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        run(inputs)
        times.append(1000 * (time.process_time() - begin) / rows)
    return statistics.median(times)


def format_export_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of all forms: size, score, equal predictions, milliseconds."""
    headings = ["checkpoint", "form", "MB", "accuracy", "same as float32, %", "ms a row alone", "in batches of 32"]
    return format_markdown_table(
        headings,
        [
            [
                row["checkpoint"],
                row["form"],
                format_number(row["megabytes"], 1),
                format_number(row["score"], 1) or "–",
                format_number(row["same_predictions"], 1, 0.01) or "–",
                *(format_number(row[f"ms_a_row_batch_{size}"], 2) for size in (1, BATCH)),
            ]
            for row in rows
        ],
        left_aligned=2,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
