"""A model as a program: traced, converted to ONNX, quantized, written, opened, and compared with the model."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ctxzoo.export.task_export import NotExportableError, TaskExport, Tensors

ONNX, TORCH = "onnx", "torch"
FILES = {ONNX: "model.onnx", TORCH: "model.pt2"}
CLOSE = 1e-4  # largest difference of a program and its model, relative to numbers above 1
SHAPES = 20  # that are checked, none of which was traced
MOST_ROWS = 8  # in them
MASKED = 1e30  # scores of what is masked lie beyond it
TRACED = (7, 1, 4)  # lengths of the rows with which a model is traced
OTHER = (5, 2, 9, 3, 6)  # sizes that differ between the two are dynamic
# The largest parts of a model; int8 convolutions are not in every build of onnxruntime.
QUANTIZED = ("MatMul", "Gather")

Run = Callable[[Tensors], list[torch.Tensor]]


class OnnxUnavailableError(ImportError):
    """Packages that write or run ONNX are not installed."""


@dataclass(frozen=True)
class Agreement:
    """How a program's outputs compare with those of its model.

    Attributes:
        shapes: Number of batches, each of another shape.
        difference: Largest difference, relative for numbers above 1; infinite where something else is masked.
        equal, decided: Number of equal predictions, and of all predictions; 0 where outputs are numbers.
    """

    shapes: int
    difference: float
    equal: int
    decided: int


def check_onnx() -> None:
    """Raise an error if a package that writes or runs ONNX is not installed, before a long command begins.

    Raises:
        OnnxUnavailableError: one is missing; the message says how to install it.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise OnnxUnavailableError(
            f"--format onnx needs onnx, onnxruntime and onnxscript, and {error.name} is missing: "
            "pip install onnx onnxruntime onnxscript"
        ) from error


def trace(model: Any, task: TaskExport) -> torch.export.ExportedProgram:
    """Trace a model with one small batch; the sizes in which two batches differ stay open.

    Raises:
        NotExportableError: torch.export cannot trace it.
    """
    batch, other = (task.draw_inputs(model, lengths, torch.Generator()) for lengths in (TRACED, OTHER))
    shapes = {
        name: {
            place: torch.export.Dim.DYNAMIC
            for place, (size, size_of_other) in enumerate(zip(value.shape, other[name].shape, strict=True))
            if size != size_of_other
        }
        for name, value in batch.items()
    }
    with torch.no_grad(), _quiet(), _refuse_failure("torch.export", "load it with ctxzoo where it is used"):
        return torch.export.export(task.build_program(model), (), batch, dynamic_shapes=shapes)


def write_program(program: torch.export.ExportedProgram, file: Path, names: list[str], *, int8: bool = False) -> None:
    """Write a traced model as an ONNX file, or, where the name of the file ends in .pt2, as torch does.

    Args:
        program: Traced model.
        file: File to write.
        names: Names of the outputs.
        int8: Whether weights are quantized to 8 bits (ONNX).

    Raises:
        NotExportableError: there is no ONNX for a part of the model.
    """
    if file.name == FILES[TORCH]:
        torch.export.save(program, file)
        return
    # With gradients a scan would be converted together with its backward pass.
    with torch.no_grad(), _quiet(), _refuse_failure("ONNX", "take --format torch"):
        converted = torch.onnx.export(
            program,
            dynamo=True,
            verbose=False,
            output_names=names,
            custom_translation_table={
                torch.ops.aten.sort.stable: _sort_in_onnx,
                torch.ops.aten.cummax.default: _find_running_maximum_in_onnx,
            },
        )
        assert converted is not None
        converted.save(file, external_data=False)
    if int8:
        _quantize(file)


def open_program(file: Path) -> Run:
    """Open a written program as a function from inputs by name to its outputs; it computes with one thread."""
    if file.name == FILES[TORCH]:
        module = torch.export.load(file).module()
        return lambda inputs: list(module(**inputs))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def run(inputs: Tensors) -> list[torch.Tensor]:
        """Return the outputs of the file's model."""
        arrays = session.run(None, {name: value.numpy() for name, value in inputs.items()})
        return [torch.from_numpy(array) for array in arrays]

    return run


