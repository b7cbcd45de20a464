"""Pictures of a chamber (NIPEN, Song et al. 2018), from a checkpoint.

    python reports/nipen_figures.py --checkpoint FOLDER                  all of them
    python reports/nipen_figures.py --checkpoint FOLDER --only points

- points: ideal points coloured by party, beside NOMINATE's first dimension, which is no input of the model; |r| stands
  in the title;
- votes: how likely each legislator says yea to a bill, whose text is given, or which has a name.

Each writes a CSV file and a PNG file into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.data.sources import load_splits
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.vote_prediction.pictures import draw_ideal_points, draw_votes, ideal_points
from ctxzoo.tasks.vote_prediction.reader import format_legislator_names
from ctxzoo.training.arguments import COUNT, Args, number_field
from reports.recipe_figures import TableRows, check_figures, draw_figures


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        checkpoint: Checkpoint of a model trained by recipes/roll_call_nipen.py.
        only: Names of the figures to draw; none: all of them.
        dataset: Dataset that contains NOMINATE's ideal points, for the figure "points".
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        text: Text of a new bill, for the figure "votes".
        bill: Name of a training bill, for the figure "votes"; empty: the first.
        min_votes: Least number of votes for a legislator to enter the correlation |r|, for the figure "points".
        figures_dir: Folder into which the figures are written.
    """

    checkpoint: str = ""
    only: tuple[str, ...] = ()
    dataset: str = "ctxzoo-data/roll_call"
    data_dir: str | None = None
    text: str = ""
    bill: str = ""
    min_votes: int = number_field(500, COUNT)
    figures_dir: str = "runs/nipen_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure, and that a checkpoint is named."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoint:
            raise ValueError("--checkpoint names nothing; give a checkpoint folder or Hub id")


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_points(settings: Settings, folder: Path) -> TableRows:
    """Draw the legislators' ideal points beside their NOMINATE scores; return a row for each legislator."""
    model: Any = load_saved_model(settings.checkpoint)[0]
    nominate = load_nominate_scores(settings.dataset, settings.data_dir, settings.min_votes)
    agreement = draw_ideal_points(model, folder / "points.png", others=nominate)
    rows = zip(model.config.legislator_names, ideal_points(model).tolist(), strict=True)
    table: TableRows = [["legislator", "ideal point"], ["|r| with NOMINATE", round(agreement or 0.0, 4)]]
    return table + [[name, round(value, 4)] for name, value in rows]


def draw_vote_picture(settings: Settings, folder: Path) -> TableRows:
    """Draw how each legislator would vote on a bill; return a row for each, with the probability of a yea."""
    model: Any = load_saved_model(settings.checkpoint)[0]
    bill: str | int = settings.bill or (-1 if settings.text else model.config.get_bill_names()[0])
    draw_votes(model, settings.text, folder / "votes.png", bill=bill)
    table: TableRows = [["legislator", "yea"]]
    return table + [[name, round(yea, 4)] for name, yea in model.predict_votes(settings.text, bill)]


def load_nominate_scores(dataset: str, data_dir: str | None, min_votes: int) -> dict[str, float]:
    """Return the first NOMINATE dimension of legislators with at least `min_votes` votes, by name."""
    table = load_splits(dataset, data_dir, "legislators")["train"]
    names = format_legislator_names(table)
    rows = zip(names, table["nominate_dim1"], table["num_votes"], strict=True)
    return {name: value for name, value, number in rows if value is not None and number >= min_votes}


FIGURES = {"points": draw_points, "votes": draw_vote_picture}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
