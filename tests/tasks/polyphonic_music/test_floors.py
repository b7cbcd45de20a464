from __future__ import annotations

import math
from pathlib import Path

import datasets
import numpy as np
import pytest

from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.polyphonic_music.baselines import BASELINES, BaselineRun, fit_baseline, score_baseline
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.experiments import MUSIC_DATASETS, build_paper_experiment
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.tasks.polyphonic_music.reader import check_music
from ctxzoo.tasks.polyphonic_music.rolls import Rolls


def rolls(*pieces: list[list[int]]) -> Rolls:
    return Rolls.from_split(check_music({"train": datasets.Dataset.from_dict({"notes": list(pieces)})}).splits["train"])


TRAIN = rolls([[0], [0, 1], [1], []], [[1], [0]])


def test_frequencies_by_hand():
    logits = fit_baseline("key_frequency", TRAIN)
    # Of the four steps that have one before them key 0 sounds in two, key 1 in two, others in none.
    probability = 1 / (1 + np.exp(-logits))
    assert probability[:, 0] == pytest.approx([2.5 / 5] * 2)
    assert probability[:, 1] == pytest.approx([2.5 / 5] * 2)
    assert probability[:, 2:] == pytest.approx(0.5 / 5)


def test_transitions_by_hand():
    probability = 1 / (1 + np.exp(-fit_baseline("key_markov", TRAIN)))
    # Key 0 stood twice, once kept; it was silent twice, and sounded once after that.
    assert probability[:, 0] == pytest.approx([1.5 / 3, 1.5 / 3])
    # Key 1: after silence in one of one; after sounding in one of three.
    assert probability[:, 1] == pytest.approx([1.5 / 2, 1.5 / 4])
    assert probability[0, 2] == pytest.approx(0.5 / 5)
    assert probability[1, 2] == 0.5  # never seen


def test_scores_by_hand():
    scores = score_baseline(fit_baseline("key_markov", TRAIN), rolls([[0], [1]], [[5]]))
    # One step is predicted: key 0 after itself is silent, key 1 after silence sounds, 86 others stay silent.
    expected = -math.log(1.5 / 3) - math.log(1.5 / 2) - 86 * math.log(4.5 / 5)
    assert scores["nll"] == pytest.approx(expected, rel=1e-6)
    # 1 is predicted and sounds; key 0 has a half, which is not above it.
    assert scores["frame_accuracy"] == pytest.approx(100.0)


def test_another_floor_is_refused():
    with pytest.raises(ValueError, match="unknown baseline 'majority'; known: key_frequency, key_markov"):
        fit_baseline("majority", TRAIN)


def test_a_run_leaves_its_scores(tmp_path: Path) -> None:
    found = {}
    for name in BASELINES:
        places = {"results_dir": str(tmp_path), "output_dir": str(tmp_path / "runs")}
        run = BaselineRun(
            POLYPHONIC_MUSIC,
            BaselineRun.build_experiment(
                build_paper_experiment().copy_with(recipe="floors", commit="x", **places), name
            ),
        )
        result = execute(run)
        assert read_result(run.results_file) == result
        found[name] = result
    assert found["key_markov"].metrics["test/nll"] < found["key_frequency"].metrics["test/nll"] - 1
    assert [one.parameters["total"] for one in found.values()] == [88, 176]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "frequency", "markov"),
    [
        ("jsb_chorales", 11.091, 10.491),
        ("nottingham", 10.261, 5.153),
        ("muse_data", 11.515, 8.559),
        ("piano_midi", 11.052, 8.265),
    ],
)
def test_floors_of_the_four_sets_are_those_of_their_readme(name: str, frequency: float, markov: float) -> None:
    data = PolyphonicMusicDataModule(**MUSIC_DATASETS[name])
    data.setup()
    for floor, expected in zip(BASELINES, (frequency, markov), strict=True):
        scores = score_baseline(fit_baseline(floor, data.pieces("train")), data.pieces("test"))
        assert scores["nll"] == pytest.approx(expected, abs=6e-4)
