"""Repositories of the Hub, checked before their code is trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.push import push_folder
from ctxzoo.word_vectors.vectors import read_word_vectors
from tests.support.hub_server import HubServer
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer
from tests.support.tiny_word_embedding import write_tiny as write_embeddings

REPO = "someone/bidaf-tiny"


def change(files: dict[str, bytes] | None = None, deleted: str | None = None) -> None:
    operations = [CommitOperationAdd(name, content) for name, content in (files or {}).items()]
    gone = [CommitOperationDelete(deleted)] if deleted else []
    HfApi().create_commit(REPO, [*operations, *gone], commit_message="changed")


def test_a_whole_repository_and_its_older_revision(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push_folder(checkpoint, REPO)
    sent = len(here.requests)
    assert main(["verify", REPO]) == 0
    commit = here.commits(REPO)[-1]["oid"]
    said = capsys.readouterr().out
    assert said == (
        f"{REPO}@{commit}: whole and packed, and its code is that of ctxzoo {ctxzoo.__version__} "
        f"(saved with {ctxzoo.__version__}; 24 files have the hashes that its card lists)\n"
    )
    # Of the weights the head alone was fetched.
    asked = [record for record in here.requests[sent:] if "model.safetensors" in record.path]
    assert {record.status for record in asked} == {206}

    change({"ops_answer.py": b"import os"})
    assert main(["verify", REPO]) == 1
    assert "ops_answer.py differs (sha256" in capsys.readouterr().err
    assert main(["verify", f"{REPO}@{commit}"]) == 0


@pytest.mark.parametrize(
    ("files", "deleted", "message"),
    [
        ({"evil.so": b""}, None, "holds evil.so"),
        ({"sub/modeling_bidaf.py": b""}, None, "holds sub/modeling_bidaf.py"),
        ({"pytorch_model.bin": b"x"}, None, "holds pytorch_model.bin"),
        (None, "model.safetensors", "lacks model.safetensors"),
        (None, "config.json", "has no config.json"),
        ({"config.json": b"[" * 100_000}, None, "config.json is nested too deeply"),
        ({"config.json": b'{"model_type": "bert"}'}, None, "'bert', not one of ctxzoo"),
        ({"model.safetensors": b"too short"}, None, "is damaged or incomplete"),
        ({"model.safetensors": b"\xff" * 100}, None, "is damaged or incomplete"),
        ({"model.safetensors": b"\x02" + bytes(7) + b"{}"}, None, "does not fit config.json"),
    ],
)
def test_what_is_wrong_is_named_with_repository_and_commit(
    here: HubServer,
    checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, bytes] | None,
    deleted: str | None,
    message: str,
) -> None:
    push_folder(checkpoint, REPO)
    change(files, deleted)
    assert main(["verify", REPO]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert f"{REPO}@{here.commits(REPO)[-1]['oid']}" in said
    assert "/tmp" not in said
    assert said.count("\n") == 1


def test_weights_of_the_same_shapes_that_were_put_in_their_place_are_found(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their hash is that which the Hub lists: they are not downloaded."""
    push_folder(checkpoint, REPO, tag="v1")
    answer = ctxzoo.pipeline(REPO)(question=QUESTION, context=CONTEXT)
    assert answer["answer"] == ask(tiny_model(), tiny_tokenizer())["answer"]
    weights = bytearray((checkpoint / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    change({"model.safetensors": bytes(weights)})
    sent = len(here.requests)
    assert main(["verify", REPO]) == 1
    said = capsys.readouterr().err
    assert "model.safetensors has sha256" in said
    assert "and the card lists" in said
    assert {one.status for one in here.requests[sent:] if "model.safetensors" in one.path} == {206}
    (checkpoint / "model.safetensors").write_bytes(weights)
    assert main(["verify", str(checkpoint)]) == 1
    assert main(["verify", f"{REPO}@v1"]) == 0
    assert main(["predict", f"{REPO}@v1", "--question", QUESTION, "--context", CONTEXT]) == 0
    assert answer["answer"] in capsys.readouterr().out


def test_what_arrives_short_is_not_taken(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    push_folder(checkpoint, REPO)
    real = HfApi.hf_hub_download

    def cut(self: HfApi, repo_id: str, name: str, **options: Any) -> str:
        path = Path(real(self, repo_id, name, **options))
        if name == "tokenizer.json":
            path.write_bytes(path.read_bytes()[:-1])
        return str(path)

    monkeypatch.setattr(HfApi, "hf_hub_download", cut)
    assert main(["verify", REPO]) == 2
    assert "arrived damaged: tokenizer.json has " in capsys.readouterr().err


def test_a_name_alone_is_of_the_user_that_a_variable_names(
    here: HubServer,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    push_folder(checkpoint, REPO, tag="v1")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("CTXZOO_HUB", "someone")
    answer = ctxzoo.pipeline("bidaf-tiny@v1")(question=QUESTION, context=CONTEXT)["answer"]
    for command in (["predict", "bidaf-tiny", "--question", QUESTION, "--context", CONTEXT], ["info", "bidaf-tiny"]):
        assert main(command) == 0
    assert answer in capsys.readouterr().out
    assert main(["verify", "bidaf-tiny"]) == 0
    assert capsys.readouterr().out.startswith(f"{REPO}@")
    monkeypatch.chdir(tmp_path)  # a folder of that name wins
    assert main(["verify", "bidaf-tiny"]) == 0
    assert capsys.readouterr().out.startswith("bidaf-tiny: ")
    monkeypatch.setenv("CTXZOO_HUB", "some/one")
    assert main(["verify", "another"]) == 2
    assert "CTXZOO_HUB is 'some/one'; expected the name of a user" in capsys.readouterr().err


def test_word_vectors_are_those_of_the_named_revision(here: HubServer, tmp_path: Path) -> None:
    folder = write_embeddings(tmp_path / "embeddings-tiny")
    push_folder(folder, REPO, tag="v1")
    change({"tokenizer.json": b"{}"})
    assert read_word_vectors(f"{REPO}@v1").words == read_word_vectors(folder).words
    with pytest.raises(ValueError, match="is no tokenizer"):
        read_word_vectors(REPO)


@pytest.mark.slow
def test_a_training_continues_from_a_revision_on_the_hub(
    here: HubServer, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_folder(checkpoint, REPO, tag="v1")
    change({"tokenizer.json": b"{}", "model.safetensors": b"of another model"})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("CTXZOO_HUB", "someone")
    options = ["--init_from", "bidaf-tiny@v1", "--dataset", "sample", "--epochs", "1", "--tiny", "true"]
    assert main(["train", "question-answering", *options]) == 0
    (result,) = Path("runs/results").rglob("continued-*.json")
    assert json.loads(result.read_text())["settings"]["init_from"] == "bidaf-tiny@v1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("someone/nothing", "there is no folder 'someone/nothing' here and no such repository on the Hub"),
        (f"{REPO}@gone", f"{REPO} has no such revision"),
    ],
)
def test_no_such_repository_or_revision(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    push_folder(checkpoint, REPO)
    assert main(["verify", name]) == 2
    assert message in capsys.readouterr().err


def test_info_and_predict_read_from_the_hub(
    here: HubServer, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push_folder(checkpoint, REPO)
    assert main(["info", REPO]) == 0
    assert "BidafForQuestionAnswering" in capsys.readouterr().out
    question = ["--question", "Who?", "--context", "the cat sat"]
    assert main(["info", "someone/nothing"]) == 2
    assert "no such repository on the Hub" in capsys.readouterr().err
    change(deleted="model.safetensors")
    assert main(["predict", REPO, *question]) == 2
    said = capsys.readouterr().err
    assert f"{REPO} lacks a file of a ctxzoo checkpoint" in said
    assert said.count("\n") == 1
