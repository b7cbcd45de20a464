"""The functions behind the pages of `ctxzoo app`: what the page of every problem answers, and to which mistakes."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pandas as pd
import pytest

from ctxzoo.app.frame import LONGEST_TEXT, read_value
from ctxzoo.checkpoints import build_app
from ctxzoo.tasks import PROBLEMS, get_problem
from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi
from ctxzoo.tasks.polyphonic_music.page import SAMPLE_RATE, STEP_SECONDS, synthesize
from ctxzoo.tasks.polyphonic_music.rolls import LOWEST_PITCH
from tests.support.tiny_checkpoint import CONTEXT, QUESTION
from tests.support.tiny_checkpoints import WRITERS


class OpenPages:
    """The pages of tiny checkpoints, each built once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blocks: dict[str, gr.Blocks] = {}

    def open(self, problem: str) -> Any:
        """The function of the page of a problem, with `inputs` and `outputs`."""
        if problem not in self.blocks:
            self.blocks[problem] = build_app(WRITERS[problem](self.folder / problem))
        (found,) = (one for one in self.blocks[problem].fns.values() if one.api_name == "answer")
        return found

    def ask(self, problem: str, *values: Any) -> list[Any]:
        """What the page answers to these inputs; those that are left out hold the example."""
        page = self.open(problem)
        found = page.fn(*values, *map(read_value, page.inputs[len(values) :]))
        return list(found) if len(page.outputs) > 1 else [found]

    def ask_wrongly(self, problem: str, *values: Any) -> str:
        """The message that the page shows instead of an answer."""
        with pytest.raises(gr.Error) as caught:
            self.ask(problem, *values)
        return html.unescape(str(caught.value.message))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> OpenPages:
    return OpenPages(tmp_path_factory.mktemp("pages"))


def test_every_problem_has_a_page() -> None:
    assert {name for name in PROBLEMS if get_problem(name).page_at is not None} == set(WRITERS)


def test_a_reader_marks_the_answer_in_its_text(pages: OpenPages) -> None:
    marked, note, rows = pages.ask("question-answering", QUESTION, CONTEXT.replace("it", "<i>"))
    best = html.escape(rows[0][0])
    assert f"<mark>{best}<small>{rows[0][1]}</small></mark>" in marked
    assert "<i>" not in marked, "the text is shown as it is, not as HTML"
    assert "no-answer score" in note
    assert "holds no words" in pages.ask_wrongly("question-answering", "", CONTEXT)


def test_a_classifier_shows_every_label_and_what_decided(pages: OpenPages) -> None:
    (explanation,) = pages.ask("text-classification", "the lamp is quite solid")
    assert explanation.count('class="probability"') == 3
    assert "solid</mark>" in explanation
    (unknown,) = pages.ask("text-classification", "completely unheard")
    assert "knows no word of this text" in unknown
    assert pages.ask_wrongly("text-classification", " ")


def test_a_tagger_tags_every_word(pages: OpenPages) -> None:
    pieces, rows = pages.ask("token-classification", "The lamp shines .")
    assert [word for word, _ in pieces] == [row[0] for row in rows] == ["The", "lamp", "shines", "."]
    assert pages.ask_wrongly("token-classification", "\n") == "the text is empty; expected words to tag"


def test_a_masked_word_is_filled_in(pages: OpenPages) -> None:
    filled, words = pages.ask("fill-mask", "The [MASK] stands in town.")
    assert words.count('class="number"') == 5
    assert filled.index("The ") < filled.index("<mark>") < filled.index(" stands in town.")
    assert "has 0 [MASK]; expected one" in pages.ask_wrongly("fill-mask", "no mask at all")