@torch.no_grad()
def compare(run: Run, model: Any, task: TaskExport, *, seed: int = 0) -> Agreement:
    """Compare a program with its model on random batches of `SHAPES` shapes that were not traced."""
    generator = torch.Generator().manual_seed(seed)
    module = task.build_program(model)
    difference, equal, decided = 0.0, 0, 0
    for lengths in _draw_shapes(task, generator):
        inputs = task.draw_inputs(model, lengths, generator)
        expected, found = list(module(**inputs)), run(inputs)
        difference = max([difference, *map(_find_difference, found, expected)])
        ours, theirs = (task.decide(dict(zip(task.outputs, values, strict=False))) for values in (found, expected))
        if ours is not None and theirs is not None:
            equal += int((ours == theirs).sum())
            decided += len(theirs)
    return Agreement(SHAPES, difference, equal, decided)


def _sort_in_onnx(x: Any, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """Return the ONNX of a stable sort, for which torch has none: TopK, which keeps the order of equal values."""
    from onnxscript.function_libs.torch_lib.ops.core import aten_sort

    return aten_sort(x, dim=dim, descending=descending)


def _find_running_maximum_in_onnx(x: Any, dim: int) -> Any:
    """Return the ONNX of the largest value up to each place of the last dimension, and of where it stands."""
    from onnxscript import opset18 as op

    if dim != -1:
        raise NotExportableError(f"running maximum of dimension {dim}; programs have that of the last alone")
    length = op.Shape(x, start=-1)
    is_seen = op.Trilu(op.Expand(op.Constant(value_float=1.0), op.Concat(length, length, axis=0)), upper=0)
    each = op.Unsqueeze(x, op.Constant(value_ints=[-2]))
    lowest = op.CastLike(op.Constant(value_float=float("-inf")), x)
    seen = op.Where(op.Cast(is_seen, to=9), each, lowest)  # 9: bool
    return op.ReduceMax(seen, op.Constant(value_ints=[-1]), keepdims=0), op.ArgMax(seen, axis=-1, keepdims=0)


def _draw_shapes(task: TaskExport, generator: torch.Generator) -> Iterator[list[int]]:
    """Yield the lengths of the rows of `SHAPES` batches, of another shape each, and none that of the traced one."""
    seen = {(len(TRACED), max(TRACED))}
    while len(seen) <= SHAPES:
        rows, longest = (int(torch.randint(1, most + 1, (), generator=generator)) for most in (MOST_ROWS, task.longest))
        if (rows, longest) not in seen:
            seen.add((rows, longest))
            yield [longest, *torch.randint(1, longest + 1, (rows - 1,), generator=generator).tolist()]


def _find_difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference of two outputs, relative above 1; infinite for other shapes or masks."""
    if found.shape != expected.shape:
        return float("inf")
    masked = expected.abs() > MASKED
    if not torch.equal(found.abs() > MASKED, masked) or bool((found.isnan() != expected.isnan()).any()):
        return float("inf")
    differences = (found - expected).abs() / expected.abs().clamp(min=1)
    return float(differences[~masked & ~expected.isnan()].max()) if not bool(masked.all()) else 0.0


def _quantize(file: Path) -> None:
    """Replace an ONNX file by one whose weights are 8-bit numbers."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    wide = file.with_name(f"float32-{file.name}")
    file.rename(wide)
    with _quiet():
        # Matrices computed from weights alone become weights; several products with one that is not gain equal names.
        quant_pre_process(wide, wide, skip_symbolic_shape=True)
        quantize_dynamic(
            wide,
            file,
            op_types_to_quantize=list(QUANTIZED),
            weight_type=QuantType.QInt8,
            extra_options={"EnableSubgraph": True},  # the bodies of scans
        )
    wide.unlink()


@contextmanager
def _refuse_failure(what: str, advice: str) -> Iterator[None]:
    """Turn whatever a converter raises in a `with` block into one error that says what to do.

    Raises:
        NotExportableError: there was an error.
    """
    try:
        yield
    except NotExportableError:
        raise
    except Exception as error:  # each converter has many of its own
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        lines = [line for line in str(cause).splitlines() if line.strip()]
        reason = lines[0][:200] if lines else type(cause).__name__
        raise NotExportableError(f"{what} does not take this model ({reason}); {advice}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings and log messages of the converters from the terminal within a `with` block."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "root")]
    loggers.append(logging.getLogger("torch.onnx._internal.exporter._registration"))
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
