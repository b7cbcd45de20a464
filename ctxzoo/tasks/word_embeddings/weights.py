"""The weights of a `WordEmbeddingForMaskedLM` as the compiled trainer needs them, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.kernel import NO_POSITION, Float32Array, Weights, allocate_aligned_zeros

LANES = 16  # numbers in one register


def round_up_width(word_dim: int) -> int:
    """Return the vector width rounded up to a multiple of 16, so that loops need no remainder."""
    return -(-word_dim // LANES) * LANES


def extract_weights(model: WordEmbeddingForMaskedLM) -> Weights:
    """Return copies of a model's weights as the compiled loops need them, without special tokens; see `Weights`."""
    config, base = model.config, model.word_embedding
    special, width, window = config.num_special_tokens, round_up_width(config.word_dim), config.window

    def pad_width(tensor: torch.Tensor) -> Float32Array:
        """Return a table (..., d) padded with zeros to the rounded width (..., D)."""
        table = allocate_aligned_zeros(*tensor.shape[:-1], width)
        table[..., : tensor.shape[-1]] = _to_numpy(tensor)
        return table

    def insert_centre_column(tensor: torch.Tensor | None, axis: int, rows: int) -> Float32Array:
        """Insert a column of zeros at the centre position; without a tensor return no columns."""
        if tensor is None:
            return np.zeros((rows, 0), np.float32)
        return np.insert(_to_numpy(tensor), window, 0, axis=axis)

    output = model.output_vectors
    if config.architecture == "structured_skip_gram":
        output_rows = pad_width(output[:, special:]).reshape(-1, width)
    elif config.architecture == "cwindow":
        output_rows = pad_width(output[special:].reshape(-1, 2 * window, config.word_dim)).reshape(
            len(output) - special, -1
        )
    else:
        output_rows = pad_width(output[special:])
    logits, factors = base.word_position_logits, base.word_factors
    position_logits = np.zeros(2 * window + 1, np.float32)
    if base.position_logits is not None:
        position_logits = insert_centre_column(base.position_logits, 0, 0)
    position_logits[window] = NO_POSITION
    vectors = np.zeros((0, width), np.float32)
    if base.position_vectors is not None:
        vectors = pad_width(torch.from_numpy(insert_centre_column(base.position_vectors, 0, 0)))
    return Weights(
        input=pad_width(base.word_vectors.weight[special:]),
        output=output_rows,
        word_logits=insert_centre_column(None if logits is None else logits.weight[special:], 1, 0),
        word_factors=np.zeros((0, 0), np.float32) if factors is None else _to_numpy(factors.weight[special:]).copy(),
        position_factors=insert_centre_column(base.position_factors, 1, 0),
        position_logits=position_logits,
        position_vectors=vectors,
    )


def load_weights(model: WordEmbeddingForMaskedLM, weights: Weights) -> None:
    """Copy trained weights into the model."""
    config, base = model.config, model.word_embedding
    special, dim = config.num_special_tokens, config.word_dim

    def copy_values(target: torch.Tensor | None, values: npt.NDArray[np.float32]) -> None:
        if target is not None:
            target.copy_(torch.from_numpy(np.ascontiguousarray(values)))

    def drop_centre_column(values: Float32Array, axis: int) -> Float32Array:
        return np.delete(values, config.window, axis=axis)

    with torch.no_grad():
        copy_values(base.word_vectors.weight[special:], weights.input[:, :dim])
        copy_values(*_get_trained_output(model, weights.output))
        if base.word_position_logits is not None:
            copy_values(base.word_position_logits.weight[special:], drop_centre_column(weights.word_logits, 1))
        if base.word_factors is not None:
            copy_values(base.word_factors.weight[special:], weights.word_factors)
            copy_values(base.position_factors, drop_centre_column(weights.position_factors, 1))
        copy_values(base.position_logits, drop_centre_column(weights.position_logits, 0))
        if base.position_vectors is not None:
            copy_values(base.position_vectors, drop_centre_column(weights.position_vectors, 0)[:, :dim])


def check_weights_finite(weights: Weights, step: str, rate: float) -> None:
    """Raise an error if any weight is not finite.

    Raises:
        FloatingPointError: some weight is not finite; the message has the step and the learning rate.
    """
    for name, values in zip(Weights._fields, weights, strict=True):
        # One number that is not finite makes the sum so, which needs no copy.
        if not np.isfinite(values.sum(dtype=np.float64)):
            raise FloatingPointError(f"{name} is not finite after {step}, with the learning rate {rate:.3g}; lower it")


def _get_trained_output(model: WordEmbeddingForMaskedLM, output: Float32Array) -> tuple[torch.Tensor, Float32Array]:
    """Return the trained rows of the output vectors, and the weights `output` in their shape."""
    config: WordEmbeddingConfig = model.config
    special, dim, width = config.num_special_tokens, config.word_dim, round_up_width(config.word_dim)
    if config.architecture == "structured_skip_gram":
        return model.output_vectors[:, special:], output.reshape(config.num_positions, -1, width)[..., :dim]
    if config.architecture == "cwindow":
        rows = output.reshape(len(output), config.num_positions, width)[..., :dim]
        return model.output_vectors[special:], rows.reshape(len(output), -1)
    return model.output_vectors[special:], output[:, :dim]


def _to_numpy(tensor: torch.Tensor) -> Float32Array:
    """Return a tensor as a float32 array on the CPU."""
    array: Float32Array = tensor.detach().float().cpu().numpy()
    return array
