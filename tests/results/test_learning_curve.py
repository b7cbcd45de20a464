"""The log of a training: scores of single epochs, and the right numbers drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from ctxzoo.results.learning_curve import plot_learning_curves, read_losses_by_epoch, read_scores_by_epoch

LOG = """epoch,step,train/loss,validation/nll,validation/f1
0,0,9.5,,
0,9,,8.0,20.0
1,19,7.5,,
1,19,,nan,35.5
1,19,,nan,36.5
"""
METRICS = """epoch,step,train/loss,validation/nll,validation/f1,validation/exact
0,0,9.5,,,
0,9,8.5,,,
0,9,,8.0,20.0,10.0
1,19,7.5,,,
1,19,,7.0,35.5,21.0
2,29,nan,,,
2,29,,7.5,30.0,25.0
"""
SCORES = {"f1": "F1", "exact": "EM"}


def test_scores_of_every_epoch(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text(LOG)
    assert read_scores_by_epoch(log, ("nll", "f1", "exact")) == {
        "validation/epoch1/nll": 8.0,
        "validation/epoch1/f1": 20.0,
        "validation/epoch2/f1": 36.5,
    }
    assert read_scores_by_epoch(log, ("f1",), split="test") == {}


def test_loss_of_every_epoch(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("epoch,step,train/loss,train/epoch_loss\n0,0,9.5,\n0,9,,8.5\n1,19,7.5,\n1,19,,8.0\n2,29,,inf\n")
    assert read_losses_by_epoch(log) == {"train/epoch1/loss": 8.5, "train/epoch2/loss": 8.0}


def test_a_cell_that_is_no_number(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("epoch,step,validation/f1\n0,9,many\n")
    with pytest.raises(ValueError, match="many"):
        read_scores_by_epoch(log, ("f1",))


def write_metrics(folder: Path, text: str = METRICS) -> Path:
    path = folder / "metrics.csv"
    path.write_text(text)
    return path


def lines(figure: Figure, axes: int) -> dict[str, tuple[list[float], list[float]]]:
    named = [line for line in figure.axes[axes].lines if not line.get_label().startswith("_")]
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in named}


def test_learning_curves_draw_the_numbers(tmp_path: Path, drawn: list[Figure]) -> None:
    plot_learning_curves(write_metrics(tmp_path), tmp_path / "new" / "curves.png", SCORES)
    (figure,) = drawn
    assert lines(figure, 0) == {
        "train": ([0.0, 9.0, 19.0], [9.5, 8.5, 7.5]),
        "validation": ([9.0, 19.0, 29.0], [8.0, 7.0, 7.5]),
    }
    assert lines(figure, 1) == {
        "F1, best 35.5": ([9.0, 19.0, 29.0], [20.0, 35.5, 30.0]),
        "EM, best 25.0": ([9.0, 19.0, 29.0], [10.0, 21.0, 25.0]),
    }
    assert imread(tmp_path / "new" / "curves.png").shape[1] == 1500


def test_many_batches_are_smoothed_around_their_mean(tmp_path: Path, drawn: list[Figure]) -> None:
    values = [5.0 + (-1) ** step for step in range(120)]
    text = "step,train/loss\n" + "".join(f"{step},{value}\n" for step, value in enumerate(values))
    plot_learning_curves(write_metrics(tmp_path, text), tmp_path / "curves.png", SCORES)
    steps, losses = lines(drawn[0], 0)["train"]
    np.testing.assert_allclose(losses, 5.0)
    assert (steps[0], steps[-1]) == (1.5, 117.5)


@pytest.mark.parametrize("text", ["", "step,epoch\n1,0\n", "train/loss,epoch\n1.0,0\n", "step,train/loss\n1,\n2,nan\n"])
def test_learning_curves_without_numbers(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"metrics\.csv: no numbers under step"):
        plot_learning_curves(write_metrics(tmp_path, text), tmp_path / "curves.png", SCORES)
    assert not (tmp_path / "curves.png").exists()


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        plot_learning_curves(write_metrics(tmp_path), tmp_path / "curves.png", SCORES)


def test_a_failed_plot_keeps_the_old_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "curves.png"
    plot_learning_curves(write_metrics(tmp_path), out, SCORES)
    before = out.read_bytes()

    def broken(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", broken)
    with pytest.raises(OSError, match="no space left"):
        plot_learning_curves(write_metrics(tmp_path), out, SCORES)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "metrics.csv"]


def test_pyplot_is_left_alone(tmp_path: Path) -> None:
    import matplotlib

    before = (dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules)
    plot_learning_curves(write_metrics(tmp_path), tmp_path / "curves.png", SCORES)
    assert (dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules) == before
