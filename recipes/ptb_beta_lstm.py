"""Language models of the Penn Treebank with the bivariate Beta-LSTM and the cells beside it.

    python recipes/ptb_beta_lstm.py                              lstm, coupled, g2, beta and bibeta5
    python recipes/ptb_beta_lstm.py --cells lstm bibeta5 bibeta5_prior --seeds 0 1 2
    python recipes/ptb_beta_lstm.py --dataset sample --tiny      no network needed
    python recipes/ptb_beta_lstm.py --score validation           to choose settings: test is left alone
    python recipes/ptb_beta_lstm.py --resume                     finished runs are kept, the others go on

Datasets: ptb, sample; or any Hub id, folder or file of lines. All cells have as many parameters as the LSTM with two
layers of 200 units: words and softmax have weights of their own, so that the units of a layer are the one size that
differs. Twenty streams of the text are read side by side in windows of 35 words, the recurrent state carried along.
bibeta5_prior is bibeta5 with a prior on its Gamma variables. --name tells runs with other settings from them. A YAML
file of settings may come first. recipes/ptb_floors.py has the bars that count.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.language_modelling.data import TEXT_DATASETS
from ctxzoo.tasks.language_modelling.run import CELLS, LanguageModelSettings, language_model_run

RECIPE = "ptb_beta_lstm"
COMPARED = ("lstm", "coupled", "g2", "beta", "bibeta5")


@dataclass
class Settings(LanguageModelSettings):
    dataset: str = field(default="ptb", metadata={"help": f"of {', '.join(TEXT_DATASETS)}; or any other"})
    cells: list[str] = field(default_factory=lambda: list(COMPARED), metadata={"help": f"of {', '.join(CELLS)}"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the table"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{settings.dataset}, {cell}": [
            language_model_run(
                settings, settings.dataset, cell, seed=seed, recipe=RECIPE, commit=commit, tag=settings.name
            )
            for seed in settings.seeds
        ]
        for cell in settings.cells
    }
    run_all(
        runs, f"language modelling: {settings.score} perplexity and nats of a token, mean ± sd over seeds", settings
    )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
