"""What the pages of all problems share: title, limits, the way of a question to its answer, errors in words."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from ctxzoo.data.notices import format_count, format_error_with_row_hint
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.hub.task_card import TaskCard

LONGEST_TEXT = 20_000  # characters that a page takes at once; `ctxzoo predict` takes any number
MOST_CHOICES = 10_000  # names in a list to choose from
STYLE = """
.gradio-container > main { width: 100% !important; max-width: 1180px !important; margin: 0 auto !important; }
.ctxzoo-bars {
  display: grid; grid-template-columns: fit-content(45%) 1fr auto; gap: .3rem .75rem; align-items: center;
  overflow-wrap: anywhere; padding: .25rem;
}
.ctxzoo-bars .bar { height: .625rem; border-radius: .2rem; background: var(--border-color-primary); overflow: hidden; }
.ctxzoo-bars .bar span { display: block; height: 100%; background: var(--primary-500); }
.ctxzoo-title { color: var(--block-label-text-color); font-size: var(--block-label-text-size); margin-bottom: .4rem; }
.ctxzoo-text { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.75; }
.ctxzoo-text mark { background: var(--primary-200); color: #111827; border-radius: .2rem; padding: .1em .25em; }
.ctxzoo-text mark small { margin-left: .4em; font-weight: 600; color: inherit; }
.ctxzoo-bars .number { text-align: right; font-variant-numeric: tabular-nums; }
"""


@dataclass(frozen=True)
class Page:
    """What the page of a problem asks and shows, and the function between the two.

    Attributes:
        inputs: Components that a user fills in, in the order of the arguments of `answer`. They hold an example.
        outputs: Components that show an answer, in the order in which `answer` returns their values.
        button: Button that asks for the answer.
        answer: Function from the values of `inputs` to a list of values of `outputs`; its ValueErrors are shown.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    button: gr.Button
    answer: Callable[..., list[Any]]


def get_title(checkpoint: str) -> str:
    """Return the name of a checkpoint folder or Hub id; of a folder `checkpoint` the name above it."""
    path = Path(checkpoint).resolve()
    return path.parent.name if path.name == "checkpoint" else path.name


def build_blocks(title: str, card: TaskCard, pipeline: Any, build_page: Callable[[], Page]) -> gr.Blocks:
    """Build the page of a checkpoint, which answers its example when it is opened.

    Args:
        title: Name of the checkpoint, the heading of the page.
        card: Card of the problem that it solves.
        pipeline: Checkpoint opened as a pipeline.
        build_page: Function that lays out the page of the problem between heading and limits.
    """
    with gr.Blocks(title=f"{title}: {card.title}", analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        gr.Markdown(f"# {html.escape(title)}\n{card.title[:1].upper()}{card.title[1:]}. {card.intended}")
        page = build_page()
        with gr.Accordion("What it is not for, and its limits", open=False):
            limits = [card.not_intended, *card.describe_limits(pipeline.model.config, {})]
            gr.Markdown("\n".join(f"- {line}" for line in limits))
    page.answer(*map(read_value, page.inputs))  # what only the first answer loads keeps no visitor waiting
    # gradio takes the values of several outputs as a list, and that of a single one as it is.
    answer = show_errors(page.answer if len(page.outputs) > 1 else lambda *values: page.answer(*values)[0])
    with blocks:
        typed = [one.submit for one in page.inputs if isinstance(one, gr.Textbox)]
        gr.on(
            [blocks.load, page.button.click, *typed],
            answer,
            list(page.inputs),
            list(page.outputs),
            show_progress="minimal",
            api_name="answer",
        )
    return blocks


def read_value(component: Any) -> Any:
    """Return the value that an input holds when the page is opened, as `Page.answer` gets it."""
    value = component.value
    if component.data_model is not None and value is not None:
        value = component.data_model.model_validate(value)
    return component.preprocess(value)


def show_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with mistakes of the user shown on the page in a line, and notes of readers as warnings."""

    @functools.wraps(function)
    def answer(*values: Any) -> Any:
        with collect_reading_notes() as notes:
            try:
                for value in values:
                    check_length(value)
                found = function(*values)
            except (OSError, ValueError, TypeError, ImportError) as error:
                raise gr.Error(html.escape(format_error_with_row_hint(error)), print_exception=False) from error
        for (_, change), number in notes.noted.items():
            gr.Warning(html.escape(format_count(number, change)))
        return found

    return answer


def check_length(value: Any) -> None:
    """Raise an error if a value is a text of more than `LONGEST_TEXT` characters.

    Raises:
        ValueError: it is; the message says how long it is.
    """
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(
            f"the text has {len(value):,} characters; a page takes {LONGEST_TEXT:,} at most: shorten it, or write it "
            "into a file for `ctxzoo predict`"
        )


def format_marked(title: str, before: str, marked: str, label: str, after: str = "") -> str:
    """Return HTML of a title and a text, a part of which is marked and carries a label."""
    label = f"<small>{html.escape(label)}</small>" if label else ""
    mark = f"<mark>{html.escape(marked)}{label}</mark>" if marked else ""
    text = f'<div class="ctxzoo-text">{html.escape(before)}{mark}{html.escape(after)}</div>'
    return f'<div class="ctxzoo-title">{html.escape(title)}</div>{text}'


def format_bars(title: str, values: Iterable[tuple[str, float]]) -> str:
    """Return HTML of a title, and of names and their probabilities, each as a bar, in the order in which they come."""
    rows = [
        f'<bdi>{html.escape(name)}</bdi><div class="bar"><span style="width:{100 * value:.2f}%"></span></div>'
        f'<span class="number">{value:.1%}</span>'
        for name, value in values
    ]
    return f'<div class="ctxzoo-title">{html.escape(title)}</div><div class="ctxzoo-bars">{"".join(rows)}</div>'


def build_choice(names: Sequence[str], label: str, **options: Any) -> gr.Dropdown:
    """Build a list to choose a name from, the first `MOST_CHOICES` of them; others can be typed."""
    cut = f" (the first {MOST_CHOICES:,} of {len(names):,}; others can be typed)" if len(names) > MOST_CHOICES else ""
    return gr.Dropdown(list(names[:MOST_CHOICES]), label=label + cut, allow_custom_value=True, **options)
