"""The page of a language model: the beginning of a line, how it goes on, and which words are likely next."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page, format_bars, format_marked
from ctxzoo.tasks.language_modelling.continuation import continue_text, predict_next_words
from ctxzoo.tasks.language_modelling.problem import WORDS

SHOWN = 10  # likely words


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a prompt and how words are drawn beside the continuation and the likely next words."""
    with gr.Row():
        with gr.Column():
            prompt = gr.Textbox(example["prompt"], label="Beginning of a line", lines=3, max_lines=20)
            words = gr.Slider(1, 100, WORDS, step=1, label="Words to add at most")
            temperature = gr.Slider(0.1, 2.0, 1.0, step=0.1, label="Temperature: below 1 likely words are likelier")
            seed = gr.Number(0, label="Seed of the draws", precision=0, minimum=0)
            button = gr.Button("Go on", variant="primary")
        with gr.Column():
            text = gr.HTML(container=True)
            likely = gr.HTML(container=True)
    return Page([prompt, words, temperature, seed], [text, likely], button, partial(continue_prompt, pipeline))


def continue_prompt(pipeline: Any, prompt: str, words: int, temperature: float, seed: int) -> list[Any]:
    """Return HTML of the prompt with the words that were drawn behind it, and of the likeliest next words."""
    model, tokenizer = pipeline.model, pipeline.tokenizer
    added = continue_text(model, tokenizer, prompt, int(words), temperature=temperature, seed=int(seed or 0))
    likely = predict_next_words(model, tokenizer, prompt, SHOWN)
    return [
        format_marked("How it goes on", f"{prompt.rstrip()} ", added or "(the line ends here)", ""),
        format_bars("Likely next words", likely),
    ]
