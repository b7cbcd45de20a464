"""Linear baselines on MR, CR, SUBJ and MPQA, over the folds of the neural models.

    python recipes/sentence_linear.py                          all bars and the majority class, all four datasets
    python recipes/sentence_linear.py --datasets sample        no network needed
    python recipes/sentence_linear.py --datasets SetFit/CR --models bigram_nbsvm
    python recipes/sentence_linear.py --models fasttext fasttext_autotuned     needs fasttext-wheel
    python recipes/sentence_linear.py --resume                 finished folds are kept

The baselines are those of `ctxzoo.tasks.text_classification.linear`. They are fitted on the whole training
part of a fold, with the tenth of it that neural models hold out to pick their best epoch: no epoch is picked here.
Those called "tuned" choose their C by a cross-validation of that training part. With --score validation the tenth is
scored and not fitted, and the test part is left alone.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import RunSettings, run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from ctxzoo.tasks.text_classification.linear import FASTTEXT, LINEAR_BASELINES, MAJORITY_CLASS, TUNED_LINEAR, LinearRun

RECIPE = "sentence_linear"
MODELS = (*LINEAR_BASELINES, *TUNED_LINEAR, MAJORITY_CLASS)


@dataclass
class Settings(RunSettings):
    folds: int = field(default=5, metadata={"help": "of the cross-validation, which the seeds draw too"})
    datasets: list[str] = field(
        default_factory=lambda: list(SENTENCE_DATASETS.values()),
        metadata={"help": "Hub ids, folders, files, or: sample"},
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
        f"{Path(dataset).name}, {model}": [
            LinearRun(
                recipe=RECIPE,
                variant=model,
                dataset=dataset,
                folds=settings.folds,
                fold=fold,
                seed=seed,
                commit=commit,
                score=settings.score,
                data_dir=settings.data_dir,
                results_dir=settings.results_dir,
            )
            for seed in settings.seeds
            for fold in range(settings.folds)
        ]
        for dataset in settings.datasets
        for model in settings.models
    }
    title = f"linear baselines: {settings.score} accuracy over {settings.folds} folds, mean ± sd"
    run_all(runs, title, settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
