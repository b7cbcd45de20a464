"""Models of sessions and of histories of events as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors, draw_ids, draw_mask


class SessionExport(TaskExport):
    """The items of a session to scores of the next item."""

    inputs = {  # noqa: RUF012
        "input_ids": "numbers of the items in order of time, 1 for the first of `item_names`",
        "attention_mask": "1 at items, 0 at padding",
    }
    outputs = {"logits": "scores of the next item, (batch, items + 1); number 0 is padding"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.sequences.export_session_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        mask = draw_mask(lengths)
        return {
            "input_ids": draw_ids(1, model.config.num_items + 1, mask, generator),
            "attention_mask": mask,
        }

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield (
            "Items have the numbers of their places in `item_names` of config.json, counted from 1; without names item "
            f'"7" is number 7. The last {model.config.max_history} of a session are read.'
        )
        yield "The softmax of the scores are the probabilities of the items; recommended are the most probable ones."


class EventExport(TaskExport):
    """Events and their times to scores of the event behind each."""

    inputs = {  # noqa: RUF012
        "input_ids": "numbers of the events in order of time, 1 for the first of `event_names`",
        "attention_mask": "1 at events, 0 at padding",
        "timestamps": "time of each event in the unit of the training, not falling; of dates seconds since 1970",
    }
    outputs = {"logits": "scores of the event behind each, (batch, length, events + 1); number 0 is padding"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.sequences.export_event_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        mask = draw_mask(lengths)
        gaps = torch.rand(mask.shape, generator=generator, dtype=torch.float64) * model.config.time_unit
        return {
            "input_ids": draw_ids(1, model.config.vocab_size, mask, generator),
            "attention_mask": mask,
            "timestamps": 1_300_000_000 + gaps.cumsum(dim=1),
        }

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield (
            "Events have the numbers of their places in `event_names` of config.json, counted from 1; without names "
            f'event "7" is number 7. The last {model.config.max_history} of a history are read.'
        )
        yield "Times are float64: float32 has dates only to 128 seconds. At padding the last time may be repeated."
        yield "The softmax of the scores at the last event are the probabilities of the next one."


SESSION_EXPORT, EVENT_EXPORT = SessionExport(), EventExport()
