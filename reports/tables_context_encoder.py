"""Encoders on sentences: their table, made from results files, beside other models on the same folds."""

from __future__ import annotations

from collections.abc import Callable

from ctxzoo.results.result import RunResult
from reports.tables_sentences import SentenceTable

sentences = SentenceTable(
    recipe="sentence_context_encoder",
    option="attentions",
    known=("dot", "ika", "ikan", "mikan", "esa", "hsa", "hsa-factorised"),
    compared=("dot", "ika", "ikan", "mikan", "esa", "hsa"),
    base="dot",
    size=("inner_size", "inner width"),
)

TABLES: dict[str, Callable[[list[RunResult]], str]] = {"context-encoder-sentences": sentences}
