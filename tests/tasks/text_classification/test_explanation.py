"""Texts with the weights of their words: what is computed, and what the page and the picture show of it."""

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
from ctxzoo.tasks.text_classification.explanation import Explanation, explain_text, intensities, percent
from ctxzoo.tasks.text_classification.explanation_page import explanation_html, write_explanation_page
from ctxzoo.tasks.text_classification.explanation_picture import MOST_PIECES, draw_explanation, plot_token_weights
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
        self.marks: list[list[tuple[str, str, str]]] = []  # word, title, style
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
                self.marks[-1].append((data, str(attributes["title"]), str(attributes["style"])))
            elif attributes.get("class") == "unread":
                self.unread.append(data)


def test_weights_and_probabilities_are_the_models() -> None:
    model, tokenizer = lama(), build_word_tokenizer(WORDS, cutter="english")
    found = explain_text(model, tokenizer, HOSTILE)
    inputs = tokenizer(HOSTILE, return_tensors="pt")
    with torch.inference_mode():
        expected = model.token_weights(**inputs)[0]
        probabilities = model(**inputs).logits[0].softmax(dim=-1)
    np.testing.assert_allclose(found.weights, expected.numpy(), rtol=1e-6)
    assert found.weights.shape == (SIZES["num_heads"], 8)
    assert list(found.probabilities) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    np.testing.assert_allclose(list(found.probabilities.values()), probabilities.numpy(), rtol=1e-6)
    assert found.label == f"LABEL_{int(probabilities.argmax())}"
    assert found.score == max(found.probabilities.values())
    assert found.row_name == "head"
    np.testing.assert_allclose(found.mean_weights(), found.weights.mean(axis=0))
    assert found.uniform_weight == 1 / 8


def test_offsets_are_those_of_the_text_as_given() -> None:
    found = explained(HOSTILE, cutter="english")
    read = [HOSTILE[begin:end] for begin, end in found.offsets]
    assert read == ["script", "script", "the", "lamp", "شاشة", "is", "NOT", "solid"]
    pieces = list(found.pieces())
    assert "".join(piece for piece, _ in pieces) == HOSTILE
    assert [piece for piece, place in pieces if place is not None] == read
    assert [place for _, place in pieces if place is not None] == list(range(len(read)))


def test_the_limit_of_the_tokenizer_holds() -> None:
    found = explained("the big lamp is not solid", model_max_length=2)
    assert (found.offsets, found.num_cut_off) == ([(0, 3), (8, 12)], 3)
    page = Page(explanation_html([found]))
    written = explanation_html([found])
    assert len(page.marks) == 5  # the mean and four heads
    assert page.unread == [" is not solid"]
    assert written.count("not solid") == 1
    assert written.count(" …</div>") == 4
    assert "3 more" in written
    assert [word for word, _, _ in page.marks[0]] == ["the", "lamp"]


def test_ngrams_stand_nowhere_in_the_text() -> None:
    tokenizer = build_word_tokenizer(WORDS, ngram_buckets=20, ngram_order=2)
    torch.manual_seed(0)
    config = TextBaselineConfig(vocab_size=tokenizer.num_ids, word_dim=6, encoder="mean", num_labels=3)
    model = TextBaselineForSequenceClassification(config).eval()
    found = explain_text(model, tokenizer, "the big lamp")
    assert found.offsets == [(0, 3), (8, 12)]
    assert found.num_ngrams == 2
    np.testing.assert_allclose(found.weights, [[0.25, 0.25]])
    written = explanation_html([found])
    assert "all words count alike" in written
    assert "50.0% of the weight" in written
    assert "weight of each word" in written  # one row, no mean
    only = explain_text(model, tokenizer, "big new")
    assert (only.offsets, only.num_ngrams) == ([], 1)
    assert "knows no word" in explanation_html([only])


def test_ngrams_that_the_attention_does_not_see_are_not_said_to_weigh_nothing(tmp_path: Path) -> None:
    tokenizer = build_word_tokenizer(WORDS, ngram_buckets=8, ngram_order=2)
    model = lama(vocab_size=tokenizer.num_ids, linear_mean=True, ngram_buckets=8)
    found = explain_text(model, tokenizer, "the lamp is solid")
    assert (len(found.offsets), found.num_ngrams, found.ngram_weight, found.has_other_ways) == (4, 3, 0, True)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-6)
    assert found.uniform_weight == 1 / 4  # of the words, among which the heads share out their weights
    written = explanation_html([found])
    assert "25.0%" in written
    assert "0% of the weight" not in written
    assert "also read 3 n-grams" in written
    assert "do not tell how much the n-grams decide" in written
    assert "a word without colour may still decide" in written
    for plain in (lama(), lama(append_pooled=True)):
        other = explain_text(plain, build_word_tokenizer(WORDS), "the lamp")
        assert other.has_other_ways == plain.config.append_pooled
        assert ("may still decide" in explanation_html([other])) == plain.config.append_pooled
    draw_explanation(found, tmp_path / "out.png")


def test_steps_are_called_steps() -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "word_dim": 6, "position_dim": 2, "num_steps": 3}
    model = ContextualizerForSequenceClassification(ContextualizerConfig(**sizes)).eval()
    found = explain_text(model, build_word_tokenizer(WORDS), "the lamp is solid")
    assert (found.row_name, found.weights.shape) == ("step", (3, 4))
    written = explanation_html([found])
    assert "mean over 3 steps" in written
    assert '<details class="row" open>' in written  # few


