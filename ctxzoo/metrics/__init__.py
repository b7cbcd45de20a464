"""Metrics that torchmetrics and evaluate lack."""

from ctxzoo.metrics.squad_v2 import SquadV2

__all__ = ["SquadV2"]
