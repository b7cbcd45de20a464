"""Parts of a model card, written and read back: programs, tables, the settings of a run, the release that saved it."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.version import COMMIT_DIGITS, version

REPO_PLACEHOLDER = "path/to/this/folder"
LINE_LENGTH = 96
_REPO_LINE = re.compile(r'^repo = ".*"', flags=re.MULTILINE)
BAR = "&#124;"  # stands for "|" in cells, so that `parse_settings_table` finds their borders
HEADING = "| setting | value |"
URL_VARIABLE = "CTXZOO_URL"
SOURCE_URL = ""  # of the git repository, once it is public; the variable goes before it
_URL = re.compile(r"https://[\w.-]+(:\d+)?(/[\w.~-]+)+/?")
_CODE_SECTION = re.compile(r"^## Code\n.*?(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
_HASH_ROW = re.compile(r"^\| ([\w.-]+) \| `([0-9a-f]+)` \|$", flags=re.MULTILINE)
_SAVED = re.compile(r"^Saved with ctxzoo (\S+)\. ", flags=re.MULTILINE)


@dataclass(frozen=True)
class Snippets:
    """The programs of a card.

    Attributes:
        example: Code snippet that defines the names used by the others, `repo` first (see `format_repo_id_line`).
        with_package, without_package: Code snippets that load model and tokenizer, with ctxzoo installed and with the
            code of the repository.
        as_pipeline: Code snippet with the transformers pipeline, and its printed output; None where transformers has no
            such pipeline.
    """

    example: str
    with_package: str
    without_package: str
    as_pipeline: str | None = None


def format_repo_id_line(repo_id: str) -> str:
    """Return the line of code that sets `repo`, the repository that the programs of a card load."""
    return f'repo = "{repo_id}"'


def format_text_assignment(name: str, text: str) -> str:
    """Return `name = (…)` with the text cut at blanks into pieces that fit a line."""
    pieces = "\n".join(f"    {piece!r}" for piece in _split_at_spaces(text))
    return f"{name} = (\n{pieces}\n)"


def format_prediction(prediction: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named entries of a prediction, with numbers rounded to four significant digits."""
    shown = {name: prediction[name] for name in names if name in prediction}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in shown.items()}


def set_repo_id(card: str, repo_id: str) -> str:
    """Return the card with this repository in its program examples."""
    return _REPO_LINE.sub(lambda _: format_repo_id_line(repo_id), card, count=1)


def _split_at_spaces(text: str) -> list[str]:
    """Return the text in pieces that fit a line, cut at spaces; joined they are the text."""
    pieces = [""]
    for word in re.findall(r"\S*\s*", text):
        if pieces[-1] and len(pieces[-1]) + len(word) > LINE_LENGTH:
            pieces.append("")
        pieces[-1] += word
    return pieces


def format_code_span(text: str) -> str:
    """Return a text as a code span of Markdown, on one line, in which nothing acts as markup."""
    line = " ".join(text.split()) or " "
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def escape_markdown(text: str) -> str:
    """Return a text on one line with the signs of Markdown and HTML escaped; plain names stay as they are."""
    line = " ".join(text.split())
    plain = re.fullmatch(r"[\w./ -]*", line) and not re.search(r"\b_|_\b", line)
    return line if plain else re.sub(r"([\\`*_{}\[\]()<>#+!|~&-])", r"\\\1", line)


def format_code_block(text: str, language: str = "python") -> str:
    """Return a block of code of Markdown, whose fence is longer than any in the text."""
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def format_card_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with all columns flush left, whose cells hold `BAR` for each "|", and no line break."""
    lines = [[cell.replace("\r", " ").replace("\n", " ") for cell in row] for row in rows]
    return format_markdown_table(headings, lines, left_aligned=len(headings), bar=BAR)


def parse_settings_table(card: str) -> dict[str, str]:
    """Return name to value, as the table of settings in a card of `build_card` shows them; none without that table."""
    _, heading, after_heading = card.partition(f"{HEADING}\n")
    if not heading:
        return {}
    rows = after_heading.partition("\n\n")[0].splitlines()[1:]  # behind the rule
    cells = [row.removeprefix("| ").removesuffix(" |").split(" | ") for row in rows]
    return {name: value.replace(BAR, "|") for name, value in cells}


def describe_release() -> str:
    """Return the sentence for cards that names the installed release of ctxzoo."""
    return f"Saved with ctxzoo {version()}."


def parse_release(card: str) -> str | None:
    """Return the release of ctxzoo that a card names, or None."""
    found = _SAVED.search(card)
    return found.group(1) if found else None


def replace_code_section(card: str, text: str) -> str:
    """Return the card with `text` as its section on the code, if it has one."""
    return _CODE_SECTION.sub(lambda _: f"## Code\n\n{text}\n\n", card, count=1)


def parse_file_hashes(card: str) -> dict[str, str]:
    """Return file name to the first digits of its SHA-256, as the section on the code lists them; empty without."""
    section = _CODE_SECTION.search(card)
    return {} if section is None else dict(_HASH_ROW.findall(section[0]))


def describe_installation() -> str:
    """Return Markdown on how to install exactly this code.

    Never by a name in a package index, where anybody could register it: from the git URL that `SOURCE_URL` or the
    environment variable CTXZOO_URL gives, and without one from a checkout. Of a URL that is not https, or that holds a
    password, it warns and takes none: a card is written when the training is over, and must not fail.
    """
    url = get_source_url()
    if not url:
        return "`pip install .` in a checkout of its source"
    return f'`pip install "git+{url}{_format_commit_suffix(version())}"`'


def get_source_url() -> str:
    """Return the URL of the git repository; empty if unknown, or if CTXZOO_URL is no URL, which gives a warning."""
    url = os.environ.get(URL_VARIABLE, SOURCE_URL)
    if url and not _URL.fullmatch(url):
        warnings.warn(
            f"{URL_VARIABLE} is not used: expected the https URL of a git repository, without user and password",
            stacklevel=2,
        )
        return ""
    return url


def _format_commit_suffix(release: str) -> str:
    """Return `@` and the tag or commit of a release in git; empty if the files are those of no commit."""
    if ".dev" not in release:
        return f"@v{release}"
    found = re.search(rf"\+g([0-9a-f]{{{COMMIT_DIGITS},}})$", release)
    return f"@{found.group(1)}" if found else ""
