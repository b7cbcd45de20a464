"""The recurrence of HCRNN: all steps of sessions, read once as wholes, or once for every prefix of theirs.

With the topics theta (K) of what is read, the memory M (K, E), and P = M A computed once, a step from h and c is

    a_k = v . sigmoid(theta_k P_k + h R);   w = softmax(a);   c~ = sum_k w_k M_k
    g = sigmoid([e; h] W_g + c U_g + b_g);  c' = (1 - g) * c + g * c~
    z = sigmoid([e; h] W_z + c' U_z + b_z)
    h~ = tanh([e; r * h] W_h + b_h);        h' = (1 - z) * h + z * h~

and r is, by the version of the model,

    1:  sigmoid([e; h] W_r + c U_r + b_r)
    2:  sigmoid([e; h] W_r + (e * c') D + b_r)
    3:  sigmoid([e; h] W_r + b_r) * d,  the drift gate d = sigmoid((e * c') D + b_d)

The topics are those of all that a prediction has read, at each of its steps, so that two prefixes of a session share no
state. `run_session_prefixes` runs all of them side by side: what the items add is computed once for a session, and a
prefix that has ended is not carried on. `run_whole_sessions` runs each session once.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from .ops_execution import is_exporting, refuse_second_derivative

PIECE = 2**18  # numbers of the attention over topics that are computed at once: what stays in a processor's cache
COMPILED_FROM = 2**16  # numbers of it in a step of training from which compiled loops pay


class CellWeights(NamedTuple):
    """The weights of the cell, in the notation of the file; W of [e; h] are cut into the rows of e and of h.

    Attributes:
        memory: (K, E) memory matrix M, one row for each topic.
        projected: (K, H) projected memory P = M A.
        topic_vector: (H,) vector v of the topic attention.
        of_item, bias: Weights (E, E + 3H) and bias (E + 3H,) of the item's part of g, z, r and h~.
        of_hidden: (H, E + 3H) weights of the state's part of g, z and r, and R.
        candidate: (H, H) weights of r * h in the candidate h~.
        write, update: Weights U_g (E, E) and U_z (E, H) of the write and update gates.
        reset: (E, H) weights U_r of the reset gate in version 1, else the drift weights D.
        drift_bias: (H,) bias b_d of the drift gate in version 3, else None.
        version: Version of the cell, 1, 2 or 3.
    """

    memory: torch.Tensor
    projected: torch.Tensor
    topic_vector: torch.Tensor
    of_item: torch.Tensor
    bias: torch.Tensor
    of_hidden: torch.Tensor
    candidate: torch.Tensor
    write: torch.Tensor
    update: torch.Tensor
    reset: torch.Tensor
    drift_bias: torch.Tensor | None
    version: int


class Step(NamedTuple):
    """The result of a step.

    Attributes:
        hidden: (..., H) temporary context h.
        context: (..., E) local context c.
        drift: (..., H) gate in which the interest drift acts: d in version 3, r in version 2; in version 1, without
            drift, r as well.
        topics: (..., K) attention weights w over the memory.
    """

    hidden: torch.Tensor
    context: torch.Tensor
    drift: torch.Tensor
    topics: torch.Tensor


class PrefixSteps(NamedTuple):
    """The steps of all prefixes of T items: N = T (T + 1) / 2 rows, those of the first step first.

    Attributes:
        hidden, context: (N, B, ...) temporary contexts h and local contexts c of each step; at each step, the longest
            prefix first (`index_prefix_steps`).
        last_hidden, last_context: (T, B, ...) contexts at the end of each prefix, the shortest prefix first.
    """

    hidden: torch.Tensor
    context: torch.Tensor
    last_hidden: torch.Tensor
    last_context: torch.Tensor


def index_prefix_steps(length: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the prefix and the step of each row of `PrefixSteps`, (N,) each, both from 0 to T - 1."""
    # At each step the rows are the prefixes that go on, from T - 1 down to that which ends there.
    step, last = torch.triu_indices(length, length, device=device)
    return length - 1 + step - last, step


