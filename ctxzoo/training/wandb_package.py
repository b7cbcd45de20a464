"""Whether Weights & Biases can be logged to."""

from __future__ import annotations

from importlib.util import find_spec


def check_wandb() -> None:
    """Raise ImportError, with what to do, where its package is not installed."""
    try:
        found = find_spec("wandb") is not None
    except (ImportError, ValueError):  # of a finder that refuses, or a module that is no package
        found = False
    if not found:
        raise ImportError("wandb needs: pip install wandb")
