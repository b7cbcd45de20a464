"""The page of a classifier of texts: a text, its labels, and the words that decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.explanation import explanation_html

# An explanation is a page of its own elsewhere; here it is as wide as the text above it.
STYLE = "<style>.ctxzoo-explanation { max-width: none; padding: .5rem 0; background: none; }</style>"


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a text above the explanation of its labels."""
    text = gr.Textbox(example["text"], label="Text", lines=4, max_lines=20)
    button = gr.Button("Classify", variant="primary")
    explanation = gr.HTML(min_height=200)
    return Page([text], [explanation], button, partial(classify_text, pipeline))


def classify_text(classifier: Any, text: str) -> list[Any]:
    """Return HTML of the probability of every label and of the text with the words that speak for it and against it.

    Raises:
        ValueError: a text of blanks.
    """
    return [explanation_html([explain_text(classifier.model, classifier.tokenizer, text)]) + STYLE]
