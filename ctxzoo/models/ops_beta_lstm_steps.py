"""The recurrence of the Beta-LSTM and of the cells beside it: all steps of one layer and direction.

With a_t = W_ih x_t + b + W_hh h_{t-1} and gates i, f of its first K blocks (`ops_beta_lstm_gates`), a step is

    c_t = f * c_{t-1} + i * tanh(g) ;   h_t = sigmoid(o) * tanh(c_t)

`run_recurrent_steps` runs it as one operation of the graph, on any device. Its products are torch's; what is between
them are operations of torch (`ops_beta_lstm_plain`), or one kernel on a GPU (`ops_beta_lstm_triton`) and compiled
loops on a CPU (`ops_beta_lstm_numba`), where those pay. Programs that torch traces have the steps of
`ops_beta_lstm_traced`.
"""

from typing import Any, Literal, get_args

import torch

from .ops_beta_lstm_gates import CELLS, Gating
from .ops_beta_lstm_plain import make_backward_step as plain_backward
from .ops_beta_lstm_plain import make_forward_step as plain_forward
from .ops_beta_lstm_plain import write_derivatives
from .ops_beta_lstm_traced import Steps, run_scan, run_unrolled_steps
from .ops_beta_lstm_triton import can_run, can_run_sequence, run_backward_sequence, run_forward_sequence
from .ops_beta_lstm_triton import make_backward_step as fused_backward
from .ops_beta_lstm_triton import make_forward_step as fused_forward
from .ops_execution import is_exporting, refuse_second_derivative

StepsImplementation = Literal["auto", "one_kernel"]

# Units of a sequence from which compiled loops pay: to load Numba takes a second, and to compile, once, five.
COMPILED_FROM = 2**13
COMPILED_ALONE_FROM = 2**17  # without draws and gradients
TRANSPOSED_FROM = 16  # steps that pay for a copy of W_hh with which a processor's products take half as long


def run_recurrent_steps(
    inputs: torch.Tensor,
    weight_hh: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
    implementation: StepsImplementation = "auto",
) -> Steps:
    """Run the recurrence of one layer over the steps of a sequence.

    Args:
        inputs: (n, B, G, H) input part W_ih x + b of the pre-activations, float32 or wider; G = K + 2, the blocks of o
            and g last.
        weight_hh: (G H, H) recurrent weights, the blocks in the order of `inputs`.
        hidden, memory: (B, H) initial state h_0 and memory cell c_0.
        gating: How the gates i and f are computed.
        noise: (n, ...) random variables of the gates where they do not depend on the sequence; see `compute_gates`.
        scale: (n, B, H) factors of the states, such as dropout masks, or None.
        implementation: Implementation: auto takes the form that the file's head names; one_kernel has all steps in one
            Triton kernel, with their products (CUDA).

    Returns:
        h and c of each step, (n, B, H) both, and the pre-activations of the gates, (n, B, K, H).

    Raises:
        ValueError: an implementation that does not exist, or cannot run on this input.
    """
    if implementation not in get_args(StepsImplementation):
        raise ValueError(f"implementation {implementation!r} is none of {', '.join(get_args(StepsImplementation))}")
    if implementation == "one_kernel" and not can_run_sequence(inputs, gating, noise):
        raise ValueError(
            "implementation 'one_kernel' needs the package triton and a CUDA tensor in float32 of at most 1,024 units, "
            f"and no generator or mean of Kumaraswamy gates; got {tuple(inputs.shape)} on {inputs.device}"
        )
    if is_exporting():
        return run_scan(inputs, weight_hh, hidden, memory, gating, noise, scale)
    if torch.compiler.is_compiling():
        return run_unrolled_steps(inputs, weight_hh, hidden, memory, gating, noise, scale)
    # Asked here: within `forward` gradients are always off.
    trained = torch.is_grad_enabled() and any(x.requires_grad for x in (inputs, weight_hh, hidden, memory))
    steps: Steps = _Steps.apply(  # type: ignore[no-untyped-call]
        inputs, weight_hh, hidden, memory, gating, noise, scale, trained, implementation == "one_kernel"
    )
    return steps


