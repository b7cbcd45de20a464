"""The trainings of ratings: what may be set, the usual settings, and what a search tries."""

from __future__ import annotations

from dataclasses import dataclass

from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Space
from ctxzoo.training.arguments import SIZE, number_field

PROBLEM, ARCHITECTURE, VARIANT = "rating", "rating", "plain"


@dataclass(frozen=True, kw_only=True)
class RatingModel(ModelArgs):
    """What is trained.

    Args:
        factors: Numbers of a person and of a thing that are multiplied.
    """

    factors: int | None = number_field(None, SIZE)


def default(architecture: str = ARCHITECTURE, variant: str = VARIANT) -> Experiment:
    """Return the settings of `ctxzoo train`; there is no paper."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=DataArgs(batch_size=16),
        model=RatingModel(architecture=architecture, variant=variant, factors=2),
        optimizer=OptimizerArgs(learning_rate=0.05, halve_after=1),
        trainer=TrainerArgs(epochs=3, gradient_clip=5.0),
    )


SEARCH_SPACE: Space = {"factors": (1, 2, 4)}
