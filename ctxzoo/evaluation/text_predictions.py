"""Labels that a saved classifier gives to texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoModelForSequenceClassification, AutoTokenizer, TextClassificationPipeline

from ctxzoo.data.sources import DatasetFileError


def load_classifier(checkpoint: str) -> TextClassificationPipeline:
    """The text-classification pipeline of a checkpoint folder or Hub id."""
    return TextClassificationPipeline(
        model=AutoModelForSequenceClassification.from_pretrained(checkpoint),
        tokenizer=AutoTokenizer.from_pretrained(checkpoint),
    )


def classify_texts(
    classifier: TextClassificationPipeline, texts: list[str], *, batch_size: int = 32
) -> list[dict[str, Any]]:
    """The most probable `label` of each text and its probability `score`, in their order.

    Texts are cut at the `model_max_length` of the tokenizer, where it has one.
    """
    predictions: list[dict[str, Any]] = classifier(texts, batch_size=batch_size, truncation=True)
    return predictions


def read_text_lines(file: Path) -> list[str]:
    """The texts of a file: one a line, or in a .jsonl file the field `text` of the object on each line.

    Raises:
        FileNotFoundError: no such file.
        DatasetFileError: not UTF-8, or a line is not JSON.
        ValueError: no text at all, a line that is empty, or an object without a text.
    """
    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected one text a line, or a .jsonl file")
    try:
        lines = file.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DatasetFileError(f"{file}: not UTF-8 text at byte {error.start}") from error
    if lines == [""]:
        raise ValueError(f"{file} holds no text")
    texts = []
    for number, line in enumerate(lines, start=1):
        where = f"{file}, line {number}"
        if not line.strip():
            raise ValueError(f"{where} is empty; remove it, every line is one text")
        texts.append(_text_of(line, where) if file.suffix == ".jsonl" else line.removesuffix("\r"))
    return texts


def _text_of(line: str, where: str) -> str:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetFileError(f"{where}, column {error.colno}: not JSON: {error.msg}") from error
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'{where} is {line[:80]!r}; expected an object with the text in "text"')
    return text
