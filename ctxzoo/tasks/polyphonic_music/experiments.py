"""The trainings of music: what may be set, the authors' settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number_field

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
        config_name: Name of the dataset's configuration, such as jsb_chorales; null: the dataset's own default.
        steps_per_beat: Time steps in a beat of MIDI files: 1 gives quarter notes, 2 eighths; null: 2.
        step_seconds: Duration of a time step of MIDI files in seconds, instead of steps in a beat; null: beats count.
    """

    config_name: str | None = None
    steps_per_beat: float | None = number_field(None, POSITIVE)
    step_seconds: float | None = number_field(None, POSITIVE)

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        return "" if self.rows or self.config_name is None else self.config_name


@dataclass(frozen=True, kw_only=True)
class MusicModel(ModelArgs):
    """What is trained.

    Args:
        hidden_size: Units in each layer; null: a size preset for each LSTM cell, so that all have about as many
            parameters.
        num_layers: Number of layers.
        locked_dropout: Dropout rate behind each layer, with one mask for all time steps; null: a rate preset for each
            LSTM cell.
        weight_dropout: Dropout rate on the recurrent weights of an LSTM.
        kl_lambda: Weight in the loss of the KL divergence of the gates' distributions from their prior, for cells that
            have one; null: the authors' value.
        gate_sampling: Values of the LSTM gates in training: auto, sampled from their distribution; mean, its mean.
    """

    hidden_size: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    locked_dropout: float | None = number_field(None, FRACTION)
    weight_dropout: float | None = number_field(None, FRACTION)
    kl_lambda: float | None = number_field(None, COUNT)
    gate_sampling: Literal["auto", "mean"] = "auto"

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        return {
            name: value
            for name, value in super().get_config_changes().items()
            if (name, value) != ("gate_sampling", "auto")
        }


@dataclass(frozen=True, kw_only=True)
class MusicOptimizer(OptimizerArgs):
    """How weights are changed.

    Args:
        divide_by: Divisor of the learning rate after an epoch whose validation score is worse than each of the three
            before, 1 or more; 1: constant rate.
        divide_after: Number of first epochs in which the learning rate is never divided.
        kl_annealing: Schedule of the prior's weight over the epochs: constant, linear, or logistic growth up to
            `kl_lambda`.
        kl_annealing_epochs: Epochs until the prior has its full weight (linear) or half of it (logistic).
    """

    divide_by: float = number_field(1.0, Range(1))
    divide_after: int = number_field(0, COUNT)
    kl_annealing: Literal["constant", "linear", "logistic"] = "constant"
    kl_annealing_epochs: int = number_field(50, SIZE)

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return the optimizer's arguments of the LightningModule for a training of this number of steps."""
        own = ("divide_by", "divide_after", "kl_annealing", "kl_annealing_epochs")
        return {**super().get_module_arguments(steps), **{name: getattr(self, name) for name in own}}


def build_paper_experiment(architecture: str = ARCHITECTURE, variant: str = "bibeta5") -> Experiment:
    """Return the settings of the paper's authors; but gradients are clipped after the backward pass."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=MusicData(batch_size=1),
        model=MusicModel(architecture=architecture, variant=variant, num_layers=2, weight_dropout=0.0),
        optimizer=MusicOptimizer(learning_rate=2e-3, divide_by=1.2, divide_after=10),
        trainer=TrainerArgs(epochs=100, gradient_clip=1.0),
    )


def set_cell(experiment: Experiment, cell: str, dataset: str = "") -> Experiment:
    """Return a copy of the experiment with another recurrent cell and its usual settings where the user gave none.

    Args:
        experiment: Experiment with the settings that all LSTM cells share.
        cell: Name of an LSTM cell, a key of `CELLS`, such as "bibeta5".
        dataset: Name of the dataset configuration, such as "jsb_chorales", on which the authors' weight of the prior
            depends.

    Raises:
        ValueError: an unknown cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(CELLS)}")
    model: Any = experiment.model
    cell_values = {
        name: CELLS[cell][name] for name in ("hidden_size", "locked_dropout") if getattr(model, name) is None
    }
    if not cell.endswith(PRIOR):
        cell_values["kl_lambda"] = 0.0
    elif model.kl_lambda is None:
        cell_values["kl_lambda"] = PRIOR_WEIGHTS.get(dataset, PRIOR_WEIGHT)
    return experiment.copy_with(variant=cell, **cell_values)


def get_dataset_arguments(name: str, config_name: str | None = None) -> dict[str, Any]:
    """Return the DataModule's arguments for one of `MUSIC_DATASETS`, or for any other Hub id, folder or file.

    Args:
        name: Short name of a known dataset, or any other Hub id, folder or file.
        config_name: Name of the dataset's configuration, for a dataset with several; None: the dataset's own default.
    """
    known = MUSIC_DATASETS.get(name, {"dataset": name, "config_name": None})
    return known if config_name is None else {**known, "config_name": config_name}


def set_dataset_and_cell(experiment: Experiment, dataset: str, cell: str) -> Experiment:
    """Return a copy of the experiment with a recurrent cell, and a dataset: one of the four sets, a Hub id or a path.

    Raises:
        ValueError: an unknown cell.
    """
    data: Any = experiment.data
    return set_cell(experiment, cell, dataset).copy_with(**get_dataset_arguments(dataset, data.config_name))


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Cell and sizes are those of the authors' best model, on pieces of which several make a batch, with an earlier end.
    These are ours; no table has chosen them.
    """
    return set_cell(build_paper_experiment(architecture, variant), variant).copy_with(
        batch_size=2, epochs=60, patience=15
    )


SEARCH_SPACE: Space = {
    "batch_size": (1, 2, 4),
    "hidden_size": (100, 148, 200),
    "num_layers": (1, 2),
    "locked_dropout": Between(0.1, 0.4),
    "weight_dropout": Between(0.0, 0.4),
    "divide_by": Between(1.0, 1.5),
}
