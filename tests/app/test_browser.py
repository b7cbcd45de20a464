"""The page of every problem in a headless Chromium: it answers, asks no other machine, and logs no error."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from ctxzoo.app.server import start_page
from ctxzoo.checkpoints import build_app
from tests.support.tiny_checkpoints import WRITERS

pytestmark = pytest.mark.browser
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = 1280, 390
AT_BOTH_WIDTHS = ("question-answering", "text-classification", "vote-prediction")
PATIENCE = 60_000  # milliseconds that an answer may take on a busy machine


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where the page of each problem is served."""
    folder = tmp_path_factory.mktemp("checkpoints")
    pages = {problem: build_app(write(folder / problem)) for problem, write in WRITERS.items()}
    yield {problem: start_page(page, "127.0.0.1") for problem, page in pages.items()}
    for page in pages.values():
        page.close(verbose=False)


@pytest.fixture(scope="module")
def browser(addresses: dict[str, str]) -> Iterator[Browser]:
    """A Chromium, started behind the servers, whose loop would not start within its own."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium; CHROMIUM names one")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


class Visit:
    """A visit of the page at an address, which keeps what the page asks for and what goes wrong in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.foreign: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._keep_foreign_request)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(address)

    def _keep_foreign_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "127.0.0.1":
            self.foreign.append(request.url)

    def expect_text(self, selector: str, text: str) -> None:
        expect(self.page.locator(selector).first).to_contain_text(re.compile(text), timeout=PATIENCE)

    def press(self, name: str, label: str | None = None, text: str = "") -> None:
        """Press the button of this name, after the text of a box has been replaced."""
        if label is not None:
            self.page.get_by_label(label).first.fill(text)
        self.page.get_by_role("button", name=name, exact=True).click()


def ask_reader(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-text mark", r"\d %|\d%")
    visit.press("Answer", "Text that may hold the answer", "Only Ada came.")
    visit.expect_text(".ctxzoo-text", "Only Ada came|Only|Ada")
    visit.expect_text(".gradio-container", "no-answer score")
    visit.press("Answer", "Question", "")
    visit.expect_text(".toast-body", "holds no words")


def ask_classifier(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-explanation", r"\d%")
    visit.press("Classify", "Text", "a solid lamp")
    visit.expect_text(".ctxzoo-explanation .text", "a solid lamp")
    visit.press("Classify", "Text", " ")
    visit.expect_text(".toast-body", "expected a text")


def ask_tagger(visit: Visit) -> None:
    tagged = "[data-testid='highlighted-text'], .highlighted-text, .textfield"
    visit.expect_text(tagged, "own")  # the example is answered first
    visit.press("Tag", "Text", "an old lamp")
    visit.expect_text(tagged, r"an\s*[A-Z]+")


def ask_for_masked_word(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-bars", r"\d%")
    visit.press("Fill in", "Text with one [MASK]", "Nobody in [MASK] knows")
    visit.expect_text(".ctxzoo-text", r"Nobody in .+% knows")


def ask_for_items(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-bars", r"pot.*%|%.*pot")
    visit.press("What comes next?", "Items in the order of time", "spoon")
    visit.expect_text(".toast-body", "1 item that the model does not know")
    visit.expect_text(".gradio-container", "Nothing: the model knows none of these items")


def ask_for_events(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-bars", r"water.*%|%.*water")
    visit.press("What comes next?", "Events in the order of time", "water")
    visit.expect_text(".toast-body", "'water' is no event with a time")


def ask_chamber(visit: Visit) -> None:
    visit.expect_text(".gradio-container", "of 3 legislators are likelier")
    expect(visit.page.locator(".vega-embed canvas, .vega-embed svg").first).to_be_visible(timeout=PATIENCE)
    visit.press("How do they vote?", "Text of the bill", "")
    visit.expect_text(".toast-body", "neither the text of a bill")


def ask_for_music(visit: Visit) -> None:
    visit.press("Go on", "Steps to add", "4")
    visit.expect_text(".gradio-container", r"continued\s*\.mid")
    expect(visit.page.locator("img[src*='roll.png']").first).to_be_visible(timeout=PATIENCE)
    expect(visit.page.get_by_label("Play").first).to_be_visible(timeout=PATIENCE)


def ask_for_text(visit: Visit) -> None:
    visit.expect_text(".ctxzoo-bars", r"bridge.*%|%.*bridge")
    visit.press("Go on", "Beginning of a line", "the old road")
    visit.expect_text(".ctxzoo-text", "the old road .+")


def ask_for_numbers(visit: Visit) -> None:
    visit.expect_text(".gradio-container", "predicted price")
    visit.press("Predict")
    visit.expect_text(".gradio-container", "predicted price")


CHECKS: dict[str, Any] = {
    "question-answering": ask_reader,
    "text-classification": ask_classifier,
    "token-classification": ask_tagger,
    "fill-mask": ask_for_masked_word,
    "session-recommendation": ask_for_items,
    "next-event": ask_for_events,
    "vote-prediction": ask_chamber,
    "polyphonic-music": ask_for_music,
    "language-modelling": ask_for_text,
    "regression": ask_for_numbers,
}


def test_every_page_is_looked_at() -> None:
    assert set(CHECKS) == set(WRITERS)


@pytest.mark.parametrize(
    ("problem", "width"), [*((problem, WIDE) for problem in CHECKS), *((problem, NARROW) for problem in AT_BOTH_WIDTHS)]
)
def test_a_page(problem: str, width: int, addresses: dict[str, str], browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    visit = Visit(page, addresses[problem])
    CHECKS[problem](visit)
    folder = Path(os.environ.get("CTXZOO_SHOTS") or tmp_path)
    page.screenshot(path=folder / f"{problem}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (visit.errors, visit.foreign) == ([], [])
    page.close()
