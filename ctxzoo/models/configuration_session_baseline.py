"""The configuration of three well-known models of sessions, to compare others with."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_session import SessionConfig


@strict
class SessionBaselineConfig(SessionConfig):
    """GRU4REC, NARM or STAMP, with the sizes and rates of HCRNN's defaults.

    Args:
        kind: Kind of baseline: gru4rec, the last state of a GRU; narm, a GRU whose states are weighted by the last one;
            stamp, item vectors weighted by the last item and their mean, without recurrence.
        sigmoid_scores: Whether STAMP's scores pass a sigmoid, as in the code of HCRNN's authors; scores between 0 and 1
            keep any item from becoming likely among many.
    """

    model_type = "ctxzoo_session_baseline"
    variants = MappingProxyType({name: {"kind": name} for name in ("gru4rec", "narm", "stamp")})

    kind: Literal["gru4rec", "narm", "stamp"] = "narm"
    sigmoid_scores: bool = False

    def validate_sigmoid(self) -> None:
        """Check that sigmoid scores are asked of STAMP alone."""
        if self.sigmoid_scores and self.kind != "stamp":
            raise ValueError(f"sigmoid_scores=True with kind={self.kind!r}: they are an option of 'stamp'")
