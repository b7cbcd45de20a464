"""`TaskFacts`: all in which cards, results and the end of a run differ from task to task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.hub.card_facts import DatasetFacts
from ctxzoo.hub.card_snippets import Snippets
from ctxzoo.models.configuration_base import ZooConfig


@dataclass(frozen=True)
class Metric:
    """One number of a run.

    Attributes:
        hub_type: its metric on the Hub.
        name: for readers.
        is_score: whether it is a score of the model; bounds and losses stand in cards, but not in evaluation results.
    """

    hub_type: str
    name: str
    is_score: bool = True


@dataclass(frozen=True)
class TaskFacts:
    """One task: what is written about a model that does it.

    Attributes:
        pipeline_tag: name of the task on the Hub and of its pipeline.
        auto_model: Auto class of the head that does it.
        title: for readers.
        predictions: what the model gives, in the plural.
        metrics: by their name in a run, in the order of cards; a card's metadata names the Hub's metric of the first
            two.
        results_note: how the numbers of a card's results are to be read.
        curves: metrics of validation that a results file keeps for every epoch.
        drawn: the one or two of them that the learning curves show, with their names there.
        sample: the data that this task's DataModule generates under the name "sample".
        example_keys: what a card's example must have.
        identity: rows of a card's first table, from the config.
        limits: sentences for a card, from the config and the metrics of the reported split.
        snippets: program text of a card, from the example and the repository that it loads.
        pipeline_note: what a card says before the pipeline's snippet.
        call: arguments of a call of the pipeline, as they are typed.
        split_example: from a DataModule and the name of a split: inputs of the pipeline and, as "gold", what is
            right; None: cards show inputs of ours only.
        predict: from model, tokenizer and inputs: what the pipeline gives.
        example_lines: that example, for the terminal.
        draw_figures: from task, DataModule, example and folder: pictures beside the learning curves; None draws none.
    """

    pipeline_tag: str
    auto_model: str
    title: str
    predictions: str
    metrics: Mapping[str, Metric]
    results_note: str
    curves: tuple[str, ...]
    drawn: Mapping[str, str]
    sample: DatasetFacts
    example_keys: tuple[str, ...]
    identity: Callable[[ZooConfig], list[list[str]]]
    limits: Callable[[ZooConfig, Mapping[str, float]], Iterable[str]]
    snippets: Callable[[Mapping[str, Any], str], Snippets]
    pipeline_note: str
    call: str
    split_example: Callable[[Any, str], dict[str, Any]] | None
    predict: Callable[[Any, Any, Mapping[str, str]], dict[str, Any]]
    example_lines: Callable[[Mapping[str, Any]], list[str]]
    draw_figures: Callable[[Any, Any, Mapping[str, Any], Path], None] | None = None
