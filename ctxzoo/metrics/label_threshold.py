"""The probability from which a label is given where a text may have several; torchmetrics is not imported."""

from __future__ import annotations

from typing import Any

USUAL_THRESHOLD = 0.5


def get_label_threshold(config: Any) -> float:
    """Return the probability from which a label of several is given: `label_threshold` of a model's config, or .5."""
    chosen = getattr(config, "label_threshold", None)
    return USUAL_THRESHOLD if chosen is None else float(chosen)
