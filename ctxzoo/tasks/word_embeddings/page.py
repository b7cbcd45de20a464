"""The page of a model of masked words: a text with a mask, and the words that fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page, format_bars, format_marked
from ctxzoo.tasks.word_embeddings.prediction import fill_masks


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a text with a mask, the text with its likeliest word, and the probabilities of the best."""
    mask = pipeline.tokenizer.mask_token
    text = gr.Textbox(example["text"], label=f"Text with one {mask} in the place of a word", lines=2, max_lines=20)
    button = gr.Button("Fill in", variant="primary")
    filled = gr.HTML(container=True)
    words = gr.HTML(container=True)
    return Page([text], [filled, words], button, partial(fill_mask, pipeline))


def fill_mask(filler: Any, text: str) -> list[Any]:
    """Return HTML of the text with the likeliest word in it, and of the likeliest words.

    Raises:
        ValueError: a text with no mask, or with several.
    """
    (words,) = fill_masks(filler, [text])
    before, after = text.split(filler.tokenizer.mask_token)
    return [
        format_marked("The likeliest word", before, words[0]["word"], f"{words[0]['score']:.1%}", after),
        format_bars("Likely words", ((word["word"], word["score"]) for word in words)),
    ]
