"""Metrics that torchmetrics and evaluate lack."""
