"""A hint to the processor for compiled loops: which row of a matrix is needed soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LINE = 64  # bytes


def _prefetch_row(typing_context: Any, matrix: Any, row: Any, width: Any) -> Any:
    """Begin to fetch the first `width` numbers of matrix[row], a contiguous float32 matrix, for writing.

    A hint cannot fail: rows outside of the matrix are ignored.
    """
    signature = types.void(matrix, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        int32, int64, pointer = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
        strides = cgutils.unpack_tuple(builder, array.strides, 2)
        begin = builder.add(builder.ptrtoint(array.data, int64), builder.mul(arguments[1], strides[0]))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, int32, int32, int32]), "llvm.prefetch.p0"
        )
        bytes_wanted = builder.mul(arguments[2], int64(4))
        with cgutils.for_range_slice(builder, int64(0), bytes_wanted, int64(LINE), int64) as (offset, _):
            address = builder.inttoptr(builder.add(begin, offset), pointer)
            builder.call(function, [address, int32(1), int32(3), int32(1)])  # for writing, to stay, data
        return context.get_dummy_value()

    return signature, generate


prefetch_row: Any = intrinsic(_prefetch_row)
