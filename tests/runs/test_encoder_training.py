"""Trainings whose words an encoder reads: what the run leaves, and all that reads it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from safetensors.torch import load_file
from torch.utils.data import DataLoader
from transformers import AutoTokenizer

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.data.word_encoder import load_encoder_weights, read_word_encoder
from ctxzoo.hub.push import push_folder
from ctxzoo.models.tokenization_base import ENCODER_TOKENIZER
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.text_classification.experiments import TextStart
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.callbacks import ExponentialMovingAverage, ResumeCheckpoint, StepSeed
from tests.support.hub_server import HubServer, hub_environment
from tests.support.tiny_encoders import build_encoder
from tests.support.warm_python import run_warm

pytest_plugins = ("tests.support.hub_fixtures",)
TEXT = "A GOOD lamp, isn't it? Zyxomma"
QUIET = {"tiny": True, "baselines": False, "progress": False, "tensorboard": False}


def write_rows(folder: Path) -> Path:
    words = ("good", "yes"), ("bad", "no")
    rows = [f"{a} lamp number {number},{label}" for number in range(30) for a, label in words]
    file = folder / "lamps.csv"
    file.write_text("\n".join(["text,label", *rows]))
    return file


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Path]:
    folder = tmp_path_factory.mktemp("training")
    encoder = build_encoder(folder / "encoder", "roberta")
    run = ctxzoo.train(
        "text-classification", write_rows(folder), encoder=encoder, output_dir=folder / "runs", num_filters=3, **QUIET
    )
    return encoder, run, folder


def test_a_run_leaves_the_encoder_in_its_folder_alone(trained: tuple[str, Any, Path]) -> None:
    encoder, run, _ = trained
    saved = load_file(run.checkpoint / "model.safetensors")
    theirs = load_file(Path(encoder) / "model.safetensors")
    ours = {name.split(".words.encoder.")[1]: value for name, value in saved.items() if ".words.encoder." in name}
    assert ours
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    for file in run.checkpoint.parent.glob("lightning/*.ckpt"):
        kept = torch.load(file, weights_only=True)
        assert not [
            name
            for part in ("state_dict", "current_model_state")
            for name in kept.get(part, {})
            if "encoder." in name and "words" in name
        ]
    assert (run.checkpoint / ENCODER_TOKENIZER).is_file()
    assert (
        "are read by the encoder `encoder`, frozen, whose weights are among"
        in (run.checkpoint / "README.md").read_text()
    )
    settings = run.result.settings
    assert (settings["encoder"], settings["word_vectors"], settings["vector_words"]) == ("encoder", None, 0)
    assert len(settings["encoder_fingerprint"]) == 16


def test_all_that_reads_a_checkpoint_gives_the_same(
    trained: tuple[str, Any, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, run, folder = trained
    assert main(["predict", str(run.checkpoint), "--text", TEXT]) == 0
    predicted = json.loads(capsys.readouterr().out)
    answers = ctxzoo.pipeline(run.checkpoint)([TEXT, "bad lamp", ""], batch_size=3)
    assert answers[0] == {"label": predicted["label"], "score": pytest.approx(predicted["score"], abs=1e-6)}
    (explanation,) = ctxzoo.explain(run.checkpoint, [TEXT])
    assert explanation.is_known.all()  # the encoder reads words that no training text has
    found = explanation.contributions.sum(axis=1) + explanation.bias
    assert found == pytest.approx(explanation.logits, abs=0.05)
    assert main(["evaluate", str(run.checkpoint), "--dataset", str(folder / "lamps.csv"), "--split", "train"]) == 0


@pytest.mark.slow
def test_a_pushed_model_loads_without_ctxzoo(
    trained: tuple[str, Any, Path], server: HubServer, here: HubServer, tmp_path: Path
) -> None:
    _, run, _ = trained
    push_folder(run.checkpoint, "someone/with-encoder")
    code = f"""
        import json
        from transformers import pipeline
        read = pipeline("text-classification", model="someone/with-encoder", trust_remote_code=True)
        print(json.dumps(read([{TEXT!r}, "bad lamp"], batch_size=2)))
    """
    finished = run_warm(code, env=hub_environment(server, tmp_path / "home"), without_ctxzoo=True)
    there = json.loads(finished.stdout.splitlines()[-1])
    ours = ctxzoo.pipeline(run.checkpoint)([TEXT, "bad lamp"])
    assert [one["label"] for one in there] == [one["label"] for one in ours]
    assert [one["score"] for one in there] == pytest.approx([one["score"] for one in ours], abs=1e-6)


def test_a_trained_encoder_has_a_rate_and_a_warmup_of_its_own(trained: tuple[str, Any, Path]) -> None:
    encoder, run, _ = trained
    config = {**json.loads((run.checkpoint / "config.json").read_text()), "train_encoder": True}
    config = {name: value for name, value in config.items() if name not in ("architectures", "dtype")}
    task = SequenceClassificationTask(config, encoder_learning_rate=1e-4, encoder_warmup_steps=4, learning_rate=1e-2)
    load_encoder_weights(task.model, encoder)

    class Clipping:
        gradient_clip_val = 1.0
        precision = "32-true"

    task._trainer = Clipping()
    chosen = task.configure_optimizers()
    others, own = chosen["optimizer"].param_groups
    assert {id(one) for one in own["params"]} == {id(one) for one in task.model.get_input_embeddings().parameters()}
    assert (others["lr"], own["lr"]) == (1e-2, pytest.approx(2.5e-5))
    chosen["optimizer"].step()
    chosen["lr_scheduler"]["scheduler"].step()
    assert (others["lr"], own["lr"]) == (1e-2, pytest.approx(5e-5))
    state = {"state_dict": task.state_dict()}
    task.on_save_checkpoint(state)
    assert state["state_dict"].keys() == task.state_dict().keys()  # all that is trained is written


def test_a_checkpoint_without_its_encoder_is_refused(trained: tuple[str, Any, Path]) -> None:
    _, run, _ = trained
    config = json.loads((run.checkpoint / "config.json").read_text())
    task = SequenceClassificationTask({name: value for name, value in config.items() if name != "architectures"})
    (file,) = run.checkpoint.parent.glob("lightning/best.ckpt")
    with pytest.raises(ValueError, match="does not hold the weights of a frozen encoder"):
        task.on_load_checkpoint(torch.load(file, weights_only=True))


def test_settings_that_contradict_an_encoder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train_encoder=True without an encoder"):
        TextStart(train_encoder=True)
    with pytest.raises(ValueError, match=r"encoder_warmup=0\.5 for an encoder that is not trained"):
        TextStart(encoder="some/encoder", encoder_warmup=0.5)
    with pytest.raises(ValueError, match="encoder='some/encoder' beside init_from='folder'"):
        TextStart(encoder="some/encoder", init_from="folder")
    assert "encoder" not in TextStart().get_reported_values()
    encoder = build_encoder(tmp_path / "encoder", "bert")
    for options, message in (
        ({"architecture": "beta_lstm"}, "beta_lstm reads words from a table alone; with --encoder there are"),
        ({"naive_bayes": 1.0}, "naive_bayes=1.0 beside an encoder"),
    ):
        with pytest.raises(ValueError, match=message):
            ctxzoo.train(
                "text-classification", write_rows(tmp_path), encoder=encoder, output_dir=tmp_path, **QUIET, **options
            )


def test_batches_of_questions_have_the_subwords_that_the_tokenizer_gives(tmp_path: Path) -> None:
    encoder = build_encoder(tmp_path / "encoder", "roberta")
    data = SquadDataModule("sample", encoder=encoder, characters=False, cache_dir=str(tmp_path))
    data.prepare_data()
    data.setup()
    assert data.model_sizes()["word_embedding_size"] == read_word_encoder(encoder).width
    batches = data.batches("validation", training=False)
    batch = batches[[0, 1, 2]]
    rows = data.texts("validation").select(batch["row"].tolist())
    expected = data.tokenizer(rows["question"][:], rows["context"][:], padding=True, return_tensors="pt")
    for name in ("subword_ids", "question_subword_ids"):
        length, width = expected[name].shape[1], batch[name].shape[2]
        assert torch.equal(batch[name][:, :length], expected[name][:, :, :width])
        assert not expected[name][:, :, width:].any()


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "options"), [("token-classification", {}), ("question-answering", {})])
def test_taggers_and_readers_train_an_encoder(problem: str, options: dict[str, Any], tmp_path: Path) -> None:
    encoder = build_encoder(tmp_path / "encoder", "modernbert", positions=64)
    run = ctxzoo.train(
        problem, "sample", encoder=encoder, train_encoder=True, output_dir=tmp_path / "runs", **QUIET, **options
    )
    settings = run.result.settings
    assert (settings["encoder"], settings["train_encoder"], settings["word_vectors"]) == ("encoder", True, None)
    assert settings.get("word_dim") is settings.get("word_embedding_size") is None
    saved = load_file(run.checkpoint / "model.safetensors")
    theirs = load_file(Path(encoder) / "model.safetensors")
    name = next(name for name in saved if name.endswith(".words.encoder.embeddings.tok_embeddings.weight"))
    assert not torch.equal(saved[name], theirs["embeddings.tok_embeddings.weight"])
    read = ctxzoo.pipeline(run.checkpoint)
    asked = {"question": "Who?", "context": "Nobody."} if problem == "question-answering" else "the lamp can shine"
    assert read(asked)


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_resumed_training_goes_on_bit_for_bit(
    trained: tuple[str, Any, Path], tmp_path: Path, *, is_trained: bool
) -> None:
    """With averaged weights, whose checkpoints hold the model twice, and in bfloat16."""
    encoder, run, _ = trained
    config = {**json.loads((run.checkpoint / "config.json").read_text()), "train_encoder": is_trained}
    config = {name: value for name, value in config.items() if name not in ("architectures", "dtype")}
    tokenizer = AutoTokenizer.from_pretrained(run.checkpoint)
    batches = [
        {
            **tokenizer([f"good lamp {number}", "bad one"], padding=True, return_tensors="pt"),
            "labels": torch.tensor([0, 1]),
        }
        for number in range(2)
    ]

    def fit(epochs: int, checkpoint: Path | None = None) -> tuple[dict[str, torch.Tensor], Path]:
        torch.manual_seed(0)
        task = SequenceClassificationTask(config, encoder_learning_rate=1e-3 if is_trained else None)
        load_encoder_weights(task.model, encoder)
        trainer = lightning.Trainer(
            max_epochs=epochs,
            callbacks=[
                ExponentialMovingAverage(0.9),
                StepSeed(0),
                ResumeCheckpoint(tmp_path / f"{epochs}.ckpt", every=9),
            ],
            precision="bf16-mixed",
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        loader = DataLoader(batches, batch_size=None)
        trainer.fit(task, loader, ckpt_path=checkpoint, weights_only=None if checkpoint is None else True)
        return task.state_dict(), tmp_path / f"{epochs}.ckpt"

    _, half = fit(1)
    resumed, _ = fit(2, half)
    whole, _ = fit(2)
    assert resumed.keys() == whole.keys()
    assert all(torch.equal(value, whole[name]) for name, value in resumed.items())
    kept = torch.load(half, weights_only=True)["state_dict"]
    assert any(".words.encoder." in name for name in kept) is is_trained
