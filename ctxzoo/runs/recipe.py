"""The way into every recipe: settings from the command line or a YAML file, and errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from huggingface_hub.errors import StrictDataclassError

from ctxzoo.data.notices import format_error_with_row_hint
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.command_line import ExperimentParser, GroupParser, rewrite_advice_for_command
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.training.arguments import Args
from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.libraries import check_wandb, silence_lightning
from ctxzoo.training.process_group import silence_other_processes
from ctxzoo.training.trainer import count_processes

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
        main: Function that carries out the study: its first argument is the experiment, the others have defaults and
            become options.
        problem: Problem of the experiment.
        base: Experiment whose settings are the defaults of the options.
        short: Alternative option names, each mapped to the name it stands for, such as variant to models.
        choices: Allowed values by name of an argument of `main`; of a list, the values that each element may have.
        options: Names of the experiment's settings offered as options, in addition to the common ones such as dataset
            and seed; None: all.
    """

    main: Callable[..., None]
    problem: Problem
    base: Experiment
    short: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Collection[Any]] = field(default_factory=dict)
    options: Collection[str] | None = None

    def build_parser(self, description: str | None = None) -> ExperimentParser:
        """Build the command line parser of the study."""
        names = {"name": "tag", "seed": "seeds", **self.short}
        shown = (*OF_SIMPLE_MODELS, *(self.options or ()))
        hidden = () if self.options is None else set(self.base.values()) - set(shown)
        return ExperimentParser(
            self.base, function=self.main, short=names, hidden=hidden, description=description, choices=self.choices
        )

    def run(self, arguments: Sequence[str], description: str | None = None) -> None:
        """Run the study with the options of a command line.

        Args:
            arguments: Words of the command line after the name of the script.
            description: Text that `--help` prints above the options.

        Raises:
            SystemExit: `--help`, `--print_config`.
            OSError, ValueError: an option or a value that cannot be; see also the kind of run.
        """
        line = self.build_parser(description).parse(arguments)
        experiment = line.make_tiny(self.problem.make_tiny)
        if experiment.run.wandb:
            check_wandb()
        if not sys.stdout.isatty():  # into a file or a pipe, what a person can read
            silence_lightning()
            experiment = experiment.copy_with(progress=experiment.run.progress and "progress" in line.typed)
        with silence_other_processes(count_processes(experiment.build_trainer_settings())):
            self.main(experiment.copy_with(commit=git_commit()), **line.several)


def run_study(study: Study, description: str | None) -> None:
    """Run a study with the options of the command line, as a recipe's script does.

    What a user can mend (bad settings, data, files, packages) is printed in one line, with exit status 1.
    """
    _exit_with_error_line(lambda: study.run(sys.argv[1:], description), study.base.values())


def run_recipe(settings: type[Settings], main: Callable[[Settings], None], description: str | None) -> None:
    """Call a script's main function with the settings of the command line; errors as in `run_study`.

    The first argument may be a YAML file (.yaml, .yml) that holds settings by name; those that follow it win.

    Args:
        settings: Dataclass of the script's settings, whose fields become options.
        main: Function that does the work of the script, called with the settings.
        description: Text that `--help` prints above the options.
    """
    names = [one.name for one in fields(settings)]
    _exit_with_error_line(lambda: main(parse_settings(settings, sys.argv[1:], description)), names)


def parse_settings(settings: type[Settings], arguments: Sequence[str], description: str | None = None) -> Settings:
    """Return the settings of a command line.

    Args:
        settings, description: Dataclass of the script's settings, and text for `--help`, as in `run_recipe`.
        arguments: Words of the command line after the name of the script.

    Raises:
        SystemExit: `--help`, `--print_config`.
        OSError, ValueError: an option or a value that cannot be, a YAML file that is none.
    """
    usage = f"python {sys.argv[0]} [settings.yaml] [options]"
    parser = GroupParser({"settings": settings}, usage=usage, description=description)
    found, _ = parser.read(arguments)
    return cast(Settings, parser.build_group("settings", found))


def _exit_with_error_line(work: Callable[[], None], names: Container[str]) -> None:
    """Do the work of a script; print errors that the user can fix on one line and exit with status 1."""
    try:
        work()
    except (OSError, ValueError, ImportError, FloatingPointError, StrictDataclassError) as error:
        sys.exit(f"error: {rewrite_advice_for_command(format_error_with_row_hint(error), names)}")
    except (TrainingInterrupted, KeyboardInterrupt):
        sys.exit(STOPPED if "resume" in names else "stopped")
