"""The first example of the README: what it says that the published reader answers."""

from __future__ import annotations

import re

import pytest

from tests.hub.test_card import python_blocks
from tests.support.subprocesses import REPOSITORY_ROOT


def test_the_reader_answers_as_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY_ROOT)
    text = (REPOSITORY_ROOT / "README.md").read_text(encoding="utf-8")
    program = python_blocks(text)[0]
    told = re.findall(r"^reader\((.*)\)\n# \{'score': ([0-9.]+)…, (.*)\}$", program, flags=re.MULTILINE)
    assert len(told) == 2
    names: dict[str, object] = {}
    exec(program, names)
    reader, context = names["reader"], names["context"]
    assert callable(reader)
    for arguments, score, rest in told:
        found = reader(**eval(f"dict({arguments})", {"context": context}))
        assert found.pop("score") == pytest.approx(float(score), abs=0.02)
        assert found == eval("{" + rest + "}", {})
    abroad = reader(question="What is the capital of France?", context=context)
    said = re.search(r'it answers "(.+)", with a score of (0\.\d\d)', text)
    assert said is not None
    assert abroad["answer"] == said[1]
    assert abroad["score"] == pytest.approx(float(said[2]), abs=0.02)
