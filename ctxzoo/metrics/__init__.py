"""Metrics that torchmetrics and evaluate lack."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = ["MeanReciprocalRankAtK", "NdcgAtK", "RecallAtK", "SquadV2", "target_ranks"]

if TYPE_CHECKING:
    from ctxzoo.metrics.next_item import MeanReciprocalRankAtK, NdcgAtK, RecallAtK, target_ranks
    from ctxzoo.metrics.squad_v2 import SquadV2
else:
    __getattr__, __dir__ = lazy_exports(__name__)
