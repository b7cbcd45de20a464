"""Pictures of what a model does at the words of a text: attention as similarity times importance, gates of a Beta-LSTM.

Importance is the paper's name of what all queries give a key alike. It is a part of attention, not what decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.layers_kernel_encoder import DirectKernel, SpectralDensity
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.modeling_beta_lstm import BetaLstmModel
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderModel
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import format_word_label, list_installed_fonts, new_figure, save_figure
from ctxzoo.results.plots import COLOURS, remove_axes_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class WordKernels:
    """A text, and what attention among its words is made of, in one layer.

    Attributes:
        words: List of the n words of the text, as the tokenizer spells them.
        similarity: (h, n, n) similarity kernel of h heads among n words, by query and key word, above 0 and at most 1.
        importance: (h, n) importance of each of n key words in each of h heads, in nats above the head's smallest.
        weights: (h, n, n) attention weights of h heads among n words, by query and key: the softmax over keys of log
            similarity + importance.
    """

    words: list[str]
    similarity: NDArray[np.float64]
    importance: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """The frequencies of a learned kernel, a sample of its spectral density.

    Attributes:
        frequencies: (h, K, d) frequencies of the attention kernel: K of each of h heads, in d dimensions.
        start_deviation: Standard deviation of a frequency's entries for which the kernel equals that of dot-product
            attention.
    """

    frequencies: NDArray[np.float64]
    start_deviation: float


def word_kernels(model: ZooPreTrainedModel, tokenizer: Any, text: str, *, layer: int = 0) -> WordKernels:
    """Return similarity and importance of the words of a text, apart.

    Args:
        model: Kernel encoder that reads words, with or without a head; it is put into evaluation mode while it reads.
        tokenizer: Tokenizer that belongs to the model.
        text: Text to read.
        layer: Number of the layer, from 0.

    Raises:
        ValueError: a model of another architecture; attention that has no such parts; no such layer; no word of the
            text is known.
    """
    base, inputs = _get_base_model_and_inputs(model, tokenizer, text, layer)
    with in_evaluation_mode(model):
        output = base(**inputs, output_attentions=True, return_dict=True)
    if output.similarities is None or output.importances is None:
        raise ValueError(f"attention {base.config.attention!r} is not made of similarity and importance of its keys")
    importance = _first_row_to_numpy(output.importances[layer])
    return WordKernels(
        tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist()),
        _first_row_to_numpy(output.similarities[layer]),
        importance - importance.min(axis=1, keepdims=True),
        _first_row_to_numpy(output.attentions[layer]),
    )


def kernel_density(model: ZooPreTrainedModel, tokenizer: Any, text: str, *, layer: int = 0) -> KernelDensity:
    """Return the frequencies that a learned kernel has for a text; those that are parameters are the same for all.

    Args:
        model, tokenizer, text, layer: Model, tokenizer, text and layer as in `word_kernels`; a model that samples
            frequencies must not be causal.

    Raises:
        ValueError: see `word_kernels`; a kernel that is given, or drawn for each position by itself.
    """
    base, inputs = _get_base_model_and_inputs(model, tokenizer, text, layer)
    attention: Any = base.attentions[layer]
    kernel = getattr(attention, "kernel", None)
    if isinstance(kernel, DirectKernel):
        frequencies_of_terms = [kernel.first, kernel.second]
    elif isinstance(kernel, SpectralDensity) and not base.config.causal:
        outputs: list[Any] = []
        hook = kernel.register_forward_hook(lambda module, given, result: outputs.append(result))
        try:
            with in_evaluation_mode(model):
                base(**inputs)
        finally:
            hook.remove()
        frequencies_of_terms = [term[0].squeeze(1) for term in (outputs[0].first, outputs[0].second)]
    else:
        raise ValueError(
            f"attention {base.config.attention!r}, causal={base.config.causal}: there is no learned density of the text"
        )
    frequencies = torch.cat([term.detach() for term in frequencies_of_terms], dim=1).double().cpu().numpy()
    return KernelDensity(frequencies, 1 / math.sqrt(8 * math.pi**2 * attention.scale))


def draw_word_kernels(kernels: WordKernels, out: str | Path, *, title: str | None = None) -> None:
    """Draw similarity and importance side by side, and the weights that they make: the mean over the heads of each.

    Args:
        kernels: Kernels and attention of the words of a text, from `word_kernels`.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    words = [format_word_label(word) for word in kernels.words]
    side = 0.17 * max(len(words), 12)
    figure = new_figure(2.6 * side + 1.2, side + 1.2)
    axes = figure.subplots(1, 3, sharey=True, width_ratios=[1, 0.6, 1])
    _draw_word_matrix(axes[0], kernels.similarity.mean(axis=0), words, "similarity (kernel)")
    places = np.arange(len(words))
    axes[1].barh(places, kernels.importance.mean(axis=0), color=COLOURS[1])
    axes[1].set_ylim(len(words) - 0.5, -0.5)
    axes[1].set_xlabel("nats above the least", fontsize=9)
    axes[1].set_title("importance of the key", fontsize=10)
    remove_axes_box(axes[1])
    _draw_word_matrix(axes[2], kernels.weights.mean(axis=0), words, "attention: both")
    if title is not None:
        figure.suptitle(
            title, x=0.01, ha="left", fontsize=11, parse_math=False, fontfamily=list_installed_fonts(), wrap=True
        )
    save_figure(figure, out)


