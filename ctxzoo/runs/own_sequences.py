"""Sequences of named things of a user, such as sessions: read, checked and grouped, to be divided."""

from __future__ import annotations

from collections.abc import Callable

import datasets

from ctxzoo.data.event_rows import EventColumns
from ctxzoo.data.named_sequences import SequenceSplits, sequence_groups
from ctxzoo.data.own_splits import OwnRows
from ctxzoo.runs.training_request import Loaded, TrainingRequest, gathered


def own_sequences(
    request: TrainingRequest,
    load: Callable[[str, str | None, EventColumns], dict[str, datasets.Dataset]],
    check: Callable[..., SequenceSplits],
    column: str,
    unit: str,
) -> OwnRows:
    """Return the sequences of a user; those that are equal stay together.

    Args:
        request: of the user; its columns are those of `EventColumns`.
        load: the splits of a source, from source, folder of datasets and columns.
        check: of splits and `origin`, what messages call the data.
        column: the names in a sequence.
        unit: what sequences are called, in the plural.

    Raises:
        OSError, ValueError: see `gathered` and `check`.
    """
    given = {name.removesuffix("_column"): value for name, value in request.columns.items() if value is not None}
    columns = EventColumns(**given)

    def loaded(source: str) -> Loaded:
        splits = load(source, request.data_dir, columns)
        return splits, dict.fromkeys(splits, source)

    splits, _ = gathered(request, loaded)
    checked = check(splits, origin=request.data)
    return OwnRows(splits=checked.splits, **vars(sequence_groups(checked, column, unit)))
