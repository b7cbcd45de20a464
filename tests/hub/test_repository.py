"""Repositories of the Hub, checked before their code is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.push import push_folder
from tests.support.hub_server import HubServer

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
        f"(saved with {ctxzoo.__version__})\n"
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
