"""The table of published checkpoints (docs/results): what each does, its score, its size, and how it is loaded."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.published import Published
from ctxzoo.results.intervals import score_interval
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, markdown_table, mean_and_deviation
from reports.choice import chosen_by

HEADINGS = ("checkpoint", "task", "data", "score", "95 % interval", "beside the tables' rows", "MB", "load")
# Task -> the metric that is shown first and compared, and a second one.
SCORES = {
    "text-classification": ("accuracy", ""),
    "token-classification": ("accuracy", ""),
    "question-answering": ("f1", "exact"),
    "fill-mask": ("perplexity", ""),
    "polyphonic-music": ("nll", "frame_accuracy"),
    "session-recommendation": ("recall_at_20", "mrr_at_20"),
    "vote-prediction": ("accuracy", "log_likelihood"),
    "next-event": ("recall_at_1", "mrr_at_20"),
}
LOWER_IS_BETTER = ("nll",)  # of those that tell the strongest row
NAMES = {
    "f1": "F1",
    "exact": "EM",
    "nll": "nats of a step",
    "frame_accuracy": "frame accuracy",
    "recall_at_1": "Recall@1",
    "recall_at_20": "Recall@20",
    "mrr_at_20": "MRR@20",
    "log_likelihood": "log-likelihood",
}
DECIMALS = {"log_likelihood": 4}  # as many as tell models apart; of the others two
LOADED_BY = {  # of the others a pipeline
    "polyphonic-music": "AutoModelForTokenClassification.from_pretrained({folder})",
    "session-recommendation": "ctxzoo.tasks.session_recommendation.recommend({folder}, history)",
    "next-event": "ctxzoo.tasks.next_event.next_events({folder}, events, times)",
    "vote-prediction": "ctxzoo.tasks.vote_prediction.predict_votes({folder}, text)",
}
PIPELINE = "ctxzoo.pipeline({folder})"
TO_ROOT = "../../"  # from the page of the table, docs/results/checkpoints.md
SAME = ("recipe", "architecture", "dataset", "split")  # of all runs of a row, and so are:
CONFIGURATION = ("config_name", "configuration")  # settings that name the part of a dataset
SEVERAL = 3  # runs; the mean of fewer is no row to compare with


def checkpoints(results: Sequence[RunResult], published: Sequence[Published]) -> str:
    """One line for each, by name."""
    return markdown_table(HEADINGS, [_row(one, results) for one in published], left=3)


def _row(one: Published, results: Sequence[RunResult]) -> list[str]:
    run = one.result
    name = one.folder.name
    load = LOADED_BY.get(one.task, PIPELINE).format(folder=f'"{one.folder.as_posix()}"')
    shown = [metric for metric in SCORES[one.task] if metric]
    return [
        f"[{name}]({TO_ROOT}{one.folder.as_posix()}/README.md)",
        one.task,
        f"`{run.dataset}`",
        ", ".join(
            f"{NAMES.get(metric, metric)} {run.metrics[f'{run.split}/{metric}']:.{DECIMALS.get(metric, 2)}f}"
            for metric in shown
        ),
        interval(run, one.task),
        beside(run, results, one.task),
        f"{one.size / 1e6:.1f}",
        f"`{load}`",
    ]


def interval(run: RunResult, task: str) -> str:
    """Write the interval of right answers, in percent; a dash where a test text is not right or wrong."""
    metric = "exact" if task == "question-answering" else "accuracy"
    facts = DATASET_FACTS.get(run.dataset)
    found = score_interval(run, metric, None if facts is None else facts.test_rows)
    if found is None or task == "token-classification":
        return NOTHING
    low, high, rows = found
    note = f", over {rows}" if rows.endswith("articles") else ""
    return f"{NAMES.get(metric, metric)} {low:.1f} to {high:.1f}{note}"


def beside(run: RunResult, results: Sequence[RunResult], task: str) -> str:
    """Say whether the run is of the strongest row in the results of its architecture and data, behind it, or above.

    The strongest is chosen by `chosen_by`. A row is a variant and tag with several runs of one recipe on the same
    configuration of the data. Perplexities of other vocabularies do not compare: there the row of the variant with the
    most weights is named.
    """
    key = f"{run.split}/{SCORES[task][0]}"
    rows: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for other in results:
        same = all(getattr(other, name) == getattr(run, name) for name in SAME)
        same &= all(other.settings.get(name) == run.settings.get(name) for name in CONFIGURATION)
        if same and key in other.metrics:
            rows[other.variant, other.tag].append(other)
    rows = {name: runs for name, runs in rows.items() if len(runs) >= SEVERAL}
    if task == "fill-mask":
        rows = {name: runs for name, runs in rows.items() if name[0] == run.variant}
    if not rows:
        return NOTHING
    if task == "fill-mask":
        # Of equally many the one with the shorter tag: a study adds to the tag of the row that it is a study of.
        name, runs = max(rows.items(), key=lambda item: (item[1][0].parameters["total"], -len(item[0][1])))
        note = f"{runs[0].parameters['total'] / 1e6:.1f}M weights"
    else:
        sign = -1 if SCORES[task][0] in LOWER_IS_BETTER else 1
        choice = chosen_by(rows.values(), key)
        name = max(rows, key=lambda one: sign * statistics.fmean(run.metrics[choice] for run in rows[one]))
        scores = [one.metrics[key] for one in rows[name]]
        note = mean_and_deviation(scores)
        if name != (run.variant, run.tag) and sign * run.metrics[key] > sign * statistics.fmean(scores):
            return f"above the mean of {_label(name)}: {note}"
    strongest = name == (run.variant, run.tag)
    return f"one of the strongest row: {note}" if strongest else f"not of the strongest row, {_label(name)}: {note}"


def _label(row: tuple[str, str]) -> str:
    return ", ".join(part for part in row if part)


CHECKPOINT_TABLES: dict[str, Callable[[Sequence[RunResult], Sequence[Published]], str]] = {"checkpoints": checkpoints}
