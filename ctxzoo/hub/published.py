"""The published checkpoint folders of this repository, and the results file of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import ModelCard

from ctxzoo.hub.folder_checks import head_class, read_architecture
from ctxzoo.results.result import RunResult, read_result

FOLDER, INDEX = Path("model_cards"), "published.json"


@dataclass(frozen=True)
class Published:
    """A published checkpoint.

    Attributes:
        folder: as `model_cards/NAME`, below the root of the repository.
        task: as the Hub calls it, from the card: `text-classification` and so on; where the Hub has no name for it as
            the head does.
        size: of all its files, in bytes.
        result: the run that made it.
    """

    folder: Path
    task: str
    size: int
    result: RunResult


def published(root: Path = Path()) -> dict[Path, Path]:
    """Return folder to results file of every published checkpoint, both under `root`."""
    index: dict[str, str] = json.loads((root / FOLDER / INDEX).read_text(encoding="utf-8"))
    return {root / FOLDER / name: root / result for name, result in index.items()}


def read_published(root: Path) -> list[Published]:
    """Return the published checkpoints by name; none where `root` has no index of them.

    Raises:
        OSError, ValueError: a card or a results file is missing or damaged.
    """
    if not (root / FOLDER / INDEX).is_file():
        return []
    return [
        Published(
            folder=folder.relative_to(root),
            task=_task(folder),
            size=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
            result=read_result(result),
        )
        for folder, result in sorted(published(root).items())
    ]


def _task(folder: Path) -> str:
    tag = ModelCard.load(folder / "README.md").data.to_dict().get("pipeline_tag")
    return str(tag or head_class(*read_architecture(folder), folder).zoo_task)