def run_whole_sessions(items: torch.Tensor, theta: torch.Tensor, weights: CellWeights) -> Step:
    """Run each session once.

    Args:
        items: (T, B, E) item vectors e, float32 or wider.
        theta: (B, K) topics of each session.
        weights: Weights of the cell.

    Returns:
        The steps, (T, B, ...) each.
    """
    item_terms = items @ weights.of_item + weights.bias  # (T, B, E + 3H)
    hidden = items.new_zeros(items.size(1), weights.candidate.size(0))  # (B, H)
    context = items.new_zeros(items.shape[1:])  # (B, E)
    if is_exporting():
        return _run_scan(items, item_terms, theta, weights, hidden, context)
    steps = []
    for item, item_term in zip(items.unbind(0), item_terms.unbind(0), strict=True):
        steps.append(_run_step(item, item_term, hidden, context, theta, weights))
        hidden, context = steps[-1][:2]
    return Step(*(torch.stack(each) for each in zip(*steps, strict=True)))


def run_session_prefixes(items: torch.Tensor, theta: torch.Tensor, weights: CellWeights) -> PrefixSteps:
    """Run every prefix of each session, from the first item alone to all T.

    Args:
        items: (T, B, E) item vectors e, float32 or wider.
        theta: (T, B, K) topics of each prefix, by the step at which it ends.
        weights: Weights of the cell.
    """
    item_terms = items @ weights.of_item + weights.bias  # (T, B, E + 3H)
    running_theta = theta.flip(
        0
    )  # the longest prefix first, so that the one that ends at a step is the last of those running
    hidden = items.new_zeros(len(items), items.size(1), weights.candidate.size(0))  # (T, B, H)
    context = items.new_zeros(items.shape)
    steps, ends = [], []
    for item, item_term in zip(items.unbind(0), item_terms.unbind(0), strict=True):
        step = _run_step(item, item_term, hidden, context, running_theta, weights)
        steps.append((step.hidden, step.context))
        # The last of those running ends here: its state is a result and is not carried on.
        sizes = [len(running_theta) - 1, 1]
        (hidden, last), (context, last_context) = (torch.split(each, sizes) for each in step[:2])
        running_theta, _ = torch.split(running_theta, sizes)
        ends.append((last, last_context))
    columns = (*zip(*steps, strict=True), *zip(*ends, strict=True))
    return PrefixSteps(*(torch.cat(column) for column in columns))


def _run_step(
    item: torch.Tensor,
    item_terms: torch.Tensor,
    hidden: torch.Tensor,
    context: torch.Tensor,
    theta: torch.Tensor,
    weights: CellWeights,
) -> Step:
    """Run a step from h and c before it, the item (B, E) and its linear terms (B, E + 3H)."""
    size, width = hidden.size(-1), context.size(-1)
    item_write, item_update, item_reset, item_candidate = torch.split(item_terms, [width, size, size, size], dim=-1)
    hidden_write, hidden_update, hidden_reset, hidden_topics = torch.split(
        hidden @ weights.of_hidden, [width, size, size, size], dim=-1
    )
    topics = topic_scores(theta, weights.projected, hidden_topics, weights.topic_vector).softmax(dim=-1)  # (..., K)
    write = torch.sigmoid(item_write + hidden_write + context @ weights.write)
    # torch.lerp(a, b, w) is (1 - w) a + w b.
    after = torch.lerp(context, topics @ weights.memory, write)
    update = torch.sigmoid(item_update + hidden_update + after @ weights.update)
    reset = item_reset + hidden_reset
    # Version 1 reads c, the others c'.
    if weights.version == 1:
        drift = reset = torch.sigmoid(reset + context @ weights.reset)
    elif weights.drift_bias is None:
        drift = reset = torch.sigmoid(reset + (item * after) @ weights.reset)
    else:
        drift = torch.sigmoid((item * after) @ weights.reset + weights.drift_bias)
        reset = torch.sigmoid(reset) * drift
    candidate = torch.tanh(item_candidate + (reset * hidden) @ weights.candidate)
    return Step(torch.lerp(hidden, candidate, update), after, drift, topics)


