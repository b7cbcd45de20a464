"""Writing a checkpoint folder: whole or not at all, and what is refused."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from transformers import AutoModelForQuestionAnswering

import ctxzoo
from ctxzoo.hub.checkpoint_folder import CheckpointFolderError, check_checkpoint_folder, write_checkpoint_folder
from ctxzoo.models.configuration_bidaf import BidafConfig
from tests.support.tiny_checkpoint import CHARACTERS, WORDS, tiny_model, tiny_result, tiny_tokenizer, write_tiny

SOURCES = Path(ctxzoo.__file__).parent / "models"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change_json(file: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_folder_is_complete(whole_checkpoint: Path, tmp_path: Path) -> None:
    names = set(contents(whole_checkpoint))
    code = {name for name in names if name.endswith(".py")}
    assert names - code == {
        *("README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
        ".eval_results/ctxzoo-data--squad_v2_mini.yaml",
    }
    assert {
        *("configuration_base.py", "modeling_bidaf.py", "layers_bidaf.py", "layers_recurrent.py"),
        *("tokenization_word_char.py", "tokenization_base.py", "pipeline_question_answering.py", "ops_answer.py"),
    } <= code
    for name in code:
        assert (whole_checkpoint / name).read_bytes() == (SOURCES / name).read_bytes()
    config = json.loads((whole_checkpoint / "config.json").read_text())
    assert set(config["auto_map"]) == {"AutoConfig", "AutoModel", "AutoModelForQuestionAnswering"}
    assert "question-answering" in config["custom_pipelines"]
    check_checkpoint_folder(whole_checkpoint)
    # Nothing beside it, and no path of the machine in it.
    assert [path.name for path in whole_checkpoint.parent.iterdir()] == [whole_checkpoint.name]
    for name, content in contents(whole_checkpoint).items():
        assert str(whole_checkpoint.parent).encode() not in content, name


def test_weights_are_those_of_the_model(whole_checkpoint: Path) -> None:
    loaded = AutoModelForQuestionAnswering.from_pretrained(whole_checkpoint)
    for name, x in tiny_model().state_dict().items():
        assert torch.equal(loaded.state_dict()[name], x), name


def test_eval_results_hold_the_scores_and_not_the_bounds(whole_checkpoint: Path) -> None:
    entries = yaml.safe_load((whole_checkpoint / ".eval_results" / "ctxzoo-data--squad_v2_mini.yaml").read_text())
    values = {entry["dataset"]["task_id"]: entry["value"] for entry in entries}
    assert values == {
        "test_exact": 40.25,
        "test_f1": 44.5,
        "test_HasAns_f1": 30.0,
        "test_NoAns_f1": 55.0,
        "test_AvNA": 52.0,
    }
    assert {entry["dataset"]["id"] for entry in entries} == {"ctxzoo-data/squad_v2_mini"}
    assert entries[0]["date"] == "2026-01-31T12:00:00+00:00"


def test_generated_data_has_no_eval_results(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "c", result=tiny_result(dataset="sample"))
    assert not (folder / ".eval_results").exists()


def test_permissions_are_those_of_a_new_folder(whole_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert stat.S_IMODE(whole_checkpoint.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_older_checkpoint_is_replaced(checkpoint: Path) -> None:
    (checkpoint / "stale.txt").write_text("old")
    before = load_file(checkpoint / "model.safetensors")
    write_tiny(checkpoint, seed=1)
    after = load_file(checkpoint / "model.safetensors")
    assert not torch.equal(before["bidaf.char_cnn.embedding.weight"], after["bidaf.char_cnn.embedding.weight"])
    assert not (checkpoint / "stale.txt").exists()
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


def test_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not a checkpoint folder"):
        write_tiny(tmp_path / "home")
    assert contents(tmp_path) == {"home/thesis.txt": b"years of work"}
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="not a checkpoint folder"):
        write_tiny(tmp_path / "file")


@pytest.mark.parametrize("failing", ["tokenizer", "check", "rename"])
def test_failure_leaves_the_old_checkpoint(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    before = contents(checkpoint.parent)
    tokenizer = tiny_tokenizer()
    if failing == "tokenizer":
        monkeypatch.setattr(tokenizer, "save_pretrained", lambda folder: (_ for _ in ()).throw(OSError("disk full")))
    elif failing == "check":
        tokenizer = tiny_tokenizer([*WORDS, "surplus"])
    else:
        real, failed = os.replace, []

        def replace(source: Path, target: Path) -> None:
            if Path(target) == checkpoint and not failed:  # the new one; then the earlier is put back
                failed.append(source)
                raise OSError("disk full")
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
    with pytest.raises((OSError, CheckpointFolderError), match=r"disk full|do not belong together"):
        write_checkpoint_folder(checkpoint, model=tiny_model(1), tokenizer=tokenizer, card="# Card")
    assert contents(checkpoint.parent) == before


def truncate(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.safetensors").unlink(), r"lacks model\.safetensors"),
        (lambda f: (f / "README.md").unlink(), r"lacks its card, README\.md; write what the model does, what it was"),
        (lambda f: [(f / n).unlink() for n in ("README.md", "tokenizer.json")], r"lacks README\.md, tokenizer\.json"),
        (lambda f: (f / "config.json").unlink(), r"has no config\.json"),
        (lambda f: (f / "config.json").write_text("{"), r"config\.json is not JSON"),
        (lambda f: (f / "config.json").write_text("[]"), r"expected a JSON object"),
        (truncate, r"model\.safetensors is damaged or incomplete"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), r"damaged or incomplete"),
        (lambda f: (f / "model.safetensors").write_bytes(b"version https://git-lfs"), r"damaged or incomplete"),
        (lambda f: change_json(f / "config.json", lambda c: c.update(model_type="bert")), r"'bert', not one of ctxzoo"),
        (lambda f: change_json(f / "config.json", lambda c: c.pop("model_type")), r"None, not one of ctxzoo"),
        (lambda f: change_json(f / "config.json", lambda c: c.update(model_type="ctxzoo_new")), r"'new', which this"),
        (lambda f: change_json(f / "config.json", lambda c: c.update(hiden_size=8)), r"'hiden_size'.*'hidden_size'"),
        (lambda f: change_json(f / "config.json", lambda c: c.update(hidden_size="8")), r"config\.json: .*hidden_size"),
        (
            lambda f: change_json(f / "config.json", lambda c: c.update(hidden_size=10)),
            r"does not fit.*has shape.*more",
        ),
        (
            lambda f: change_json(f / "config.json", lambda c: c.update(architectures=["Bert"])),
            r"architectures is \['B",
        ),
        (lambda f: change_json(f / "config.json", lambda c: c["auto_map"].pop("AutoModel")), r"auto_map is"),
        (lambda f: change_json(f / "config.json", lambda c: c.pop("custom_pipelines")), r"custom_pipelines lacks"),
        (
            lambda f: change_json(f / "tokenizer_config.json", lambda c: c.pop("auto_map")),
            r"names None as AutoTokenizer",
        ),
        (lambda f: (f / "tokenizer.json").write_text("{}"), r"the tokenizer cannot be loaded"),
        (lambda f: change_weights(f, lambda w: w.pop("start_from_flow.bias")), r"start_from_flow\.bias is missing"),
        (lambda f: change_weights(f, lambda w: w.update(extra=torch.ones(1))), r"extra is unknown"),
        (lambda f: (f / "ops_answer.py").unlink(), r"ops_answer\.py is missing"),
        (lambda f: (f / "ops_answer.py").write_text("import os"), r"ops_answer\.py differs \(sha256 .* released"),
    ],
)
def test_damage_is_named(checkpoint: Path, damage: Callable[[Path], Any], message: str) -> None:
    damage(checkpoint)
    with pytest.raises(CheckpointFolderError, match=message):
        check_checkpoint_folder(checkpoint)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointFolderError, match="absent is not a folder"):
        check_checkpoint_folder(tmp_path / "absent")


@pytest.mark.parametrize(
    ("changes", "characters", "message"),
    [
        ({"vocab_size": len(WORDS) + 1}, CHARACTERS, f"word ids up to {len(WORDS) + 1}, but vocab_size is"),
        ({"char_vocab_size": len(CHARACTERS)}, CHARACTERS, "character ids up to .*, but char_vocab_size"),
        ({}, None, "reads characters, but the tokenizer gives none"),
    ],
)
def test_tokenizer_of_another_model(
    tmp_path: Path, changes: dict[str, int], characters: list[str] | None, message: str
) -> None:
    model = tiny_model(**changes)
    with pytest.raises(CheckpointFolderError, match=message):
        write_checkpoint_folder(
            tmp_path / "c", model=model, tokenizer=tiny_tokenizer(characters=characters), card="# Card"
        )
    assert not list(tmp_path.iterdir())


def test_base_model_needs_no_pipeline(tmp_path: Path) -> None:
    base = tiny_model().bidaf
    assert isinstance(base.config, BidafConfig)
    folder = write_checkpoint_folder(tmp_path / "base", model=base, tokenizer=tiny_tokenizer(), card="# Card")
    check_checkpoint_folder(folder)
