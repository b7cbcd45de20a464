"""One step of the Beta-LSTM between its products, forward and backward, as a Triton kernel each.

On a GPU a step is a product and a dozen small operations, and starting an operation takes longer than it does. Here all
but the product are one operation, the rejection method for Gamma variables (Marsaglia and Tsang 2000) included: each
variable has a counter-based generator of its own, whose seed is drawn from torch's.

Triton is optional: without it this file imports, and `can_run` is False.
"""

from collections.abc import Callable
from typing import Any

import torch

from .ops_beta_lstm_gates import CELLS, CLOSEST, SIGMOID_TEMPERATURE, Gating
from .ops_beta_lstm_plain import write_derivatives

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # mostly on a machine without a GPU
    triton = None

BLOCK = 128  # units of a program

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _tanh(x):  # type: ignore[no-untyped-def]
        """Return tanh x; where e^(2x) is infinite, 1."""
        return 1 - 2 / (tl.exp(2 * x) + 1)

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _load_alpha(base, block, size, mask, eps):  # type: ignore[no-untyped-def]
        """Return alpha = softplus(u) + eps of a block of pre-activations."""
        u = tl.load(base + block * size, mask=mask, other=0.0)
        y = tl.exp(-tl.abs(u))
        above_one = 1 + y
        # ln(1 + y), also where 1 + y has lost digits of y.
        log = tl.where(above_one == 1, y, tl.log(above_one) * (y / tl.where(above_one == 1, 1.0, above_one - 1)))
        return tl.maximum(u, 0.0) + log + eps

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _draw_gamma(alpha, mask, counter, stride, seed):  # type: ignore[no-untyped-def]
        """Return draws of Gamma(alpha, 1): of Gamma(alpha + 1, 1), times V^(1 / alpha)."""
        d = alpha + 2 / 3  # Marsaglia and Tsang's shape - 1/3, of alpha + 1
        c = 1 / tl.sqrt(9 * d)
        draw = alpha
        # What is not finite is no shape: of it no try would be accepted.
        finite = alpha < float("inf")
        pending = (mask & finite).to(tl.int32)
        # A program goes on while any of its units has no draw; the others keep theirs.
        while tl.max(pending, axis=0) > 0:
            first, second, accepting, boosting = tl.rand4x(seed, counter)
            normal, _ = tl.pair_uniform_to_normal(first, second)
            v = 1 + c * normal
            v = v * v * v
            # A uniform variable of Triton may be 0, whose logarithm accepts, and boosts to 0.
            limit = tl.log(accepting) - normal * normal / 2
            accepted = (v > 0) & (d * (1 - v + tl.log(tl.where(v > 0, v, 1.0))) > limit)
            draw = tl.where((pending > 0) & accepted, d * v * tl.exp(tl.log(boosting) / alpha), draw)
            pending = tl.where(accepted, 0, pending)
            counter += stride
        return tl.where(finite, tl.maximum(draw, 1.1754944e-38), alpha)  # the smallest normal number, as torch's draws

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _load_or_draw_gamma(  # type: ignore[no-untyped-def]
        base, draws, block, size, mask, eps, counter, stride, seed, DRAW: tl.constexpr, KEEP: tl.constexpr
    ):
        """Return alpha of a block, or a draw with it plus eps, which is stored without eps if KEEP."""
        alpha = _load_alpha(base, block, size, mask, eps)
        if DRAW:
            draw = _draw_gamma(alpha, mask, counter + block * size, stride, seed)
            if KEEP:
                tl.store(draws + block * size, draw, mask=mask)
            alpha = draw + eps
        return alpha

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _load_kumaraswamy_gate(base, block, size, mask, eps, log_uniform, CLOSE: tl.constexpr):  # type: ignore[no-untyped-def]
        """Return a Kumaraswamy draw (1 - V^(1/b))^(1/a), clipped away from 0 and 1."""
        a = _load_alpha(base, block, size, mask, eps)
        b = _load_alpha(base, block + 1, size, mask, eps)
        exponent = tl.minimum(tl.maximum(log_uniform / b, -60.0), -1e-30)
        # 1 - e^x; near 0 by its series, of which the next term is below a float's precision.
        complement = tl.where(
            exponent > -0.01,
            -exponent * (1 + exponent / 2 * (1 + exponent / 3 * (1 + exponent / 4))),
            1 - tl.exp(exponent),
        )
        return tl.minimum(tl.maximum(tl.exp(tl.log(complement) / a), CLOSE), 1 - CLOSE)

    @triton.jit(do_not_specialize=["seed", "count"])  # type: ignore[untyped-decorator, unused-ignore]
    def _forward_kernel(  # type: ignore[no-untyped-def]
        blocks_ptr, noise_ptr, scale_ptr, memory_ptr, new_memory_ptr, state_ptr, draws_ptr,
        seed, eps, count, size,
        CELL: tl.constexpr, K: tl.constexpr, DRAW: tl.constexpr, KEEP: tl.constexpr, SCALE: tl.constexpr,
        TEMPERATURE: tl.constexpr, CLOSE: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Compute c_t and h_t of `count` units from their pre-activations."""
        element = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = element < count
        row, unit = element // size, element % size
        base = blocks_ptr + row * ((K + 2) * size) + unit  # of the first block; each next is `size` further
        if CELL == "lstm":
            # Cells like an LSTM have the block of f before that of i.
            keep = tl.sigmoid(tl.load(base, mask=mask, other=0.0) / TEMPERATURE)
            write = tl.sigmoid(tl.load(base + size, mask=mask, other=0.0) / TEMPERATURE)
        elif CELL == "coupled":
            u = tl.load(base, mask=mask, other=0.0)
            write, keep = tl.sigmoid(u), tl.sigmoid(-u)
        elif CELL == "kumaraswamy":
            # Units outside read log V = -1, of which everything is finite.
            noise = noise_ptr + row * (2 * size) + unit
            write = _load_kumaraswamy_gate(base, 0, size, mask, eps, tl.load(noise, mask=mask, other=-1.0), CLOSE)
            keep = _load_kumaraswamy_gate(base, 2, size, mask, eps, tl.load(noise + size, mask=mask, other=-1.0), CLOSE)
        else:
            offset = row * (K * size) + unit
            draws = draws_ptr + offset
            stride = count * K  # each try of a variable has a number that no other has
            w0 = _load_or_draw_gamma(base, draws, 0, size, mask, eps, offset, stride, seed, DRAW, KEEP)
            w1 = _load_or_draw_gamma(base, draws, 1, size, mask, eps, offset, stride, seed, DRAW, KEEP)
            w2 = _load_or_draw_gamma(base, draws, 2, size, mask, eps, offset, stride, seed, DRAW, KEEP)
            if CELL == "bibeta3":
                write, keep = w1 / (w1 + w2), w0 / (w0 + w2)
            else:
                w3 = _load_or_draw_gamma(base, draws, 3, size, mask, eps, offset, stride, seed, DRAW, KEEP)
                if CELL == "beta":
                    write, keep = w0 / (w0 + w1), w2 / (w2 + w3)
                else:
                    w4 = _load_or_draw_gamma(base, draws, 4, size, mask, eps, offset, stride, seed, DRAW, KEEP)
                    # w0 to w4 are U1 to U5 of `ops_beta_lstm_gates`.
                    write = (w0 + w2) / (w0 + w2 + w3 + w4)
                    keep = (w1 + w3) / (w1 + w2 + w3 + w4)
        output = tl.sigmoid(tl.load(base + K * size, mask=mask, other=0.0))
        candidate = _tanh(tl.load(base + (K + 1) * size, mask=mask, other=0.0))
        memory = keep * tl.load(memory_ptr + element, mask=mask, other=0.0) + write * candidate
        state = output * _tanh(memory)
        if SCALE:
            state *= tl.load(scale_ptr + element, mask=mask, other=0.0)
        tl.store(new_memory_ptr + element, memory, mask=mask)
        tl.store(state_ptr + element, state, mask=mask)

    @triton.jit(do_not_specialize=["count"])  # type: ignore[untyped-decorator, unused-ignore]
    def _backward_kernel(  # type: ignore[no-untyped-def]
        grad_hidden_ptr, grad_memory_ptr, grad_memories_ptr, grad_gates_ptr,
        slopes_ptr, output_slopes_ptr, to_memory_ptr, keep_ptr, count, size,
        K: tl.constexpr, MEMORIES: tl.constexpr, GATES: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Turn slopes into the gradient of a step's pre-activations, and the gradient of c_t into that of c_(t-1)."""
        element = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = element < count
        row, unit = element // size, element % size
        grad_hidden = tl.load(grad_hidden_ptr + element, mask=mask, other=0.0)
        grad_memory = tl.load(grad_memory_ptr + element, mask=mask, other=0.0)
        grad_memory += grad_hidden * tl.load(to_memory_ptr + element, mask=mask, other=0.0)
        if MEMORIES:
            grad_memory += tl.load(grad_memories_ptr + element, mask=mask, other=0.0)
        slopes = slopes_ptr + row * ((K + 2) * size) + unit
        for block in tl.static_range(K):
            gradient = tl.load(slopes + block * size, mask=mask, other=0.0) * grad_memory
            if GATES:
                gradient += tl.load(grad_gates_ptr + row * (K * size) + unit + block * size, mask=mask, other=0.0)
            tl.store(slopes + block * size, gradient, mask=mask)
        # The block of o acts on h_t alone, the others on c_t.
        grad_output = tl.load(output_slopes_ptr + element, mask=mask, other=0.0) * grad_hidden
        tl.store(slopes + K * size, grad_output, mask=mask)
        grad_candidate = tl.load(slopes + (K + 1) * size, mask=mask, other=0.0) * grad_memory
        tl.store(slopes + (K + 1) * size, grad_candidate, mask=mask)
        grad_memory *= tl.load(keep_ptr + element, mask=mask, other=0.0)
        tl.store(grad_memory_ptr + element, grad_memory, mask=mask)


def can_run(x: torch.Tensor, gating: Gating, noise: torch.Tensor | None) -> bool:
    """Return whether the kernels can run a cell on x.

    They need Triton, float32 and a CUDA device; under Triton's interpreter (TRITON_INTERPRET=1 before triton is
    imported) the device is the CPU instead. The means of Kumaraswamy variables, which only an evaluation takes, have no
    kernel, nor has a generator of a caller's own, whose draws must be those of torch.
    """
    if triton is None or x.dtype != torch.float32 or x.numel() == 0:
        return False
    if (gating.cell == "kumaraswamy" and noise is None) or gating.generator is not None:
        return False
    # Under the interpreter a kernel is no JITFunction.
    if not isinstance(_forward_kernel, triton.runtime.JITFunction):
        return x.device.type == "cpu"
    return x.is_cuda and torch.version.hip is None  # ROCm calls its devices cuda too


def draw_seed() -> int:
    """Return a seed for the draws of a sequence, of torch's generator of the CPU: asking a device would wait for it."""
    return int(torch.randint(2**31 - 1, ()))


def make_forward_step(
    blocks: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> Callable[[int], None]:
    """Return the function that computes a step by Triton; see `ops_beta_lstm_plain.make_forward_step`."""
    step_blocks, every_state, every_memory = blocks.unbind(0), states.unbind(0), memories.unbind(0)
    seed = draw_seed() if gating.draw_gammas else 0

    def run_forward_step(step: int) -> None:
        """Launch the kernel that writes h and c of `step` into the state tensors."""
        arguments = (None if values is None else values[step] for values in (noise, scale, draws))
        before, after = every_memory[step : step + 2]
        # Each step has a seed of its own, so that its counters may begin anew.
        forward_step(step_blocks[step], before, after, every_state[step + 1], gating, seed + step, *arguments)

    return run_forward_step


def make_backward_step(
    blocks: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    grad_memories: torch.Tensor | None,
    grad_gates: torch.Tensor | None,
    slopes: torch.Tensor,
) -> Callable[[int, torch.Tensor, torch.Tensor], None]:
    """Return the function that differentiates a step; see `ops_beta_lstm_plain.make_backward_step`."""
    grad_output, to_memory, keep = write_derivatives(slopes, blocks, memories, noise, scale, gating)
    step_tensors = tuple(zip(*(x.unbind(0) for x in (slopes, grad_output, to_memory, keep)), strict=True))

    def run_backward_step(step: int, grad_hidden: torch.Tensor, grad_memory: torch.Tensor) -> None:
        """Launch the kernel that writes the gradients at `step` and updates that of c in place."""
        arguments = (None if values is None else values[step] for values in (grad_memories, grad_gates))
        backward_step(grad_hidden, grad_memory, *step_tensors[step], *arguments)

    return run_backward_step


def forward_step(
    blocks: torch.Tensor,
    memory: torch.Tensor,
    new_memory: torch.Tensor,
    state: torch.Tensor,
    gating: Gating,
    seed: int,
    noise: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
    draws: torch.Tensor | None = None,
) -> None:
    """Compute c_t into `new_memory` and h_t into `state`, all (B, H) and contiguous, as every tensor here.

    Args:
        blocks: (B, K + 2, H) pre-activations of all gates.
        memory: (B, H) memory cell c_(t-1).
        gating: How the gates i and f are computed.
        seed: Seed of the Gamma draws of this step.
        noise: (B, 2, H) logarithms log V of uniform variables, for a Kumaraswamy cell.
        scale: (B, H) factors of the state, such as a dropout mask, or None.
        draws: Buffer (B, K, H) for the Gamma draws, or None.
    """
    cell, count, size = CELLS[gating.cell], memory.numel(), memory.size(-1)
    like_lstm = {"noisin": 1.0, "g2": SIGMOID_TEMPERATURE}
    _launch_kernel(
        _forward_kernel, count, blocks, _fill_none(noise, blocks), _fill_none(scale, blocks), memory, new_memory,
        state, _fill_none(draws, blocks), seed, gating.eps, count, size,
        CELL="lstm" if gating.cell in like_lstm else gating.cell, K=cell.blocks, DRAW=gating.draw_gammas,
        KEEP=draws is not None, SCALE=scale is not None, TEMPERATURE=like_lstm.get(gating.cell, 1.0), CLOSE=CLOSEST,
    )  # fmt: skip


def backward_step(
    grad_hidden: torch.Tensor,
    grad_memory: torch.Tensor,
    slopes: torch.Tensor,
    output_slopes: torch.Tensor,
    to_memory: torch.Tensor,
    keep: torch.Tensor,
    grad_memories: torch.Tensor | None = None,
    grad_gates: torch.Tensor | None = None,
) -> None:
    """Turn `slopes` (B, K + 2, H) into the gradient of the pre-activations, `grad_memory` into that of c_(t-1).

    Args:
        grad_hidden, grad_memory: (B, H) gradients of h_t, and of c_t through c_(t+1).
        output_slopes, to_memory, keep: (B, H) derivatives of h_t by the pre-activation of o and by c_t, and of c_t by
            c_(t-1).
        grad_memories: (B, H) gradient of c_t from outside the recurrence, or None.
        grad_gates: (B, K, H) gradient of the gates' pre-activations from outside the recurrence, or None.
    """
    count, size = grad_hidden.numel(), grad_hidden.size(-1)
    _launch_kernel(
        _backward_kernel, count, grad_hidden, grad_memory, _fill_none(grad_memories, grad_memory),
        _fill_none(grad_gates, slopes), slopes, output_slopes, to_memory, keep, count, size,
        K=slopes.size(-2) - 2, MEMORIES=grad_memories is not None, GATES=grad_gates is not None,
    )  # fmt: skip


def _fill_none(tensor: torch.Tensor | None, unread: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or `unread` in place of None for an argument that the kernel does not read."""
    return unread if tensor is None else tensor.contiguous()


def _launch_kernel(kernel: Any, count: int, *arguments: Any, **constants: Any) -> None:
    """Launch a Triton kernel with a program for each block of `count` numbers."""
    kernel[(triton.cdiv(count, BLOCK),)](*arguments, **constants, BLOCK=BLOCK)
