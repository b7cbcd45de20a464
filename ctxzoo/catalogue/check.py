"""Whether a folder holds the rows that results were computed on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import datasets

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.catalogue.entry import Entry
from ctxzoo.data.sources import DatasetUnavailableError, dataset_fingerprint, load_splits, refuse_loading_script

State = Literal["same", "differs", "missing", "not compared"]


@dataclass(frozen=True)
class Finding:
    """What a folder holds of one split: its rows, and whether they are those that results were computed on."""

    split: str
    state: State
    rows: int | None
    fingerprint: str


def check_splits(entry: Entry, folder: Path) -> list[Finding]:
    """Return for each split whether its rows in a folder are those of the catalogue; unknown splits come last.

    Raises:
        DatasetUnavailableError: there is no such folder, or no data file in it.
        DatasetFileError: a file is damaged.
    """
    findings = []
    with load_splits_of_folder(folder) as splits:
        for name, expected in entry.fingerprints.items():
            split = splits.get(name)
            if split is None:
                findings.append(Finding(name, "missing", None, ""))
            else:
                lacking = set(entry.checked) - set(split.column_names)
                print_of = "" if lacking else _fingerprint_checked_columns(entry, split)
                findings.append(Finding(name, "same" if print_of == expected else "differs", len(split), print_of))
        for name in sorted(set(splits) - set(entry.fingerprints)):
            findings.append(Finding(name, "not compared", len(splits[name]), dataset_fingerprint(splits[name])))
    return findings


def are_all_splits_unchanged(findings: list[Finding]) -> bool:
    """Return whether all splits that results were computed on are there as they were."""
    return all(finding.state in ("same", "not compared") for finding in findings)


def find_entry_of_folder(folder: Path) -> Entry | None:
    """Return the entry that a folder is of: by the last two parts of its path, else by what it holds, else None.

    Raises:
        DatasetUnavailableError, DatasetFileError: as in `check_splits`.
    """
    named = "/".join(folder.resolve().parts[-2:])
    if named in ENTRIES:
        return ENTRIES[named]
    with load_splits_of_folder(folder) as splits:
        for entry in ENTRIES.values():
            if any(
                name in splits and _fingerprint_checked_columns(entry, splits[name]) == expected
                for name, expected in entry.fingerprints.items()
                if set(entry.checked) <= set(splits[name].column_names if name in splits else ())
            ):
                return entry
    return None


def _fingerprint_checked_columns(entry: Entry, split: datasets.Dataset) -> str:
    """Return the hash of the columns on which results depend, or of all if the entry names none."""
    return dataset_fingerprint(split.select_columns(list(entry.checked)) if entry.checked else split)


@contextmanager
def load_splits_of_folder(folder: Path) -> Iterator[Mapping[str, datasets.Dataset]]:
    """Within a `with` block, give a folder's splits by name, "configuration/split" where it has several of these."""
    if not folder.is_dir():
        raise DatasetUnavailableError(f"there is no folder {folder}")
    # The cache of `datasets` would keep a copy of what is only looked at.
    with tempfile.TemporaryDirectory(prefix="ctxzoo-check-") as cache:
        configurations = _list_configurations(folder)
        splits = {}
        for configuration in configurations:
            config_splits = load_splits(str(folder), config=configuration, cache_dir=cache)
            prefix = f"{configuration}/" if len(configurations) > 1 else ""
            splits.update({f"{prefix}{name}": split for name, split in config_splits.items()})
        yield splits


def _list_configurations(folder: Path) -> list[str | None]:
    """Return the names of the configurations (subsets) of the dataset in a folder; [None] if it has no data file."""
    try:
        with refuse_loading_script(str(folder)):
            return list(datasets.get_dataset_config_names(str(folder)))
    except FileNotFoundError:  # no data file; reading says so
        return [None]
