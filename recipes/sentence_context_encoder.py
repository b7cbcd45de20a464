"""Attention as a kernel on MR, CR, SUBJ and MPQA: the words and folds of the other models.

    python recipes/sentence_context_encoder.py                             every attention, four datasets
    python recipes/sentence_context_encoder.py --attentions dot mikan --datasets SetFit/CR
    python recipes/sentence_context_encoder.py --datasets sample --tiny    no network needed
    python recipes/sentence_context_encoder.py --score validation          to choose settings: test is left alone
    python recipes/sentence_context_encoder.py --resume                    finished folds are kept, the others go on

The vector of a sentence is the mean of its words behind the last block. Words, folds and training are those of
recipes/sentence_text_baseline.py; --inner_size is that of dot, and the hidden layers of the blocks with every other
attention are so wide that the blocks have about as many weights. --name tells runs with other settings from the default
ones. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ctxzoo.models import ARCHITECTURES
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, cross_validate
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS

RECIPE = "sentence_context_encoder"
# Attention -> the architecture and its variant.
KNOWN: Mapping[str, tuple[str, str]] = {
    **{name: ("kernel_encoder", name) for name in ("dot", "ika", "ikan", "mikan")},
    "esa": ("linear_encoder", "favor"),
    "hsa": ("higher_order_encoder", "contextual"),
    "hsa-factorised": ("higher_order_encoder", "factorised"),
}
COMPARED = ("dot", "ika", "ikan", "mikan", "esa", "hsa")
REFERENCE = "dot"  # whose inner size is given
TINY = {"word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 1, "num_features": 8}
TINY_INNER = 32


@dataclass
class Settings(CrossValidationSettings):
    attentions: list[str] = field(default_factory=lambda: list(COMPARED), metadata={"help": f"of {', '.join(KNOWN)}"})
    datasets: list[str] = field(
        default_factory=lambda: list(SENTENCE_DATASETS.values()),
        metadata={"help": "Hub ids, folders, files, or: sample"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from the default ones"})
    word_dim: int = 128
    hidden_size: int = 128
    num_heads: int = 4
    num_layers: int = 1
    inner_size: int = field(default=256, metadata={"help": "hidden layer of a block's network, with dot"})
    position: str = field(default="sinusoidal", metadata={"help": "none, sinusoidal or rotary"})
    dropout: float = field(default=0.3, metadata={"help": "on words"})
    hidden_dropout: float = field(default=0.1, metadata={"help": "on what a block adds"})
    attention_dropout: float = field(default=0.1, metadata={"help": "on the weights of attention"})
    kl_lambda: float | None = field(
        default=None, metadata={"help": "weight of the divergence of drawn frequencies; default: the config's"}
    )


def main(settings: Settings) -> None:
    for attention in settings.attentions:
        if attention not in KNOWN:
            raise ValueError(f"attentions: unknown attention {attention!r}; known: {', '.join(KNOWN)}")
    cells = [cell_of(name, dataset, settings) for dataset in settings.datasets for name in settings.attentions]
    cross_validate(cells, settings, recipe=RECIPE, commit=git_commit())


def cell_of(attention: str, dataset: str, settings: Settings) -> Cell:
    names = ("position", "dropout", "hidden_dropout", "attention_dropout")
    sizes = {name: getattr(settings, name) for name in ("word_dim", "hidden_size", "num_heads", "num_layers")}
    shared = {**(TINY if settings.tiny else sizes), **{name: getattr(settings, name) for name in names}}
    if settings.kl_lambda is not None:
        shared["kl_lambda"] = settings.kl_lambda
    inner = matched_inner_size(attention, TINY_INNER if settings.tiny else settings.inner_size, shared)
    config = {"model_type": f"ctxzoo_{KNOWN[attention][0]}", **fields_of(attention, shared), "inner_size": inner}
    name = f"{Path(dataset).name}, {attention}"
    return Cell(name=name, dataset=dataset, variant=attention, config=config, tag=settings.name)


def fields_of(attention: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the config of an attention: those of all that it has, and its own."""
    architecture, variant = KNOWN[attention]
    config_class = ARCHITECTURES[architecture].config_class
    known = {one.name for one in dataclasses.fields(config_class)}
    return {**{name: value for name, value in shared.items() if name in known}, **config_class.variants[variant]}


def matched_inner_size(attention: str, reference: int, fields: Mapping[str, Any]) -> int:
    """Return the width by which blocks have about as many weights as those of dot with a width of `reference`.

    Args:
        attention: one of `KNOWN`.
        reference: `inner_size` with dot.
        fields: of both configs.

    Returns:
        The width of the nearest number of weights, at least 1.
    """
    wanted = number_of_weights(REFERENCE, reference, fields)
    least = number_of_weights(attention, 1, fields)
    step = number_of_weights(attention, 2, fields) - least
    return max(1, 1 + round((wanted - least) / step))


def number_of_weights(attention: str, inner_size: int, fields: Mapping[str, Any]) -> int:
    """Return the number of weights of the blocks."""
    return _number_of_weights(attention, inner_size, tuple(sorted(fields.items())))


@cache
def _number_of_weights(attention: str, inner_size: int, fields: tuple[tuple[str, Any], ...]) -> int:
    architecture = ARCHITECTURES[KNOWN[attention][0]]
    config = architecture.config_class(**fields_of(attention, dict(fields)), inner_size=inner_size, vocab_size=2)
    with torch.device("meta"):
        model: Any = architecture.model_classes["AutoModel"](config)
    return sum(weights.numel() for weights in model.blocks.parameters())


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
