"""What a model card asks the model, and what the model says."""

from __future__ import annotations

from typing import Any

from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.task_card import TaskCard


def card_example(
    task: TaskCard, dataset: str, *, model: Any, tokenizer: Any, data: Any = None, split: str = "test"
) -> dict[str, Any]:
    """Inputs of the task's pipeline with its output: ours for a dataset that has some in `DATASET_FACTS`.

    Args:
        task: of the model.
        dataset: as results name it.
        model, tokenizer: that are asked.
        data: DataModule that gives the inputs, and what is right, where there are none of ours and the task takes
            some.
        split: of that DataModule.

    Raises:
        ValueError: neither inputs of ours nor of data.
    """
    known = {**DATASET_FACTS, "sample": task.sample}.get(dataset)
    if known is not None and known.example is not None:
        asked = dict(known.example)
    else:
        asked = {} if data is None else task.split_example(data, split) or {}
    if not asked:
        raise ValueError(f"no example for {dataset!r}; add one to its entry in ctxzoo/hub/card_facts.py")
    return {**asked, **task.predict(model, tokenizer, asked)}
