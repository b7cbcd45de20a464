"""The contextualizer: contexts corrected again and again by second-order attention (Maupomé and Meurs 2021)."""

import math
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .ops_execution import call_with_checkpointing, call_with_recomputation
from .ops_second_order_attention import Implementation, second_order_attention, second_order_weights

# The largest number of entries in the (B, queries, n, m) tensor of one block of the token-wise form.
_BLOCK = 2**24


class Contextualizer(nn.Module):
    """K steps of second-order attention, each from the context that the step before gave (Algorithm 1).

    Args:
        width: Width m of the tokens.
        rank: Rank u of the third-order tensor.
        num_steps: Number K of steps, that is of corrections of the context.
        recurrent: Whether all steps share one (U, V, W); otherwise each has its own.
    """

    gradient_checkpointing = False

    def __init__(self, width: int, rank: int, num_steps: int, recurrent: bool) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.recurrent = recurrent
        copies = 1 if recurrent else num_steps
        self.token_factors = nn.Parameter(torch.empty(copies, rank, width))  # U
        self.context_factors = nn.Parameter(torch.empty(copies, rank, width))  # V
        self.feature_factors = nn.Parameter(torch.empty(copies, width, rank))  # W
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw each matrix from Xavier's uniform distribution for the shape (u, m)."""
        _, rank, width = self.token_factors.shape
        bound = math.sqrt(6 / (rank + width))
        for factors in (self.token_factors, self.context_factors, self.feature_factors):
            init.uniform_(factors, -bound, bound)

    def extra_repr(self) -> str:
        _, rank, width = self.token_factors.shape
        return f"{width}, rank={rank}, num_steps={self.num_steps}, recurrent={self.recurrent}"

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, context: torch.Tensor, with_weights: bool = False
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Take all K steps.

        Args:
            x: (B, n, m) tokens.
            mask: Boolean (B, n), True at real tokens.
            context: First context c^0, (B, m), or (B, S, m) for S starts of each document.
            with_weights: Whether to return the weights.

        Returns:
            c^1 to c^K, each of the shape of `context`; and a^1 to a^K, each (B, n, m) or (B, S, n, m), or nothing.
        """
        if context.dim() == 3:
            x, mask = x.unsqueeze(1), mask.unsqueeze(1)  # (B, 1, n, m), (B, 1, n)
        contexts, weights = [], []
        frugal = self.gradient_checkpointing and self.training
        # Steps that share U share its product with x too, unless checkpoints are to save memory.
        shared = F.linear(x, self.token_factors[0]) if self.recurrent and not frugal else None
        # Where `second_order_attention` takes the plain form in any case.
        plain = x.dim() != 3 or x.size(1) == 0 or torch.compiler.is_compiling()
        implementation: Implementation = "recompute" if frugal and not (plain or x.is_cuda) else "auto"
        for step in range(self.num_steps):
            copy = 0 if self.recurrent else step

            # The default binds the copy of this step: a checkpoint calls the function again after the loop.
            def update_context(
                x: torch.Tensor, context: torch.Tensor, projected: torch.Tensor | None, copy: int = copy
            ) -> tuple[torch.Tensor, torch.Tensor | None]:
                """Return the next context, and its weights (B, n, m) or (B, S, n, m), if wanted.

                `projected` is U x, (B, n, u), where all steps share it (None: compute it), and `copy` is the index of
                this step's U, V and W.
                """
                projected = F.linear(x, self.token_factors[copy]) if projected is None else projected
                gate, factor = F.linear(context, self.context_factors[copy]), self.feature_factors[copy]
                step_weights = second_order_weights(projected, gate, factor, mask) if with_weights else None
                return second_order_attention(x, projected, gate, factor, mask, implementation), step_weights

            context, step_weights = call_with_checkpointing(self, update_context, x, context, shared)
            contexts.append(context)
            if step_weights is not None:
                weights.append(step_weights)
        return contexts, weights


class TokenwiseContextualizer(Contextualizer):
    """Every token is a context of its own, and all of them are corrected at once (Algorithm 2).

    Args:
        width, rank, num_steps, recurrent: Width of tokens, rank, number of steps and whether these share weights, as in
            `Contextualizer`.
        values: Tokens that each step sums: those that the step before returned ("previous"), or the input ("tokens").
    """

    def __init__(
        self, width: int, rank: int, num_steps: int, recurrent: bool, values: Literal["previous", "tokens"]
    ) -> None:
        super().__init__(width, rank, num_steps, recurrent)
        self.values = values

    def forward(  # type: ignore[override]
        self, x: torch.Tensor, mask: torch.Tensor, with_weights: bool = False
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Take all K steps.

        Args:
            x: (B, n, m) tokens.
            mask: Boolean (B, n), True at real tokens.
            with_weights: Whether to return the weights.

        Returns:
            y^1 to y^K, each (B, n, m), 0 at padding; and on request, for each step, the mean of the weights over the
            real tokens as contexts, (B, n, m): what every token adds to the mean of y^k.
        """
        tokens, means = [], []
        y = x
        for step in range(self.num_steps):
            copy = 0 if self.recurrent else step

            def update_context(
                x: torch.Tensor, y: torch.Tensor, copy: int = copy
            ) -> tuple[torch.Tensor, torch.Tensor | None]:
                """Return the next tokens (B, n, m) from those before, `y`, and the mean weights (B, n, m), if wanted.

                `x` are the tokens of the input, and `copy` is the index of this step's U, V and W.
                """
                projected = F.linear(y, self.token_factors[copy])
                gates, factor = F.linear(y, self.context_factors[copy]), self.feature_factors[copy]
                mean = self._average_attention_weights(projected, gates, factor, mask) if with_weights else None
                values = y if self.values == "previous" else x
                return self._attend_in_blocks(values, projected, gates, factor, mask) * mask.unsqueeze(-1), mean

            y, mean = call_with_checkpointing(self, update_context, x, y)
            tokens.append(y)
            if mean is not None:
                means.append(mean)
        return tokens, means

    def _attend_in_blocks(
        self,
        values: torch.Tensor,
        projected: torch.Tensor,
        gates: torch.Tensor,
        factor: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return one step of every token, (B, n, m), in blocks of queries.

        So the (B, n, n, m) weights never exist as a whole, nor are they kept for the gradient.
        """
        blocks = self._split_queries(values)
        # Tokens are (B, 1, n, .), the same for all queries, whose gates are (B, queries, u).
        inputs = values.unsqueeze(1), projected.unsqueeze(1), factor, mask.unsqueeze(1)
        if len(blocks) == 1:
            return _attend_query_block(gates, *inputs)
        parts = [call_with_recomputation(_attend_query_block, gates[:, begin:end], *inputs) for begin, end in blocks]
        return torch.cat(parts, dim=1)

    def _average_attention_weights(
        self, projected: torch.Tensor, gates: torch.Tensor, factor: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights (B, n, m) of all tokens, averaged over the real tokens that attend.

        `projected` is U y, (B, n, u), `gates` V y, (B, n, u), `factor` W, (m, u), and `mask` (B, n) is True at real
        tokens.
        """
        total: torch.Tensor | float = 0.0
        # Weights are m wide, while what is projected is u wide: the blocks follow the former.
        for begin, end in self._split_queries(projected, width=factor.size(0)):
            weights = second_order_weights(projected.unsqueeze(1), gates[:, begin:end], factor, mask.unsqueeze(1))
            total = total + torch.einsum("btnm,bt->bnm", weights, mask[:, begin:end].to(weights.dtype))  # (B, n, m)
        assert isinstance(total, torch.Tensor)
        return total / mask.sum(dim=1).clamp(min=1).view(-1, 1, 1)

    @staticmethod
    def _split_queries(x: torch.Tensor, width: int | None = None) -> list[tuple[int, int]]:
        """Return the first query of each block and the one after its last; one block where sizes are not known yet."""
        batch, length = x.size(0), x.size(1)
        if torch.compiler.is_compiling():
            return [(0, length)]
        size = max(1, _BLOCK // max(1, batch * length * (width or x.size(2))))
        return [(begin, min(begin + size, length)) for begin in range(0, max(length, 1), size)]


def _attend_query_block(
    gates: torch.Tensor, values: torch.Tensor, projected: torch.Tensor, factor: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return the sums (B, t, m) of second-order attention for a block of t queries, whose V y are `gates` (B, t, u).

    The other arguments are the same in every block.

    Arguments in this order let `call_with_checkpointing` run it again in the backward pass.
    """
    return second_order_attention(values, projected, gates, factor, mask)
