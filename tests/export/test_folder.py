"""`ctxzoo export`: folders that run without ctxzoo and give the answers of `ctxzoo predict`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.export import folder as folders
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import build_word_tokenizer
from tests.support.missing_packages import hide_packages
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoints import WRITERS

WORDS = ["good", "bad", "a", "film", "very", "dull"]
TEXT = "A very good film, unlike THE others"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier with words, pairs of words and characters in a wide part."""
    import torch

    tokenizer = build_word_tokenizer(
        WORDS, pre_tokenizer="english", ngram_buckets=20, ngram_order=2, char_ngrams=(2, 3), char_ngram_buckets=30
    )
    torch.manual_seed(0)
    config = TextBaselineConfig(
        vocab_size=tokenizer.num_ids, word_dim=4, num_labels=3, encoder="mean", wide_buckets=50, wide_char_buckets=30
    )
    model = TextBaselineForSequenceClassification(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    folder = tmp_path_factory.mktemp("tiny") / "checkpoint"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run_example(folder: Path, *words: str, scratch: Path) -> str:
    """The output of the folder's example in a process that finds neither ctxzoo nor transformers."""
    hidden = hide_packages(["ctxzoo", "transformers"], scratch / "hidden")
    command = [sys.executable, str(folder / "example.py"), *words]
    found = subprocess.run(
        command, env={**os.environ, **hidden}, cwd=scratch, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def predict(capsys: pytest.CaptureFixture[str], checkpoint: Path, *words: str) -> str:
    """The output of `ctxzoo predict`."""
    capsys.readouterr()
    assert main(["predict", str(checkpoint), "--device", "cpu", *words]) == 0
    return capsys.readouterr().out


def assert_same(found: Any, expected: Any) -> None:
    """The same JSON but for the last digits of numbers."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name, value in expected.items():
            assert_same(found[name], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("kind", ["torch", pytest.param("onnx", marks=pytest.mark.slow)])
def test_the_example_answers_as_predict_does(
    kind: str, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(checkpoint), "--output", str(out), "--format", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("program and model agree: largest difference")
    assert lines[1].startswith(f"{out}: ")
    expected = json.loads(predict(capsys, checkpoint, "--text", TEXT))
    assert_same(json.loads(run_example(out, TEXT, scratch=tmp_path)), expected)
    readme = (out / "README.md").read_text()
    assert "| `input_ids` | int64 | (batch, length) |" in readme
    # 7 words with padding; behind their ids 20 of pairs, then 30 of characters.
    assert "joined by one blank, is 7 + h" in readme
    assert "Their id is 27 + h" in readme
    assert "modulo 30." in readme


def test_a_folder_that_holds_something_is_left_alone(checkpoint: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["export", str(checkpoint), "--output", str(tmp_path), "--format", "torch"]) == 2
    assert "is there and not an empty folder" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_int8_belongs_to_onnx(checkpoint: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["export", str(checkpoint), "--output", str(tmp_path / "out"), "--format", "torch", "--int8"]
    assert main(words) == 2
    assert "--int8 belongs to --format onnx" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a guard\nand more")])
def test_nothing_is_left_of_an_export_that_stops(
    error: BaseException, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(folders, "compare", stop)
    words = ["export", str(checkpoint), "--output", str(tmp_path / "out"), "--format", "torch"]
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            main(words)
    else:
        assert main(words) == 2
        assert "does not run at other shapes (a guard)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named_before_anything_is_computed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out")]) == 2
    assert "pip install onnx onnxruntime onnxscript" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_int8_is_smaller_and_says_what_changes(checkpoint: Path, tmp_path: Path, capsys: Any) -> None:
    sizes = []
    for more in ([], ["--int8"]):
        out = tmp_path / f"out{len(more)}"
        assert (
            main(["export", str(REPOSITORY_ROOT / "model_cards/contextualizer-mr"), "--output", str(out), *more]) == 0
        )
        sizes.append((out / "model.onnx").stat().st_size)
        assert sorted(one.name for one in out.glob("*.onnx")) == ["model.onnx"]
    assert sizes[1] < 0.5 * sizes[0]
    assert "predictions for random inputs are equal" in capsys.readouterr().out


NOTES = "[[39, 43, 46], [41]]"
# Words of the example, and what the opened pipeline is called with; readers and taggers have tests of their own.
EXAMPLES: dict[str, tuple[list[str], Any, dict[str, Any]]] = {
    "text-classification": (["the lamp is solid"], "the lamp is solid", {}),
    "session-recommendation": (["tea", "10"], ["tea", "10"], {}),
    "next-event": (["water@3", "trim@5.5"], {"events": ["water", "trim"], "timestamps": [3, 5.5]}, {}),
    "regression": (["1.5", "-2"], [1.5, -2.0], {}),
    "vote-prediction": (["the old old bridge"], "the old old bridge", {}),
    "polyphonic-music": ([NOTES, "4", "0.45"], json.loads(NOTES), {"steps": 4, "threshold": 0.45}),
    "fill-mask": (["the [MASK] cat"], "the [MASK] cat", {}),
}


def select_answer(problem: str, answer: Any) -> Any:
    """What the example prints of an answer of the pipeline."""
    answer = answer[0] if problem == "text-classification" else answer
    keys = {"session-recommendation": "recommended", "next-event": "next", "polyphonic-music": "continuation"}
    if problem == "fill-mask":
        return [{"word": one["token_str"], "score": one["score"]} for one in answer]
    if problem == "vote-prediction":
        return {"yea": answer["yea"]}
    return answer[keys[problem]] if problem in keys else answer


@pytest.mark.slow
@pytest.mark.parametrize("problem", EXAMPLES)
def test_the_example_of_each_problem_answers_as_its_pipeline(problem: str, tmp_path: Path) -> None:
    checkpoint = WRITERS[problem](tmp_path / "checkpoint")
    words, called, options = EXAMPLES[problem]
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out"), "--format", "torch"]) == 0
    expected = select_answer(problem, ctxzoo.pipeline(checkpoint, **options)(called))
    assert_same(json.loads(run_example(tmp_path / "out", *words, scratch=tmp_path)), expected)


@pytest.mark.slow
def test_the_reader_answers_the_same(tmp_path: Path) -> None:
    checkpoint, question, context = (
        REPOSITORY_ROOT / "model_cards/bidaf-squad",
        "Who wrote it?",
        "Ada wrote it in Rome.",
    )
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out")]) == 0
    expected = ctxzoo.pipeline(checkpoint)(question=question, context=context)
    found = json.loads(run_example(tmp_path / "out", question, context, scratch=tmp_path))
    assert_same(found, {name: expected[name] for name in ("answer", "score")})


@pytest.mark.slow
def test_the_language_model_adds_the_likeliest_words(tmp_path: Path) -> None:
    from ctxzoo.tasks.language_modelling.continuation import continue_text

    checkpoint = WRITERS["language-modelling"](tmp_path / "checkpoint")
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out"), "--format", "torch"]) == 0
    pipeline = ctxzoo.pipeline(checkpoint)
    added = continue_text(pipeline.model, pipeline.tokenizer, "the old", 5, temperature=None)
    assert run_example(tmp_path / "out", "the old", "5", scratch=tmp_path).strip() == f"the old {added}".strip()


@pytest.mark.slow
def test_the_tagger_prints_the_same_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, text = REPOSITORY_ROOT / "model_cards/tagger-ewt", "They can't fish here, said Ann."
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out")]) == 0
    expected = predict(capsys, checkpoint, "--text", text)
    found = run_example(tmp_path / "out", text, scratch=tmp_path)
    assert [line.split("\t")[:2] for line in found.splitlines()] == [
        line.split("\t")[:2] for line in expected.splitlines()
    ]
