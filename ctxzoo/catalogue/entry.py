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
        url: Address from which it comes, or the command that a person runs to have it, which is never run here.
        name: Name under which it is kept, different for all files of an entry; default: the last part of the URL.
        sha256: Digest of its content, in hexadecimal, where that is known.
        sha512: SHA-512 of its content, in hexadecimal, where its source publishes that.
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
        if not self.name:
            object.__setattr__(self, "name", self.url.rpartition("/")[2])


@dataclass(frozen=True)
class Entry:
    """A dataset that ctxzoo's results name.

    Attributes:
        name: Name by which data is loaded: a Hub id, or a name under `ctxzoo-data/`, which is on no hub.
        description: What it is, in whole sentences.
        licence: Licence under which it may be used, as its source says.
        source: Where it comes from, and which commit that is, if one is named.
        how: How rows are made of the raw files, and what differs from the dataset of this name on the Hub.
        uses: Recipes, and evaluations of word vectors, that read it.
        megabytes: Size of the built folder.
        kinds: Types of the columns; "configuration/column" where one differs from those of other configurations.
        files: Raw files; none for a dataset that is downloaded from the Hub as it is.
        convert: Makes the splits of the raw files; None where there are none.
        differs: Why `ctxzoo data get` gives other rows than those of `fingerprints`, and what that means for scores;
            empty where it gives these rows or nothing.
        checked: Columns that the fingerprints are of; default: all.
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
