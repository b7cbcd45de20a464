"""SQuAD data and readers small enough for training in a second."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import datasets

from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.sample import build_squad_features, sample_squad


def question(
    key: str, context: str, question: str = "What is it?", answer: str | None = None, start: int | None = None
) -> dict[str, Any]:
    """Return a row of SQuAD; `start` defaults to the first occurrence of the answer."""
    if answer is None:
        answers: dict[str, Any] = {"text": [], "answer_start": []}
    else:
        answers = {"text": [answer], "answer_start": [context.index(answer) if start is None else start]}
    return {"id": key, "title": "T", "context": context, "question": question, "answers": answers}


def rows(*items: Mapping[str, Any]) -> datasets.Dataset:
    """Return rows as a split."""
    return datasets.Dataset.from_list([dict(item) for item in items], features=build_squad_features())


def write_squad(folder: Path, splits: Mapping[str, Iterable[Mapping[str, Any]]], version: str = "v2.0") -> Path:
    """The splits as official SQuAD files `<split>.json` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in splits.items():
        paragraphs = [{"context": item["context"], "qas": [_official(item)]} for item in items]
        content = {"version": version, "data": [{"title": "T", "paragraphs": paragraphs}]}
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _official(item: Mapping[str, Any]) -> dict[str, Any]:
    texts, starts = item["answers"]["text"], item["answers"]["answer_start"]
    answers = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    return {"id": item["id"], "question": item["question"], "answers": answers}


def tiny_data(
    folder: Path, *, train: int = 40, validation: int = 16, test: int = 16, answerable: bool = False, **options: Any
) -> SquadDataModule:
    """Return a DataModule over generated questions, written to and cached in `folder`.

    Args:
        folder: Folder for the files; those of an earlier call are used again.
        train, validation, test: Questions in each split; 0 leaves it out.
        answerable: Only questions with an answer (SQuAD 1.1).
        options: Options of `SquadDataModule`.
    """
    sizes = {"train": train, "validation": validation, "test": test}
    files = folder / "squad"
    if not files.exists():
        generated = sample_squad(**{name: max(1, 2 * size) for name, size in sizes.items()})
        splits = {
            name: [row for row in generated[name] if row["answers"]["text"] or not answerable][:size]
            for name, size in sizes.items()
            if size
        }
        write_squad(files, splits, version="1.1" if answerable else "v2.0")
    defaults: dict[str, Any] = {"word_embedding_size": 8, "batch_size": 8, "eval_batch_size": 8, "min_char_count": 1}
    return SquadDataModule(str(files), cache_dir=str(folder / "cache"), **{**defaults, **options})


def tiny_config(data: SquadDataModule, **changes: Any) -> dict[str, Any]:
    """The config of a small reader for `data`, which is set up; a plain dict."""
    sizes: dict[str, Any] = {"hidden_size": 4, "char_channels": 4, "char_embedding_size": 4, "char_kernel_size": 3}
    config = BidafConfig(**{**data.model_sizes(), **sizes, "squad_version": data.squad_version, **changes})
    values: dict[str, Any] = config.to_dict()
    return values
