"""`ctxzoo train` for any problem: from options to a trained model, its scores, and how it is used."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import datasets
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException

import ctxzoo
from ctxzoo.data.bucketing import disable_distributed_sharding
from ctxzoo.data.files import build_cached_folder, check_folder_is_writable, hash_strings
from ctxzoo.data.notices import format_count, format_error_on_one_line
from ctxzoo.data.own_splits import OwnSplits, write_own_splits
from ctxzoo.data.reading_notes import get_reading_notes
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.hub.card import CardOptions
from ctxzoo.results.environment import strip_local_path
from ctxzoo.results.result import TRIALS, RunResult, read_result
from ctxzoo.runs.beside import describe_baselines
from ctxzoo.runs.command_line import (
    OWN,
    CommandLine,
    ExperimentParser,
    expand_settings_files,
    find_typed_value,
    format_settings,
)
from ctxzoo.runs.experiment import Experiment, describe_values
from ctxzoo.runs.finish import print_summary
from ctxzoo.runs.problem import CONTINUED, OF_A_CONTINUATION, Problem, choose_names, open_start_checkpoint
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.runs.tuning import Search, Trial, search_run
from ctxzoo.training.arguments import POSITIVE, Args, number_field
from ctxzoo.training.libraries import check_optuna
from ctxzoo.training.process_group import is_first_process, silence_other_processes
from ctxzoo.training.task import NonFiniteLossError
from ctxzoo.training.trainer import count_processes
from ctxzoo.version import version

PACKAGE = Path(ctxzoo.__file__).parent
SHORT = {"data": "dataset", "linear": "baselines", "objective": "monitor"}
# What `ctxzoo train PROBLEM --help` shows, beside the values of the problem's data and model.
SHOWN = (
    *("dataset", "validation", "test", "data_dir", "format", "no_header", "skip_bad", "settings", "architecture"),
    *("variant", "init_from", "word_vectors", "encoder", "train_encoder", "epochs", "batch_size", "learning_rate"),
    *("precision", "tune", "seed", "max_steps", "streaming", "shuffle_buffer"),
    "monitor",
    *("resume", "replace", "tiny", "output_dir", "threads", "push_to", "license", "language", "example", "baselines"),
)


@dataclass(frozen=True, kw_only=True)
class OwnArgs(Args):
    """What belongs to data of one's own.

    Args:
        validation: File of validation rows, by which the best epoch is chosen; null: rows drawn from --data.
        test: File of test rows, which are scored at the end; null: rows drawn from --data.
        format: File format of data read from a pipe, such as csv or jsonl; null: recognized by its content.
        no_header: Whether .csv and .tsv files have no header line, so that columns are numbered from 0.
        skip_bad: Whether files, rows and documents with errors are skipped and listed, instead of refused.
        settings: Name of the settings to start from: default, the project's own, or paper, those of the architecture's
            paper.
        tune: Minutes of a hyperparameter search scored on validation, whose best model is kept; null: no search.
        license: Licence of the weights for the model card, in the Hub's spelling, such as mit; null: none is named.
        language: Language codes of the texts for the model card, such as en; empty: none are named.
        example: Example input for the model card; without a value: a row of the test split; null: no example from the
            data.
    """

    validation: str | None = None
    test: str | None = None
    format: str | None = None
    no_header: bool = False
    skip_bad: bool = False
    settings: Literal["default", "paper"] = "default"
    tune: float | None = number_field(None, POSITIVE)
    license: str | None = None
    language: tuple[str, ...] = ()
    example: str | None = None


def parse_train_command(problem: Problem, arguments: Sequence[str]) -> CommandLine:
    """Parse the command line of `ctxzoo train PROBLEM`; `several["own"]` of the result is an `OwnArgs`.

    Args:
        problem: Problem that `ctxzoo train` is called for, such as text classification.
        arguments: Words of the command line after the name of the problem.

    Raises:
        SystemExit: `--help`, `--print_config`.
        OSError, ValueError: there is no such option, setting, architecture, variant or checkpoint.
    """
    words = expand_settings_files(arguments)  # read once: it may be a pipe
    chosen = {name: find_typed_value(words, name) for name in ("settings", "architecture", "variant", "init_from")}
    base = choose_base_experiment(
        problem, **{name: value for name, value in chosen.items() if value not in (None, "null")}
    )
    parser = ExperimentParser(
        base,
        extra={OWN: OwnArgs()},
        short=SHORT,
        alone={"example": ""},
        needed=("dataset",),
        hidden=("score", "tag", *problem.of_recipes),
        fixed=("architecture", "variant"),
        usage=f"ctxzoo train {problem.train_name or problem.name} --data DATA [options]",
        description=f"Train a model of {problem.title} on your own data.",
        shown={
            *SHOWN,
            *(problem.in_help or (*problem.data_args.__annotations__, *problem.model_args.__annotations__)),
        },
    )
    line = parser.parse(words)
    experiment = line.make_tiny(problem.make_tiny)
    if "results_dir" not in line.typed:
        experiment = experiment.copy_with(results_dir=str(Path(experiment.run.output_dir) / "results"))
    problem.check(experiment)
    return replace(line, experiment=experiment)


def choose_base_experiment(
    problem: Problem,
    *,
    settings: str = "default",
    architecture: str | None = None,
    variant: str | None = None,
    init_from: str | None = None,
) -> Experiment:
    """Return the default settings of an architecture and variant, or those of a checkpoint to continue from.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: an architecture or variant that there is not; a checkpoint of another problem.
    """
    recipe = f"train_{problem.name.replace('-', '_')}"
    paper = "paper" if settings == "paper" else ""
    if init_from is None:
        names = choose_names(problem, problem.title, architecture, variant)
        return problem.get_settings(settings, *names).copy_with(recipe=recipe, tag=paper, **_get_usual_run_values())
    saved = open_start_checkpoint(init_from, problem.name, architecture, variant)
    name = saved.architecture.name
    suited = problem.find_variant(saved.config)
    usual = problem.get_settings(settings, name, suited or next(iter(problem.get_variants(name))))
    model = problem.model_args(architecture=name, variant=suited or CONTINUED)  # all else is that of the checkpoint
    kept = {key: value for key, value in usual.data.values().items() if key in OF_A_CONTINUATION}
    tag = "-".join(part for part in (paper, CONTINUED if suited else "") if part)
    begun = replace(usual, model=model, data=problem.data_args(**kept), start=type(usual.start)())
    return begun.copy_with(recipe=recipe, tag=tag, init_from=init_from, **_get_usual_run_values())


def _get_usual_run_values() -> dict[str, Any]:
    """Return the values of `RunArgs` for a command whose output a person reads."""
    return {"progress": sys.stdout.isatty(), "tell_time": True, "tensorboard": False, "threads": None}


@dataclass(frozen=True)
class Trained:
    """A model that was trained on a user's data.

    Attributes:
        checkpoint: Folder of the saved model and tokenizer.
        result: Results of the run, as in its results file; `result.metrics` maps names such as "test/accuracy" to
            values.
    """

    checkpoint: Path
    result: RunResult

    @property
    def metrics(self) -> dict[str, float]:
        """The scores, by split/name."""
        return self.result.metrics


def train_on_user_data(problem: Problem, line: CommandLine) -> Trained:
    """Train a model on a user's data for `ctxzoo train`, and print its scores and how to use it.

    Args:
        problem: Problem that `ctxzoo train` is called for, such as text classification.
        line: Parsed command line of `ctxzoo train`, as `parse_train_command` returns it.

    Raises:
        OSError, ValueError: the data, a checkpoint, word vectors or a folder is not as it should be; no finite loss.
        ImportError: what a search needs is not installed.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    processes = count_processes(line.experiment.build_trainer_settings())
    with silence_other_processes(processes):
        return _train_and_print(problem, line, processes)


