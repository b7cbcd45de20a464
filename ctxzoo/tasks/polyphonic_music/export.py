"""Models of music as exported programs, which score the keys of the next step; keys are drawn outside of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors, draw_mask


class MusicExport(TaskExport):
    """The steps of a piece to scores of the keys of the next step."""

    inputs = {  # noqa: RUF012
        "inputs_embeds": "1 where a key sounds at a step, else 0; keys 0 to 87 from the lowest",
        "attention_mask": "1 at steps, 0 at padding",
    }
    outputs = {"logits": "scores of the keys of the step behind each, (batch, length, 88)"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.polyphonic_music.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        mask = draw_mask(lengths)
        sounds = torch.rand(*mask.shape, model.config.input_size, generator=generator) < 0.1
        return {"inputs_embeds": sounds.float() * mask.unsqueeze(2), "attention_mask": mask}

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        yield "A piece is cut into steps of equal length; at each the keys that sound are 1."
        yield (
            "The sigmoid of a score at the last step is the probability that the key sounds at the next. To continue a "
            "piece, draw each key (or take those above a threshold), append the step and read again: the program keeps "
            "no state."
        )

    def decide(self, outputs: Tensors) -> torch.Tensor:
        return (outputs["logits"] > 0).flatten()


EXPORT = MusicExport()
