"""Neural baselines beside the Contextualizer: the same words, folds and training, with another way to read a sentence.

    python recipes/sentence_text_baseline.py                           five models, four datasets
    python recipes/sentence_text_baseline.py --models cnn --datasets SetFit/CR
    python recipes/sentence_text_baseline.py --datasets sample --epochs 3        no network needed
    python recipes/sentence_text_baseline.py --resume                  finished folds are kept, the others go on

The models are the named settings of docs/models/text_baseline.md; --name tells runs with other settings from them. A
YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxzoo.models.configuration_text_baseline import SENTENCE_VARIANTS, TextBaselineConfig
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, cross_validate
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS

RECIPE, ARCHITECTURE = "sentence_text_baseline", "text_baseline"
TINY = {"word_dim": 12, "position_dim": 4, "rank": 8, "num_filters": 8, "recurrent_size": 8, "num_heads": 2}


@dataclass
class Settings(CrossValidationSettings):
    models: list[str] = field(
        default_factory=lambda: list(SENTENCE_VARIANTS), metadata={"help": ", ".join(SENTENCE_VARIANTS)}
    )
    datasets: list[str] = field(
        default_factory=lambda: list(SENTENCE_DATASETS.values()),
        metadata={"help": "Hub ids, folders, files, or: sample"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from the named ones"})
    word_dim: int = 250
    position_dim: int = 20
    freeze_embeddings: bool = False
    embedding_bound: float = field(default=1.0, metadata={"help": "word vectors start in U(-bound, bound)"})
    dropout: float | None = field(default=None, metadata={"help": "on words; default: the model's own"})
    pooled_dropout: float | None = field(default=None, metadata={"help": "on the sentence; default: the model's own"})


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in SENTENCE_VARIANTS:
            raise ValueError(f"models: unknown baseline {model!r}; known: {', '.join(SENTENCE_VARIANTS)}")
    cells = [cell_of(model, dataset, settings) for dataset in settings.datasets for model in settings.models]
    cross_validate(cells, settings, recipe=RECIPE, commit=git_commit())


def cell_of(model: str, dataset: str, settings: Settings) -> Cell:
    config: dict[str, Any] = {
        "model_type": f"ctxzoo_{ARCHITECTURE}",
        "word_dim": settings.word_dim,
        "position_dim": settings.position_dim,
        "freeze_embeddings": settings.freeze_embeddings,
        "embedding_bound": settings.embedding_bound,
        "eval_context": "redraw",
        **TextBaselineConfig.variants[model],
    }
    for rate in ("dropout", "pooled_dropout"):
        if getattr(settings, rate) is not None:
            config[rate] = getattr(settings, rate)
    if settings.tiny:
        config |= TINY
    name = f"{Path(dataset).name}, {model}"
    return Cell(name=name, dataset=dataset, variant=model, config=config, tag=settings.name)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