def _train_and_print(problem: Problem, line: CommandLine, processes: int) -> Trained:
    """Do what `train_on_user_data` does; of several processes the first alone compares with baselines."""
    user_args: OwnArgs = line.several[OWN]
    if user_args.tune is not None:
        check_optuna()
    card = CardOptions(example=user_args.example, licence=user_args.license, language=user_args.language)
    if card.example:
        problem.card.parse_example(card.example)  # an error now, not when the training is over
    if line.experiment.run.threads is not None:
        torch.set_num_threads(line.experiment.run.threads)
    datasets.disable_progress_bars()
    splits = prepare_user_splits(problem, line.experiment, user_args)
    for text in (*splits.lines, *get_reading_notes().format_new_lines()):
        print(text)
    experiment = problem.fill_in_settings(set_user_rows(line.experiment, splits))
    settings_name, model = (
        user_args.settings if experiment.start.init_from is None else "the checkpoint's",
        experiment.model,
    )
    print(
        f"training {model.architecture} {model.variant} with {settings_name} settings: {_describe_settings(experiment)}"
    )
    try:
        with print_warnings_as_notes():
            build_run = partial(_build_run, problem, card, user_args)
            run, resume = _find_or_build_run(experiment, build_run), experiment.run.resume
            if user_args.tune is not None:
                search = build_search(problem, experiment, line.typed, build_run)
                best_run = search_run(search, minutes=user_args.tune, seed=experiment.seed, resume=resume, tell=say)
                assert isinstance(best_run, ExperimentRun)
                run, resume = best_run, True
            elif resume and not run.folder.is_dir():
                say("note: no training on these rows was begun before; it starts anew")
            finished_result = run.read_finished_result() if resume else None
            previous = find_previous_training(run)
            result = execute(run, resume=resume)
    except (NonFiniteLossError, FloatingPointError) as error:
        raise ValueError(str(error)) from error
    except MisconfigurationException as error:
        raise ValueError(f"{error} Choose another --accelerator, --devices or --precision") from error
    if not is_first_process(processes):
        return Trained(run.checkpoint, result)
    predicted = problem.format_predict_arguments(run.checkpoint, splits.folder / "test.parquet")
    with disable_distributed_sharding():
        print_results(
            problem,
            run,
            result,
            predicted,
            describe_baselines(problem, run.experiment, result),
            is_new=finished_result is None,
        )
    if finished_result is None and previous is not None:
        print(format_comparison_with_previous(problem, run, result, *previous))
    return Trained(run.checkpoint, result)


