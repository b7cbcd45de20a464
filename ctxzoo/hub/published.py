"""The published checkpoint folders of this repository, and the results file of each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard

from ctxzoo.hub.card import Surroundings
from ctxzoo.hub.folder_checks import find_head_class, read_architecture
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import RunResult, read_result

FOLDER, INDEX = Path("model_cards"), "published.json"


@dataclass(frozen=True)
class PublishedCheckpoint:
    """A published checkpoint.

    Attributes:
        folder: Path as `model_cards/NAME`, below the root of the repository.
        task: Name of the problem on the Hub, from the card, such as `text-classification`; where the Hub has none, the
            name in the model's head.
        size: Size of all files in bytes.
        result: Results of the run that trained the checkpoint.
    """

    folder: Path
    task: str
    size: int
    result: RunResult


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the index says of a published folder; paths are those of this machine.

    Attributes:
        result: Name of the results file of the run that trained the checkpoint.
        title: Title of the card in words; empty: built from the architecture and the problem.
        baselines: Name of a simple model, with its article, to its results files on the same split.
        failure: Example on which the model fails: "inputs", "answer", the name of the wrong value in the output, and
            the "right" value.
        see_also: Name of another published folder to a sentence on how the two differ.
    """

    result: Path
    title: str = ""
    baselines: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    see_also: Mapping[str, str] = field(default_factory=dict)

    def collect_surroundings(self, model: Any, tokenizer: Any, task: TaskCard) -> Surroundings:
        """Return what the card needs beside the run: repeated runs, baselines and an example of failure.

        Args:
            model, tokenizer: Model and tokenizer of the published folder.
            task: Problem that the model solves.

        Raises:
            ValueError: the model is right about its example of a mistake.
        """
        return Surroundings(
            title=self.title,
            other_runs=_load_sibling_runs(self.result),
            baselines={name: [read_result(file) for file in files] for name, files in self.baselines.items()},
            failure=None if self.failure is None else _make_failure_example(self.failure, model, tokenizer, task),
            see_also=[f"[{name}](../{name}/README.md): {what}" for name, what in self.see_also.items()],
        )


def read_published_entries(root: Path = Path()) -> dict[Path, Entry]:
    """Return folder to entry of every published checkpoint, with paths under `root`.

    Raises:
        OSError: there is no index.
        ValueError: it names a pattern of results files that no file has.
    """
    index: dict[str, dict[str, Any]] = json.loads((root / FOLDER / INDEX).read_text(encoding="utf-8"))
    return {root / FOLDER / name: _make_entry(root, **of_folder) for name, of_folder in index.items()}


def _make_entry(root: Path, *, result: str, baselines: Mapping[str, str] | None = None, **fields: Any) -> Entry:
    """Return an entry of the index, with paths below `root`; `baselines` are patterns of results files by name."""
    baseline_files = {name: sorted(root.glob(pattern)) for name, pattern in (baselines or {}).items()}
    missing = [(baselines or {})[name] for name, files in baseline_files.items() if not files]
    if missing:
        raise ValueError(f"{FOLDER / INDEX} names {missing[0]}, and no such results file is there")
    return Entry(result=root / result, baselines=baseline_files, **fields)


def _load_sibling_runs(file: Path) -> list[RunResult]:
    """Return the runs that differ from that of a results file in seed or fold alone, sorted by these."""
    result = read_result(file)
    names = re.sub(r"-seed\d+(-fold\d+)?", "-seed*", file.stem, count=1)
    runs = [read_result(path) for path in file.parent.glob(f"{names}.json") if path.name != file.name]
    same = ("architecture", "variant", "dataset", "split", "tag", "settings")
    alike = [run for run in runs if all(getattr(run, name) == getattr(result, name) for name in same)]
    return sorted(alike, key=lambda run: (run.seed, run.fold or 0))


def _make_failure_example(entry: Mapping[str, Any], model: Any, tokenizer: Any, task: TaskCard) -> dict[str, Any]:
    """Return an example from the index with what the model gives, after checking that the model is wrong."""
    prediction = task.predict(model, tokenizer, entry["inputs"])
    if prediction[entry["answer"]] == entry["right"]:
        raise ValueError(f"{INDEX} has {entry['inputs']} as a mistake of the model, which is right about it")
    return {**entry, "given": prediction}


def list_published_checkpoints(root: Path) -> list[PublishedCheckpoint]:
    """Return the published checkpoints by name; none if `root` has no index of them.

    Raises:
        OSError, ValueError: a card or a results file is missing or damaged.
    """
    if not (root / FOLDER / INDEX).is_file():
        return []
    return [
        PublishedCheckpoint(
            folder=folder.relative_to(root),
            task=_read_task_name(folder),
            size=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
            result=read_result(entry.result),
        )
        for folder, entry in sorted(read_published_entries(root).items())
    ]


def _read_task_name(folder: Path) -> str:
    """Return the task of a published folder, from its card or else its model class."""
    tag = ModelCard.load(folder / "README.md").data.to_dict().get("pipeline_tag")
    return str(tag or find_head_class(*read_architecture(folder), folder).zoo_task)
