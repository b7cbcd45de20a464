"""Ideal points of a trained model with standard errors by Laplace's approximation, their sign by a named legislator."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.data.answer_files import Answer, write_answers
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.pictures import get_legislator_table, ideal_points

Numbers = npt.NDArray[np.float64]
BILLS = 256  # that are read at once


class _Prior(NamedTuple):
    """Precisions of the normal priors that the penalties of an objective are, beside the log-likelihood of a vote."""

    points: float
    bill_points: float
    bias: float


def keep_ideal_points(model: Any, data: VoteDataModule, positive: str | None = None) -> None:
    """Put the ideal points of a trained model and their standard errors into its config, where it has such.

    Args:
        model: Trained model of votes; one without ideal points is left as it is.
        data: DataModule after its `setup`, with the training votes.
        positive: Name of a legislator whose point is to be positive; None: the sign means nothing.

    Raises:
        ValueError: there is no such legislator.
    """
    config = model.config
    config.ideal_points = config.ideal_point_errors = None
    if get_legislator_table(model) is None:
        if positive is not None:
            raise ValueError(f"positive={positive!r}: this {type(model).__name__} has no ideal points; leave it out")
        return
    points = orient_points(ideal_points(model), data.legislator_names or [], positive)
    config.ideal_points = points.tolist()
    errors = estimate_standard_errors(model, data, points)
    config.ideal_point_errors = None if errors is None else errors.tolist()


def orient_points(points: Numbers, names: Sequence[str], positive: str | None) -> Numbers:
    """Return points (U,) with the sign by which that of a named legislator is positive; None: as they are.

    Raises:
        ValueError: there is no such legislator.
    """
    if positive is None:
        return points
    if positive not in names:
        near = difflib.get_close_matches(positive, names, n=3, cutoff=0.4) or list(names[:3])
        raise ValueError(
            f"positive={positive!r} is none of the {len(names):,} legislators of the training; expected one such as "
            f"{', '.join(map(repr, near))}"
        )
    return points if points[list(names).index(positive)] >= 0 else -points


def estimate_standard_errors(model: Any, data: VoteDataModule, points: Numbers) -> Numbers | None:
    """Return the standard error (U,) of each ideal point, of points scaled to mean 0 and deviation 1; None without one.

    Laplace's approximation: the inverse of the Fisher information of the training votes plus that of the priors, over
    the positions t_u along the main axis; the point and the bias of each bill are free beside them, and drop out by
    their Schur complement. Mean and deviation of the points, which votes do not tell, are held. All else, such as other
    axes, texts and trust, is held at what was trained, so that of models with several axes the errors are too small.

    Args:
        model: NIPEN of the version "pgm", or an ideal point, trained by the likelihood of votes; others have none.
        data: DataModule after its `setup`, with the training votes.
        points: (U,) ideal points of the legislators, of either sign.
    """
    prior = _read_prior(model)
    table = get_legislator_table(model)
    if prior is None or table is None:
        return None
    positions = table.detach().double().cpu().numpy()  # (U, K)
    centred = positions - positions.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]  # (K,)
    spread = float((centred @ axis).std())
    information = np.diag(np.full(len(points), float(prior.points)))
    rows = np.flatnonzero((data.bill_ids >= 0) & ~np.isnan(data.observed).all(axis=1))
    of_bill = np.diag(np.array([*[prior.bill_points] * positions.shape[1], prior.bias], np.float64))
    for begin in range(0, len(rows), BILLS):
        batch = rows[begin : begin + BILLS]
        logits, factors, bill_points, scales = _read_bills(model, data, batch)
        chances = 1 / (1 + np.exp(-logits))
        weights = chances * (1 - chances) * ~np.isnan(data.observed[batch])  # (B, U)
        slopes = scales * ((factors * bill_points) @ axis)[:, None]  # (B, U) of the logit, by t_u
        information[np.diag_indices(len(points))] += (weights * slopes**2).sum(axis=0)
        for weight, slope, factor in zip(weights, slopes, factors, strict=True):
            by_bill = scales[:, None] * np.column_stack([positions * factor, np.ones(len(points))])  # (U, K + 1)
            crossed = (weight * slope)[:, None] * by_bill
            lower = np.linalg.cholesky(of_bill + by_bill.T @ (weight[:, None] * by_bill))
            solved = np.linalg.solve(lower, crossed.T)  # (K + 1, U)
            information -= solved.T @ solved
    # Directions in which the mean and the deviation of the points change are taken out.
    held = np.column_stack([np.ones(len(points)), points])
    free = np.linalg.qr(np.column_stack([held, np.eye(len(points))]))[0][:, 2 : len(points)]
    covariance = free @ np.linalg.solve(free.T @ information @ free, free.T)
    errors: Numbers = np.sqrt(np.diag(covariance).clip(min=0)) / spread
    return errors


def _read_prior(model: Any) -> _Prior | None:
    """Return the priors that the objective of a model is; None for one that is no likelihood of points and votes."""
    config = model.config
    if isinstance(model, VoteBaselineForVotePrediction) and config.kind == "ideal_point":
        return _Prior(config.ridge, config.ridge, config.ridge)
    likelihood = isinstance(model, NipenForVotePrediction) and config.loss_type == "bernoulli" and config.vote_lambda
    if not likelihood or config.version != "pgm":
        return None
    # Half of vote_lambda weighs the likelihood and half of each penalty the squares.
    of_bias = config.num_legislators if config.bias_lambda is None else config.bias_lambda
    bills = (config.delta_lambda,) * 2 if config.amortized_bills else (config.ideal_lambda, of_bias)
    return _Prior(*(2 * weight / config.vote_lambda for weight in (config.ideal_lambda, *bills)))


def _read_bills(
    model: Any, data: VoteDataModule, rows: npt.NDArray[np.int64]
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return for bills the logits (B, U), factors and points (B, K), and the scale of each legislator (U,).

    The logit of a yea is the scale of the legislator times (position . (factors * points) + bias), and what is held.
    """
    inputs = {
        "bag_of_words": torch.from_numpy(data.bags[rows].toarray()),
        "bill_ids": torch.from_numpy(data.bill_ids[rows]),
        "votes": torch.from_numpy(data.observed[rows]),
    }
    moved = {name: value.to(model.device) for name, value in inputs.items()}
    moved |= {name: moved[name].to(model.dtype) for name in ("bag_of_words", "votes")}
    with in_evaluation_mode(model):
        output = model(**moved, return_dict=True)
    number = model.config.num_legislators
    if isinstance(model, NipenForVotePrediction):
        scales = torch.ones(number) if model.trust is None else model.content_scale.weight
        factors, points = output.topic_weights, output.bill_points
    else:
        layer: Any = getattr(model.votes, "points", model.votes)
        points = layer.bills.weight[moved["bill_ids"]]
        factors, scales = torch.ones_like(points), torch.ones(number)
    found = (value.detach().double().cpu().numpy() for value in (output.logits, factors, points, scales))
    logits, factors_of, points_of, scales_of = found
    return logits, factors_of, points_of, scales_of


