"""The settings of the papers' recipes, as `ctxzoo train text-classification --settings paper` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, run_of
from ctxzoo.tasks.text_classification.document_training import RATE, DocumentSettings, document_run

_NOT_OF_THE_PAPER = ("folds", "fold", "fold_seed", "dev_share")  # of the data: rows are divided before

_SENTENCES = ("contextualizer", "text_baseline")  # of whose papers the recipe for sentences has the settings


def paper_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the settings of the recipe for documents for LAMA, and of that for sentences for the others.

    Args:
        architecture, variant: of a classifier.
        of_variant: fields of the variant.

    Raises:
        ValueError: no recipe trains the architecture on texts with the settings of its paper.
    """
    config = {"model_type": f"ctxzoo_{architecture}", **of_variant}
    run: Any
    if architecture == "lama":
        run = document_run(
            DocumentSettings(),
            "own",
            variant=variant,
            config=config,
            learning_rate=RATE,
            tag="",
            seed=0,
            recipe="own",
            commit="",
        )
    elif architecture in _SENTENCES:
        cell = Cell(name="own", dataset="own", variant=variant, config={**config, "eval_context": "redraw"})
        run = run_of(cell, CrossValidationSettings(), 0, 0, recipe="own", commit="")
    else:
        raise ValueError(
            f"there are no settings of a paper for {architecture} on texts, only for "
            f"{', '.join((*_SENTENCES, 'lama'))}; try --settings default"
        )
    preset = preset_of(run, of_run=("decay",))
    return replace(preset, data={name: value for name, value in preset.data.items() if name not in _NOT_OF_THE_PAPER})
