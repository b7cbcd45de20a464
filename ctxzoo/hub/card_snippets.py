"""Program text in a model card: ways to use the checkpoint, with the prediction that it gave when it was saved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

REPO_PLACEHOLDER = "path/to/this/folder"
LINE_LENGTH = 96
_REPO_LINE = re.compile(r'^repo = ".*"', flags=re.MULTILINE)


@dataclass(frozen=True)
class Snippets:
    """The programs of a card.

    Attributes:
        example: the names that the others use, `repo` first (see `repo_line`).
        with_package, without_package: model and tokenizer, with ctxzoo and with the code of the repository.
        as_pipeline: transformers' pipeline, and what it printed; None where transformers has none.
    """

    example: str
    with_package: str
    without_package: str
    as_pipeline: str | None = None


def repo_line(repo_id: str) -> str:
    """Return the line that says what the programs load."""
    return f'repo = "{repo_id}"'


def text_assignment(name: str, text: str) -> str:
    """Return `name = (…)` with the text cut at blanks into pieces that fit a line."""
    pieces = "\n".join(f"    {piece!r}" for piece in _pieces(text))
    return f"{name} = (\n{pieces}\n)"


def shown_prediction(prediction: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named entries that are there, numbers with four significant digits."""
    shown = {name: prediction[name] for name in names if name in prediction}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in shown.items()}


def with_repo_id(card: str, repo_id: str) -> str:
    """Return the card with snippets that name this repository."""
    return _REPO_LINE.sub(lambda _: repo_line(repo_id), card, count=1)


def _pieces(text: str) -> list[str]:
    """Cut the text at blanks into pieces that fit a line; joined they are the text."""
    pieces = [""]
    for word in re.findall(r"\S*\s*", text):
        if pieces[-1] and len(pieces[-1]) + len(word) > LINE_LENGTH:
            pieces.append("")
        pieces[-1] += word
    return pieces
