"""The heads of LAMA (Mehta et al. 2019): weighted sums of the states of words, with gradients in closed form."""

from typing import Any

import torch

from .ops_execution import refuse_second_derivative

LARGEST_SCALE = 40.0  # e^(-2 * 40) is still a normal number in float32


def low_rank_heads(
    states: torch.Tensor,
    projection: tuple[torch.Tensor, torch.Tensor] | None,
    factors: torch.Tensor,
    gate: torch.Tensor | None,
    mask: torch.Tensor,
    *,
    rank: int,
    l2_normalize: bool,
    logit_scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weighted sums A H and the weights A, in few passes over the words; it can be differentiated once.

    u = tanh(W h + b), z = Q^T u times the gate, f = tanh of z summed over the k members of a head, divided by its
    length over the heads, A = softmax over the words of s f. Logits lie in [-s, s], so that no maximum has to be found.

    Args:
        states: (B, n, D) states H, in float32 or wider.
        projection: W (r, D) and b (r,); None: u = h.
        factors: Q (r, m k), or (D, m k) where there is no projection.
        gate: (B, m k) gate of each document; None: 1.
        mask: Boolean (B, n), True at words.
        rank: Number k of members of a head, side by side in the columns of Q.
        l2_normalize: Whether the logits of a word are divided by their length.
        logit_scale: Factor s of the logits, at most `LARGEST_SCALE`.

    Returns:
        A H (B, m, D), and A (B, n, m): for each head the weights of the words of a text, which sum to 1; 0 elsewhere.
    """
    weight, bias = projection or (None, None)
    sums, weights = _LowRankHeads.apply(  # type: ignore[no-untyped-call]
        states.contiguous(), weight, bias, factors, gate, mask, rank, l2_normalize, logit_scale
    )
    return sums, weights


class _LowRankHeads(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        factors: torch.Tensor,
        gate: torch.Tensor | None,
        mask: torch.Tensor,
        rank: int,
        l2_normalize: bool,
        logit_scale: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return A H and A."""
        batch, length, width = states.shape
        words = states.view(-1, width)  # (B n, r)
        if weight is not None and bias is not None:
            words = torch.mm(words, weight.t()).add_(bias).tanh_()
        products = torch.mm(words, factors).view(batch, length, -1)  # (B, n, m k)
        scores = products if gate is None else products * gate.unsqueeze(1)
        bounded = scores.view(batch, length, -1, rank).sum(dim=3) if rank > 1 else scores
        bounded = bounded.tanh()  # (B, n, m)
        inverse = None
        weights = bounded * logit_scale
        if l2_normalize:
            inverse = torch.linalg.vector_norm(bounded, dim=2, keepdim=True).clamp_min_(1e-12).reciprocal_()
            weights.mul_(inverse)
        weights.sub_(logit_scale).exp_().mul_(mask.unsqueeze(2))
        weights.mul_(weights.sum(dim=1, keepdim=True).clamp_min_(1e-36).reciprocal_())
        ctx.save_for_backward(
            states, weight, words, factors, gate, None if gate is None else products, bounded, inverse, weights
        )
        ctx.rank, ctx.logit_scale = rank, logit_scale
        ctx.set_materialize_grads(False)
        return torch.bmm(weights.transpose(1, 2), states), weights

    @staticmethod
    @refuse_second_derivative("LAMA's attention")
    def backward(
        ctx: Any, grad_sums: torch.Tensor | None, grad_weights: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of states, W, b, Q and gate."""
        states, weight, words, factors, gate, products, bounded, inverse, weights = ctx.saved_tensors
        if grad_sums is None:
            grad_states, grad = torch.zeros_like(states), torch.zeros_like(weights)
        else:
            grad_states = torch.bmm(weights, grad_sums)
            grad = torch.bmm(states, grad_sums.transpose(1, 2))
        if grad_weights is not None:
            grad += grad_weights
        # Of the softmax: A (g - sum over the words of A g).
        grad.mul_(weights)
        grad.addcmul_(weights, grad.sum(dim=1, keepdim=True), value=-1)
        if inverse is not None:
            # Of t / |t|: (g - t <g, t> / |t|^2) / |t|.
            along = (grad * bounded).sum(dim=2, keepdim=True).mul_(inverse).mul_(inverse)
            grad.addcmul_(bounded, along, value=-1).mul_(inverse)
        grad = grad.mul_(ctx.logit_scale) * (1 - bounded * bounded)
        if ctx.rank > 1:
            grad = grad.repeat_interleave(ctx.rank, dim=2)
        grad_gate = None
        if gate is not None:
            grad_gate = (grad * products).sum(dim=1)
            grad.mul_(gate.unsqueeze(1))
        grad = grad.flatten(0, 1)  # (B n, m k), of products
        grad_factors, grad_words = torch.mm(words.t(), grad), torch.mm(grad, factors.t())
        flat = grad_states.view(-1, states.size(2))
        if weight is None:
            flat.add_(grad_words)
            return grad_states, None, None, grad_factors, grad_gate, None, None, None, None
        grad_words.mul_(1 - words * words)
        grad_weight = torch.mm(grad_words.t(), states.view(-1, states.size(2)))
        flat.addmm_(grad_words, weight)
        return grad_states, grad_weight, grad_words.sum(dim=0), grad_factors, grad_gate, None, None, None, None
