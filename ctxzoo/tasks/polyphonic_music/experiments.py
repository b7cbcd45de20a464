"""The trainings of music: what may be set, the authors' settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number

PROBLEM, ARCHITECTURE = "polyphonic-music", "beta_lstm"
PRIOR = "_prior"  # behind the name of a cell: the authors' "+p"
PRIOR_WEIGHTS = {"jsb_chorales": 1.0}  # the authors' kl_lambda
PRIOR_WEIGHT = 1e-3  # of the other sets
CELLS: Mapping[str, Mapping[str, Any]] = {
    **BetaLstmConfig.variants,
    f"bibeta5{PRIOR}": BetaLstmConfig.variants["bibeta5"],
}
TINY_SIZE = 6
# The four sets of Boulanger-Lewandowski, Bengio and Vincent (2012): name to arguments of `PolyphonicMusicDataModule`.
MUSIC_DATASETS: dict[str, dict[str, Any]] = {
    **{
        name: {"dataset": "ctxzoo-data/polyphonic_music", "config_name": name}
        for name in ("jsb_chorales", "nottingham", "muse_data", "piano_midi")
    },
    "sample": {"dataset": "sample", "config_name": None},
}


@dataclass(frozen=True, kw_only=True)
class MusicData(DataArgs):
    """What is trained on.

    Args:
        config_name: Configuration of a dataset with several, such as jsb_chorales; null: the one that it names.
        steps_per_beat: Steps of MIDI files: 1 are quarters; null: 2, eighths.
        step_seconds: Seconds of such a step by the clock instead.
    """

    config_name: str | None = None
    steps_per_beat: float | None = number(None, POSITIVE)
    step_seconds: float | None = number(None, POSITIVE)

    @property
    def part(self) -> str:
        return "" if self.rows or self.config_name is None else self.config_name


@dataclass(frozen=True, kw_only=True)
class MusicModel(ModelArgs):
    """What is trained.

    Args:
        hidden_size: Units of a layer; null: the cell's, by which all have about as many parameters.
        num_layers: Layers.
        locked_dropout: Dropout behind each layer; null: the cell's.
        weight_dropout: Dropout on recurrent weights.
        kl_lambda: Weight of the prior of the cells that have one; null: the authors'.
        gate_sampling: Gates in training: auto, they are drawn; mean, they have their means.
    """

    hidden_size: int | None = number(None, SIZE)
    num_layers: int | None = number(None, SIZE)
    locked_dropout: float | None = number(None, FRACTION)
    weight_dropout: float | None = number(None, FRACTION)
    kl_lambda: float | None = number(None, COUNT)
    gate_sampling: Literal["auto", "mean"] = "auto"

    def config(self) -> dict[str, Any]:
        return {name: value for name, value in super().config().items() if (name, value) != ("gate_sampling", "auto")}


@dataclass(frozen=True, kw_only=True)
class MusicOptimizer(OptimizerArgs):
    """How weights are changed.

    Args:
        divide_by: Divisor of the rate when an epoch is worse than each of the three before; 1: it stays.
        divide_after: Epochs that never divide it.
        kl_annealing: How the weight of the prior rises.
        kl_annealing_epochs: Epochs until it is whole (linear), or at a half (logistic).
    """

    divide_by: float = number(1.0, Range(1))
    divide_after: int = number(0, COUNT)
    kl_annealing: Literal["constant", "linear", "logistic"] = "constant"
    kl_annealing_epochs: int = number(50, SIZE)

    def arguments(self, steps: int) -> dict[str, Any]:
        own = ("divide_by", "divide_after", "kl_annealing", "kl_annealing_epochs")
        return {**super().arguments(steps), **{name: getattr(self, name) for name in own}}


def paper(architecture: str = ARCHITECTURE, variant: str = "bibeta5") -> Experiment:
    """Return the authors' settings; but gradients are clipped behind the backward pass, where it has an effect."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=MusicData(batch_size=1),
        model=MusicModel(architecture=architecture, variant=variant, num_layers=2, weight_dropout=0.0),
        optimizer=MusicOptimizer(learning_rate=2e-3, divide_by=1.2, divide_after=10),
        trainer=TrainerArgs(epochs=100, gradient_clip=1.0),
    )


def of_cell(experiment: Experiment, cell: str, dataset: str = "") -> Experiment:
    """Return the experiment with a cell, and with the numbers of the cell that are not given.

    Args:
        experiment: What all cells have in common.
        cell: Name in `CELLS`.
        dataset: Name of a configuration, on which the authors' weight of the prior depends.

    Raises:
        ValueError: an unknown cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(CELLS)}")
    model: Any = experiment.model
    own = {name: CELLS[cell][name] for name in ("hidden_size", "locked_dropout") if getattr(model, name) is None}
    if not cell.endswith(PRIOR):
        own["kl_lambda"] = 0.0
    elif model.kl_lambda is None:
        own["kl_lambda"] = PRIOR_WEIGHTS.get(dataset, PRIOR_WEIGHT)
    return experiment.changed(variant=cell, **own)


def music_dataset(name: str, config_name: str | None = None) -> dict[str, Any]:
    """Return the arguments for one of `MUSIC_DATASETS`, or for any other Hub id, folder or file.

    Args:
        name: Name of the data.
        config_name: Configuration of another dataset with several.
    """
    known = MUSIC_DATASETS.get(name, {"dataset": name, "config_name": None})
    return known if config_name is None else {**known, "config_name": config_name}


def on_music(experiment: Experiment, dataset: str, cell: str) -> Experiment:
    """Return the experiment with a cell on one of the four sets, or on any other Hub id, folder or file.

    Raises:
        ValueError: an unknown cell.
    """
    data: Any = experiment.data
    return of_cell(experiment, cell, dataset).changed(**music_dataset(dataset, data.config_name))


def default(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Cell and sizes are those of the authors' best model, on pieces of which several make a batch, with an earlier end.
    These are ours; no table has chosen them.
    """
    return of_cell(paper(architecture, variant), variant).changed(batch_size=2, epochs=60, patience=15)


SEARCH_SPACE: Space = {
    "batch_size": (1, 2, 4),
    "hidden_size": (100, 148, 200),
    "num_layers": (1, 2),
    "locked_dropout": Between(0.1, 0.4),
    "weight_dropout": Between(0.0, 0.4),
    "divide_by": Between(1.0, 1.5),
}
