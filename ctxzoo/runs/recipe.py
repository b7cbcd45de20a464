"""The way into every recipe: settings from the command line or a YAML file, and errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from huggingface_hub.errors import StrictDataclassError
from transformers import HfArgumentParser

from ctxzoo.data.notices import line_of, say_once
from ctxzoo.models.old_names import SETTINGS
from ctxzoo.runs.options import REPORTED, advice_for, check_settings
from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.libraries import check_wandb

Settings = TypeVar("Settings")
STOPPED = "stopped; --resume keeps what is finished and goes on with the rest"


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description, and tells the default of each option."""


class _Parser(HfArgumentParser):
    """Hands the metadata of a field on to argparse, without what only results files ask for."""

    def add_argument(self, *names: Any, **options: Any) -> Any:
        options.pop(REPORTED, None)
        return super().add_argument(*names, **options)


def run_recipe(settings: type[Settings], main: Callable[[Settings], None], description: str | None) -> None:
    """Call `main` with the settings of the command line.

    The first argument may be a YAML file (.yaml, .yml) that holds settings by name; those that follow it win. What a
    user can mend (bad settings, data, files, packages) is printed in one line, with exit status 1.

    Args:
        settings: a dataclass.
        main: what the recipe does.
        description: for `--help`.
    """
    names = {one.name for one in fields(cast(Any, settings))}
    try:
        parsed = parse_settings(settings, sys.argv[1:], description)
        if getattr(parsed, "wandb", False):
            check_wandb()
        main(parsed)
    except (OSError, ValueError, ImportError, FloatingPointError, StrictDataclassError) as error:
        sys.exit(f"error: {advice_for(line_of(error), names)}")
    except (TrainingInterrupted, KeyboardInterrupt):
        sys.exit(STOPPED if "resume" in names else "stopped")


def parse_settings(settings: type[Settings], arguments: Sequence[str], description: str | None = None) -> Settings:
    """Return the settings of a command line, those of a YAML file at its head included.

    Args:
        settings, description: see `run_recipe`.
        arguments: what follows the name of the script.

    Raises:
        SystemExit: an unknown option, a value of another kind, or `--help`, as argparse does.
        OSError, ValueError: the YAML file is none, or a setting is out of range.
    """
    parser = _Parser(settings, description=description, formatter_class=_HelpFormatter, allow_abbrev=False)
    options = [_option_of_today(one) for one in with_settings_file(arguments)]
    (parsed,) = parser.parse_args_into_dataclasses(options)
    check_settings(parsed)
    return cast(Settings, parsed)


def with_settings_file(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with a YAML file at their head replaced by the options that it holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not YAML, or holds no settings by name.
    """
    if not arguments or Path(arguments[0]).suffix not in (".yaml", ".yml"):
        return list(arguments)
    try:
        values = yaml.safe_load(Path(arguments[0]).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{arguments[0]} is not YAML: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{arguments[0]} holds {values!r:.80}; expected settings by name, such as `epochs: 10`")
    options: list[str] = []
    for name, value in values.items():
        if value is not None:  # nothing: the default
            options += [f"--{name}", *(_written(one) for one in (value if isinstance(value, list) else [value]))]
    return [*options, *arguments[1:]]


def _option_of_today(argument: str) -> str:
    """Return what was typed, an option of an earlier version by its name of today, which a line tells."""
    option, equals, value = argument.partition("=")
    today = SETTINGS.get(option[2:]) if option.startswith("--") else None
    if today is None:
        return argument
    say_once(f"{option} is --{today} now")
    return f"--{today}{equals}{value}"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
