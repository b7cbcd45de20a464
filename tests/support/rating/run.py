"""One training of ratings, and the problem among those that the zoo knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import ARCHITECTURE_FACTS, ArchitectureFacts
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.registration import ARCHITECTURES, register
from ctxzoo.runs.spec import RunSpec
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks import PROBLEMS
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import TrainerSettings
from tests.support.rating.architecture import RatingConfig, RatingForPairs
from tests.support.rating.card import CARD as RATING
from tests.support.rating.data import RatingDataModule
from tests.support.rating.task import RatingTask

FACTS = ArchitectureFacts(title="Ratings", summary="Two tables.", limits=("It is a toy.",), citation="@misc{toy2026}")


@dataclass(frozen=True, kw_only=True)
class RatingRun(ZooRun):
    data_class: ClassVar[Any] = RatingDataModule
    task_class: ClassVar[type[ZooTask]] = RatingTask
    card: ClassVar[TaskCard] = RATING

    def build_task(self, data: RatingDataModule, processes: int) -> RatingTask:
        return RatingTask(model_config=self.model_config(data), **self.task)


def with_spec(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a run, those of its spec put together."""
    names = {one.name for one in fields(RunSpec)}
    spec = RunSpec(**{name: value for name, value in values.items() if name in names})
    return {"spec": spec, **{name: value for name, value in values.items() if name not in names}}


def rating_run(folder: Path, *, epochs: int = 3, seed: int = 0, **changes: Any) -> RatingRun:
    trainer = TrainerSettings(
        epochs=epochs,
        precision="32-true",
        ema_decay=0.0,
        seed=seed,
        accelerator="cpu",
        devices=1,
        tensorboard=False,
        progress=False,
    )
    values: dict[str, Any] = {
        "recipe": "rating",
        "architecture": "rating",
        "variant": "plain",
        "dataset": "sample",
        "config": {"model_type": "ctxzoo_rating"},
        "data": {"dataset": "sample"},
        "task": {},
        "trainer": trainer,
        "settings": {"epochs": epochs},
        "seed": seed,
        "fold": None,
        "commit": "0123abc",
        "output_dir": str(folder / "runs"),
        "results_dir": str(folder / "results"),
    }
    return RatingRun(**with_spec({**values, **changes}))


@contextmanager
def registered_rating() -> Iterator[None]:
    """Ratings are one of the zoo's problems, and their model one of its architectures."""
    register(RatingConfig, load=lambda: {"RatingForPairs": RatingForPairs})
    ARCHITECTURE_FACTS["rating"] = FACTS
    PROBLEMS["rating"] = "tests.support.rating"
    try:
        yield
    finally:
        del ARCHITECTURES.loaders["rating"], ARCHITECTURE_FACTS["rating"], PROBLEMS["rating"]
        ARCHITECTURES._loaded.pop("rating", None)
        RatingConfig.before_first_use = None