def test_a_session_is_continued_and_unknown_items_are_told(pages: OpenPages, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr(gr, "Warning", warned.append)
    (found,) = pages.ask("session-recommendation", "tea\n\ncup\n")
    assert found.count('class="number"') == 4
    assert warned == []
    (nothing,) = pages.ask("session-recommendation", "spoon\nfork")
    assert nothing == "Nothing: the model knows none of these items."
    assert warned[0] == "2 items that the model does not know, left out of what is read"
    assert "there are no items" in pages.ask_wrongly("session-recommendation", " ")


def test_a_history_of_events_is_continued(pages: OpenPages) -> None:
    (found,) = pages.ask("next-event", "water @ 0\nfeed @ 5")
    assert found.count('class="number"') == 3
    assert "'feed' is no event with a time" in pages.ask_wrongly("next-event", "water @ 0\nfeed")
    (append,) = (one for one in pages.blocks["next-event"].fns.values() if one.api_name != "answer")
    assert append.fn("water @ 0", "trim") == ["water @ 0\ntrim @ 5", None]


def test_a_chamber_votes(pages: OpenPages) -> None:
    summary, plotted, table, topics = pages.ask("vote-prediction", "the old bridge")
    assert "of 3** legislators" in summary
    assert set(plotted["legislator"]) == {"Ada", "Ben", "Cyd"}
    assert list(table["yea"]) == sorted(table["yea"], reverse=True)
    assert topics.count('class="number"') == 3
    on_topic = pages.ask("vote-prediction", "the old bridge", "", pages.open("vote-prediction").inputs[2].choices[2][0])
    assert not np.allclose(on_topic[1]["ideal point"], plotted["ideal point"])
    assert "'S. 9' was not in the training" in pages.ask_wrongly("vote-prediction", "the old bridge", "S. 9")


def test_a_piece_is_continued_heard_and_seen(pages: OpenPages) -> None:
    sound, picture, midi = pages.ask("polyphonic-music", None, 2, 5, 1.0, 7)
    rate, wave = sound
    assert len(wave) == (2 + 5) * round(STEP_SECONDS * rate)
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert len(read_midi(midi, Grid())) <= 7
    again = pages.ask("polyphonic-music", midi, 2, 5, 1.0, 7)
    assert len(again[0][1]) == len(wave)
    broken = Path(midi).with_name("broken.mid")
    broken.write_bytes(b"MThd")
    assert "no whole MIDI file" in pages.ask_wrongly("polyphonic-music", str(broken))


def test_sound_has_the_pitch_of_its_key() -> None:
    tuning_fork = 69 - LOWEST_PITCH
    wave = synthesize([[tuning_fork]] * 8 + [[]] * 2)
    spectrum = np.abs(np.fft.rfft(wave))
    assert np.fft.rfftfreq(len(wave), 1 / SAMPLE_RATE)[spectrum.argmax()] == pytest.approx(440, abs=1)
    assert not wave[-round(2 * STEP_SECONDS * SAMPLE_RATE) :].any()


def test_a_text_is_continued(pages: OpenPages) -> None:
    text, likely = pages.ask("language-modelling", "the old", 5, 1.0, 0)
    assert "the old <mark>" in text
    shown = [float(part.partition("%")[0]) for part in likely.split('class="number">')[1:]]
    assert shown == sorted(shown, reverse=True)
    assert pages.ask("language-modelling", "the old", 5, 1.0, 0)[0] == text


def test_numbers_are_predicted_for_a_table(pages: OpenPages, tmp_path: Path) -> None:
    rows = pd.DataFrame({"height": [1.0, 2.0], "width": ["2.5", "3"]})
    (table,) = pages.ask("regression", rows)
    assert list(table) == ["predicted price", "height", "width"]
    assert table["predicted price"].notna().all()
    assert "no column 'width'" in pages.ask_wrongly("regression", rows.rename(columns={"width": "weight"}))
    assert "no finite number in 'width'" in pages.ask_wrongly("regression", rows.assign(width="wide"))
    (read,) = (one for one in pages.blocks["regression"].fns.values() if one.api_name != "answer")
    (tmp_path / "rows.csv").write_text("height,width\n1,2\n")
    assert list(read.fn(str(tmp_path / "rows.csv"))) == ["height", "width"]
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(gr.Error, match=r"empty\.csv"):
        read.fn(str(tmp_path / "empty.csv"))


def test_a_text_that_is_too_long_is_refused_in_words(pages: OpenPages) -> None:
    assert "the text has 20,001 characters" in pages.ask_wrongly("text-classification", "x" * (LONGEST_TEXT + 1))


def test_a_checkpoint_of_a_problem_without_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    problem = get_problem("language-modelling")
    monkeypatch.setattr(type(problem), "page_at", None)
    with pytest.raises(ValueError, match="language-modelling has no page"):
        build_app(WRITERS["language-modelling"](tmp_path / "model"))
