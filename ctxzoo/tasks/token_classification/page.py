"""The page of a tagger: a text, and a tag over each of its words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page
from ctxzoo.tasks.token_classification.card import tag_texts

OUTSIDE = "O"  # of no span


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a text, the same text with tags, and a table of them with their probabilities."""
    text = gr.Textbox(example["text"], label="Text", lines=3, max_lines=20)
    button = gr.Button("Tag", variant="primary")
    tagged = gr.HighlightedText(label="Tags", show_whitespaces=False)
    with gr.Accordion("How sure it is of each word", open=False):
        table = gr.Dataframe(headers=["word", "tag", "probability"], show_label=False, interactive=False)
    return Page([text], [tagged, table], button, partial(tag_text, pipeline))


def tag_text(tagger: Any, text: str) -> list[Any]:
    """Return the words of a text with their tags, and rows of word, tag and probability.

    Raises:
        ValueError: a text of blanks.
    """
    if not text.strip():
        raise ValueError("the text is empty; expected words to tag")
    (words,) = tag_texts(tagger, [text])
    pieces = [(word["word"], None if word["tag"] == OUTSIDE else word["tag"]) for word in words]
    return [pieces, [[word["word"], word["tag"], f"{word['score']:.1%}"] for word in words]]
