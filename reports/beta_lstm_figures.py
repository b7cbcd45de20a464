"""Pictures of the gates of the Beta-LSTM (Song et al. 2020), and of what one expects of a piece of music.

    python reports/beta_lstm_figures.py --music FOLDER                     both of them
    python reports/beta_lstm_figures.py --only densities --figures_dir docs/pictures/beta_lstm
    python reports/beta_lstm_figures.py --only roll --music FOLDER --piece own.mid

- densities: the input gate and the forget gate as the cell `bibeta5` draws them, of shapes that make them disagree and
  of shapes that make them agree; no checkpoint is needed;
- roll: what sounds at each step of a piece, and the probability that the model gave it from the steps before. The piece
  is generated unless a file is given.

Each writes a CSV file and a PNG file into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.ops_beta_lstm_gates import CELLS, compute_gamma_ratios, draw_gammas, split_input_forget
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.polyphonic_music.continuation import predict_roll
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.picture import draw_gate_densities, draw_prediction
from ctxzoo.tasks.polyphonic_music.rolls import Roll
from ctxzoo.training.arguments import SEED, Args, number_field
from reports.recipe_figures import TableRows, check_figures, draw_figures

# U3 is in i and against f, U4 the other way round; U5 is against both.
SHAPES = {"U3 and U4 lead": (0.3, 0.3, 2.0, 2.0, 0.3), "U1, U2, U5 lead": (1.0, 1.0, 0.1, 0.1, 1.0)}
DRAWS = 200_000


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        music: Checkpoint of a model that reads music, for the figure "roll".
        piece: Music file for the figure "roll", whose first piece is read; or sample.
        seed: Seed of the draws of the figure "densities".
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    music: str = ""
    piece: str = "sample"
    seed: int = number_field(0, SEED)
    figures_dir: str = "runs/beta_lstm_figures"

    def __post_init__(self) -> None:
        """Check the options: known figures, and a checkpoint where the piano roll is drawn."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.music and "roll" in (self.only or FIGURES):
            raise ValueError("--music names nothing; give a checkpoint folder or Hub id, or --only densities")


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_roll(settings: Settings, folder: Path) -> TableRows:
    """Draw the keys that a model predicts for a piece of music, with those that sound.

    Returns the rows of the CSV file: step, keys that sound, and the probability of each key.
    """
    model, _ = load_saved_model(settings.music)
    piece = load_first_piece(settings)
    probabilities = predict_roll(model, piece)
    draw_prediction(piece, probabilities, folder / "roll.png")
    rows: TableRows = [["step", "keys", "probability of each"]]
    for step, (sounds, given) in enumerate(zip(piece[1:], probabilities, strict=True), start=1):
        keys = np.flatnonzero(sounds)
        rows.append([step, " ".join(map(str, keys)), " ".join(f"{value:.3f}" for value in given[keys])])
    return rows


def draw_densities(settings: Settings, folder: Path) -> TableRows:
    """Draw the joint density of a Beta-LSTM's input and forget gate for some shapes.

    Returns the rows of the CSV file: panel, shapes, means and correlation.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    cell = CELLS["bibeta5"]
    draws: dict[str, NDArray[np.float32]] = {}
    for name, shapes in SHAPES.items():
        gammas = draw_gammas(torch.tensor(shapes).expand(DRAWS, -1), generator)  # (DRAWS, 5)
        draws[name] = (
            torch.stack(split_input_forget(compute_gamma_ratios(cell, gammas.unsqueeze(-1)), cell), dim=1)
            .squeeze(-1)
            .numpy()
        )
    draw_gate_densities(draws, folder / "densities.png")
    rows: TableRows = [["panel", "shapes of U1 to U5", "mean of i", "mean of f", "correlation"]]
    for name, values in draws.items():
        correlation = np.atleast_2d(np.corrcoef(values.astype(np.float64).T))[0, 1]
        numbers = [round(float(value), 4) for value in (*values.mean(axis=0).tolist(), correlation)]
        rows.append([name, " ".join(map(str, SHAPES[name])), *numbers])
    return rows


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"roll": draw_roll, "densities": draw_densities}


def load_first_piece(settings: Settings) -> Roll:
    """Return the first piece of the music file, or of generated music the first of the test split."""
    data = PolyphonicMusicDataModule(settings.piece, divide=False)
    data.setup()
    return data.pieces("test" if "test" in data.splits else "train").roll(0)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
