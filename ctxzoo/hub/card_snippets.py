"""Program text in a model card: three ways to use the checkpoint, with the answer that it gave when it was saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REPO_PLACEHOLDER = "path/to/this/folder"
LINE_LENGTH = 96
_REPO_LINE = re.compile(r'^repo = ".*"', flags=re.MULTILINE)

WITH_PACKAGE = """\
import ctxzoo  # registers the architecture
import torch
from ctxzoo.models.ops_answer import decode_answers
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForQuestionAnswering.from_pretrained(repo)
inputs = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
offsets = inputs.pop("offset_mapping")[0]
with torch.no_grad():
    outputs = model(**inputs)
best = decode_answers(outputs, inputs["attention_mask"], model.config.max_answer_length)
print(context[offsets[best.starts[0], 0] : offsets[best.ends[0], 1]])  # the best span"""

WITHOUT_PACKAGE = """\
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

options = {"trust_remote_code": True, "revision": "main"}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModelForQuestionAnswering.from_pretrained(repo, **options)
with torch.no_grad():
    outputs = model(**tokenizer(question, context, return_tensors="pt"))
print(outputs.start_logits.softmax(dim=1))  # one probability for each word; position 0 stands for "no answer\""""

AS_PIPELINE = """\
from transformers import pipeline

reader = pipeline("question-answering", model=repo, trust_remote_code=True)
print(reader(question=question, context=context))"""


def example_block(question: str, context: str, repo_id: str) -> str:
    """The names that all snippets use."""
    pieces = "\n".join(f"    {piece!r}" for piece in _pieces(context))
    return f'repo = "{repo_id}"\nquestion = {question!r}\ncontext = (\n{pieces}\n)'


def pipeline_block(answer: Mapping[str, Any]) -> str:
    """The pipeline, and what it printed."""
    shown = {name: answer[name] for name in ("score", "start", "end", "answer", "no_answer_score") if name in answer}
    shown = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in shown.items()}
    return f"{AS_PIPELINE}\n# {shown!r}"


def with_repo_id(card: str, repo_id: str) -> str:
    """The card, its snippets naming this repository."""
    return _REPO_LINE.sub(lambda _: f'repo = "{repo_id}"', card, count=1)


def _pieces(text: str) -> list[str]:
    """The text cut at blanks into pieces that fit a line; joined they are the text."""
    pieces = [""]
    for word in re.findall(r"\S*\s*", text):
        if pieces[-1] and len(pieces[-1]) + len(word) > LINE_LENGTH:
            pieces.append("")
        pieces[-1] += word
    return pieces
