"""The pages of sequences: the items of a session and what comes next, or events at times and the next one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page, build_choice, format_bars
from ctxzoo.tasks.sequences.kinds import EVENTS, HISTORIES, ITEMS, SESSIONS, TIMES, SequenceKind
from ctxzoo.tasks.sequences.problem import AT, NEXT_EVENT, SESSION_RECOMMENDATION

SHOWN = 10  # of what comes next


def build_session_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out the items of a session beside those that come next."""
    return _lay_out(SESSIONS, pipeline, [str(item) for item in example["history"]], recommend_items)


def build_event_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out the events of a history, with their times, beside those that come next."""
    lines = [_format_event(*pair) for pair in zip(example["history"], example[TIMES], strict=True)]
    return _lay_out(HISTORIES, pipeline, lines, predict_events)


def _lay_out(kind: SequenceKind, pipeline: Any, lines: list[str], answer: Any) -> Page:
    """Lay out lines of a sequence, a list of names that are put behind them, and what comes next."""
    names = pipeline.model.config.get_row_names()
    form = f": name {AT} time" if kind is HISTORIES else ""
    with gr.Row():
        with gr.Column():
            history = gr.Textbox(
                "\n".join(lines), label=f"{kind.things.capitalize()} in the order of time, one a line{form}", lines=6
            )
            choice = build_choice(names, f"Add one of {len(names):,} {kind.things}", value=None)
            button = gr.Button("What comes next?", variant="primary")
        with gr.Column():
            found = gr.HTML(container=True)
    choice.input(partial(_append_line, kind, pipeline.model.config), [history, choice], [history, choice])
    return Page([history], [found], button, partial(answer, pipeline))


def recommend_items(pipeline: Any, text: str) -> list[Any]:
    """Return HTML of the items that come next after those of the lines.

    Raises:
        ValueError: no line.
    """
    (items,) = SESSION_RECOMMENDATION.parse_history(_split_lines(text, SESSIONS))
    return [_format_ranking(pipeline({ITEMS: items}, top_k=_count_shown(pipeline))["recommended"], SESSIONS)]


def predict_events(pipeline: Any, text: str) -> list[Any]:
    """Return HTML of the events that come next after those of the lines.

    Raises:
        ValueError: no line; a line without a time, or with one that is none.
    """
    events, times = NEXT_EVENT.parse_history(_split_lines(text, HISTORIES))
    found = pipeline({EVENTS: events, TIMES: times}, top_k=_count_shown(pipeline))["next"]
    return [_format_ranking(found, HISTORIES)]


def _split_lines(text: str, kind: SequenceKind) -> list[str]:
    """Return the lines of a sequence that are not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"there are no {kind.things}; expected one a line, or more")
    return lines


def _count_shown(pipeline: Any) -> int:
    """Return how many things are shown: all where the model knows few."""
    return min(SHOWN, len(pipeline.model.config.get_row_names()))


def _format_ranking(ranking: list[tuple[str, float]], kind: SequenceKind) -> str:
    """Return HTML of a ranking, or a sentence where there is none."""
    return (
        format_bars("What comes next", ranking) if ranking else f"Nothing: the model knows none of these {kind.things}."
    )


def _append_line(kind: SequenceKind, config: Any, text: str, name: str | None) -> list[Any]:
    """Return the lines with a chosen name behind them, and the choice emptied; an event comes a time unit later."""
    if not name:
        return [text, None]
    line = name
    if kind is HISTORIES:
        last = NEXT_EVENT.parse_history(_split_lines(text, kind))[1][-1] if text.strip() else -config.time_unit
        line = _format_event(name, last + config.time_unit)
    return ["\n".join([*text.splitlines(), line]), None]


def _format_event(name: str, time: float) -> str:
    """Return an event and its time as a line."""
    return f"{name} {AT} {time:.10g}"
