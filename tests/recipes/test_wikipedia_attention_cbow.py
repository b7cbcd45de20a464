"""The recipe of word vectors, in this process: compiling what trains each architecture takes most of the time."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import datasets
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

from ctxzoo.results.result import RESULTS_DIR, read_results
from ctxzoo.runs.recipe import run_study
from ctxzoo.tasks.word_embeddings.sample import sample_corpus
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS
from ctxzoo.word_vectors.vectors import read_word_vectors
from recipes.wikipedia_attention_cbow import STUDY
from tests.support.recipe_process import recipe
from tests.support.subprocesses import REPOSITORY_ROOT, run_python

NAME = "wikipedia_attention_cbow"
SAMPLE = ("--dataset", "sample", "--tiny", "--progress", "false")
TEXT = "the cat sat on the mat\nthe dog sat on the cat\n"


def run(folder: Path, *arguments: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CTXZOO_CACHE", str(folder / "cache"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr(sys, "argv", [f"recipes/{NAME}.py", *arguments])
        run_study(STUDY, None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    run(folder, *SAMPLE, "--threads", "2")
    return folder


def checkpoint_of(folder: Path, name: str) -> Path:
    return folder / "runs" / NAME / name / "checkpoint"


def test_the_sample_leaves_results_and_a_checkpoint(finished: Path) -> None:
    (result,) = read_results(finished / RESULTS_DIR)
    assert (result.variant, result.dataset, result.seed, result.tag) == ("attention_cbow", "sample", 0, "b2")
    told = {name: result.settings[name] for name in ("learning_rate", "schedule", "word_dim", "threads", "min_count")}
    assert told == {"learning_rate": 0.05, "schedule": "constant", "word_dim": 8, "threads": 2, "min_count": 2}
    assert result.metrics["words"] == 70
    assert result.metrics["words_read"] == 39455
    assert 0 < result.metrics["train/epoch1/loss"] < 11 * 0.694  # 11 log 2 at the start
    checkpoint = checkpoint_of(finished, "attention_cbow-sample-train-seed0-b2")
    assert (checkpoint / "README.md").is_file()


def test_the_checkpoint_is_opened_by_the_auto_classes(finished: Path) -> None:
    checkpoint = checkpoint_of(finished, "attention_cbow-sample-train-seed0-b2")
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(checkpoint), AutoTokenizer.from_pretrained(checkpoint)
    assert model.config.architecture == "attention_cbow"
    assert model.word_embedding.position_logits.abs().min() > 0  # trained
    found = pipeline("fill-mask", model=model, tokenizer=tokenizer, top_k=3)("the old cat [MASK] eats hay .")
    assert len(found) == 3
    assert not {one["token_str"] for one in found} & {"[MASK]", "[PAD]"}

    vectors = read_word_vectors(checkpoint)
    assert len(vectors) == 70
    assert vectors.dim == 8
    row = vectors.words.index("cat")
    token = tokenizer.convert_tokens_to_ids("cat")
    assert torch.equal(vectors.vectors[row], model.get_input_embeddings().weight[token])


def test_the_settings_of_a_run_start_it_again(tmp_path: Path) -> None:
    options = ("--architecture", "cbow", "--window", "3", "--seeds", "4", "--name", "mine", "--learning_rate", "0.02")
    run(tmp_path, *SAMPLE, *options)
    name = "cbow-sample-train-seed4-b3-mine"
    first = tmp_path / "runs" / NAME / name
    run(tmp_path, str(first / "experiment.yaml"), "--output_dir", "again", "--results_dir", "again")
    (second,) = (tmp_path / "again").rglob("model.safetensors")
    assert second.parents[1].name == name
    assert second.read_bytes() == (first / "checkpoint" / "model.safetensors").read_bytes()


def test_resume_keeps_a_finished_run(finished: Path) -> None:
    (file,) = (finished / RESULTS_DIR).rglob("*.json")
    before = file.stat().st_mtime_ns
    run(finished, *SAMPLE, "--threads", "2", "--resume")
    assert file.stat().st_mtime_ns == before


def test_a_text_file_has_no_split_to_be_scored(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 3, encoding="utf-8")
    options = ("--dataset", "text.txt", "--min_count", "3", "--tiny", "--progress", "false")
    with pytest.raises(SystemExit, match=r"error: text\.txt is one text without splits, and test_split is 'test'"):
        run(tmp_path, *options)
    run(tmp_path, *options, "--test_split", "", "--name", "cats")
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert (result.dataset, result.split, result.tag) == ("text.txt", "train", "b2-cats")
    assert result.metrics["words"] == 6
    assert not [name for name in result.metrics if "perplexity" in name]


def write_dataset(folder: Path) -> None:
    for split in ("train", "test"):
        datasets.Dataset.from_dict({"body": [TEXT] * 3}).to_parquet(folder / "texts" / f"{split}.parquet")


def test_perplexity_of_a_split(tmp_path: Path) -> None:
    write_dataset(tmp_path)
    run(tmp_path, "--dataset", "texts", "--column", "body", "--min_count", "3", "--tiny", "--progress", "false")
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert (result.split, result.settings["test_words"], result.settings["text_column"]) == ("test", 200, ["body"])
    assert 1 < result.metrics["test/perplexity"] < 6.1  # six words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--architecture", "cbow", "glove"), "architecture='glove': expected one of attention_cbow, cbow"),
        (("--threads", "0"), "threads=0: expected 1 or more"),
        (("--learning_rate", "-1"), "learning_rate=-1.0: expected more than 0"),
        (("--schedule", "cosine"), "schedule='cosine': expected one of constant, linear"),
        (("--test_split", "dev"), "texts has no split 'dev'; it has"),
        (("--column", "title"), "texts has no column 'title'; it has body"),
        (("--dataset", "nowhere"), "Dataset 'nowhere' is not available"),
        (("--learning_rate", "1e30"), "the loss is nan after 36 words, with the learning rate 1e+30; lower it"),
        (("--min_count", "100"), "no word of the corpus 'texts' occurs 100 times"),
        (("--architecture", "cbow", "--patience", "3"), "patience=3: word vectors are trained without it; leave it"),
        (("--batch_size", "8"), "batch_size=8: the compiled loops go word by word on the CPU"),
    ],
)
def test_wrong_options_are_told_in_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    write_dataset(tmp_path)
    given = ("--dataset", "texts", "--column", "body", "--min_count", "3", "--tiny", "--progress", "false")
    with pytest.raises(SystemExit, match=rf"^error: {re.escape(message)}[^\n]*$"):
        run(tmp_path, *given, *options)
    assert not list((tmp_path / RESULTS_DIR).rglob("*.json"))


@pytest.mark.parametrize(
    "options",
    [("--threads", "0"), ("--backend", "torch", "--batch_size", "0"), ("--backend", "torch", "--precision", "8")],
)
def test_what_is_wrong_in_itself_is_told_before_the_text_is_prepared(tmp_path: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match=r"^error: \w+=.*expected"):
        run(tmp_path, *SAMPLE, *options)
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_every_architecture_trains_and_is_told_apart(tmp_path: Path) -> None:
    finished = recipe(tmp_path, *SAMPLE, "--architecture", *CUSTOMS, name=NAME)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert set(results) == set(CUSTOMS)
    assert all(one.settings["learning_rate"] == CUSTOMS[name].learning_rate for name, one in results.items())
    for name in CUSTOMS:
        assert name in finished.stdout
        config = json.loads((checkpoint_of(tmp_path, f"{name}-sample-train-seed0-b2") / "config.json").read_text())
        assert config.get("architecture", "attention_cbow") == name
        vectors = read_word_vectors(checkpoint_of(tmp_path, f"{name}-sample-train-seed0-b2"))
        assert len(vectors) == 70
        assert bool(vectors.vectors.isfinite().all())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_text_larger_than_the_memory_allowed_is_no_trouble(tmp_path: Path) -> None:
    """30 MB: as words in memory they would take more than 300 MB, beside some 270 for training."""
    lines = list(sample_corpus(0))
    with (tmp_path / "text.txt").open("w", encoding="utf-8") as file:
        for block in range(3 * 10**7 // sum(len(line) + 8 for line in lines) + 1):
            numbers = range(block * len(lines), (block + 1) * len(lines))
            file.writelines(f"{line} w{number % (3 * 10**4):05}\n" for line, number in zip(lines, numbers, strict=True))
    assert (tmp_path / "text.txt").stat().st_size > 3 * 10**7
    program = """
        import re
        from recipes.wikipedia_attention_cbow import STUDY

        def peak():
            return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])

        libraries = peak()  # they differ by machine
        options = "--pre_tokenizer whitespace --no_fold_digits --word_dim 16 --window 2 --epochs 1 --no_progress"
        STUDY.run(["--dataset", "text.txt", "--test_split", "", *options.split()])
        print("beside the libraries", peak() - libraries)
        """
    settings = {"PYTHONPATH": str(REPOSITORY_ROOT), "CTXZOO_CACHE": str(tmp_path / "cache")}
    done = run_python(program, env={**os.environ, **settings}, cwd=tmp_path, timeout=580)
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert result.metrics["words"] > 3 * 10**4
    assert result.metrics["words_read"] > 5.25 * 10**6
    assert int(done.stdout.split()[-1]) * 1024 < 4 * 10**8, done.stdout[-100:]
