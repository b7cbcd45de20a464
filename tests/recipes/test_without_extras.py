"""Recipes where no extra is installed: they train, and say once what is left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxzoo.results.result import read_results
from tests.support.missing_packages import hide_packages
from tests.support.recipe_here import recipe_here
from tests.support.subprocesses import REPOSITORY_ROOT

EXTRAS = ("accelerate", "gensim", "matplotlib", "numba", "optuna", "tensorboard", "tensorboardX", "wandb")
TINY = ("--dataset", "sample", "--tiny", "--progress", "false", "--results_dir", "results")
NO_BOARD = "without TensorBoard logs: pip install tensorboard"
NO_PLOTS = "without pictures: plots need matplotlib: pip install matplotlib"


def recipe(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    hidden = hide_packages(EXTRAS, folder / "hidden", path=str(REPOSITORY_ROOT))
    settings = {"OMP_NUM_THREADS": "1", "CTXZOO_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, str(REPOSITORY_ROOT / "recipes" / f"{name}.py"), *arguments],
        cwd=folder,
        env={**os.environ, **settings, **hidden},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.slow
def test_a_reader_is_trained_and_its_checkpoint_is_there(tmp_path: Path) -> None:
    run = recipe(tmp_path, "squad_bidaf", *TINY, "--precision", "32-true", "--seeds", "1", "2")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (run.stdout.count(NO_BOARD), run.stdout.count(NO_PLOTS)) == (1, 1)
    folders = list((tmp_path / "runs" / "squad_bidaf").iterdir())
    assert len(folders) == len(read_results(tmp_path / "results")) == 2
    for folder in folders:
        assert (folder / "checkpoint" / "model.safetensors").is_file()
        assert list(folder.rglob("*.png")) == []


@pytest.mark.slow
def test_folds_are_trained_and_their_figure_is_left_out(tmp_path: Path) -> None:
    options = (*TINY, "--table", "3", "--rows", "ones", "--steps", "1", "--processes", "1")
    run = recipe(tmp_path, "mr_contextualizer", *options)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(NO_PLOTS) == 1
    assert "figure" not in run.stdout
    for log in (tmp_path / "runs").rglob("log.txt"):
        assert (log.read_text().count(NO_BOARD), log.read_text().count(NO_PLOTS)) == (1, 1)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    ("name", "arguments", "extra"),
    [
        ("document_lama", (*TINY, "--model", "lama", "--processes", "1"), "gensim"),
        ("squad_bidaf", (*TINY, "--wandb", "true"), "wandb"),
    ],
)
def test_what_cannot_be_left_out_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: tuple[str, ...], extra: str
) -> None:
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    run = recipe_here(tmp_path, *arguments, name=name)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert f"pip install {extra}" in last
    assert "Traceback" not in run.stderr
