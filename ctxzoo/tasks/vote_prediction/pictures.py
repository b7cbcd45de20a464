"""Pictures of a model of votes: ideal points of a chamber, words of topics, and the predicted votes on a bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.data.reading_notes import record_note
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import new_figure, save_figure

BLUE, RED, GREEN = "#1f77b4", "#d62728", "#2ca02c"
COLOURS = {"Democrat": BLUE, "Republican": RED, "Independent": GREEN}
OTHERS = (BLUE, RED, GREEN, "#9467bd", "#ff7f0e", "#8c564b")
LEAST_SPREAD = 1e-12
NORMAL_90 = 1.6449  # standard errors from the middle to the end of a 90 % interval


def get_legislator_table(model: Any) -> torch.Tensor | None:
    """Return the table of ideal points (U, K) of a model; None for one that has none."""
    found = (module for name, module in model.named_modules() if name.rpartition(".")[2] == "legislators")
    table: torch.Tensor | None = getattr(next(found, None), "weight", None)
    return table


def ideal_points(model: ZooPreTrainedModel) -> NDArray[np.float64]:
    """Return each legislator's position on the main axis of the model's ideal points (U,), scaled to deviation 1.

    Their sign is that of the config's `ideal_points`, which a training with `positive` has chosen; without those it
    means nothing.

    Raises:
        ValueError: a model that has no ideal points.
    """
    table = get_legislator_table(model)
    if table is None:
        raise ValueError(f"this {type(model).__name__} has no ideal points; expected NIPEN or an ideal point")
    points = table.detach().double().cpu().numpy()
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    component: NDArray[np.float64] = centred @ axes[0]
    component = component / max(float(component.std()), LEAST_SPREAD)
    kept = getattr(model.config, "ideal_points", None)
    return component if kept is None or float(component @ np.array(kept)) >= 0 else -component


def correlation(points: Sequence[float], others: Sequence[float]) -> float:
    """Return the absolute Pearson correlation of two arrays over the entries without NaN; NaN if there is none."""
    one, other = np.asarray(points, np.float64), np.asarray(others, np.float64)
    both = np.isfinite(one) & np.isfinite(other)
    return float(abs(np.corrcoef(one[both], other[both])[0, 1]))


def topic_words(model: ZooPreTrainedModel, k: int = 8) -> list[list[str]]:
    """Return for each topic of NIPEN (Song et al. 2018) the k words that it makes likelier than no topic does.

    Args:
        model: NIPEN model whose config contains its vocabulary, `words`.
        k: Number of words to return for each topic.

    Raises:
        ValueError: another model, or a config without words.
    """
    network: Any = model
    words = getattr(network.config, "words", None)
    if not hasattr(network, "encoder") or words is None:
        raise ValueError(f"this {type(model).__name__} has no topics with words; expected NIPEN with its words")
    codes = torch.cat([torch.zeros(1, network.config.num_topics), torch.eye(network.config.num_topics)])
    hidden = codes.to(network.device, network.dtype)
    with in_evaluation_mode(model):
        for layer in network.encoder.decoder[:-1]:
            hidden = torch.relu(layer(hidden))
        outputs = network.encoder.decoder[-1](hidden).float().cpu()
    best = (outputs[1:] - outputs[:1]).topk(min(k, len(words)), dim=1).indices.tolist()
    return [[words[place] for place in row] for row in best]


def draw_ideal_points(
    model: ZooPreTrainedModel, out: str | Path, *, others: Mapping[str, float] | None = None, called: str = "NOMINATE"
) -> float | None:
    """Draw the ideal points of a chamber as a PNG file, coloured by party, beside points of others where there are any.

    Args:
        model: NIPEN or ideal point model of votes, as in `ideal_points`.
        out: Path of the PNG file to write.
        others: Other ideal points to plot against the model's, such as NOMINATE's first dimension, by legislator's
            name; None: none.
        called: Name of those other ideal points, the label of their axis.

    Returns:
        |r| of both, or None without others.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: See `ideal_points`; fewer than two legislators have a point of others; the name of the file does not
            end in .png.
    """
    config: Any = model.config
    points = ideal_points(model)
    names = [config.get_legislator_name(number) for number in range(config.num_legislators)]
    groups = config.legislator_groups or [""] * len(names)
    other_points = None if others is None else np.array([others.get(name, np.nan) for name in names])
    figure = new_figure(6.0, 4.2)
    axes = figure.subplots()
    correlation_size = None
    if other_points is not None and others is not None:
        matched = int(np.isfinite(other_points).sum())
        if matched < 2:
            raise ValueError(
                f"{matched} of the {len(names):,} legislators of the model, such as {names[0]!r}, has a point of "
                f"{called}, whose names are {', '.join(map(repr, list(others)[:2]))} and the like; expected two or more"
            )
        record_note(
            called, "legislators of the model without a point there, left out of the comparison", len(names) - matched
        )
        correlation_size = correlation(points.tolist(), other_points.tolist())
        has_both = np.isfinite(other_points)
        points = points * (np.sign(np.corrcoef(points[has_both], other_points[has_both])[0, 1]) or 1.0)
    errors = getattr(config, "ideal_point_errors", None)
    for group, colour in choose_party_colours(groups).items():
        rows = np.flatnonzero(np.array(groups) == group)
        heights = rows if other_points is None else other_points[rows]
        axes.scatter(points[rows], heights, s=14, color=colour, alpha=0.7, label=group or "legislators", linewidths=0)
        if errors is not None:
            reach = NORMAL_90 * np.array(errors)[rows]
            axes.hlines(heights, points[rows] - reach, points[rows] + reach, color=colour, alpha=0.35, linewidth=0.8)
    intervals = "" if errors is None else ", with 90 % intervals"
    axes.set_xlabel(f"ideal point: first principal component{intervals}")
    axes.set_ylabel("legislator" if other_points is None else called)
    title = (
        "ideal points" if correlation_size is None else f"ideal points beside {called}, |r| = {correlation_size:.3f}"
    )
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    axes.legend(fontsize=8)
    save_figure(figure, Path(out))
    return correlation_size


def draw_votes(model: ZooPreTrainedModel, text: str, out: str | Path, *, bill: str | int = -1) -> None:
    """Draw each legislator's probability of a yea to a bill along the ideal points, as a PNG file.

    Args:
        model: NIPEN model of votes.
        text, bill: Text of the bill, and its name if it is one of the training bills, as in `predict_votes`.
        out: Path of the PNG file to write.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: see `predict_votes` and `ideal_points`; the name of the file does not end in .png.
    """
    reader: Any = model
    yeas = np.array([yea for _, yea in reader.predict_votes(text, bill)])
    points = ideal_points(model)
    groups = np.array(reader.config.legislator_groups or [""] * len(yeas))
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    for group, colour in choose_party_colours(groups.tolist()).items():
        rows = np.flatnonzero(groups == group)
        axes.scatter(
            points[rows], yeas[rows], s=14, color=colour, alpha=0.7, label=group or "legislators", linewidths=0
        )
    axes.axhline(0.5, color="grey", linewidth=0.8)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("ideal point: first principal component")
    axes.set_ylabel("probability of a yea")
    shown = text if len(text) <= 70 else f"{text[:69]}…"
    axes.set_title(shown or f"bill {bill}", loc="left", fontsize=9, parse_math=False)
    axes.legend(fontsize=8)
    save_figure(figure, Path(out))


def choose_party_colours(parties: Sequence[str]) -> dict[str, str]:
    """Return a colour for each party: the usual one of a known party, and others for the rest."""
    names = sorted(set(parties))
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = cycle(colour for colour in OTHERS if colour not in taken)
    return {name: COLOURS[name] if name in COLOURS else next(free) for name in names}