def list_ideal_points(model: Any, positive: str | None = None, level: float = 90) -> list[dict[str, Any]]:
    """Return legislator, party, ideal point and the ends of its interval, by ideal point.

    Args:
        model: Trained model of votes; of an earlier ctxzoo it has points without intervals.
        positive: Name of a legislator whose point is to be positive; None: as in the training.
        level: Probability of the intervals, in percent, above 0 and below 100.

    Returns:
        Dicts of `legislator`, `party`, `ideal_point`, `low` and `high`; the last two None where there is no interval.

    Raises:
        ValueError: a model without ideal points, no such legislator, or another level.
    """
    if not 0 < level < 100:
        raise ValueError(f"an interval of {level:g} %: expected a share above 0 and below 100, such as 90")
    config = model.config
    names = [config.get_legislator_name(row) for row in range(config.num_legislators)]
    points = orient_points(ideal_points(model), names, positive)
    width = NormalDist().inv_cdf(0.5 + level / 200)
    errors = config.ideal_point_errors or [None] * len(names)
    parties = config.legislator_groups or [""] * len(names)
    rows = []
    for name, party, point, error in zip(names, parties, points.tolist(), errors, strict=True):
        ends = (None, None) if error is None else (point - width * error, point + width * error)
        rows.append({"legislator": name, "party": party, "ideal_point": point, "low": ends[0], "high": ends[1]})
    return sorted(rows, key=lambda row: float(row["ideal_point"]))


def write_ideal_points(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Write what `list_ideal_points` gives as .csv, .tsv, .jsonl or .json; the file appears when it is whole.

    Raises:
        ValueError, OSError: see `write_answers`.
    """
    write_answers([[{} for _ in rows]], lambda _: [Answer(row, [row], row) for row in rows], file)
