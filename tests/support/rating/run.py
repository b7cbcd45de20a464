"""One training of ratings, and the problem among those that the zoo knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ctxzoo.hub.card_facts import ARCHITECTURE_FACTS, ArchitectureFacts
from ctxzoo.models.registration import ARCHITECTURES, register_architecture
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks import PROBLEMS
from tests.support.rating.architecture import RatingConfig, RatingForPairs
from tests.support.rating.experiments import default
from tests.support.rating.problem import RATING

FACTS = ArchitectureFacts(title="Ratings", summary="Two tables.", limits=("It is a toy.",), citation="@misc{toy2026}")


def rating_run(folder: Path, **changes: Any) -> ExperimentRun:
    """A training of generated ratings, with these settings in place of the usual ones."""
    quiet = {"accelerator": "cpu", "devices": "1", "tensorboard": False, "progress": False}
    places = {"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")}
    return ExperimentRun(RATING, default().copy_with(recipe="rating", commit="0123abc", **quiet, **places, **changes))


@contextmanager
def registered_rating() -> Iterator[None]:
    """Ratings are one of the zoo's problems, and their model one of its architectures."""
    register_architecture(RatingConfig, load=lambda: {"RatingForPairs": RatingForPairs})
    ARCHITECTURE_FACTS["rating"] = FACTS
    PROBLEMS["rating"] = ("tests.support.rating.problem", "RATING")
    try:
        yield
    finally:
        del ARCHITECTURES.loaders["rating"], ARCHITECTURE_FACTS["rating"], PROBLEMS["rating"]
        ARCHITECTURES._loaded.pop("rating", None)
        RatingConfig.before_first_use = None
