"""Regression of rows on each other: dot-product attention, an RBF kernel, IKAN, IKA, MIKAN, and Gaussian processes.

    python recipes/regression_ika.py                                    all models on airline, ten splits
    python recipes/regression_ika.py --dataset co2 --models dot mikan
    python recipes/regression_ika.py --splits own                       the dataset's own split
    python recipes/regression_ika.py --protocol best_test               as IKA's code: the best test error of all epochs
    python recipes/regression_ika.py --dataset sample --tiny            no network needed
    python recipes/regression_ika.py --score validation                 to choose settings: test is left alone
    python recipes/regression_ika.py --resume                           finished runs are kept, the others go on

All rows of a dataset are one sequence, and the loss counts the training rows alone. The epoch is chosen on validation
rows, a tenth of all, that are cut from the training rows. Results files keep the squared error of each row. --name
tells runs with other settings apart. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.regression.baselines import BASELINES, BaselineRun
from ctxzoo.tasks.regression.data import REGRESSION_DATASETS, regression_dataset
from ctxzoo.tasks.regression.run import ATTENTIONS, RegressionSettings, data_arguments, regression_run, run_tag

RECIPE = "regression_ika"
OWN = "own"
MODELS = (*BASELINES, *ATTENTIONS)


@dataclass
class Settings(RegressionSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["airline"], metadata={"help": f"of {', '.join(REGRESSION_DATASETS)}; or any other"}
    )
    models: list[str] = field(default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join(MODELS)}"})
    splits: list[str] = field(
        default_factory=lambda: [str(number) for number in range(10)],
        metadata={"help": f"numbers of random splits; {OWN}: that of the dataset"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings apart"})


def main(settings: Settings) -> None:
    for model in settings.models:
        if model not in MODELS:
            raise ValueError(f"models: {model!r} is not one of {', '.join(MODELS)}")
    numbers = []
    for split in settings.splits:
        if split != OWN and not split.isdecimal():
            raise ValueError(f"splits: {split!r} is neither a number from 0 nor {OWN}")
        numbers.append(None if split == OWN else int(split))
    commit = git_commit()
    runs: dict[str, list[object]] = {}
    for dataset in settings.dataset:
        config_name = regression_dataset(dataset)["config_name"]
        for model in settings.models:
            made: list[object] = []
            for seed in settings.seeds:
                for number in numbers:
                    if model in ATTENTIONS:
                        made.append(
                            regression_run(
                                settings,
                                dataset,
                                model,
                                seed=seed,
                                recipe=RECIPE,
                                commit=commit,
                                split_number=number,
                                tag=settings.name,
                            )
                        )
                        continue
                    made.append(
                        BaselineRun(
                            recipe=RECIPE,
                            variant=model,
                            commit=commit,
                            seed=seed,
                            fold=number,
                            data=data_arguments(settings, dataset, number, seed),
                            score=settings.score,
                            tag=run_tag(config_name, settings.protocol, settings.name),
                            output_dir=settings.output_dir,
                            results_dir=settings.results_dir,
                        )
                    )
            runs[f"{dataset}, {model}"] = made
    run_all(runs, f"regression: {settings.score} RMSE and R2, mean ± sd over splits and seeds", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
