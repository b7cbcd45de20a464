"""The heads of LAMA (Mehta et al. 2019): weighted sums of the states of words, with gradients in closed form."""

from typing import Any

import torch
from torch.nn import functional as F

from .ops_execution import refuse_second_derivative
from .ops_lama_triton import low_rank_heads_forward, score_gradient
from .ops_triton import Implementation, check_implementation

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
    implementation: Implementation = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weighted sums A H and the weights A, in few passes over the words; it can be differentiated once.

    u = tanh(W h + b), z = Q^T u times the gate, f = tanh of z summed over the k members of a head, divided by its
    length over the heads, A = softmax over the words of s f. Logits lie in [-s, s], so that no maximum has to be found.

    Args:
        states: (B, n, D) states H, in float32 or wider; of the kernels in float32 or half precision.
        projection: W (r, D) and b (r,); None: u = h.
        factors: Q (r, m k), or (D, m k) where there is no projection.
        gate: (B, m k) gate of each document; None: 1.
        mask: Boolean (B, n), True at words.
        rank: Number k of members of a head, side by side in the columns of Q.
        l2_normalize: Whether the logits of a word are divided by their length.
        logit_scale: Factor s of the logits, at most `LARGEST_SCALE`.
        implementation: Implementation: plain is in PyTorch; triton is fused kernels (CUDA), which keep nothing of the
            size of A beside A, and make the words u by PyTorch; auto takes plain.

    Returns:
        A H (B, m, D), and A (B, n, m): for each head the weights of the words of a text, which sum to 1; 0 elsewhere.

    Raises:
        ValueError: an implementation that does not exist, or cannot run on this input.
    """
    check_implementation(implementation, states)
    if implementation == "triton":
        if 0 in states.shape:
            raise ValueError(f"implementation 'triton' takes no empty states, got {tuple(states.shape)}")
        words = states if projection is None else torch.tanh(F.linear(states, *projection))
        of_heads = _sum_members(factors, gate, rank).to(words.dtype)
        found: tuple[torch.Tensor, torch.Tensor] = _FusedHeads.apply(  # type: ignore[no-untyped-call]
            words, states, of_heads, mask, l2_normalize, logit_scale
        )
        return found
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


def _sum_members(factors: torch.Tensor, gate: torch.Tensor | None, rank: int) -> torch.Tensor:
    """Return the factors of each head, its gated members added up: (B, r, m), or (1, r, m) without a gate."""
    members = factors.reshape(factors.size(0), -1, rank)  # (r, m, k)
    if gate is None:
        return members.sum(dim=2).unsqueeze(0)
    return torch.einsum("rmk,bmk->brm", members, gate.reshape(gate.size(0), -1, rank).to(members.dtype))


class _FusedHeads(torch.autograd.Function):
    """The heads from words (B, n, r), states (B, n, D) and factors (B or 1, r, m), in Triton."""

    @staticmethod
    def forward(
        ctx: Any,
        words: torch.Tensor,
        states: torch.Tensor,
        factors: torch.Tensor,
        mask: torch.Tensor,
        l2_normalize: bool,
        logit_scale: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return A H and A."""
        sums, weights = low_rank_heads_forward(words, states, factors, mask, l2_normalize, logit_scale)
        ctx.save_for_backward(words, states, factors, sums, weights)
        ctx.l2_normalize, ctx.logit_scale = l2_normalize, logit_scale
        ctx.set_materialize_grads(False)
        return sums.to(states.dtype), weights

    @staticmethod
    @refuse_second_derivative("LAMA's attention")
    def backward(
        ctx: Any, grad_sums: torch.Tensor | None, grad_weights: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of words, states and factors: that of the scores from a kernel, and its products."""
        words, states, factors, sums, weights = ctx.saved_tensors
        of_scores = score_gradient(
            grad_sums, grad_weights, words, states, factors, sums, weights, ctx.l2_normalize, ctx.logit_scale
        )
        grad_states = None if grad_sums is None else torch.bmm(weights.to(states.dtype), grad_sums)
        if factors.size(0) == 1:  # one product for all documents
            grad_words = of_scores @ factors[0].t()
            grad_factors = (words.flatten(0, 1).t() @ of_scores.flatten(0, 1)).unsqueeze(0)
        else:
            grad_words, grad_factors = torch.bmm(of_scores, factors.mT), torch.bmm(words.mT, of_scores)
        return grad_words, grad_states, grad_factors, None, None, None
