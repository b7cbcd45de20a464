"""What the gates of the Beta-LSTM learn of music: the correlation of input and forget gate, before training and after.

    python recipes/music_gates.py                                        bibeta5 with and without prior, chorales
    python recipes/music_gates.py --dataset nottingham --cells bibeta5 bibeta3 --seeds 0 1
    python recipes/music_gates.py --dataset sample                       no network needed
    python recipes/music_gates.py --resume                               what is finished is kept

Reads the checkpoints that recipes/music_beta_lstm.py left in --output_dir, those of its --name where one is given, and
draws the start of the same seed anew; nothing is trained. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RESULTS_DIR, RunResult
from ctxzoo.runs.experiment import Score
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.polyphonic_music.experiments import build_paper_experiment, set_dataset_and_cell
from ctxzoo.tasks.polyphonic_music.gates import GatesRun
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.training.arguments import SEED, SIZE, Args, number_field

RECIPE, TRAINED_BY = "music_gates", "music_beta_lstm"
START = "start/"


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is read.

    Args:
        dataset: Names of datasets: jsb_chorales, nottingham, muse_data, piano_midi, sample; or any other Hub id, folder
            or file.
        cells: Names of LSTM cells, variants that `ctxzoo info beta_lstm` lists, or bibeta5_prior.
        seeds: Seeds of the trained models to read.
        name: Name (--name) with which the models were trained; empty: none.
        samples: Number of draws of each unit's gates at each time step, to estimate their correlation.
        score: Split to read; validation: the test split is not touched.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        resume: Whether finished runs with the same settings are kept.
        output_dir: Folder of the trained models' checkpoints.
        results_dir: Folder of results files, one JSON file for each run.
    """

    dataset: tuple[str, ...] = ("jsb_chorales",)
    cells: tuple[str, ...] = ("bibeta5", "bibeta5_prior")
    seeds: tuple[int, ...] = number_field((0,), SEED)
    name: str = ""
    samples: int = number_field(50, SIZE)
    score: Score = "test"
    data_dir: str | None = None
    resume: bool = False
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR


def main(settings: Settings) -> None:
    """Measure the gates of trained Beta-LSTMs of music, write results files, and print a table."""
    commit = git_commit()
    trained = build_paper_experiment().copy_with(
        recipe=TRAINED_BY,
        data_dir=settings.data_dir,
        output_dir=settings.output_dir,
        score=settings.score,
        tag=settings.name,
    )
    runs = [
        GatesRun(
            recipe=RECIPE,
            commit=commit,
            trained=ExperimentRun(POLYPHONIC_MUSIC, set_dataset_and_cell(trained, dataset, cell).copy_with(seed=seed)),
            samples=settings.samples,
            results_dir=settings.results_dir,
        )
        for dataset in settings.dataset
        for cell in settings.cells
        for seed in settings.seeds
    ]
    print(*(f"reads {run.weights_file}" for run in runs), sep="\n")  # where one is missing, it ends before any is read
    table = Table("data", "cell", "seed", "layer", "correlation before", "after", title="correlation of i and f")
    for run in runs:
        for row in format_layer_rows(execute(run, resume=settings.resume)):
            table.add_row(*row)
    Console().print(table)


def format_layer_rows(result: RunResult) -> list[list[str]]:
    """Return the cells of the printed table for a run, a row for each layer: correlations before and after training."""
    rows = []
    layer = 1
    while (key := f"{result.split}/layer{layer}/correlation") in result.metrics:
        start = result.metrics[f"{result.split}/layer{layer}/{START}correlation"]
        after = result.metrics[key]
        names = [result.tag or result.dataset, result.variant, str(result.seed)]
        rows.append([*names, str(layer), f"{start:+.3f}", f"{after:+.3f}"])
        layer += 1
    return rows


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