def draw_kernel_density(density: KernelDensity, out: str | Path, *, title: str | None = None) -> None:
    """Draw how the frequencies of each head are spread, beside the normal density of dot products.

    Args:
        density: Kernel frequencies for a text, from `kernel_density`.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    figure = new_figure(6.0, 3.4)
    axes = figure.subplots()
    spread = density.start_deviation
    limit = max(4 * spread, float(np.percentile(np.abs(density.frequencies), 99.5)))
    edges = np.linspace(-limit, limit, 41)
    for head, values in enumerate(density.frequencies):
        density_of_bin, _ = np.histogram(values.ravel(), bins=edges, density=True)
        axes.stairs(density_of_bin, edges, color=COLOURS[head % len(COLOURS)], linewidth=1.3, label=f"head {head + 1}")
    fine = np.linspace(-limit, limit, 400)
    normal = np.exp(-0.5 * (fine / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
    axes.plot(fine, normal, color="black", linewidth=1.0, linestyle=":", label="dot products")
    axes.set_xlabel("a number of a frequency")
    axes.set_ylabel("density")
    axes.legend(frameon=False, fontsize=8)
    remove_axes_box(axes)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=list_installed_fonts(), wrap=True)
    save_figure(figure, out)


def _get_base_model_and_inputs(
    model: ZooPreTrainedModel, tokenizer: Any, text: str, layer: int
) -> tuple[KernelEncoderModel, Any]:
    """Return the base model and the inputs of a text, checked."""
    base = model.base_model
    if not isinstance(base, KernelEncoderModel):
        raise ValueError(f"a {type(model).__name__} has no kernels to show; expected a kernel encoder")
    if not 0 <= layer < len(base.blocks):
        raise ValueError(f"there is no layer {layer}; there are 0 to {len(base.blocks) - 1}")
    return base, _encode_text(model, tokenizer, text)


def _encode_text(model: ZooPreTrainedModel, tokenizer: Any, text: str) -> Any:
    inputs = tokenizer(text, return_tensors="pt").to(model.device)
    if not inputs["input_ids"].numel():
        raise ValueError(f"the checkpoint knows no word of {text!r}")
    return inputs


def _first_row_to_numpy(x: torch.Tensor) -> NDArray[np.float64]:
    """Return the values of the only text of a batch as an array."""
    return x[0].double().cpu().numpy()


def _draw_word_matrix(axes: Axes, values: NDArray[np.float64], words: list[str], title: str) -> None:
    """Draw a number from 0 to 1 for each query (row) and key (column)."""
    axes.imshow(values, cmap="Blues", vmin=0.0, vmax=max(float(values.max()), 1e-9), aspect="auto")
    places = np.arange(len(words))
    axes.set_xticks(places, words, rotation=90, fontsize=9, parse_math=False, fontfamily=list_installed_fonts())
    axes.set_yticks(places, words, fontsize=9, parse_math=False, fontfamily=list_installed_fonts())
    axes.set_title(title, fontsize=10)


INNER = (10, 90)  # percentiles between which most units are shown


@dataclass(frozen=True, eq=False)
class WordGates:
    """A text, and the gates of one layer at each of its words, given the words before.

    Attributes:
        words: List of the n words of the text, as the tokenizer spells them.
        input_gate, forget_gate: (n, H) mean of the input gate and of the forget gate, for each of n words and H units.
        correlation: (n, H) estimated correlation of sampled input and forget gate, for each of n words and H units;
            None: the cell samples no gates.
    """

    words: list[str]
    input_gate: NDArray[np.float64]
    forget_gate: NDArray[np.float64]
    correlation: NDArray[np.float64] | None


def word_gates(
    model: ZooPreTrainedModel, tokenizer: Any, text: str, *, layer: int = 0, reverse: bool = False
) -> WordGates:
    """Return the gates of a layer at each word of a text.

    Args:
        model: Beta-LSTM that reads words, with or without a head; it is put into evaluation mode while it reads.
        tokenizer: Tokenizer that belongs to the model.
        text: Text to read.
        layer: Number of the layer, from 0.
        reverse: Whether the backward layer of a bidirectional model is read.

    Raises:
        ValueError: a model of another architecture; no such layer; no word of the text is known.
    """
    base = model.base_model
    if not isinstance(base, BetaLstmModel):
        raise ValueError(f"a {type(model).__name__} has no gates to show; expected a Beta-LSTM")
    inputs = _encode_text(model, tokenizer, text)
    with in_evaluation_mode(model):
        statistics = base(**inputs, output_gate_statistics=True).gate_statistics
    layer_statistics = next((one for one in statistics if (one.layer, one.reverse) == (layer, reverse)), None)
    if layer_statistics is None:
        known = ", ".join(f"layer {one.layer}{', reverse' if one.reverse else ''}" for one in statistics)
        raise ValueError(f"there is no layer {layer}{', reverse' if reverse else ''}; there are {known}")
    return WordGates(
        tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist()),
        _first_row_to_numpy(layer_statistics.input_gate),
        _first_row_to_numpy(layer_statistics.forget_gate),
        None if layer_statistics.correlation is None else _first_row_to_numpy(layer_statistics.correlation),
    )


def draw_word_gates(gates: WordGates, out: str | Path, *, title: str | None = None) -> None:
    """Draw the mean gates of all units at each word, and below them the mean correlation of i and f.

    Bands hold the middle 80 % of the units. Cells that draw no gates have no correlation to draw.

    Args:
        gates: Gate values of the words of a text, from `word_gates`.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    panels = 1 if gates.correlation is None else 2
    figure = new_figure(2.0 + 0.45 * max(len(gates.words), 6), 1.6 + 1.8 * panels)
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    _draw_mean_and_band(axes[0], gates.input_gate, COLOURS[0], "input gate i")
    _draw_mean_and_band(axes[0], gates.forget_gate, COLOURS[1], "forget gate f")
    axes[0].set_ylim(0, 1)
    axes[0].set_ylabel("mean of the gate")
    axes[0].legend(frameon=False, fontsize=8)
    if gates.correlation is not None:
        _draw_mean_and_band(axes[1], gates.correlation, COLOURS[2], "correlation of i and f")
        axes[1].axhline(0.0, color="black", linewidth=0.8)
        axes[1].set_ylim(-1, 1)
        axes[1].set_ylabel("correlation of i and f")
    for panel in axes:
        remove_axes_box(panel)
    words = [format_word_label(word) for word in gates.words]
    axes[-1].set_xticks(
        range(len(words)),
        words,
        rotation=60,
        ha="right",
        fontsize=10,
        parse_math=False,
        fontfamily=list_installed_fonts(),
    )
    if title is not None:
        axes[0].set_title(
            title, loc="left", fontsize=11, parse_math=False, fontfamily=list_installed_fonts(), wrap=True
        )
    save_figure(figure, out)


def _draw_mean_and_band(axes: Axes, values: NDArray[np.float64], colour: str, label: str) -> None:
    """Draw the mean over units at each word as a line with points, and the middle of the units as a band."""
    places = np.arange(len(values))
    low, high = np.percentile(values, INNER, axis=1)
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(places, values.mean(axis=1), color=colour, marker="o", markersize=4, linewidth=1.5, label=label)
