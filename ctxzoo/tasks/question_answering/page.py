"""The page of a reader: a question, a text, the answer marked in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ctxzoo.app.frame import Page, format_marked

SHOWN = 5  # answers in the table
NO_ANSWER = "(no answer)"


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out question and text beside the answers of a reader."""
    with gr.Row():
        with gr.Column():
            question = gr.Textbox(example["question"], label="Question")
            context = gr.Textbox(example["context"], label="Text that may hold the answer", lines=8, max_lines=20)
            button = gr.Button("Answer", variant="primary")
        with gr.Column():
            marked = gr.HTML(container=True)
            note = gr.Markdown()
            table = gr.Dataframe(
                headers=["answer", "probability"],
                column_widths=["65%", "35%"],
                label="The best answers",
                interactive=False,
                wrap=True,
            )
    return Page([question, context], [marked, note, table], button, partial(answer_question, pipeline))


def answer_question(reader: Any, question: str, context: str) -> list[Any]:
    """Return HTML of the text with the best answer marked, a note on the no-answer score, and rows of answers.

    Raises:
        ValueError: a question or a text without words.
    """
    answers = reader(question=question, context=context, top_k=SHOWN)
    best = answers[0]
    marked = format_marked(
        "The answer in the text",
        context[: best["start"]],
        best["answer"],
        f"{best['score']:.1%}",
        context[best["end"] :],
    )
    rows = [[one["answer"] or NO_ANSWER, f"{one['score']:.1%}"] for one in answers]
    return [marked, _describe_no_answer(reader.model.config, best), rows]


def _describe_no_answer(config: Any, best: Mapping[str, Any]) -> str:
    """Return a sentence on how sure the reader is that the text holds no answer."""
    if getattr(config, "squad_version", "2.0") == "1.1":
        return "This model always answers, also where the text holds no answer: it was trained on no such questions."
    found = "No answer" if not best["answer"] else "An answer"
    threshold = getattr(config, "no_answer_threshold", None)
    bound = 0.5 if threshold is None else threshold
    return f"{found}: its no-answer score is {best['no_answer_score']:.2f}, and above {bound:.2f} it gives none."
