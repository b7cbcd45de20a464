"""Small files as a person has them: reviews with labels, sentences with tags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

THINGS = ("lamp", "chair", "phone", "radio", "kettle")
PRAISE, COMPLAINTS = ("bright", "lovely", "fine"), ("dull", "broken", "slow")
NAMES, TOWNS = ("Anna", "Bert", "Clara"), ("Halvik", "Norden", "Tarn")


def write_reviews(
    path: Path, rows: int, *, labels: Sequence[str] = ("praise", "complaint"), words: Sequence[str] = ()
) -> Path:
    """Write a CSV file of different texts, whose labels alternate and follow from their words.

    Args:
        path: Path of the file.
        rows: Texts.
        labels: Names of the labels.
        words: Stand in every text too.
    """
    kinds = (PRAISE, COMPLAINTS)
    lines = ["text,label"]
    for row in range(rows):
        kind = kinds[row % len(labels) % len(kinds)]
        parts = ("the", THINGS[row % 5], "is", kind[row // 2 % 3], *words, f"in {row}")
        lines.append(f"{' '.join(parts)},{labels[row % len(labels)]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_tags(path: Path, sentences: int, *, documents: int = 0) -> Path:
    """Write a CoNLL file of different sentences with names and towns, in so many documents; 0: none are told."""
    blocks = []
    for number in range(sentences):
        words = [(NAMES[number % 3], "PER"), ("likes", "O"), (TOWNS[number // 3 % 3], "LOC"), (f"n{number}", "O")]
        begins = documents and number % -(-sentences // documents) == 0
        start = "-DOCSTART- O\n\n" if begins else ""
        blocks.append(start + "".join(f"{word} {tag}\n" for word, tag in words))
    path.write_text("\n".join(blocks) + "\n", encoding="utf-8")
    return path
