"""`--score validation` reaches the runs of every recipe that trains many, and their printed table."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.runs import many as folds
from tests.support.recipe_process import TINY, recipe
from tests.support.tiny_bert import save_tiny_bert

SAMPLE: dict[str, dict[str, Any]] = {
    "badges_lste": {"dataset": ["sample"]},
    "citeulike_hcrnn": {"dataset": ["sample"], "models": ["hcrnn1"]},
    "document_bert": {"dataset": ["sample"]},
    "document_context_encoder": {"dataset": ["sample"], "attentions": ["dot"]},
    "document_lama": {"dataset": ["sample"], "models": ["lama", "cnn"]},
    "document_linear": {"dataset": ["imdb"], "models": ["words_svm"]},
    "mr_contextualizer": {"rows": ["regular"]},
    "pos_bilstm_tagger": {"dataset": ["sample"]},
    "regression_ika": {"dataset": ["sample"], "splits": ["own"]},
    "roll_call_nipen": {"dataset": ["sample"], "models": ["ideal_point"]},
    "sentence_beta_lstm": {"datasets": ["sample"], "cells": ["lstm", "bibeta5"]},
    "sentence_context_encoder": {"datasets": ["sample"], "attentions": ["dot"]},
    "sentence_contextualizer": {"datasets": ["sample"]},
    "sentence_linear": {"datasets": ["sample"]},
    "sentence_text_baseline": {"datasets": ["sample"], "models": ["mean"]},
    "session_baselines": {"dataset": ["sample"], "models": ["narm"]},
}


class BeginError(Exception):
    """In place of the first run."""


@pytest.fixture
def runs_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Sequence[Any]]:
    """The runs that a recipe would do."""
    jobs: list[Any] = []

    def begin(work: Any, asked: Sequence[Any], *rest: Any) -> Any:
        jobs.extend(asked)
        raise BeginError

    monkeypatch.setattr(folds, "run_in_processes", begin)

    def ask(name: str, **settings: Any) -> Sequence[Any]:
        encoder = {"encoder": str(save_tiny_bert(tmp_path / "bert"))} if name == "document_bert" else {}
        module = importlib.import_module(f"recipes.{name}")
        study = getattr(module, "STUDY", None)
        lists = {**SAMPLE[name], **encoder} if study else {}
        asked = (
            study.base.copy_with(**settings) if study else module.Settings(**SAMPLE[name], **settings, progress=False)
        )
        with pytest.raises(BeginError):
            module.main(asked, **lists)
        return jobs

    return ask


@pytest.mark.parametrize("name", SAMPLE)
def test_the_split_reaches_every_run(name: str, runs_of: Callable[..., Sequence[Any]]) -> None:
    runs = runs_of(name, score="validation")
    assert {run.split for run in runs} == {"validation"}
    assert all("-validation-seed0" in run.results_file.name for run in runs)


def test_linear_baselines_of_documents_hold_out_what_the_neural_models_hold_out(
    runs_of: Callable[..., Sequence[Any]],
) -> None:
    (run,) = runs_of("document_linear", score="validation")
    assert (run.experiment.data.dev_share, run.trained_on) == (0.04, ("train",))


@pytest.mark.slow
def test_validation_is_printed_and_test_is_not(tmp_path: Path) -> None:
    """The whole way, of a recipe that also draws a picture of the scores."""
    options = ("--table", "3", "--rows", "ones", "--steps", "1", "--processes", "1", "--score", "validation")
    run = recipe(tmp_path, *TINY, *options, "--results_dir", "kept/trials", name="mr_contextualizer")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "validation accuracy over 2 folds" in " ".join(run.stdout.split())
    assert "test" not in run.stdout
    files = sorted(path.name for path in (tmp_path / "kept" / "trials" / "mr_contextualizer").iterdir())
    assert files == [f"ones-sample-validation-seed0-fold{fold}-k1.json" for fold in (0, 1)]
    assert not [path for path in (tmp_path / "kept").rglob("*.json") if '"test/' in path.read_text()]
