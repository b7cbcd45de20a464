"""Parts of a card: which release it names, and from where that can be had."""

from __future__ import annotations

import re

import pytest

from ctxzoo.hub import card_parts
from ctxzoo.hub.card import build_card
from ctxzoo.hub.card_parts import describe_installation, describe_release, parse_release
from ctxzoo.hub.packing import add_code_section
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING
from ctxzoo.version import version
from tests.support.tiny_checkpoint import ask, tiny_model, tiny_result, tiny_tokenizer

URL = "https://git.example.org/someone/ctxzoo"


@pytest.mark.parametrize(
    ("release", "install"),
    [
        ("0.1.0", f'`pip install "git+{URL}@v0.1.0"`'),
        ("0.1.0.dev0+g0123456789ab", f'`pip install "git+{URL}@0123456789ab"`'),
        ("0.1.0.dev0+g0123456789ab.dirty", f'`pip install "git+{URL}"`'),
        ("0.1.0.dev0", f'`pip install "git+{URL}"`'),
    ],
)
def test_the_url_that_is_set_at_the_commit(monkeypatch: pytest.MonkeyPatch, release: str, install: str) -> None:
    monkeypatch.setenv("CTXZOO_URL", URL)
    monkeypatch.setattr(card_parts, "version", lambda: release)
    assert describe_installation() == install


@pytest.mark.parametrize(
    "url", ["https://me:secret@example.org/a", "http://example.org/a", "git@example.org:a", "/a", f'{URL}" evil', "x"]
)
def test_other_urls_are_not_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("CTXZOO_URL", url)
    with pytest.warns(UserWarning, match="CTXZOO_URL is not used") as caught:
        assert describe_installation() == "`pip install .` in a checkout of its source"
    assert "secret" not in str(caught[0].message)


def test_a_card_names_release_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    example = ask(model, tokenizer)
    monkeypatch.delenv("CTXZOO_URL", raising=False)
    card = build_card(tiny_result(), model.config, task=QUESTION_ANSWERING, example=example)
    assert parse_release(card) is None
    packed = add_code_section(card, {})
    assert parse_release(packed) == version()
    assert describe_release() in packed
    assert re.findall(r"pip install [^`]*", card) == ["pip install ."]
    monkeypatch.setenv("CTXZOO_URL", URL)
    card = build_card(tiny_result(), model.config, task=QUESTION_ANSWERING, example=example)
    assert re.findall(r"pip install [^@`]*", card)[0].rstrip('"') == f'pip install "git+{URL}'


def test_a_card_of_somebody_else_names_none() -> None:
    assert parse_release("# A model\n\nSaved with care.\n") is None
