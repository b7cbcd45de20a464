"""An architecture by docs/adding_an_architecture.md goes the whole way: trained, saved, loaded, scored, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.results.result import RunResult, read_result
from ctxzoo.runs.train import SETTINGS_FILE
from ctxzoo.tasks.text_classification.experiments import MODELS
from tests.support.doors import offline
from tests.support.toy.package import FILES, toy_in_the_package
from tests.support.warm_python import run_warm

TEXTS = ["the lamp is solid", "a weak unknown hinge"]
ROWS = [(f"the {thing} is {word}", label) for thing in ("lamp", "hinge", "door", "desk", "shelf", "handle", "case")
        for label, words in {"good": ("solid", "fine", "neat"), "bad": ("weak", "loose", "dull")}.items()
        for word in words]  # fmt: skip
TRAIN = ["train", "text-classification", "--architecture", "toy", "--data", "mine.csv", "--tiny", "--linear", "no"]
PROGRAM = """
import sys
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained({folder!r}, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained({folder!r}, trust_remote_code=True)
with torch.no_grad():
    print(model(**tokenizer({texts!r}, return_tensors="pt", padding=True)).logits.tolist())
print("ctxzoo" in sys.modules, type(model).__module__.rpartition(".")[2])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a training by the command line, with the toy in all the places that the guide names."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "models").mkdir()
    (folder / "mine.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    with pytest.MonkeyPatch.context() as here, toy_in_the_package(folder / "models"):
        here.setitem(MODELS, "toy", {"word_dim": 50, "dropout": 0.3})  # type: ignore[arg-type]
        here.chdir(folder)
        assert main([*TRAIN, "--seed", "3"]) == 0
        yield folder


@pytest.fixture
def checkpoint(folder: Path) -> str:
    (found,) = folder.glob("runs/train_text_classification/*/checkpoint")
    return str(found)


@pytest.fixture
def result(folder: Path) -> RunResult:
    (file,) = (folder / "runs" / "results").rglob("*-seed3-*.json")
    return read_result(file)


def logits(checkpoint: str) -> torch.Tensor:
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    assert type(model).__module__ == "ctxzoo.models.modeling_toy"
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        found: torch.Tensor = model(**tokenizer(TEXTS, return_tensors="pt", padding=True)).logits
    return found


def test_it_is_trained_with_its_default_settings_in_a_tiny_form(result: RunResult, checkpoint: str) -> None:
    assert (result.architecture, result.variant) == ("toy", "base")
    config = json.loads((Path(checkpoint) / "config.json").read_text())
    assert (config["word_dim"], config["gate_size"], config["dropout"]) == (8, 8, 0.3)
    assert (config["id2label"], config["model_type"]) == ({"0": "bad", "1": "good"}, "ctxzoo_toy")


def test_one_of_its_variants_is_trained_with_the_fields_of_the_configuration(folder: Path) -> None:
    assert main([*TRAIN, "--variant", "narrow", "--output_dir", "narrow"]) == 0
    (file,) = (folder / "narrow").rglob("checkpoint/config.json")
    assert json.loads(file.read_text())["gate_size"] == 2


def test_the_commands_know_it(
    folder: Path, checkpoint: str, result: RunResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == 0
    assert any(line.split()[:1] == ["toy"] for line in capsys.readouterr().out.splitlines())
    for asked in ("toy", checkpoint):
        assert main(["info", asked]) == 0
        said = capsys.readouterr().out
        assert "gate_size" in said
        assert "ToyForSequenceClassification" in said
    assert main(["predict", checkpoint, "--text", TEXTS[0]]) == 0
    (expected,) = ctxzoo.pipeline(checkpoint)(TEXTS[:1])
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"label": expected["label"], "score": pytest.approx(expected["score"], rel=1e-5)}
    assert answer["score"] == pytest.approx(float(logits(checkpoint).softmax(dim=1)[0].max()), rel=1e-5)
    rows, scores = str(next((folder / "runs").rglob("test.parquet"))), folder / "scores.json"
    assert main(["evaluate", checkpoint, "--dataset", rows, "--split", "train", "--output", str(scores)]) == 0
    found = json.loads(scores.read_text())["metrics"]
    assert {f"test/{name}": value for name, value in found.items()} == pytest.approx(
        {f"test/{name}": result.metrics[f"test/{name}"] for name in found}, rel=1e-5
    )
    assert main(["verify", checkpoint]) == 0


def test_which_words_decided_adds_up(checkpoint: str) -> None:
    (explanation,) = ctxzoo.explain(checkpoint, TEXTS[0])
    assert explanation.words == TEXTS[0].split()


def test_its_settings_file_trains_it_again_bit_for_bit(folder: Path, checkpoint: str) -> None:
    (file,) = (folder / "runs").rglob(SETTINGS_FILE)
    assert main(["train", "text-classification", "--config", str(file), "--output_dir", "again"]) == 0
    (again,) = (folder / "again").rglob("model.safetensors")
    assert again.read_bytes() == (Path(checkpoint) / "model.safetensors").read_bytes()


def test_it_loads_with_its_code_where_ctxzoo_is_absent(folder: Path, checkpoint: str) -> None:
    names = check_checkpoint_folder(checkpoint)
    for name in FILES:
        assert name in names
        assert (Path(checkpoint) / name).read_bytes() == (folder / "models" / name).read_bytes()
    program = PROGRAM.format(folder=checkpoint, texts=TEXTS)
    finished = run_warm(program, env=offline(), without_ctxzoo=True)
    printed, where = finished.stdout.splitlines()[-2:]
    assert where == "False modeling_toy"
    torch.testing.assert_close(torch.tensor(json.loads(printed)), logits(checkpoint), rtol=0, atol=0)
