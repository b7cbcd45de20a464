"""`ctxzoo train PROBLEM`: its options, problem by problem, and how it ends."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

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
        other = commands_named(name)
        for option in other.train_options if other.can("train") else ():
            if f"--{option.name}" in {one.partition("=")[0] for one in unknown}:
                takers.setdefault(option.name, []).append(other.train_name or name)
    told = (f"; --{option} is for {', '.join(names)}" for option, names in takers.items())
    return "".join(told)


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
