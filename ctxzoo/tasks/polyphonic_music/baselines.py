"""Bars that count: how often each key sounds, alone or by whether it sounded at the step before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, Roll, Rolls
from ctxzoo.tasks.polyphonic_music.task import MusicScores

KEY_FREQUENCY, KEY_MARKOV = "key_frequency", "key_markov"
BASELINES = (KEY_FREQUENCY, KEY_MARKOV)
ADDED = 0.5  # to each count, so that no key is certain (Krichevsky and Trofimov 1981)

Logits = npt.NDArray[np.float64]  # (2, KEYS): of a key that did not sound at the step before, and of one that did


def fit_baseline(name: str, rolls: Rolls) -> Logits:
    """Count how often each key sounds in the training pieces, and return the counts as logits.

    Args:
        name: Name of the baseline: "key_frequency", each key by itself; "key_markov", each key given whether it sounded
            in the step before.
        rolls: Piano rolls of the training pieces.

    Returns:
        (2, 88) logits log p / (1 - p) of each key, after a step without it and after one with it.

    Raises:
        ValueError: another name.
    """
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}; known: {', '.join(BASELINES)}")
    counts = np.full((2, 2, KEYS), ADDED)  # sounded before, sounds now, key
    for piece in range(len(rolls)):
        roll = rolls.roll(piece)
        for before in (False, True):
            for now in (False, True):
                counts[int(before), int(now)] += ((roll[:-1] == before) & (roll[1:] == now)).sum(axis=0)
    if name == KEY_FREQUENCY:
        counts[:] = counts.sum(axis=0) - ADDED  # each of the two has brought its half
    found: Logits = np.log(counts[:, 1]) - np.log(counts[:, 0])
    return found


def select_baseline_logits(logits: Logits, roll: Roll) -> Logits:
    """Return the logits (T - 1, 88) that a counted model gives to each step of a piece but the first."""
    found: Logits = np.where(roll[:-1], logits[1], logits[0])
    return found


def score_baseline(logits: Logits, rolls: Rolls) -> dict[str, float]:
    """Return the scores of `MusicScores` over all pieces that have two steps or more."""
    scores = MusicScores().keep_local()
    for piece in range(len(rolls)):
        roll = rolls.roll(piece)
        scores.update(torch.from_numpy(select_baseline_logits(logits, roll)), torch.from_numpy(roll[1:]).double())
    return scores.compute()


@dataclass(frozen=True)
class BaselineRun(CountedRun):
    """One of `BASELINES`; see `CountedRun`."""

    reads = ("config_name",)

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {"added_to_counts": ADDED}

    def fit(self, data: PolyphonicMusicDataModule) -> SimpleModel:
        """Count the keys of train."""
        variant = self.experiment.model.variant
        logits = fit_baseline(variant, data.pieces("train"))
        numbers = KEYS if variant == KEY_FREQUENCY else logits.size
        return SimpleModel(numbers, lambda split: score_baseline(logits, data.pieces(split)))
