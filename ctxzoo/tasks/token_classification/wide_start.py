"""The start of a tagger's wide part: a conditional random field of features and given vectors of words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize

from ctxzoo.models.ops_words import IGNORED
from ctxzoo.training.remaining_time import RemainingTime

# Precisions of the normal distributions around 0 from which weights are thought to come.
FEATURE_PENALTY, VECTOR_PENALTY, TRANSITION_PENALTY = 0.3, 1.0, 0.1
ITERATIONS = 100
TOLERANCE = 1e-5  # of the loss, relative: what an iteration must gain
SENTENCES_AT_ONCE = 256
# What scores of the wide part and of the network count in their sum: each is a model by itself, and sure of itself.
WIDE_SHARE, NETWORK_SHARE = 0.7, 0.5

Batch = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor, torch.Tensor]


def has_wide_start(model: Any) -> bool:
    """Return whether the model has a wide part below a CRF, which are fitted before the network is trained."""
    return getattr(model, "wide", None) is not None and model.config.crf


def initialize_wide_part(model: Any, data: Any, splits: Sequence[str], *, tell_time: bool = False) -> None:
    """Fit the wide part and the transitions of a tagger to these splits, and let no training change them.

    The scores of the wide part are multiplied by `WIDE_SHARE`, the transitions are not. A part that is fitted already
    is fitted further, to other splits.

    Args:
        model: Tagger with a wide part and a CRF, see `has_wide_start`.
        data: DataModule of the tagger, after `setup`.
        splits: Names of the splits.
        tell_time: Whether a fit that takes long reports its progress.
    """
    batches = [batch for split in splits for batch in _list_batches(model, data, split)]
    number = sum(len(data.rows(split)) for split in splits)
    remaining = RemainingTime(f"linear part, fitted to {number:,} sentences of {' and '.join(splits)}", "iterations")
    tell = remaining.print_if_due if tell_time else (lambda done, total: None)
    _multiply_weights(model.wide, 1 / WIDE_SHARE)
    fit_wide_part(model.wide, model.sequence, batches, tell)
    _multiply_weights(model.wide, WIDE_SHARE)
    for part in (model.wide, model.sequence):
        part.requires_grad_(False)


def weigh_network(model: Any) -> None:
    """Multiply the scores of a trained network by `NETWORK_SHARE`, beside those of the wide part."""
    _multiply_weights(model.classifier, NETWORK_SHARE)


@torch.no_grad()
def _multiply_weights(layer: Any, factor: float) -> None:
    for parameter in layer.parameters():
        parameter *= factor


def fit_wide_part(
    wide: Any,
    sequence: Any,
    batches: Sequence[Batch],
    report_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    feature_penalty: float = FEATURE_PENALTY,
    iterations: int = ITERATIONS,
) -> None:
    """Fit a `WindowScores` below a `TagSequence`: the most probable weights of a conditional random field.

    The sum of the sentences' -log p(tags) and of half a penalty times the square of each weight, which is convex, is
    made least by L-BFGS from the weights that are there.

    Args:
        wide, sequence: Layers of the scores of words and of the transitions.
        batches: Vectors of words (B, n, v) or None, ids of their features (B, n, F) or None, masks (B, n) and labels
            (B, n), `IGNORED` at words that do not count.
        report_progress: Function called with the number of iterations that are done and the largest number of them.
        feature_penalty: Precision of the normal distribution from which weights of features are thought to come.
        iterations: Largest number of iterations.
    """
    penalties = {
        **({} if wide.features is None else {wide.features.table.weight: feature_penalty}),
        **({} if wide.vector_weight is None else {wide.vector_weight: VECTOR_PENALTY}),
        **dict.fromkeys(sequence.parameters(), TRANSITION_PENALTY),
    }
    bounds = np.cumsum([0, *(parameter.numel() for parameter in penalties)]).tolist()
    penalty = np.concatenate([np.full(one.numel(), value) for one, value in penalties.items()])

    def set_weights(values: npt.NDArray[np.float64]) -> None:
        with torch.no_grad():
            for parameter, (begin, end) in zip(penalties, itertools.pairwise(bounds), strict=True):
                parameter.copy_(torch.from_numpy(values[begin:end]).view_as(parameter))

    def compute_loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        set_weights(values)
        total = 0.0
        gradient = np.zeros(len(values))
        for vectors, feature_ids, mask, labels in batches:
            count = ((labels != IGNORED) & mask).sum()
            loss = sequence.compute_loss(wide(vectors, feature_ids, mask), labels, mask) * count
            found = torch.autograd.grad(loss, list(penalties))
            gradient += torch.cat([one.flatten() for one in found]).double().cpu().numpy()
            total += float(loss.detach())
        return total + float(penalty @ values**2) / 2, gradient + penalty * values

    for parameter in penalties:
        parameter.requires_grad_(True)
    done = itertools.count(1)
    best = minimize(
        compute_loss,
        torch.cat([one.detach().flatten() for one in penalties]).double().cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        callback=lambda _: report_progress(next(done), iterations),
        options={"maxiter": iterations, "ftol": TOLERANCE, "gtol": 0.0},
    )
    set_weights(best.x)


def _list_batches(model: Any, data: Any, split: str) -> list[Batch]:
    """Return what `fit_wide_part` reads of a split, sentences of similar length together."""
    rows = data.batches(split, training=False)
    order = np.argsort(rows.lengths(), kind="stable")
    batches: list[Batch] = []
    for begin in range(0, len(order), SENTENCES_AT_ONCE):
        batch = rows[order[begin : begin + SENTENCES_AT_ONCE].tolist()]
        vectors = None
        if model.wide.vector_weight is not None:
            vectors = model.get_input_embeddings().look_up_fixed(batch["input_ids"])
        mask = batch["attention_mask"].bool()
        batches.append((vectors, batch.get("feature_ids"), mask, batch["labels"]))
    return batches
