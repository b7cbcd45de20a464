"""What a classifier of texts makes of a text, word by word, and the page in HTML that shows it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.data.files import write_atomically
from ctxzoo.data.notices import format_count

Array = NDArray[np.float64]
MOST_LABELS = 8  # of more the most probable
# Everything is below one class, so that the same part can stand in a notebook.
STYLE = """
.ctxzoo-explanation {
  --paper: #ffffff; --ink: #1b2127; --faint: #626c77; --line: #dde2e8; --bar: #1f5fa8; --least: .08;
  --for: 59 130 246; --against: 245 158 11; --mark: 148 163 184;
  color-scheme: light; color: var(--ink); background: var(--paper); max-width: 52rem; margin: 0 auto; padding: 1.5rem;
  font: 16px/1.5 system-ui, sans-serif; print-color-adjust: exact; -webkit-print-color-adjust: exact;
}
@media (prefers-color-scheme: dark) {
  .ctxzoo-explanation {
    --paper: #14181d; --ink: #e8ecf1; --faint: #97a2ae; --line: #313943; --bar: #5b9ee8; --least: .18;
    --for: 37 84 180; --against: 160 84 8; --mark: 84 98 115;
    color-scheme: dark;
  }
}
.ctxzoo-explanation * { box-sizing: border-box; }
.ctxzoo-explanation h2 { font-size: 1.35rem; margin: 0 0 .75rem; color: inherit; }
.ctxzoo-explanation h3 { display: inline; font-size: 1rem; margin: 0; color: inherit; }
.ctxzoo-explanation article + article { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 2rem; }
.ctxzoo-explanation .note, .ctxzoo-explanation .scale { color: var(--faint); font-size: .875rem; }
.ctxzoo-explanation .note { margin: 0 0 1rem; }
.ctxzoo-explanation nav ol { margin: 0 0 2rem; padding-left: 1.75rem; }
.ctxzoo-explanation a { color: var(--bar); }
.ctxzoo-explanation .labels {
  display: grid; grid-template-columns: fit-content(40%) 1fr auto; gap: .2rem .75rem; align-items: center;
  margin: 0 0 1.5rem; font-size: .9375rem; overflow-wrap: anywhere;
}
.ctxzoo-explanation .bar { height: .625rem; background: var(--line); border-radius: .2rem; overflow: hidden; }
.ctxzoo-explanation .bar span { display: block; height: 100%; background: var(--bar); }
.ctxzoo-explanation .probability { text-align: right; font-variant-numeric: tabular-nums; }
.ctxzoo-explanation .row { border-top: 1px solid var(--line); padding: .75rem 0; }
.ctxzoo-explanation summary { cursor: pointer; }
.ctxzoo-explanation .top { margin-left: .5rem; font-size: .875rem; color: var(--faint); }
.ctxzoo-explanation .top bdi { color: var(--ink); font-weight: 600; }
.ctxzoo-explanation .scale { display: flex; flex-wrap: wrap; gap: 0 .5rem; align-items: center; margin-top: .35rem; }
.ctxzoo-explanation .ramp {
  width: 5rem; height: .625rem; border-radius: .2rem;
  background: linear-gradient(to right, rgb(var(--mark) / var(--least)), rgb(var(--mark) / 1));
}
.ctxzoo-explanation .ramp.signed {
  background: linear-gradient(to right, rgb(var(--against)), transparent, rgb(var(--for)));
}
.ctxzoo-explanation .for { --mark: var(--for); --least: 0; }
.ctxzoo-explanation .against { --mark: var(--against); --least: 0; }
.ctxzoo-explanation .key {
  color: var(--ink); background: rgb(var(--mark) / .7); border-radius: .2rem; padding: .1em .3em;
}
.ctxzoo-explanation .attention-note { border-top: 1px solid var(--line); margin: 0; padding: .75rem 0; }
.ctxzoo-explanation .text {
  margin-top: .5rem; line-height: 1.75; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--faint);
}
.ctxzoo-explanation mark {
  color: var(--ink); border-radius: .2rem; padding: .1em 0;
  background: rgb(var(--mark) / calc(var(--least) + (1 - var(--least)) * var(--w)));
}
.ctxzoo-explanation .unread { text-decoration: line-through; }
"""


@dataclass(frozen=True, eq=False)
class Explanation:
    """A text as a classifier reads it, with what each word adds to the logit of each label.

    Labels are in the model's order throughout. `bias` and the `contributions` of all words add up to the logits; of
    the linear part exactly, of the network but for the error of an integral over a few points. Words that are not in
    the vocabulary are among the words only where the model reads n-grams, which contain them.

    Attributes:
        text: Text that was explained.
        probabilities: Predicted probability of each label, by label name.
        logits: (labels,) logits of the classifier.
        offsets: Character offsets of each word in the text, from left to right: first character, and one after the
            last.
        is_known: (words,) boolean, whether each word is in the vocabulary.
        contributions: (labels, words) contribution of each word to each logit, negative if it speaks against the label;
            linear part and network together.
        bias: (labels,) logits that the model would give without any word.
        linear: (labels, words) contributions of the linear (wide) part alone; 0 without such a part.
        linear_bias: (labels,) bias of the linear (wide) part alone; 0 without such a part.
        attention: (rows, words) fraction of each head's or step's attention that each word gets; n-grams get the rest.
            None: the model has no attention.
        row_name: Kind of a row of `attention`: "head" or "step".
        num_ngrams: Number of hashed n-grams that were read, each contribution being divided evenly among the n-gram's
            words.
        num_cut_off: Number of known words beyond the tokenizer's limit, which were not read.
        threshold: Probability from which labels are given to the text, any number of them; None: it has one label.
    """

    text: str
    probabilities: dict[str, float]
    logits: Array
    offsets: list[tuple[int, int]]
    is_known: NDArray[np.bool_]
    contributions: Array
    bias: Array
    linear: Array
    linear_bias: Array
    attention: Array | None = None
    row_name: str = "head"
    num_ngrams: int = 0
    num_cut_off: int = 0
    threshold: float | None = None

    @property
    def labels(self) -> list[str]:
        """The labels that the text is given, the most probable first: one, or any number of them."""
        if self.threshold is None:
            return [self.label]
        given = [label for label, probability in self.probabilities.items() if probability >= self.threshold]
        return sorted(given, key=lambda label: -self.probabilities[label])

    @property
    def label(self) -> str:
        """The most probable label."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def score(self) -> float:
        """The probability of the most probable label."""
        return self.probabilities[self.label]

    @property
    def words(self) -> list[str]:
        """The words that were read, as they are written, from left to right."""
        return [self.text[begin:end] for begin, end in self.offsets]

    @property
    def no_known_word(self) -> bool:
        """Whether no word of the text is in the vocabulary, so that the label says nothing about it."""
        return not self.is_known.any()

    def contributions_to(self, label: str) -> Array:
        """Return what each word adds to the logit of a label, (words,).

        Raises:
            ValueError: the model has no such label.
        """
        labels = list(self.probabilities)
        if label not in labels:
            raise ValueError(f"label is {label!r}; expected one of {', '.join(map(repr, labels))}")
        row: Array = self.contributions[labels.index(label)]
        return row

    def split_text_into_pieces(self) -> Iterator[tuple[str, int | None]]:
        """Return the whole text in pieces, each with its number among the words, or None for what was not read."""
        end = 0
        for word, (begin, stop) in enumerate(self.offsets):
            if begin > end:
                yield self.text[end:begin], None
            yield self.text[begin:stop], word
            end = stop
        if end < len(self.text):
            yield self.text[end:], None

    def top_words(self, values: Array | None = None, count: int = 5) -> list[tuple[str, float]]:
        """Return the words of the greatest values, each once, in lower case.

        Args:
            values: (words,) values to rank words by, such as a row of `attention`; default: the contributions to
                `label`.
            count: Largest number of words to return.
        """
        values = self.contributions_to(self.label) if values is None else values
        value_of_word: dict[str, float] = {}
        for word in np.argsort(-values, kind="stable"):
            begin, end = self.offsets[word]
            value_of_word.setdefault(self.text[begin:end].lower(), float(values[word]))
            if len(value_of_word) == count:
                break
        return list(value_of_word.items())

    def to_json_dict(self) -> dict[str, Any]:
        """Return for JSON the probability of each label, each word with what it adds to each logit, and the bias."""
        labels = list(self.probabilities)
        words = [
            {"word": self.text[begin:end], "start": begin, "end": end, "known": known, "contributions": of_labels}
            for (begin, end), known, of_labels in zip(
                self.offsets,
                self.is_known.tolist(),
                (dict(zip(labels, column, strict=True)) for column in self.contributions.T.tolist()),
                strict=True,
            )
        ]
        bias = dict(zip(labels, self.bias.tolist(), strict=True))
        return {"probabilities": self.probabilities, "words": words, "bias": bias}

    def _repr_html_(self) -> str:
        """Return HTML that a notebook shows: the text, its words coloured by their contributions."""
        return explanation_html([self])


