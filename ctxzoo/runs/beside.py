"""Baselines beside a user's model: each is a run of its own on the same rows, and a line tells its scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ctxzoo.results.result import RunResult
    from ctxzoo.runs.counted import CountedRun
    from ctxzoo.runs.experiment import Experiment
    from ctxzoo.runs.problem import Problem
    from ctxzoo.runs.run import Run

AnyCounted = TypeVar("AnyCounted", bound="CountedRun")


@dataclass(frozen=True)
class Baseline:
    """A simple model whose scores stand beside those of a trained one.

    Attributes:
        run: Run that fits the baseline to the model's training rows and scores it.
        name: Name of the baseline with its article, such as "the majority class", for messages.
        description: Description of the baseline, and of the rows that it is fitted on.
        notice: Line that is printed before a long fit; empty: none.
        advice: What to do where the baseline is better than the model; empty: nothing but that it is better is said.
    """

    run: Run
    name: str
    description: str
    notice: str = ""
    advice: str = ""


def build_baseline_run(kind: type[AnyCounted], problem: Problem, experiment: Experiment, variant: str) -> AnyCounted:
    """Build the run that fits a baseline to the rows of a training and scores it.

    The names of its files say which rows it is of, but nothing of the settings of the trained model.

    Args:
        kind: Class of the simple model's run.
        problem: Problem of the experiment.
        experiment: Experiment that describes the model's training.
        variant: Name of the baseline's variant.
    """
    has_start = kind.goes_on and experiment.start.init_from is not None
    parts = {"continued": has_start, "tiny": kind.tiny_rows is not None and experiment.trainer.tiny}
    tag = "-".join(part for part, is_one in parts.items() if is_one)
    return kind(problem, kind.build_experiment(experiment.copy_with(replace=False, tag=tag), variant))


def describe_baselines(problem: Problem, experiment: Experiment, result: RunResult) -> Iterator[str]:
    """Fit the baselines of a problem, unless the experiment leaves them out, and yield a line of scores for each.

    For a baseline that cannot be fitted, as to too few rows, the line says why.

    Args:
        problem: Problem of the experiment.
        experiment: Experiment of the training; with `resume` a baseline with results is not fitted again.
        result: Results of the training, with which the lines compare the baselines.
    """
    from ctxzoo.data.training_stream import TrainingStream
    from ctxzoo.runs.run import execute

    if not experiment.run.baselines:
        return
    for baseline in problem.build_baselines(experiment):
        if baseline.notice:
            yield baseline.notice
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's, as of labels with fewer rows than folds
                scores = execute(baseline.run, resume=experiment.run.resume).metrics
        except ValueError as error:
            yield f"{baseline.name} was not fitted: {error}"
            continue
        if experiment.data.streaming:
            facts = TrainingStream(Path(experiment.source)).facts
            sampled = f", of train {facts.sampled:,} of {facts.rows:,} rows" if facts.sampled < facts.rows else ""
            baseline = replace(baseline, description=f"{baseline.description}{sampled}")
        yield _format_comparison_line(problem, baseline, result, scores)


def _format_comparison_line(
    problem: Problem, baseline: Baseline, result: RunResult, baseline_scores: Mapping[str, float]
) -> str:
    """Return a line with a baseline's scores and the model's difference from them."""
    metrics, headline = problem.card.metrics, problem.card.choose_headline(baseline_scores)
    first = headline[0]
    scores = " and ".join(
        f"{baseline_scores[f'{result.split}/{name}']:.{metrics[name].decimals}f} {metrics[name].name}"
        for name in headline
    )
    difference = result.metrics[f"{result.split}/{first}"] - baseline_scores[f"{result.split}/{first}"]
    difference_text = f"{difference:+.{metrics[first].decimals}f}" if difference else "no difference"
    lower = "; lower is better" if problem.lower_is_better else ""
    loses = difference > 0 if problem.lower_is_better else difference < 0
    verdict = f"; {baseline.name} is better here" if loses else ""
    advice = f": {baseline.advice}" if loses and baseline.advice else ""
    return (
        f"{baseline.name} has {scores} on {result.split} ({baseline.description}); this model's {metrics[first].name} "
        f"beside it: {difference_text}{lower}{verdict}{advice}"
    )
