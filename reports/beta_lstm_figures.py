"""Pictures of the gates of the Beta-LSTM (Song et al. 2020), from checkpoints.

    python reports/beta_lstm_figures.py --texts FOLDER --music FOLDER                 all of them
    python reports/beta_lstm_figures.py --only words --texts FOLDER --sentence "…"
    python reports/beta_lstm_figures.py --only roll densities --music FOLDER --piece own.mid

- words: the gates and their correlation at each word of a sentence, of a checkpoint of recipes/sentence_beta_lstm.py;
- roll: what sounds at each step of a piece, and the probability that the model gave it from the steps before;
- densities: the input gate and the forget gate of one unit while that piece is read, before the training and after; of
  the unit whose correlation the training changed most.

Each writes a CSV file and a PNG file into --figures_dir; `figures.json` says how they were made. The piece is generated
unless a file is given.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.polyphonic_music.continuation import predict_roll
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.gates import gates_of_split, start_of
from ctxzoo.tasks.polyphonic_music.picture import draw_gate_densities, draw_prediction, gate_draws
from ctxzoo.tasks.polyphonic_music.rolls import Roll
from ctxzoo.tasks.text_classification.pictures import draw_word_gates, word_gates
from ctxzoo.training.arguments import COUNT, SEED, Args, number
from reports.recipe_figures import TableRows, check_figures, draw_figures


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        texts: Checkpoint of a model that reads texts, for the figure "words".
        sentence: Sentence to read, for the figure "words".
        music: Checkpoint of a model that reads music, for the figures "roll" and "densities".
        piece: Music file for the figures "roll" and "densities", whose first piece is read; or sample.
        layer: Number of the layer for the figures "words" and "densities", from 0.
        seed: Seed with which --music was trained, to rebuild its initial weights.
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    texts: str = ""
    sentence: str = "the plot is thin , but the actors are so good that one hardly minds"
    music: str = ""
    piece: str = "sample"
    layer: int = number(0, COUNT)
    seed: int = number(0, SEED)
    figures_dir: str = "runs/beta_lstm_figures"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_figures(self.only, FIGURES)
        wanted = self.only or FIGURES
        for name, figures in (("texts", {"words"}), ("music", {"roll", "densities"})):
            if not getattr(self, name) and figures & set(wanted):
                raise ValueError(f"--{name} names nothing; give a checkpoint folder or Hub id, or choose by --only")


def main(settings: Settings) -> None:
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def words(settings: Settings, folder: Path) -> TableRows:
    model, tokenizer = load_saved_model(settings.texts)
    gates = word_gates(model, tokenizer, settings.sentence, layer=settings.layer)
    draw_word_gates(gates, folder / "words.png")
    columns = {"input_gate": gates.input_gate, "forget_gate": gates.forget_gate}
    if gates.correlation is not None:
        columns["correlation"] = gates.correlation
    rows: TableRows = [["word", *columns]]
    means = zip(*(values.mean(axis=1).tolist() for values in columns.values()), strict=True)
    return rows + [[word, *(round(value, 4) for value in of)] for word, of in zip(gates.words, means, strict=True)]


def roll(settings: Settings, folder: Path) -> TableRows:
    model, _ = load_saved_model(settings.music)
    piece, _ = piece_of(settings)
    probabilities = predict_roll(model, piece)
    draw_prediction(piece, probabilities, folder / "roll.png")
    rows: TableRows = [["step", "keys", "probability of each"]]
    for step, (sounds, given) in enumerate(zip(piece[1:], probabilities, strict=True), start=1):
        keys = np.flatnonzero(sounds)
        rows.append([step, " ".join(map(str, keys)), " ".join(f"{value:.3f}" for value in given[keys])])
    return rows


def densities(settings: Settings, folder: Path) -> TableRows:
    trained, _ = load_saved_model(settings.music)
    models = {"before": start_of(trained, settings.seed), "after": trained}
    piece, data = piece_of(settings)
    split = "test" if "test" in data.splits else "train"
    correlations = [gates_of_split(model, data, split)[settings.layer].correlation for model in models.values()]
    unit = int((correlations[1] - correlations[0]).abs().argmax())
    draws: dict[str, Any] = {
        name: gate_draws(
            model, piece, layer=settings.layer, unit=unit, generator=torch.Generator().manual_seed(settings.seed)
        )
        for name, model in models.items()
    }
    title = f"unit {unit} of layer {settings.layer + 1}, before training and after"
    draw_gate_densities(draws, folder / "densities.png", title=title)
    rows: TableRows = [["training", "unit", "mean of i", "mean of f", "correlation"]]
    for name, values in draws.items():
        correlation = float(np.corrcoef(values.astype(np.float64).T)[0, 1])
        rows.append([name, unit, *(round(float(value), 4) for value in (*values.mean(axis=0), correlation))])
    return rows


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"words": words, "roll": roll, "densities": densities}


def piece_of(settings: Settings) -> tuple[Roll, PolyphonicMusicDataModule]:
    """Return the first piece of the file, of generated music the first of test, and the data that it is of."""
    data = PolyphonicMusicDataModule(settings.piece, divide=False)
    data.setup()
    return data.pieces("test" if "test" in data.splits else "train").roll(0), data


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
