"""Linear baselines of documents, on the splits of the neural models.

    python recipes/document_linear.py                          all bars, all datasets of recipes/document_lama.py
    python recipes/document_linear.py --dataset sample         no network needed
    python recipes/document_linear.py --dataset imdb --models bigram_nblr
    python recipes/document_linear.py --models fasttext fasttext_autotuned     needs fasttext-wheel
    python recipes/document_linear.py --resume                 finished runs are kept

The baselines are those of `ctxzoo.tasks.text_classification.linear`. They are fitted on the training and
the validation documents together. Those called "tuned" choose their C by a cross-validation of these, so that no test
document has a say. Nothing is drawn, so one seed is enough. With --score validation the validation documents are
scored and not fitted, and those of test are left alone.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.experiments import DOCUMENT_DATASETS, document_dataset, tag_of
from ctxzoo.tasks.text_classification.linear import DOCUMENT_BASELINES, FASTTEXT, TUNED_DOCUMENT, LinearRun

RECIPE = "document_linear"
MODELS = (*DOCUMENT_BASELINES, *TUNED_DOCUMENT)
# imdb_blocks differs from imdb in its validation alone, on which the baselines train too.
DATASETS = [name for name in DOCUMENT_DATASETS if name not in ("sample", "imdb_blocks")]


@dataclass
class Settings(RunSettings):
    dataset: list[str] = field(
        default_factory=lambda: list(DATASETS), metadata={"help": f"of {', '.join(DOCUMENT_DATASETS)}, or a Hub id"}
    )
    models: list[str] = field(
        default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join((*MODELS, *FASTTEXT))}"}
    )


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in (*MODELS, *FASTTEXT):
            raise ValueError(f"models: {model!r} is not one of {', '.join((*MODELS, *FASTTEXT))}")
    commit = git_commit()
    runs = {
        f"{name}, {model}": [run_of(name, model, seed, settings, commit) for seed in settings.seeds]
        for name in settings.dataset
        for model in settings.models
    }
    title = f"linear baselines of documents: {settings.score} accuracy"
    run_all(runs, title, settings)


def run_of(name: str, model: str, seed: int, settings: Settings, commit: str) -> LinearRun:
    data = document_dataset(name)
    dataset = data.pop("dataset")
    if settings.score == "test":
        for of_validation in ("dev_share", "dev_block"):  # the baselines train on validation too
            data.pop(of_validation, None)
    return LinearRun(
        recipe=RECIPE,
        variant=model,
        dataset=dataset,
        seed=seed,
        commit=commit,
        score=settings.score,
        data=data,
        data_dir=settings.data_dir,
        tag=tag_of(name),
        results_dir=settings.results_dir,
    )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
