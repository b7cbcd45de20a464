"""The picture of the errors of recipes/regression_ika.py, from its results files.

    python reports/regression_figures.py --results results --figures_dir docs/pictures/regression

errors: test RMSE of attention and of simple models on each set, in percent of that of the training rows' mean, the mean
over random splits with a bar of one deviation. Parkinsons is left out: its random rows are no test. It is written as a
PNG file with a CSV file beside; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.plots import COLOURS, remove_axes_box
from ctxzoo.results.result import RunResult, read_results
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import Args
from reports.recipe_figures import TableRows, check_figures, draw_figures

RECIPE = "regression_ika"
SETS = ("airline", "co2", "concrete")
MODELS = {  # variant -> label
    "ridge": "ridge regression",
    "gp_rbf": "Gaussian process, RBF",
    "gp_sm": "Gaussian process,\nspectral mixture",
    "dot": "attention: dot products",
    "rbf": "attention: rbf",
    "ikan_direct": "attention: ikan, direct",
    "ika": "attention: ika",
    "mikan": "attention: mikan",
}
MARKERS = "os^"  # of the sets, in their order


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
    figures_dir: str = "runs/regression_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure."""
        super().__post_init__()
        check_figures(self.only, FIGURES)


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_errors(settings: Settings, folder: Path) -> TableRows:
    """Draw the test errors of regression models on each data set.

    Returns the rows of the CSV file: set, model, splits, RMSE, and mean and deviation in percent of the RMSE of
    predicting the mean.

    Raises:
        ValueError: a set has no results of the training rows' mean, or there is nothing beside it.
    """
    results = read_results(Path(settings.results))
    rows: TableRows = []
    for dataset in SETS:
        baseline = list_test_errors(results, dataset, "mean")
        if not baseline:
            raise ValueError(
                f"results={settings.results!r} holds no mean of {dataset} of recipes/{RECIPE}.py; run it first"
            )
        percent = 100 / statistics.fmean(baseline)
        for variant in MODELS:
            if values := list_test_errors(results, dataset, variant):
                mean, deviation = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
                scaled = (round(percent * mean, 2), round(percent * deviation, 2))
                rows.append([dataset, variant, len(values), round(mean, 2), *scaled])
    if not rows:
        raise ValueError(f"results={settings.results!r} holds no model of recipes/{RECIPE}.py beside the mean")
    plot_errors(rows, folder / "errors.png")
    return [["set", "model", "splits", "RMSE", "percent of the mean's", "deviation"], *rows]


def plot_errors(rows: TableRows, path: Path) -> None:
    """Draw a line for each model from the last two columns of `rows`: a point and its error bar for each data set."""
    figure = new_figure(6.2, 3.9)
    axes = figure.subplots()
    heights = {variant: height for height, variant in enumerate(MODELS)}
    for number, (dataset, marker) in enumerate(zip(SETS, MARKERS, strict=True)):
        set_rows = [row for row in rows if row[0] == dataset]
        axes.errorbar(
            [row[4] for row in set_rows],
            [heights[str(row[1])] + 0.18 * (number - 1) for row in set_rows],
            xerr=[row[5] for row in set_rows],
            color=COLOURS[number],
            marker=marker,
            linestyle="none",
            capsize=2,
            label=dataset,
        )
    axes.axvline(100, color="grey", linewidth=0.8)
    axes.set_yticks(range(len(MODELS)), list(MODELS.values()))
    axes.invert_yaxis()
    axes.set_xlim(0, 105)
    axes.set_xlabel("test RMSE, % of that of the training rows' mean (left is better)")
    axes.legend(frameon=False, loc="center right")
    remove_axes_box(axes)
    save_figure(figure, path)


def list_test_errors(results: Sequence[RunResult], dataset: str, variant: str) -> list[float]:
    """Return the test RMSE of each split of a dataset, of runs whose epoch was chosen on validation."""
    return [
        run.metrics["test/rmse"]
        for run in results
        if (run.recipe, run.tag, run.variant, run.split) == (RECIPE, dataset, variant, "test")
    ]


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"errors": draw_errors}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
