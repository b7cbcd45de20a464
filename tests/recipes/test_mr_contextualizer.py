"""The recipe as a person runs it: in a process of its own, on the generated sample."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, command
from tests.support.recipe_process import recipe as recipe_of
from tests.support.word_vector_files import small_vectors, write_checkpoint


def recipe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return recipe_of(folder, *arguments, name="mr_contextualizer")


def numbers(folder: Path) -> dict[str, dict[str, float]]:
    files = sorted((folder / RESULTS_DIR).rglob("*.json"))
    return {file.name: json.loads(file.read_text())["metrics"] for file in files}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("recipe")
    run = recipe(folder, *TINY, "--table", "3", "--rows", "ones", "random", "--steps", "2", "--processes", "1")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, run.stdout


def test_every_fold_leaves_results_and_a_checkpoint(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    results = read_results(folder / RESULTS_DIR)
    assert {(one.variant, one.fold) for one in results} == {(v, f) for v in ("ones", "recurrent") for f in (0, 1)}
    for one in results:
        assert one.settings["num_steps"] == 2
        assert one.settings["initial_context"] == "ones" if one.variant == "ones" else "random"
        assert 0 <= one.metrics["test/accuracy"] <= 100
        assert one.parameters["trainable"] == 3 * 4 * 8 + 2 * 8 + 2  # rank 4, words of 8 numbers
    runs = sorted(path.name for path in (folder / "runs" / "mr_contextualizer").iterdir() if path.is_dir())
    assert runs == [
        f"{variant}-sample-test-seed0-fold{fold}-k2" for variant in ("ones", "recurrent") for fold in (0, 1)
    ]
    checkpoint = folder / "runs" / "mr_contextualizer" / runs[0] / "checkpoint"
    names = {path.name for path in checkpoint.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md", "modeling_contextualizer.py"} <= names
    for picture in ("learning_curves.png", "token_weights.png"):
        assert (checkpoint.parent / picture).read_bytes().startswith(b"\x89PNG")
    assert "ones, K = 2" in printed
    assert (folder / "runs" / "mr_contextualizer" / "accuracy_by_steps_table3.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_name_tells_other_settings_from_the_papers(tmp_path: Path) -> None:
    """Here alone the folds have a process each, as they have by default."""
    run = recipe(
        tmp_path, *TINY, "--table", "3", "--rows", "ones", "--steps", "1", "--learning_rate", "1e-4", "--name", "slow"
    )
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert {(one.tag, one.settings["learning_rate"]) for one in results} == {("k1-slow", 1e-4)}
    assert (tmp_path / "runs" / "mr_contextualizer" / "accuracy_by_steps_table3-slow.png").is_file()


@pytest.mark.slow
def test_resume_keeps_finished_folds_and_runs_the_missing_one(finished: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = finished
    before = numbers(folder)
    gone = folder / RESULTS_DIR / "mr_contextualizer" / "ones-sample-test-seed0-fold1-k2.json"
    kept = folder / RESULTS_DIR / "mr_contextualizer" / "ones-sample-test-seed0-fold0-k2.json"
    written = kept.stat().st_mtime_ns
    gone.unlink()
    run = recipe(folder, *TINY, "--table", "3", "--rows", "ones", "random", "--steps", "2", "--resume")
    assert run.returncode == 0, run.stdout + run.stderr
    assert kept.stat().st_mtime_ns == written
    assert numbers(folder) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--table", "4"), "table=4: expected one of 2, 3"),
        (("--table", "2", "--rows", "ones"), "table 2 has no row 'ones', only recurrent, regular"),
        (("--folds", "1"), "folds=1: expected 2 or more"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    run = recipe_here(tmp_path, "--dataset", "sample", *arguments, name="mr_contextualizer")
    assert run.returncode != 0
    assert message in run.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_fold_and_resume_give_the_same_table(tmp_path: Path) -> None:
    """The third of four folds is killed; what is left goes on, and every number is that of a run in one piece."""
    arguments = (*TINY[:2], *TINY[3:], "--folds", "4", "--epochs", "3", "--processes", "1")
    arguments += ("--table", "3", "--rows", "ones", "--steps", "3")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    run = recipe(whole, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr

    watched = command(broken, *arguments, name="mr_contextualizer")
    process = subprocess.Popen(**watched, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # type: ignore[call-overload]
    log = broken / "runs" / "mr_contextualizer" / "ones-sample-test-seed0-fold2-k3" / "logs" / "csv" / "metrics.csv"
    deadline = time.monotonic() + 300
    while not (log.exists() and "\n" in log.read_text()) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(numbers(broken)) == 2
    run = recipe(broken, *arguments, "--resume")
    assert run.returncode == 0, run.stdout + run.stderr
    assert numbers(broken) == numbers(whole)


@pytest.mark.slow
def test_given_vectors_stay_as_they_are_and_are_saved(tmp_path: Path) -> None:
    words = ["the", "film", "a", "good"]
    write_checkpoint(tmp_path / "attention_cbow-b20", small_vectors(words, dim=7))
    options = ("--table", "3", "--rows", "ones", "--steps", "1", "--vectors", "attention_cbow-b20", "--name", "vectors")
    run = recipe(tmp_path, *TINY, *options, "--processes", "1")
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert all(one.settings["word_vectors"] == "attention_cbow-b20" for one in results)
    folder = tmp_path / "runs" / "mr_contextualizer" / "ones-sample-test-seed0-fold0-k1-vectors" / "checkpoint"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    (table,) = (value for name, value in tensors.items() if name.endswith("words.weight"))
    known = [word for word in words if word in tokenizer.get_vocab()]
    assert known
    rows = [small_vectors(words, dim=7).index[word] for word in known]
    assert torch.equal(table[tokenizer.convert_tokens_to_ids(known)], small_vectors(words, dim=7).vectors[rows])
