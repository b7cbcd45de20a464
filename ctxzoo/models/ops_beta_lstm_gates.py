"""The input gate i and the forget gate f of an LSTM: sigmoids, Beta variables drawn together or apart, and others.

A cell maps K blocks of H pre-activations to i and f. With drawn gates the blocks are parameters of distributions,
alpha_k = softplus(u_k) + eps. The Beta cells divide sums of Gamma variables U_k ~ Gamma(alpha_k, 1); their means are
the same ratios of the alpha_k, since sums of independent Gamma variables of one scale are Gamma variables again:

    beta      i = U1/(U1+U2)                 f = U3/(U3+U4)
    bibeta3   i = U1/(U1+U2)                 f = U0/(U0+U2)
    bibeta5   i = (U1+U3)/(U1+U3+U4+U5)      f = (U2+U4)/(U2+U4+U3+U5)

Every function is differentiable, in the Gamma draws by implicit reparameterisation (torch's `_standard_gamma`).
"""

from dataclasses import dataclass
from functools import reduce

import torch
from torch.nn import functional as F

GUMBEL_RATE = 0.2  # of the gates of G2-LSTM that get noise
GUMBEL_EPS = 1e-3
SIGMOID_TEMPERATURE = 0.9
NOISIN_RATE = 0.41  # of the states of Noisin that are kept
# A gate of a Kumaraswamy variable stays as far from 0 and 1; so do the uniform draws.
CLOSEST = 1e-6


@dataclass(frozen=True)
class Cell:
    """How a cell makes its two gates.

    Attributes:
        blocks: Number K of pre-activations of which the gates i and f are made; the blocks of o and g follow them.
        ratios: Masks of the Gamma variables that are summed into numerator and denominator of a Beta cell's gates, 0 or
            1: i is the first sum over the third, f the second over the fourth; each has K numbers.
        input_first: Whether i comes before f in `compute_gates`.
        drawn: Whether the pre-activations are parameters of distributions from which gates are drawn.
    """

    blocks: int
    ratios: tuple[tuple[int, ...], ...] = ()
    input_first: bool = True
    drawn: bool = False

    @property
    def has_gamma_gates(self) -> bool:
        """Whether the gates are ratios of Gamma variables, whose shapes the pre-activations give."""
        return bool(self.ratios)

    def matrix(self, like: torch.Tensor) -> torch.Tensor:
        """Return the matrix (4, K) that sums Gamma variables to numerators and denominators, of the type of `like`."""
        return torch.tensor(self.ratios, dtype=like.dtype, device=like.device)


CELLS: dict[str, Cell] = {
    "lstm": Cell(2, input_first=False),
    "coupled": Cell(1),
    "g2": Cell(2, input_first=False),
    "noisin": Cell(2, input_first=False),
    "beta": Cell(4, ratios=((1, 0, 0, 0), (0, 0, 1, 0), (1, 1, 0, 0), (0, 0, 1, 1)), drawn=True),
    "bibeta3": Cell(3, ratios=((0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1)), drawn=True),
    "bibeta5": Cell(5, ratios=((1, 0, 1, 0, 0), (0, 1, 0, 1, 0), (1, 0, 1, 1, 1), (0, 1, 1, 1, 1)), drawn=True),
    "kumaraswamy": Cell(4, drawn=True),
}


@dataclass(frozen=True)
class Gating:
    """How the gates of all steps are made.

    Attributes:
        cell: Name of the cell, one of `CELLS`, such as bibeta5.
        eps: Small number that is added to distribution parameters, as in `shapes_from_preactivations`.
        draw_gammas: Whether Gamma variables are drawn; otherwise their means are taken.
        generator: Generator of the random draws; None: torch's own.
    """

    cell: str
    eps: float
    draw_gammas: bool = False
    generator: torch.Generator | None = None


