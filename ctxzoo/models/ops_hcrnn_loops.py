"""The attention over topics of HCRNN on a CPU, forward and backward, as loops that Numba compiles.

One pass over the K H sigmoids of a row, each in a nanosecond or less, where torch makes a tensor of each operation.
Importing this file needs Numba, which is optional.
"""

from typing import Any

import torch

from .ops_compiled_math import ONE, compile_standalone, empty, f32, sigmoid, sum_vector


@compile_standalone
def fill_scores(theta: Any, projected: Any, hidden: Any, vector: Any, scores: Any) -> None:
    """Write the topic scores v . sigmoid(theta_k P_k + q); arrays as the tensors of `topic_scores`."""
    (rows, topics), size = theta.shape, hidden.shape[1]
    # Terms are stored, and `total` adds them: it alone may change the order of a sum, and so add several at once.
    terms = empty(size, f32)
    for row in range(rows):
        for topic in range(topics):
            share = theta[row, topic]
            for unit in range(size):
                terms[unit] = vector[unit] * sigmoid(share * projected[topic, unit] + hidden[row, unit])
            scores[row, topic] = sum_vector(terms)


@compile_standalone
def add_gradients(
    theta: Any,
    projected: Any,
    hidden: Any,
    vector: Any,
    grad_scores: Any,
    grad_theta: Any,
    grad_projected: Any,
    grad_hidden: Any,
    grad_vector: Any,
) -> None:
    """Write the gradients of the four inputs of `topic_scores`; grad_projected and grad_vector must start at 0."""
    (rows, topics), size = theta.shape, hidden.shape[1]
    terms, of_row = empty(size, f32), empty(size, f32)
    for row in range(rows):
        of_row[:] = 0
        for topic in range(topics):
            share, upstream = theta[row, topic], grad_scores[row, topic]
            for unit in range(size):
                gate = sigmoid(share * projected[topic, unit] + hidden[row, unit])
                slope = upstream * vector[unit] * gate * (ONE - gate)  # of theta_k P_k + q
                grad_vector[unit] += upstream * gate
                of_row[unit] += slope
                grad_projected[topic, unit] += share * slope
                terms[unit] = slope * projected[topic, unit]
            grad_theta[row, topic] = sum_vector(terms)
        grad_hidden[row] = of_row


def compute_topic_scores_compiled(
    theta: torch.Tensor, projected: torch.Tensor, hidden: torch.Tensor, vector: torch.Tensor
) -> torch.Tensor:
    """Compute topic scores (n, K) of contiguous float32 tensors by a loop; see `ops_hcrnn.topic_scores`."""
    scores = torch.empty_like(theta)
    # Arrays share the memory of the tensors: the loop writes `scores`.
    fill_scores(*(x.numpy() for x in (theta, projected, hidden, vector, scores)))
    return scores


def compute_topic_gradients_compiled(
    theta: torch.Tensor,
    projected: torch.Tensor,
    hidden: torch.Tensor,
    vector: torch.Tensor,
    grad_scores: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of the four inputs of `topic_scores` from those of the scores."""
    # Sums over rows begin at 0; the other two are written once for each row.
    found = torch.empty_like(theta), torch.zeros_like(projected), torch.empty_like(hidden), torch.zeros_like(vector)
    add_gradients(*(x.numpy() for x in (theta, projected, hidden, vector, grad_scores, *found)))
    return found
