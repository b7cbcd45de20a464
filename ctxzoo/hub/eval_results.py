"""Scores of a run in the two forms in which the Hub reads them: `.eval_results/*.yaml` and the card's model-index."""

from __future__ import annotations

import re

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml

from ctxzoo.evaluation.results import RunResult

# Metric of a run: its type on the Hub and its name for readers, in the order in which cards show them.
METRICS = {
    "exact": ("exact_match", "exact match"),
    "f1": ("f1", "F1"),
    "exact_at_threshold": ("exact_match", "exact match at the tuned no-answer threshold"),
    "f1_at_threshold": ("f1", "F1 at the tuned no-answer threshold"),
    "HasAns_exact": ("exact_match", "exact match, answerable questions"),
    "HasAns_f1": ("f1", "F1, answerable questions"),
    "NoAns_f1": ("f1", "F1, unanswerable questions"),
    "span_exact": ("exact_match", "exact match of the best span, answerable questions"),
    "span_f1": ("f1", "F1 of the best span, answerable questions"),
    "AvNA": ("accuracy", "answer against no answer"),
    "no_answer_auc": ("roc_auc", "AUC of the no-answer score (0 to 1)"),
    "always_no_answer": ("f1", "a reader that never answers"),
    "nll": ("loss", "negative log-likelihood (nats)"),
}
# Bounds and losses stand in the card, but are no scores of the model.
NOT_SCORES = frozenset({"always_no_answer", "nll"})
TASK = "question-answering"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?<!\.json)")


def is_hub_id(dataset: str) -> bool:
    """Whether a dataset's name has the form of a Hub id, `namespace/name`."""
    return _HUB_ID.fullmatch(dataset) is not None


def split_metrics(result: RunResult, split: str) -> dict[str, float]:
    """The metrics of one split that `METRICS` knows, in its order, without the split's name."""
    return {name: result.metrics[f"{split}/{name}"] for name in METRICS if f"{split}/{name}" in result.metrics}


def eval_results_files(result: RunResult) -> dict[str, str]:
    """Path in the checkpoint folder to content; none for a dataset that is not on the Hub."""
    if not is_hub_id(result.dataset):
        return {}
    entries = [
        EvalResultEntry(
            dataset_id=result.dataset,
            task_id=f"{result.split}_{name}",
            value=value,
            date=result.created,
            notes=f"{METRICS[name][1]}; split {result.split}, seed {result.seed}; {result.command}",
        )
        for name, value in split_metrics(result, result.split).items()
        if name not in NOT_SCORES
    ]
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    return {f".eval_results/{result.dataset.replace('/', '--')}.yaml": text}


def model_index(result: RunResult) -> list[EvalResult]:
    """The scores as entries of a card's model-index."""
    return [
        EvalResult(
            task_type=TASK,
            dataset_type=result.dataset,
            dataset_name=result.dataset,
            dataset_split=result.split,
            metric_type=METRICS[name][0],
            metric_name=METRICS[name][1],
            metric_value=value,
        )
        for name, value in split_metrics(result, result.split).items()
        if name not in NOT_SCORES
    ]