def compute_gamma_ratios(cell: Cell, weights: torch.Tensor) -> torch.Tensor:
    """Return i and f, (..., 2, H), of the Gamma variables of a cell, or of their shapes, (..., K, H)."""
    # Sums of blocks, not a product with `matrix`: exported programs must not hold a tensor of their own.
    sums = [
        reduce(torch.add, (weights.select(-2, block) for block, added in enumerate(row) if added))
        for row in cell.ratios
    ]
    return torch.stack(sums[:2], dim=-2) / torch.stack(sums[2:], dim=-2)  # numerators over denominators


def kumaraswamy_means(shapes: torch.Tensor) -> torch.Tensor:
    """Return the means E[X] = b B(1 + 1/a, b) of both gates, (..., 2, H), from a and b of each, (..., 4, H)."""
    inverse, b = 1 / shapes[..., 0::2, :], shapes[..., 1::2, :]  # (..., 2, H) each; blocks are a, b of i and a, b of f
    # B(x, y) = Gamma(x) Gamma(y) / Gamma(x + y) in logarithms: Gamma itself overflows float32 above 35.
    log_mean = b.log() + torch.lgamma(1 + inverse) + torch.lgamma(b) - torch.lgamma(1 + inverse + b)
    return log_mean.exp().clamp(CLOSEST, 1 - CLOSEST)


def shapes_from_preactivations(blocks: torch.Tensor, eps: float) -> torch.Tensor:
    """Return the shape parameters alpha = softplus(u) + eps of pre-activations u of any shape."""
    return F.softplus(blocks) + eps


def transform_to_kumaraswamy(shapes: torch.Tensor, log_uniform: torch.Tensor) -> torch.Tensor:
    """Return draws X = (1 - V^(1/b))^(1/a) of Kumaraswamy variables, (..., 2, H).

    The distribution (Kumaraswamy 1980) has the density a b x^(a-1) (1 - x^a)^(b-1), close to that of a Beta variable,
    and an inverse distribution function in closed form, which is differentiable in a and b.

    Args:
        shapes: (..., 4, H) parameters: a and b of gate i, a and b of gate f.
        log_uniform: (..., 2, H) logarithms log V of uniform variables V ~ U(0, 1).
    """
    a, b = shapes[..., 0::2, :], shapes[..., 1::2, :]  # (..., 2, H) each
    # V^(1/b) next to 1 or 0 would leave no digits of 1 - V^(1/b), or no gradient.
    exponent = (log_uniform / b).clamp(-60.0, -1e-30)
    return (torch.log(-torch.expm1(exponent)) / a).exp().clamp(CLOSEST, 1 - CLOSEST)  # -expm1(x) = 1 - e^x


def compute_gates(name: str, blocks: torch.Tensor, eps: float, noise: torch.Tensor | None = None) -> torch.Tensor:
    """Return the gates (..., 2, H) of a cell, in the order that `input_first` says.

    Args:
        name: Name of the cell, one of `CELLS`.
        blocks: (..., K, H) pre-activations of the gates.
        eps: Small number that is added to distribution parameters, as in `shapes_from_preactivations`.
        noise: Random variables from which gates are computed: Gamma draws (..., K, H) for Beta cells, log V (..., 2, H)
            for kumaraswamy; None: means of the gates, or a cell without drawn gates.
    """
    cell = CELLS[name]
    if cell.has_gamma_gates:
        # The constant on draws keeps ratios of two tiny draws apart from 0/0; means do without it.
        weights = shapes_from_preactivations(blocks, eps) if noise is None else noise + eps
        return compute_gamma_ratios(cell, weights)
    if name == "kumaraswamy":
        shapes = shapes_from_preactivations(blocks, eps)
        return kumaraswamy_means(shapes) if noise is None else transform_to_kumaraswamy(shapes, noise)
    if name == "coupled":
        return torch.sigmoid(torch.cat([blocks, -blocks], dim=-2))  # 1 - sigmoid(u) = sigmoid(-u)
    return torch.sigmoid(blocks / SIGMOID_TEMPERATURE if name == "g2" else blocks)


