"""Explanations as HTML: texts with their words highlighted, in one file without scripts or anything from outside."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ctxzoo.data.files import write_atomically
from ctxzoo.tasks.text_classification.explanation import Explanation, intensities, percent

MOST_OPEN_ROWS = 5  # with more, each opens on request
# Everything is below one class, so that the same part can stand in a notebook.
STYLE = """
.ctxzoo-explanation {
  --paper: #ffffff; --ink: #1b2127; --faint: #626c77; --line: #dde2e8; --bar: #1f5fa8; --mark: 245 158 11; --least: .08;
  color-scheme: light; color: var(--ink); background: var(--paper); max-width: 52rem; margin: 0 auto; padding: 1.5rem;
  font: 16px/1.5 system-ui, sans-serif; print-color-adjust: exact; -webkit-print-color-adjust: exact;
}
@media (prefers-color-scheme: dark) {
  .ctxzoo-explanation {
    --paper: #14181d; --ink: #e8ecf1; --faint: #97a2ae; --line: #313943; --bar: #5b9ee8;
    --mark: 160 84 8; --least: .18;
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
.ctxzoo-explanation .share { text-align: right; font-variant-numeric: tabular-nums; }
.ctxzoo-explanation .row { border-top: 1px solid var(--line); padding: .75rem 0; }
.ctxzoo-explanation summary { cursor: pointer; }
.ctxzoo-explanation .top { margin-left: .5rem; font-size: .875rem; color: var(--faint); }
.ctxzoo-explanation .top bdi { color: var(--ink); font-weight: 600; }
.ctxzoo-explanation .scale { display: flex; flex-wrap: wrap; gap: 0 .5rem; align-items: center; margin-top: .35rem; }
.ctxzoo-explanation .ramp {
  width: 5rem; height: .625rem; border-radius: .2rem;
  background: linear-gradient(to right, rgb(var(--mark) / var(--least)), rgb(var(--mark) / 1));
}
.ctxzoo-explanation .text {
  margin-top: .5rem; line-height: 1.75; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--faint);
}
.ctxzoo-explanation mark {
  color: var(--ink); border-radius: .2rem; padding: .1em 0;
  background: rgb(var(--mark) / calc(var(--least) + (1 - var(--least)) * var(--w)));
}
.ctxzoo-explanation .unread { text-decoration: line-through; }
"""


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
            *(_entry(number, one) for number, one in enumerate(explanations, start=1)),
            "</ol></nav>",
        ]
    for number, explanation in enumerate(explanations, start=1):
        parts += _article(number, explanation)
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
<title>Which words count</title>
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


def _entry(number: int, explanation: Explanation) -> str:
    start = " ".join(explanation.text[:200].split())
    shown = start if len(start) <= 60 else f"{start[:59]}…"
    return f'<li>{_verdict(explanation)}: <a href="#text-{number}"><bdi>{_escape(shown)}</bdi></a></li>'


def _article(number: int, explanation: Explanation) -> list[str]:
    name, rows = explanation.row_name, explanation.weights
    parts = [f'<article id="text-{number}">', f"<h2>{_verdict(explanation)}</h2>", _labels(explanation)]
    parts += [f'<p class="note">{note}</p>' for note in _notes(explanation)]
    if not explanation.offsets:
        return [*parts, _text(explanation), "</article>"]
    if len(rows) == 1:
        return [*parts, _mean("weight of each word", explanation, rows[0]), "</article>"]
    parts.append(_mean(f"mean over {len(rows)} {name}s", explanation, explanation.mean_weights()))
    opened = " open" if len(rows) <= MOST_OPEN_ROWS else ""
    for number, weights in enumerate(rows, start=1):
        parts.append(
            f'<details class="row"{opened}><summary><h3>{name} {number}</h3> {_top(explanation, weights)}</summary>'
            f"{_scale(explanation, weights)}{_text(explanation, weights, unread=False)}</details>"
        )
    return [*parts, "</article>"]


def _verdict(explanation: Explanation) -> str:
    return f"<bdi>{_escape(explanation.label)}</bdi> {explanation.score:.1%}"


def _labels(explanation: Explanation) -> str:
    ordered = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    lines = [
        f"<bdi>{_escape(label)}</bdi>"
        f'<div class="bar" aria-hidden="true"><span style="width:{100 * probability:.2f}%"></span></div>'
        f'<span class="share">{probability:.1%}</span>'
        for label, probability in ordered
    ]
    return "\n".join(['<div class="labels">', *lines, "</div>"])


def _notes(explanation: Explanation) -> list[str]:
    """Say what the colours mean, and what the model did not read."""
    notes = ["The model knows no word of this text."]
    if explanation.offsets:
        same = percent(explanation.uniform_weight)
        notes = [
            "The stronger the colour, the more a word counts. Each text below has a scale of its own, from its least "
            f"to its greatest weight; if all words counted alike, each would have {same}. Grey words without colour "
            "are unknown to the model and were not read."
        ]
    if explanation.num_ngrams:
        also = f"The model also read {explanation.num_ngrams:,} n-grams, which stand at no one place of the text; "
        if explanation.ngram_weight > 0:
            notes.append(f"{also}they have {percent(explanation.ngram_weight)} of the weight.")
        else:
            notes.append(f"{also}these weights are of words alone, and do not tell how much the n-grams decide.")
    if explanation.has_other_ways:
        notes.append(
            "Another part of the model reads all words and n-grams without these weights: a word without colour may "
            "still decide."
        )
    if explanation.num_cut_off:
        notes.append(
            f"It read the first {len(explanation.offsets):,} words that it knows; {explanation.num_cut_off:,} more "
            "behind them, in what is struck through, are beyond its limit."
        )
    return notes


def _mean(title: str, explanation: Explanation, weights: NDArray[np.float64]) -> str:
    heading = f"<h3>{title}</h3> {_top(explanation, weights)}"
    return f'<div class="row">{heading}{_scale(explanation, weights)}{_text(explanation, weights)}</div>'


def _top(explanation: Explanation, weights: NDArray[np.float64]) -> str:
    words = [f"<bdi>{_escape(word)}</bdi> {percent(weight)}" for word, weight in explanation.top_words(weights)]
    return f'<span class="top">{", ".join(words)}</span>'


def _scale(explanation: Explanation, weights: NDArray[np.float64]) -> str:
    if not intensities(weights).any():
        return '<div class="scale">all words count alike</div>'
    least, most = percent(float(weights.min())), percent(float(weights.max()))
    return f'<div class="scale">{least} <span class="ramp" aria-hidden="true"></span> {most}</div>'


def _text(explanation: Explanation, weights: NDArray[np.float64] | None = None, *, unread: bool = True) -> str:
    """Return the text as given, its words highlighted where there are weights; what is beyond the limit struck through.

    Without `unread` dots stand for that, so that a long text is on the page once and not once for each row.
    """
    colours = None if weights is None else intensities(weights)
    end = explanation.offsets[-1][1] if explanation.num_cut_off else len(explanation.text)
    parts = []
    begin = 0
    for piece, word in explanation.pieces():
        written = _escape(piece)
        if word is not None and weights is not None and colours is not None:
            title = percent(float(weights[word]))
            written = f'<mark style="--w:{colours[word]:.2f}" title="{title}">{written}</mark>'
        elif begin >= end and unread:
            written = f'<span class="unread">{written}</span>'
        elif begin >= end:
            written = " …"
        parts.append(written)
        begin += len(piece)
    return f'<div class="text" dir="auto" lang="">{"".join(parts)}</div>'


def _escape(text: str) -> str:
    # HTML has no NUL, and its only line break within text is the line feed.
    return html.escape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
