"""`ctxzoo train` for any problem: from options to a trained model, its scores, and how it is used."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException

import ctxzoo
from ctxzoo.data.notices import on_one_line
from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.data.reading_notes import current_notes
from ctxzoo.hub.card import CardOptions
from ctxzoo.results.environment import public_name
from ctxzoo.results.result import TRIALS, RunResult, read_result
from ctxzoo.runs.finish import print_summary
from ctxzoo.runs.options import RANGES
from ctxzoo.runs.own_training import OwnTraining, prepared
from ctxzoo.runs.preset import Preset, told
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.run import Run, execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.runs.tuning import TUNED, Search, tuned_run
from ctxzoo.training.arguments import SEED
from ctxzoo.training.libraries import check_optuna
from ctxzoo.training.task import NonFiniteLossError

PACKAGE = Path(ctxzoo.__file__).parent
# Options that a request has by the same name.
TAKEN = (
    *("data", "validation", "test", "data_dir", "settings", "architecture", "variant", "init_from", "seed"),
    *("tiny", "resume", "replace", "output_dir", "accelerator", "devices", "push_to"),
)
SETTINGS = ("epochs", "batch_size", "learning_rate", "precision")  # options that change every problem's settings


def request_of(options: argparse.Namespace, own: Mapping[str, Any], *, columns: Iterable[str] = ()) -> TrainingRequest:
    """Return what a user asks for.

    Args:
        options: of the command line, those of every problem.
        own: name to value of the options of this problem; those that are not `columns` are settings.
        columns: names of the options that say where in the data something is.

    Raises:
        ValueError: a number out of its range.
        ImportError: what a search needs is not installed.
    """
    columns = tuple(columns)
    given = {name: getattr(options, name) for name in SETTINGS} | {
        name: value for name, value in own.items() if name not in columns
    }
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in (*changes.items(), ("seed", options.seed)):
        allowed = SEED if name == "seed" else RANGES.get(name)
        if allowed is not None and value not in allowed:
            raise ValueError(f"--{name} {value}: expected {allowed}")
    if options.tune is not None and options.tune <= 0:
        raise ValueError(f"--tune {options.tune:g}: expected minutes, more than 0")
    if options.tune is not None:
        check_optuna()
    return TrainingRequest(
        **{name: getattr(options, name) for name in TAKEN},
        changes=changes,
        columns={name: own[name] for name in columns},
        card=CardOptions(example=options.example, licence=options.license, language=tuple(options.language or ())),
        minutes=options.tune,
        results_dir=options.results_dir or str(Path(options.output_dir) / "results"),
        threads=options.threads or torch.get_num_threads(),
        progress=sys.stdout.isatty(),
    )


def train_own_data(training: OwnTraining, request: TrainingRequest) -> RunResult:
    """Train on a user's data, and print what was done and found.

    Args:
        training: of the problem.
        request: of the user.

    Raises:
        OSError, ValueError: the data, a checkpoint or a folder is not as it should be; no finite loss.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    torch.set_num_threads(request.threads)
    datasets.disable_progress_bars()
    preset = training.choose(request)
    splits = prepared(training, request)
    for line in (*splits.lines, *current_notes().new_lines()):
        print(line)
    where = "the checkpoint's" if request.init_from is not None else request.settings
    print(f"training {preset.architecture} {preset.variant} with {where} settings: {told(preset.settings())}")
    try:
        with warnings_as_notes():
            if request.minutes is None:
                run, resume = _plain_run(training, request, preset, splits), request.resume
                if resume and not run.spec.folder.is_dir():
                    say("note: no training on these rows was begun before; it starts anew")
            else:
                run, resume = _tuned(training, request, preset, splits), True
            kept = run.spec.finished() if resume else None
            before = training_before(run)
            result = execute(run, resume=resume)
    except (NonFiniteLossError, FloatingPointError) as error:
        raise ValueError(str(error)) from error
    except MisconfigurationException as error:
        raise ValueError(f"{error} Choose another --accelerator, --devices or --precision") from error
    predicted = training.predict_options(run.spec.checkpoint, splits.folder / "test.parquet")
    print_end(training, run, result, predicted, training.beside(request, run, result), is_new=kept is None)
    if kept is None and before is not None:
        print(compared_line(training, run, result, *before))
    return result


