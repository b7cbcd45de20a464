"""The `ctxzoo` command, outside of the package, whose import takes seconds.

Help, the version and a mistyped command need no package. Ctrl-C ends the seconds of its import too in one line.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

INTERRUPTED = 130  # as shells have it: 128 and the number of the signal
WITH_JSON = ("list", "info", "evaluate", "doctor")  # and those of `data`
COMMANDS = {
    "list": "Architectures of this release.",
    "info": "What an architecture or a checkpoint is: fields, variants, parameters, files.",
    "data": "The datasets that results were computed on: see them, get one, check one.",
    "train": "Train a model on your own data: CSV, JSON lines, SQuAD JSON, CoNLL, plain text and more.",
    "evaluate": "Score a checkpoint on a split.",
    "evaluate-embeddings": "Score word vectors: POS induction, similarity and more.",
    "predict": "Answer questions, label texts, tag words, fill in words, recommend items, continue text or music.",
    "app": "Try a checkpoint on a page in the browser, or write that page as a Space of the Hub.",
    "export": "Write a model as ONNX or a torch program, with what runs it without ctxzoo.",
    "serve": "Answer requests over HTTP as predict answers rows of a file.",
    "pack": "Write a checkpoint folder with the code that it needs to load without ctxzoo.",
    "push": "Check a checkpoint folder and upload it, with its code, to the Hub in one commit.",
    "verify": "Check that a checkpoint is whole, and its code, if any, this release's; none is run.",
    "doctor": "Is this machine fit? Versions, devices, data, Hub.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status, see `ctxzoo.cli.main.main`; 130 after Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if not arguments or arguments[0] not in COMMANDS:
            build_command_parser()[0].parse_args(arguments)  # help, version or an error, after which it exits
        from ctxzoo.cli.main import main as run

        return run(arguments)
    except KeyboardInterrupt:
        print("ctxzoo: stopped", file=sys.stderr)
        return INTERRUPTED


def build_command_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command, and by name those of its commands, as yet without options of their own."""
    parser = argparse.ArgumentParser(
        prog="ctxzoo", description="Context-aware text models: train, look, score, ask, publish."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show which release, or commit, this is")
    parser.add_argument(
        "--print_completion", action=_Completion, metavar="SHELL", help="what completes commands in bash, zsh or tcsh"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    parsers = {}
    for name, text in COMMANDS.items():
        parents = [debug_parser(), *([json_parser()] if name in WITH_JSON else [])]
        parsers[name] = commands.add_parser(name, help=text, description=text, parents=parents)
    return parser, parsers


def json_parser() -> argparse.ArgumentParser:
    """Return the parent of the parsers of commands that also answer programs."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs; notes go to the standard error")
    return parser


def debug_parser() -> argparse.ArgumentParser:
    """Return the parent of the parser of every command, with the option that each has."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error, and all log messages")
    return parser


class _Version(argparse.Action):
    """Prints the version, which argparse's own action would compute even where it is not requested."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ctxzoo {_version()}")
        parser.exit()


class _Completion(argparse.Action):
    """Prints the script by which a shell completes commands and options, of all commands."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        from ctxzoo.cli.completion import format_completion

        try:
            print(format_completion(shell))
        except (ImportError, ValueError) as error:
            parser.error(str(error))
        parser.exit()


def _version() -> str:
    """Return what `ctxzoo.version` says, whose file beside this one imports the standard library alone."""
    version: str = runpy.run_path(str(Path(__file__).with_name("ctxzoo") / "version.py"))["version"]()
    return version
