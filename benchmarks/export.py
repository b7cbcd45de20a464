"""Published checkpoints as PyTorch models in float32 and bfloat16, and as ONNX in float32 and 8 bits.

    python -m benchmarks.export                              all of model_cards
    python -m benchmarks.export --only tagger-ewt            some of them
    python -m benchmarks.export --only contextualizer-mr --quick --output F     does it run? (few rows)

Size: the numbers of the weights, or the ONNX file. Score: that of `ctxzoo evaluate` on the test split of the
checkpoint's results file, by the same code, in which the outputs of the model are those of the form. Same: predictions
equal to those of float32 on random inputs, those of the check of `ctxzoo export`. Milliseconds: processor time a row of
random inputs of 30 steps, one thread, the median over rounds, alone and in batches of 32. `CTXZOO_DATA` names the data.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.reporting import CARDS, RESULTS, Value, format_number, list_checkpoints, write_rows
from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.export.folder import list_outputs
from ctxzoo.export.program import FILES, ONNX, compare, open_program, trace, write_program
from ctxzoo.export.task_export import TaskExport, Tensors
from ctxzoo.hub.published import read_published_entries
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import read_result
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.tasks import get_problem

FORMS = ("float32", "bfloat16", "onnx", "onnx int8")
STEPS, ROUNDS, BATCH = 30, 15, 32
FOLDS = {"folds": 5, "fold": 0}
# Score that `evaluate` names so, and options of the data. Word vectors have no score in the place of their words.
SCORES: dict[str, tuple[str, dict[str, Any]]] = {
    "beta-lstm-chorales": ("frame_accuracy", {"config_name": "jsb_chorales"}),
    "bidaf-squad": ("f1", {}),
    "contextualizer-mr": ("accuracy", FOLDS),
    "contextualizer-mr-best": ("accuracy", FOLDS),
    "contextualizer-subj": ("accuracy", FOLDS),
    "hcrnn-citeulike": ("recall_at_20", {}),
    "lama-imdb": ("accuracy", {}),
    "lama-reuters8": ("accuracy", {}),
    "lste-badges": ("recall_at_1", {}),
    "nipen-senate": ("accuracy", {"configuration": "votes"}),
    "tagger-ewt": ("accuracy", {"tag_column": "upos"}),
}

Run = Callable[[Tensors], list[torch.Tensor]]


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure the forms of checkpoints, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list_checkpoints()
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
    with tempfile.TemporaryDirectory() as scratch:
        for form, run, megabytes in open_forms(model, task, saved.folder, Path(scratch)):
            same = compare(run, model, task)
            yield {
                "checkpoint": name,
                "form": form,
                "megabytes": megabytes,
                "score_name": SCORES.get(name, ("", {}))[0],
                "score": None if quick else score_form(name, card.name, model, tokenizer, run, task),
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


def score_form(name: str, problem: str, model: Any, tokenizer: Any, run: Run, task: TaskExport) -> float | None:
    """Return the score of a form on the test split of a published checkpoint, as `ctxzoo evaluate` computes it.

    Args:
        name: Name of the checkpoint, a key of `SCORES`; another one has no score.
        problem: Name of its problem, such as "vote-prediction".
        model, tokenizer: Model whose outputs are replaced by those of the form, and its tokenizer, or None.
        run: The form, from inputs to outputs.
        task: What an exported model of the problem reads and gives.
    """
    if name not in SCORES:
        return None
    score, data_options = SCORES[name]
    dataset = read_result(read_published_entries(CARDS.parent)[CARDS / name].result).dataset
    evaluate = import_module(f"ctxzoo.tasks.{problem.replace('-', '_')}").evaluate
    with replace_outputs(model, run, task):
        scores = evaluate(model, dataset, tokenizer=tokenizer, accelerator="cpu", progress=False, **data_options)
    found: float = scores[score]
    return found


@contextmanager
def replace_outputs(model: Any, run: Run, task: TaskExport) -> Iterator[None]:
    """Let a model return the outputs of a form in place of its own, within a `with` block; its loss stays its own."""
    forward, names = model.forward, list_outputs(model, task)
    kinds = {name: value.dtype for name, value in task.draw_inputs(model, [1], torch.Generator()).items()}

    def run_form(**inputs: Any) -> Any:
        """Return the outputs of the model, in which those of the form stand."""
        read = {name: inputs[name].to(kind) for name, kind in kinds.items() if inputs.get(name) is not None}
        model.forward = forward  # which a form in PyTorch calls
        try:
            found = [run_every_position(run, read)] if inputs.get("every_position") else run(read)
            return SimpleNamespace(**{**forward(**inputs), **dict(zip(names, found, strict=True))})
        finally:
            model.forward = run_form

    model.forward = run_form
    try:
        yield
    finally:
        model.forward = forward


def run_every_position(run: Run, inputs: Tensors) -> torch.Tensor:
    """Return the scores of the item behind each position, by a form that gives those behind a session's last."""
    ends = range(1, inputs["input_ids"].shape[1] + 1)
    return torch.stack([run({name: value[:, :end] for name, value in inputs.items()})[0] for end in ends], dim=1)


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
    headings = ["checkpoint", "form", "MB", "score", "same as float32, %", "ms a row alone", "in batches of 32"]
    return format_markdown_table(
        headings,
        [
            [
                row["checkpoint"],
                row["form"],
                format_number(row["megabytes"], 1),
                f"{format_number(row['score'], 2)} {row['score_name']}" if row["score"] else "–",
                format_number(row["same_predictions"], 1, 0.01) or "–",
                *(format_number(row[f"ms_a_row_batch_{size}"], 2) for size in (1, BATCH)),
            ]
            for row in rows
        ],
        left_aligned=2,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
