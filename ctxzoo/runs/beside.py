"""Simple models beside a user's: each is a run of its own on the same rows, and a line tells its scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxzoo.results.result import RunResult
    from ctxzoo.runs.experiment import Experiment
    from ctxzoo.runs.problem import Problem
    from ctxzoo.runs.run import Run


@dataclass(frozen=True)
class Baseline:
    """A simple model whose scores stand beside those of a trained one.

    Attributes:
        run: Fits and scores it, on the rows of the trained one.
        name: What it is called, with its article.
        description: What it is, and which rows it is fitted on.
        notice: Line that is printed before it is fitted, where that may take long; empty: none.
    """

    run: Run
    name: str
    description: str
    notice: str = ""


def names_of_run(experiment: Experiment) -> dict[str, Any]:
    """Return the arguments of a baseline's run that name it and its files as the training's; rows tell it apart."""
    return {
        "recipe": experiment.recipe,
        "commit": experiment.commit,
        "seed": experiment.seed,
        "named": experiment.data.named,
        "score": experiment.score,
        "tag": experiment.data.rows,  # other rows of this name have baselines of their own
        "output_dir": experiment.run.output_dir,
        "results_dir": experiment.run.results_dir,
    }


def names_of_count(experiment: Experiment) -> dict[str, Any]:
    """Return those of a `CountedRun`, which counts only what the checkpoint knows that a training goes on from."""
    names, start = names_of_run(experiment), experiment.start.reported()["init_from"]
    return names if start is None else {**names, "tag": f"continued-{names['tag']}", "init_from": start}


def lines_beside(problem: Problem, experiment: Experiment, result: RunResult) -> Iterator[str]:
    """Fit the baselines of a problem, unless the experiment leaves them out, and yield lines with their scores.

    One that cannot be fitted, as to rows that are too few, is told too, and ends nothing.

    Args:
        problem: Problem of the experiment.
        experiment: What was trained; with `resume` a baseline that is finished is not fitted again.
        result: Its results, which the lines compare with.
    """
    from ctxzoo.runs.run import execute

    if not experiment.run.baselines:
        return
    for one in problem.baselines(experiment):
        if one.notice:
            yield one.notice
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's, as of labels with fewer rows than folds
                theirs = execute(one.run, resume=experiment.run.resume).metrics
        except ValueError as error:
            yield f"{one.name} was not fitted: {error}"
            continue
        yield _line(problem, one, result, theirs)


def _line(problem: Problem, baseline: Baseline, result: RunResult, theirs: Mapping[str, float]) -> str:
    metrics, (first, *_) = problem.card.metrics, problem.card.headline
    scores = " and ".join(
        f"{theirs[f'{result.split}/{name}']:.{metrics[name].decimals}f} {metrics[name].name}"
        for name in problem.card.headline
    )
    difference = result.metrics[f"{result.split}/{first}"] - theirs[f"{result.split}/{first}"]
    told = f"{difference:+.{metrics[first].decimals}f}" if difference else "no difference"
    lower = "; lower is better" if problem.lower_is_better else ""
    return (
        f"{baseline.name} has {scores} on {result.split} ({baseline.description}); this model's {metrics[first].name} "
        f"beside it: {told}{lower}"
    )
