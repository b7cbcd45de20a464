"""The curves of recipes/squad_bidaf.py over training, from its results files.

    python reports/bidaf_figures.py --results results --figures_dir docs/pictures/bidaf

curves: validation EM, F1 and loss of the main models on `squad_v1_mini` by epoch, the mean over seeds (Figure 7 of the
paper, which has curves by step on the official data). The literal self-attention is there with AdamW, of which all
seeds have kept their epochs. It is written as a PNG file with a CSV file beside; `figures.json` says how they were
made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.result import RunResult, read_results
from ctxzoo.results.table_parts import refuse_mixtures
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import Args
from reports.recipe_figures import TableRows, check_figures, draw_figures
from reports.tables_bidaf import ADADELTA, ADAMW, PRESENT_START, V1_MINI, VECTORS, bidaf_runs, is_plain, on_all_rows

MODELS = {  # label -> variant, optimizer
    "baseline": ("baseline", ADADELTA),
    "learned": ("learned", ADADELTA),
    "sinusoidal": ("sinusoidal", ADADELTA),
    "learned_char7": ("learned_char7", ADADELTA),
    "learned_attention, AdamW": ("learned_attention", ADAMW),
}
SCORES = {"exact": "EM", "f1": "F1", "nll": "loss (nats)"}


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Figures that are drawn; none: all of them.
        results: Folder of results files.
        figures_dir: Folder of the figures.
    """

    only: tuple[str, ...] = ()
    results: str = "results"
    figures_dir: str = "runs/bidaf_figures"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_figures(self.only, FIGURES)


def main(settings: Settings) -> None:
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def curves(settings: Settings, folder: Path) -> TableRows:
    """Draw validation scores by epoch; rows of model, seeds, epoch, and mean EM, F1 and loss.

    Raises:
        ValueError: there are no results to draw.
    """
    results = read_results(Path(settings.results))
    rows: TableRows = []
    for model, (variant, optimizer) in MODELS.items():
        runs = runs_of(results, variant, optimizer)
        for epoch in range(1, runs[0].settings["epochs"] + 1) if runs else ():
            means = [
                statistics.fmean(run.metrics[f"validation/epoch{epoch}/{name}"] for run in runs) for name in SCORES
            ]
            rows.append([model, len(runs), epoch, *(round(mean, 3) for mean in means)])
    if not rows:
        raise ValueError(f"results={settings.results!r} holds none of recipes/squad_bidaf.py; run it first")
    figure = new_figure(9.0, 3.0)
    for place, (panel, heading) in enumerate(zip(figure.subplots(1, len(SCORES)), SCORES.values(), strict=True)):
        for model in MODELS:
            found = [row for row in rows if row[0] == model]
            panel.plot([row[2] for row in found], [row[3 + place] for row in found], label=model)
        panel.set(title=heading, xlabel="epoch")
        if place == len(SCORES) - 1:  # curves fall there, and leave a corner free
            panel.legend(fontsize=7)
    save_figure(figure, folder / "curves.png")
    return [["model", "seeds", "epoch", *SCORES.values()], *rows]


def runs_of(results: list[RunResult], variant: str, optimizer: str) -> list[RunResult]:
    """Return the seeds of a variant with an optimizer, on the rows of every source, that start as today."""
    runs = [
        run
        for run in bidaf_runs(results, V1_MINI)
        if (run.variant, run.settings.get("optimizer")) == (variant, optimizer)
        and is_plain(run)
        and on_all_rows(run)
        and run.settings["product_start"] == PRESENT_START
        and run.settings.get("word_vectors") == VECTORS
    ]
    refuse_mixtures(runs)
    return runs


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"curves": curves}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