def draw_gammas(alpha: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Return draws of Gamma(alpha, 1), differentiable in alpha; float32 or wider, NaN where alpha is not finite."""
    # `torch.distributions.Gamma` calls this too, but checks its arguments and expands a rate at every step. Its draw
    # where alpha is NaN is a number.
    return torch._standard_gamma(alpha, generator=generator) + 0 * alpha.detach()


def split_input_forget(pair: torch.Tensor, cell: Cell) -> tuple[torch.Tensor, torch.Tensor]:
    """Split gates (..., 2, H) of a cell into its input gate i and forget gate f, (..., H) each."""
    first, second = pair.unbind(-2)
    return (first, second) if cell.input_first else (second, first)


def _draw_uniform(shape: tuple[int, ...], like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return uniform numbers from 0 to 1 of `shape`, in the type and on the device of `like`."""
    return torch.rand(shape, generator=generator, dtype=like.dtype, device=like.device)


def draw_gumbel_noise(shape: tuple[int, ...], like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return the noise m (log(u + e) - log(1 + e - u)) of G2-LSTM, u ~ U(0, 1), m ~ Bernoulli(0.2), for tau = 1.

    Args:
        shape: Shape (n, B, 2, H) of the noise, steps first.
        like: Tensor whose dtype and device the noise gets.
    """
    uniform = _draw_uniform(shape, like, generator)
    mask = _draw_uniform(shape, like, generator) < GUMBEL_RATE
    # The logarithm of u / (1 - u) is logistic noise; the small constant keeps both logarithms finite.
    noise = torch.log(uniform + GUMBEL_EPS) - torch.log(1 + GUMBEL_EPS - uniform)
    return noise * mask


def draw_noisin_scale(shape: tuple[int, ...], like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return the random factors (n, B, H), eta / p with eta ~ Bernoulli(p), by which Noisin (Dieng et al.

    2018) multiplies states.
    """
    uniform = _draw_uniform(shape, like, generator)
    # Divided by p, so that the mean over eta is the state itself.
    return (uniform < NOISIN_RATE).to(like.dtype) / NOISIN_RATE


def draw_log_uniform(shape: tuple[int, ...], like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return log V of uniform random numbers V, clipped away from 0 and 1."""
    uniform = _draw_uniform(shape, like, generator)
    return uniform.clamp_(CLOSEST, 1 - CLOSEST).log_()


def gamma_kl_divergence(alpha: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
    """Return KL(Gamma(alpha, 1) || Gamma(alpha_0, 1)) = (alpha - alpha_0) digamma(alpha) - lgamma(alpha) +
    lgamma(alpha_0), in nats; at least 0, but for rounding.

    Args:
        alpha: Shape parameters of Gamma variables, a tensor of any size in float32 or wider: half precision loses
            digits of digamma and lgamma.
        prior: Shape parameters alpha_0 of the prior, broadcast against alpha.
    """
    return (alpha - prior) * torch.digamma(alpha) - torch.lgamma(alpha) + torch.lgamma(prior)


def estimate_gate_correlation(
    name: str, alpha: torch.Tensor, eps: float, samples: int, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return the correlation of i and f of a Beta cell, estimated from `samples` draws of both, (..., H).

    There is no closed form. The standard error of each is about 1 / sqrt(samples).

    Args:
        alpha: (..., K, H) shape parameters of the Gamma variables.
    """
    # Running means of i, f, i^2, f^2 and i f, (..., H) each: no draws are kept.
    totals = [alpha.new_zeros(*alpha.shape[:-2], alpha.size(-1)) for _ in range(5)]
    with torch.no_grad():
        for _ in range(samples):
            first, second = compute_gamma_ratios(CELLS[name], draw_gammas(alpha, generator) + eps).unbind(-2)
            for total, value in zip(totals, (first, second, first**2, second**2, first * second), strict=True):
                total += value / samples
    mean_first, mean_second, square_first, square_second, product = totals
    # By rounding a variance may come out below 0.
    variances = (square_first - mean_first**2).clamp(min=0) * (square_second - mean_second**2).clamp(min=0)
    covariance = product - mean_first * mean_second
    # A gate that does not vary has 0, not 0 / 0.
    return torch.where(variances > 0, covariance / variances.sqrt(), torch.zeros_like(covariance)).clamp(-1, 1)