def prepare_user_splits(problem: Problem, experiment: Experiment, user_args: OwnArgs) -> OwnSplits:
    """Read, check and split the user's data, and write the splits into the folder of outputs.

    Raises:
        OSError: that folder cannot be written; see also `Problem.read_user_data`.
        ValueError: see `Problem.read_user_data` and `write_own_splits`.
    """
    folder = Path(experiment.run.output_dir) / experiment.recipe
    check_folder_is_writable(folder)
    files = {
        name: file
        for name, file in (("validation", user_args.validation), ("test", user_args.test))
        if file is not None
    }
    with tempfile.TemporaryDirectory(dir=folder, prefix=".reading-") as scratch:
        if experiment.data.streaming:
            return write_streamed_splits(problem, experiment, files, Path(scratch) / "rows")
        rows = problem.read_user_data(experiment, files, Path(scratch))
        return write_own_splits(rows, _get_data_name(experiment.data.dataset), folder)


def write_streamed_splits(
    problem: Problem, experiment: Experiment, files: Mapping[str, str], scratch: Path
) -> OwnSplits:
    """Read, check and split the user's data in one pass that holds a few of the rows, and write the splits.

    Args:
        problem: Problem that `ctxzoo train` is called for.
        experiment: Experiment with the user's settings, whose `data.dataset` is read.
        files: Files given for the splits "validation" and "test", by split name.
        scratch: Folder to write into, beside which the folder of the splits gets its place.

    Raises:
        OSError, ValueError: see `open_splits` and `write_stream`.
    """
    from ctxzoo.data.stream_pass import open_splits, write_stream
    from ctxzoo.data.training_stream import TrainingStream

    name, parent = _get_data_name(experiment.data.dataset), scratch.parent.parent
    reader = problem.build_data_module(experiment).build_stream_reader()
    scratch.mkdir()
    splits = open_splits(reader, experiment.data.dataset, experiment.run.data_dir, files)
    written = write_stream(reader, splits, name, scratch, report=lambda rows: say(f"{rows:,} rows are read"))
    whole = TrainingStream(scratch).load_whole_splits()
    hashes = {split: dataset_fingerprint(rows) for split, rows in whole.items()}
    key = hash_strings([written.facts.fingerprint, *(f"{split} {one}" for split, one in sorted(hashes.items()))])

    def move(temporary: Path) -> None:
        """Move what was written into the folder."""
        for path in scratch.iterdir():
            path.replace(temporary / path.name)

    folder = build_cached_folder(parent / f"data-{key[:12]}", move)
    total = format_count(sum(written.sizes.values()), written.change)
    return OwnSplits(folder, (f"{name}: {total}",), written.sizes, written.drawn)


