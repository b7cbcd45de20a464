"""The default settings of `ctxzoo train text-classification` on seven public sets, with the controls.

    python recipes/default_text_classifier.py                          seven sets, three ways
    python recipes/default_text_classifier.py --datasets sample --parts both --tiny       no network needed
    python recipes/default_text_classifier.py --datasets CR --score validation --deep_scale 0.5 --name half
    python recipes/default_text_classifier.py --resume                 finished runs are kept, the others go on

Sets: MR, CR, SUBJ, MPQA (cross-validated), reuters8, imdb, news_aggregator (their own test split), or any Hub id,
folder or file, which is cross-validated. Parts: "both", what a user gets; "wide", the linear classifier alone from
which it starts; "deep", the network alone. The settings are those of
ctxzoo/tasks/text_classification/default_settings.py; a YAML file of options may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from typing import Any

from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import FoldSettings, run_all
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.tasks.text_classification.datasets import DOCUMENT_DATASETS, SENTENCE_DATASETS
from ctxzoo.tasks.text_classification.default_settings import ARCHITECTURE, VARIANT, default_preset
from ctxzoo.tasks.text_classification.run import ClassifierRun

RECIPE = "default_text_classifier"
OWN_SPLITS = ("reuters8", "imdb", "news_aggregator")
PARTS = ("both", "wide", "deep")
TINY = {"word_dim": 8, "num_filters": 4}


@dataclass
class Settings(TrainingSettings, FoldSettings):
    datasets: list[str] = field(
        default_factory=lambda: [*SENTENCE_DATASETS, *OWN_SPLITS], metadata={"help": "one or more; see above"}
    )
    parts: list[str] = field(default_factory=lambda: list(PARTS), metadata={"help": f"of {', '.join(PARTS)}"})
    ema_decay: float = reported(0.999, "of the moving average of weights; 0: none")
    deep_scale: float | None = field(
        default=None,
        metadata={"help": "factor of the network's scores where the linear ones are added; default: the preset's"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the default"})

    def __post_init__(self) -> None:
        if self.tiny:
            self.folds = 2
        super().__post_init__()
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(f"parts: unknown {part!r}; known: {', '.join(PARTS)}")


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {part}": [
            run_of(settings, dataset, part, seed, fold, commit)
            for seed in settings.seeds
            for fold in ([None] if dataset in OWN_SPLITS else range(settings.folds))
        ]
        for dataset in settings.datasets
        for part in settings.parts
    }
    run_all(runs, f"default settings: {settings.score} accuracy, mean ± sd", settings)


def run_of(settings: Settings, dataset: str, part: str, seed: int, fold: int | None, commit: str) -> ClassifierRun:
    """Return one training with the default settings.

    Args:
        settings: of the recipe.
        dataset: one of the sets, or a Hub id, folder or file.
        part: of `PARTS`.
        seed, fold, commit: see `RunSpec`.
    """
    preset = preset_of_part(part)
    if settings.deep_scale is not None:
        preset = preset.changed(deep_scale=settings.deep_scale)
    if settings.tiny:
        few = {name: min(64, preset.data[name]) for name in ("ngram_buckets", "char_ngram_buckets")}
        preset = preset.changed(min_word_count=1, epochs=1, batch_size=32, **few)
    chosen = {"dataset": SENTENCE_DATASETS.get(dataset, dataset), **DOCUMENT_DATASETS.get(dataset, {})}
    # One setting for all: how the recipes of papers cut words and hold out validation rows is not taken over.
    data = {name: chosen[name] for name in ("dataset", "text_column") if name in chosen}
    folds = {} if fold is None else {"folds": settings.folds, "fold": fold}
    trainer = {name: preset.trainer[name] for name in ("epochs", "patience", "gradient_clip")}
    spec = settings.spec(
        recipe=RECIPE,
        architecture=ARCHITECTURE,
        variant=part,
        dataset=data["dataset"],
        seed=seed,
        fold=fold,
        commit=commit,
        settings={**preset.settings(), **reported_settings(settings), **({"own_splits": True} if fold is None else {})},
        tag=settings.name,
    )
    return ClassifierRun(
        spec=spec,
        config={
            "model_type": f"ctxzoo_{ARCHITECTURE}",
            **preset.config,
            **(TINY if settings.tiny else {}),
        },
        data={**preset.data, **data, **folds, "data_dir": settings.data_dir, "fold_seed": seed, "seed": seed},
        task=dict(preset.task),
        trainer=settings.trainer(seed, **trainer),
        zeroed=("classifier.weight", "classifier.bias") if part == "wide" else (),
        **preset.run,
    )


def preset_of_part(part: str) -> Preset:
    """Return the default settings, or those of a control that leaves the network or the linear classifier out."""
    preset = default_preset(ARCHITECTURE, VARIANT, ARCHITECTURES[ARCHITECTURE].config_class.variants[VARIANT])
    if part == "wide":
        return preset.changed(epochs=1)  # the network's scores are 0 and stay so
    if part == "deep":
        changes: dict[str, Any] = {"ngram_order": 1, "ngram_buckets": 0, "char_ngrams": None, "char_ngram_buckets": 0}
        return preset.changed(**changes, wide=False, wide_dropout=0.0, deep_scale=1.0)
    return preset


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
