"""From what is typed, or stands in a YAML file, to an `Experiment`: options by their short names, or with their group.

The values of groups are read by jsonargparse, from the types and texts of the dataclasses.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import sys
from argparse import ArgumentError
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import yaml
from docstring_parser import parse as parse_docstring
from jsonargparse import ArgumentParser, Namespace

from ctxzoo.data.notices import format_error_with_row_hint, print_once
from ctxzoo.models.old_names import SETTINGS
from ctxzoo.runs.experiment import GROUPS, Experiment
from ctxzoo.training.arguments import RANGE, Args

# Values that nobody types.
FOUND_OUT = frozenset(
    [
        *("rows", "named", "row", "vectors_fingerprint", "vectors_name", "finish_source", "product_start"),
        *("world_size", "tell_time", "minutes"),
    ]
)
OWN = "own"  # group of what belongs to data of one's own
FILES = ("validation", "test")  # values of that group that name data
TRUE, FALSE = frozenset({"true", "t", "yes", "y", "1"}), frozenset({"false", "f", "no", "n", "0"})
NOT_FINITE = frozenset({"nan", "inf", "infinity", ".nan", ".inf"})
_GROUPED = re.compile(r"--(?:[a-z]\w*)\.(\w+)")
_GROUP_FILE = re.compile(r"^  --(\w+) CONFIG +Path to a configuration file\.\n", re.MULTILINE)
_EXPECTED = re.compile(r'Parser key "(?:\w+\.)?(\w+)".*?(?:Got value|Given value): ([^\n]*)', re.DOTALL)
_ASIDE = re.compile(r" \(or set `(\w+)`([^)]*)\)")
_KINDS = {"float": "a number", "int": "a whole number", "bool": "true or false"}


class UnknownOptionsError(ValueError):
    """Something was typed that is no option, nor the value of one.

    Args:
        options: Words of the command line that are neither options nor their values.
    """

    def __init__(self, options: Sequence[str]) -> None:
        super().__init__(f"unrecognized arguments: {' '.join(options)}")
        self.options = options


@dataclass(frozen=True)
class CommandLine:
    """What was typed.

    Attributes:
        experiment: Experiment with all options that the user typed.
        several: Values of options that are not part of an experiment, such as lists of seeds, by name.
        typed: Names of the options that the user typed or that stand in a YAML file.
    """

    experiment: Experiment
    several: Mapping[str, Any]
    typed: frozenset[str]

    def make_tiny(self, make_tiny: Callable[[Experiment], Experiment]) -> Experiment:
        """Return the experiment; if `--tiny` was typed, as the function `make_tiny` changes it, but with all typed
        values.
        """
        if not self.experiment.trainer.tiny:
            return self.experiment
        typed = {name: value for name, value in self.experiment.values().items() if name in self.typed}
        return make_tiny(self.experiment).copy_with(**typed)

    def replace_files(self, options: Any) -> CommandLine:
        """Return a copy that reads the files in `options` in place of the typed ones, for example copies of pipes.

        Args:
            options: Parsed options with the attributes `data`, `validation` and `test`, each a file; None: not given.
        """
        files = {name: None if value is None else str(value) for name, value in vars(options).items() if name in FILES}
        texts = {} if getattr(options, "texts", None) is None else {"texts": str(options.texts)}
        experiment = self.experiment.copy_with(dataset=str(options.data), **texts)
        own: Args = self.several[OWN].copy_with(files)
        return CommandLine(experiment, {**self.several, OWN: own}, self.typed)


class GroupParser:
    """Reads a command line whose options are the values of groups.

    Args:
        groups: Groups of options by name: a dataclass object whose values are the defaults, or its class.
        lists: Options outside the groups, by name, as (type, default, help text); they replace a setting of that name.
        short: Further short names of options, such as "data" for dataset.
        alone: Names of options that may be typed without a value, each mapped to the text that it then gets.
        needed: Names of the options that the user must type.
        hidden: Names of settings that are not offered as options of the command line.
        usage: Usage line for `--help`, such as "ctxzoo train PROBLEM [options]".
        description: Text that `--help` prints above the options.
        shown: Names of the options that `--help` lists, while `--help all` lists every one; None: all.
    """

    def __init__(
        self,
        groups: Mapping[str, Args | type[Args]],
        *,
        lists: Mapping[str, tuple[Any, Any, str]] | None = None,
        short: Mapping[str, str] | None = None,
        alone: Mapping[str, str] | None = None,
        needed: Iterable[str] = (),
        hidden: Iterable[str] = (),
        usage: str,
        description: str | None = None,
        shown: Iterable[str] | None = None,
    ) -> None:
        self.lists = dict(lists or {})
        self.usage, self.description = usage, description or ""
        self.shown = None if shown is None else {*shown, *self.lists}
        self.short, self.alone = dict(short or {}), dict(alone or {})
        self.needed, self.hidden = tuple(needed), frozenset(hidden)
        self.parser = _Parser(exit_on_error=False)
        self.parser.add_argument(
            "--config", action="config", help="YAML file of settings; what is typed behind it wins"
        )
        self.groups: dict[str, type[Args]] = {}
        self.dotted: dict[str, str] = {}  # name to the option that jsonargparse knows
        self.kinds: dict[str, Any] = {}  # name to type
        for group, args in groups.items():
            self._add_group(group, args)

    def read(self, arguments: Sequence[str]) -> tuple[Namespace, Collection[str]]:
        """Parse a command line; return the values of all options, by group and name, and the names of those typed.

        Raises:
            SystemExit: `--help`, `--print_config`.
            OSError, ValueError: an option that there is not, a value that cannot be, a YAML file that is none.
        """
        if any(one in ("-h", "--help") for one in arguments):
            self._print_help(everything="all" in arguments)
        typed: dict[str, None] = {}
        options = self._add_group_names(expand_settings_files(arguments), typed)
        for name in self.needed:
            if name not in typed:
                shown = next((short for short, whole in self.short.items() if whole == name), name)
                raise ValueError(f"the following arguments are required: --{shown}")
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                return self.parser.parse_args(options), typed
        except ArgumentError as error:
            if match := re.search(r"unrecognized arguments: (.*)", str(error)):
                raise UnknownOptionsError(match[1].split()) from error
            raise ValueError(self._format_parser_error(str(error))) from error

    def build_group(self, name: str, values: Namespace) -> Args:
        """Build the object of a group of settings from parsed values; its class raises the errors."""
        kind = self.groups[name]
        return kind(**{one.name: values[f"{name}.{one.name}"] for one in fields(kind)})

    def _add_group(self, group: str, args: Args | type[Args]) -> None:
        """Add the options of one group of settings; an instance of the class gives the defaults, the class its own."""
        kind = args if isinstance(args, type) else type(args)
        values = {one.name: one.default if isinstance(args, type) else getattr(args, one.name) for one in fields(kind)}
        self.groups[group] = kind
        skipped = {
            name
            for name in values
            if name in FOUND_OUT | self.hidden or {name, self.short.get(name)} & self.lists.keys()
        }
        self.parser.add_class_arguments(kind, group, skip=skipped)
        hints = get_type_hints(kind)
        for name, value in values.items():
            if name not in skipped:
                self.dotted[name], self.kinds[name] = f"{group}.{name}", hints[name]
                self.parser.set_defaults({f"{group}.{name}": value})

    def _add_group_names(self, arguments: Iterable[str], typed: dict[str, None]) -> list[str]:
        """Return the words of a command line with full option names, "--group.name", each followed by its value.

        Args:
            arguments: Words of the command line.
            typed: Dict to which the names of the typed options are added as keys.
        """
        named_words: list[str] = []
        words = list(arguments)
        while words:
            word = words.pop(0)
            option, equals, value = word[2:].partition("=")
            name, value_of_no = self._convert_option_name(option.replace("-", "_"))
            if not word.startswith("--") or name not in self.dotted:
                named_words.append(word)
                continue
            typed[name] = None
            kind, ends = self.kinds[name], not words or words[0].startswith("--")
            kind = bool if kind == bool | None else kind
            if value_of_no:
                value = value_of_no
            elif kind is bool and not equals:
                value = words.pop(0) if not ends and words[0].lower() in TRUE | FALSE else "true"
            elif _is_sequence(kind) and name not in self.lists:
                if not value.startswith("[") and value != "null":  # words, not JSON
                    behind = takewhile(lambda one: not one.startswith("--"), tuple(words))
                    value = json.dumps([value] if equals else [words.pop(0) for _ in behind])
            elif name in self.alone and not equals and ends:
                value = self.alone[name]
            elif not equals:
                named_words.append(f"--{self.dotted[name]}")
                continue
            if kind is bool and value.lower() in TRUE | FALSE:
                value = str(value.lower() in TRUE).lower()
            named_words.append(f"--{self.dotted[name]}={value}")
        return named_words

    def _convert_option_name(self, option: str) -> tuple[str, str]:
        """Return the current name of a typed option, and the value "false" for `--no_NAME`, else ""."""
        group, _, leaf = option.rpartition(".")
        name = leaf if group in self.groups else option
        if name in SETTINGS:
            print_once(f"--{name} is --{SETTINGS[name]} now")
            return SETTINGS[name], ""
        if name.startswith("no_") and self.kinds.get(name[3:]) in (bool, bool | None):
            return name[3:], "false"
        return self.short.get(name, name), ""

    def _format_parser_error(self, message: str) -> str:
        """Return an error message of the parser as one line with the option names that users type."""
        match = _EXPECTED.search(message)
        if match is None:
            return _GROUPED.sub(r"--\1", " ".join(message.split()))
        name, value = match[1], match[2].strip()
        choices = next((kind.choices() for kind in self.groups.values() if name in kind.__dataclass_fields__), {})
        if name in choices:
            known = ", ".join(str(one) for one in choices[name] if one is not None)
            return f"{name}={value!r}: expected one of {known}"
        ranges = {one.name: one.metadata.get(RANGE) for kind in self.groups.values() for one in fields(kind)}
        if ranges.get(name) is not None and value.lstrip("+-").lower() in NOT_FINITE:
            return f"{name}={value}: expected {ranges[name]}"
        kinds = [plain for kind, plain in _KINDS.items() if kind in str(self.kinds.get(name, message))]
        return f"{name}={value}: expected {kinds[0] if kinds else self.kinds.get(name)}"

    def _print_help(self, *, everything: bool) -> NoReturn:
        """Print the options, all or only those that are usually shown, and exit."""
        text = _GROUP_FILE.sub("", _GROUPED.sub(r"--\1", self.parser.format_help()))
        text = re.sub(r"\(required,\s+type: ", "(type: ", text)  # they have defaults here
        text = f"usage: {self.usage}\n\n{self.description.strip()}\n\n{text[text.index('options:') :]}"
        if self.shown is not None and not everything:
            text = _remove_hidden_options(text, {*self.shown, "help", "config", "print_config"})
            text += "\n--help all shows the other options.\n"
        for short, name in self.short.items():
            if name in self.lists:  # which have names of their own
                continue
            text = re.sub(rf"(?m)^  --{name} {name.upper()}", f"  --{short} {short.upper()}", text)
        print(text)
        sys.exit(0)


class ExperimentParser(GroupParser):
    """Reads a command line that describes an experiment.

    Args:
        base: Experiment whose settings are the defaults of the options.
        extra: Groups of settings beside those of an experiment, by the name of the group.
        function: Function whose arguments after the first become options too, replacing settings of the experiment with
            the same name, such as `dataset`; None: no such options.
        fixed: Names of options whose typed values are already in `base`, and are not applied again.
        choices: Allowed values by name of an argument of `function`; of a list, the values that each element may have.
        options: Further keyword arguments of the base class `GroupParser`, such as `short` or `hidden`.
    """

    def __init__(
        self,
        base: Experiment,
        *,
        extra: Mapping[str, Args] | None = None,
        function: Callable[..., Any] | None = None,
        fixed: Iterable[str] = (),
        choices: Mapping[str, Collection[Any]] | None = None,
        usage: str = "python recipes/NAME.py [settings.yaml] [options]",
        **options: Any,
    ) -> None:
        self.base = base
        self.extra = dict(extra or {})
        self.fixed, self.choices = frozenset(fixed), dict(choices or {})
        groups = {**{group: getattr(base, group) for group in GROUPS}, **self.extra}
        lists = {} if function is None else _list_function_options(function)
        super().__init__(groups, lists=lists, usage=usage, **options)
        self._add_ungrouped_options()

    def parse(self, arguments: Sequence[str]) -> CommandLine:
        """Parse a command line into an experiment and further values; errors are those of `read`."""
        values, typed = self.read(arguments)
        return CommandLine(self._build_experiment(values, typed), self._collect_other_values(values), frozenset(typed))

    def _add_ungrouped_options(self) -> None:
        """Add the options that are in no group: seed, score and tag, and the arguments of the function."""
        texts = {one.arg_name: one.description for one in parse_docstring(Experiment.__doc__ or "").params}
        for name, kind in (("seed", int), ("score", str), ("tag", str)):
            if not {name, self.short.get(name)} & self.lists.keys() and name not in self.hidden:
                self.parser.add_argument(f"--{name}", type=kind, default=getattr(self.base, name), help=texts[name])
                self.dotted[name], self.kinds[name] = name, kind
        for name, (kind, default, text) in self.lists.items():
            known = f" Of: {', '.join(map(str, self.choices[name]))}." if name in self.choices else ""
            text = f"{text}{known}"
            many: dict[str, Any] = {"nargs": "+", "default": list(default)} if isinstance(default, tuple) else {}
            self.parser.add_argument(f"--{name}", type=kind, help=text, **{"default": default, **many})
            self.dotted[name], self.kinds[name] = name, bool if kind is bool else list

    def _build_experiment(self, values: Namespace, typed: Iterable[str]) -> Experiment:
        """Return the base experiment with the typed values put in."""
        changes = {}
        for name in typed:
            option = self.dotted[name]
            if name not in self.lists and name not in self.fixed and option.partition(".")[0] not in self.extra:
                changes[name] = values[option]
        return self.base.copy_with(**changes)

    def _collect_other_values(self, values: Namespace) -> dict[str, Any]:
        """Return the values that belong to no group of the experiment, by name."""
        for name, allowed in self.choices.items():
            for value in values[name] if isinstance(values[name], list) else [values[name]]:
                if value not in allowed:
                    raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(str, allowed))}")
        for name in self.lists.keys() & self.base.values().keys():  # what is one of them must be what it could be
            for value in values[name] if isinstance(values[name], list) else [values[name]]:
                if value is not None:
                    self.base.copy_with(**{name: value})
        return {
            **{name: values[name] for name in self.lists},
            **{group: self.build_group(group, values) for group in self.extra},
        }


def rewrite_advice_for_command(message: str, options: Container[str]) -> str:
    """Replace advice on arguments in an error, "(or set `name` …)", by the options of the command.

    `name` becomes `--name`, or `--names` where the option takes several, and `to True` becomes `to yes`; where there is
    no such option the aside is left out.
    """

    def rewrite_aside(aside: re.Match[str]) -> str:
        option = next((name for name in (aside[1], f"{aside[1]}s") if name in options), None)
        rest = re.sub(r"`(\w+)`", r"--\1", aside[2]).replace(" to True", " to yes")
        return "" if option is None else f" (or set --{option}{rest})"

    return _ASIDE.sub(rewrite_aside, message)


def find_typed_value(words: Sequence[str], name: str, default: Any = None) -> Any:
    """Find the value typed for an option before the command line is parsed; the last one wins.

    Args:
        words: Words of the command line, YAML settings files already replaced by options, as `expand_settings_files`
            returns them.
        name: Name of the option that is looked for, without dashes.
        default: Value that is returned where the option was not typed.
    """
    typed_value = default
    for number, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option.rpartition(".")[2] == name or option == f"--{name}":
            typed_value = value if equals else next(iter(words[number + 1 : number + 2]), default)
    return typed_value


def expand_settings_files(arguments: Sequence[str]) -> list[str]:
    """Replace YAML files of settings, typed first or after `--config`, by the options in them.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not YAML, or holds no settings by name.
    """
    expanded: list[str] = []
    words = list(arguments)
    if words and Path(words[0]).suffix in (".yaml", ".yml"):
        words.insert(0, "--config")
    while words:
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if option != "--config":
            expanded.append(word)
        elif equals or words:
            expanded += _read_options_from_yaml(value if equals else words.pop(0))
        else:
            raise ValueError("--config: expected a YAML file behind it")
    return expanded


def _read_options_from_yaml(file: str) -> list[str]:
    """Read a YAML file of settings, and return them as words of a command line."""
    try:
        values = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not YAML: {format_error_with_row_hint(error)}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{file} holds {values!r:.80}; expected settings by name, such as `epochs: 10`")
    options = []
    for name, value in values.items():
        grouped = isinstance(value, dict)
        for option, setting in value.items() if grouped else ((name, value),):
            if isinstance(setting, list):
                options += [f"--{option}", *map(str, setting)]
            elif setting is not None or grouped:  # nothing beside a name alone: the default
                options.append(f"--{option}={setting if isinstance(setting, str) else json.dumps(setting)}")
    return options


class _Parser(ArgumentParser):
    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Raise `ArgumentError` with the message instead of exiting."""
        raise ArgumentError(None, message) from ex


