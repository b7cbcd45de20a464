"""Bars of regression: the mean, a ridge regression, Gaussian processes and boosted trees, fitted by scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV

from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.regression.data import RegressionDataModule
from ctxzoo.tasks.regression.experiments import check_protocol_fits_splits
from ctxzoo.tasks.regression.reader import Numbers
from ctxzoo.tasks.regression.spectral_mixture import SpectralMixture, build_likelihood_objective
from ctxzoo.tasks.regression.task import RegressionScores
from ctxzoo.training.remaining_time import RemainingTime

COMPONENTS = 5  # of the spectral mixture
STARTS = 3  # of the search for the parameters of a Gaussian process
LENGTH = 0.3  # scale of an RBF kernel at the start, of features scaled to [-1, 1]
SEARCH_STEPS = 100
SEARCHED_ROWS = 1000  # at most, for the parameters of a Gaussian process: a step costs their cube
TREES, TREES_OF_A_PART = 100, 5  # of gradient boosting; where rows are many, each part tells how long the rest takes
MANY_ROWS = 100_000
NOISE = 0.01  # variance at the start, of a target scaled to [-1, 1]


def _minimize_bounded(objective: Any, start: Numbers, bounds: Numbers) -> tuple[Numbers, float]:
    """Minimize as scikit-learn's Gaussian processes do, but for a bounded number of steps."""
    optimum = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": SEARCH_STEPS})
    return optimum.x, float(optimum.fun)


def _fit_gaussian_process(
    kernel: Any,
    x: Numbers,
    y: Numbers,
    rows: npt.NDArray[np.int64],
    seed: int,
    restarts: int = 0,
    search: Callable[..., tuple[Numbers, float]] = _minimize_bounded,
) -> Any:
    """Fit a Gaussian process to some rows of features x (N, F) and targets y (N,), by the largest likelihood found."""
    model = GaussianProcessRegressor(
        kernel, optimizer=search, n_restarts_optimizer=restarts, random_state=seed, normalize_y=True
    )
    return model.fit(x[rows], y[rows])


def _refit_on_all_rows(model: Any, x: Numbers, y: Numbers, rows: npt.NDArray[np.int64]) -> Any:
    """Return a fitted Gaussian process with the same parameters on all rows."""
    if len(rows) == len(x):
        return model
    return GaussianProcessRegressor(model.kernel_, optimizer=None, normalize_y=True).fit(x, y)


def _draw_rows_to_search(num_rows: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the rows on which kernel parameters are searched: all, or a random part of many rows."""
    if num_rows <= SEARCHED_ROWS:
        return np.arange(num_rows)
    return np.sort(np.random.default_rng(seed).permutation(num_rows)[:SEARCHED_ROWS])


def _fit_rbf_process(x: Numbers, y: Numbers, seed: int) -> Any:
    """Fit a Gaussian process with the RBF kernel to features x (N, F) and targets y (N,)."""
    kernel = ConstantKernel(1.0) * RBF(np.full(x.shape[1], LENGTH), (1e-3, 1e3)) + WhiteKernel(NOISE, (1e-6, 10.0))
    rows = _draw_rows_to_search(len(x), seed)
    return _refit_on_all_rows(_fit_gaussian_process(kernel, x, y, rows, seed, STARTS - 1), x, y, rows)


def _fit_spectral_mixture_process(x: Numbers, y: Numbers, seed: int) -> Any:
    """Fit a Gaussian process with the spectral mixture kernel to x (N, F) and y (N,): the likeliest of several random
    starts.
    """
    rows, best = _draw_rows_to_search(len(x), seed), None
    objective = build_likelihood_objective(
        x[rows], (y[rows] - y[rows].mean()) / y[rows].std()
    )  # as normalize_y makes them

    def search(_: Any, start: Numbers, bounds: Numbers) -> tuple[Numbers, float]:
        return _minimize_bounded(objective, start, bounds)

    for start in range(STARTS):
        reach = 1 - start / (STARTS - 1)  # time series have fast waves, rows of several features hardly any
        mixture = SpectralMixture.from_random_frequencies(COMPONENTS, x, 1.0, seed * STARTS + start, reach)
        kernel = mixture + WhiteKernel(NOISE, (1e-6, 10.0))
        model = _fit_gaussian_process(kernel, x, y, rows, seed, search=search)
        if best is None or model.log_marginal_likelihood_value_ > best.log_marginal_likelihood_value_:
            best = model
    return _refit_on_all_rows(best, x, y, rows)


def _fit_gradient_boosting(x: Numbers, y: Numbers, seed: int) -> Any:
    """Fit gradient boosting of trees over binned features (Friedman 2001; Ke et al. 2017), with the usual settings."""
    part = TREES_OF_A_PART if len(x) >= MANY_ROWS else TREES
    model = HistGradientBoostingRegressor(early_stopping=False, warm_start=True, random_state=seed)
    remaining = RemainingTime(f"gradient boosting beside it, fitted to {len(x):,} rows", "trees")
    for trees in range(part, TREES + 1, part):
        model.set_params(max_iter=trees).fit(x, y)
        if part < TREES:
            remaining.print_if_due(trees, TREES)
    return model


# Each fits scaled rows (n, I) and targets (n,) with a seed, and returns what has `predict`.
BASELINES: Mapping[str, Callable[[Numbers, Numbers, int], Any]] = MappingProxyType(
    {
        "mean": lambda x, y, seed: DummyRegressor().fit(x, y),
        "ridge": lambda x, y, seed: RidgeCV(np.logspace(-4, 3, 15)).fit(x, y),
        "gp_rbf": _fit_rbf_process,
        "gp_sm": _fit_spectral_mixture_process,
    }
)


BOOSTING = "gradient_boosting"
# Boosted trees stand beside a user's model; in the recipe's table are the others.
ALL_BASELINES = MappingProxyType({**BASELINES, BOOSTING: _fit_gradient_boosting})


@dataclass(frozen=True)
class BaselineRun(CountedRun):
    """One of `ALL_BASELINES`, fitted to the training rows alone; see `CountedRun`.

    Raises:
        ValueError: see `check_protocol_fits_splits`.
    """

    architecture = "scikit_learn"
    reads = ("config_name", "protocol", "target_column", "feature_columns", "group_column")

    def __post_init__(self) -> None:
        check_protocol_fits_splits(self.experiment)

    def fit(self, data: RegressionDataModule) -> SimpleModel:
        """Fit the baseline of this variant to the scaled rows of train."""
        features = data.scale_all_features()
        train = data.row_indices("train")
        scaled = data.scaling.scale_targets(data.targets)
        one = self.experiment
        model = ALL_BASELINES[one.model.variant](features[train], scaled[train], one.seed)

        def score_split(split: str) -> dict[str, float]:
            """Return the scores of the fitted model on a split, in units of the target."""
            rows = data.row_indices(split)
            predicted = model.predict(features[rows]) * data.scaling.scales[-1] + data.scaling.offsets[-1]
            scores = RegressionScores().keep_local()
            scores.update(torch.from_numpy(predicted), torch.from_numpy(data.targets[rows]))
            return scores.compute()

        return SimpleModel(_count_parameters(model, features.shape[1]), score_split)


def _count_parameters(model: Any, num_features: int) -> int:
    """Return the number of parameters of a fitted baseline: of a kernel, leaves of trees, or weights."""
    if hasattr(model, "kernel_"):
        return len(model.kernel_.theta)
    if isinstance(model, HistGradientBoostingRegressor):
        return sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees)
    return num_features + 1
