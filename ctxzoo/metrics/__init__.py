"""Metrics that torchmetrics and evaluate lack."""

from ctxzoo.metrics.next_item import MeanReciprocalRankAtK, NdcgAtK, RecallAtK, target_ranks
from ctxzoo.metrics.squad_v2 import SquadV2

__all__ = ["MeanReciprocalRankAtK", "NdcgAtK", "RecallAtK", "SquadV2", "target_ranks"]
