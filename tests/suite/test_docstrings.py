"""Docstrings of public names are sentences, and their reader finds those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.docstrings import argument_fragments, fragments

ROOT = Path(__file__).resolve().parents[2]
READ = ("ctxzoo", "recipes", "reports", "benchmarks", "tests/support")


def _fragments_below(path: str) -> list[str]:
    start = ROOT / path
    files = [start] if start.is_file() else sorted(start.rglob("*.py"))
    assert files, f"{path} has no Python file"
    return [
        f"{file.relative_to(ROOT).as_posix()}:{line}"
        for file in files
        for line in (*fragments(file.read_text("utf-8")), *argument_fragments(file.read_text("utf-8")))
    ]


@pytest.mark.parametrize("folder", READ)
def test_docstrings_are_sentences_and_texts_of_arguments_name_what_they_are(folder: str) -> None:
    assert _fragments_below(folder) == []


@pytest.mark.parametrize("text", ["of the recipe.", "See `forward`.", "By which the logits are divided.", "as it is."])
def test_a_text_of_an_argument_that_is_a_fragment_is_found(text: str) -> None:
    source = f'''
def scale(rate, size):
    """Scale it.

    Args:
        rate: {text}
        size, other: Number of rows.
            of the table: as many as there are.

    Returns:
        of: See it.
    """
'''
    assert argument_fragments(source) == [f"6 rate: {text}"]
    assert argument_fragments(source.replace(text, "Peak learning rate, above 0.")) == []


@pytest.mark.parametrize(
    "docstring",
    [
        "Of the whole training.",
        "The same.",
        "The same in float64, row by row.",
        "That of K and s.",
        "Those of the settings.",
        "As it starts.",
        "In path of a signal.",
        "From the lowest to the highest.",
        "(B, n, d) -> (B, n).",
        "Its own, or the customary one.",
    ],
)
def test_a_fragment_is_found(docstring: str) -> None:
    source = f'class Public:\n    """A class."""\n\n    def method(self):\n        """{docstring}"""\n'
    assert fragments(source) == [f"4 method: {docstring}"]
    assert fragments(source.replace("method", "_method")) == []
    assert fragments(source.replace("Public", "_Public")) == []
    assert fragments(f'if True:\n    def function():\n        """{docstring}"""\n') == [f"2 function: {docstring}"]


@pytest.mark.parametrize(
    "docstring",
    ["Return the row of a word.", "The steps of a whole training.", "A thing.", "Offset of a word.", "Thesaurus."],
)
def test_a_sentence_is_none(docstring: str) -> None:
    assert fragments(f'def function():\n    """{docstring}"""\n') == []
