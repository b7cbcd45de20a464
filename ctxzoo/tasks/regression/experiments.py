"""The trainings of regressions: what may be set, settings of IKA's code, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number_field

PROBLEM, ARCHITECTURE = "regression", "kernel_encoder"
# What is attended with, by the name of the variant; fields of the config.
ATTENTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        name: {**fields, "position": "none"}
        for name, fields in {
            "dot": {"attention": "dot"},
            "rbf": {"attention": "rbf"},
            "ikan_direct": {"attention": "ikan", "kernel": "direct"},
            "ika": {"attention": "ika", "kernel": "implicit"},
            "mikan": {"attention": "mikan", "kernel": "implicit"},
        }.items()
    }
)
NORM = 2.0
# p of the importance in IKA's code, by dataset; the other variants have none.
PUBLISHED_NORMS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "ikan_direct": {"airline": 2.0, "co2": 3.0, "concrete": 2.0, "parkinsons": 3.0},
        "mikan": {"airline": 3.0, "co2": 3.0, "concrete": 1.8, "parkinsons": 2.0},
    }
)
TINY_SIZE = 8
SETS = ("airline", "co2", "concrete", "parkinsons")
REGRESSION_DATASETS: dict[str, dict[str, Any]] = {
    **{name: {"dataset": "ctxzoo-data/ika_regression", "config_name": name} for name in SETS},
    "sample": {"dataset": "sample", "config_name": None},
}
VALIDATION, BEST_TEST = "validation", "best_test"  # on which rows the epoch is chosen
PROTOCOLS = (VALIDATION, BEST_TEST)
BETWEEN = ","  # the numbers of a row, names of columns


@dataclass(frozen=True, kw_only=True)
class RegressionData(DataArgs):
    """What is trained on.

    Args:
        batch_size: Number of sequences in a batch, always 1: a sequence holds all rows, or `rows_per_step` of them.
        config_name: Name of the dataset's configuration, such as airline; null: the dataset's own default.
        target_column: Name of the column to predict; null: y if there is one, else the last column.
        feature_columns: Names of the input columns, as a list or one text with commas; null: all other columns.
        group_column: Name of a column, such as a person's id, whose equal values keep rows in one split; it is no
            input.
        protocol: Rows by which the epoch is chosen: validation, or best_test (the test rows of random splits, as in
            IKA's code).
        rows_per_step: Largest number of training rows in a step, drawn anew each epoch; null: all rows.
    """

    batch_size: int = number_field(1, SIZE)
    config_name: str | None = None
    target_column: str | None = None
    feature_columns: tuple[str, ...] | None = None
    group_column: str | None = None
    protocol: Literal["validation", "best_test"] = "validation"
    rows_per_step: int | None = number_field(None, Range(2))

    def __post_init__(self) -> None:
        if self.batch_size != 1:
            raise ValueError(
                f"batch_size={self.batch_size}: a step has one sequence; --rows_per_step says of how many rows"
            )
        if self.feature_columns is not None and len(self.feature_columns) == 1:
            object.__setattr__(self, "feature_columns", parse_column_names(self.feature_columns[0]))
        super().__post_init__()

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        protocol = "" if self.protocol == VALIDATION else self.protocol
        return "" if self.rows else "-".join(part for part in (self.config_name, protocol) if part)


@dataclass(frozen=True, kw_only=True)
class RegressionModel(ModelArgs):
    """What is trained.

    Args:
        hidden_size: Width of the model, the dimension of each row's representation.
        inner_size: Units of the hidden layer in each block's feed-forward network.
        num_layers: Number of Transformer blocks.
        num_heads: Number of attention heads in each block.
        num_features: Number of frequencies with which a learned attention kernel is computed; null: 64.
        dropout: Dropout rate on what each block adds to the residual stream.
        p_norm: Exponent p of the keys' importance in attention, for ikan_direct and mikan; null: that of IKA's code,
            else 2.
        kl_lambda: Weight in the loss of the KL divergence of the kernel's sampled frequencies from their prior.
    """

    hidden_size: int | None = number_field(None, SIZE)
    inner_size: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    num_heads: int | None = number_field(None, SIZE)
    num_features: int | None = number_field(None, SIZE)
    dropout: float | None = number_field(None, FRACTION)
    p_norm: float | None = number_field(None, POSITIVE)
    kl_lambda: float | None = number_field(None, COUNT)

    def get_config_changes(self) -> dict[str, Any]:
        """Return the config fields that the user changed, by name; p_norm is left out where the variant has none."""
        values = super().get_config_changes()
        if self.variant in ATTENTIONS and self.variant not in PUBLISHED_NORMS and self.p_norm == NORM:
            del values["p_norm"]
        if "dropout" in values:
            values["hidden_dropout"] = values.pop("dropout")
        return values


def parse_column_names(text: str) -> tuple[str, ...]:
    """Return the names of columns as they are typed.

    Raises:
        ValueError: one is empty.
    """
    names = tuple(part.strip() for part in text.split(BETWEEN))
    if not all(names):
        raise ValueError(f'feature_columns={text!r}: expected names with "{BETWEEN}" between them')
    return names


def get_dataset_arguments(name: str, config_name: str | None = None) -> dict[str, Any]:
    """Return the arguments of `RegressionDataModule` that name a dataset.

    Args:
        name: Short name, a key of `REGRESSION_DATASETS`, or any other Hub id, folder or file.
        config_name: Name of the dataset's configuration, for a dataset with several; None: the dataset's own default.
    """
    known = REGRESSION_DATASETS.get(name, {"dataset": name, "config_name": None})
    return known if config_name is None else {**known, "config_name": config_name}


def build_paper_experiment(architecture: str = ARCHITECTURE, variant: str = "ikan_direct") -> Experiment:
    """Return the settings of Implicit Kernel Attention's code (Song et al. 2021); but blocks are pre-norm with GELU."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=RegressionData(),
        model=RegressionModel(
            architecture=architecture,
            variant=variant,
            hidden_size=64,
            inner_size=64,
            num_layers=1,
            num_heads=8,
            num_features=64,
            dropout=0.0,
            p_norm=NORM if variant in PUBLISHED_NORMS else None,
        ),
        optimizer=OptimizerArgs(learning_rate=1e-2),
        trainer=TrainerArgs(epochs=1000, gradient_clip=1000.0),
    )


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    They are those of IKA's code, with an end where validation no longer gets better; no table has chosen them.
    """
    return build_paper_experiment(architecture, variant).copy_with(rows_per_step=2048, patience=150, gradient_clip=1.0)


def set_dataset(experiment: Experiment, dataset: str) -> Experiment:
    """Return a copy of the experiment on one of the four datasets, or on any other Hub id, folder or file."""
    data: Any = experiment.data
    return experiment.copy_with(**get_dataset_arguments(dataset, data.config_name))


def set_attention(experiment: Experiment, variant: str, dataset: str) -> Experiment:
    """Return a copy of the experiment with another kind of attention, and the authors' p-norm for the dataset.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        variant: Name of the attention, a key of `ATTENTIONS`; it selects the exponent p of IKA's code if it has one.
        dataset: Name of the dataset; for those in `SETS` the exponent p of IKA's code is known.
    """
    model: Any = experiment.model
    norm = NORM
    if variant in PUBLISHED_NORMS:
        norm = model.p_norm or PUBLISHED_NORMS[variant].get(dataset, NORM)
    return experiment.copy_with(variant=variant, p_norm=norm)


def check_protocol_fits_splits(experiment: Experiment) -> None:
    """Raise an error if the way to divide rows does not go with the splits that are there.

    Raises:
        ValueError: "best_test" for other than random splits, or to score validation.
    """
    data: Any = experiment.data
    if data.protocol == BEST_TEST and experiment.score != "test":
        raise ValueError(f"score={experiment.score!r}: with protocol={BEST_TEST!r} the epoch is chosen on test rows")
    if data.protocol == BEST_TEST and experiment.fold is None:
        raise ValueError(f"protocol={BEST_TEST!r}: it has random splits, as recipes/regression_ika.py draws them")


SEARCH_SPACE: Space = {
    "weight_decay": Between(0.0, 1e-2),
    "hidden_size": (32, 64, 128),
    "num_layers": (1, 2),
    "dropout": Between(0.0, 0.2),
    "inner_size": (32, 64, 128),
    "num_heads": (4, 8),
    "num_features": (32, 64, 128),
    "p_norm": Between(1.5, 3.0),
}
