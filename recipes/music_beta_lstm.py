"""Polyphonic music with the bivariate Beta-LSTM and the cells beside it, on the four sets that papers use.

    python recipes/music_beta_lstm.py                              every cell on the chorales
    python recipes/music_beta_lstm.py --dataset nottingham piano_midi --cells lstm bibeta5 bibeta5_prior
    python recipes/music_beta_lstm.py --seeds 0 1 2 --patience 20
    python recipes/music_beta_lstm.py --dataset sample --tiny      no network needed
    python recipes/music_beta_lstm.py --score validation           to choose settings: test is left alone
    python recipes/music_beta_lstm.py --resume                     finished runs are kept, the others go on

Datasets: jsb_chorales, nottingham, muse_data, piano_midi, sample; or any Hub id, folder or file of music. The settings
are the authors', with sizes by which all cells have about as many parameters; bibeta5_prior is bibeta5 with their
prior, whose weight is 1 on the chorales and 0.001 elsewhere. --name tells runs with other settings from them. A YAML
file of settings may come first. recipes/music_floors.py has the bars that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.polyphonic_music.data import MUSIC_DATASETS
from ctxzoo.tasks.polyphonic_music.run import CELLS, MusicSettings, music_run

RECIPE = "music_beta_lstm"


@dataclass
class Settings(MusicSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["jsb_chorales"], metadata={"help": f"of {', '.join(MUSIC_DATASETS)}; or any other"}
    )
    cells: list[str] = field(default_factory=lambda: list(CELLS), metadata={"help": f"of {', '.join(CELLS)}"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the authors"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {cell}": [
            music_run(settings, dataset, cell, seed=seed, recipe=RECIPE, commit=commit, tag=settings.name)
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for cell in settings.cells
    }
    run_all(
        runs, f"polyphonic music: {settings.score} nats of a step and frame accuracy, mean ± sd over seeds", settings
    )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