def test_a_text_without_known_words(tmp_path: Path) -> None:
    found = explained("nothing <b>known</b>\nhere")
    assert (found.offsets, found.weights.shape) == ([], (4, 0))
    assert sum(found.probabilities.values()) == pytest.approx(1)
    page = Page(explanation_html([found]))
    assert page.texts == ["nothing <b>known</b>\nhere"]
    assert "The model knows no word of this text." in explanation_html([found])
    draw_explanation(found, tmp_path / "out.png")


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (lama(), " \n", r"text is ' \\n'; expected a text"),
        (LamaModel(LamaConfig(**SIZES)).eval(), "the", "a LamaModel cannot say how much each word counts"),
        (lama().train(), "the", r"training mode.*call model.eval\(\)"),
    ],
)
def test_what_cannot_be_explained(model: Any, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explain_text(model, build_word_tokenizer(WORDS), text)


def test_a_notebook_shows_the_words_with_their_weights() -> None:
    found = explained("The lamp, it is solid!")
    assert found.words == [found.text[begin:end] for begin, end in found.offsets] != []
    assert found.top_words(count=2) == found.top_words(found.mean_weights(), 2)
    assert found._repr_html_() == explanation_html([found])


def test_the_page_shows_the_text_and_its_weights() -> None:
    found = explained(HOSTILE, cutter="english")
    page = Page(explanation_html([found]))
    assert "script" not in page.tags
    assert page.texts == [HOSTILE] * 5  # the mean and four heads
    for marks, weights in zip(page.marks, [found.mean_weights(), *found.weights], strict=True):
        assert [word for word, _, _ in marks] == [HOSTILE[begin:end] for begin, end in found.offsets]
        assert [title for _, title, _ in marks] == [percent(weight) for weight in weights]
        shown = [float(style.removeprefix("--w:")) for _, _, style in marks]
        np.testing.assert_allclose(shown, intensities(weights), atol=0.006)
        assert (min(shown), max(shown)) == (0, 1)


def test_a_page_of_several_texts_is_one_whole_file(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    texts = [HOSTILE, "the lamp", "unknown\r\nwords\ronly\0"]
    write_explanation_page([explained(text) for text in texts], out)
    source = out.read_bytes().decode()
    page = Page(source)
    assert source.startswith("<!doctype html>")
    assert {page.texts[0], page.texts[5], page.texts[10]} == {HOSTILE, "the lamp", "unknown\nwords\nonly\ufffd"}
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
    np.testing.assert_allclose(intensities(np.array([0.0101, 0.0100, 0.0102])), [0.5, 0, 1])
    np.testing.assert_array_equal(intensities(np.array([0.1, 0.1 + 1e-9])), [0, 0])
    assert intensities(np.zeros(0)).shape == (0,)


def test_top_words_are_each_named_once() -> None:
    found = explained("the lamp is The lamp")
    assert found.top_words(np.array([0.1, 0.2, 0.15, 0.3, 0.25]), 2) == [("the", 0.3), ("lamp", 0.25)]


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0%"), (1.0, "100%"), (0.0280, "2.80%"), (0.5, "50.0%"), (1e-9, "<0.001%")]
)
def test_percentages(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_the_picture_shows_words_and_colours(tmp_path: Path, drawn: list[Figure]) -> None:
    text = "the big $lamp_ is\nnot solid"
    found = explained(text)
    draw_explanation(found, tmp_path / "out.png", most_rows=2)
    (axes,) = drawn[0].axes
    shown = [label.get_text() for label in axes.texts]
    heads = [title for title in shown if re.fullmatch(r"head \d", title)]
    ranges = np.ptp(found.weights, axis=1)
    assert {int(title[-1]) - 1 for title in heads} == set(np.argsort(-ranges)[:2].tolist())
    assert "mean over 4 heads" in shown
    assert [shown.count(word) for word in ("the", "big", "$lamp_", "is", "not", "solid")] == [3] * 6
    boxes = [patch for patch in axes.patches if isinstance(patch, Rectangle)][6:]  # behind the bars of three labels
    assert len(boxes) == 3 * len(found.offsets)
    deepest = np.argmin([box.get_facecolor()[2] for box in boxes[:4]])
    assert deepest == found.mean_weights().argmax()
    width = drawn[0].get_size_inches()[0]
    assert all(0 < box.get_x() < box.get_x() + box.get_width() < width for box in boxes)
    assert boxes[2].get_y() > boxes[1].get_y()  # the line break
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_a_long_text_ends(tmp_path: Path, drawn: list[Figure]) -> None:
    draw_explanation(explained("the lamp unknown " * 400), tmp_path / "out.png", most_rows=0)
    shown = [label.get_text() for label in drawn[0].axes[0].texts]
    assert shown[-1] == "…"
    assert sum(word in ("the", "lamp", "unknown") for word in shown) == MOST_PIECES
    assert drawn[0].get_size_inches()[1] < 20


def test_weights_stand_under_their_words(tmp_path: Path, drawn: list[Figure]) -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    plot_token_weights(weights, ["a", "$x_", "film"], tmp_path / "w.png", title="label: good")
    axes = drawn[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "$x_", "film"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2"]
    assert [text.get_text() for text in axes.texts] == ["10", "20", "70", "50", "25", "25"]


@pytest.mark.parametrize(("shape", "words"), [((2, 3), 2), ((3,), 3), ((2, 0), 0)])
def test_weights_that_do_not_fit(tmp_path: Path, shape: tuple[int, ...], words: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        plot_token_weights(np.zeros(shape), ["a"] * words, tmp_path / "w.png")
