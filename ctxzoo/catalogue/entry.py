"""What the catalogue says of one dataset, and the rows that a converter gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Type of a column: a name of `build.FEATURES`, or the names of classes, numbered from 0.
Kind = str | tuple[str, ...]
Kinds = Mapping[str, Kind]
Rows = Mapping[str, list[Any]]  # column -> values
Files = Mapping[str, Path]  # name of a raw file -> where it lies
Splits = Mapping[str, Rows]  # name of a split, or "configuration/split" -> rows


class RawFileError(ValueError):
    """A raw file is not in the form that its converter knows."""


@dataclass(frozen=True)
class RawFile:
    """One file of a source.

    Attributes:
        url: URL from which the file is downloaded, or the command with which a person obtains it (never run here).
        name: File name under which it is stored, unique within an entry; default: the last part of the URL.
        sha256: SHA-256 digest of the content in hexadecimal, where it is known.
        sha512: SHA-512 digest of the content in hexadecimal, where the source publishes it.
    """

    url: str
    name: str = ""
    sha256: str | None = None
    sha512: str | None = None

    @property
    def is_downloaded(self) -> bool:
        """Whether `ctxzoo data get` downloads it; other files are handed over."""
        return self.url.startswith(("https://", "http://"))

    def __post_init__(self) -> None:
        """Name the file after the end of its address, unless it has a name."""
        if not self.name:
            object.__setattr__(self, "name", self.url.rpartition("/")[2])


@dataclass(frozen=True)
class Entry:
    """A dataset that ctxzoo's results name.

    Attributes:
        name: Name by which data is loaded: a Hub id, or a name under `ctxzoo-data/`, which is on no hub.
        description: Description of the dataset, in whole sentences.
        licence: Licence under which it may be used, as its source says.
        source: Source of the dataset and, where there is one, its commit.
        how: How rows are made from the raw files, and how they differ from the Hub's dataset of this name.
        uses: Recipes and evaluations of word vectors that use the dataset.
        megabytes: Size of the built folder.
        kinds: Types of the columns by name; "configuration/column" where configurations differ.
        files: Raw files from which it is built; empty for a dataset that is downloaded from the Hub as it is.
        convert: Function from the raw files to the splits; None where there are no raw files.
        differs: Why `ctxzoo data get` gives other rows than those with `fingerprints`, and what that means for scores;
            empty where it gives the same rows or none.
        checked: Columns over which fingerprints are computed; default: all.
        fingerprints: Split, or "configuration/split" -> `dataset_fingerprint` of the rows that results were computed
            on.
    """

    name: str
    description: str
    licence: str
    source: str
    how: str
    uses: tuple[str, ...]
    megabytes: float
    kinds: Kinds = field(default_factory=dict)
    files: tuple[RawFile, ...] = ()
    convert: Callable[[Files], Splits] | None = None
    differs: str = ""
    checked: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
