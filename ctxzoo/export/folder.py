"""The folder of an exported model: program, tokenizer, labels, a README and an example that need no ctxzoo."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ctxzoo.data.files import atomic_folder, refuse_filled_folder, write_atomically
from ctxzoo.export.program import (
    CLOSE,
    FILES,
    ONNX,
    OTHER,
    TORCH,
    TRACED,
    Agreement,
    check_onnx,
    compare,
    open_program,
    trace,
    write_program,
)
from ctxzoo.export.task_export import NotExportableError, TaskExport
from ctxzoo.hub.folder_files import CONFIG, ENCODER_FILES, TOKENIZER_FILES
from ctxzoo.hub.saved_model import SavedModel
from ctxzoo.version import version

EXAMPLE, README = "example.py", "README.md"
_OF_MODELS = re.compile(r"^( *from )ctxzoo\.models\.(\w+)( import )", re.MULTILINE)
# What an example does with onnxruntime, and the same with torch.
_SESSION = re.compile(r'( *)import onnxruntime\n(.*)onnxruntime\.InferenceSession\(FOLDER / "model.onnx"\)', re.DOTALL)
_RUN = re.compile(r"model\.run\(None, (\w+)\)")


def export_checkpoint(
    saved: SavedModel,
    task: TaskExport,
    output: Path,
    *,
    kind: str = ONNX,
    int8: bool = False,
    report: Callable[[str], None] = print,
) -> None:
    """Export a checkpoint into a folder that is used without ctxzoo, once its program agrees with the model.

    Args:
        saved: Opened checkpoint.
        task: What an exported model of its problem reads and gives.
        output: Folder to write, empty or missing; it appears only when it is complete.
        kind: "onnx", or "torch": a program of `torch.export`.
        int8: Whether the weights are quantized to 8 bits; how much differs is then reported, not bounded.
        report: Function that is called with each line of the report.

    Raises:
        OnnxUnavailableError: a package is missing.
        FileExistsError: `output` holds something, or is a file.
        NotExportableError: the model cannot be exported, or its program gives other numbers; nothing is written.
    """
    if kind == ONNX:
        check_onnx()
    elif int8:
        raise NotExportableError(
            "--int8 belongs to --format onnx: torch has no 8-bit weights in exported programs without the package "
            "torchao, which ctxzoo does not use"
        )
    refuse_filled_folder(output, "the export")
    model: Any
    model, tokenizer = saved.load()
    model.eval()
    try:
        names = list_outputs(model, task)
        program = trace(model, task)
        with atomic_folder(output) as folder:
            file = folder / FILES[kind]
            write_program(program, file, names)
            agreement = check_agreement(file, model, task, report)
            if int8:
                write_program(program, file, names, int8=True)
                _report_int8(compare(open_program(file), model, task), report)
            _write_files_beside(saved, task, model, tokenizer, folder, kind, agreement)
            beside = sorted({one.name for one in folder.iterdir()} - {file.name})
            size = file.stat().st_size
    except NotExportableError as error:
        raise NotExportableError(f"{saved.checkpoint}, a {type(model).__name__}: {error}") from error
    report(f"{output}: {size / 1e6:.1f} MB in {FILES[kind]}, beside it {', '.join(beside)}")


def list_outputs(model: Any, task: TaskExport) -> list[str]:
    """Return the names of the outputs that a model has, of those of its problem."""
    with torch.no_grad():
        given = task.build_program(model)(**task.draw_inputs(model, TRACED, torch.Generator()))
    return list(task.outputs)[: len(given)]


def check_agreement(file: Path, model: Any, task: TaskExport, report: Callable[[str], None]) -> Agreement:
    """Compare a written program with its model, report the check and return its numbers.

    Raises:
        NotExportableError: they differ by more than `CLOSE`.
    """
    try:
        agreement = compare(open_program(file), model, task)
    except Exception as error:  # a program that runs at the traced shape alone
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise NotExportableError(
            f"its program does not run at other shapes ({first}); use the model as it is"
        ) from error
    line = f"largest difference {agreement.difference:.1e} in {agreement.shapes} shapes that were not traced"
    if not agreement.difference <= CLOSE:
        raise NotExportableError(
            f"its program gives other numbers: {line}, more than {CLOSE:g}; use the model as it is"
        )
    report(f"program and model agree: {line} (at most {CLOSE:g})")
    return agreement


def _report_int8(agreement: Agreement, report: Callable[[str], None]) -> None:
    """Report how far 8-bit weights change outputs and predictions on the random inputs of the check."""
    line = f"int8: largest difference {agreement.difference:.1e}"
    if agreement.decided:
        share = 100 * agreement.equal / agreement.decided
        line += f", {share:.1f} % of {agreement.decided:,} predictions for random inputs are equal"
    report(line)


def _write_files_beside(
    saved: SavedModel, task: TaskExport, model: Any, tokenizer: Any, folder: Path, kind: str, agreement: Agreement
) -> None:
    """Write configuration, tokenizer, example with the code that it imports, and README."""
    names = [CONFIG]
    if tokenizer is not None:
        names += [*TOKENIZER_FILES, *ENCODER_FILES]
    for name in names:
        if (source := saved.folder / name).exists():
            shutil.copyfile(source, folder / name)
    example = _read_source(task.example_at)
    for _, module, _ in _OF_MODELS.findall(example):
        write_atomically(folder / f"{module}.py", _read_source(f"ctxzoo.models.{module}").encode())
    example = _OF_MODELS.sub(r"\1\2\3", example)
    if kind == TORCH:
        example = _SESSION.sub(r'\1import torch\n\2torch.export.load(FOLDER / "model.pt2").module()', example)
        tensors = r"{name: torch.from_numpy(value) for name, value in \1.items()}"
        example = _RUN.sub(rf"[value.detach().numpy() for value in model(**{tensors})]", example)
    write_atomically(folder / EXAMPLE, example.encode())
    text = format_readme(saved, task, model, tokenizer, kind, agreement)
    write_atomically(folder / README, text.encode())


def _read_source(module: str) -> str:
    """Return the source of a module of the package, which is not imported."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def format_readme(
    saved: SavedModel, task: TaskExport, model: Any, tokenizer: Any, kind: str, agreement: Agreement
) -> str:
    """Return the README.md of a folder: inputs, how they are computed, outputs, and what was checked."""
    inputs, other = (task.draw_inputs(model, lengths, torch.Generator()) for lengths in (TRACED, OTHER))
    rows = [
        f"| `{name}` | {str(value.dtype).removeprefix('torch.')} | {_format_shape(value, other[name])} | "
        f"{task.inputs[name]} |"
        for name, value in inputs.items()
    ]
    outputs = [f"| `{name}` | {task.outputs[name]} |" for name in list_outputs(model, task)]
    steps = [f"{number}. {step}" for number, step in enumerate(task.describe_steps(model, tokenizer), start=1)]
    needs = "onnxruntime" if kind == ONNX else "torch"
    return "\n".join(
        [
            f"# {type(model).__name__}, exported",
            "",
            f"`{FILES[kind]}` is the checkpoint `{Path(saved.checkpoint).name}` ({model.zoo_task}), exported by ctxzoo "
            f"{version()}. Batch and length are free. In {agreement.shapes} shapes that were not traced its float32 "
            f"outputs differ by {agreement.difference:.1e} at most from those of the PyTorch model.",
            "",
            f"`python {EXAMPLE}` needs {needs}, numpy{' and tokenizers' if tokenizer is not None else ''}, not ctxzoo.",
            "",
            "## Inputs",
            "",
            "| name | type | shape | meaning |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "Rows of a batch are padded on the right with zeros; masks are 1 at what counts and 0 at padding.",
            "",
            "## Steps",
            "",
            *steps,
            "",
            "## Outputs",
            "",
            "| name | meaning |",
            "| --- | --- |",
            *outputs,
            "",
        ]
    )


def _format_shape(value: torch.Tensor, other: torch.Tensor) -> str:
    """Return a shape as text: the sizes that are free by name, the others as numbers."""
    sizes = []
    for size, size_of_other in zip(value.shape, other.shape, strict=True):
        name = {(len(TRACED), len(OTHER)): "batch", (max(TRACED), max(OTHER)): "length"}
        sizes.append(str(size) if size == size_of_other else name.get((size, size_of_other), "another length"))
    return f"({', '.join(sizes)})"
