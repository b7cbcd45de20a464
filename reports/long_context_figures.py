"""The picture of accuracy by length of recipes/long_context_esa.py, from its results files.

    python reports/long_context_figures.py --results results --figures_dir docs/pictures/context_encoder

lengths: test accuracy of copying and of associative recall by the length of a sequence, for softmax attention and each
feature map of ESA. It is written as a PNG file with a CSV file beside; `figures.json` says how they were made. Times by
length, measured side by side, are those of benchmarks/context_attention.py.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.result import read_results
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import Args
from reports.recipe_figures import TableRows, check_figures, draw_figures
from reports.tables_encoders import LENGTHS, LOOKUP_PROBES, LOOKUPS, select_probe_runs

MARKERS = "os^d"  # of the attentions, in their order
TITLES = {"copy": "copying", "recall": "associative recall"}


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        results: Folder of results files to read.
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    results: str = "results"
    figures_dir: str = "runs/long_context_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure."""
        super().__post_init__()
        check_figures(self.only, FIGURES)


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_lengths(settings: Settings, folder: Path) -> TableRows:
    """Draw accuracy on generated tasks by sequence length.

    Returns the rows of the CSV file: attention, task, length and mean accuracy.

    Raises:
        ValueError: there are no results to draw.
    """
    results = read_results(Path(settings.results))
    rows: TableRows = []
    for variant in LOOKUPS:
        for probe in LOOKUP_PROBES:
            for length in LENGTHS:
                if runs := select_probe_runs(results, variant, probe, length):
                    accuracy = statistics.fmean(run.metrics["test/accuracy"] for run in runs)
                    rows.append([variant, probe, length, round(accuracy, 2)])
    if not rows:
        raise ValueError(f"results={settings.results!r} holds none of recipes/long_context_esa.py; run it first")
    figure = new_figure(7.2, 3.0)
    panels = figure.subplots(1, len(LOOKUP_PROBES), sharey=True)
    for panel, probe in zip(panels, LOOKUP_PROBES, strict=True):
        for marker, (variant, label) in zip(MARKERS, LOOKUPS.items(), strict=True):
            lookup_rows = [row for row in rows if row[:2] == [variant, probe]]
            panel.plot([row[2] for row in lookup_rows], [row[3] for row in lookup_rows], marker=marker, label=label)
        panel.set(title=TITLES[probe], xlabel="tokens", ylim=(0, 105))
        panel.set_xscale("log", base=2)
        panel.set_xticks(LENGTHS, labels=list(map(str, LENGTHS)))
    panels[0].set_ylabel("accuracy (%)")
    panels[0].legend(fontsize=7)
    save_figure(figure, folder / "lengths.png")
    return [["attention", "probe", "tokens", "test accuracy"], *rows]


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"lengths": draw_lengths}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
