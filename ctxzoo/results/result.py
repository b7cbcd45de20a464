"""One JSON file per run, checked when it is written and again when it is read.

Every number the zoo prints about itself comes from such a file, so a file holds only finite numbers and plain JSON,
names no path of the machine it was made on, and is either whole or absent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ctxzoo.data.files import write_atomically
from ctxzoo.models.old_names import convert_result

VECTORS_CONTENT = "vectors_fingerprint"  # the setting that identifies given word vectors by their content
TRIALS = "trials"  # folder within one of results: runs by which settings were chosen, which only tables of choices show
RESULTS_DIR = "runs/results"  # where runs write by default, ignored by git; results/ holds the published ones
SCHEMA = 1
LARGEST_CURVE = 80  # points of one number over the epochs of a training
OPTIONAL = ("tag", "per_example", "reading", "labels")  # files of earlier runs lack them
_POINT = re.compile(r"(.+)/epoch(\d+)/(.+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_OTHERS = re.compile(r"[^A-Za-z0-9_.+-]+")
_ABSOLUTE_PATH = re.compile(
    r"""(?:^|[\s'"=,;:(\[])(?:file:/|/[\w.~-]|~(?:[a-z_][\w-]*)?(?:/|$)|[A-Za-z]:[\\/]|\\\\\w)"""
)


def format_utc_now() -> str:
    """Return the present time in UTC, in ISO 8601 with seconds."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(kw_only=True)
class RunResult:
    """The result of one run of a recipe, with all that is needed to judge or repeat it.

    Attributes:
        schema: Version of the file format.
        recipe: Name of the script without its suffix, such as ``squad_bidaf``.
        architecture: Name of the architecture, such as ``bidaf``.
        variant: Name of the architecture's variant, such as ``learned_char7``.
        dataset: Hub id of the dataset, such as ``ctxzoo-data/squad_v1_mini``.
        split: Name of the split that is reported; ``metrics`` may hold other splits too, by the first part of the
            names.
        fold: Number of the fold in cross-validation, else None.
        seed: Seed of the run.
        metrics: Scores by ``split/name``, percentages from 0 to 100; those after single epochs by
            ``split/epoch3/name``, at most `LARGEST_CURVE` of them, see `subsample_curves`.
        settings: Options of the run (epochs, batch size, …), plain JSON.
        parameters: Numbers of parameters, ``trainable`` and ``total``.
        command: Shell command that repeats the run (see ``environment.command_line``).
        commit: Commit of the code, from ``environment.git_commit``.
        data: Data of the run: ``source`` of the rows and a ``fingerprint`` of their content.
        hardware: Description of the hardware, from ``environment.hardware``.
        versions: Versions of the libraries, from ``environment.versions``.
        wall_seconds: Duration of the run in seconds.
        peak_memory_mb: Largest memory of the process in MB, from ``environment.measure_peak_memory_mb``.
        created: Time at which the run ended, ISO 8601 in UTC.
        tag: Short name that tells runs of a variant with different settings apart, such as ``k5``; may be empty.
        per_example: Numbers for each example of a split, by ``split/name`` in the order of its rows, for tables over
            subsets. Empty where none are stored; files then leave it out.
        reading: Number of odd files, rows and documents by what was done to them, see ``ReadingNotes.counts``. Empty
            where there were none; files then leave it out.
        labels: Scores of each label of a classifier, by split, see ``metrics.label_scores.tabulate_pairs``. Empty where
            there are none; files then leave it out.
    """

    schema: int = SCHEMA
    recipe: str
    architecture: str
    variant: str
    dataset: str
    split: str
    fold: int | None
    seed: int
    metrics: dict[str, float]
    settings: dict[str, Any]
    parameters: dict[str, int]
    command: str
    commit: str
    data: dict[str, str]
    hardware: dict[str, Any]
    versions: dict[str, str]
    wall_seconds: float
    peak_memory_mb: float
    created: str = field(default_factory=format_utc_now)
    tag: str = ""
    per_example: dict[str, list[float]] = field(default_factory=dict)
    reading: dict[str, int] = field(default_factory=dict)
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)


def write_result(result: RunResult, folder: str | Path) -> Path:
    """Write the file that `build_result_path` names; repeating a run replaces it. Floats get 6 significant digits.

    Returns:
        The path of the file.

    Raises:
        ValueError: a number is not finite, a string holds an absolute path, or a value is not what its field asks for.
        TypeError: a value is not plain JSON. Both name the key.
    """
    content = _encode_result(result)
    path = build_result_path(
        folder,
        recipe=result.recipe,
        variant=result.variant,
        dataset=result.dataset,
        split=result.split,
        seed=result.seed,
        fold=result.fold,
        tag=result.tag,
    )
    write_atomically(path, content)
    return path


def write_result_file(result: RunResult, path: Path) -> None:
    """Write a results file to a path, whatever its name; errors are those of `write_result`."""
    write_atomically(path, _encode_result(result))


def build_result_path(
    folder: str | Path,
    *,
    recipe: str,
    variant: str,
    dataset: str,
    split: str,
    seed: int,
    fold: int | None = None,
    tag: str = "",
) -> Path:
    """Return ``folder/<recipe>/<variant>-<dataset>-<split>-seed<seed>[-fold<fold>][-<tag>].json``.

    The name follows from the run alone; of a dataset it has the last part, with _ for blanks and other signs.

    Raises:
        ValueError: a part cannot stand in a file name.
    """
    parts = [variant, _OTHERS.sub("_", dataset.rsplit("/", 1)[-1]), split, f"seed{seed}"]
    parts += [] if fold is None else [f"fold{fold}"]
    parts += [tag] if tag else []
    return build_result_path_of_parts(folder, recipe, parts)


def build_result_path_of_parts(folder: str | Path, recipe: str, parts: Sequence[str]) -> Path:
    """Return ``folder/<recipe>/<part>-<part>.json``.

    Raises:
        ValueError: a part cannot stand in a file name.
    """
    for part in (recipe, *parts):
        if not _NAME.fullmatch(part):
            raise ValueError(f"{part!r} cannot be part of a file name: use letters, digits and . _ + - only")
    return Path(folder) / recipe / f"{'-'.join(parts)}.json"


def read_result(path: str | Path) -> RunResult:
    """Read and check one results file; names of earlier versions become current ones.

    Raises:
        ValueError, TypeError: the file is not JSON, or a field is missing, unknown or of the wrong kind; the message
            names the file and the field.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a JSON file ({error}); write results with write_result") from error
    try:
        if not isinstance(content, dict):
            raise TypeError(f"expected an object with the fields of RunResult, found {type(content).__name__}")
        _check_result_content(content)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{path}: {error}") from error
    return RunResult(**convert_result(content))


def read_result_of_settings(
    path: str | Path,
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    implied: Mapping[str, Any] | None = None,
) -> RunResult | None:
    """Return a run's result if its file exists and has these settings, else None.

    Args:
        path: Path of the results file.
        settings: Settings that the file must have for its run to count as the same.
        defaults: Values of settings that the file does not contain; default: none.
        implied: Further settings that the file may contain, with the values that make no difference; default: none.
    """
    if not Path(path).exists():
        return None
    result = read_result(path)
    compared_settings = {
        name: value
        for name, value in result.settings.items()
        if name in settings or name not in (implied or {}) or (implied or {})[name] != value
    }
    return result if {**(defaults or {}), **compared_settings} == settings else None


def read_results(folder: str | Path) -> list[RunResult]:
    """Read every ``*.json`` below ``folder``, but for its folder of `TRIALS`, in the order of their paths.

    Raises:
        FileNotFoundError: there is no such folder, which is not the same as a folder without results.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no results folder {str(folder)!r}; expected the one that runs wrote to, such as {RESULTS_DIR}"
        )
    files = sorted(folder.rglob("*.json"))
    return [read_result(path) for path in files if path.relative_to(folder).parts[0] != TRIALS]


def subsample_curves(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics with fewer points, at most `LARGEST_CURVE`, for curves named ``split/epoch3/name``.

    Of a longer curve these stay: the first and the last point, those with the lowest and the highest value, which an
    epoch is chosen by, and others at even distances. Numbers that are no points stay.
    """
    curves: dict[tuple[str, str], dict[int, str]] = {}
    for key in metrics:
        if point := _POINT.fullmatch(key):
            curves.setdefault((point[1], point[3]), {})[int(point[2])] = key
    dropped: set[str] = set()
    for keys in curves.values():
        if len(keys) > LARGEST_CURVE:
            ordered = [keys[epoch] for epoch in sorted(keys)]
            even = LARGEST_CURVE - 2
            kept = {ordered[round(number * (len(ordered) - 1) / (even - 1))] for number in range(even)}
            kept |= {min(ordered, key=metrics.__getitem__), max(ordered, key=metrics.__getitem__)}
            dropped |= set(ordered) - kept
    return {key: value for key, value in metrics.items() if key not in dropped}


def _encode_result(result: RunResult) -> bytes:
    """Check a result and return it as the bytes of its file."""
    # Settings are compared by `--resume`: of these no digit is lost.
    content = {name: value if name == "settings" else _round_values(value) for name, value in asdict(result).items()}
    for name in ("per_example", "reading", "labels"):
        if not content[name]:
            del content[name]
    _check_result_content(content)
    content["metrics"] = subsample_curves(content["metrics"])
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    return text.encode()


def _round_values(value: Any) -> Any:
    """Return a JSON value with all its floats rounded to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _round_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_round_values(item) for item in value]
    return value


def _check_result_content(content: Mapping[str, Any]) -> None:
    """Raise ValueError or TypeError, naming the key, if a result file lacks a field or has a wrong one."""
    names = [entry.name for entry in fields(RunResult)]
    missing = [name for name in names if name not in content and name not in OPTIONAL]
    unknown = [name for name in content if name not in names]
    if missing:
        raise ValueError(f"missing field {', '.join(map(repr, missing))}")
    if unknown:
        raise ValueError(f"unknown field {', '.join(map(repr, unknown))}; known: {', '.join(names)}")
    _check_value_type("schema", content["schema"], int)
    if content["schema"] != SCHEMA:
        raise ValueError(f"field 'schema' is {content['schema']}, this version reads {SCHEMA}; upgrade ctxzoo")
    for name in ("recipe", "architecture", "variant", "dataset", "split", "command", "commit", "created"):
        _check_value_type(name, content[name], str)
        if not content[name]:
            raise ValueError(f"field {name!r} is empty")
    _check_value_type("tag", content.get("tag", ""), str)
    _check_value_type("seed", content["seed"], int)
    if content["fold"] is not None:
        _check_value_type("fold", content["fold"], int)
    for name in ("wall_seconds", "peak_memory_mb"):
        _check_value_type(name, content[name], float)
    for name in ("metrics", "settings", "parameters", "data", "hardware", "versions"):
        _check_value_type(name, content[name], dict)
        _check_json_value(name, content[name])
    _check_values("metrics", content["metrics"], float)
    _check_values("parameters", content["parameters"], int, keys={"trainable", "total"})
    _check_values("data", content["data"], str, keys={"source", "fingerprint"})
    _check_values("versions", content["versions"], str)
    _check_lists("per_example", content.get("per_example", {}))
    _check_value_type("reading", content.get("reading", {}), dict)
    _check_values("reading", content.get("reading", {}), int)
    _check_value_type("labels", content.get("labels", {}), dict)
    for split, table in content.get("labels", {}).items():
        _check_value_type(f"labels.{split}", table, dict)
        numbers = {name: table.get(name, []) for name in ("precision", "recall", "f1", "support")}
        _check_lists(f"labels.{split}", numbers)
    for name, value in content.items():
        if name != "labels":  # a label may be called as a path is
            _check_json_value(name, value)
    _check_created(content["created"])


def _check_value_type(key: str, value: object, kind: type) -> None:
    """Raise `TypeError` unless a result file's value has this type; for float an int will do."""
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or isinstance(value, bool):
        hint = f"; use {kind.__name__}(value)" if kind in (int, float) else ""
        raise TypeError(f"field {key!r}: expected {kind.__name__}, found {type(value).__name__} {value!r:.80}{hint}")


def _check_values(name: str, values: Mapping[str, Any], kind: type, keys: set[str] | None = None) -> None:
    """Raise unless all values of a result's field `name` have this type, and its keys are `keys` if given."""
    if keys is not None and set(values) != keys:
        raise ValueError(f"field {name!r} needs exactly the keys {sorted(keys)}, found {sorted(values)}")
    for key, value in values.items():
        _check_value_type(f"{name}.{key}", value, kind)


def _check_lists(name: str, lists: Any) -> None:
    """Raise `TypeError` unless a result's field `name` maps to lists of numbers."""
    _check_value_type(name, lists, dict)
    for key, values in lists.items():
        _check_value_type(f"{name}.{key}", values, list)
        for number, value in enumerate(values):
            _check_value_type(f"{name}.{key}[{number}]", value, float)


def _check_json_value(key: str, value: Any) -> None:
    """Raise an error for a value that holds other than JSON types, a non-finite number or an absolute path."""
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"field {key!r}: the key {name!r} is a {type(name).__name__}; JSON keys are strings")
            _check_json_value(key, name)
            _check_json_value(f"{key}.{name}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_json_value(f"{key}[{index}]", item)
    elif isinstance(value, str):
        if _ABSOLUTE_PATH.search(value):
            raise ValueError(
                f"field {key!r} holds an absolute path: {value!r:.120}; results are public, write it relative to the"
                " repository or to $CTXZOO_DATA"
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"field {key!r} is {value}; a result is finite: leave the key out and say why elsewhere")
    elif value is not None and not isinstance(value, (bool, int)):
        raise TypeError(f"field {key!r}: {type(value).__name__} {value!r:.80} is not JSON; turn it into plain values")


def _check_created(created: str) -> None:
    """Raise `ValueError` unless the time is ISO 8601 in UTC."""
    try:
        offset = datetime.fromisoformat(created.replace("Z", "+00:00")).utcoffset()
    except ValueError:
        offset = None
    if offset != timedelta(0):
        raise ValueError(f"field 'created' is {created!r}; expected ISO 8601 in UTC such as 2026-01-31T12:00:00+00:00")