def _is_sequence(kind: Any) -> bool:
    """Return whether a type annotation allows lists."""
    return any(get_origin(one) in (list, tuple) for one in (kind, *get_args(kind)))


def _list_function_options(function: Callable[..., Any]) -> dict[str, tuple[Any, Any, str]]:
    """Return the arguments of a function but the first, each with type, default and help text."""
    texts = {parameter.arg_name: parameter.description for parameter in parse_docstring(function.__doc__ or "").params}
    hints = get_type_hints(function)
    options = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        inner = get_args(hints[parameter.name])
        options[parameter.name] = (
            inner[0] if inner else hints[parameter.name],
            parameter.default,
            texts[parameter.name] or "",
        )
    return options


def _remove_hidden_options(text: str, shown_names: Iterable[str]) -> str:
    """Remove the usage from a help text, and all options but those shown."""
    head, *option_texts = re.split(r"(?m)^(?=  (?:-h, )?--\w)|(?=^\S)", text)
    parts = [head]
    names = set(shown_names)
    for part in option_texts:
        match = re.match(r"  (?:-h, )?--(\w+)", part)
        if match is None or match[1] in names:
            parts.append(part)
    return "".join(parts)


def format_settings(experiment: Experiment, others: Mapping[str, Any], hidden: Sequence[str] = ()) -> str:
    """Return an experiment as YAML text from which the same training can be started again.

    Args:
        experiment: Experiment with the settings that the user typed, before file contents such as fingerprints are
            filled in.
        others: Further groups of settings, and single values, by name, to be written beside those of the experiment.
        hidden: Names of settings that are not offered as options of the command line.
    """
    model = ("architecture", "variant") if experiment.start.init_from is not None else ()
    content: dict[str, Any] = {"seed": experiment.seed}
    run = experiment.run
    follows: tuple[str, ...] = ()
    if OWN in others and Path(run.results_dir) == Path(run.output_dir) / "results":
        follows = ("results_dir",)  # from where the outputs are
    if OWN not in others:  # a user's own run is named by what it is
        fold = {} if experiment.fold is None else {"fold": experiment.fold}
        content |= {**fold, "score": experiment.score, "tag": experiment.tag}
    for name, group in {**{group: getattr(experiment, group) for group in GROUPS}, **others}.items():
        if isinstance(group, Args):
            left_out = {*FOUND_OUT, *model, *follows, *hidden}
            values = {key: value for key, value in group.values().items() if key not in left_out}
            content[name] = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        else:
            content[name] = group
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