def _run_scan(
    items: torch.Tensor,
    item_terms: torch.Tensor,
    theta: torch.Tensor,
    weights: CellWeights,
    hidden: torch.Tensor,
    context: torch.Tensor,
) -> Step:
    """Run the steps as a scan, which an export keeps at any length; its gradients are wrong with torch 2.11."""
    # The import stands here because only an export needs it, and it is not yet one of torch's public names.
    from torch._higher_order_ops.scan import scan

    def step(
        state: tuple[torch.Tensor, torch.Tensor], at_step: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, ...]]:
        """Return hidden state and context of one step as the next state, and copies of all it computed."""
        found = _run_step(*at_step, *state, theta, weights)
        # What a scan carries and what it collects must not be one tensor.
        return (found.hidden, found.context), tuple(each.clone() for each in found)

    return Step(*scan(step, (hidden, context), (items, item_terms))[1])


def topic_scores(
    theta: torch.Tensor, projected: torch.Tensor, hidden: torch.Tensor, vector: torch.Tensor
) -> torch.Tensor:
    """Return the score of each topic for a state, a_k = v . sigmoid(theta_k P_k + q), (..., K).

    Args:
        theta: (..., K) topics.
        projected: (K, H) projected memory P.
        hidden: (..., H) query q.
        vector: (H,) vector v of the topic attention.
    """
    if torch.compiler.is_compiling():
        return torch.sigmoid(theta.unsqueeze(-1) * projected + hidden.unsqueeze(-2)) @ vector
    rows = theta.shape[:-1]
    # Asked here: within `forward` gradients are always off.
    trained = torch.is_grad_enabled() and any(x.requires_grad for x in (theta, projected, hidden, vector))
    scores: torch.Tensor = _TopicScores.apply(  # type: ignore[no-untyped-call]
        theta.reshape(-1, theta.size(-1)), projected, hidden.reshape(-1, hidden.size(-1)), vector, trained
    )
    return scores.view(*rows, -1)


