"""`ctxzoo train PROBLEM`: its options, problem by problem, and how it ends."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any, cast

from ctxzoo.data.pipes import KINDS
from ctxzoo.tasks import PROBLEMS, commands_named
from ctxzoo.tasks.commands import FORMAT, NO_HEADER, SKIP_BAD, TaskCommands, positive
from ctxzoo_command import debug_parser

INTERRUPTED = 130
STOPPED = "stopped; the same command with --resume keeps what is finished and goes on with the rest"


def add_problems(train: argparse.ArgumentParser) -> None:
    """Add a command for each problem that can be trained on own data, with the options that it takes."""
    problems = train.add_subparsers(title="problems", required=True, metavar="PROBLEM")
    for name in PROBLEMS:
        commands = commands_named(name)
        if not commands.can("train"):
            continue
        shown, aliases = (name, []) if commands.train_name is None else (commands.train_name, [name])
        text = f"Train a model of {commands.title} on your own data."
        if commands.takes_experiments:  # whose options `experiment_options` reads
            problems.add_parser(shown, aliases=aliases, help=text, add_help=False)
            continue
        sub = problems.add_parser(shown, aliases=aliases, help=text, description=text, parents=[debug_parser()])
        sub.set_defaults(command=train_command, commands=commands)
        _add_options(sub)
        own = sub.add_argument_group(commands.title)
        for option in commands.train_options:
            option.add_to(own)


def problems_with(unknown: Sequence[str], options: argparse.Namespace) -> str:
    """Return which problems take the options that the problem of a `ctxzoo train` does not, or nothing, for a message.

    Args:
        unknown: What was left of the command line.
        options: Those that were read.
    """
    takers: dict[str, list[str]] = {}
    for name in PROBLEMS if hasattr(options, "commands") else ():
        other: Any = commands_named(name)
        taken = [option.name for option in other.train_options] if other.can("train") else []
        if other.takes_experiments:
            taken = [*other.data_args().values(), *other.model_args.__dataclass_fields__]
        for option in taken:
            if f"--{option}" in {one.partition("=")[0] for one in unknown}:
                takers.setdefault(option, []).append(other.train_name or name)
    told = (f"; --{option} is for {', '.join(names)}" for option, names in takers.items())
    return "".join(told)


def experiment_options(words: Sequence[str]) -> argparse.Namespace | None:
    """Return the options of `ctxzoo train` of a problem whose trainings are experiments; None: it is another command.

    Every value of the experiment is an option by its name, `data` the dataset, and `line` is the `CommandLine`.

    Raises:
        SystemExit: `--help`, `--print_config`.
        OSError, ValueError: see `parse_own`.
    """
    commands = commands_named(words[1]) if words[:1] == ["train"] and words[1:2] and words[1] in PROBLEMS else None
    if commands is None or not commands.takes_experiments:
        return None
    from ctxzoo.runs.command_line import UnknownOptionsError
    from ctxzoo.runs.own_data import parse_own

    try:
        line = parse_own(cast(Any, commands), [word for word in words[2:] if word != "--debug"])
    except UnknownOptionsError as error:
        others = problems_with(error.options, argparse.Namespace(commands=commands))
        raise ValueError(f"{error}{others or '; --help all shows those that there are'}") from error
    own = line.several["own"].values()
    options = argparse.Namespace(**{**line.experiment.values(), **own})
    options.data, options.line, options.commands = options.dataset, line, commands
    del options.dataset  # a pipe that two options name would be read twice
    options.command, options.debug = train_command, "--debug" in words
    return options


def train_command(options: argparse.Namespace) -> int:
    """Train, and return the exit status."""
    from ctxzoo.training.interrupted import TrainingInterrupted

    commands: TaskCommands = options.commands
    if not options.debug:
        import lightning.pytorch  # noqa: F401  sets its level when it is imported
        import transformers

        logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
        transformers.utils.logging.set_verbosity_error()  # a new head is told in one line
    try:
        if commands.takes_experiments:
            from ctxzoo.runs.own_data import train_own

            train_own(cast(Any, commands), options.line.with_files(options))
        else:
            commands.train(options, {option.name: getattr(options, option.name) for option in commands.train_options})
    except (TrainingInterrupted, KeyboardInterrupt):
        print(f"ctxzoo: {STOPPED}", file=sys.stderr)
        return INTERRUPTED
    return 0


def _add_options(sub: argparse.ArgumentParser) -> None:
    """Add the options of every problem."""

    def add(group: Any, name: str, help: str, **options: Any) -> None:
        group.add_argument(f"--{name}", help=help, **options)

    data = sub.add_argument_group("data")
    add(data, "data", "file, folder, Hub id, or: sample (generated)", required=True)
    add(data, "validation", "file of its own to choose the best epoch by; default: drawn from --data")
    add(data, "test", "file of its own to score at the end; default: drawn from --data")
    add(data, "data_dir", "folder of datasets as <namespace>/<name>; default: $CTXZOO_DATA")
    add(data, "format", FORMAT, choices=KINDS)
    add(data, "no_header", NO_HEADER, action="store_true")
    add(data, "skip_bad", SKIP_BAD, action="store_true")
    model = sub.add_argument_group("model and settings")
    add(
        model,
        "settings",
        "default, or those of the architecture's paper",
        choices=("default", "paper"),
        default="default",
    )
    add(model, "architecture", "what to train, as `ctxzoo list` names it; default: that of the settings")
    add(model, "variant", "of the architecture, as `ctxzoo info ARCHITECTURE` names it")
    add(model, "init_from", "go on from this checkpoint, folder or Hub id; new labels get a new head")
    add(model, "epochs", "passes over the training data, at most", type=positive)
    add(model, "batch_size", "examples of a step", type=positive)
    add(model, "learning_rate", "at the beginning, or after the warm-up", type=float)
    add(model, "precision", "of numbers", choices=("32-true", "bf16-mixed", "16-mixed", "auto"))
    add(
        model,
        "tune",
        "search settings on validation for so many minutes, and keep the best",
        type=float,
        metavar="MINUTES",
    )
    run = sub.add_argument_group("run")
    add(run, "seed", "of the training; default: 0", type=int, default=0)
    add(run, "resume", "keep what is finished, go on where a training stopped", action="store_true")
    add(
        run,
        "replace",
        "take the place of a training with other rows of the same name; default: its folder stays beside the new one",
        action="store_true",
    )
    add(run, "tiny", "a small model on a few batches: does it run?", action="store_true")
    add(run, "output_dir", "where checkpoints are written; default: runs", default="runs")
    add(run, "results_dir", "where scores are written; default: results in --output_dir")
    add(run, "accelerator", "cpu, gpu and so on; default: auto", default="auto")
    add(run, "devices", "how many of them; default: auto", default="auto")
    add(run, "threads", "of the CPU; default: as many as it has", type=positive)
    add(run, "push_to", "Hub repository that receives the checkpoint, as USER/NAME")
    card = sub.add_argument_group("card, of data that is not published; nothing of it is guessed")
    add(card, "license", "of the weights, as the Hub names it, such as apache-2.0; default: the card names none")
    add(card, "language", "of the texts, one or several, as en; default: the card names none", nargs="+")
    add(
        card,
        "example",
        'a text for the example (of a reader "question | context"); alone: a test row; default: none of the data',
        nargs="?",
        const="",
        metavar="TEXT",
    )
