"""`ctxzoo train` where no extra is installed: every problem trains, and what is left out is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes.test_without_extras import EXTRAS, NO_PLOTS
from tests.support.missing_packages import hide_packages
from tests.support.own_data import write_reviews
from tests.support.subprocesses import REPOSITORY_ROOT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "data", "said"),
    [
        ("text-classification", "reviews.csv", NO_PLOTS),
        (
            "word-embeddings",
            "sample",
            "numba is not installed: torch trains, which is slower on a CPU; pip install numba",
        ),
    ],
)
def test_it_trains_and_says_what_is_left_out(problem: str, data: str, said: str, tmp_path: Path) -> None:
    write_reviews(tmp_path / "reviews.csv", 60)
    hidden = hide_packages(EXTRAS, tmp_path / "hidden", path=str(REPOSITORY_ROOT))
    settings = {"OMP_NUM_THREADS": "1", "CTXZOO_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "ctxzoo.cli", "train", problem, "--data", data, "--tiny"],
        cwd=tmp_path,
        env={**os.environ, **settings, **hidden},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert said in run.stdout
    assert len(list((tmp_path / "runs").rglob("model.safetensors"))) == 1
