"""The recipe of word vectors with PyTorch in place of Numba."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from transformers import AutoModelForMaskedLM

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.recipes.test_wikipedia_attention_cbow import NAME, SAMPLE, checkpoint_of, run
from tests.support.recipe_process import command, recipe

TORCH = ("--backend", "torch", "--accelerator", "cpu")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    run(folder, *SAMPLE, *TORCH)
    return folder


def test_the_same_files_as_of_numba(finished: Path) -> None:
    (result,) = read_results(finished / RESULTS_DIR)
    assert (result.variant, result.dataset, result.seed, result.tag) == ("attention_cbow", "sample", 0, "b2")
    names = ("backend", "batch_size", "world_size", "precision", "learning_rate", "word_dim", "threads")
    assert {name: result.settings.get(name) for name in names} == {
        "backend": "torch",
        "batch_size": 1024,
        "world_size": 1,
        "precision": "32-true",
        "learning_rate": 0.05,
        "word_dim": 8,
        "threads": None,
    }
    assert result.metrics["words_read"] == 39455
    assert 0 < result.metrics["train/epoch1/loss"] < 11 * 0.694  # 11 log 2 at the start
    assert result.metrics["words_per_second"] > 0
    checkpoint = checkpoint_of(finished, "attention_cbow-sample-train-seed0-b2")
    model = AutoModelForMaskedLM.from_pretrained(checkpoint)
    assert model.word_embedding.position_logits.abs().min() > 0  # trained
    assert (checkpoint / "README.md").is_file()


def test_resume_keeps_a_finished_run_and_another_trainer_runs_anew(finished: Path) -> None:
    (file,) = (finished / RESULTS_DIR).rglob("*.json")
    before = file.stat().st_mtime_ns
    run(finished, *SAMPLE, *TORCH, "--resume")
    assert file.stat().st_mtime_ns == before
    with pytest.raises(SystemExit, match="the checkpoint is of a training with batch_size=1024, not 512"):
        run(finished, *SAMPLE, *TORCH, "--batch_size", "512", "--resume")
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backend", "jax"), "backend='jax': expected one of numba, torch, auto"),
        ((*TORCH, "--batch_size", "0"), "batch_size=0: expected 1 or more"),
        ((*TORCH, "--precision", "16-mixed"), "precision='16-mixed': expected 32-true or bf16-mixed"),
        ((*TORCH, "--shared_noise"), "shared_noise=True saves nothing in batches"),
    ],
)
def test_wrong_options_are_told_in_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    with pytest.raises(SystemExit, match=rf"^error: {re.escape(message)}[^\n]*$"):
        run(tmp_path, *SAMPLE, *options)
    assert not list((tmp_path / RESULTS_DIR).rglob("*.json"))


@pytest.mark.slow
def test_ctrl_c_and_resume(tmp_path: Path) -> None:
    options = (
        "--dataset",
        "sample",
        "--progress",
        "false",
        *TORCH,
        "--window",
        "3",
        "--epochs",
        "4",
        "--batch_size",
        "64",
    )
    process = subprocess.Popen(  # type: ignore[call-overload]
        **command(tmp_path, *options, name=NAME), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    last = tmp_path / "runs" / NAME / "attention_cbow-sample-train-seed0-b3" / "lightning" / "last.ckpt"
    until = time.time() + 120
    while not last.exists() and time.time() < until:  # the first pass is over
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert "stopped; --resume keeps what is finished" in out
    assert not list((tmp_path / RESULTS_DIR).rglob("*.json"))

    again = recipe(tmp_path, *options, "--resume", name=NAME)
    assert again.returncode == 0, again.stdout + again.stderr
    run(tmp_path, *options, "--name", "whole")
    resumed, whole = sorted(read_results(tmp_path / RESULTS_DIR), key=lambda one: one.tag)
    losses = {name: value for name, value in whole.metrics.items() if name.endswith("/loss")}
    assert len(losses) == 4
    assert {name: resumed.metrics[name] for name in losses} == losses


@pytest.mark.slow
def test_two_processes_write_one_result_for_each_seed(tmp_path: Path) -> None:
    environment = {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setitem(os.environ, name, value)
        finished = recipe(tmp_path, *SAMPLE, *TORCH, "--devices", "2", "--seeds", "0", "1", name=NAME)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.seed, one.settings["world_size"]) for one in results] == [(0, 2), (1, 2)]
    for seed in range(2):
        assert (checkpoint_of(tmp_path, f"attention_cbow-sample-train-seed{seed}-b2") / "model.safetensors").is_file()
