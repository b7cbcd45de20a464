"""The steps of sequences that are no texts, with checks that name a caller's mistake."""

import torch
from torch import nn

from .ops_execution import dropout
from .ops_inputs import refuse_empty_batch, word_mask


class StepInput(nn.Module):
    """The steps of a sequence that is no text, as they are given.

    Args:
        size: numbers of a step.
        dropout: rate of dropout on them.
    """

    words = None  # there is no table of words

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.dropout = dropout

    def forward(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the steps (B, n, size), 0 outside the mask, and the mask as booleans (B, n).

        Raises:
            ValueError: ids, no steps, steps of another shape or type, an empty batch, a mask of another shape or with
                other values than 0 and 1.
        """
        if input_ids is not None or inputs_embeds is None:
            raise ValueError("the model reads no words (vocab_size is 0): pass inputs_embeds, and no input_ids")
        if inputs_embeds.dim() != 3 or inputs_embeds.size(2) != self.size or not inputs_embeds.is_floating_point():
            raise ValueError(
                f"inputs_embeds of shape {tuple(inputs_embeds.shape)} and type {inputs_embeds.dtype}: expected "
                f"(batch, steps, {self.size}) floats"
            )
        refuse_empty_batch("inputs_embeds", inputs_embeds)
        mask = word_mask(inputs_embeds, attention_mask)
        x = torch.where(mask.unsqueeze(-1), inputs_embeds, inputs_embeds.new_zeros(()))
        return dropout(x, self.dropout, training=self.training), mask
