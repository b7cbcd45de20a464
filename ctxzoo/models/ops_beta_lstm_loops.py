"""The loops of a step of the Beta-LSTM on a CPU, which Numba compiles; `ops_beta_lstm_numba` calls them.

They have no branches where most of the time goes, so that a processor does eight units and more at once: logarithms,
exponentials (`ops_compiled_math`) and the draws themselves are written out. A Gamma variable is drawn by the rejection
method of Marsaglia and Tsang (2000), exactly, from a counter-based generator, Philox 4x32 with seven rounds (Salmon et
al. 2011).
"""

import math
from typing import Any

from .ops_beta_lstm_gates import CLOSEST
from .ops_compiled_math import (
    HALF,
    ONE,
    TWO,
    ZERO,
    compile_inline,
    compile_standalone,
    empty,
    exp,
    f32,
    i32,
    log,
    sigmoid,
    softplus,
    tanh,
    u32,
    u64,
)

LIKE_LSTM, COUPLED, KUMARASWAMY, BETA, BIBETA3, BIBETA5 = range(6)  # kinds of gates
NINE = f32(9)
TWO_THIRDS = f32(2 / 3)
LEAST = f32(2.0**-126)  # the least normal number
INFINITE = f32(math.inf)
PI_TIMES_2 = f32(2 * math.pi)
CLOSE, FAR = f32(CLOSEST), f32(1 - CLOSEST)


