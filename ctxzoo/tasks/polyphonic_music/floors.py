"""Bars that count: how often each key sounds, alone or by whether it sounded at the step before."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import RESULTS_DIR, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.polyphonic_music.card import CARD
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, Roll, Rolls
from ctxzoo.tasks.polyphonic_music.task import MusicScores

ARCHITECTURE = "counts"
KEY_FREQUENCY, KEY_MARKOV = "key_frequency", "key_markov"
FLOORS = (KEY_FREQUENCY, KEY_MARKOV)
ADDED = 0.5  # to each count, so that no key is certain (Krichevsky and Trofimov 1981)

Logits = npt.NDArray[np.float64]  # (2, KEYS): of a key that did not sound at the step before, and of one that did


def fit_floor(name: str, rolls: Rolls) -> Logits:
    """Count in training pieces how often each key sounds, from the second step on.

    Args:
        name: key_frequency: each key by itself; key_markov: each key by whether it sounded at the step before.
        rolls: pieces.

    Returns:
        (2, 88) logits log p / (1 - p) of each key, after a step without it and after one with it.

    Raises:
        ValueError: another name.
    """
    if name not in FLOORS:
        raise ValueError(f"unknown floor {name!r}; known: {', '.join(FLOORS)}")
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


def floor_logits(logits: Logits, roll: Roll) -> Logits:
    """Return (T - 1, 88) the logits of each step of a piece but the first."""
    found: Logits = np.where(roll[:-1], logits[1], logits[0])
    return found


def score_floor(logits: Logits, rolls: Rolls) -> dict[str, float]:
    """Return the scores of `MusicScores` over all pieces that have two steps or more."""
    scores = MusicScores()
    for piece in range(len(rolls)):
        roll = rolls.roll(piece)
        scores.update(torch.from_numpy(floor_logits(logits, roll)), torch.from_numpy(roll[1:]).double())
    return scores.compute()


@dataclass(frozen=True, kw_only=True)
class FloorRun(Run):
    """Counts in `train`, scored on `score`.

    Attributes:
        recipe, seed, commit, score, tag, results_dir: see `RunSpec`; nothing is drawn.
        variant: one of `FLOORS`.
        data: arguments of the DataModule, `dataset` among them.
    """

    card: ClassVar[TaskCard] = CARD

    recipe: str
    variant: str
    commit: str
    seed: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    score: str = "test"
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    @property
    def spec(self) -> RunSpec:
        settings = {"config_name": self.data.get("config_name"), "added_to_counts": ADDED}
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.variant,
            dataset=self.data["dataset"],
            seed=self.seed,
            commit=self.commit,
            settings=settings,
            score=self.score,
            tag=self.tag,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def work(self, *, resume: bool) -> None:
        data = PolyphonicMusicDataModule(**self.data)
        data.setup()
        scored = data.pieces(self.score)
        started = time.perf_counter()
        logits = fit_floor(self.variant, data.pieces("train"))
        seconds = time.perf_counter() - started
        numbers = KEYS if self.variant == KEY_FREQUENCY else logits.size
        result = self.spec.result(
            metrics={f"{self.score}/{name}": value for name, value in score_floor(logits, scored).items()},
            parameters={"trainable": numbers, "total": numbers},
            fingerprint=data.fingerprint,
            seconds=seconds,
        )
        write_result_file(result, self.spec.results_file)