class _TopicScores(torch.autograd.Function):
    """The sigmoids, K H for each row and the largest tensor of the model, are computed again for the gradient.

    In training on a CPU both passes are compiled loops (`ops_hcrnn_loops`), where Numba is there.
    """

    @staticmethod
    def forward(
        ctx: Any,
        theta: torch.Tensor,
        projected: torch.Tensor,
        hidden: torch.Tensor,
        vector: torch.Tensor,
        trained: bool,
    ) -> torch.Tensor:
        inputs = theta, projected, hidden, vector
        ctx.save_for_backward(*inputs)
        ctx.gradients = None
        if trained and len(theta) * projected.numel() >= COMPILED_FROM:
            loops = _load_compiled_loops(theta)
            if loops is not None:
                compute_topic_scores_compiled, ctx.gradients = loops
                compiled: torch.Tensor = compute_topic_scores_compiled(*(x.contiguous() for x in inputs))
                return compiled
        scores = torch.empty_like(theta)
        for rows in _split_rows(len(theta), projected.numel()):
            torch.matmul(_compute_topic_gates(theta[rows], projected, hidden[rows]), vector, out=scores[rows])
        return scores

    @staticmethod
    @refuse_second_derivative("the HCRNN's topic scores")
    def backward(ctx: Any, grad_scores: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of theta, the projected topics, the hidden states and the score vector."""
        theta, projected, hidden, vector = ctx.saved_tensors
        if ctx.gradients is not None:
            gradients: tuple[torch.Tensor, ...] = ctx.gradients(
                *(x.contiguous() for x in (*ctx.saved_tensors, grad_scores))
            )
            return *gradients, None
        grad_theta, grad_hidden = torch.empty_like(theta), torch.empty_like(hidden)
        grad_projected, grad_vector = torch.zeros_like(projected), torch.zeros_like(vector)
        weighted = (projected * vector).unsqueeze(2)  # (K, H, 1)
        for rows in _split_rows(len(theta), projected.numel()):
            gates, upstream = _compute_topic_gates(theta[rows], projected, hidden[rows]), grad_scores[rows]
            grad_vector += upstream.flatten() @ gates.flatten(0, 1)
            # Of the pre-activations theta_k P_k + q, without the factor v that all of them have.
            slopes = torch.addcmul(gates, gates, gates, value=-1).mul_(upstream.unsqueeze(2))  # (n, K, H)
            by_topic = slopes.transpose(0, 1)  # (K, n, H)
            grad_hidden[rows] = slopes.sum(dim=1)
            grad_theta[rows] = torch.bmm(by_topic, weighted).squeeze(2).t()  # (n, K)
            grad_projected += torch.bmm(theta[rows].t().unsqueeze(1), by_topic).squeeze(1)  # (K, H)
        return grad_theta, grad_projected.mul_(vector), grad_hidden.mul_(vector), grad_vector, None


def _load_compiled_loops(like: torch.Tensor) -> tuple[Any, Any] | None:
    """Return the compiled functions for scores and gradients; None if they cannot run on tensors like this one."""
    if type(like) is not torch.Tensor or like.device.type != "cpu" or like.dtype != torch.float32:
        return None
    try:
        from .ops_hcrnn_loops import compute_topic_gradients_compiled, compute_topic_scores_compiled
    except ImportError:  # without Numba
        return None
    return compute_topic_scores_compiled, compute_topic_gradients_compiled


def _compute_topic_gates(theta: torch.Tensor, projected: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Return the gates sigmoid(theta_k P_k + q) of all topics, (n, K, H)."""
    return torch.addcmul(hidden.unsqueeze(1), theta.unsqueeze(2), projected).sigmoid_()


def _split_rows(rows: int, numbers: int) -> Iterable[slice]:
    """Cut rows into pieces of about `PIECE` numbers, where a row has `numbers`."""
    size = max(1, PIECE // numbers)
    return (slice(start, start + size) for start in range(0, rows, size))


def sum_distinct_items(
    vectors: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor, every_position: bool
) -> torch.Tensor:
    """Return, for each prediction, the sum of the vectors of the distinct items that it may see.

    Args:
        vectors: (B, T, E) vectors of the items of each step.
        ids, mask: (B, T) ids of the items, and their mask.
        every_position: Whether there is one sum after each step; otherwise one after all steps.

    Returns:
        (B, P, E), P = T or 1.
    """
    step = torch.arange(ids.size(1), device=ids.device)
    # (B, T, T) before `any`: an earlier step j < i has the item of step i.
    repeated = ((ids.unsqueeze(2) == ids.unsqueeze(1)) & (step < step.unsqueeze(1))).any(dim=2)
    first = vectors * (mask & ~repeated).unsqueeze(2)  # an item counts where it first stands
    return first.cumsum(dim=1) if every_position else first.sum(dim=1, keepdim=True)


def normal_kl_divergence(mean: torch.Tensor, deviation: torch.Tensor) -> torch.Tensor:
    """Return KL(N(mean, deviation^2) || N(0, 1)) in nats, the sum over the last dimension, in float32 or wider."""
    wide = torch.promote_types(mean.dtype, torch.float32)
    mean, variance = mean.to(wide), deviation.to(wide).square()
    # The small constant keeps the logarithm finite for a deviation of 0.
    return 0.5 * (mean.square() + variance - torch.log(1e-8 + variance) - 1).sum(dim=-1)
