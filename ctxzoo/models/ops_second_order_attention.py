"""Second-order attention (Maupomé and Meurs 2021): the weight of a token's feature depends on all features of the token
and of a context.

With tokens x (n, m), context c (m,), factors U, V (u, m) and W (m, u), p = x U^T and q = V c:

    logit_ij = sum_r W_jr p_ir q_r
    a_ij     = softmax of logit_ij over the tokens i, for each feature j by itself
    out_j    = sum_i a_ij x_ij
"""

from typing import Any, Literal

import torch

from .ops_execution import refuse_second_derivative
from .ops_second_order_triton import can_run, get_product_precision, second_order_backward, second_order_forward

Implementation = Literal["auto", "plain", "closed_form", "recompute", "triton"]

# Above this many logits the weights of one step, kept for the backward pass, take more than a gigabyte.
_RECOMPUTE_ABOVE = 2**28
_WORDS = 256  # read at a time in the backward pass that keeps nothing


def second_order_attention(
    x: torch.Tensor,
    projected: torch.Tensor,
    gate: torch.Tensor,
    weight: torch.Tensor,
    mask: torch.Tensor,
    implementation: Implementation = "auto",
) -> torch.Tensor:
    """Take one step and return the new context of each document.

    Args:
        x: (B, n, m) tokens.
        projected: (B, n, u) projected tokens p = x U^T; steps that share U share it too.
        gate: (B, u) gate q = V c of the context.
        weight: (m, u) output weights W.
        mask: Boolean (B, n), True at real tokens.
        implementation: Implementation: plain is differentiated by autograd, also twice; the others have their gradient
            in closed form and can be differentiated once. closed_form stores the weights; recompute stores no tensor of
            the size of x and computes the weights again; triton does so in fused kernels (CUDA). auto takes triton
            where possible, but closed_form for gradients in float32, and an implementation without stored weights where
            closed_form would need gigabytes.

    Returns:
        out (B, m) in the dtype of x; 0 for a document without tokens. Leading dimensions may be more than one and are
        broadcast in the plain form: with x (B, 1, n, m) and gate (B, s, u), s contexts of each document.

    Raises:
        ValueError: an implementation that does not exist, or cannot run on this input.
    """
    if implementation == "auto":
        implementation = _choose_implementation(x, projected)
    if implementation == "plain":
        weights = second_order_weights(projected, gate, weight, mask)
        return (weights.to(x.dtype) * x).sum(dim=-2)
    if implementation not in ("closed_form", "recompute", "triton"):
        raise ValueError(f"implementation {implementation!r} is none of auto, plain, closed_form, recompute, triton")
    if x.dim() != 3:
        raise ValueError(f"implementation {implementation!r} takes x of shape (B, n, m), got {tuple(x.shape)}")
    if implementation == "triton" and not can_run(x):
        raise ValueError(f"implementation 'triton' needs the package triton and a CUDA tensor, got one on {x.device}")
    out: torch.Tensor
    if implementation == "triton":
        out = _attend_fused(x, projected, gate, weight, mask)
    else:
        out = _attend_in_closed_form(x, projected, gate, weight, mask, implementation == "closed_form")
    return out


