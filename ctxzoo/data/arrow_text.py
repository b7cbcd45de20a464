"""Text in any of Arrow's types (wide, views, categories, lists of them) as plain strings and lists."""

from __future__ import annotations

import pyarrow as pa


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return `string` for every type of text, `list` for every type of list, the values' type for categories."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_one(kind) for is_one in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        return pa.list_(plain_type(kind.value_type))
    return kind


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with its values in their `plain_type`."""
    plain = plain_type(column.type)
    return column if column.type == plain else column.cast(plain)
