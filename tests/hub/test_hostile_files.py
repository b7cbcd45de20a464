"""Files from strangers: `info`, `predict` and `verify` answer in one line and allocate nothing for them."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxzoo.cli.main import main

COMMANDS = {
    "verify": ["verify"],
    "info": ["info"],
    "predict": ["predict", "--question", "Who?", "--context", "the cat sat"],
}
NESTED = "[" * 100_000 + "]" * 100_000
GIBIBYTE = 2**30


def changed_config(folder: Path, **changes: object) -> str:
    content = json.loads((folder / "config.json").read_text())
    return json.dumps({**content, **changes})


@pytest.fixture
def little_memory() -> Iterator[None]:
    """No more than four GiB beyond what the process has: an attempt at 80 fails, and is seen."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 4 * GIBIBYTE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def answer(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    name, *options = COMMANDS[command]
    assert main([name, str(folder), *options]) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("ctxzoo: ")
    assert said.count("\n") == 1
    assert len(said) < 2000
    return said


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("size", [10**10, 10**12, 10**18, 2**62])
def test_sizes_beyond_all_memory(checkpoint: Path, capsys: pytest.CaptureFixture[str], command: str, size: int) -> None:
    (checkpoint / "config.json").write_text(changed_config(checkpoint, vocab_size=size))
    answer(command, checkpoint, capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", NESTED, "nested too deeply"),
        ("config.json", '{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ("config.json", " " * (2**24 + 1), "expected at most"),
        ("config.json", "\ud800", "config.json is not JSON"),
        ("config.json", '{"model_type": "ctxzoo_bidaf", "vocab_size": ' + "9" * 5000 + "}", "config.json is not JSON"),
    ],
)
def test_configurations_that_cannot_be_read(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], command: str, name: str, content: str, message: str
) -> None:
    (checkpoint / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    assert message in answer(command, checkpoint, capsys)


@pytest.mark.parametrize("command", ["verify", "predict"])
@pytest.mark.parametrize("content", [NESTED, "[]", '{"auto_map": []}', '{"auto_map": {"AutoTokenizer": 3}}'])
def test_settings_of_a_tokenizer_that_cannot_be_read(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], command: str, content: str
) -> None:
    (checkpoint / "tokenizer_config.json").write_text(content)
    if command == "predict" and content.startswith("{"):
        return  # it says less than it should, and harms nobody
    answer(command, checkpoint, capsys)


@pytest.mark.parametrize("command", ["verify", "info"])
@pytest.mark.parametrize(
    "fields",
    [
        {"architectures": 3},
        {"architectures": [["x"]]},
        {"id2label": 3},
        {"dtype": "none"},
        {"hidden_size": None},
        {"hidden_size": [8]},
        {"char_vocab_size": -1},
    ],
)
def test_entries_of_the_wrong_kind(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], command: str, fields: dict[str, object]
) -> None:
    (checkpoint / "config.json").write_text(changed_config(checkpoint, **fields))
    answer(command, checkpoint, capsys)
