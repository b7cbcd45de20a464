"""`ctxzoo train PROBLEM`: its options, problem by problem, and how it ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ctxzoo.tasks import PROBLEMS, get_problem, get_train_names

INTERRUPTED = 130
STOPPED = "stopped; the same command with --resume keeps what is finished and goes on with the rest"


def add_problem_parsers(train: argparse.ArgumentParser) -> None:
    """Add a subcommand for each task, for the help alone; `parse_train_options` reads their options."""
    problems = train.add_subparsers(title="problems", required=True, metavar="PROBLEM")
    for name in PROBLEMS:
        problem = get_problem(name)
        shown, aliases = (name, []) if problem.train_name is None else (problem.train_name, [name])
        text = f"Train a model of {problem.title} on your own data."
        problems.add_parser(shown, aliases=aliases, help=text, add_help=False)


def list_problems_with_options(unknown: Sequence[str]) -> str:
    """Return a sentence on which tasks have the unknown options, for an error message, or "".

    Args:
        unknown: Words of the command line that the parser did not recognise.
    """
    takers: dict[str, list[str]] = {}
    for name in PROBLEMS:
        problem = get_problem(name)
        for option in (*problem.data_args().values(), *problem.model_args.__dataclass_fields__):
            if f"--{option}" in {one.partition("=")[0] for one in unknown}:
                takers.setdefault(option, []).append(problem.train_name or name)
    told = (f"; --{option} is for {', '.join(names)}" for option, names in takers.items())
    return "".join(told)


def parse_train_options(words: Sequence[str]) -> argparse.Namespace | None:
    """Return the options of `ctxzoo train TASK`, or None if the words are another command.

    Every value of the experiment is an option by its name, `data` the dataset, and `line` is the `CommandLine`.

    Raises:
        SystemExit: `--help`, `--print_config`.
        OSError, ValueError: see `parse_train_command`.
    """
    if words[:1] != ["train"] or not words[1:2] or words[1] not in (names := get_train_names()):
        return None
    from ctxzoo.runs.command_line import UnknownOptionsError
    from ctxzoo.runs.own_data import parse_train_command

    problem = get_problem(names[words[1]])
    try:
        line = parse_train_command(problem, [word for word in words[2:] if word != "--debug"])
    except UnknownOptionsError as error:
        others = list_problems_with_options(error.options)
        raise ValueError(f"{error}{others or '; --help all shows those that there are'}") from error
    own = line.several["own"].values()
    options = argparse.Namespace(**{**line.experiment.values(), **own})
    options.data, options.line, options.problem = options.dataset, line, problem
    del options.dataset  # a pipe that two options name would be read twice
    options.command, options.debug = run_train_command, "--debug" in words
    return options


def run_train_command(options: argparse.Namespace) -> int:
    """Train, and return the exit status.

    Raises:
        ValueError: several processes, and data from a pipe; see also `train_on_user_data`.
    """
    from ctxzoo.runs.own_data import train_on_user_data
    from ctxzoo.training.interrupted import TrainingInterrupted
    from ctxzoo.training.process_group import is_first_process
    from ctxzoo.training.trainer import count_processes

    if not options.debug:
        from ctxzoo.training.libraries import silence_lightning

        silence_lightning()
    line = options.line.replace_files(options)
    processes = count_processes(line.experiment.build_trainer_settings())
    if processes > 1 and line != options.line:
        raise ValueError(f"data from a pipe, which one of the {processes} processes would empty; write it into a file")
    try:
        train_on_user_data(options.problem, line)
    except (TrainingInterrupted, KeyboardInterrupt):
        if is_first_process(processes):
            print(f"ctxzoo: {STOPPED}", file=sys.stderr)
        return INTERRUPTED
    return 0
