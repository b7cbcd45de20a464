"""What is written alike about classifiers of texts and of words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ctxzoo.hub.task_card import Metric
from ctxzoo.models.configuration_base import ZooConfig

METRICS = {
    "accuracy": Metric("accuracy", "accuracy"),
    "macro_f1": Metric("f1", "macro F1"),
    "calibration_error": Metric("calibration_error", "expected calibration error, 15 bins", is_score=False),
    "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False),
}
SET_METRICS = {
    "micro_f1": Metric("f1", "micro F1"),
    "macro_f1": METRICS["macro_f1"],
    "exact_match": Metric("exact_match", "exact match"),
}
CURVES = ("nll", "accuracy", "macro_f1", "calibration_error")
DRAWN = {"accuracy": "accuracy", "macro_f1": "macro F1"}


def get_label_names(config: ZooConfig) -> list[str]:
    """Return the names of a classifier's labels, in their order."""
    return [name for _, name in sorted(config.id2label.items())]


def describe_calibration(metrics: Mapping[str, float], output_name: str) -> Iterable[str]:
    """Describe how well the scores of an output ("label", "tag") are calibrated, if it was measured."""
    if "calibration_error" in metrics:
        yield (
            f"Measured: the score of a {output_name} and how often {output_name}s with such a score are right differ "
            f"by {metrics['calibration_error']:.2f} points on average."
        )
