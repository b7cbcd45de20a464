"""One step of the Beta-LSTM between its products, forward and backward, as a Triton kernel each.

On a GPU a step is a product and a dozen small operations, and starting an operation takes longer than it does. Here all
but the product are one operation, the rejection method for Gamma variables (Marsaglia and Tsang 2000) included: each
variable has a counter-based generator of its own, whose seed is drawn from torch's.

On request all steps of a sequence are one kernel, its products with W_hh included: a program has a sequence, keeps to
its own states, and reads W_hh from the L2 cache at every step, 0.6 megabytes for bibeta5 of 148 units. So programs need
not wait for each other, which kernels of one step are for.

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
MOST_UNITS = 1024  # of a sequence whose steps are all computed by one program
_TILE = 2**13  # weights that such a program reads at a time

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

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _compute_units(  # type: ignore[no-untyped-def]
        base, noise, scale_ptr, memory_ptr, new_memory_ptr, state_ptr, draws,
        counter, stride, seed, eps, size, mask,
        CELL: tl.constexpr, K: tl.constexpr, DRAW: tl.constexpr, KEEP: tl.constexpr, SCALE: tl.constexpr,
        TEMPERATURE: tl.constexpr, CLOSE: tl.constexpr,
    ):  # fmt: skip
        """Compute c_t and h_t of units from their pre-activations; every argument in front is a pointer by unit.

        `base` is that of the first block, of which each next is `size` further; `stride` lets each try of a variable
        have a number that no other has.
        """
        if CELL == "lstm":
            # Cells like an LSTM have the block of f before that of i.
            keep = tl.sigmoid(tl.load(base, mask=mask, other=0.0) / TEMPERATURE)
            write = tl.sigmoid(tl.load(base + size, mask=mask, other=0.0) / TEMPERATURE)
        elif CELL == "coupled":
            u = tl.load(base, mask=mask, other=0.0)
            write, keep = tl.sigmoid(u), tl.sigmoid(-u)
        elif CELL == "kumaraswamy":
            # Units outside read log V = -1, of which everything is finite.
            write = _load_kumaraswamy_gate(base, 0, size, mask, eps, tl.load(noise, mask=mask, other=-1.0), CLOSE)
            keep = _load_kumaraswamy_gate(base, 2, size, mask, eps, tl.load(noise + size, mask=mask, other=-1.0), CLOSE)
        else:
            w0 = _load_or_draw_gamma(base, draws, 0, size, mask, eps, counter, stride, seed, DRAW, KEEP)
            w1 = _load_or_draw_gamma(base, draws, 1, size, mask, eps, counter, stride, seed, DRAW, KEEP)
            w2 = _load_or_draw_gamma(base, draws, 2, size, mask, eps, counter, stride, seed, DRAW, KEEP)
            if CELL == "bibeta3":
                write, keep = w1 / (w1 + w2), w0 / (w0 + w2)
            else:
                w3 = _load_or_draw_gamma(base, draws, 3, size, mask, eps, counter, stride, seed, DRAW, KEEP)
                if CELL == "beta":
                    write, keep = w0 / (w0 + w1), w2 / (w2 + w3)
                else:
                    w4 = _load_or_draw_gamma(base, draws, 4, size, mask, eps, counter, stride, seed, DRAW, KEEP)
                    # w0 to w4 are U1 to U5 of `ops_beta_lstm_gates`.
                    write = (w0 + w2) / (w0 + w2 + w3 + w4)
                    keep = (w1 + w3) / (w1 + w2 + w3 + w4)
        output = tl.sigmoid(tl.load(base + K * size, mask=mask, other=0.0))
        candidate = _tanh(tl.load(base + (K + 1) * size, mask=mask, other=0.0))
        memory = keep * tl.load(memory_ptr, mask=mask, other=0.0) + write * candidate
        state = output * _tanh(memory)
        if SCALE:
            state *= tl.load(scale_ptr, mask=mask, other=0.0)
        tl.store(new_memory_ptr, memory, mask=mask)
        tl.store(state_ptr, state, mask=mask)

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
        counter = row * (K * size) + unit
        _compute_units(
            blocks_ptr + row * ((K + 2) * size) + unit, noise_ptr + row * (2 * size) + unit, scale_ptr + element,
            memory_ptr + element, new_memory_ptr + element, state_ptr + element, draws_ptr + counter,
            counter, count * K, seed, eps, size, mask, CELL, K, DRAW, KEEP, SCALE, TEMPERATURE, CLOSE,
        )  # fmt: skip

    @triton.jit(do_not_specialize=["seed", "length", "batch"])  # type: ignore[untyped-decorator, unused-ignore]
    def _forward_sequence_kernel(  # type: ignore[no-untyped-def]
        blocks_ptr, weight_ptr, noise_ptr, scale_ptr, memories_ptr, states_ptr, draws_ptr,
        seed, eps, length, batch,
        SIZE: tl.constexpr, CELL: tl.constexpr, K: tl.constexpr, DRAW: tl.constexpr, KEEP: tl.constexpr,
        SCALE: tl.constexpr, TEMPERATURE: tl.constexpr, CLOSE: tl.constexpr,
        BLOCK: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        """Compute all steps of one sequence; what a thread reads that another wrote, it reads behind a barrier."""
        row = tl.program_id(0)
        unit = tl.arange(0, BLOCK)
        mask = unit < SIZE
        for step in range(length):
            place = (step * batch + row).to(tl.int64)  # in the tensors that have no initial state in front
            before, after = place * SIZE, (place + batch) * SIZE
            base = blocks_ptr + place * ((K + 2) * SIZE) + unit
            for block in range(K + 2):
                total = tl.load(base + block * SIZE, mask=mask, other=0.0)
                for first in range(0, SIZE, ROWS):
                    rows = first + tl.arange(0, ROWS)
                    inside = (rows < SIZE)[:, None] & mask[None, :]
                    weights = weight_ptr + rows[:, None] * ((K + 2) * SIZE) + block * SIZE + unit[None, :]
                    hidden = tl.load(states_ptr + before + rows, mask=rows < SIZE, other=0.0)
                    total += tl.sum(tl.load(weights, mask=inside, other=0.0) * hidden[:, None], axis=0)
                tl.store(base + block * SIZE, total, mask=mask)
            tl.debug_barrier()
            counter = row * (K * SIZE) + unit
            _compute_units(
                base, noise_ptr + place * (2 * SIZE) + unit, scale_ptr + before + unit,
                memories_ptr + before + unit, memories_ptr + after + unit, states_ptr + after + unit,
                draws_ptr + place * (K * SIZE) + unit,
                counter, batch * (K * SIZE), seed + step, eps, SIZE, mask,
                CELL, K, DRAW, KEEP, SCALE, TEMPERATURE, CLOSE,
            )  # fmt: skip
            tl.debug_barrier()

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _differentiate_units(  # type: ignore[no-untyped-def]
        grad_hidden, grad_memory, grad_memories, grad_gates, slopes, output_slopes, to_memory, keep, size, mask,
        K: tl.constexpr, MEMORIES: tl.constexpr, GATES: tl.constexpr,
    ):  # fmt: skip
        """Turn slopes into the gradient of the pre-activations of units, and return the gradient of c_(t-1).

        The first two arguments are the gradients of h_t and of c_t by way of c_(t+1); then there are pointers by unit.
        """
        grad_memory += grad_hidden * tl.load(to_memory, mask=mask, other=0.0)
        if MEMORIES:
            grad_memory += tl.load(grad_memories, mask=mask, other=0.0)
        for block in tl.static_range(K):
            gradient = tl.load(slopes + block * size, mask=mask, other=0.0) * grad_memory
            if GATES:
                gradient += tl.load(grad_gates + block * size, mask=mask, other=0.0)
            tl.store(slopes + block * size, gradient, mask=mask)
        # The block of o acts on h_t alone, the others on c_t.
        grad_output = tl.load(output_slopes, mask=mask, other=0.0) * grad_hidden
        tl.store(slopes + K * size, grad_output, mask=mask)
        grad_candidate = tl.load(slopes + (K + 1) * size, mask=mask, other=0.0) * grad_memory
        tl.store(slopes + (K + 1) * size, grad_candidate, mask=mask)
        return grad_memory * tl.load(keep, mask=mask, other=0.0)

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
        grad_memory = _differentiate_units(
            tl.load(grad_hidden_ptr + element, mask=mask, other=0.0),
            tl.load(grad_memory_ptr + element, mask=mask, other=0.0),
            grad_memories_ptr + element, grad_gates_ptr + row * (K * size) + unit,
            slopes_ptr + row * ((K + 2) * size) + unit, output_slopes_ptr + element, to_memory_ptr + element,
            keep_ptr + element, size, mask, K, MEMORIES, GATES,
        )  # fmt: skip
        tl.store(grad_memory_ptr + element, grad_memory, mask=mask)

    @triton.jit(do_not_specialize=["length", "batch"])  # type: ignore[untyped-decorator, unused-ignore]
    def _backward_sequence_kernel(  # type: ignore[no-untyped-def]
        grad_states_ptr, grad_memories_ptr, grad_gates_ptr, weight_ptr,
        slopes_ptr, output_slopes_ptr, to_memory_ptr, keep_ptr, grad_hidden_ptr, grad_memory_ptr, length, batch,
        SIZE: tl.constexpr, K: tl.constexpr, MEMORIES: tl.constexpr, GATES: tl.constexpr,
        BLOCK: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        """Turn slopes into the gradients of all steps of one sequence, and write those of h_0 and c_0."""
        row = tl.program_id(0)
        unit = tl.arange(0, BLOCK)
        mask = unit < SIZE
        grad_hidden = tl.zeros((BLOCK,), tl.float32)  # by way of the next step
        grad_memory = tl.zeros((BLOCK,), tl.float32)
        for number in range(length):
            place = ((length - 1 - number) * batch + row).to(tl.int64)
            element = place * SIZE + unit
            slopes = slopes_ptr + place * ((K + 2) * SIZE)
            grad_hidden += tl.load(grad_states_ptr + element, mask=mask, other=0.0)
            grad_memory = _differentiate_units(
                grad_hidden, grad_memory, grad_memories_ptr + element, grad_gates_ptr + place * (K * SIZE) + unit,
                slopes + unit, output_slopes_ptr + element, to_memory_ptr + element, keep_ptr + element,
                SIZE, mask, K, MEMORIES, GATES,
            )  # fmt: skip
            # Threads read the gradients that others wrote.
            tl.debug_barrier()
            grad_hidden = tl.zeros((BLOCK,), tl.float32)
            for first in range(0, (K + 2) * SIZE, ROWS):
                rows = first + tl.arange(0, ROWS)
                in_blocks = rows < (K + 2) * SIZE
                inside = in_blocks[:, None] & mask[None, :]
                weights = tl.load(weight_ptr + rows[:, None] * SIZE + unit[None, :], mask=inside, other=0.0)
                gradients = tl.load(slopes + rows, mask=in_blocks, other=0.0)
                grad_hidden += tl.sum(weights * gradients[:, None], axis=0)
        tl.store(grad_hidden_ptr + row * SIZE + unit, grad_hidden, mask=mask)
        tl.store(grad_memory_ptr + row * SIZE + unit, grad_memory, mask=mask)


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


def can_run_sequence(x: torch.Tensor, gating: Gating, noise: torch.Tensor | None) -> bool:
    """Return whether the kernels of all steps can run a cell on x, whose last dimension is that of the units."""
    return can_run(x, gating, noise) and x.size(-1) <= MOST_UNITS


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


def run_forward_sequence(
    blocks: torch.Tensor,
    weight: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> None:
    """Compute all steps in one kernel, with a program for each sequence; what it takes is contiguous.

    Args:
        blocks: (n, B, G, H) input part of the pre-activations, to which the recurrent part is added in place.
        weight: (G H, H) recurrent weights.
        states, memories: (n + 1, B, H) states and memory cells, of which the first are given and the others written.
        gating, noise, scale, draws: Kind of gates, their random variables, factors of states and buffer of draws, as in
            `ops_beta_lstm_plain.make_forward_step`.
    """
    length, batch, _, size = blocks.shape
    # Transposed, so that what the units of a block read lies side by side.
    arguments = (blocks, weight.t().contiguous(), _fill_none(noise, blocks), _fill_none(scale, blocks), memories)
    seed = draw_seed() if gating.draw_gammas else 0
    _forward_sequence_kernel[(batch,)](
        *arguments, states, _fill_none(draws, blocks), seed, gating.eps, length, batch,
        **_list_gate_constants(gating), KEEP=draws is not None, SCALE=scale is not None, **_plan_sequence(size),
    )  # fmt: skip


def run_backward_sequence(
    grad_states: torch.Tensor,
    grad_memories: torch.Tensor | None,
    grad_gates: torch.Tensor | None,
    weight: torch.Tensor,
    slopes: torch.Tensor,
    derivatives: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn `slopes` (n, B, G, H) into the gradient of the pre-activations; return those of h_0 and c_0, (B, H) both.

    Args:
        grad_states, grad_memories: (n, B, H) gradients of the states and of the memory cells, or None.
        grad_gates: (n, B, K, H) gradient of the gates' pre-activations from outside, or None.
        weight: (G H, H) recurrent weights.
        slopes: Derivatives that `write_derivatives` wrote.
        derivatives: What it returned.
    """
    length, batch, count, size = slopes.shape
    grad_hidden = slopes.new_empty(batch, size)
    grad_memory = torch.empty_like(grad_hidden)
    _backward_sequence_kernel[(batch,)](
        grad_states.contiguous(), _fill_none(grad_memories, slopes), _fill_none(grad_gates, slopes),
        weight.contiguous(), slopes, *derivatives, grad_hidden, grad_memory, length, batch,
        K=count - 2, MEMORIES=grad_memories is not None, GATES=grad_gates is not None, **_plan_sequence(size),
    )  # fmt: skip
    return grad_hidden, grad_memory


