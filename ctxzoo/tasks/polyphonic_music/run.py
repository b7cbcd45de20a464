"""One training of a model of polyphonic music from its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks.polyphonic_music.card import CARD
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule, music_dataset
from ctxzoo.tasks.polyphonic_music.task import PolyphonicMusicTask
from ctxzoo.training.task import ZooTask


@dataclass(frozen=True, kw_only=True)
class MusicRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = PolyphonicMusicDataModule
    task_class: ClassVar[type[ZooTask]] = PolyphonicMusicTask
    card: ClassVar[TaskCard] = CARD

    def build_task(self, data: PolyphonicMusicDataModule, processes: int) -> PolyphonicMusicTask:
        return PolyphonicMusicTask(**self.start(data), **self.schedule(data, processes), **self.task)


ARCHITECTURE = "beta_lstm"
PRIOR = "_prior"  # behind the name of a cell: the authors' "+p"
PRIOR_WEIGHTS = {"jsb_chorales": 1.0}  # the authors' kl_lambda
PRIOR_WEIGHT = 1e-3  # of the other sets
AUTO, MEAN = "auto", "mean"  # gate sampling of a config: in training gates are drawn, or never
CELLS = (*BetaLstmConfig.variants, f"bibeta5{PRIOR}")
TINY_SIZE = 6


@dataclass
class MusicSettings(TrainingSettings):
    """Options of a recipe that trains models of music; a recipe adds its own.

    The defaults are the authors', with sizes by which all cells have about as many parameters; but gradients are
    clipped behind the backward pass, where it has an effect.
    """

    epochs: int = reported(100, "at most")
    patience: int = reported(0, "epochs without better validation before it stops; 0: it never does")
    batch_size: int = reported(1, "pieces")
    optimizer: str = reported("adam", "adam, adamw or sgd")
    learning_rate: float = reported(2e-3)
    divide_by: float = reported(1.2, "the rate, when an epoch is worse than each of the three before; 1: never")
    divide_after: int = reported(10, "epochs that never divide it")
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(1.0)
    num_layers: int = reported(2)
    hidden_size: int | None = reported(None, "units of a layer; default: the cell's, by which all are of one size")
    locked_dropout: float | None = reported(None, "behind each layer; default: the cell's")
    weight_dropout: float = reported(0.0, "on recurrent weights")
    kl_lambda: float | None = reported(None, "weight of the prior of the cells that have one; default: the authors'")
    gate_sampling: str = field(
        default=AUTO, metadata={"help": "auto: gates are drawn in training; mean: they have their means there too"}
    )
    kl_annealing: str = reported("constant", "constant, linear or logistic")
    kl_annealing_epochs: int = reported(50, "until the weight is whole (linear) or at a half (logistic)")

    def __post_init__(self) -> None:
        if self.gate_sampling not in (AUTO, MEAN):
            raise ValueError(f"gate_sampling={self.gate_sampling!r}: expected {AUTO} or {MEAN}")
        if self.tiny:
            self.epochs, self.hidden_size = 1, TINY_SIZE


def music_run(
    settings: MusicSettings,
    dataset: str,
    cell: str,
    *,
    seed: int,
    recipe: str,
    commit: str,
    config_name: str | None = None,
    tag: str = "",
) -> MusicRun:
    """One training; `execute` runs it and returns its results, `metrics["test/nll"]` among them.

    Args:
        settings: of the recipe.
        dataset, config_name: see `music_dataset`.
        cell: one of `CELLS`.
        seed, recipe, commit: for the results file.
        tag: what tells the run's files from others with this cell on the same data.

    Raises:
        ValueError: an unknown cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(CELLS)}")
    data = music_dataset(dataset, config_name)
    has_prior = cell.endswith(PRIOR)
    config = {
        **BetaLstmConfig.variants[cell.removesuffix(PRIOR)],
        "num_layers": settings.num_layers,
        "weight_dropout": settings.weight_dropout,
    }
    for name in ("hidden_size", "locked_dropout"):
        if getattr(settings, name) is not None:
            config[name] = getattr(settings, name)
    if has_prior:
        weight = settings.kl_lambda
        config["kl_lambda"] = PRIOR_WEIGHTS.get(dataset, PRIOR_WEIGHT) if weight is None else weight
    if settings.gate_sampling != AUTO:
        config["gate_sampling"] = settings.gate_sampling
    decisive = {
        **reported_settings(settings),
        "config_name": data["config_name"],
        **{name: config[name] for name in ("hidden_size", "locked_dropout")},
        "kl_lambda": config.get("kl_lambda", 0.0),
        **{name: config[name] for name in ("gate_sampling",) if name in config},  # reported where it is not AUTO
    }
    spec = settings.spec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=cell,
        dataset=data["dataset"],
        seed=seed,
        commit=commit,
        settings=decisive,
        tag="-".join(part for part in (data["config_name"], tag) if part),
    )
    task = ("optimizer", "learning_rate", "weight_decay", "divide_by", "divide_after")
    return MusicRun(
        spec=spec,
        config={"model_type": f"ctxzoo_{ARCHITECTURE}", **config},
        data={**data, "data_dir": settings.data_dir, "batch_size": settings.batch_size, "seed": seed},
        task={name: getattr(settings, name) for name in (*task, "kl_annealing", "kl_annealing_epochs")},
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
    )
