"""What a search for settings gains: the best of 20 trials beside the usual settings, on small data sets.

    python -m benchmarks.settings_search         about half an hour on one thread; needs CTXZOO_DATA

Each set is divided as `ctxzoo train` divides it, and searched with one seed as `--tune` does. The best trial is chosen
by validation, where the best of twenty has been lucky too; so both settings are trained once more, and scored on test.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import datasets
import torch

from benchmarks.reporting import RESULTS, Value, format_number, write_rows
from ctxzoo.data.sources import load_splits
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.runs.experiment import describe_values
from ctxzoo.runs.own_data import OwnArgs, build_search, parse_train_command, prepare_user_splits, set_user_rows
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.tuning import EndedTrial, Search, Trial, run_trials
from ctxzoo.tasks import get_problem

NAME = "settings_search"
TRIALS = 20
MINUTES = 600  # more than they take
SENTENCES = 2_000  # of the treebank
TREEBANK = "ctxzoo-data/ud_english_ewt"
# Problem to what is typed behind it; epochs are few, so that a trial takes half a minute.
SETS: dict[str, tuple[str, ...]] = {
    "session-recommendation": (
        *("--data", "ctxzoo-data/lastfm_hcrnn", "--architecture", "session_baseline", "--variant", "gru4rec"),
        *("--epochs", "4"),
    ),
    "polyphonic-music": (
        *("--data", "ctxzoo-data/polyphonic_music", "--config_name", "jsb_chorales", "--variant", "lstm"),
        *("--epochs", "4"),
    ),
    "token-classification": ("--data", TREEBANK, "--epochs", "4"),
}


def compare_searched_settings(problem: Problem, words: Sequence[str], trials: int) -> dict[str, Value]:
    """Search settings of a problem on one data set; return the row of the usual settings' scores and the best trial's.

    Args:
        problem: Name of the problem whose settings are searched.
        words: Words of the command line after `ctxzoo train PROBLEM`.
        trials: Number of trials.
    """
    line = parse_train_command(problem, words)
    experiment = line.experiment
    experiment = problem.fill_in_settings(
        set_user_rows(experiment, prepare_user_splits(problem, experiment, OwnArgs()))
    )
    search = build_search(problem, experiment, line.typed, lambda candidate: ExperimentRun(problem, candidate))
    ended_trials = []
    for trial in islice(run_trials(search, minutes=MINUTES, seed=experiment.seed, resume=False), trials):
        print(f"{problem.name}: trial {trial.number}: {trial.said if trial.score is None else trial.score}", flush=True)
        ended_trials.append(trial)
    scored_trials = [trial for trial in ended_trials if trial.score is not None]
    usual, best = (
        scored_trials[0],
        (min if search.lower_is_better else max)(scored_trials, key=lambda trial: trial.score),
    )
    usual_values = experiment.values()
    changed = {name: best.settings.values()[name] for name in search.space}
    return {
        "problem": problem.name,
        "data": experiment.data.named,
        "model": f"{experiment.model.architecture} {experiment.model.variant}",
        "score": search.objective,
        "trials": len(ended_trials),
        "ended_early": sum(trial.score is None for trial in ended_trials),
        "best_trial": best.number,
        "usual_validation": usual.score,
        "best_validation": best.score,
        "usual_test": _train_and_score_on_test(search, usual, "usual"),
        "best_test": _train_and_score_on_test(search, best, "best"),
        "is_better": int(best.score < usual.score if search.lower_is_better else best.score > usual.score),
        "changed": describe_values({name: value for name, value in changed.items() if value != usual_values[name]}),
        "seconds": sum(trial.seconds for trial in ended_trials),
    }


def _train_and_score_on_test(search: Search, trial: EndedTrial, name: str) -> float:
    """Train again with the settings of an ended trial, and return the score on the test split."""
    result = execute(search.build_run(trial.settings, Trial(name=name, minutes=MINUTES, score="test")), quiet=True)
    return float(result.metrics[f"test/{search.objective}"])


def _write_first_sentences(name: str, folder: Path) -> Path:
    """Write the first sentences of a treebank's training split, and return their file."""
    rows = load_splits(name, None)["train"]
    file = folder / f"{name.rpartition('/')[2]}.parquet"
    rows.select(range(min(SENTENCES, len(rows)))).to_parquet(str(file))
    return file


def format_settings_search_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of the usual settings' scores beside those of the best trial."""
    headings = ["data", "model", "score", "validation", "best of trials", "test", "test, best", "trials", "ended early"]
    names = ("usual_validation", "best_validation", "usual_test", "best_test")
    return format_markdown_table(
        [*headings, "minutes"],
        [
            [
                f"`{row['data']}`",
                row["model"],
                row["score"].replace("_", " "),
                *(format_number(row[name], 2) for name in names),
                row["trials"],
                row["ended_early"],
                format_number(row["seconds"], 1, 60),
            ]
            for row in rows
        ],
        left_aligned=3,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Search settings for each data set, print the table and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    commit = git_commit()
    rows = []
    for problem, words in SETS.items():
        with tempfile.TemporaryDirectory() as folder:
            data = {TREEBANK: str(_write_first_sentences(TREEBANK, Path(folder)))} if TREEBANK in words else {}
            own = ("--output_dir", folder, "--threads", "1")
            asked = [*(data.get(word, word) for word in words), *own]
            rows.append(compare_searched_settings(get_problem(problem), asked, options.trials))
        write_rows(options.out, rows, commit)
    print(
        format_settings_search_table(
            [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        )
    )


if __name__ == "__main__":
    main()