def _plain_run(training: OwnTraining, request: TrainingRequest, preset: Preset, splits: OwnSplits) -> Run:
    """Return the training that is asked for; to resume, a finished one whose names say nothing of the data's content.

    Those are of `--replace`, or of before names told the content.
    """
    if request.resume:
        named = training.run(replace(request, replace=True), preset, splits)
        if named.spec.finished() is not None:
            return named
    return training.run(request, preset, splits)


def _tuned(training: OwnTraining, request: TrainingRequest, preset: Preset, splits: OwnSplits) -> Run:
    """Return the run with the best settings of a search within the budget of the request."""
    assert request.minutes is not None, "a search needs a budget"
    trials = replace(request, results_dir=str(Path(request.results_dir) / TRIALS))
    free = {name: values for name, values in training.search_space(preset).items() if name not in request.changes}
    search = Search(
        run_of=lambda tried, trial: training.run(request if trial.name == TUNED else trials, tried, splits, trial),
        start=preset,
        space=free,
        objective=training.objective,
        lower_is_better=training.lower_is_better,
    )
    return tuned_run(search, minutes=request.minutes, seed=request.seed, resume=request.resume, tell=say)


def training_before(run: Run) -> tuple[RunResult, Path] | None:
    """Return the results of the newest training of the same name, whatever its rows and settings, and their file."""
    spec, found = run.spec, []
    for path in spec.results_file.parent.glob("*.json"):
        with suppress(ValueError, TypeError):  # no results file
            found.append((read_result(path), path))
    ours = (spec.variant, public_name(spec.dataset or ""), spec.score, spec.seed, spec.tag)
    same = [one for one in found if (one[0].variant, one[0].dataset, one[0].split, one[0].seed, one[0].tag) == ours]
    return max(same, key=lambda one: one[0].created, default=None)


def compared_line(training: OwnTraining | Problem, run: Run, result: RunResult, before: RunResult, file: Path) -> str:
    """Say in a line what the training before scored beside this one, how the two differ, and where its model is."""
    name = f"{result.split}/{training.objective}"
    scores = [f"{one.metrics[name]:.2f}" if name in one.metrics else "none" for one in (before, result)]
    kept = {**run.spec.defaults, **before.settings}
    same_rows = kept.get("rows") == result.settings.get("rows")
    names = sorted((kept.keys() | result.settings.keys()) - {"rows"})
    others = {one: kept.get(one) for one in names if kept.get(one) != result.settings.get(one)}
    settings = f"with {told(others)}" if others else "with the same settings"
    folder = run.spec.folder.with_name(file.stem)
    place = "this one has taken its place" if file == run.spec.results_file else f"its model is kept in {folder}"
    return (
        f"the training before of {result.dataset} (on {'the same' if same_rows else 'other'} rows, {settings}) had "
        f"{name.replace('/', ' ').replace('_', ' ')} {scores[0]}, this one {scores[1]}; {place}"
    )


def print_end(
    training: OwnTraining | Problem, run: Run, result: RunResult, predicted: str, beside: Iterable[str], *, is_new: bool
) -> None:
    """Print scores, what stands beside them, and how the checkpoint is used.

    Args:
        training: Problem of the run.
        run: Run that has ended.
        result: Its results.
        predicted: Arguments of `ctxzoo predict`, as they are typed.
        beside: Lines that stand beside the scores.
        is_new: Whether it was trained now, and not found finished.
    """
    if not is_new:
        print("this training was finished before; its results are kept")
    if not (is_new and isinstance(run, ExperimentRun)):  # which has printed it
        print_summary(result, run.spec, training.card)
    print()
    for line in beside:
        print(line)
    checkpoint = run.spec.checkpoint
    print(f"use it:\n    ctxzoo predict {checkpoint} {predicted}")
    if training.card.pipeline_class is not None:
        print(f'or in Python:\n    import ctxzoo\n    print(ctxzoo.pipeline("{checkpoint}")({training.called}))')


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what the package warns of in one line each, and nothing of what other libraries warn of."""

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any) -> None:
        if Path(filename).is_relative_to(PACKAGE):
            say(f"note: {on_one_line(message) if isinstance(message, Warning) else message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def say(line: str) -> None:
    print(line, flush=True)
