"""Equal texts with different labels, which no classifier can get right."""

from __future__ import annotations

import numpy as np

from ctxzoo.data.formats import Rows
from ctxzoo.data.reading_notes import note


def note_contradictions(where: str, groups: Rows, labels: Rows) -> None:
    """Note how many texts stand again with another label.

    Args:
        where: What the data is called.
        groups: (rows,) a number for each text, the same for equal texts, see `group_numbers`.
        labels: (rows,) the label of each.
    """
    pairs = np.unique(np.stack([groups, labels], axis=1), axis=0)
    texts, number = np.unique(pairs[:, 0], return_counts=True)
    rows = int(np.isin(groups, texts[number > 1]).sum())
    note(where, "texts stand there again with another label, each read as it is; correct those that are slips", rows)
