"""Regression: a number for each row of numbers, from the rows beside it."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "RegressionDataModule",
    "RegressionScores",
    "RegressionTask",
    "SpectralMixture",
    "evaluate",
    "predict_intervals",
    "predict_rows",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.regression.data import RegressionDataModule
    from ctxzoo.tasks.regression.prediction import predict_intervals, predict_rows
    from ctxzoo.tasks.regression.spectral_mixture import SpectralMixture
    from ctxzoo.tasks.regression.task import RegressionScores, RegressionTask, evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