def _get_data_name(data: str) -> str:
    """Return the name of the data in results; only the last part of a path, so that it is no Hub id."""
    return Path(data).resolve().name if Path(data).exists() else data


def set_user_rows(experiment: Experiment, splits: OwnSplits) -> Experiment:
    """Return a copy of the experiment that trains on a user's divided rows."""
    name = _get_data_name(experiment.data.dataset)
    # Scores on a test split that was drawn here are none on the Hub's dataset.
    named = name.rpartition("/")[2] if "test" in splits.drawn else name
    tag = "-".join(part for part in (experiment.tag, "tiny" if experiment.trainer.tiny else "") if part)
    return experiment.copy_with(rows=splits.folder.name, named=named, tag=tag, commit=version())


def _build_run(problem: Problem, card: CardOptions, user_args: OwnArgs, experiment: Experiment) -> ExperimentRun:
    """Build the run of one training, with its settings as YAML text to start it again."""
    typed = format_settings(experiment, {OWN: replace(user_args, tune=None)}, problem.of_recipes)
    return ExperimentRun(problem, experiment, card, typed)


def _find_or_build_run(experiment: Experiment, build_run: Callable[[Experiment], ExperimentRun]) -> ExperimentRun:
    """Return the run of an experiment; with `--resume` a finished one whose name lacks the data's fingerprint.

    Such runs are of `--replace`, or of earlier versions.
    """
    if experiment.run.resume:
        named = build_run(experiment.copy_with(replace=True))
        if named.read_finished_result() is not None:
            return named
    return build_run(experiment)


def build_search(
    problem: Problem,
    experiment: Experiment,
    typed: frozenset[str],
    build_run: Callable[[Experiment], ExperimentRun],
) -> Search:
    """Build the hyperparameter search around an experiment; settings that the user typed stay fixed.

    Args:
        problem: Problem of the experiment.
        experiment: Experiment whose settings the first trial uses unchanged.
        typed: Names of the settings that the user typed, which the search does not vary.
        build_run: Function from an experiment to its training run.
    """
    trials = str(Path(experiment.run.results_dir) / TRIALS)

    def build_trial_run(trial_settings: Experiment, trial: Trial) -> ExperimentRun:
        """Build the run of one trial of a search, whose results stay in the search's folder."""
        tag = "-".join(part for part in (trial_settings.tag, trial.name) if part)
        trial_experiment = trial_settings.copy_with(
            tag=tag, score=trial.score, minutes=trial.minutes, progress=False, tell_time=False
        )
        only_kept = {} if trial.score == "test" else {"results_dir": trials, "push_to": None}
        return build_run(trial_experiment.copy_with(**only_kept))

    return Search(
        build_run=build_trial_run,
        start=experiment,
        space={name: values for name, values in problem.build_search_space(experiment).items() if name not in typed},
        objective=problem.get_objective(experiment),
        lower_is_better=problem.lower_is_better,
    )