# The series of the sine, for angles up to a quarter turn.
S1, S3, S5, S7, S9, S11 = (f32((-1) ** (power // 2) / math.factorial(power)) for power in (1, 3, 5, 7, 9, 11))


@compile_inline
def cosine_of_2pi(turns: Any) -> Any:
    """Return the cosine of x turns, cos(2 pi x), x from 0 to 1."""
    # cos(2 pi x) = sin(2 pi (|x - 1/2| - 1/4)), an angle of a quarter turn at most, where the series is short.
    angle = PI_TIMES_2 * (abs(turns - HALF) - f32(0.25))
    z = angle * angle
    return (((((S11 * z + S9) * z + S7) * z + S5) * z + S3) * z + S1) * angle


# Multipliers (M) of a round of Philox 4x32, and what its keys grow by from round to round (W).
M0, M1, W0, W1 = u64(0xD2511F53), u64(0xCD9E8D57), u32(0x9E3779B9), u32(0xBB67AE85)
LOW, HALF_WORD = u64(0xFFFFFFFF), u64(32)


@compile_inline
def philox_round(a: Any, b: Any, c: Any, d: Any, key0: Any, key1: Any) -> Any:
    """Do one round of the Philox random number generator: mix four 32-bit words with two keys."""
    # A 64-bit product is a high and a low word; the two products change places.
    product_a, product_c = M0 * u64(a), M1 * u64(c)
    return (
        u32(u32(product_c >> HALF_WORD) ^ b ^ key0),
        u32(product_c & LOW),
        u32(u32(product_a >> HALF_WORD) ^ d ^ key1),
        u32(product_a & LOW),
    )


@compile_inline
def draw_random_bits(element: Any, attempt: Any, step: Any, key0: Any, key1: Any) -> Any:
    """Return four words of 32 random bits each, which a variable, a try, a step and a seed determine."""
    # Every variable, try and step has a counter of its own: no draw depends on the order of the loops.
    a, b, c, d = u32(element), u32(attempt), u32(step), u32(0)
    a, b, c, d = philox_round(a, b, c, d, key0, key1)
    a, b, c, d = philox_round(a, b, c, d, u32(key0 + W0), u32(key1 + W1))
    a, b, c, d = philox_round(a, b, c, d, u32(key0 + u32(2) * W0), u32(key1 + u32(2) * W1))
    a, b, c, d = philox_round(a, b, c, d, u32(key0 + u32(3) * W0), u32(key1 + u32(3) * W1))
    a, b, c, d = philox_round(a, b, c, d, u32(key0 + u32(4) * W0), u32(key1 + u32(4) * W1))
    a, b, c, d = philox_round(a, b, c, d, u32(key0 + u32(5) * W0), u32(key1 + u32(5) * W1))
    return philox_round(a, b, c, d, u32(key0 + u32(6) * W0), u32(key1 + u32(6) * W1))


STEP = f32(2.0**-31)


@compile_inline
def bits_to_uniform(bits: Any) -> Any:
    """Return the number above 0 and at most 1 that 32 random bits stand for."""
    # 31 bits fit a signed integer, which becomes a float fastest; the half keeps the number above 0.
    return (f32(i32(bits >> u32(1))) + HALF) * STEP


@compile_inline
def try_gamma_draw(alpha: Any, first: Any, second: Any, accepting: Any, boosting: Any) -> Any:
    """Return a draw of Gamma(alpha, 1) made of four uniform variables, or -1 where they are not accepted.

    With d = alpha + 2/3 and v = (1 + N / sqrt(9 d))^3, d v is a draw of alpha + 1 where v > 0 and
    ln u < N^2 / 2 + d - d v + d ln v, as nearly always; times V^(1 / alpha) it is one of alpha.
    """
    # Box-Muller: one normal variable of two uniform ones.
    normal = math.sqrt(-TWO * log(first)) * cosine_of_2pi(second)
    d = alpha + TWO_THIRDS
    v = ONE + normal / math.sqrt(NINE * d)
    v = v * v * v
    # `&` instead of `and`: no branch. Where v is not above 0 its logarithm means nothing, and the right side decides.
    accepted = (log(accepting) < HALF * normal * normal + d * (ONE - v + log(v))) & (v > ZERO)
    draw = d * v * exp(log(boosting) / alpha)
    draw = LEAST if draw < LEAST else draw  # the backward pass takes its logarithm
    return draw if accepted else -ONE


@compile_inline
def draw_gammas(alphas: Any, draws: Any, work: Any, pending: Any, begin: Any, step: Any, key0: Any, key1: Any) -> Any:
    """Draw Gamma(alpha, 1) variables, NaN where alpha is not finite.

    Args:
        alphas, draws: (m,) shape parameters, and buffer for the m draws.
        work, pending: Work buffers (5, m) and (m,): separate loops make random bits and use them, which is faster.
        begin: Number of the first variable, which determines its random bits.
        step, key0, key1: Number of the step and keys of 32 bits, as wider integers.
    """
    first, second, accepting, boosting, tries = work[0], work[1], work[2], work[3], work[4]
    num_pending = len(alphas)
    # `pending` lists the variables without a draw; `tries` holds their shapes, then what was tried.
    for place in range(num_pending):
        pending[place], tries[place] = place, alphas[place]
    attempt = 0
    while num_pending:
        for place in range(num_pending):
            # Keys become 32 bits here: of keys that have as many from the start the loop is half as wide.
            a, b, c, d = draw_random_bits(u32(begin + pending[place]), u32(attempt), u32(step), u32(key0), u32(key1))
            first[place], second[place], accepting[place], boosting[place] = (
                bits_to_uniform(a),
                bits_to_uniform(b),
                bits_to_uniform(c),
                bits_to_uniform(d),
            )
        for place in range(num_pending):
            tries[place] = try_gamma_draw(tries[place], first[place], second[place], accepting[place], boosting[place])
        num_left = 0
        for place in range(num_pending):
            element = pending[place]
            draws[element] = tries[place]
            if not tries[place] > ZERO:
                if alphas[element] < INFINITE:
                    pending[num_left] = element  # in place: `num_left` never passes `place`
                    num_left += 1
                else:
                    draws[element] = alphas[element] * ZERO  # of this no try would be accepted
        num_pending = num_left
        for place in range(num_pending):
            tries[place] = alphas[pending[place]]
        attempt += 1


@compile_inline
def compute_kumaraswamy_and_derivatives(a: Any, b: Any, log_uniform: Any) -> Any:
    """Return a Kumaraswamy draw X = (1 - V^(1/b))^(1/a), and its derivatives by a and b."""
    x = log_uniform / b
    outside = (x < f32(-60.0)) | (x > f32(-1e-30))
    x = f32(-60.0) if x < f32(-60.0) else x
    x = f32(-1e-30) if x > f32(-1e-30) else x
    power = exp(x)
    # 1 - e^x; near 0 by its series, of which the next term is below a float's precision.
    series = -x * (ONE + x * f32(1 / 2) * (ONE + x * f32(1 / 3) * (ONE + x * f32(1 / 4))))
    complement = series if x > f32(-0.01) else ONE - power
    log_complement = log(complement)
    value = exp(log_complement / a)
    derivative_a = -value * log_complement / (a * a)
    # Where x or the value is held at a border, the derivative is 0.
    derivative_b = ZERO if outside else value / (a * complement) * power * x / b
    clamped = (value < CLOSE) | (value > FAR)
    value = CLOSE if value < CLOSE else value
    value = FAR if value > FAR else value
    return value, (ZERO if clamped else derivative_a), (ZERO if clamped else derivative_b)


@compile_standalone
def forward_step_loop(
    kind: Any,
    blocks: Any,
    states: Any,
    memories: Any,
    noise: Any,
    scale: Any,
    draws: Any,
    step: Any,
    draw: Any,
    keep_draws: Any,
    eps: Any,
    temperature: Any,
    seed: Any,
) -> Any:
    """Compute c_t and h_t of a step, and write them into `memories` and `states`."""
    batch, count, size = blocks.shape[1:]  # of (n, B, G, H)
    gates = count - 2  # K: all but the blocks of o and g
    weights, row_draws = empty(gates * size, f32), empty(gates * size, f32)
    work, pending = empty((5, gates * size), f32), empty(gates * size, i32)
    write, keep = empty(size, f32), empty(size, f32)
    key0, key1 = seed & LOW, seed >> HALF_WORD
    for row in range(batch):
        u = blocks[step, row].reshape(count * size)
        # Kinds are in an order: from KUMARASWAMY on the blocks are parameters of distributions.
        if kind >= KUMARASWAMY:
            for element in range(gates * size):
                weights[element] = softplus(u[element]) + eps
        if draw:
            target = draws[step, row].reshape(gates * size) if keep_draws else row_draws
            draw_gammas(weights, target, work, pending, row * gates * size, step, key0, key1)
            for element in range(gates * size):
                weights[element] = target[element] + eps
        w0, w1 = weights[:size], weights[size : 2 * size]
        if kind == LIKE_LSTM:
            for unit in range(size):
                keep[unit] = sigmoid(u[unit] / temperature)
                write[unit] = sigmoid(u[size + unit] / temperature)
        elif kind == COUPLED:
            for unit in range(size):
                write[unit] = sigmoid(u[unit])
                keep[unit] = sigmoid(-u[unit])
        elif kind == BIBETA3:
            w2 = weights[2 * size : 3 * size]
            for unit in range(size):
                write[unit] = w1[unit] / (w1[unit] + w2[unit])
                keep[unit] = w0[unit] / (w0[unit] + w2[unit])
        else:
            w2, w3 = weights[2 * size : 3 * size], weights[3 * size : 4 * size]
            if kind == KUMARASWAMY:
                for unit in range(size):
                    write[unit] = compute_kumaraswamy_and_derivatives(w0[unit], w1[unit], noise[step, row, 0, unit])[0]
                    keep[unit] = compute_kumaraswamy_and_derivatives(w2[unit], w3[unit], noise[step, row, 1, unit])[0]
            elif kind == BETA:
                for unit in range(size):
                    write[unit] = w0[unit] / (w0[unit] + w1[unit])
                    keep[unit] = w2[unit] / (w2[unit] + w3[unit])
            else:
                w4 = weights[4 * size : 5 * size]
                for unit in range(size):
                    # w0 to w4 are U1 to U5 of `ops_beta_lstm_gates`.
                    both = w3[unit] + w4[unit]
                    written, kept = w0[unit] + w2[unit], w1[unit] + w3[unit]
                    write[unit] = written / (written + both)
                    keep[unit] = kept / (kept + w2[unit] + w4[unit])
        # The first of memories and states is the initial one: a step reads at `step` and writes at `step` + 1.
        before, after, state = memories[step, row], memories[step + 1, row], states[step + 1, row]
        output, candidate = u[gates * size : (gates + 1) * size], u[(gates + 1) * size :]
        for unit in range(size):
            memory = keep[unit] * before[unit] + write[unit] * tanh(candidate[unit])
            after[unit] = memory
            state[unit] = sigmoid(output[unit]) * tanh(memory)
        if scale.shape[0]:  # an array of no steps stands for None
            for unit in range(size):
                state[unit] *= scale[step, row, unit]


# The table of dU/dalpha of draws U of Gamma(alpha, 1), which torch differentiates one after the other: ln alpha and
# ln U from the first number to the second, in steps of 1 / PER_UNIT.
PER_UNIT = 32
SHAPES = (-9, 7)
VALUES = (-12, 8)
LOWEST_SHAPE_LOG, LOWEST_DRAW_LOG, TABLE_STEPS = f32(SHAPES[0]), f32(VALUES[0]), f32(PER_UNIT)


@compile_inline
def gamma_derivatives(
    alphas: Any, draws: Any, slopes: Any, table: Any, columns: Any, corners: Any, across: Any, down: Any, log_draws: Any
) -> Any:
    """Write the derivative of each Gamma draw U by its shape, dU/dalpha = -(dF/dalpha) / density, into `slopes`.

    F is the distribution function; the last four arguments are room to work.

    It is within 1e-3 of torch's, which is an approximation too, for alpha from 0.005 on, and within 1 % below. A draw
    below the table has the derivative of the limit U -> 0, for which the entries are made.
    """
    for element in range(len(alphas)):
        log_drawn = log(draws[element])
        log_draws[element] = log_drawn
        place = log_drawn - LOWEST_DRAW_LOG
        # There is no upper limit: a sequence with a draw above the table does not come here.
        place = (place if place > ZERO else ZERO) * TABLE_STEPS
        row = (log(alphas[element]) - LOWEST_SHAPE_LOG) * TABLE_STEPS
        whole_place, whole_row = i32(place), i32(row)
        across[element], down[element] = place - f32(whole_place), row - f32(whole_row)
        corners[element] = whole_row * columns + whole_place
    # Straight lines between the four entries around a point: along ln U (across), then along ln alpha (down).
    for element in range(len(alphas)):
        corner = corners[element]
        above = table[corner] + across[element] * (table[corner + 1] - table[corner])
        corner += columns
        below = table[corner] + across[element] * (table[corner + 1] - table[corner])
        slopes[element] = above + down[element] * (below - above)
    for element in range(len(alphas)):
        # dU/dalpha = (y - ln U) U / alpha, y the entry of the table.
        slopes[element] = (slopes[element] - log_draws[element]) * draws[element] / alphas[element]


@compile_standalone
def backward_step_loop(
    kind: Any,
    blocks: Any,
    memories: Any,
    noise: Any,
    scale: Any,
    draws: Any,
    grad_hidden: Any,
    grad_memory: Any,
    grad_memories: Any,
    grad_gates: Any,
    slopes: Any,
    table: Any,
    columns: Any,
    step: Any,
    with_draws: Any,
    eps: Any,
    temperature: Any,
) -> Any:
    """Write the gradient of a step's pre-activations into `slopes`, and turn that of c_t into that of c_(t-1)."""
    batch, count, size = blocks.shape[1:]  # of (n, B, G, H)
    gates = count - 2
    alphas, weights = empty(gates * size, f32), empty(gates * size, f32)
    across, down, log_draws = empty(gates * size, f32), empty(gates * size, f32), empty(gates * size, f32)
    corners = empty(gates * size, i32)
    write, keep = empty(size, f32), empty(size, f32)
    hidden, grad_write, grad_keep = empty(size, f32), empty(size, f32), empty(size, f32)
    for row in range(batch):
        u, result = blocks[step, row].reshape(count * size), slopes[step, row].reshape(count * size)
        before, after = memories[step, row], memories[step + 1, row]
        memory = grad_memory[row]
        output, candidate = u[gates * size : (gates + 1) * size], u[(gates + 1) * size :]
        grad_output, grad_candidate = result[gates * size : (gates + 1) * size], result[(gates + 1) * size :]
        for unit in range(size):
            hidden[unit] = grad_hidden[row, unit]
        if scale.shape[0]:
            for unit in range(size):
                hidden[unit] *= scale[step, row, unit]
        # Through h_t = sigmoid(o) tanh(c_t), to o and to c_t.
        for unit in range(size):
            squashed, opened = tanh(after[unit]), sigmoid(output[unit])
            memory[unit] += hidden[unit] * opened * (ONE - squashed * squashed)
            grad_output[unit] = hidden[unit] * squashed * opened * (ONE - opened)
        if grad_memories.shape[0]:
            for unit in range(size):
                memory[unit] += grad_memories[step, row, unit]
        # Through c_t = f c_(t-1) + i tanh(g). The factor i of the gradient of g follows when the gates are known.
        for unit in range(size):
            squashed = tanh(candidate[unit])
            grad_write[unit] = memory[unit] * squashed
            grad_keep[unit] = memory[unit] * before[unit]
            grad_candidate[unit] = memory[unit] * (ONE - squashed * squashed)
        if kind >= KUMARASWAMY:
            for element in range(gates * size):
                alphas[element] = softplus(u[element]) + eps
        if kind >= BETA:
            if with_draws:
                row_draws = draws[step, row].reshape(gates * size)
                for element in range(gates * size):
                    weights[element] = row_draws[element] + eps
                gamma_derivatives(alphas, row_draws, result, table, columns, corners, across, down, log_draws)
            else:
                for element in range(gates * size):
                    weights[element] = alphas[element]
                    result[element] = ONE
            # sigmoid is the derivative of softplus: `result` becomes that of a weight by its pre-activation.
            for element in range(gates * size):
                result[element] *= sigmoid(u[element])
        w0, w1, r0, r1 = weights[:size], weights[size : 2 * size], result[:size], result[size : 2 * size]
        if kind == LIKE_LSTM:
            for unit in range(size):
                keep[unit] = sigmoid(u[unit] / temperature)
                write[unit] = sigmoid(u[size + unit] / temperature)
                r0[unit] = grad_keep[unit] * keep[unit] * (ONE - keep[unit]) / temperature
                r1[unit] = grad_write[unit] * write[unit] * (ONE - write[unit]) / temperature
        elif kind == COUPLED:
            for unit in range(size):
                write[unit] = sigmoid(u[unit])
                keep[unit] = sigmoid(-u[unit])
                r0[unit] = (grad_write[unit] - grad_keep[unit]) * write[unit] * keep[unit]  # di/du = i f, df/du = -i f
        elif kind == BIBETA3:
            w2, r2 = weights[2 * size : 3 * size], result[2 * size : 3 * size]
            # Of A / D the derivative by A is (1 - A / D) / D, by the rest of D -(A / D) / D.
            # Here i and f are gradients over D.
            for unit in range(size):
                below, beside = w1[unit] + w2[unit], w0[unit] + w2[unit]
                write[unit], keep[unit] = w1[unit] / below, w0[unit] / beside
                i, f = grad_write[unit] / below, grad_keep[unit] / beside
                r0[unit] *= f * (ONE - keep[unit])
                r1[unit] *= i * (ONE - write[unit])
                r2[unit] *= -i * write[unit] - f * keep[unit]
        else:
            w2, w3, r2, r3 = (
                weights[2 * size : 3 * size],
                weights[3 * size : 4 * size],
                result[2 * size : 3 * size],
                result[3 * size : 4 * size],
            )
            if kind == KUMARASWAMY:
                a0, a1, a2, a3 = (
                    alphas[:size],
                    alphas[size : 2 * size],
                    alphas[2 * size : 3 * size],
                    alphas[3 * size : 4 * size],
                )
                for unit in range(size):
                    write[unit], derivative_a, derivative_b = compute_kumaraswamy_and_derivatives(
                        a0[unit], a1[unit], noise[step, row, 0, unit]
                    )
                    r0[unit] = grad_write[unit] * derivative_a * sigmoid(u[unit])
                    r1[unit] = grad_write[unit] * derivative_b * sigmoid(u[size + unit])
                    keep[unit], derivative_a, derivative_b = compute_kumaraswamy_and_derivatives(
                        a2[unit], a3[unit], noise[step, row, 1, unit]
                    )
                    r2[unit] = grad_keep[unit] * derivative_a * sigmoid(u[2 * size + unit])
                    r3[unit] = grad_keep[unit] * derivative_b * sigmoid(u[3 * size + unit])
            elif kind == BETA:
                for unit in range(size):
                    below, beside = w0[unit] + w1[unit], w2[unit] + w3[unit]
                    write[unit], keep[unit] = w0[unit] / below, w2[unit] / beside
                    i, f = grad_write[unit] / below, grad_keep[unit] / beside
                    r0[unit] *= i * (ONE - write[unit])
                    r1[unit] *= -i * write[unit]
                    r2[unit] *= f * (ONE - keep[unit])
                    r3[unit] *= -f * keep[unit]
            else:
                w4, r4 = weights[4 * size : 5 * size], result[4 * size : 5 * size]
                for unit in range(size):
                    both = w3[unit] + w4[unit]
                    written, kept = w0[unit] + w2[unit], w1[unit] + w3[unit]
                    below, beside = written + both, kept + w2[unit] + w4[unit]
                    write[unit], keep[unit] = written / below, kept / beside
                    i, f = grad_write[unit] / below, grad_keep[unit] / beside
                    less_i, less_f = -i * write[unit], -f * keep[unit]
                    # A variable in a numerator has i or f, one in a denominator less_i or less_f.
                    r0[unit] *= i + less_i
                    r1[unit] *= f + less_f
                    r2[unit] *= i + less_i + less_f
                    r3[unit] *= less_i + f + less_f
                    r4[unit] *= less_i + less_f
        if grad_gates.shape[0]:
            row_grads = grad_gates[step, row].reshape(gates * size)
            for element in range(gates * size):
                result[element] += row_grads[element]
        for unit in range(size):
            grad_candidate[unit] *= write[unit]
            memory[unit] *= keep[unit]
