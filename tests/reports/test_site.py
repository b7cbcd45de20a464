"""The site: every page stands on it once, and links lead to the same places as in the repository."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

from reports import site
from tests.support.subprocesses import REPOSITORY_ROOT


def pages_of(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for one in part.values() if isinstance(part, dict) else part:
            yield from pages_of(one)


def test_every_page_stands_in_the_navigation_once() -> None:
    with (REPOSITORY_ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        config = SimpleNamespace(nav=yaml_load(file)["nav"])
    site.on_config(config)
    found = Counter(pages_of(config.nav))
    assert found == Counter([*site.SOURCES, *site.build_reference()])
    assert {
        path.relative_to(REPOSITORY_ROOT / "docs").as_posix() for path in REPOSITORY_ROOT.glob("docs/**/*.md")
    } < set(found)


@pytest.mark.parametrize(
    ("source", "uri", "text", "expected"),
    [
        ("docs/which_model.md", "which_model.md", "[r](../recipes/README.md)", "[r](recipes/README.md)"),
        ("recipes/README.md", "recipes/README.md", "[d](../docs/data.md#x)", "[d](../data.md#x)"),
        ("docs/models/lama.md", "models/lama.md", "[n](../../notebooks/lama.ipynb)", "[n](../notebooks/lama.md)"),
        ("docs/reading/README.md", "reading/README.md", "[n](lama.py)", "[n](lama.md)"),
        ("README.md", "index.md", "![p](docs/pictures/explanation.png)", "![p](pictures/explanation.png)"),
        ("docs/a.md", "a.md", "[h](#there) [w](https://a.b/c)", "[h](#there) [w](https://a.b/c)"),
        ("docs/a.md", "a.md", "`[r](../x.md)`\n```\n[r](../x.md)\n```", "`[r](../x.md)`\n```\n[r](../x.md)\n```"),
    ],
)
def test_links_lead_from_a_page_of_the_site_to_the_same_file(source: str, uri: str, text: str, expected: str) -> None:
    assert site.relink(text, source, uri) == expected


def test_a_section_of_another_page_is_found_by_its_heading() -> None:
    section = site.read_section("README.md", "Ask")
    assert "ctxzoo.pipeline(" in section
    assert "\n## " not in section
    with pytest.raises(ValueError, match=r"no heading 'Asks' in README\.md"):
        site.read_section("README.md", "Asks")


def test_what_a_browser_would_fetch_elsewhere_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="a.md"))
    site.on_post_page(
        '<a href="https://a.b">x</a><script src="assets/x.js"></script><img src="data:image/png;base64,a">', page
    )
    assert caplog.messages == []
    site.on_post_page('<link rel="stylesheet" href="https://a.b/c.css"><img alt="p" src=//a.b/d.png>', page)
    assert caplog.messages == [
        f"a.md fetches {host}; expected nothing from another host" for host in ("https://a.b/c.css", "//a.b/d.png")
    ]
