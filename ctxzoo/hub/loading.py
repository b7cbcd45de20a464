"""How a checkpoint that a run has left is loaded."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.hub.task_facts import TaskFacts


def loading_lines(checkpoint: Path, facts: TaskFacts) -> list[str]:
    """Lines to print: a program that loads a checkpoint folder as a pipeline and calls it."""
    return [
        "load it:",
        "    from transformers import pipeline",
        f'    model = pipeline("{facts.pipeline_tag}", model="{checkpoint}", trust_remote_code=True)',
        f"    model({facts.call})",
    ]
