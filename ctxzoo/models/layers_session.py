"""What models of sessions are made of: the table of items, an attention over steps, and scores of all items."""

import torch
from torch import nn
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_execution import dropout
from .ops_words import mask_logits, masked_softmax

DEVIATION = 0.1  # of the table of items at the start


def glorot_linear(in_features: int, out_features: int, bias: bool = True) -> nn.Linear:
    """Return a linear layer that starts uniform after Glorot and Bengio (2010), with a bias of 0."""
    return make_linear(in_features, out_features, init.xavier_uniform_, bias=bias)


class ItemTable(nn.Embedding):
    """The vectors of items 1..num_items, (num_items + 1, size); row 0 is padding, 0 and not trained."""

    def __init__(self, num_items: int, size: int) -> None:
        super().__init__(num_items + 1, size, padding_idx=0)

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=DEVIATION)
        # A row that a checkpoint has loaded stays as it is.
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[0].zero_()


class StepAttention(nn.Module):
    """The attention of NARM over the states of a session, by the state at which a prediction stands.

    beta_t = v . sigmoid(W_e h_t + W_d h_T);  w = softmax over the steps that are seen;  sum_t w_t h_t

    Args:
        size: Hidden size H, units of each layer and direction.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.state = glorot_linear(size, size, bias=False)  # W_e
        self.last = glorot_linear(size, size, bias=False)  # W_d
        self.score = glorot_linear(size, 1, bias=False)  # v

    def forward(
        self, states: torch.Tensor, last: torch.Tensor, visible: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sums (B, P, H) and the weights (B, P, T), 0 at steps that are not visible.

        Args:
            states: (B, P, T, H) states of T steps for each of P predictions, or (B, 1, T, H) where all predictions see
                the same states.
            last: (B, P, H) last state before each prediction.
            visible: (B, P, T) booleans, True at steps that each of the P predictions of a session sees.
        """
        # W_d h_T gets the shape (B, P, 1, H): one for all steps of a prediction.
        return softmax_weighted_sums(self.compute_scores(states, self.last(last).unsqueeze(2)), states, visible)

    def compute_scores(self, states: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        """Return attention scores beta (...) of states (..., H); `query`, W_d h_T, is added to each of them."""
        scores: torch.Tensor = self.score(torch.sigmoid(self.state(states) + query)).squeeze(-1)
        return scores


def softmax_weighted_sums(
    scores: torch.Tensor, states: torch.Tensor, visible: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sums (B, P, H) of states, weighed by the softmax of scores (B, P, T), and these weights (B, P, T).

    `states` and `visible` are those of `StepAttention.forward`; a prediction that sees no step has sums of 0.
    """
    # The product gives 0 where no step is seen; the softmax alone would be uniform there.
    weights = masked_softmax(scores, visible, dim=2) * visible
    return (weights.to(states.dtype).unsqueeze(2) @ states).squeeze(2), weights  # (B, P, H), (B, P, T)


class BilinearScores(nn.Module):
    """The scores of all items, dropout(rep) (W_emb B)^T, without a bias.

    Args:
        item_size: Width E of an item vector, columns of W_emb.
        size: Width of the vector that represents a session.
        rate: Dropout rate on that vector.
    """

    def __init__(self, item_size: int, size: int, rate: float) -> None:
        super().__init__()
        self.bilinear = glorot_linear(size, item_size, bias=False)  # B
        self.rate = rate

    def forward(self, rep: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        """Return the scores (..., N) of all items in the table (N, E) for session vectors rep (..., size)."""
        # (rep B^T) W_emb^T, so that no W_emb B of N rows is made.
        projected: torch.Tensor = self.bilinear(dropout(rep, self.rate, training=self.training))
        return projected @ table.t()


def select_rows(table: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
    """Return the rows (S,) of a table (N, ...) that are asked for, or with None the whole table."""
    return table if rows is None else table[rows]


def mask_padding_item(scores: torch.Tensor) -> torch.Tensor:
    """Return scores (..., N) in float32 or wider, with the lowest finite number for item 0, which is padding."""
    is_item = torch.arange(scores.size(-1), device=scores.device) > 0
    return mask_logits(scores, is_item)
