"""The numbers of the paper whose reader is the zoo's, for cards and tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """One line of the paper's results: F1 and EM in percent, None where the paper has no number."""

    variant: str
    split: str
    f1: float | None
    exact: float | None


# Patel (2022): SQuAD 2.0, the halves of the official development set that the CS224N course calls dev and test.
PAPER = (
    PaperRow("baseline", "dev", 60.55, 57.10),
    PaperRow("sinusoidal", "dev", 58.20, 54.80),
    PaperRow("learned", "dev", 60.91, 57.92),
    PaperRow("learned_attention", "dev", 52.19, 52.19),
    PaperRow("learned_char3", "dev", 63.42, 60.31),
    PaperRow("learned_char7", "dev", 64.57, 61.49),
    PaperRow("learned_char9", "dev", None, None),
    PaperRow("learned_char7", "test", 62.53, 59.56),
)
