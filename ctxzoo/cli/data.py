"""`ctxzoo data list | get | check`: the datasets that results were computed on, and how to have them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ctxzoo.cli.printing import print_json, print_table
from ctxzoo.data.notices import format_count
from ctxzoo_command import debug_parser, json_parser

if TYPE_CHECKING:
    from ctxzoo.catalogue.check import Finding
    from ctxzoo.catalogue.download import RawFilesMissingError
    from ctxzoo.catalogue.entry import Entry

OK, FAILED, USER_ERROR = 0, 1, 2
MANY = 20  # URLs that a person would not fetch one by one
SAID = {
    "same": "the rows that results were computed on",
    "differs": "other rows than results were computed on",
    "missing": "not there",
    "not compared": "no result was computed on it",
}


def add_data_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands below `ctxzoo data`; without one it lists the datasets."""
    parser.set_defaults(command=list_datasets)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    debug = debug_parser()
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "--data_dir", help="folder of datasets; default: $CTXZOO_DATA, else ctxzoo/datasets in the user's data folder"
    )

    help = "All datasets: size, licence, what they are made of, what uses them."
    sub = commands.add_parser("list", help=help, description=help, parents=[debug, json_parser()])
    sub.set_defaults(command=list_datasets)

    help = "Download a dataset from its source, convert and check it. An interrupted download goes on."
    sub = commands.add_parser("get", help=help, description=help, parents=[debug, folder])
    sub.add_argument("name", metavar="NAME", help="as `ctxzoo data list` names it, or the part behind the slash")
    sub.add_argument("--from", dest="raw", type=Path, metavar="FOLDER", help="raw files that were fetched by hand")
    sub.add_argument("--replace", action="store_true", help="build it anew where a folder with other rows is there")
    sub.set_defaults(command=get_dataset)

    help = "Say whether a folder holds the rows that results were computed on."
    sub = commands.add_parser("check", help=help, description=help, parents=[debug, json_parser(), folder])
    sub.add_argument("subject", metavar="FOLDER_OR_NAME", help="a folder, or a dataset in the data folder")
    sub.set_defaults(command=check_dataset)


def list_datasets(options: argparse.Namespace) -> int:
    """Print all datasets, and below the table what each is made of."""
    from ctxzoo.catalogue.entries import ENTRIES

    if getattr(options, "json", None):
        names = ("name", "megabytes", "licence", "differs", "uses", "kinds", "description", "source", "how")
        print_json([{name: getattr(entry, name) for name in names} for entry in ENTRIES.values()], options.json)
        return OK
    rows = [
        [
            entry.name,
            f"{entry.megabytes:.1f}",
            entry.licence,
            "may differ" if entry.differs else "the same rows",
            ", ".join(entry.uses) or "the mini sets are made of it",
        ]
        for entry in ENTRIES.values()
    ]
    print_table(["dataset", "MB", "licence", "get gives", "used by"], rows)
    for entry in ENTRIES.values():
        print(f"{entry.name}: {entry.description} From {entry.source}. {entry.how}")
        if entry.differs:
            print(f"  What get gives may differ: {entry.differs}")
    print("\nctxzoo data get NAME builds one; NAME may be the part behind the slash.")
    return OK


def get_dataset(options: argparse.Namespace) -> int:
    """Get one dataset and say where it is and how it is used."""
    import datasets

    from ctxzoo.catalogue.build import build_or_check_dataset
    from ctxzoo.catalogue.download import RawFilesMissingError
    from ctxzoo.catalogue.entries import find_entry_by_name

    datasets.disable_progress_bars()
    entry = find_entry_by_name(options.name)
    try:
        outcome = build_or_check_dataset(entry, options.data_dir, raw=options.raw, replace=options.replace)
    except RawFilesMissingError as error:
        if options.debug:
            raise
        _print_missing(entry, error, options)
        return USER_ERROR
    print(f"{outcome.folder}{' was there' if outcome.kept else ''}")
    _print_findings(outcome.findings)
    if entry.differs and any(finding.state != "same" for finding in outcome.findings):
        print(f"scores may differ from ours: {entry.differs}")
    print(_describe_use(entry, options.data_dir))
    return OK


def check_dataset(options: argparse.Namespace) -> int:
    """Compare a folder with the catalogue, print the result, and return `FAILED` if its rows differ."""
    import datasets

    from ctxzoo.catalogue.check import are_all_splits_unchanged, check_splits, find_entry_of_folder
    from ctxzoo.catalogue.entries import find_entry_by_name
    from ctxzoo.data.files import path_exists
    from ctxzoo.data.sources import get_data_folder

    datasets.disable_progress_bars()
    folder = Path(options.subject)
    if folder.is_dir():
        entry = find_entry_of_folder(folder)
        if entry is None:
            print(f"{folder} holds none of the datasets that `ctxzoo data list` names")
            return FAILED
    else:
        entry = find_entry_by_name(options.subject)
        folder = get_data_folder(options.data_dir) / entry.name
        if not path_exists(folder):
            raise ValueError(f"there is no folder {folder}; get it: ctxzoo data get {entry.name}")
    findings = check_splits(entry, folder)
    if options.json:
        splits = [asdict(finding) for finding in findings]
        same = are_all_splits_unchanged(findings)
        print_json({"folder": str(folder), "dataset": entry.name, "same": same, "splits": splits}, options.json)
        return OK if same else FAILED
    print(f"{folder}: {entry.name}")
    _print_findings(findings)
    if are_all_splits_unchanged(findings):
        return OK
    print(entry.differs or f"built anew by: ctxzoo data get {entry.name} --replace")
    return FAILED


def _print_findings(findings: Sequence[Finding]) -> None:
    """Print a line for each split: its rows and how it compares with the catalogue."""
    for finding in findings:
        rows = "" if finding.rows is None else f"{format_count(finding.rows, 'rows')}: "
        shown = f" ({finding.fingerprint[:16]}…)" if finding.fingerprint else ""
        print(f"  {finding.split}: {rows}{SAID[finding.state]}{shown}")


def _print_missing(entry: Entry, error: RawFilesMissingError, options: argparse.Namespace) -> None:
    """Print to the standard error which files a person must fetch by hand."""
    print(f"ctxzoo: error: {error}", file=sys.stderr)
    print("The same command goes on later. Without network, fetch by hand into one folder:", file=sys.stderr)
    for file in error.files[:MANY]:
        name = "" if file.url.endswith(f"/{file.name}") else f"  as  {file.name}"
        print(f"  {file.url}{name}", file=sys.stderr)
    if len(error.files) > MANY:
        print(f"  … and {len(error.files) - MANY} more, up to {error.files[-1].url}", file=sys.stderr)
    command = ["ctxzoo", "data", "get", entry.name, *(["--data_dir", options.data_dir] if options.data_dir else [])]
    print(f"and hand them over: {shlex.join(command)} --from FOLDER", file=sys.stderr)


def _describe_use(entry: Entry, data_dir: str | None) -> str:
    """Return a sentence that tells the user how to name the dataset to recipes or commands."""
    from ctxzoo.data.sources import get_data_folder

    searched = get_data_folder(data_dir).resolve() == get_data_folder().resolve()
    if "vector" in entry.kinds:
        name = entry.name if searched else get_data_folder(data_dir) / entry.name
        return f"use it where word vectors are named: --word_vectors {shlex.quote(str(name))}"
    where = "" if searched else f", with --data_dir {shlex.quote(str(data_dir))}"
    return f"use it by its name, {entry.name}{where}; recipes/README.md names the recipes that read it"
