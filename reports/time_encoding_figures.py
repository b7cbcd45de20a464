"""The picture of LSTE's kernel over a person's history, from a checkpoint of recipes/badges_lste.py.

    python reports/time_encoding_figures.py --checkpoint model_cards/lste-badges

kernel: K of the times of the longest history of a split, and K(t, t), the local power, over time; of the events only
their times are drawn. It is written as a PNG file with a CSV file beside; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.next_event import HistoryDataModule, draw_time_kernel, time_kernel
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS
from ctxzoo.training.arguments import Args, Range, number_field
from reports.recipe_figures import TableRows, check_figures, draw_figures


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        checkpoint: Checkpoint of a time encoder whose position encoding is the time kernel LSTE (position='lste').
        only: Names of the figures to draw; none: all of them.
        dataset: Name of the dataset: badges, movielens_100k, sample; or any other Hub id, folder or file.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        split: Name of the split from which the history is taken.
        events: Number of events to read, from the beginning of the history.
        figures_dir: Folder into which the figures are written.
    """

    checkpoint: str = ""
    only: tuple[str, ...] = ()
    dataset: str = "badges"
    data_dir: str | None = None
    split: str = "validation"
    events: int = number_field(60, Range(2))
    figures_dir: str = "runs/time_encoding_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure, and that a checkpoint is named."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoint:
            raise ValueError("--checkpoint names nothing; give a checkpoint folder or Hub id")


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_kernel(settings: Settings, folder: Path) -> TableRows:
    """Draw the learned time kernel K over one person's history of events.

    Returns the rows of the CSV file: an event's time since the first, its local power, and K with the first.
    """
    model: Any = load_saved_model(settings.checkpoint)[0]
    source = HISTORY_DATASETS.get(settings.dataset, settings.dataset)
    names = model.config.get_row_names()
    data = HistoryDataModule(source, data_dir=settings.data_dir, event_names=names, divide=False)
    data.setup()
    history = max(data.sequences(settings.split), key=len)
    events = [model.config.get_row_name(row) for row in history.events[: settings.events].tolist()]
    times = history.times[: settings.events].tolist()
    draw_time_kernel(model, events, times, folder / "kernel.png")
    kernel = time_kernel(model, events, times)[0]
    rows: TableRows = [["units since the first", "K with itself", "K with the first"]]
    for place, time in enumerate(times):
        elapsed = (time - times[0]) / model.config.time_unit
        rows.append([round(elapsed, 4), round(float(kernel[place, place]), 4), round(float(kernel[place, 0]), 4)])
    return rows


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"kernel": draw_kernel}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
