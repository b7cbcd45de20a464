"""`TaskCommands`: what `ctxzoo evaluate` and `ctxzoo predict` do for one problem.

Nothing is imported here, nor at the top of a subclass's file, that takes time: the command line reads all of them for
its help. What a command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ctxzoo.lazy_exports import import_object

if TYPE_CHECKING:
    from ctxzoo.data.answer_files import Answer
    from ctxzoo.data.rows import RowStream
    from ctxzoo.export.task_export import TaskExport

NO_HEADER = "the first line of .csv and .tsv files is a row; columns are then numbered from 0, as --text_column 1 says"
FORMAT = "of data that comes through a pipe, whose name does not say it; default: as its content shows"
SKIP_BAD = "leave bad files, rows and documents out, and say how many and which"  # of every command that reads data


@dataclass(frozen=True)
class Option:
    """An option of a command that checkpoints of some problems have; it is None unless given.

    Attributes:
        name: Name of the option without its dashes.
        help: Description of the option for `--help`; None: none.
        type: Function that converts the typed text into the value.
        choices: Allowed values; None: any.
        many: Whether the option takes a list of values.
        serves: Whether an option of `ctxzoo predict` is one of `ctxzoo serve` too: not an input that is typed, nor a
            file to write.
    """

    name: str
    help: str | None = None
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] | None = None
    many: bool = False
    serves: bool = True

    def add_to(self, group: Any) -> None:
        """Add the option to an argparse parser, or to a group of it."""
        more = {"nargs": "+"} if self.many else {}
        group.add_argument(f"--{self.name}", type=self.type, choices=self.choices, help=self.help, **more)


class TaskCommands:
    """What the command line does for one problem and with its checkpoints.

    Attributes:
        title: Heading in `--help` above the problem's options.
        joins_rows: Whether what a row is answered is the same to the last bit in whatever company it is read, so that
            `ctxzoo serve` may join requests; the answers then have a function `work`, from entries to results.
        evaluate_options, predict_options: Options that only this problem adds to `ctxzoo evaluate` and `ctxzoo
            predict`.
        export_at: Place of the problem's `TaskExport` as "module:name", imported when needed; None: models of this
            problem are not exported.
    """

    title: ClassVar[str]
    export_at: ClassVar[str | None] = None
    joins_rows: ClassVar[bool] = False
    evaluate_options: ClassVar[tuple[Option, ...]] = ()
    predict_options: ClassVar[tuple[Option, ...]] = ()

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split by name, for `ctxzoo evaluate`.

        Args:
            options: Parsed command line with `checkpoint`, `dataset` and `split`, and the options that
                `get_scoring_arguments` reads, such as `batch_size`.
            problem_options: Values of the problem's own `evaluate_options`, by name.

        Raises:
            OSError, ValueError: the checkpoint or the data is missing or damaged.
        """
        raise NotImplementedError

    def get_split_of_file(self, file: Path) -> str:
        """Return the name of the split that a file of data is, read alone."""
        return "train"

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print a checkpoint's predictions, or write them into a file, for `ctxzoo predict`.

        Args:
            options: Parsed command line with `checkpoint`, `saved` (the checkpoint as an opened `SavedModel`),
                `batch_size` and the options of `add_file_options`.
            problem_options: Values of the problem's own `predict_options`, by name.

        Raises:
            OSError, ValueError: the checkpoint or a file is missing or damaged; the options do not fit.
        """
        raise NotImplementedError

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the object which answers the rows of one source.

        `ctxzoo predict` and `ctxzoo serve` ask checkpoints through it alone, so that they answer alike. Files that
        options name are read here, once; the function takes no time, and what it builds, a
        `ctxzoo.hub.row_pipeline.Answers`, counts rows and is of one source.

        Args:
            model: Model of the problem, in evaluation mode, on its device.
            tokenizer: Tokenizer of the model; None for a model that reads no text.
            options: Values of the problem's own `predict_options` by name; None, or absent: not given.
            batch_size: Number of rows that the model reads at once, where it reads several.

        Raises:
            OSError, ValueError: an option that does not fit the model, or the others; a file that it names.
        """
        raise NotImplementedError

    def load_export(self) -> TaskExport:
        """Return what an exported model of this problem reads and gives, for `ctxzoo export`.

        Raises:
            ValueError: models of this problem are not exported.
        """
        if self.export_at is None:
            raise ValueError(
                f"models of {self.title} are not exported; use them by ctxzoo.pipeline or `ctxzoo predict`"
            )
        found: TaskExport = import_object(self.export_at)
        return found

    def stream_rows(self, name: str, rows: Sequence[dict[str, Any]], options: Mapping[str, Any]) -> RowStream:
        """Return the rows of a request as `ctxzoo predict` streams those of a .jsonl file.

        Args:
            name: Name of the source in messages.
            rows: Rows, each from column name to value; 1 or more.
            options: Values of the problem's own options by name, as in `prepare_answers`.

        Raises:
            ValueError: rows that are not as they should be, where they are read all at once.
        """
        from ctxzoo.data.rows import build_row_stream

        return build_row_stream(name, rows)

    def options(self, command: str) -> tuple[Option, ...]:
        """Return the options of a command, "evaluate", "predict" or "serve", that only this problem has."""
        if command == "serve":
            return tuple(option for option in self.predict_options if option.serves)
        found: tuple[Option, ...] = getattr(self, f"{command}_options")
        return found

    @classmethod
    def has_command(cls, command: str) -> bool:
        """Return whether the problem has this command, "evaluate", "predict" or "serve"."""
        method = "prepare_answers" if command == "serve" else command
        return getattr(cls, method) is not getattr(TaskCommands, method)


