"""A folder without code loads with ctxzoo; packed it is the folder that a training writes, and loads without it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.checkpoint_folder import CheckpointFolderError, check_checkpoint_folder, write_checkpoint_folder
from ctxzoo.hub.folder_files import CODE_FILE, compute_sha256, has_packed_code
from ctxzoo.hub.packing import pack, remove_code_files
from ctxzoo.hub.push import push_folder
from tests.support.hub_server import HubServer
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer

REPO = "someone/bidaf-tiny"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def without_code(whole_checkpoint: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(whole_checkpoint, tmp_path / "bidaf-tiny"))
    remove_code_files(folder)
    return folder


def test_packed_it_is_again_what_a_training_wrote(
    whole_checkpoint: Path, without_code: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(without_code)
    assert not any(name.endswith(".py") for name in before)
    assert b"auto_map" not in before["config.json"] + before["tokenizer_config.json"]
    assert b"custom_pipelines" not in before["config.json"]
    (tmp_path / "out").mkdir()
    assert main(["pack", str(without_code), str(tmp_path / "out")]) == 0
    assert contents(tmp_path / "out") == contents(whole_checkpoint)
    assert contents(without_code) == before
    code = [path for path in (tmp_path / "out").iterdir() if path.suffix == ".py"]
    lines = sum(len(path.read_text().splitlines()) for path in code)
    said = f"{tmp_path / 'out'}: {len(code)} files of code added, {lines:,} lines, of ctxzoo {ctxzoo.__version__}\n"
    assert capsys.readouterr().out == said


def test_the_card_of_a_packed_folder_tells_its_release_and_hashes(whole_checkpoint: Path, without_code: Path) -> None:
    card = (whole_checkpoint / "README.md").read_text()
    assert f"\n## Code\n\nSaved with ctxzoo {ctxzoo.__version__}. The Python files are those" in card
    hashes = dict(re.findall(r"^\| ([\w.]+) \| `(\w{16})` \|$", card, flags=re.MULTILINE))
    files = [path for path in whole_checkpoint.iterdir() if path.is_file() and path.name != "README.md"]
    assert hashes == {path.name: compute_sha256(path)[:16] for path in files}
    plain = (without_code / "README.md").read_text()
    assert "This folder holds no code" in plain
    assert ctxzoo.__version__ not in plain
    assert plain.split("## Code")[0] == card.split("## Code")[0]
    assert plain.split("## Reproduce")[1] == card.split("## Reproduce")[1]


def test_a_card_of_a_user_s_own_stays_as_it_is(tmp_path: Path) -> None:
    written = {"model": tiny_model(), "tokenizer": tiny_tokenizer(), "card": "# Mine\n\nNo code here.\n"}
    folder = write_checkpoint_folder(tmp_path / "c", **written, code=False)
    assert not has_packed_code(folder)
    pack(folder, tmp_path / "out")
    assert (tmp_path / "out" / "README.md").read_text() == (folder / "README.md").read_text() == written["card"]


def test_without_code_it_loads_with_the_package(
    without_code: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    loaded, its_tokenizer = (
        kind.from_pretrained(without_code) for kind in (AutoModelForQuestionAnswering, AutoTokenizer)
    )
    inputs = tokenizer(QUESTION, CONTEXT, return_tensors="pt")
    again = its_tokenizer(QUESTION, CONTEXT, return_tensors="pt")
    assert all(torch.equal(again[name], x) for name, x in inputs.items())
    torch.testing.assert_close(loaded(**inputs).start_logits, model(**inputs).start_logits)
    expected = ask(model, tokenizer)["answer"]
    reader = ctxzoo.pipeline(without_code)
    assert reader(question=QUESTION, context=CONTEXT)["answer"] == expected
    assert main(["predict", str(without_code), "--question", QUESTION, "--context", CONTEXT]) == 0
    assert expected in capsys.readouterr().out
    # What is trained further is packed again.
    loaded.save_pretrained(tmp_path / "again")
    its_tokenizer.save_pretrained(tmp_path / "again")
    shutil.copy(without_code / "README.md", tmp_path / "again")
    (tmp_path / "again" / "generation_config.json").unlink(missing_ok=True)
    assert has_packed_code(tmp_path / "again")
    check_checkpoint_folder(tmp_path / "again")


def test_code_of_another_release_is_not_packed(checkpoint: Path, tmp_path: Path, whole_checkpoint: Path) -> None:
    (checkpoint / "ops_answer.py").write_text("import os")
    (checkpoint / "layers_of_another_release.py").write_text("import os")
    (checkpoint / ".gitattributes").write_text("*.safetensors filter=lfs\n")
    pack(checkpoint, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(whole_checkpoint)


def test_verify_says_which_it_saw(
    whole_checkpoint: Path, without_code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(whole_checkpoint)]) == 0
    assert main(["verify", str(without_code)]) == 0
    packed, plain = capsys.readouterr().out.splitlines()
    assert packed == (
        f"{whole_checkpoint}: whole and packed, and its code is that of ctxzoo {ctxzoo.__version__} "
        f"(saved with {ctxzoo.__version__}; 24 files have the hashes that its card lists)"
    )
    assert plain == (
        f"{without_code}: whole, without code: it loads where ctxzoo is installed, as {ctxzoo.__version__} is here"
    )


def add_entry(file: Path, name: str, value: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "ops_answer.py").write_text("import os"), r"configuration_base\.py is missing; .*is missing"),
        (lambda f: add_entry(f / "config.json", "auto_map", {}), r"configuration_base\.py is missing"),
        (lambda f: add_entry(f / "config.json", "custom_pipelines", {}), r"configuration_base\.py is missing"),
        (lambda f: add_entry(f / "tokenizer_config.json", "auto_map", {}), r"configuration_base\.py is missing"),
        (lambda f: (f / "helper.py").write_text("import os"), r"holds helper\.py"),
        (lambda f: add_entry(f / "config.json", "hidden_size", 10), r"does not fit"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), r"the tokenizer cannot be loaded"),
    ],
)
def test_half_packed_or_damaged_is_neither(without_code: Path, damage: Callable[[Path], Any], message: str) -> None:
    damage(without_code)
    with pytest.raises(CheckpointFolderError, match=message):
        check_checkpoint_folder(without_code)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("bidaf-tiny", "full"), "full is there and not an empty folder; choose another name"),
        (("bidaf-tiny", "file"), "file is there and not an empty folder"),
        (("bidaf-tiny", "bidaf-tiny"), "is there and not an empty folder"),
        (("bidaf-tiny", "bidaf-tiny/out"), "out lies in"),
        (("absent", "out"), "absent is not a folder; expected a checkpoint folder"),
        (("full", "out"), "has no config.json"),
        (("damaged", "out"), "damaged/model.safetensors is damaged or incomplete"),
    ],
)
def test_a_refusal_is_one_line_and_leaves_nothing(
    without_code: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str], message: str
) -> None:
    place = without_code.parent
    (place / "full").mkdir()
    (place / "full" / "thesis.txt").write_text("years of work")
    (place / "file").write_text("")
    shutil.copytree(without_code, place / "damaged")
    (place / "damaged" / "model.safetensors").write_bytes(b"")
    before = contents(place)
    assert main(["pack", *(str(place / name) for name in names)]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert contents(place) == before
    assert not (place / "out").exists()


def test_push_packs(here: HubServer, without_code: Path, whole_checkpoint: Path) -> None:
    push_folder(without_code, REPO)
    wanted = contents(whole_checkpoint)
    for name, content in wanted.items():
        sent = here.read_file(REPO, name)
        assert sent == content.replace(b'repo = "path/to/this/folder"', f'repo = "{REPO}"'.encode()), name
    # The folder has no more than the repository's name from it.
    names = {name for name in wanted if not CODE_FILE.fullmatch(name)}
    assert set(contents(without_code)) == names
    card = (without_code / "README.md").read_text()
    assert f'repo = "{REPO}"' in card
    assert "This folder holds no code" in card
    check_checkpoint_folder(without_code)
    assert not has_packed_code(without_code)
    assert main(["verify", REPO]) == 0
