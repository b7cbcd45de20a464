"""`TaskCommands`: what `ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` do for one problem.

Nothing is imported here, nor at the top of a subclass's file, that takes time: the command line reads all of them for
its help. What a command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

SKIP_BAD = "leave bad files, rows and documents out, and say how many and which"  # of every command that reads data


@dataclass(frozen=True)
class Option:
    """An option of a command that checkpoints of some problems have; it is None unless given.

    Attributes:
        name: as it is typed, without the dashes.
        help: for `--help`.
        type: makes its value of what was typed.
        choices: its only values.
    """

    name: str
    help: str | None = None
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] | None = None


class TaskCommands:
    """What the command line does for one problem and with its checkpoints.

    Attributes:
        title: of its options in `--help`.
        train_name: of the problem in `ctxzoo train`, where it is better known by another than heads say.
        train_options, evaluate_options, predict_options: the options that not every problem has.
    """

    title: ClassVar[str]
    train_name: ClassVar[str | None] = None
    train_options: ClassVar[tuple[Option, ...]] = ()
    evaluate_options: ClassVar[tuple[Option, ...]] = ()
    predict_options: ClassVar[tuple[Option, ...]] = ()

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        """Train on a user's own data, and print scores, checkpoint, and how it is used.

        Args:
            options: those that every problem has; `ctxzoo.runs.train_own_data.request_of` reads them.
            own: name to value of `train_options`.

        Raises:
            OSError, ValueError: the data or a checkpoint is missing or damaged; the options do not fit.
            TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
        """
        raise NotImplementedError

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of the checkpoint on the split, name to value.

        Args:
            options: `checkpoint`, `dataset` and `split`; `how_to_score` reads how to score.
            own: name to value of `evaluate_options`.

        Raises:
            OSError, ValueError: the checkpoint or the data is missing or damaged.
        """
        raise NotImplementedError

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        """Print, or write into files, what the checkpoint gives.

        Args:
            options: `checkpoint`, `file`, `output` and `batch_size`.
            own: name to value of `predict_options`.

        Raises:
            OSError, ValueError: the checkpoint or a file is missing or damaged; the options do not fit.
        """
        raise NotImplementedError

    def options(self, command: str) -> tuple[Option, ...]:
        """Return the options of "train", "evaluate" or "predict" that not every problem has."""
        found: tuple[Option, ...] = getattr(self, f"{command}_options")
        return found

    @classmethod
    def can(cls, command: str) -> bool:
        """Return whether the problem has this command, "train", "evaluate" or "predict"."""
        return getattr(cls, command) is not getattr(TaskCommands, command)


def how_to_score(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `ctxzoo evaluate` that every problem has, as its scoring function takes them."""
    return {
        "data_dir": options.data_dir,
        "batch_size": options.batch_size,
        "precision": options.precision,
        "progress": sys.stdout.isatty(),
    }


TEXT = Option(
    "text", "one text; for a tagger with words and signs set apart by spaces, of masked words with one [MASK]"
)


def check_text_or_file(options: argparse.Namespace, text: str | None) -> None:
    """Refuse anything but one text, or a file with an output file.

    Raises:
        ValueError: neither or both; an output without a file; a text of blanks.
    """
    if (text is not None) == (options.file is not None):
        raise ValueError("give either --text, or --file with --output")
    if text is not None and options.output is not None:
        raise ValueError("--output belongs to --file")
    if text is not None and not text.strip():
        raise ValueError(f"--text is {text!r}; expected a text")


def check_output(options: argparse.Namespace) -> None:
    """Refuse a file without an output file."""
    if options.file is not None and options.output is None:
        raise ValueError("--file needs --output, the JSON file to write")


def positive(text: str) -> int:
    """Read a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def probability(text: str) -> float:
    """Read a number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 1")
    return value


def write_json(file: Path, content: object) -> None:
    """Write content as a JSON file, atomically."""
    from ctxzoo.data.files import write_atomically

    write_atomically(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
