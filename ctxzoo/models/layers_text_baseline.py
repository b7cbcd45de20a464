"""Encoders that make one vector of the tokens of a text and need no more than x and its mask.

Each module takes x (B, n, m), 0 outside the mask, and the boolean mask (B, n), words on the left, and returns

- its tokens (B, n, h), 0 outside the mask,
- the vector of each text (B, d), 0 for a text without words,
- a list of (B, n): the weight of each token in that vector, summing to 1; one entry for each step, or each head,
  where there are several.
"""

import math
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_initial_context import InitialContext
from .layers_linear import DEVIATION, get_linear_weight, make_linear, normal_linear
from .layers_recurrent import MaskedBiRNN
from .ops_execution import refuse_second_derivative
from .ops_inputs import check_mask_without_gaps
from .ops_second_order_attention import second_order_weights
from .ops_words import masked_max, masked_mean, masked_softmax, take_rows, word_positions

Encoded = tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]


class MeanEncoder(nn.Module):
    """The mean of the tokens; d = h = m."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        """Return tokens x (B, n, m), their mean (B, m) over the mask (B, n), and its weights (B, n) in a list."""
        pooled, weights = masked_mean(x, mask)
        return x, pooled, [weights]


class ScalarAttention(nn.Module):
    """K steps of attention with one weight for each token, where the Contextualizer has one for each of its features.

    With logit_i = (U x_i) . (V c) / sqrt(u) and a the softmax over the tokens, a step is c = sum_i a_i x_i; all steps
    share U and V. This is second-order attention with a single row of 1 / sqrt(u) for W; d = h = m. Without the root,
    as in Vaswani et al. (2017), the first weights of long vectors are those of one token alone, and nothing is learned.

    Args:
        width: Width m of the tokens.
        rank: Rank u of the third-order tensor.
        num_steps: Number K of steps, that is of corrections of the context.
        start: Module or function that returns the first context c.
    """

    def __init__(self, width: int, rank: int, num_steps: int, start: InitialContext) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.start = start
        self.token_factors = nn.Parameter(torch.empty(rank, width))  # U
        self.context_factors = nn.Parameter(torch.empty(rank, width))  # V
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw U and V from Xavier's uniform distribution, as the Contextualizer does."""
        bound = math.sqrt(6 / sum(self.token_factors.shape))
        init.uniform_(self.token_factors, -bound, bound)
        init.uniform_(self.context_factors, -bound, bound)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        """Return tokens x (B, n, m), the last context (B, m), and the weights (B, n) of each step."""
        projected = F.linear(x, self.token_factors)  # (B, n, u)
        rank = projected.size(2)
        factor = projected.new_full((1, rank), rank**-0.5)  # W, (1, u)
        context = self.start(x)
        weights = []
        for _ in range(self.num_steps):
            gate = F.linear(context, self.context_factors)
            weights.append(second_order_weights(projected, gate, factor, mask).squeeze(2))  # (B, n)
            context = (weights[-1].to(x.dtype).unsqueeze(1) @ x).squeeze(1)  # (B, m)
        return x, context, weights


