"""The example of a model card: inputs of the model, and what it gives for them."""

from __future__ import annotations

from typing import Any

from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.task_card import TaskCard


def card_example(
    task: TaskCard, dataset: str, *, model: Any, tokenizer: Any, data: Any = None, split: str = "test"
) -> dict[str, Any]:
    """Return inputs of the task's pipeline with its output: ours for a dataset that has some in `DATASET_FACTS`.

    Args:
        task: of the model.
        dataset: as results name it.
        model, tokenizer: what gives the output; the tokenizer is None for an architecture without one.
        data: DataModule that gives the inputs, and what is right, where there are none of ours and the task takes
            some.
        split: of that DataModule.

    Raises:
        ValueError: neither inputs of ours nor of data.
    """
    known = {**DATASET_FACTS, "sample": task.sample}.get(dataset)
    if known is not None and known.example is not None:
        inputs = dict(known.example)
    else:
        inputs = {} if data is None else task.split_example(data, split) or {}
    if not inputs:
        raise ValueError(f"no example for {dataset!r}; add one to its entry in ctxzoo/hub/card_facts.py")
    return {**inputs, **task.predict(model, tokenizer, inputs)}
