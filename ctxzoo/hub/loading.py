"""How a checkpoint that a run has left is loaded."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.hub.task_card import TaskCard


def loading_lines(checkpoint: Path, card: TaskCard) -> list[str]:
    """Return the lines of a program that loads a checkpoint folder as a pipeline and calls it; none without one."""
    if card.pipeline_tag is None:
        return []
    return [
        "load it:",
        "    from transformers import pipeline",
        f'    model = pipeline("{card.pipeline_tag}", model="{checkpoint}", trust_remote_code=True)',
        f"    model({card.call})",
    ]