def get_scoring_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of the problem's scoring function that follow from options every problem has."""
    check_device(options.device)
    return {
        "data_dir": options.data_dir,
        "batch_size": options.batch_size,
        "precision": options.precision,
        "accelerator": {"cuda": "gpu"}.get(options.device, options.device),
        "progress": sys.stdout.isatty(),
    }


DEVICES = ("auto", "cpu", "cuda", "mps")
TEXT = Option(
    "text",
    "one text; for a tagger with words and signs set apart by spaces, of masked words with one [MASK]",
    serves=False,
)
TEXT_COLUMN = Option("text_column", "one or several, read one after another; default: text or the like", many=True)


def add_device_options(sub: argparse.ArgumentParser) -> None:
    """Add the options that say where a command computes."""
    sub.add_argument("--device", choices=DEVICES, default="auto", help="default: auto, a GPU where there is one")
    sub.add_argument("--threads", type=parse_positive_number, help="of the CPU; default: as many as it has; of serve 1")


def add_file_options(sub: argparse.ArgumentParser) -> None:
    """Add the options of `ctxzoo predict` that say what it reads and where it writes."""
    sub.add_argument(
        "--file",
        type=Path,
        help="what `ctxzoo train` reads: .csv, .tsv, .jsonl, .parquet (also .gz), one text a line, a folder, or - for "
        "the standard input; of readers SQuAD JSON; of music also .mid",
    )
    sub.add_argument(
        "--output",
        type=Path,
        help="the answers beside the columns of --file: .csv, .tsv or .jsonl; .json: the answers alone; of music also "
        ".mid; default: the standard output",
    )
    sub.add_argument(
        "--format",
        choices=("csv", "tsv", "jsonl", "parquet", "txt", "conll", "conllu"),
        help="of --file; default: as its name says",
    )


def check_device(name: str) -> None:
    """Raise an error if the named device, such as "cuda:0", does not exist on this machine.

    Raises:
        ValueError: There is none; the message says why.
    """
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no GPU of this kind here; take cpu, or see `ctxzoo doctor`")
    if name == "mps" and not torch.backends.mps.is_available():
        raise ValueError("--device mps: torch finds no Apple GPU here; take cpu")


def get_device(options: argparse.Namespace) -> Any:
    """Return the torch device that `--device` names; "auto" is a GPU where there is one.

    Raises:
        ValueError: There is no such device.
    """
    import torch

    check_device(options.device)
    if options.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(options.device)


def load_model(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the model of the opened checkpoint on the device that `--device` names, and its tokenizer, or None.

    Raises:
        OSError, ValueError: a file of the checkpoint is missing or damaged; there is no such device.
    """
    device = get_device(options)
    model, tokenizer = options.saved.load()
    return model.to(device), tokenizer


def check_input(options: argparse.Namespace, name: str, value: str | None) -> None:
    """Raise an error unless the user gave either one typed input or a file, not both.

    Args:
        options: Parsed command line with the attributes `file` and `output`.
        name: Name of the option that takes a typed input, such as "text".
        value: Input that was typed for this option; None: none.

    Raises:
        ValueError: Neither or both; an output without a file; an input of blanks.
    """
    if (value is not None) == (options.file is not None):
        raise ValueError(f"give either --{name}, or --file")
    if value is not None and options.output is not None:
        raise ValueError("--output belongs to --file")
    if value is not None and not value.strip():
        raise ValueError(f"--{name} is {value!r}; expected a {name}")


def answer_file(
    options: argparse.Namespace,
    answer: Callable[[list[dict[str, Any]], RowStream], Sequence[Answer | None]],
    *,
    rows: RowStream | None = None,
    columns: Sequence[str] = (),
) -> int:
    """Read the rows of the file given by `--file`, predict a thousand at a time, and write the answers.

    Args:
        options: Parsed command line with the attributes `file`, `format` and `output`.
        answer: Function from a list of rows (dicts by column) and their stream to one answer for each row; None for a
            row left out.
        rows: Stream of the rows of `--file`, for problems with a reader of their own; default: what `open_row_stream`
            reads.
        columns: Column names by which a header line in piped data is recognized.

    Returns:
        The number of answers.

    Raises:
        OSError, ValueError: A file is missing or not as it should be; an answer cannot be given.
    """
    from ctxzoo.data.answer_files import parse_answer_file_kind, write_answers
    from ctxzoo.data.row_stream import open_row_stream
    from ctxzoo.data.rows import SEPARATORS

    if options.output is not None:
        parse_answer_file_kind(options.output)
    opened = open_row_stream(options.file, kind=options.format, columns=columns) if rows is None else nullcontext(rows)
    with opened as stream:
        kind = stream.kind if stream.kind in SEPARATORS else "jsonl"
        return write_answers(stream.chunks, lambda chunk: answer(chunk, stream), options.output, kind=kind)


def report_written_answers(options: argparse.Namespace, description: str, *also: Path | None) -> None:
    """Print how many answers were written, and where; on stderr if the answers themselves go to stdout.

    Args:
        options: Parsed command line with the attribute `output`.
        description: Number and kind of answers, such as "3 labels", for the message.
        also: Paths of further files that were written; None: left out.
    """
    from ctxzoo.data.files import is_pipe_or_device

    files = [file for file in (options.output, *also) if file is not None]
    is_mixed = not files or any(is_pipe_or_device(file) for file in files)  # as in --output /dev/stdout
    line = f"{description}: {', '.join(map(str, files))}" if files else description
    print(line, file=sys.stderr if is_mixed else sys.stdout)


def parse_positive_number(text: str) -> int:
    """Parse a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def parse_probability(text: str) -> float:
    """Parse a number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 1")
    return value


def write_json(file: Path, content: object) -> None:
    """Write content as a JSON file, atomically."""
    from ctxzoo.data.files import write_atomically

    write_atomically(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