class _Steps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        weight: torch.Tensor,
        hidden: torch.Tensor,
        memory: torch.Tensor,
        gating: Gating,
        noise: torch.Tensor | None,
        scale: torch.Tensor | None,
        trained: bool,
        in_one_kernel: bool,
    ) -> Steps:
        length, batch, _, size = inputs.shape
        cell = CELLS[gating.cell]
        # A copy, which becomes the pre-activations in place.
        blocks = inputs.clone(memory_format=torch.contiguous_format)
        states = inputs.new_empty(length + 1, batch, size)
        memories = torch.empty_like(states)
        states[0], memories[0] = hidden, memory
        draws = torch.empty_like(blocks[:, :, : cell.blocks]) if trained and gating.draw_gammas else None
        backward_steps = None
        if in_one_kernel:
            run_forward_sequence(blocks, weight, states, memories, gating, noise, scale, draws)
        else:
            forward_steps, backward_steps = _choose_step_functions(inputs, gating, noise, trained)
            advance = forward_steps(blocks, states, memories, gating, noise, scale, draws)
            # Views of every step at once: an index costs as much as a small operation.
            rows, every_state, transposed = blocks.flatten(2).unbind(0), states.unbind(0), weight.t()
            if length >= TRANSPOSED_FROM:
                transposed = transposed.contiguous()
            for step in range(length):
                rows[step].addmm_(every_state[step], transposed)
                advance(step)
        if trained:
            # The gradient of a result that nothing uses is then None, not a tensor of zeros.
            ctx.set_materialize_grads(False)
            ctx.gating, ctx.backward_steps = gating, backward_steps
            # The backward pass needs what gates were drawn from: the draws, or the noise.
            ctx.save_for_backward(weight, blocks, states, memories, noise if draws is None else draws, scale)
        return states[1:], memories[1:], blocks[:, :, : cell.blocks]

    @staticmethod
    @refuse_second_derivative("BetaLSTM")
    def backward(
        ctx: Any, grad_states: torch.Tensor | None, grad_memories: torch.Tensor | None, grad_gates: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the inputs of `forward`, computed from the last step to the first."""
        weight, blocks, states, memories, noise, scale = ctx.saved_tensors
        length, batch, count, size = blocks.shape
        slopes = torch.empty_like(blocks)  # to become the gradient of the pre-activations
        if grad_states is None:
            grad_states = states.new_zeros(length, batch, size)
        if ctx.backward_steps is None:
            derivatives = write_derivatives(slopes, blocks, memories, noise, scale, ctx.gating)
            grad_hidden, grad_memory = run_backward_sequence(
                grad_states, grad_memories, grad_gates, weight, slopes, derivatives
            )
        else:
            retreat = ctx.backward_steps(blocks, memories, ctx.gating, noise, scale, grad_memories, grad_gates, slopes)
            grad_hidden, grad_memory = _run_backward_steps(retreat, grad_states, slopes, weight)
        # The gradient of W_hh of all steps is one product, (G H, H).
        grad_weight = slopes.view(length * batch, count * size).t() @ states[:-1].reshape(length * batch, size)
        return slopes, grad_weight, grad_hidden, grad_memory, None, None, None, None, None


def _run_backward_steps(
    retreat: Any, grad_states: torch.Tensor, slopes: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of h_0 and c_0, and write those of the pre-activations into `slopes`, step by step.

    Args:
        retreat: Function that differentiates a step, see `ops_beta_lstm_plain.make_backward_step`.
        grad_states: (n, B, H) gradients of the states from outside.
        slopes: Buffer (n, B, G, H) of that function.
        weight: (G H, H) recurrent weights.
    """
    length, batch, count, size = slopes.shape
    grad_memory, every_state = slopes.new_zeros(batch, size), grad_states.unbind(0)
    grad_hidden = every_state[-1].contiguous() if length else slopes.new_zeros(batch, size)
    flat = slopes.view(length, batch, count * size).unbind(0)  # (B, G H) each
    for step in range(length - 1, -1, -1):
        retreat(step, grad_hidden, grad_memory)
        # To h_(t-1): from outside, and through the product with W_hh. Before the first step that is h_0.
        grad_hidden = torch.addmm(every_state[step - 1], flat[step], weight) if step else flat[step] @ weight
    return grad_hidden, grad_memory


def _choose_step_functions(
    inputs: torch.Tensor, gating: Gating, noise: torch.Tensor | None, trained: bool
) -> tuple[Any, Any]:
    """Return the `make_forward_step` and `make_backward_step` that are fastest here."""
    if can_run(inputs, gating, noise):
        return fused_forward, fused_backward
    units = inputs.size(0) * inputs.size(1) * inputs.size(3)
    least = COMPILED_FROM if trained or gating.draw_gammas else COMPILED_ALONE_FROM
    if inputs.device.type == "cpu" and units >= least:
        try:
            from .ops_beta_lstm_numba import can_run as can_run_loops
            from .ops_beta_lstm_numba import make_backward_step, make_forward_step
        except ImportError:  # without Numba
            return plain_forward, plain_backward
        if can_run_loops(inputs, gating, noise):
            return make_forward_step, make_backward_step
    return plain_forward, plain_backward
