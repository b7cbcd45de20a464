"""The spectral mixture kernel (Wilson and Adams 2013) for scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

Numbers = npt.NDArray[np.float64]
BOUNDS = (1e-5, 1e5)


class SpectralMixture(StationaryKernelMixin, Kernel):
    """k(x, y) = sum_q w_q prod_d exp(-2 pi^2 t_d^2 v_qd^2) cos(2 pi t_d m_qd), t = x - y.

    Args:
        weights: (Q,) w, above 0.
        means: (Q, D) m, frequencies of the components, flattened.
        deviations: (Q, D) v, of the frequencies around them, flattened.
        parameter_bounds: of each of these numbers.
    """

    def __init__(
        self,
        weights: Any = (1.0,),
        means: Any = (1.0,),
        deviations: Any = (1.0,),
        parameter_bounds: tuple[float, float] = BOUNDS,
    ) -> None:
        self.weights = weights
        self.means = means
        self.deviations = deviations
        self.parameter_bounds = parameter_bounds

    @classmethod
    def drawn(cls, components: int, x: Numbers, variance: float, seed: int) -> SpectralMixture:
        """Return a kernel whose frequencies are drawn up to half a turn between neighbouring values.

        Args:
            components: Q.
            x: (n, D) of the training rows.
            variance: of the target, which the weights share.
            seed: of the draw.
        """
        draws = np.random.default_rng(seed)
        spans = np.ptp(x, axis=0)
        steps = np.array([np.median(np.diff(np.unique(column))) for column in x.T])
        highest = 0.5 / np.maximum(steps, spans / len(x))
        means = draws.random((components, x.shape[1])) * highest
        deviations = 1 / np.maximum(np.abs(draws.normal(size=means.shape)) * spans, 1e-3)
        weights = np.full(components, variance / components)
        clipped = [np.clip(values, *BOUNDS).ravel() for values in (weights, means, deviations)]
        return cls(*clipped)

    @property
    def hyperparameter_weights(self) -> Hyperparameter:
        return Hyperparameter("weights", "numeric", self.parameter_bounds, len(self.weights))

    @property
    def hyperparameter_means(self) -> Hyperparameter:
        return Hyperparameter("means", "numeric", self.parameter_bounds, len(self.means))

    @property
    def hyperparameter_deviations(self) -> Hyperparameter:
        return Hyperparameter("deviations", "numeric", self.parameter_bounds, len(self.deviations))

    def __call__(self, X: Numbers, Y: Numbers | None = None, eval_gradient: bool = False) -> Any:
        """Return the kernel of rows X (n, D) and Y (k, D), and its gradient by the logarithms of the parameters."""
        gaps = X[:, None, :] - (X if Y is None else Y)[None, :, :]
        size = X.shape[1]
        means, deviations = (np.reshape(values, (-1, size)) for values in (self.means, self.deviations))
        total: Numbers = np.zeros(gaps.shape[:2])
        by_weight, by_mean, by_deviation = [], [], []
        for weight, mean, deviation in zip(self.weights, means, deviations, strict=True):
            turns = 2 * np.pi * gaps * mean
            decay = weight * np.exp(-2 * np.pi**2 * ((gaps * deviation) ** 2).sum(axis=2))
            cosines = np.cos(turns)
            part = decay * cosines.prod(axis=2)
            total += part
            if not eval_gradient:
                continue
            by_weight.append(part)
            for d in range(size):
                others = np.delete(cosines, d, axis=2).prod(axis=2)
                by_mean.append(-decay * others * np.sin(turns[:, :, d]) * turns[:, :, d])
                by_deviation.append(-4 * np.pi**2 * (gaps[:, :, d] * deviation[d]) ** 2 * part)
        if not eval_gradient:
            return total
        # scikit-learn orders parameters by name: deviations, means, weights.
        return total, np.stack([*by_deviation, *by_mean, *by_weight], axis=2)

    def diag(self, X: Numbers) -> Numbers:
        """Return (n,) the kernel of each row with itself."""
        found: Numbers = np.full(len(X), float(np.sum(self.weights)))
        return found

    def __repr__(self) -> str:
        return f"SpectralMixture({len(self.weights)} components)"