def second_order_weights(
    projected: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return a (B, n, m), in float32 or wider: each feature's weights over the tokens sum to 1; 0 at padding."""
    # W is applied to p * q, (B, n, u): no (B, n, m, u) is formed.
    logits = (projected * gate.unsqueeze(-2)) @ weight.T  # (B, n, m)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    # The mask is added, as filling in takes ten times as long on the CPU; it is finite, so that no row gives NaN.
    floor = torch.zeros_like(mask, dtype=logits.dtype).masked_fill(~mask, torch.finfo(logits.dtype).min)
    weights = torch.softmax(logits + floor.unsqueeze(-1), dim=-2)  # over tokens, not features
    # Without this product a row without any token would have equal weights over its padding.
    return weights * mask.any(dim=-1)[..., None, None]


def _choose_implementation(x: torch.Tensor, projected: torch.Tensor) -> Implementation:
    """Return which form is fastest for `x` (B, n, m) and `projected` (B, n, u): plain, closed, recomputed or Triton."""
    # The compiler fuses the plain form itself; the kernels need a token.
    if torch.compiler.is_compiling() or x.dim() != 3 or x.size(1) == 0:
        return "plain"
    keeping_takes_gigabytes = torch.is_grad_enabled() and x.numel() > _RECOMPUTE_ABOVE
    if can_run(x):
        # In float32 the kernels' backward pass, which computes the logits twice more, takes longer than keeping the
        # weights: benchmarks/results/second_order_attention-cuda.csv.
        slow = torch.is_grad_enabled() and get_product_precision(projected.dtype) == "ieee"
        return "closed_form" if slow and not keeping_takes_gigabytes else "triton"
    return "recompute" if keeping_takes_gigabytes else "closed_form"


class _ClosedFormAttention(torch.autograd.Function):
    """Second-order attention whose gradient is in closed form.

    With g = dL/d out, dL/d logit = a g (x - out), since sum_i a g x is g out.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        projected: torch.Tensor,
        gate: torch.Tensor,
        weight: torch.Tensor,
        mask: torch.Tensor,
        keep_weights: bool,
    ) -> torch.Tensor:
        with torch.autocast(x.device.type, enabled=False):
            weights = second_order_weights(*_to_common_dtype(projected, gate, weight), mask)
            out = (weights * x).sum(dim=1)  # (B, m)
        ctx.save_for_backward(x, projected, gate, weight, mask, out, weights if keep_weights else None)
        return out.to(x.dtype)

    @staticmethod
    @refuse_second_derivative("second-order attention")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the inputs, computed in closed form, some tokens at a time."""
        x, projected, gate, weight, mask, out, weights = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            keys, query, factor = _to_common_dtype(projected, gate, weight)
            length = max(1, x.size(1))
            chunk_size = length if weights is not None else _WORDS
            if weights is None:
                weights = second_order_weights(keys, query, factor, mask)
            direct = weights * grad.unsqueeze(1)  # a g
            del weights
            grad_projected, grad_weight, grad_gate = (
                torch.empty_like(keys),
                torch.zeros_like(factor),
                torch.zeros_like(query),
            )
            for start in range(0, length, chunk_size):
                words = slice(start, start + chunk_size)
                # The gradient of the logits (B, words, m), and then that of the factors of logit = (p * q) W^T.
                grad_logits = (x[:, words] - out.unsqueeze(1)).mul_(direct[:, words]).to(keys.dtype)
                product = keys[:, words] * query.unsqueeze(1)  # (B, words, u)
                grad_weight = grad_weight + grad_logits.flatten(0, 1).T @ product.flatten(0, 1)
                grad_product = grad_logits @ factor  # (B, words, u)
                # `product` has been used, so that its memory serves again.
                grad_gate = grad_gate + torch.mul(grad_product, keys[:, words], out=product).sum(dim=1)
                torch.mul(grad_product, query.unsqueeze(1), out=grad_projected[:, words])
        return (
            direct.to(x.dtype),  # x acts through p too: autograd adds that part
            grad_projected.to(projected.dtype),
            grad_gate.to(gate.dtype),
            grad_weight.to(weight.dtype),
            None,
            None,
        )


class _FusedAttention(torch.autograd.Function):
    """Second-order attention in Triton."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, projected: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        out, log_sum = second_order_forward(x, projected, gate, weight, mask)  # both in float32
        ctx.save_for_backward(x, projected, gate, weight, mask, out, log_sum)
        return out.to(x.dtype)

    @staticmethod
    @refuse_second_derivative("second-order attention")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the inputs, from the Triton kernels."""
        x, projected, gate, weight, mask, out, log_sum = ctx.saved_tensors
        return *second_order_backward(grad, x, projected, gate, weight, mask, out, log_sum), None


# torch's stubs do not type `apply`.
_attend_in_closed_form: Any = _ClosedFormAttention.apply
_attend_fused: Any = _FusedAttention.apply


def _to_common_dtype(
    projected: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return all three in the dtype of the projection, which under autocast is the lower one."""
    return projected, gate.to(projected.dtype), weight.to(projected.dtype)
