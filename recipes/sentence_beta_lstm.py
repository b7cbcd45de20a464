"""The bivariate Beta-LSTM and the cells beside it on MR, CR, SUBJ and MPQA: the words and folds of the other models.

    python recipes/sentence_beta_lstm.py                               five cells, four datasets
    python recipes/sentence_beta_lstm.py --cells bibeta5 kumaraswamy --datasets SetFit/CR
    python recipes/sentence_beta_lstm.py --datasets sample --tiny      no network needed
    python recipes/sentence_beta_lstm.py --score validation            to choose settings: test is left alone
    python recipes/sentence_beta_lstm.py --resume                      finished folds are kept, the others go on

The vector of a sentence is the state at its last word. Words, folds and training are those of
recipes/sentence_text_baseline.py; --hidden_size is that of the lstm, and the units of every other cell are so many that
its layers have about as many weights. --name tells runs with other settings from the default ones. A YAML file of
settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.cross_validation import Cell, CrossValidationSettings, cross_validate
from ctxzoo.tasks.text_classification.datasets import SENTENCE_DATASETS

RECIPE, ARCHITECTURE = "sentence_beta_lstm", "beta_lstm"
KNOWN = tuple(BetaLstmConfig.variants)
COMPARED = ("lstm", "coupled", "g2", "beta", "bibeta5")
REFERENCE = "lstm"  # whose size is given
TINY = {"word_dim": 12, "position_dim": 4}
TINY_UNITS = 8


@dataclass
class Settings(CrossValidationSettings):
    cells: list[str] = field(default_factory=lambda: list(COMPARED), metadata={"help": f"of {', '.join(KNOWN)}"})
    datasets: list[str] = field(
        default_factory=lambda: list(SENTENCE_DATASETS.values()),
        metadata={"help": "Hub ids, folders, files, or: sample"},
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from the default ones"})
    hidden_size: int = field(default=100, metadata={"help": "units of a layer and direction of the lstm"})
    num_layers: int = 1
    bidirectional: bool = False
    word_dim: int = 250
    position_dim: int = 20
    freeze_embeddings: bool = False
    embedding_bound: float = field(default=1.0, metadata={"help": "word vectors start in U(-bound, bound)"})
    dropout: float = field(default=0.0, metadata={"help": "on words"})
    locked_dropout: float = field(default=0.0, metadata={"help": "behind each layer"})
    weight_dropout: float = field(default=0.0, metadata={"help": "on recurrent weights"})


def main(settings: Settings) -> None:
    for cell in settings.cells:
        if cell not in KNOWN:
            raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(KNOWN)}")
    cells = [cell_of(cell, dataset, settings) for dataset in settings.datasets for cell in settings.cells]
    cross_validate(cells, settings, recipe=RECIPE, commit=git_commit())


def cell_of(cell: str, dataset: str, settings: Settings) -> Cell:
    names = ("num_layers", "bidirectional", "freeze_embeddings", "embedding_bound")
    rates = ("dropout", "locked_dropout", "weight_dropout")
    sizes = TINY if settings.tiny else {"word_dim": settings.word_dim, "position_dim": settings.position_dim}
    config = {
        "model_type": f"ctxzoo_{ARCHITECTURE}",
        "cell": cell,
        **sizes,
        "hidden_size": matched_size(
            cell,
            TINY_UNITS if settings.tiny else settings.hidden_size,
            input_size=sum(sizes.values()),
            num_layers=settings.num_layers,
        ),
        **{name: getattr(settings, name) for name in (*names, *rates)},
    }
    name = f"{Path(dataset).name}, {cell}"
    return Cell(name=name, dataset=dataset, variant=cell, config=config, tag=settings.name)


def matched_size(cell: str, reference: int, *, input_size: int, num_layers: int) -> int:
    """Return the units of a cell by which its layers have about as many weights as an lstm of `reference` units.

    Args:
        cell: one of `KNOWN`.
        reference: units of a layer of the lstm.
        input_size: numbers of a word as the first layer reads it.
        num_layers: of both.

    Returns:
        The units of the nearest number of weights; of two that are as near the fewer.
    """
    sizes = {"input_size": input_size, "num_layers": num_layers}
    wanted = number_of_weights(REFERENCE, reference, **sizes)
    units = 1
    while number_of_weights(cell, units + 1, **sizes) <= wanted:
        units += 1
    return min(units, units + 1, key=lambda size: abs(number_of_weights(cell, size, **sizes) - wanted))


def number_of_weights(cell: str, units: int, *, input_size: int, num_layers: int) -> int:
    """Return the number of weights of the layers of one direction of a `BetaLSTM`."""
    rows = (CELLS[cell].blocks + 2) * units
    return rows * (input_size + units + 1) + (num_layers - 1) * rows * (2 * units + 1)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
