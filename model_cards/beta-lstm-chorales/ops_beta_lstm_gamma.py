"""Gamma variables U ~ Gamma(alpha, 1) on a CPU, many at once: draws, and their derivative by alpha.

torch draws and differentiates one variable after the other, in 50 and more ns each. Here both are a few operations on
whole tensors: draws by the rejection method of Marsaglia and Tsang (2000), exact as torch's own, which is the same
method; derivatives from a table of torch's. Where neither pays, or on another device, torch's own are called.
"""

import math
from functools import lru_cache

import torch

MANY = 2048  # draws of one call from which on whole tensors are faster than one draw after the other
PIECE = 2**16  # draws whose noise is made at once: what stays in a processor's cache

# The table of derivatives: ln alpha and ln U in steps of 1 / PER_UNIT.
PER_UNIT = 32
SHAPES = (-9, 7)
VALUES = (-12, 8)


class GammaSampler:
    """Draws Gamma variables for one step after another.

    Args:
        steps: how often it will be called.
        like: a tensor of the size, type and device of the shapes of a step.
        generator: of the draws; None: torch's own.
    """

    def __init__(self, steps: int, like: torch.Tensor, generator: torch.Generator | None = None) -> None:
        self.steps = steps
        self.like = like
        self.generator = generator
        self.at_once = max(1, PIECE // max(1, like.numel()))
        self.proposals: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def __call__(self, alpha: torch.Tensor) -> torch.Tensor:
        """Return draws of Gamma(alpha, 1), not differentiable; at least the smallest normal number, NaN where alpha is
        not finite.
        """
        return self._drawn(alpha).add_(alpha, alpha=0.0)  # torch's draw of NaN is a number

    def _drawn(self, alpha: torch.Tensor) -> torch.Tensor:
        if alpha.numel() < MANY or alpha.device.type != "cpu":
            return torch._standard_gamma(alpha, generator=self.generator)
        if not self.proposals:
            self._propose()
        normal, limit, log_uniform = self.proposals.pop()
        # A draw of alpha + 1 times V^(1 / alpha) is one of alpha. With d = alpha + 2/3 and v = (1 + N / sqrt(9 d))^3 it
        # is d v where ln u < N^2 / 2 + d - d v + d ln v, which is rarely wrong; ln v of v < 0 is nan, so wrong too.
        d = alpha + 2 / 3
        v = ((9 * d).rsqrt_() * normal).add_(1).pow_(3)
        accepted = (v.log().sub_(v).add_(1).mul_(d) > limit).view(-1)
        drawn = log_uniform.div_(alpha).exp_().mul_(d).mul_(v)
        rejected = accepted.logical_not_().nonzero().view(-1)
        again = torch._standard_gamma(alpha.reshape(-1).index_select(0, rejected), generator=self.generator)
        drawn.view(-1).index_copy_(0, rejected, again)
        return drawn.clamp_(min=torch.finfo(drawn.dtype).tiny)

    def _propose(self) -> None:
        """Draw what the next steps need: N, ln u - N^2 / 2 and ln V of each variable."""
        shape = (min(self.at_once, self.steps), *self.like.shape)
        self.steps -= shape[0]
        normal, accepting, boosting = (self.like.new_empty(shape) for _ in range(3))
        normal.normal_(generator=self.generator)
        limit = accepting.uniform_(generator=self.generator).log_().addcmul_(normal, normal, value=-0.5)
        log_uniform = boosting.uniform_(generator=self.generator).log_()
        self.proposals = list(zip(normal, limit, log_uniform, strict=True))


def gamma_slope(alpha: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    """Return dU/dalpha = -(dF/dalpha) / density of draws U of Gamma(alpha, 1), F the distribution function.

    On a CPU in float32 it is read from a table, within 1e-3 of torch's (which is an approximation, too) for alpha from
    0.005 on, and within 1 % below.
    """
    if alpha.device.type != "cpu" or alpha.dtype != torch.float32 or not _in_table(alpha, draws):
        return torch._standard_gamma_grad(alpha, draws)
    table, columns = slope_table()
    log_draws = draws.log()
    rows = (alpha.log() - SHAPES[0]).mul_(PER_UNIT).view(-1)
    # Below the table a draw has the derivative of the limit U -> 0, for which the entries are made.
    places = (log_draws - VALUES[0]).clamp_(min=0).mul_(PER_UNIT).view(-1)
    row, place = rows.floor(), places.floor()
    corner = torch.add(place, row, alpha=columns).int()
    rows -= row
    places -= place
    above, below = (
        torch.lerp(start.index_select(0, corner), start[1:].index_select(0, corner), places)
        for start in (table, table[columns:])
    )
    entries = torch.lerp(above, below, rows).view(draws.shape)
    return entries.sub_(log_draws).mul_(draws).div_(alpha)


def _in_table(alpha: torch.Tensor, draws: torch.Tensor) -> bool:
    if not alpha.numel():
        return False
    low, high = (float(bound) for bound in alpha.aminmax())
    return math.exp(SHAPES[0]) <= low and high < math.exp(SHAPES[1]) and float(draws.max()) < math.exp(VALUES[1])


@lru_cache(maxsize=1)
def slope_table() -> tuple[torch.Tensor, int]:
    """Return y(ln alpha, ln U), row after row, and the length of a row, for dU/dalpha = (y - ln U) U / alpha.

    y becomes digamma(alpha + 1) where U goes to 0, and is smooth elsewhere, so that straight lines join its values.
    """
    # One more at each end: a place on the border has neighbours.
    shapes, values = (
        (torch.arange((end - start) * PER_UNIT + 2, dtype=torch.float64) / PER_UNIT + start).exp()
        for start, end in (SHAPES, VALUES)
    )
    alpha, draws = torch.meshgrid(shapes, values, indexing="ij")
    entries = torch._standard_gamma_grad(alpha, draws) * alpha / draws + draws.log()
    return entries.float().flatten(), len(values)
