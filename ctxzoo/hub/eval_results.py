"""Scores of a run in the two forms in which the Hub reads them: `.eval_results/*.yaml` and the card's model-index."""

from __future__ import annotations

import re

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import RunResult

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?<!\.json)")


def is_hub_id(dataset: str) -> bool:
    """Return whether a dataset's name has the form of a Hub id, `namespace/name`."""
    return _HUB_ID.fullmatch(dataset) is not None


def describe_seed_and_fold(result: RunResult) -> str:
    """Return a text with the seed of a run and, in cross-validation, its fold."""
    return f"seed {result.seed}" + ("" if result.fold is None else f", fold {result.fold}")


def select_split_metrics(result: RunResult, split: str, task: TaskCard) -> dict[str, float]:
    """Return the task's metrics of one split, in the order of the task, under names without the split."""
    return {name: result.metrics[f"{split}/{name}"] for name in task.metrics if f"{split}/{name}" in result.metrics}


def build_eval_results_files(result: RunResult, task: TaskCard) -> dict[str, str]:
    """Return the score files of a run, path to content; none for a dataset that is not on the Hub."""
    if not is_hub_id(result.dataset):
        return {}
    place = describe_seed_and_fold(result)
    entries = [
        EvalResultEntry(
            dataset_id=result.dataset,
            task_id=f"{result.split}_{name}",
            value=value,
            date=result.created,
            notes=f"{task.metrics[name].name}; split {result.split}, {place}; {result.command}",
        )
        for name, value in _select_scores(result, task).items()
    ]
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    return {f".eval_results/{result.dataset.replace('/', '--')}.yaml": text}


def build_model_index(result: RunResult, task: TaskCard) -> list[EvalResult]:
    """Return the scores as entries of a card's model-index."""
    return [
        EvalResult(
            task_type=task.pipeline_tag or task.name,
            dataset_type=result.dataset,
            dataset_name=result.dataset,
            dataset_split=result.split,
            metric_type=task.metrics[name].hub_type,
            metric_name=task.metrics[name].name,
            metric_value=value,
        )
        for name, value in _select_scores(result, task).items()
    ]


def _select_scores(result: RunResult, task: TaskCard) -> dict[str, float]:
    """Return the scores of the run's split by metric, without values that are no score, such as losses."""
    values = select_split_metrics(result, result.split, task)
    return {name: value for name, value in values.items() if task.metrics[name].is_score}