def explanation_html(explanations: Sequence[Explanation]) -> str:
    """Return the part of a page that shows texts, for `IPython.display.HTML` or a page of your own.

    Raises:
        ValueError: no explanation.
    """
    if not explanations:
        raise ValueError("nothing to show: give at least one explanation")
    parts = ['<div class="ctxzoo-explanation">', f"<style>{STYLE}</style>"]
    if len(explanations) > 1:
        parts += [
            "<nav><ol>",
            *(_render_contents_entry(number, one) for number, one in enumerate(explanations, start=1)),
            "</ol></nav>",
        ]
    for number, explanation in enumerate(explanations, start=1):
        parts += _render_article(number, explanation)
    return "\n".join([*parts, "</div>"])


def write_explanation_page(explanations: Sequence[Explanation], out: str | Path) -> None:
    """Write the page, atomically.

    Raises:
        ValueError: no explanation, or the name of the file does not end in .html.
    """
    if Path(out).suffix != ".html":
        raise ValueError(f"{str(out)!r}: pages are HTML files, give a name that ends in .html")
    page = f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Which words decided</title>
<style>
body {{ margin: 0; background: #ffffff; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181d; }} }}
</style>
</head>
<body>
{explanation_html(explanations)}
</body>
</html>
"""
    write_atomically(Path(out), page.encode())


def _render_contents_entry(number: int, explanation: Explanation) -> str:
    start = " ".join(explanation.text[:200].split())
    shown = start if len(start) <= 60 else f"{start[:59]}…"
    link = f'<a href="#text-{number}"><bdi>{_escape_html(shown)}</bdi></a>'
    return f"<li>{_render_predicted_label(explanation)}: {link}</li>"


def _render_article(number: int, explanation: Explanation) -> list[str]:
    parts = [
        f'<article id="text-{number}">',
        f"<h2>{_render_predicted_label(explanation)}</h2>",
        _render_probabilities(explanation),
    ]
    parts += [f'<p class="note">{note}</p>' for note in _write_notes(explanation)]
    if explanation.no_known_word:
        return [*parts, _render_text(explanation), "</article>"]
    by_probability = sorted(explanation.probabilities, key=lambda label: -explanation.probabilities[label])
    for label in by_probability[:MOST_LABELS]:
        contributions = explanation.contributions_to(label)
        top_words = _render_top_words(explanation, contributions, format_signed)
        title = f"<h3>for <bdi>{_escape_html(label)}</bdi></h3> {top_words}"
        scale = _render_contribution_scale(contributions)
        if label == explanation.label or label in explanation.labels:
            parts.append(f'<div class="row">{title}{scale}{_render_contributions(explanation, label)}</div>')
        else:
            text = _render_contributions(explanation, label, show_unread=False)
            parts.append(f'<details class="row"><summary>{title}</summary>{scale}{text}</details>')
    return [*parts, *_render_attention(explanation), "</article>"]


def _render_attention(explanation: Explanation) -> list[str]:
    """Return HTML of one collapsed section for each row of attention, in a colour of its own."""
    parts = []
    for number, weights in enumerate([] if explanation.attention is None else explanation.attention, start=1):
        top_words = _render_top_words(explanation, weights, format_percent)
        title = f"<h3>attention of {explanation.row_name} {number}</h3> {top_words}"
        marks = [
            f'<mark style="--w:{colour:.2f}" title="{format_percent(weight)}">'
            for colour, weight in zip(scale_from_minimum_to_maximum(weights), weights, strict=True)
        ]
        text = _render_text(explanation, marks, show_unread=False)
        parts.append(
            f'<details class="row"><summary>{title}</summary>{_render_attention_scale(weights)}{text}</details>'
        )
    if parts:
        note = "Attention tells where the model looked. What decided is above: the two often differ."
        parts = [f'<p class="note attention-note">{note}</p>', *parts]
    return parts


def _render_predicted_label(explanation: Explanation) -> str:
    parts = [f"<bdi>{_escape_html(label)}</bdi> {explanation.probabilities[label]:.1%}" for label in explanation.labels]
    return ", ".join(parts) or f"no label (most probable: <bdi>{_escape_html(explanation.label)}</bdi>)"


def _render_probabilities(explanation: Explanation) -> str:
    ordered = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    lines = [
        f"<bdi>{_escape_html(label)}</bdi>"
        f'<div class="bar" aria-hidden="true"><span style="width:{100 * probability:.2f}%"></span></div>'
        f'<span class="probability">{probability:.1%}</span>'
        for label, probability in ordered
    ]
    return "\n".join(['<div class="labels">', *lines, "</div>"])


def _write_notes(explanation: Explanation) -> list[str]:
    """Return lines on what the colours mean, and what the model did not read."""
    notes = []
    if explanation.threshold is not None:
        notes.append(
            f"A text has any number of labels here: those with a probability of {explanation.threshold:.0%} or more."
        )
    if explanation.no_known_word:
        notes.append(
            f"The model knows no word of this text, so nothing is coloured; {_describe_answer_source(explanation)}."
        )
    else:
        notes.append(
            '<span class="key for">Blue</span> words speak for the label, <span class="key against">orange</span> ones '
            "against it; the deeper the colour, the more. The number of a word is what it adds to the label's score, "
            "the logit; all of them, with what the model answers without words, add up to it. Grey words were not read."
        )
    if explanation.num_ngrams and not explanation.no_known_word:
        notes.append(
            f"The model also read {format_count(explanation.num_ngrams, 'n-grams')}. What each adds is shared out "
            "among its words."
        )
    if explanation.num_cut_off:
        notes.append(
            f"It read the first {format_count(int(explanation.is_known.sum()), 'words')} that it knows; "
            f"{explanation.num_cut_off:,} more behind them, in what is struck through, are beyond its limit."
        )
    return notes


def _describe_answer_source(explanation: Explanation) -> str:
    if explanation.num_ngrams:
        return f"it answers from {format_count(explanation.num_ngrams, 'n-grams')}"
    return "it answers what it answers to an empty text"


def _render_top_words(explanation: Explanation, values: Array, format_value: Callable[[float], str]) -> str:
    words = [f"<bdi>{_escape_html(word)}</bdi> {format_value(value)}" for word, value in explanation.top_words(values)]
    return f'<span class="top">{", ".join(words)}</span>'


def _render_contribution_scale(contributions: Array) -> str:
    if not scale_by_largest_magnitude(contributions).any():
        return '<div class="scale">no word adds anything</div>'
    most = float(np.abs(contributions).max())
    ramp = '<span class="ramp signed" aria-hidden="true"></span>'
    return f'<div class="scale">against {format_signed(-most)} {ramp} {format_signed(most)} for</div>'


def _render_attention_scale(weights: Array) -> str:
    if not scale_from_minimum_to_maximum(weights).any():
        return '<div class="scale">all words have the same attention</div>'
    least, most = format_percent(float(weights.min())), format_percent(float(weights.max()))
    return f'<div class="scale">{least} <span class="ramp" aria-hidden="true"></span> {most}</div>'


def _render_contributions(explanation: Explanation, label: str, *, show_unread: bool = True) -> str:
    values = explanation.contributions_to(label)
    colours = scale_by_largest_magnitude(values)
    marks = [
        f'<mark class="{"against" if colour < 0 else "for"}" style="--w:{abs(colour):.2f}" '
        f'title="{format_signed(value)}">'
        for colour, value in zip(colours, values, strict=True)
    ]
    return _render_text(explanation, marks, show_unread=show_unread)


def _render_text(explanation: Explanation, marks: Sequence[str] = (), *, show_unread: bool = True) -> str:
    """Return the text, its words within marks where there are any, and what is beyond the limit struck through.

    Without `show_unread` dots stand for that, so that a long text is on the page once and not once for each row.
    """
    end = explanation.offsets[-1][1] if explanation.num_cut_off else len(explanation.text)
    parts = []
    begin = 0
    for piece, word in explanation.split_text_into_pieces():
        markup = _escape_html(piece)
        if word is not None and marks:
            markup = f"{marks[word]}{markup}</mark>"
        elif begin >= end and show_unread:
            markup = f'<span class="unread">{markup}</span>'
        elif begin >= end:
            markup = " …"
        parts.append(markup)
        begin += len(piece)
    return f'<div class="text" dir="auto" lang="">{"".join(parts)}</div>'


def _escape_html(text: str) -> str:
    # HTML has no NUL, and its only line break within text is the line feed.
    return html.escape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def scale_from_minimum_to_maximum(weights: Array) -> Array:
    """Return (words,) from 0 for the least weight to 1 for the greatest; 0 throughout where all are the same."""
    if not weights.size:
        return weights
    least, most = weights.min(), weights.max()
    # Differences that are nothing but rounding of single precision would else look like an opinion.
    if most - least <= 1e-6 * most:
        return np.zeros_like(weights)
    scaled: Array = (weights - least) / (most - least)
    return scaled


def scale_by_largest_magnitude(contributions: Array) -> Array:
    """Return (words,) from -1 to 1: fractions of the greatest contribution, whatever its sign; 0 where all are 0."""
    most = np.abs(contributions).max(initial=0.0)
    scaled: Array = contributions / most if most > 1e-6 else np.zeros_like(contributions)
    return scaled


def format_percent(fraction: float) -> str:
    """Write a small fraction with three digits: 0.0123 -> "1.23%"."""
    if 0 < fraction < 1e-5:
        return "<0.001%"
    return f"{100 * fraction:#.3g}".rstrip(".") + "%" if fraction else "0%"


def format_signed(contribution: float) -> str:
    """Write a contribution with its sign: 0.0123 -> "+0.012", -0.5 -> "−0.500"."""
    return f"{contribution:+.3f}".replace("-", "\N{MINUS SIGN}")
