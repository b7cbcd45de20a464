"""Things by name, as the data of a training calls them and as callers give them."""

import operator
from collections.abc import Sequence
from typing import Any


def rows_of_names(given: Sequence[Any], names: Sequence[str], thing: str) -> list[int]:
    """Return where in a list of names each thing stands.

    A number is a name as the data wrote it: 10, an integer of numpy or torch of that value, and "10" are all the thing
    called "10", never the tenth.

    Args:
        given: Names as text or whole numbers; one or more.
        names: What all things are called, each name once.
        thing: What one of them is called in messages.

    Returns:
        Positions from 0, one for each name.

    Raises:
        ValueError: nothing given, a name that there is not, or what is no name.
    """
    if isinstance(given, str) or not len(given):
        raise ValueError(f"expected a list of one {thing} or more, got {given!r}")
    rows = {name: row for row, name in enumerate(names)}
    found = []
    for one in given:
        row = rows.get(name_text(one, thing))
        if row is None:
            such = repr(names[0]) if len(names) == 1 else f"{names[0]!r} or {names[-1]!r}"
            raise ValueError(
                f"the model does not know the {thing} {str(one)!r}: expected one of its {len(names):,} names, such as "
                f"{such}"
            )
        found.append(row)
    return found


def name_text(one: Any, thing: str) -> str:
    """Return the name that a text or a whole number is; `thing` is what messages call what has the name.

    Raises:
        ValueError: anything else.
    """
    if isinstance(one, str):
        return str(one)
    try:
        if isinstance(one, bool):
            raise TypeError
        return str(operator.index(one))
    except TypeError:
        raise ValueError(f"{one!r} is no name of the {thing}: expected text or a whole number") from None
