"""Explained texts: probabilities, attention, and what the page and the picture show of them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_lama import LamaForSequenceClassification, LamaModel
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.explanation import (
    Explanation,
    explanation_html,
    format_percent,
    format_signed,
    scale_by_largest_magnitude,
    scale_from_minimum_to_maximum,
    write_explanation_page,
)
from ctxzoo.tasks.text_classification.explanation_picture import MOST_PIECES, draw_explanation, draw_token_weights
from tests.models.cases_lama import SIZES

WORDS = ["the", "lamp", "is", "not", "solid", "script", "شاشة"]
HOSTILE = '<script>alert("x")</script> the lamp\'s &amp; </div> 🙂 شاشة جيدة\n\n\tis  NOT solid'


def lama(**changes: Any) -> LamaForSequenceClassification:
    torch.manual_seed(0)
    return LamaForSequenceClassification(LamaConfig(**{**SIZES, **changes})).eval()


def explained(text: str, **options: Any) -> Explanation:
    return explain_text(lama(), build_word_tokenizer(WORDS, **options), text)


class Page(HTMLParser):
    """The tags of a page, its texts, and the words that are highlighted in each of them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.marks: list[list[tuple[str, str, str, str]]] = []  # word, title, style, class
        self.unread: list[str] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "meta":
            return
        self._open.append((tag, dict(attrs)))
        if self._open[-1][1].get("class") == "text":
            self.texts.append("")
            self.marks.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(attributes.get("class") == "text" for _, attributes in self._open):
            self.texts[-1] += data
            tag, attributes = self._open[-1]
            if tag == "mark":
                self.marks[-1].append((data, *(str(attributes.get(name)) for name in ("title", "style", "class"))))
            elif attributes.get("class") == "unread":
                self.unread.append(data)


def test_attention_and_probabilities_are_the_models() -> None:
    model, tokenizer = lama(), build_word_tokenizer(WORDS, pre_tokenizer="english")
    found = explain_text(model, tokenizer, HOSTILE)
    inputs = tokenizer(HOSTILE, return_tensors="pt")
    with torch.inference_mode():
        expected = model.token_weights(**inputs)[0]
        probabilities = model(**inputs).logits[0].softmax(dim=-1)
    assert found.attention is not None
    np.testing.assert_allclose(found.attention, expected.numpy(), rtol=1e-6)
    assert found.attention.shape == (SIZES["num_heads"], 8)
    assert list(found.probabilities) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    np.testing.assert_allclose(list(found.probabilities.values()), probabilities.numpy(), rtol=1e-6)
    assert found.label == f"LABEL_{int(probabilities.argmax())}"
    assert found.score == max(found.probabilities.values())
    assert found.row_name == "head"


def test_offsets_are_those_of_the_text_as_given() -> None:
    found = explained(HOSTILE, pre_tokenizer="english")
    read = [HOSTILE[begin:end] for begin, end in found.offsets]
    assert read == ["script", "script", "the", "lamp", "شاشة", "is", "NOT", "solid"]
    pieces = list(found.split_text_into_pieces())
    assert "".join(piece for piece, _ in pieces) == HOSTILE
    assert [piece for piece, place in pieces if place is not None] == read
    assert [place for _, place in pieces if place is not None] == list(range(len(read)))


def test_the_limit_of_the_tokenizer_holds() -> None:
    found = explained("the big lamp is not solid", model_max_length=2)
    assert (found.offsets, found.num_cut_off) == ([(0, 3), (8, 12)], 3)
    page = Page(explanation_html([found]))
    written = explanation_html([found])
    assert len(page.marks) == 3 + 4  # labels and heads
    assert page.unread == [" is not solid"]
    assert written.count("not solid") == 1
    assert written.count(" …</div>") == 6
    assert "3 more" in written
    assert [word for word, *_ in page.marks[0]] == ["the", "lamp"]


def test_ngrams_have_attention_of_their_own() -> None:
    tokenizer = build_word_tokenizer(WORDS, ngram_buckets=20, ngram_order=2)
    torch.manual_seed(0)
    config = TextBaselineConfig(vocab_size=tokenizer.num_ids, word_dim=6, encoder="mean", num_labels=3)
    model = TextBaselineForSequenceClassification(config).eval()
    found = explain_text(model, tokenizer, "the big lamp")
    assert (found.words, found.is_known.tolist()) == (["the", "big", "lamp"], [True, False, True])
    assert found.num_ngrams == 2
    np.testing.assert_allclose(found.attention, [[0.25, 0, 0.25]])
    assert "also read 2 n-grams" in explanation_html([found])


