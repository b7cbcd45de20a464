"""One training of a regression from its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks.regression.card import CARD
from ctxzoo.tasks.regression.data import BEST_TEST, PROTOCOLS, VALIDATION, RegressionDataModule, regression_dataset
from ctxzoo.tasks.regression.task import RegressionTask
from ctxzoo.training.task import ZooTask

ARCHITECTURE = "kernel_encoder"
# What is attended with, by the name of the variant; fields of the config.
ATTENTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "dot": {"attention": "dot"},
        "rbf": {"attention": "rbf"},
        "ikan_direct": {"attention": "ikan", "kernel": "direct"},
        "ika": {"attention": "ika", "kernel": "implicit"},
        "mikan": {"attention": "mikan", "kernel": "implicit"},
    }
)
# p of the importance in IKA's code, by dataset.
PUBLISHED_NORMS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "ikan_direct": {"airline": 2.0, "co2": 3.0, "concrete": 2.0, "parkinsons": 3.0},
        "mikan": {"airline": 3.0, "co2": 3.0, "concrete": 1.8, "parkinsons": 2.0},
    }
)
TINY_SIZE = 8


@dataclass(frozen=True, kw_only=True)
class RegressionRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = RegressionDataModule
    task_class: ClassVar[type[ZooTask]] = RegressionTask
    card: ClassVar[TaskCard] = CARD

    def build_task(self, data: RegressionDataModule, processes: int) -> RegressionTask:
        """Return the task; its model keeps scaling and rows of the training, to read these beside those it predicts."""
        task = RegressionTask(**self.start(data), **self.schedule(data, processes), **self.task)
        task.model.scaling.take(data.scaling.offsets, data.scaling.scales)
        rows = torch.from_numpy(np.ascontiguousarray(data.scaled_features()[data.rows("train")])).float()
        context = task.model.context
        if context is not None and context.rows.shape == rows.shape:
            context.rows.copy_(rows)
        return task


@dataclass
class RegressionSettings(TrainingSettings):
    """Options of a recipe that trains regressions; a recipe adds its own.

    The defaults are those of IKA's code, but for the blocks of the kernel encoder, which are pre-norm with GELU.
    """

    epochs: int = reported(1000, "at most; an epoch is one step over all rows")
    patience: int = reported(0, "epochs without better validation before it stops; 0: it never does")
    protocol: str = reported(
        VALIDATION, f"rows by which the epoch is chosen: {VALIDATION}, or {BEST_TEST}, as IKA's code has it"
    )
    optimizer: str = reported("adam", "adam, adamw or sgd")
    learning_rate: float = reported(1e-2)
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(1000.0)
    hidden_size: int = reported(64)
    inner_size: int = reported(64, "of the network of a block")
    num_layers: int = reported(1)
    num_heads: int = reported(8)
    num_features: int = reported(64, "frequencies of a learned kernel")
    dropout: float = reported(0.0, "on what a block adds")
    p_norm: float | None = reported(None, "p of the importance of ikan and mikan; default: that of IKA's code, else 2")
    kl_lambda: float | None = field(
        default=None, metadata={"help": "weight of the divergence of drawn frequencies; default: the config's"}
    )
    rows_per_step: int = field(
        default=0,
        metadata={"help": "steps over parts of so many training rows, drawn anew each epoch; 0: all rows in each step"},
    )
    target_column: str | None = reported(None, "of a file: what is predicted; default: y, else the last column")
    feature_columns: list[str] = field(
        default_factory=list, metadata={"help": "what it is predicted from; default: all others"}
    )
    group_column: str | None = field(
        default=None,
        metadata={"help": "rows of one value stay in one part of a random split; no feature unless it is named as one"},
    )

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol={self.protocol!r}: expected one of {', '.join(PROTOCOLS)}")
        if self.protocol == BEST_TEST and self.score != "test":
            raise ValueError(f"score={self.score!r}: with protocol={BEST_TEST!r} the epoch is chosen on test rows")
        if self.tiny:
            self.epochs, self.hidden_size, self.inner_size, self.num_features = 2, TINY_SIZE, TINY_SIZE, TINY_SIZE


# Settings that results tell where they are given.
ASKED_FOR = ("rows_per_step", "feature_columns", "group_column")
CONFIG_FIELDS = ("hidden_size", "inner_size", "num_layers", "num_heads", "num_features")


def encoder_config(variant: str, values: Mapping[str, Any], norm: float) -> dict[str, Any]:
    """Return the fields of a config of a way to attend, with the sizes that `values` have.

    Raises:
        ValueError: an unknown variant.
    """
    if variant not in ATTENTIONS:
        raise ValueError(f"unknown model {variant!r}; known: {', '.join(ATTENTIONS)}")
    return {
        "model_type": f"ctxzoo_{ARCHITECTURE}",
        **ATTENTIONS[variant],
        **({"p_norm": norm} if variant in PUBLISHED_NORMS else {}),
        **{name: values[name] for name in CONFIG_FIELDS},
        "hidden_dropout": values["dropout"],
        "position": "none",
        **({} if values.get("kl_lambda") is None else {"kl_lambda": values["kl_lambda"]}),
    }


def regression_run(
    settings: RegressionSettings,
    dataset: str,
    variant: str,
    *,
    seed: int,
    recipe: str,
    commit: str,
    split_number: int | None = None,
    tag: str = "",
) -> RegressionRun:
    """One training; `execute` runs it and returns its results, `metrics["test/rmse"]` among them.

    Args:
        settings: of the recipe.
        dataset: see `regression_dataset`.
        variant: one of `ATTENTIONS`.
        seed, recipe, commit: for the results file.
        split_number: which random split, the fold of the results file; None: the dataset's own.
        tag: what tells the run's files from others with this variant on the same data.

    Raises:
        ValueError: an unknown variant or protocol.
    """
    source = regression_dataset(dataset)
    norm = settings.p_norm or PUBLISHED_NORMS.get(variant, {}).get(dataset, 2.0)
    config = encoder_config(variant, {**vars(settings)}, norm)
    spec = settings.spec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=variant,
        dataset=source["dataset"],
        seed=seed,
        fold=split_number,
        commit=commit,
        settings={
            **reported_settings(settings),
            **{name: getattr(settings, name) for name in ASKED_FOR if getattr(settings, name)},
            "config_name": source["config_name"],
            "p_norm": norm,
            **({} if settings.kl_lambda is None else {"kl_lambda": settings.kl_lambda}),
        },
        tag=run_tag(source["config_name"], settings.protocol, tag),
    )
    return RegressionRun(
        spec=spec,
        config=config,
        data=data_arguments(settings, dataset, split_number, seed),
        task={name: getattr(settings, name) for name in ("optimizer", "learning_rate", "weight_decay")},
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
    )


def run_tag(config_name: str | None, protocol: str, tag: str) -> str:
    """Return what the names of a run's files say beside variant, data, seed and fold."""
    return "-".join(part for part in (config_name, "" if protocol == VALIDATION else protocol, tag) if part)


def data_arguments(settings: RegressionSettings, dataset: str, split_number: int | None, seed: int) -> dict[str, Any]:
    """Return the arguments of the DataModule of a run."""
    return {
        **regression_dataset(dataset),
        "data_dir": settings.data_dir,
        "target_column": settings.target_column,
        "feature_columns": settings.feature_columns or None,
        "group_column": settings.group_column,
        "split_number": split_number,
        "protocol": settings.protocol,
        "rows_per_step": settings.rows_per_step or None,
        "seed": seed,
    }
