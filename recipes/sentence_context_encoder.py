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
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ctxzoo.models import ARCHITECTURES
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS, TextModel, build_sentence_experiment
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION, cross_validate

# Attention -> the architecture and its variant.
KNOWN: Mapping[str, tuple[str, str]] = {
    **{name: ("kernel_encoder", name) for name in ("dot", "ika", "ikan", "mikan")},
    "esa": ("linear_encoder", "favor"),
    "hsa": ("higher_order_encoder", "contextual"),
    "hsa-factorised": ("higher_order_encoder", "factorised"),
}
COMPARED = ("dot", "ika", "ikan", "mikan", "esa", "hsa")
REFERENCE = "dot"  # whose inner size is given
BASE = build_sentence_experiment(
    *KNOWN[REFERENCE],
    **{"word_dim": 128, "hidden_size": 128, "num_heads": 4, "num_layers": 1, "inner_size": 256},
    **{"position": "sinusoidal", "dropout": 0.3, "hidden_dropout": 0.1, "attention_dropout": 0.1},
).copy_with(recipe="sentence_context_encoder")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = tuple(SENTENCE_DATASETS.values()),
    attentions: Sequence[str] = COMPARED,
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score sentence encoders with every attention on every fold and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all trainings share; its inner_size is that of dot-product
            attention.
        datasets: Datasets to train on: Hub ids, folders or files, or sample.
        attentions: Names of the attentions to compare.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.
    """
    rows = [
        (f"{Path(name).name}, {attention}", set_attention(experiment.copy_with(dataset=name), attention))
        for name in datasets
        for attention in attentions
    ]
    cross_validate(rows, seeds)


def set_attention(experiment: Experiment, attention: str) -> Experiment:
    """Return the experiment with an attention, its blocks about as large as those with dot-product attention."""
    architecture, variant = KNOWN[attention]
    shared = experiment.model.get_config_changes()
    inner = find_matching_inner_size(attention, shared.pop("inner_size"), shared)
    own = {name: value for name, value in select_config_fields(attention, shared).items() if name in shared}
    model = TextModel(architecture=architecture, variant=variant, row=attention, **own, inner_size=inner)
    return dataclasses.replace(experiment, model=model)


def select_config_fields(attention: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config fields of an attention's encoder: the shared ones that it has, and its variant's own."""
    architecture, variant = KNOWN[attention]
    config_class = ARCHITECTURES[architecture].config_class
    known = {one.name for one in dataclasses.fields(config_class)}
    return {**{name: value for name, value in shared.items() if name in known}, **config_class.variants[variant]}


def find_matching_inner_size(attention: str, reference: int, fields: Mapping[str, Any]) -> int:
    """Return the inner width that gives an encoder as many weights as the one with dot-product attention.

    Args:
        attention: Name of an attention, a key of `KNOWN`.
        reference: Inner size of the model with dot-product attention, whose number of weights is matched.
        fields: Fields that the configurations of both models share, by name.

    Returns:
        The width of the nearest number of weights, at least 1.
    """
    target = count_weights(REFERENCE, reference, fields)
    least = count_weights(attention, 1, fields)
    step = count_weights(attention, 2, fields) - least
    return max(1, 1 + round((target - least) / step))


def count_weights(attention: str, inner_size: int, fields: Mapping[str, Any]) -> int:
    """Return the number of weights in the blocks of an encoder with some attention and inner width."""
    return _count_weights(attention, inner_size, tuple(sorted(fields.items())))


@cache
def _count_weights(attention: str, inner_size: int, fields: tuple[tuple[str, Any], ...]) -> int:
    """Return the number of weights in an encoder's blocks; `fields` are pairs of name and value, for a cache."""
    architecture = ARCHITECTURES[KNOWN[attention][0]]
    config = architecture.config_class(
        **select_config_fields(attention, dict(fields)), inner_size=inner_size, vocab_size=2
    )
    with torch.device("meta"):
        model: Any = architecture.model_classes["AutoModel"](config)
    return sum(weights.numel() for weights in model.blocks.parameters())


SHORT = {"dataset": "datasets", "variant": "attentions", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"attentions": KNOWN})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
