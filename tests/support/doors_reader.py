"""The three doors of a published reader, in the form in which `test_published` takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.support.doors import told_offline
from tests.support.tiny_checkpoint import CONTEXT, QUESTION

TEXTS = [
    {"question": QUESTION, "context": CONTEXT},
    {"question": "When was it built?", "context": "It was built in 1710."},
]
LONGEST_ANSWER = 15

MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForQuestionAnswering, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
model = AutoModelForQuestionAnswering.from_pretrained({source!r}, **options)
result = []
for text in {texts!r}:
    with torch.no_grad():
        outputs = model(**tokenizer(text["question"], text["context"], return_tensors="pt"))
    result.append([outputs.start_logits[0].tolist(), outputs.end_logits[0].tolist()])
print(json.dumps({{"module": type(model).__module__, "result": result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""
PIPELINE = """
import json, sys
from transformers import pipeline
reader = pipeline("question-answering", model={source!r}, trust_remote_code=True)
result = [reader(**text) for text in {texts!r}]
print(json.dumps({{"module": type(reader.model).__module__, "result": result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""


def open_with(program: str, source: Path, first: str = "", options: str = "") -> Any:
    text = program.format(first=first, options=options, source=str(source), texts=TEXTS)
    return told_offline(text, without_ctxzoo=not first)


def scores_of(logits: list[list[list[float]]], tokenizer: Any) -> list[float]:
    """Return what the pipeline makes of what the model gives for TEXTS: the probability of the best span of each."""
    scores = []
    for start, end in (torch.tensor(pair).softmax(dim=-1) for pair in logits):
        spans = torch.outer(start, end)[1:, 1:].triu().tril(LONGEST_ANSWER - 1)
        scores.append(spans.max().item())
    return scores