def _plan_sequence(size: int) -> dict[str, int]:
    """Return the arguments that the kernels of all steps share, for sequences of `size` units."""
    block = max(16, triton.next_power_of_2(size))
    # One stage: no load may be moved before the barrier behind which other threads' numbers are there.
    return {"SIZE": size, "BLOCK": block, "ROWS": _TILE // block, "num_warps": 8, "num_stages": 1}


def _list_gate_constants(gating: Gating) -> dict[str, Any]:
    """Return the constants of a forward kernel that say how gates are computed."""
    like_lstm = {"noisin": 1.0, "g2": SIGMOID_TEMPERATURE}
    return {
        "CELL": "lstm" if gating.cell in like_lstm else gating.cell,
        "K": CELLS[gating.cell].blocks,
        "DRAW": gating.draw_gammas,
        "TEMPERATURE": like_lstm.get(gating.cell, 1.0),
        "CLOSE": CLOSEST,
    }


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
    count, size = memory.numel(), memory.size(-1)
    _launch_kernel(
        _forward_kernel, count, blocks, _fill_none(noise, blocks), _fill_none(scale, blocks), memory, new_memory,
        state, _fill_none(draws, blocks), seed, gating.eps, count, size,
        **_list_gate_constants(gating), KEEP=draws is not None, SCALE=scale is not None,
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
