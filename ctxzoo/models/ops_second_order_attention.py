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
from .ops_inputs import to_float32_or_wider
from .ops_second_order_triton import second_order_backward, second_order_forward
from .ops_triton import can_run, check_can_run, get_product_precision

Implementation = Literal["auto", "plain", "closed_form", "recompute", "triton"]

# Above this many logits the weights of one step, kept for the backward pass, take more than a gigabyte.
_RECOMPUTE_ABOVE = 2**28
_BLOCK = 2**16  # numbers of tokens that are read at a time: 256 kilobytes in float32


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
    out: torch.Tensor
    if implementation == "triton":
        check_can_run(x)
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

    With e = exp(logit - its maximum over the tokens), s = sum_i e and g = dL/d out: out = sum_i e x / s, and
    dL/d logit = e (g / s) (x - out), since sum_i e g x / s is g out. Words are read in blocks that a cache holds.
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
            factors = _to_common_dtype(projected, gate, weight)
            blocks = _split_words(x)
            top: torch.Tensor | None = None
            kept = []  # the logits of each block, and then e
            for words in blocks:
                logits = _compute_logits(*factors, mask, words)
                greatest = logits.amax(dim=1, keepdim=True)  # (B, 1, m)
                top = greatest if top is None else torch.maximum(top, greatest)
                kept.append(logits if keep_weights else None)
            assert top is not None
            total, out = torch.zeros_like(top), torch.zeros_like(top)
            for words, known in zip(blocks, kept, strict=True):
                weights = (_compute_logits(*factors, mask, words) if known is None else known).sub_(top).exp_()
                total += weights.sum(dim=1, keepdim=True)
                out += (weights * x[:, words]).sum(dim=1, keepdim=True)
            # A document without any token has no weights.
            inverse = total.reciprocal_().mul_(mask.any(dim=1)[:, None, None])
            out *= inverse
        ctx.save_for_backward(x, projected, gate, weight, mask, top, inverse, out, *(kept if keep_weights else ()))
        return out.squeeze(1).to(x.dtype)

    @staticmethod
    @refuse_second_derivative("second-order attention")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the inputs, computed in closed form, some tokens at a time."""
        x, projected, gate, weight, mask, top, inverse, out, *kept = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            keys, query, factor = _to_common_dtype(projected, gate, weight)
            scaled = grad.unsqueeze(1) * inverse  # g / s
            direct = torch.empty(x.shape, dtype=scaled.dtype, device=x.device)
            grad_projected, grad_weight, grad_gate = (
                torch.empty_like(keys),
                torch.zeros_like(factor),
                torch.zeros_like(query),
            )
            for number, words in enumerate(_split_words(x)):
                weights = kept[number] if kept else _compute_logits(keys, query, factor, mask, words).sub_(top).exp_()
                along = torch.mul(weights, scaled, out=direct[:, words])
                # The gradient of the logits (B, words, m), and then that of the factors of logit = (p * q) W^T.
                grad_logits = (x[:, words] - out).mul_(along).to(keys.dtype)
                product = keys[:, words] * query.unsqueeze(1)  # (B, words, u)
                grad_weight.addmm_(grad_logits.flatten(0, 1).T, product.flatten(0, 1))
                grad_product = grad_logits @ factor  # (B, words, u)
                torch.mul(grad_product, query.unsqueeze(1), out=grad_projected[:, words])
                grad_gate += grad_product.mul_(keys[:, words]).sum(dim=1)
        return (
            direct.to(x.dtype),  # x acts through p too: autograd adds that part
            grad_projected.to(projected.dtype),
            grad_gate.to(gate.dtype),
            grad_weight.to(weight.dtype),
            None,
            None,
        )


def _split_words(x: torch.Tensor) -> list[slice]:
    """Return the blocks of words of x (B, n, m) that are read at a time: on the CPU as many as a cache holds."""
    batch, length, width = x.shape
    size = length if x.is_cuda and x.numel() <= _RECOMPUTE_ABOVE else max(16, _BLOCK // max(1, batch * width))
    return [slice(start, start + size) for start in range(0, length, size)]


def _compute_logits(
    keys: torch.Tensor, query: torch.Tensor, factor: torch.Tensor, mask: torch.Tensor, words: slice
) -> torch.Tensor:
    """Return the logits (B, words, m) of some words, in float32 or wider, the lowest finite number at padding."""
    logits = to_float32_or_wider((keys[:, words] * query.unsqueeze(1)) @ factor.T)
    real = mask[:, words]
    if real.is_cuda or not bool(real.all()):
        # Added, as filling in takes ten times as long on the CPU.
        floor = torch.zeros_like(real, dtype=logits.dtype).masked_fill(~real, torch.finfo(logits.dtype).min)
        logits += floor.unsqueeze(2)
    return logits


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
