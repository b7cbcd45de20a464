"""The picture of the errors of regression, from results files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ctxzoo.results.result import write_result_file
from reports.regression_figures import SETS, Settings, draw_errors
from tests.support.result_tables import make_run


def write(folder: Path, tag: str, variant: str, fold: int, rmse: float, split: str = "test") -> None:
    run = replace(make_run(variant, 0), recipe="regression_ika", tag=tag, fold=fold, split=split)
    write_result_file(replace(run, metrics={"test/rmse": rmse}), folder / f"{tag}-{variant}-{fold}-{split}.json")


def test_errors_are_percent_of_the_mean_of_the_training_rows(tmp_path: Path, drawn: list[Figure]) -> None:
    for tag in SETS:
        write(tmp_path, tag, "mean", 0, 40.0)
    for fold, rmse in enumerate((8.0, 12.0)):
        write(tmp_path, "concrete", "ika", fold, rmse)
    write(tmp_path, "co2", "gp_rbf", 0, 30.0)
    write(tmp_path, "co2-best_test", "gp_rbf", 0, 1.0)  # another protocol
    write(tmp_path, "co2", "gp_rbf", 1, 1.0, split="validation")
    rows = draw_errors(Settings(results=str(tmp_path)), tmp_path)[1:]
    assert rows == [["co2", "gp_rbf", 1, 30.0, 75.0, 0.0], ["concrete", "ika", 2, 10.0, 25.0, 7.07]]
    axes = drawn[0].axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    points = {container.get_label(): container.lines[0].get_xydata().tolist() for container in axes.containers}
    assert points["airline"] == []
    for dataset, label, percent in (
        ("co2", "Gaussian process, RBF", 75.0),
        ("concrete", "attention: ika", 25.0),
    ):
        [(x, y)] = points[dataset]
        assert (x, labels[round(y)]) == (percent, label)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no mean of airline"):
        draw_errors(Settings(results=str(tmp_path)), tmp_path)
    for tag in SETS:
        write(tmp_path, tag, "mean", 0, 40.0)
    with pytest.raises(ValueError, match="beside the mean"):
        draw_errors(Settings(results=str(tmp_path)), tmp_path)
    with pytest.raises(ValueError, match="unknown 'points'; known: errors"):
        Settings(only=("points",))
