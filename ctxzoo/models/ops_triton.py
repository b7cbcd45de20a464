"""What the fused kernels of second-order attention, linear attention and LAMA's heads share.

That is where they run, how products are computed, and the sizes of blocks. Triton is optional: without it this file
imports, and `can_run` is False.
"""

import contextlib
from typing import Any, Literal, get_args

import torch

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # mostly on a machine without a GPU
    triton = None

Implementation = Literal["auto", "plain", "triton"]

KERNEL_DTYPES = (torch.float32, torch.bfloat16, torch.float16)

# The number of programs per multiprocessor, so that one computes while another waits for memory.
PROGRAMS_PER_PROCESSOR = 2
# Under Triton's interpreter there is no device to ask; a small number keeps the number of (slow) programs small.
_INTERPRETED_PROCESSORS = 4

load_tile: Any = None
store_tile: Any = None

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def load_tile(  # type: ignore[no-untyped-def]
        base_ptr, rows, columns, row_stride, column_stride, num_rows, num_columns
    ):
        """Return base[rows, columns]; zero where a row or column is out of range."""
        inside = (rows < num_rows)[:, None] & (columns < num_columns)[None, :]
        return tl.load(base_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=inside, other=0.0)

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def store_tile(base_ptr, tile, rows, columns, row_stride, num_rows, num_columns):  # type: ignore[no-untyped-def]
        """Write a tile to base[rows, columns] where both are in range, in the type of the memory."""
        inside = (rows < num_rows)[:, None] & (columns < num_columns)[None, :]
        place = base_ptr + rows[:, None] * row_stride + columns[None, :]
        tl.store(place, tile.to(base_ptr.dtype.element_ty), mask=inside)


def can_run(x: torch.Tensor) -> bool:
    """Return whether the kernels can run on x, of any shape.

    They need Triton, a supported dtype and a CUDA device of compute capability 8.0 or more. Under Triton's interpreter
    (TRITON_INTERPRET=1 before triton is imported) the device is the CPU instead.
    """
    if triton is None or x.dtype not in KERNEL_DTYPES:
        return False
    if _is_interpreted():
        return x.device.type == "cpu"
    # ROCm also calls its devices cuda; the tiles are not made for them.
    return x.is_cuda and torch.version.hip is None and torch.cuda.get_device_capability(x.device) >= (8, 0)


def check_implementation(implementation: str, x: torch.Tensor) -> None:
    """Raise ValueError for a name that is no `Implementation`, or for kernels that cannot run on x."""
    if implementation not in get_args(Implementation):
        raise ValueError(f"implementation {implementation!r} is none of {', '.join(get_args(Implementation))}")
    if implementation == "triton":
        check_can_run(x)


def check_can_run(x: torch.Tensor) -> None:
    """Raise ValueError unless `can_run`, for a caller that asked for the kernels."""
    if not can_run(x):
        raise ValueError(
            "implementation 'triton' needs the package triton and a CUDA tensor in float32 or half precision, "
            f"got {str(x.dtype).removeprefix('torch.')} on {x.device}"
        )


def _is_interpreted() -> bool:
    """Return whether the kernels were defined under TRITON_INTERPRET=1, so that they run on the CPU."""
    return not isinstance(load_tile, triton.runtime.JITFunction)


def get_product_precision(dtype: torch.dtype) -> str:
    """Return how products of operands of `dtype` are computed: "bf16", "tf32" or "ieee"."""
    if dtype == torch.bfloat16:
        return "bf16"
    # `fp32_precision` also reflects `allow_tf32`, which must not be read where the newer setting was used.
    return "tf32" if dtype == torch.float16 or torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"


def get_product_arguments(dtype: torch.dtype) -> dict[str, Any]:
    """Return the arguments of a kernel that say how it multiplies: operands are rounded to ROUND, and are of type DOT.

    `dtype` is that of the operands in memory.
    """
    low = dtype == torch.bfloat16
    return {
        "ROUND": tl.bfloat16 if low else tl.float32,
        # The interpreter multiplies the bits of bfloat16 operands as if they were integers; widened after rounding,
        # they give what a tensor core gives.
        "DOT": tl.bfloat16 if low and not _is_interpreted() else tl.float32,
        "PRECISION": "tf32" if get_product_precision(dtype) == "tf32" else "ieee",
    }


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def choose_block_size(size: int, largest: int) -> int:
    """Return the power of two that holds `size`, between 16, the least that a tensor core takes, and `largest`."""
    return min(max(16, 1 << (size - 1).bit_length()), largest)


def count_target_programs(x: torch.Tensor) -> int:
    """Return how many programs keep the device of `x` busy."""
    if not x.is_cuda:
        return _INTERPRETED_PROCESSORS
    return PROGRAMS_PER_PROCESSOR * torch.cuda.get_device_properties(x.device).multi_processor_count


def make_device_current(x: torch.Tensor) -> contextlib.AbstractContextManager[Any]:
    """Make the device of x current, because Triton launches on the current device."""
    return torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext()
