"""BiDAF once more, from its equations: float64 NumPy, one example at a time, no padding, no code of ctxzoo.

Everything is read from the state dict of `BidafForQuestionAnswering` and from the fields of its config. Recurrences are
written out gate by gate, convolutions and similarities position by position. Dropout is absent (evaluation mode).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from tests.references.masking import reference_masked_softmax

Array = np.ndarray[Any, np.dtype[np.float64]]
State = dict[str, Array]


@dataclass
class Text:
    """One context or question: word ids, for each word its character ids (cut to L), for each word its features."""

    words: list[int]
    characters: list[list[int]] = field(default_factory=list)
    features: list[list[float]] = field(default_factory=list)


@dataclass
class Scores:
    """Scores of one example: (C,) logits, attention to the question, G and M."""

    start: Array
    end: Array
    to_question: Array
    flow: Array
    modelled: Array


def numpy_state(model: Any) -> State:
    """The state dict in float64."""
    return {name: value.detach().double().cpu().numpy() for name, value in model.state_dict().items()}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    weights = np.exp(x - x.max())
    out: Array = weights / weights.sum()
    return out


def log_softmax(x: Array) -> Array:
    out: Array = x - (x.max() + math.log(np.exp(x - x.max()).sum()))
    return out


def linear(state: State, name: str, x: Array) -> Array:
    out = x @ state[f"{name}.weight"].T
    return out + state[f"{name}.bias"] if f"{name}.bias" in state else out


def lstm(x: Array, w_input: Array, w_state: Array, b_input: Array, b_state: Array) -> Array:
    """c <- f c + i g, h <- o tanh(c), with the gates i, f, g, o from W x + U h + b, word by word: (n, D) -> (n, h)."""
    width = w_state.shape[1]
    hidden, cell = np.zeros(width), np.zeros(width)
    outputs = []
    for word in x:
        into, forget, new, out = np.split(w_input @ word + b_input + w_state @ hidden + b_state, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs)


def gru(x: Array, w_input: Array, w_state: Array, b_input: Array, b_state: Array) -> Array:
    """h <- (1 - z) n + z h with n = tanh(W x + b + r (U h + b')), word by word: (n, D) -> (n, h)."""
    hidden = np.zeros(w_state.shape[1])
    outputs = []
    for word in x:
        reset_x, update_x, new_x = np.split(w_input @ word + b_input, 3)
        reset_h, update_h, new_h = np.split(w_state @ hidden + b_state, 3)
        update = sigmoid(update_x + update_h)
        new = np.tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
        hidden = (1 - update) * new + update * hidden
        outputs.append(hidden)
    return np.array(outputs)


def both_directions(state: State, name: str, x: Array, cell: Any = lstm) -> Array:
    def weights(suffix: str) -> list[Array]:
        return [state[f"{name}.rnn.{kind}_l0{suffix}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    return np.concatenate([cell(x, *weights("")), cell(x[::-1], *weights("_reverse"))[::-1]], axis=1)


def positions(state: State, config: Any, x: Array) -> Array:
    if config.position_embedding == "learned":
        return x + state["bidaf.embeddings.position.table"][: len(x)]
    if config.position_embedding == "none":
        return x
    out, width = x.copy(), x.shape[1]
    for position in range(len(x)):
        for i in range(width // 2):
            angle = position / 10000 ** (2 * i / width)
            out[position, 2 * i] += config.position_scale * math.sin(angle)
            out[position, 2 * i + 1] += config.position_scale * math.cos(angle)
    return out


def word_self_attention(state: State, config: Any, x: Array) -> Array:
    name = "bidaf.self_attention"
    query, key, value = (linear(state, f"{name}.{kind}", x) for kind in ("query", "key", "value"))
    out = np.array([softmax(np.array([q @ k for k in key]) / math.sqrt(x.shape[1])) @ value for q in query])
    if not config.self_attention_residual:
        return out
    total = x + out
    centred = total - total.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    normed: Array = scaled * state[f"{name}.norm.weight"] + state[f"{name}.norm.bias"]
    return normed


def word_from_characters(state: State, config: Any, characters: list[int]) -> Array:
    """ReLU of the convolution at each of the L - w + 1 positions, then the greatest value of each channel."""
    table = state["bidaf.char_cnn.embedding.weight"]
    kernel, bias = state["bidaf.char_cnn.convolution.weight"], state["bidaf.char_cnn.convolution.bias"]
    length, width = config.max_word_length, config.char_kernel_size
    x = table[characters + [0] * (length - len(characters))]  # (L, e)
    best = np.full(len(bias), -math.inf)
    for position in range(length - width + 1):
        for channel in range(len(bias)):
            total = bias[channel]
            for offset in range(width):
                total += kernel[channel, :, offset] @ x[position + offset]
            best[channel] = max(best[channel], max(total, 0.0))
    return best


def encode(state: State, config: Any, text: Text) -> Array:
    """Steps 1 to 6: (n, 2h)."""
    x = linear(state, "bidaf.embeddings.projection", state["bidaf.embeddings.words.weight"][text.words])
    x = positions(state, config, x)
    if config.self_attention:
        x = word_self_attention(state, config, x)
    if config.char_vocab_size:
        characters = [word_from_characters(state, config, word) for word in text.characters]
        x = np.concatenate([x, np.array(characters)], axis=1)
    if config.word_features:
        x = np.concatenate([x, np.array(text.features)], axis=1)
    for layer in range(config.num_highway_layers):
        gate = sigmoid(linear(state, f"bidaf.highway.gates.{layer}", x))
        x = gate * np.maximum(linear(state, f"bidaf.highway.transforms.{layer}", x), 0) + (1 - gate) * x
    return both_directions(state, "bidaf.encoder", x)


def trilinear(state: State, name: str, c: Array, q: Array) -> Array:
    """S_ij = w . [c_i ; q_j ; c_i * q_j] + b."""
    parts = ("context_weight", "question_weight", "product_weight")
    weight = np.concatenate([state[f"{name}.{part}"].ravel() for part in parts])
    bias = state[f"{name}.bias"].item()
    return np.array([[weight @ np.concatenate([ci, qj, ci * qj]) + bias for qj in q] for ci in c])


def attention_flow(state: State, config: Any, c: Array, q: Array) -> tuple[Array, Array]:
    """Step 7: G (C, 8h) and S1 (C, Q)."""
    similarity = trilinear(state, "bidaf.attention_flow.similarity", c, q)
    to_question = np.array([softmax(row) for row in similarity])
    a = to_question @ q
    if config.query_to_context == "coattention":
        to_context = np.array([softmax(column) for column in similarity.T]).T
        b = (to_question @ to_context.T) @ c  # the order of the course starter
    else:
        b = np.tile(softmax(similarity.max(axis=1)) @ c, (len(c), 1))
    return np.concatenate([c, a, c * a, c * b], axis=1), to_question


def context_self_attention(state: State, flow: Array) -> Array:
    """Self-attention over the context: every word looks at all other words of the context, never at itself."""
    name = "bidaf.context_self_attention"
    x = np.maximum(linear(state, f"{name}.reduce", flow), 0)
    r = both_directions(state, f"{name}.encoder", x, gru)
    similarity = trilinear(state, f"{name}.similarity", r, r)
    attended = np.zeros_like(r)
    for i in range(len(r)):
        others = [j for j in range(len(r)) if j != i]
        if others:
            attended[i] = softmax(similarity[i, others]) @ r[others]
    return x + np.maximum(linear(state, f"{name}.merge", np.concatenate([r, attended, r * attended], axis=1)), 0)


def reference_bidaf(state: State, config: Any, context: Text, question: Text) -> Scores:
    """The whole forward pass of one example."""
    c, q = encode(state, config, context), encode(state, config, question)
    flow, to_question = attention_flow(state, config, c, q)
    if config.context_self_attention:
        flow = context_self_attention(state, flow)
    modelled = both_directions(state, "bidaf.modelling.1", both_directions(state, "bidaf.modelling.0", flow))
    start = (linear(state, "start_from_flow", flow) + linear(state, "start_from_modelling", modelled))[:, 0]
    for_end = both_directions(state, "end_encoder", modelled)
    end = (linear(state, "end_from_flow", flow) + linear(state, "end_from_modelling", for_end))[:, 0]
    return Scores(start, end, to_question, flow, modelled)


def reference_loss(scores: Sequence[Scores], starts: Sequence[int], ends: Sequence[int]) -> float:
    """Mean negative log-likelihood in nats, of two softmaxes."""
    losses = [
        -(log_softmax(row.start)[start] + log_softmax(row.end)[end])
        for row, start, end in zip(scores, starts, ends, strict=True)
    ]
    return float(np.mean(losses))


def reference_attention_flow(
    context: torch.Tensor,
    question: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    context_mask: torch.Tensor,
    question_mask: torch.Tensor,
    query_to_context: Literal["coattention", "max"] = "coattention",
) -> torch.Tensor:
    """Compute G (B, C, 4d) in float64, with loops, from the written-out w.[c_i ; q_j ; c_i*q_j] + b; w is (3d,)."""
    context, question, weight = context.double(), question.double(), weight.double()
    batch, num_context, width = context.shape
    num_question = question.size(1)
    flow = torch.zeros(batch, num_context, 4 * width, dtype=torch.float64)
    for row in range(batch):
        c, q = context[row], question[row]
        similarity = torch.zeros(num_context, num_question, dtype=torch.float64)
        for i in range(num_context):
            for j in range(num_question):
                similarity[i, j] = weight @ torch.cat([c[i], q[j], c[i] * q[j]]) + bias.double()
        to_question = reference_masked_softmax(similarity, question_mask[row].unsqueeze(0), dim=1)
        if query_to_context == "coattention":
            to_context = reference_masked_softmax(similarity, context_mask[row].unsqueeze(1), dim=0)
            attended_context = (to_question @ to_context.T) @ c
        else:
            strongest = similarity[:, question_mask[row]].max(dim=1).values
            attended_context = (reference_masked_softmax(strongest, context_mask[row], dim=0) @ c).expand_as(c)
        a = to_question @ q
        flow[row] = torch.cat([c, a, c * a, c * attended_context], dim=1)
    return flow


def reference_unique_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute what `unique_rows` gives with a dictionary; distinct rows are in the order of their first occurrence."""
    numbers: dict[tuple[int, ...], int] = {}
    inverse = [numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()]
    return torch.tensor(list(numbers)), torch.tensor(inverse)