class ConvolutionEncoder(nn.Module):
    """Filters over windows of words, ReLU, maximum over the windows of a text (Kim 2014); d = all filters, h = m.

    A text of n words has n - w + 1 windows of w words, a shorter one a single window with zeros after its words.

    Args:
        width: Width m of the tokens.
        kernel_sizes: Width w of the filters of each group, in words.
        num_filters: Number of filters of each group.
    """

    def __init__(self, width: int, kernel_sizes: list[int], num_filters: int) -> None:
        super().__init__()
        self.kernel_sizes = kernel_sizes
        self.convolutions = nn.ModuleList(nn.Conv1d(width, num_filters, size) for size in kernel_sizes)

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, with_weights: bool = True, ids: torch.Tensor | None = None
    ) -> Encoded:
        """Return tokens x (B, n, m), the largest filter values (B, d), and in a list the share (B, n) of each word.

        Args:
            x: (B, n, m) tokens.
            mask: Boolean (B, n), True at words.
            with_weights: Whether the shares are needed; without them all is faster.
            ids: (B, n) ids of the words, where words of the same id are the same token outside training; None: any two
                may differ.
        """
        largest = None if torch.compiler.is_compiling() else self._pool_fast(x, mask, ids)
        if largest is not None and not with_weights:
            return x, largest, []
        pooled, weights = [], torch.zeros((), device=x.device)
        for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True):
            padded = F.pad(x, (0, 0, 0, size - 1))  # (B, n + w - 1, m), a window for every word
            values = torch.relu(convolution(padded.transpose(1, 2))).transpose(1, 2)  # (B, n, filters)
            value, fractions = masked_max(values, find_window_starts(mask, size))
            pooled.append(value)
            weights = weights + spread_window_weights(fractions, mask, size)
        # Whether the shares are asked for must not change a bit of the values.
        return x, torch.cat(pooled, dim=1) if largest is None else largest, [weights / len(self.convolutions)]

    def _pool_fast(self, x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor | None) -> torch.Tensor | None:
        """Return the largest filter values (B, d) without the values of each window, or None where only these do."""
        if not torch.is_grad_enabled():
            return self._pool(x, mask, None if self.training or not x.is_cpu else ids)
        if x.is_cpu and not torch.is_autocast_enabled("cpu"):
            return self._pool_windows(x, mask)
        return None

    def _pool_windows(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the largest filter values (B, d) alone, with a gradient; see `_LargestFilterValues`."""
        convolutions: Any = self.convolutions
        # Filters as windows are laid out, (filters, w m); those of narrower windows have zeros for the words behind.
        weights = [one.weight.transpose(1, 2).flatten(1) for one in convolutions]
        width = max(self.kernel_sizes) * x.size(2)
        weight = torch.cat([F.pad(one, (0, width - one.size(1))) for one in weights])
        starts = torch.stack([find_window_starts(mask, size) for size in self.kernel_sizes], dim=2)
        bias = torch.cat([one.bias for one in convolutions])
        largest: torch.Tensor = _LargestFilterValues.apply(x, starts, weight, bias)  # type: ignore[no-untyped-call]
        return largest

    def _pool(self, x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor | None) -> torch.Tensor:
        """Return the largest filter values (B, d) alone, from products that are computed once for words of one id."""
        tokens, rows = x.flatten(0, 1), torch.arange(mask.numel(), device=x.device).view(mask.shape)
        if ids is not None:
            distinct, of_place = torch.unique(torch.where(mask, ids, -1), return_inverse=True)
            places = rows.new_empty(len(distinct)).scatter_(0, of_place.flatten(), rows.flatten())  # any of its places
            tokens, rows = tokens[places], of_place
        tokens, rows = F.pad(tokens, (0, 0, 1, 0)), rows + 1  # row 0 is of what stands behind the text
        pooled = []
        convolution: Any
        for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True):
            # Filters are cut into their words, (w filters, m), and windows add up products.
            products = F.linear(tokens, convolution.weight.permute(2, 0, 1).flatten(0, 1))
            products = products.view(-1, convolution.out_channels)  # that of word j and token t in row t w + j
            windows = F.pad(rows, (0, size - 1)).unfold(1, size, 1) * size + torch.arange(size, device=x.device)
            values = F.embedding_bag(windows.flatten(0, 1), products, mode="sum").view(*mask.shape, -1)
            values += (
                values.new_zeros(mask.shape).masked_fill_(~find_window_starts(mask, size), -torch.inf).unsqueeze(-1)
            )
            pooled.append(torch.relu(values.amax(dim=1) + convolution.bias))
        return torch.cat(pooled, dim=1)


class _LargestFilterValues(torch.autograd.Function):
    """The largest value of each filter over the windows of a text, after ReLU, on a CPU.

    Values are one matrix product of all windows with all filters. Only one window of a text has a gradient from a
    filter, so the backward pass adds up that many rows and multiplies no matrices.
    """

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, starts: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        """Return (B, d) from tokens x (B, n, m).

        Args:
            ctx: Context of the operation.
            x: (B, n, m) tokens.
            starts: Boolean (B, n, g), True where a window of a group of filters begins.
            weight: (d, w m) filters, group after group, of which each has d / g, over windows of w words.
            bias: (d,) biases of the filters.
        """
        size, length, width = x.shape
        padded = F.pad(x, (0, 0, 0, weight.size(1) // width - 1))
        words = [padded[:, word : word + length] for word in range(weight.size(1) // width)]
        windows = torch.cat(words, dim=2).flatten(0, 1)  # (B n, w m)
        values = torch.addmm(bias, windows, weight.t()).view(size, length, starts.size(2), -1)
        values += torch.zeros_like(starts, dtype=x.dtype).masked_fill_(~starts, -torch.inf).unsqueeze(3)
        largest, places = values.flatten(2).max(dim=1)  # (B, d) each
        largest = largest.relu_()
        ctx.width = width
        ctx.save_for_backward(windows, weight, places, largest)
        return largest

    @staticmethod
    @refuse_second_derivative("the convolution encoder on a CPU")
    def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of x, weight and bias."""
        windows, weight, places, largest = ctx.saved_tensors
        size, num_filters = places.shape
        length, num_words = windows.size(0) // size, weight.size(1) // ctx.width
        gradient = torch.where(largest > 0, above, 0)
        rows = places + torch.arange(0, windows.size(0), length).unsqueeze(1)  # (B, d) of the windows
        of_weight = F.embedding_bag(
            rows.t().contiguous(), windows, mode="sum", per_sample_weights=gradient.t().contiguous()
        )
        rows, order = rows.flatten().sort()
        of_windows = F.embedding_bag(
            order % num_filters,
            weight,
            torch.searchsorted(rows, torch.arange(windows.size(0))),
            mode="sum",
            per_sample_weights=take_rows(gradient.flatten(), order),
        ).view(size, length, num_words, ctx.width)
        of_x = of_windows.new_zeros(size, length + num_words - 1, ctx.width)
        for word in range(num_words):
            of_x[:, word : word + length] += of_windows[:, :, word]
        return of_x[:, :length], None, of_weight, gradient.sum(dim=0)


class RecurrentEncoder(nn.Module):
    """A bidirectional GRU and the maximum over its states, feature by feature; d = h = 2 * `size`.

    Args:
        width: Width m of the tokens.
        size: Hidden size of each direction.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.rnn = MaskedBiRNN(width, size, cell="gru")

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        """Return states (B, n, h) of x (B, n, m), their maximum (B, h), and in a list the share (B, n) of each word."""
        check_mask_without_gaps(mask)
        states = self.rnn(x, mask)
        pooled, fractions = masked_max(states, mask)
        return states, pooled, [fractions]


class SelfAttention(nn.Module):
    """Attention with several heads of the words of a text to each other, as in `nn.MultiheadAttention`.

    Its maps are layers of their own, `nn.Linear`, because torch's dynamic quantisation passes over those of
    `nn.MultiheadAttention`. Weights start from the same draws, and a state with torch's names loads.

    Args:
        size: Width h of the states.
        num_heads: Number of heads, a divisor of h.
        rate: Dropout rate on the attention weights.
    """

    def __init__(self, size: int, num_heads: int, rate: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.rate = rate
        # The order is that in which torch draws.
        self.out_proj = make_linear(size, size, partial(init.kaiming_uniform_, a=math.sqrt(5)), _zero_bias_after_draw)
        self.in_proj = make_linear(size, 3 * size, init.xavier_uniform_)

    def forward(self, x: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """Return (B, n, h) from x (B, n, h); `visible` (B, n) is True at the words that all attend to, at least one."""
        parts = self.in_proj(x).chunk(3, dim=2)  # three of (B, n, h)
        query, key, value = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in parts)
        rate = self.rate if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=visible[:, None, None], dropout_p=rate)
        # In memory the words come first, as in torch: dropout draws in that order.
        summed: torch.Tensor = self.out_proj(attended.permute(2, 0, 1, 3).flatten(2))  # (n, B, h)
        return summed.transpose(0, 1)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Load weights under their names here, or under those of `nn.MultiheadAttention`."""
        for name in ("weight", "bias"):
            if f"{prefix}in_proj_{name}" in state_dict:
                state_dict[f"{prefix}in_proj.{name}"] = state_dict.pop(f"{prefix}in_proj_{name}")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def _zero_bias_after_draw(bias: torch.Tensor) -> None:
    """Fill a bias with 0 after a uniform draw, so that all later weights start as torch's own layer has them."""
    init.uniform_(bias)
    init.zeros_(bias)


class TransformerLayer(nn.Module):
    """A layer of torch's Transformer encoder: norm after each part, feed-forward 4h, ReLU.

    Args:
        size: Width h of the states.
        num_heads: Number of attention heads.
        rate: Dropout rate behind the attention, on its weights, and twice in the feed-forward network.
    """

    def __init__(self, size: int, num_heads: int, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.self_attn = SelfAttention(size, num_heads, rate)
        self.linear1 = nn.Linear(size, 4 * size)
        self.linear2 = nn.Linear(4 * size, size)
        self.norm1 = nn.LayerNorm(size)
        self.norm2 = nn.LayerNorm(size)

    def forward(self, x: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """Return (B, n, h) from x (B, n, h); `visible` as in `SelfAttention.forward`."""
        x = self.norm1(x + self._dropout_words(self.self_attn(x, visible)))
        x = self.norm2(x + self._dropout_words(self.linear2(self._dropout_words(torch.relu(self.linear1(x))))))
        return x

    def _dropout_words(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` with dropout, in training alone."""
        return F.dropout(x, self.rate, self.training)


class TransformerEncoder(nn.Module):
    """A Transformer encoder and the mean of its states; d = h.

    Args:
        width: Width m of the tokens.
        size: Width h of the layers, to which a linear map brings the tokens and at which sinusoids of the positions are
            added (Vaswani et al. 2017, section 3.5); 0: layers read the tokens as they are, h = m.
        num_heads: Number of attention heads of each layer.
        num_layers: Number of layers.
        dropout: Dropout rate within the layers.
    """

    def __init__(self, width: int, size: int, num_heads: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.projection = nn.Linear(width, size) if size else None
        layer = TransformerLayer(size or width, num_heads, dropout)
        # Copies of one layer, as in torch.
        copies = nn.ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.layers: Any = nn.ModuleDict({"layers": copies})  # the names that weights have in torch's encoder

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        """Return states (B, n, h) of x (B, n, m), their mean (B, h), and its weights (B, n) in a list."""
        if self.projection is not None:
            x = self.projection(x)
            x = x + word_positions(mask, x.size(2), x.dtype)
        # A text without words looks at its padding: with nothing to look at, it would give NaN.
        seen = mask | ~mask.any(dim=1, keepdim=True)
        for layer in self.layers["layers"]:
            x = layer(x, seen)
        states = x * mask.unsqueeze(-1)
        pooled, weights = masked_mean(states, mask)
        return states, pooled, [weights]


def find_window_starts(mask: torch.Tensor, size: int) -> torch.Tensor:
    """Return booleans (B, n), True where a window of `size` words in the text begins; short texts have one, at 0."""
    lengths = mask.sum(dim=1, keepdim=True)
    positions = torch.arange(mask.size(1), device=mask.device)
    return (positions <= (lengths - size).clamp(min=0)) & (lengths > 0)


def spread_window_weights(window_weights: torch.Tensor, mask: torch.Tensor, size: int) -> torch.Tensor:
    """Divide the weight of each window evenly among its words.

    Args:
        window_weights: (B, n) weights of the windows that begin at each word.
        mask: Boolean (B, n), True at real tokens.
        size: Number of words in a window.

    Returns:
        (B, n), the sum that each word gets, 0 outside the mask.
    """
    words = F.pad(mask.to(window_weights.dtype), (0, size - 1))
    word_part = window_weights / words.unfold(1, size, 1).sum(dim=2).clamp(
        min=1
    )  # (B, n), a part for each word of the window
    total = F.pad(word_part, (size - 1, 0)).unfold(1, size, 1).sum(dim=2)  # over the windows that a word is in
    return total * mask


class AttentiveRecurrentEncoder(nn.Module):
    """A bidirectional GRU and attention with several heads over its states H.

    A is the softmax over the words of the scores of each head; the vector of a text is A H, head after head. H are the
    states of a bidirectional GRU: h = 2 * `size` and d = m h, with m heads.

    Args:
        width: Width of the input tokens.
        size: Hidden size of each direction.
        scores: Function from the states (B, n, h) to scores (B, n, m) of m heads.
    """

    def __init__(self, width: int, size: int, scores: nn.Module) -> None:
        super().__init__()
        self.rnn = MaskedBiRNN(width, size, cell="gru")
        self.scores = scores

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        """Return states (B, n, h) of x, what the heads attend to (B, m h), and the weights (B, n) of each head."""
        check_mask_without_gaps(mask)
        states = self.rnn(x, mask)
        words = mask.unsqueeze(1)
        # The product makes the weights of a text without words 0, whose softmax is uniform over its padding.
        weights = masked_softmax(self.scores(states).transpose(1, 2), words, dim=2) * words  # (B, m, n)
        pooled = (weights.to(states.dtype) @ states).flatten(1)  # (B, m h), head after head
        return states, pooled, list(weights.unbind(dim=1))


class AdditiveScores(nn.Module):
    """Scores of several heads, W_s2 tanh(W_s1 h_t) (Lin et al. 2017, equation 6).

    Args:
        width: Width h of the states.
        attention_size: Number of hidden units, rows of W_s1.
        num_heads: Number of heads, rows of W_s2.
    """

    def __init__(self, width: int, attention_size: int, num_heads: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, attention_size, bias=False)  # W_s1
        self.heads = nn.Linear(attention_size, num_heads, bias=False)  # W_s2

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, m) of m heads for states (B, n, h)."""
        scores: torch.Tensor = self.heads(torch.tanh(self.hidden(states)))
        return scores


class BilinearScores(nn.Module):
    """Scores of one head, c^T W_i u_t with u_t = tanh(W_w h_t + b_w) (Mehta et al. 2019, equations 3.7 and 3.8).

    All weights start from N(0, 0.1^2), as the paper has it for W_w and b_w.

    Args:
        width: Width h of the states.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projection = normal_linear(width, width)  # W_w, b_w
        self.form = normal_linear(width, width, bias=False)  # W_i
        self.context = nn.Parameter(torch.empty(width))  # c
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.context, std=DEVIATION)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, 1) of one head for states (B, n, h)."""
        row = self.context.unsqueeze(0) @ get_linear_weight(self.form)  # c^T W_i, (1, h)
        return F.linear(torch.tanh(self.projection(states)), row)  # (B, n, 1)


def attention_overlap(weights: torch.Tensor) -> torch.Tensor:
    """Return how much the heads look at the same words, the mean of ||A A^T - I||_F^2 (Lin et al. 2017, eq. 8).

    It is 0 where the rows of A are orthonormal: each head looks at one word of its own.

    Args:
        weights: (B, m, n) attention weights A of m heads; each row sums to 1, or is all 0 in a document without words.

    Returns:
        Scalar in float32 or wider, also under autocast; 0 where no document has a word.
    """
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    with torch.autocast(weights.device.type, enabled=False):
        products = weights @ weights.transpose(1, 2)  # (B, m, m)
    identity = torch.eye(products.size(1), dtype=products.dtype, device=products.device)
    overlaps = (products - identity).square().sum(dim=(1, 2))
    has_words = weights.detach().sum(dim=(1, 2)) > 0
    return (overlaps * has_words).sum() / has_words.sum().clamp(min=1)
