"""Datasets of the catalogue on this machine: downloaded, converted, checked, and only then put in place."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import datasets
import yaml
from huggingface_hub import snapshot_download

from ctxzoo.catalogue.check import Finding, are_all_splits_unchanged, check_splits
from ctxzoo.catalogue.download import (
    RawFilesMissingError,
    WrongContentError,
    delete_downloads,
    download_files,
    find_raw_files,
    store_download_digests,
)
from ctxzoo.catalogue.entry import Entry, Kind, Kinds, RawFile, RawFileError, Rows
from ctxzoo.data.files import atomic_folder, path_exists
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.data.sources import get_data_folder

FEATURES = {
    "text": datasets.Value("string"),
    "texts": datasets.List(datasets.Value("string")),
    "integer": datasets.Value("int64"),
    "long text": datasets.Value("large_string"),
    "int8": datasets.Value("int8"),
    "int16": datasets.Value("int16"),
    "int32": datasets.Value("int32"),
    "uint8s": datasets.List(datasets.Value("uint8")),
    "int32s": datasets.List(datasets.Value("int32")),
    "integers": datasets.List(datasets.Value("int64")),
    "boolean": datasets.Value("bool"),
    "float32": datasets.Value("float32"),
    "number": datasets.Value("float64"),
    "numbers": datasets.List(datasets.Value("float32")),
    "float64s": datasets.List(datasets.Value("float64")),
    "keys": datasets.List(datasets.List(datasets.Value("uint8"))),  # of each step of a piece
    "answers": {
        "text": datasets.List(datasets.Value("string")),
        "answer_start": datasets.List(datasets.Value("int32")),
    },
}
HUB_FILES = ("README.md", "*.parquet")


@dataclass(frozen=True)
class Outcome:
    """A dataset in the data folder: where it is, what is in it, and whether it was there before."""

    folder: Path
    findings: list[Finding]
    kept: bool


def build_or_check_dataset(
    entry: Entry, data_dir: str | None = None, *, raw: Path | None = None, replace: bool = False
) -> Outcome:
    """Build a dataset in the data folder, unless it is there with the right rows.

    Args:
        entry: Catalogue entry of the dataset.
        data_dir: Folder of datasets in which the dataset is built; default: as `get_data_folder` finds it.
        raw: Folder with raw files, or files of the Hub, that were downloaded by hand; default: they are downloaded.
        replace: Whether a folder with other rows is replaced.

    Raises:
        RawFilesMissingError: a file cannot be downloaded, or is not in `raw`.
        RawFileError: a raw file is not in the form of the source.
        WrongContentError: a raw file has a wrong sha256, or the rows have a wrong fingerprint; nothing is put in place.
        FileExistsError: the folder is there with other rows, and `replace` was not given.
        OSError: the folder cannot be written.
    """
    folder = get_data_folder(data_dir) / entry.name
    if path_exists(folder) and not replace:
        findings = check_splits(entry, folder)
        if are_all_splits_unchanged(findings) or entry.differs:
            return Outcome(folder, findings, kept=True)
        raise FileExistsError(
            f"{folder} is there, but {_describe_differences(findings)}; --replace builds it anew, --data_dir builds "
            "another"
        )
    with atomic_folder(folder) as temporary:
        if entry.convert is None:
            _copy_from_hub(entry, temporary, raw)
        else:
            _convert_raw_files(entry, temporary, raw)
        findings = check_splits(entry, temporary)
        if not are_all_splits_unchanged(findings) and not entry.differs:
            if raw is None:
                delete_downloads(entry.files)
            raise WrongContentError(
                f"{entry.name}: {_describe_differences(findings)}: the files of the source are not those that results "
                "were computed on; nothing was put in place"
            )
    if raw is None:
        store_download_digests(entry.files)
    return Outcome(folder, findings, kept=False)


def _describe_differences(findings: list[Finding]) -> str:
    """Return in words which splits are missing or hold other rows than the catalogue says."""
    parts = [
        f"{finding.split} is missing"
        if finding.state == "missing"
        else f"{finding.split} ({finding.rows:,} rows) has the fingerprint {finding.fingerprint[:16]}…, another one"
        for finding in findings
        if finding.state in ("missing", "differs")
    ]
    return ", ".join(parts)


def _convert_raw_files(entry: Entry, folder: Path, raw: Path | None) -> None:
    """Write the dataset of `entry` into `folder`, from raw files downloaded or found in the folder `raw`."""
    assert entry.convert is not None
    files = download_files(entry.files) if raw is None else find_raw_files(entry.files, raw)
    try:
        splits = entry.convert(files)
    except Exception as error:
        # A damaged file breaks whichever library unpacks or parses it; what the machine lacks is no fault of a file.
        if isinstance(error, (MemoryError, ImportError)) or getattr(error, "errno", None) is not None:
            raise
        if raw is None:
            delete_downloads(entry.files)  # so that the next attempt downloads them again
        if isinstance(error, RawFileError):
            raise
        kind = type(error).__name__
        advice = "they were removed: try again" if raw is None else "fetch them again"
        raise RawFileError(
            f"the files of {entry.name} cannot be read ({kind}: {format_error_on_one_line(error)}); {advice}"
        ) from error
    write_dataset_folder(
        entry, folder, {name: build_dataset(rows, _get_column_kinds(entry, name)) for name, rows in splits.items()}
    )


def _get_column_kinds(entry: Entry, split: str) -> Kinds:
    """Return the kind of each column of a split; a key "configuration/column" holds in one configuration alone."""
    start = f"{split.rpartition('/')[0]}/"
    own = {name.removeprefix(start): kind for name, kind in entry.kinds.items() if name.startswith(start)}
    return {**{name: kind for name, kind in entry.kinds.items() if "/" not in name}, **own}


def build_dataset(rows: Rows, kinds: Kinds) -> datasets.Dataset:
    """Return rows as a dataset with columns of these kinds; configurations may each have some of them."""
    names = [name for name in kinds if name in rows or not rows]
    features = datasets.Features({name: _build_feature(kinds[name]) for name in names})
    return datasets.Dataset.from_dict({name: rows.get(name, []) for name in names}, features=features)


def _build_feature(kind: Kind) -> object:
    """Return the type of a column for the library `datasets`; a sequence of names is a class label."""
    return FEATURES[kind] if isinstance(kind, str) else datasets.ClassLabel(names=list(kind))


def write_dataset_folder(entry: Entry, folder: Path, splits: dict[str, datasets.Dataset]) -> None:
    """Write splits named "split" or "configuration/split" as files in the layout of a Hub dataset."""
    configurations: dict[str, list[dict[str, str]]] = {}
    for name, dataset in splits.items():
        configuration, _, split = name.rpartition("/")
        path = f"{name}.parquet"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        dataset.to_parquet(folder / path)
        configurations.setdefault(configuration or "default", []).append({"split": split, "path": path})
    configs: list[dict[str, object]] = [
        {"config_name": name, "data_files": data_files} for name, data_files in configurations.items()
    ]
    configs[0]["default"] = True  # where there are several, the first is loaded unless another is named
    front = yaml.safe_dump({"configs": configs}, sort_keys=False)
    rows = ", ".join(f"{name} {len(dataset):,}" for name, dataset in splits.items())
    body = [entry.description, f"Rows: {rows}.", f"Source: {entry.source}.", entry.how, f"Licence: {entry.licence}."]
    text = "\n\n".join([f"---\n{front}---", f"# {entry.name}", *body, f"Built by `ctxzoo data get {entry.name}`.\n"])
    (folder / "README.md").write_text(text, encoding="utf-8")


def _copy_from_hub(entry: Entry, folder: Path, raw: Path | None) -> None:
    """Copy a dataset's files from the Hub, or from the folder `raw`, into the folder."""
    if raw is not None:
        if not any(raw.rglob("*.parquet")):
            raise RawFilesMissingError(f"{raw} holds no Parquet file of {entry.name}", [describe_hub_files(entry)])
        shutil.copytree(raw, folder, dirs_exist_ok=True)
        return
    try:
        snapshot = snapshot_download(entry.name, repo_type="dataset", allow_patterns=list(HUB_FILES))
    except Exception as error:  # the HTTP library behind the client, and so its errors, differ between versions of it
        raise RawFilesMissingError(
            f"the Hub did not deliver {entry.name} ({format_error_on_one_line(error)})", [describe_hub_files(entry)]
        ) from error
    shutil.copytree(snapshot, folder, dirs_exist_ok=True)


def describe_hub_files(entry: Entry) -> RawFile:
    """Return where a person finds the files of a dataset on the Hub."""
    return RawFile(f"https://huggingface.co/datasets/{entry.name}/tree/main", "README.md and all Parquet files")
