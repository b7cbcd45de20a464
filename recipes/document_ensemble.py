"""Several seeds of a document classifier as one, by the mean of their probabilities.

    python recipes/document_ensemble.py                                        LAMA+ctx on Reuters-8, seeds 0, 1, 2
    python recipes/document_ensemble.py --dataset reuters8 imdb --name all_levers
    python recipes/document_ensemble.py --dataset sample --model lama --seeds 0 1

Nothing is trained: the checkpoints that recipes/document_lama.py left in --runs_dir are scored together. --name and
--score are those that the runs were given.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console
from rich.table import Table

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RESULTS_DIR, RunResult, build_result_path, read_result, write_result_file
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, RunArgs, Score
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import Run, execute
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.experiments import DEV_SEED, PROBLEM, build_result_tag, get_document_dataset
from ctxzoo.tasks.text_classification.task import evaluate_ensemble
from ctxzoo.training.arguments import SEED, SIZE, Args, number_field

RECIPE = "document_ensemble"
MEMBERS = "document_lama"


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is scored together.

    Args:
        dataset: Names of datasets known to recipes/document_lama.py.
        model: Names of models known to recipes/document_lama.py.
        name: Name (--name) with which the member runs were trained; empty: none.
        seeds: Seeds of the member runs, two or more, whose probabilities are averaged.
        batch_size: Number of documents in a batch.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        runs_dir: Folder of checkpoints of the trained runs.
        results_dir: Folder of results files, one JSON file for each run.
        score: Split to score; validation: the test split is not touched.
        progress: Whether progress bars are shown.
    """

    dataset: tuple[str, ...] = ("reuters8",)
    model: tuple[str, ...] = ("lama_ctx",)
    name: str = ""
    seeds: tuple[int, ...] = number_field((0, 1, 2), SEED)
    batch_size: int = number_field(64, SIZE)
    data_dir: str | None = None
    runs_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    score: Score = "test"
    progress: bool = True

    def __post_init__(self) -> None:
        """Check that at least two seeds are given."""
        super().__post_init__()
        if len(set(self.seeds)) < 2:
            raise ValueError(f"seeds={self.seeds}: the mean of one is that one; name two different seeds or more")


def main(settings: Settings) -> None:
    """Score the seeds of each model as one classifier on every dataset, and print a table."""
    table = Table("documents", "seeds alone", "together", title=f"{settings.score} accuracy")
    for dataset in settings.dataset:
        for model in settings.model:
            members = [find_finished_run(settings, dataset, model, seed) for seed in sorted(set(settings.seeds))]
            result = execute(build_ensemble_run(settings, dataset, members))
            accuracies = [one.metrics[f"{settings.score}/accuracy"] for one in (*(run for run, _ in members), result)]
            *alone, of_all = (f"{accuracy:.2f}" for accuracy in accuracies)
            table.add_row(f"{dataset}, {model}", " ".join(alone), of_all)
    Console().print(table)


def find_finished_run(settings: Settings, dataset: str, model: str, seed: int) -> tuple[RunResult, Path]:
    """Return the results and the checkpoint folder of one trained seed, a member of the ensemble.

    Raises:
        FileNotFoundError: one of them is not there.
    """
    results_file = build_result_path(
        settings.results_dir,
        recipe=MEMBERS,
        variant=model,
        dataset=get_document_dataset(dataset)["dataset"],
        split=settings.score,
        seed=seed,
        tag=build_result_tag(dataset, settings.name),
    )
    checkpoint = Path(settings.runs_dir) / MEMBERS / results_file.stem / "checkpoint"
    for file in (results_file, checkpoint / "config.json"):
        if not file.is_file():
            name = "" if settings.score == "test" else f" --score {settings.score}"
            name += f" --name {settings.name} and the settings of that name" if settings.name else ""
            raise FileNotFoundError(
                f"no {file}; make it with: python recipes/{MEMBERS}.py --dataset {dataset} --model {model} "
                f"--seeds {seed}{name}"
            )
    return read_result(results_file), checkpoint


@dataclass(frozen=True, kw_only=True)
class EnsembleModel(ModelArgs):
    """Classifiers that are scored as one.

    Args:
        seeds: Seeds with which the members were trained.
    """

    seeds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class EnsembleRun(Run):
    """Members that are scored as one classifier, on the splits of which their own results hold scores.

    Attributes:
        experiment: Experiment that gives data, split and the members' seeds.
        documents: Name of the dataset, one of those of recipes/document_lama.py.
        members: Results and checkpoint folder of each member; members differ only in their seeds.
        batch_size: Number of documents in a batch.
        progress: Whether progress bars are shown.
    """

    card: ClassVar[TaskCard] = CARD
    reads: ClassVar[tuple[str, ...]] = ("seeds",)

    experiment: Experiment
    documents: str
    members: list[tuple[RunResult, Path]]
    batch_size: int
    progress: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the first member, and the seeds of all."""
        return {**self.members[0][0].settings, **super().settings}

    def work(self, *, resume: bool) -> None:
        """Score the mean of the members' probabilities, and write the results file."""
        runs = [run for run, _ in self.members]
        first, arguments = runs[0], get_document_dataset(self.documents)
        started = time.perf_counter()
        scores = evaluate_ensemble(
            [str(checkpoint) for _, checkpoint in self.members],
            arguments.pop("dataset"),
            tuple(split for split in ("validation", "test") if f"{split}/accuracy" in first.metrics),
            batch_size=self.batch_size,
            progress=self.progress,
            data_dir=self.experiment.run.data_dir,
            fold_seed=DEV_SEED,
            max_length=first.settings["max_length"],
            **arguments,
        )
        result = self.build_result(
            metrics={f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            parameters={kind: sum(run.parameters[kind] for run in runs) for kind in ("trainable", "total")},
            fingerprint=first.data["fingerprint"],
            seconds=time.perf_counter() - started,
        )
        write_result_file(result, self.results_file)


def build_ensemble_run(settings: Settings, dataset: str, members: list[tuple[RunResult, Path]]) -> EnsembleRun:
    """Return the run that scores several trained seeds as one classifier.

    Raises:
        ValueError: members that differ in more than the seed.
    """
    runs = [run for run, _ in members]
    first = runs[0]
    for run in runs[1:]:
        if (run.settings, run.data) != (first.settings, first.data):
            raise ValueError(
                f"seeds {first.seed} and {run.seed} of {first.variant} on {first.dataset} differ in their settings or "
                "data; train one of them again"
            )
    seeds = tuple(run.seed for run in runs)
    experiment = Experiment(
        problem=PROBLEM,
        recipe=RECIPE,
        data=DataArgs(dataset=first.dataset),
        model=EnsembleModel(architecture=first.architecture, variant=first.variant, seeds=seeds),
        run=RunArgs(data_dir=settings.data_dir, output_dir=settings.runs_dir, results_dir=settings.results_dir),
        seed=first.seed,
        score=settings.score,
        tag=first.tag,
        commit=git_commit(),
    )
    return EnsembleRun(
        experiment=experiment,
        documents=dataset,
        members=members,
        batch_size=settings.batch_size,
        progress=settings.progress,
    )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