def _describe_settings(experiment: Experiment) -> str:
    """Return the settings of a training as text for a person; unchanged ones of data and start are left out."""
    unless_usual = {*experiment.data.values(), *experiment.start.values()}
    usual = {name: value for name, value in experiment.class_defaults().items() if name in unless_usual}
    aside = {"rows", "world_size"}
    return describe_values(
        {
            name: value
            for name, value in experiment.settings().items()
            if name not in aside and value not in (None, "", False, []) and not (name in usual and value == usual[name])
        }
    )


def find_previous_training(run: ExperimentRun) -> tuple[RunResult, Path] | None:
    """Find the newest finished training of the same name, its result and file, to compare with."""
    results = []
    for path in run.results_file.parent.glob("*.json"):
        with suppress(ValueError, TypeError):  # no results file
            results.append((read_result(path), path))
    identity = (run.variant, strip_local_path(run.dataset), run.split, run.experiment.seed, run.tag)
    matching = [
        one for one in results if (one[0].variant, one[0].dataset, one[0].split, one[0].seed, one[0].tag) == identity
    ]
    return max(matching, key=lambda one: one[0].created, default=None)


def format_comparison_with_previous(
    problem: Problem, run: ExperimentRun, result: RunResult, previous: RunResult, file: Path
) -> str:
    """Return a line that compares a training with the one before: scores, settings, and its folder."""
    name = f"{result.split}/{problem.get_objective(run.experiment)}"
    scores = [f"{one.metrics[name]:.2f}" if name in one.metrics else "none" for one in (previous, result)]
    previous_settings = {**run.defaults, **previous.settings}
    same_rows = previous_settings.get("rows") == result.settings.get("rows")
    names = sorted((previous_settings.keys() | result.settings.keys()) - {"rows"})
    differing = {
        one: previous_settings.get(one) for one in names if previous_settings.get(one) != result.settings.get(one)
    }
    settings = f"with {describe_values(differing)}" if differing else "with the same settings"
    folder = run.folder.with_name(file.stem)
    place = "this one has taken its place" if file == run.results_file else f"its model is kept in {folder}"
    return (
        f"the training before of {result.dataset} (on {'the same' if same_rows else 'other'} rows, {settings}) had "
        f"{name.replace('/', ' ').replace('_', ' ')} {scores[0]}, this one {scores[1]}; {place}"
    )


def print_results(
    problem: Problem,
    run: ExperimentRun,
    result: RunResult,
    predicted: str,
    baseline_lines: Iterable[str],
    *,
    is_new: bool,
) -> None:
    """Print the scores of a finished training, those of the baselines, and how the checkpoint is used.

    Args:
        problem: Problem that the model solves, which knows how its checkpoints are used.
        run: Training run that has finished.
        result: Results of the training run.
        predicted: Example arguments of `ctxzoo predict` for this checkpoint, as a line to copy.
        baseline_lines: Lines that compare the scores with baselines, printed below the scores.
        is_new: Whether the model was trained in this call; otherwise an earlier, finished run was kept.
    """
    if not is_new:
        print("this training was finished before; its results are kept")
        print_summary(result, run)  # which a new one has printed
    print()
    for line in baseline_lines:
        print(line)
    checkpoint = run.checkpoint
    print(f"use it:\n    ctxzoo predict {checkpoint} {predicted}")
    if problem.called:
        print(f'or in Python:\n    import ctxzoo\n    print(ctxzoo.pipeline("{checkpoint}")({problem.called}))')


@contextmanager
def print_warnings_as_notes() -> Iterator[None]:
    """Print warnings of this package as notes of one line; within this context others are not shown."""

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any) -> None:
        if Path(filename).is_relative_to(PACKAGE):
            say(f"note: {format_error_on_one_line(message) if isinstance(message, Warning) else message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def say(line: str) -> None:
    """Print a line at once, without waiting for more output."""
    print(line, flush=True)
