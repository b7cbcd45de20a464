"""The way into every recipe: settings from the command line or a YAML file, and errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from huggingface_hub.errors import StrictDataclassError

from ctxzoo.data.notices import line_of
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.command_line import ExperimentParser, GroupParser, advice_for
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.training.arguments import Args
from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.libraries import check_wandb

Settings = TypeVar("Settings", bound=Args)
STOPPED = "stopped; --resume keeps what is finished and goes on with the rest"
# Options of a study of simple models, whose identity is their data.
OF_SIMPLE_MODELS = (
    *("dataset", "seed", "score", "tag"),
    *("data_dir", "output_dir", "results_dir", "resume", "processes", "threads", "progress"),
)


@dataclass(frozen=True)
class Study:
    """A recipe whose trainings are experiments.

    Attributes:
        main: Function of an experiment and of lists, which have defaults; what it does with them is the recipe.
        problem: Problem of the experiment.
        base: Experiment with the defaults.
        short: Name that may be typed to the one it stands for, such as variant to models, a list of `main`.
        choices: Name of an argument of `main` to what it, or each of its list, may be.
        options: Names of the values of an experiment that may be typed, beside those of every simple model; None: all.
    """

    main: Callable[..., None]
    problem: Problem
    base: Experiment
    short: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Collection[Any]] = field(default_factory=dict)
    options: Collection[str] | None = None

    def parser(self, description: str | None = None) -> ExperimentParser:
        """Return the parser of its options."""
        names = {"name": "tag", "seed": "seeds", **self.short}
        shown = (*OF_SIMPLE_MODELS, *(self.options or ()))
        hidden = () if self.options is None else set(self.base.values()) - set(shown)
        return ExperimentParser(
            self.base, function=self.main, short=names, hidden=hidden, description=description, choices=self.choices
        )

    def run(self, arguments: Sequence[str], description: str | None = None) -> None:
        """Do what a command line asks for.

        Args:
            arguments: What follows the name of the script.
            description: Text for `--help`.

        Raises:
            SystemExit: `--help`, `--print_config`.
            OSError, ValueError: an option or a value that cannot be; see also the kind of run.
        """
        line = self.parser(description).parse(arguments)
        experiment = line.tiny(self.problem.tiny)
        if experiment.run.wandb:
            check_wandb()
        self.main(experiment.changed(commit=git_commit()), **line.several)


def run_study(study: Study, description: str | None) -> None:
    """Do what the command line asks of a study.

    What a user can mend (bad settings, data, files, packages) is printed in one line, with exit status 1.
    """
    _end_in_a_line(lambda: study.run(sys.argv[1:], description), study.base.values())


def run_recipe(settings: type[Settings], main: Callable[[Settings], None], description: str | None) -> None:
    """Call the function of a script that trains nothing with the settings of the command line; errors as `run_study`.

    The first argument may be a YAML file (.yaml, .yml) that holds settings by name; those that follow it win.

    Args:
        settings: Class of the settings.
        main: What the script does.
        description: Text for `--help`.
    """
    names = [one.name for one in fields(settings)]
    _end_in_a_line(lambda: main(parse_settings(settings, sys.argv[1:], description)), names)


def parse_settings(settings: type[Settings], arguments: Sequence[str], description: str | None = None) -> Settings:
    """Return the settings of a command line.

    Args:
        settings, description: Arguments of `run_recipe`.
        arguments: What follows the name of the script.

    Raises:
        SystemExit: `--help`, `--print_config`.
        OSError, ValueError: an option or a value that cannot be, a YAML file that is none.
    """
    usage = f"python {sys.argv[0]} [settings.yaml] [options]"
    parser = GroupParser({"settings": settings}, usage=usage, description=description)
    found, _ = parser.read(arguments)
    return cast(Settings, parser.group("settings", found))


def _end_in_a_line(work: Callable[[], None], names: Container[str]) -> None:
    try:
        work()
    except (OSError, ValueError, ImportError, FloatingPointError, StrictDataclassError) as error:
        sys.exit(f"error: {advice_for(line_of(error), names)}")
    except (TrainingInterrupted, KeyboardInterrupt):
        sys.exit(STOPPED if "resume" in names else "stopped")
