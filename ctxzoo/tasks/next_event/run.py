"""One training of a model of next events from its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.tasks.sequences.card import EVENT_CARD
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS, MAX_LENGTH, HistoryDataModule
from ctxzoo.tasks.sequences.run import NextItemRun
from ctxzoo.tasks.sequences.task import NextEventTask
from ctxzoo.training.task import ZooTask

ARCHITECTURE = "time_encoder"
ENCODINGS = TimeEncoderConfig.variants  # what tells when an event was, by the name of the variant; fields of the config
COMBINATIONS, TRANSFORMS = ("kernel", "multiply", "add", "concat"), ("none", "log")
TINY_SIZE = 8


@dataclass(frozen=True, kw_only=True)
class NextEventRun(NextItemRun):
    """All that decides one training; see `NextItemRun`."""

    data_class: ClassVar[Any] = HistoryDataModule
    task_class: ClassVar[type[ZooTask]] = NextEventTask
    card: ClassVar[TaskCard] = EVENT_CARD


@dataclass
class NextEventSettings(TrainingSettings):
    """Options of a recipe that trains models of next events; a recipe adds its own.

    Sizes and rate are those of Xu et al. (2019) on badges, but for dropout, batches and the length of training.
    """

    epochs: int = reported(30, "at most")
    patience: int = reported(5, "epochs without better validation before it stops; 0: it never does")
    batch_size: int = reported(32, "histories")
    max_length: int = reported(MAX_LENGTH, "events that a prediction sees at most")
    optimizer: str = reported("adam", "adam, adamw or sgd")
    learning_rate: float = reported(1e-3)
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(5.0)
    hidden_size: int = reported(32, "numbers of a step and of an event")
    num_layers: int = reported(1)
    num_heads: int = reported(1)
    dropout: float = reported(0.2, "on steps, and on what a block adds")
    time_combine: str = reported("kernel", "how a time encoding enters: kernel, multiply, add or concat")
    time_transform: str = reported("none", "of relative times: none or log")
    time_size: int = reported(32, "numbers of an encoding other than lste")
    num_components: int = reported(2, "of lste")
    num_frequencies: int = reported(8, "of each component of lste")

    def __post_init__(self) -> None:
        for name, known in (("time_combine", COMBINATIONS), ("time_transform", TRANSFORMS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        if self.tiny:
            self.epochs, self.hidden_size, self.time_size = 1, TINY_SIZE, TINY_SIZE


CONFIG_FIELDS = (
    "hidden_size",
    "num_layers",
    "num_heads",
    "dropout",
    "time_combine",
    "time_transform",
    "time_size",
    "num_components",
    "num_frequencies",
)


def encoder_config(encoding: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a config of an encoding of time, with the sizes that `values` have.

    Raises:
        ValueError: an unknown encoding.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encodings: unknown encoding {encoding!r}; known: {', '.join(ENCODINGS)}")
    return {
        "model_type": f"ctxzoo_{ARCHITECTURE}",
        **ENCODINGS[encoding],
        **{name: values[name] for name in CONFIG_FIELDS},
        "word_dim": values["hidden_size"],
        "hidden_dropout": values["dropout"],
        "causal": True,
    }


def next_event_run(
    settings: NextEventSettings, dataset: str, encoding: str, *, seed: int, recipe: str, commit: str, tag: str = ""
) -> NextEventRun:
    """One training; `execute` runs it and returns its results, `metrics["test/recall_at_1"]` among them.

    Args:
        settings: of the recipe.
        dataset: one of `HISTORY_DATASETS`, or any other Hub id, folder or file.
        encoding: one of `ENCODINGS`.
        seed, recipe, commit: for the results file.
        tag: what tells the run's files from others with this encoding on the same data.

    Raises:
        ValueError: an unknown encoding.
    """
    source = HISTORY_DATASETS.get(dataset, dataset)
    values = {name: getattr(settings, name) for name in CONFIG_FIELDS}
    spec = settings.spec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=encoding,
        dataset=source,
        seed=seed,
        commit=commit,
        settings=reported_settings(settings),
        tag=tag,
    )
    data = {"dataset": source, "data_dir": settings.data_dir, "max_length": settings.max_length, "seed": seed}
    return NextEventRun(
        spec=spec,
        config=encoder_config(encoding, values),
        data={**data, "batch_size": settings.batch_size},
        task={name: getattr(settings, name) for name in ("optimizer", "learning_rate", "weight_decay")},
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
        counts_unknown=False,
    )