def test_steps_are_called_steps() -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "word_dim": 6, "position_dim": 2, "num_steps": 3}
    model = ContextualizerForSequenceClassification(ContextualizerConfig(**sizes)).eval()
    found = explain_text(model, build_word_tokenizer(WORDS), "the lamp is solid")
    assert found.attention is not None
    assert (found.row_name, found.attention.shape) == ("step", (3, 4))
    assert "attention of step 3" in explanation_html([found])


def test_a_text_without_known_words(tmp_path: Path) -> None:
    found = explained("nothing <b>known</b>\nhere")
    assert (found.offsets, found.contributions.shape, found.no_known_word) == ([], (3, 0), True)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    page = Page(explanation_html([found]))
    assert page.texts == ["nothing <b>known</b>\nhere"]
    assert "The model knows no word of this text, so nothing is coloured" in explanation_html([found])
    draw_explanation(found, tmp_path / "out.png")


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (lama(), " \n", r"text is ' \\n'; expected a text"),
        (
            LamaModel(LamaConfig(**SIZES)).eval(),
            "the",
            "a LamaModel gives a text no label; expected a classifier of texts",
        ),
        (lama().train(), "the", r"training mode.*call model.eval\(\)"),
    ],
)
def test_what_cannot_be_explained(model: Any, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explain_text(model, build_word_tokenizer(WORDS), text)


def test_a_notebook_shows_the_words_with_their_weights() -> None:
    found = explained("The lamp, it is solid!")
    assert found.words == [found.text[begin:end] for begin, end in found.offsets] != []
    assert found.top_words(count=2) == found.top_words(found.contributions_to(found.label), 2)
    assert found._repr_html_() == explanation_html([found])


def test_the_page_colours_contributions_by_their_sign_and_shows_attention_apart() -> None:
    found = explained(HOSTILE, pre_tokenizer="english")
    page = Page(explanation_html([found]))
    assert "script" not in page.tags
    assert page.texts == [HOSTILE] * (3 + 4)  # labels and heads
    by_probability = sorted(found.probabilities, key=lambda label: -found.probabilities[label])
    for marks, label in zip(page.marks, by_probability, strict=False):
        values = found.contributions_to(label)
        assert [word for word, *_ in marks] == found.words
        assert [title for _, title, *_ in marks] == [format_signed(value) for value in values]
        assert [kind for *_, kind in marks] == ["against" if value < 0 else "for" for value in values]
        shown = [float(style.removeprefix("--w:")) for _, _, style, _ in marks]
        np.testing.assert_allclose(shown, np.abs(values) / np.abs(values).max(), atol=0.006)
    assert found.attention is not None
    for marks, weights in zip(page.marks[3:], found.attention, strict=True):
        assert [(word, title, kind) for word, title, _, kind in marks] == [
            (word, format_percent(weight), "None") for word, weight in zip(found.words, weights, strict=True)
        ]
        shown = [float(style.removeprefix("--w:")) for _, _, style, _ in marks]
        np.testing.assert_allclose(shown, scale_from_minimum_to_maximum(weights), atol=0.006)
        assert (min(shown), max(shown)) == (0, 1)


def test_a_page_of_several_texts_is_one_whole_file(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    texts = [HOSTILE, "the lamp", "unknown\r\nwords\ronly\0"]
    write_explanation_page([explained(text) for text in texts], out)
    source = out.read_bytes().decode()
    page = Page(source)
    assert source.startswith("<!doctype html>")
    assert {page.texts[0], page.texts[7], page.texts[14]} == {HOSTILE, "the lamp", "unknown\nwords\nonly\ufffd"}
    assert not {"script", "link", "img", "b"} & page.tags
    assert not re.search(r"https?:|url\(|@import", source)
    assert all(source.count(f'"#text-{number}"') == 1 == source.count(f'id="text-{number}"') for number in (1, 2, 3))
    assert list(tmp_path.iterdir()) == [out]


def test_labels_are_escaped_and_all_there() -> None:
    model = lama()
    model.config.id2label = {0: "<i>", 1: "b&", 2: "شاشة"}
    written = explanation_html([explain_text(model, build_word_tokenizer(WORDS), "the lamp")])
    for label in ("&lt;i&gt;", "b&amp;", "شاشة"):
        assert f"<bdi>{label}</bdi>" in written
    assert "<i>" not in written


def test_files_that_are_refused_leave_nothing(tmp_path: Path) -> None:
    found = explained("the lamp")
    with pytest.raises(ValueError, match=r"ends in \.html"):
        write_explanation_page([found], tmp_path / "page.txt")
    with pytest.raises(ValueError, match=r"ends in \.png"):
        draw_explanation(found, tmp_path / "page.html")
    with pytest.raises(ValueError, match="nothing to show"):
        write_explanation_page([], tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_intensities_show_small_differences_but_not_rounding() -> None:
    np.testing.assert_allclose(scale_from_minimum_to_maximum(np.array([0.0101, 0.0100, 0.0102])), [0.5, 0, 1])
    np.testing.assert_array_equal(scale_from_minimum_to_maximum(np.array([0.1, 0.1 + 1e-9])), [0, 0])
    assert scale_from_minimum_to_maximum(np.zeros(0)).shape == (0,)


def test_signed_colours_are_fractions_of_the_greatest_contribution() -> None:
    np.testing.assert_allclose(scale_by_largest_magnitude(np.array([0.5, -2.0, 0.0])), [0.25, -1, 0])
    np.testing.assert_array_equal(scale_by_largest_magnitude(np.array([1e-9, -1e-8])), [0, 0])
    assert (format_signed(0.01234), format_signed(-0.5)) == ("+0.012", "−0.500")


def test_top_words_are_each_named_once() -> None:
    found = explained("the lamp is The lamp")
    assert found.top_words(np.array([0.1, 0.2, 0.15, 0.3, 0.25]), 2) == [("the", 0.3), ("lamp", 0.25)]


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0%"), (1.0, "100%"), (0.0280, "2.80%"), (0.5, "50.0%"), (1e-9, "<0.001%")]
)
def test_percentages(share: float, shown: str) -> None:
    assert format_percent(share) == shown


def test_the_picture_shows_words_in_two_colours(tmp_path: Path, drawn: list[Figure]) -> None:
    text = "the big $lamp_ is\nnot solid"
    found = explained(text)
    draw_explanation(found, tmp_path / "out.png", most_labels=2)
    (axes,) = drawn[0].axes
    shown = [label.get_text() for label in axes.texts]
    best = sorted(found.probabilities, key=lambda label: -found.probabilities[label])[:2]
    assert [title for title in shown if title.startswith("for ")] == [f"for {label}" for label in best]
    assert [shown.count(word) for word in ("the", "big", "$lamp_", "is", "not", "solid")] == [2] * 6
    boxes = [patch for patch in axes.patches if isinstance(patch, Rectangle)][6:]  # behind the bars of three labels
    assert len(boxes) == 2 * len(found.offsets)
    for label, of_label in zip(best, (boxes[:4], boxes[4:]), strict=True):
        redness = [box.get_facecolor()[0] - box.get_facecolor()[2] for box in of_label]  # orange, not blue
        np.testing.assert_array_equal(np.sign(redness), -np.sign(found.contributions_to(label)))
    width = drawn[0].get_size_inches()[0]
    assert all(0 < box.get_x() < box.get_x() + box.get_width() < width for box in boxes)
    assert boxes[2].get_y() > boxes[1].get_y()  # the line break
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_a_long_text_ends(tmp_path: Path, drawn: list[Figure]) -> None:
    draw_explanation(explained("the lamp unknown " * 400), tmp_path / "out.png", most_labels=1)
    shown = [label.get_text() for label in drawn[0].axes[0].texts]
    assert shown[-1] == "…"
    assert sum(word in ("the", "lamp", "unknown") for word in shown) == MOST_PIECES
    assert drawn[0].get_size_inches()[1] < 20


def test_weights_stand_under_their_words(tmp_path: Path, drawn: list[Figure]) -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    draw_token_weights(weights, ["a", "$x_", "film"], tmp_path / "w.png", title="label: good")
    axes = drawn[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "$x_", "film"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2"]
    assert [text.get_text() for text in axes.texts] == ["10", "20", "70", "50", "25", "25"]


@pytest.mark.parametrize(("shape", "words"), [((2, 3), 2), ((3,), 3), ((2, 0), 0)])
def test_weights_that_do_not_fit(tmp_path: Path, shape: tuple[int, ...], words: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        draw_token_weights(np.zeros(shape), ["a"] * words, tmp_path / "w.png")
