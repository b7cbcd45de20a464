"""Things by name or by id, as callers give them."""

import operator
from collections.abc import Callable, Sequence
from typing import Any


def ids_of_names(given: Sequence[Any], number: int, name_of: Callable[[int], str], thing: str) -> list[int]:
    """Return the ids of things, each given by its name or by its id.

    Args:
        given: names, or whole numbers of any kind; one or more.
        number: how many there are: their ids are 1..number.
        name_of: from an id to its name.
        thing: what they are called in messages.

    Raises:
        ValueError: nothing given, a name that there is not, or what is no id.
    """
    if isinstance(given, str) or not len(given):
        raise ValueError(f"history={given!r}: expected a list of one {thing} or more")
    by_name = {name_of(one): one for one in range(1, number + 1)}
    ids = [by_name.get(one, 0) if isinstance(one, str) else _whole(one) for one in given]
    for one, found in zip(given, ids, strict=True):
        if not 1 <= found <= number:
            raise ValueError(
                f"the model does not know the {thing} {one!r}: expected one of its {number:,} names, such as "
                f"{name_of(1)!r}, or a number 1..{number}"
            )
    return ids


def _whole(value: Any) -> int:
    """Return a whole number as int; 0, which is no id, for anything else."""
    if isinstance(value, bool):
        return 0
    try:
        return operator.index(value)
    except TypeError:
        return 0
