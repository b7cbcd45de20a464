"""What the house measures: files and lines of its parts, and how often a training is described in the older ways.

python -m reports.house          in a checkout of a commit; of another commit: git worktree add OTHER COMMIT
python -m reports.house OTHER    the same of that folder
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS: Mapping[str, tuple[str, ...]] = {
    "package": ("ctxzoo",),
    "recipes": ("recipes",),
    "tests": ("tests",),
    "sessions and next event, with helpers and recipes": (
        *("ctxzoo/tasks/sequences", "ctxzoo/tasks/session_recommendation", "ctxzoo/tasks/next_event"),
        *("ctxzoo/data/named_sequences.py", "ctxzoo/data/event_rows.py", "ctxzoo/runs/next_item.py"),
        *("ctxzoo/runs/own_sequences.py", "ctxzoo/runs/counted_sequences.py", "ctxzoo/training/next_item_task.py"),
        *("ctxzoo/training/next_item_scores.py", "recipes/citeulike_hcrnn.py", "recipes/session_baselines.py"),
        *("recipes/session_floors.py", "recipes/badges_lste.py"),
    ),
    "polyphonic music": ("ctxzoo/tasks/polyphonic_music",),
    "token classification": ("ctxzoo/tasks/token_classification",),
}
OLDER = ("Preset", "TrainingRequest", "OwnTraining", "RunSpec", "reported")  # what `Experiment` takes the place of
RATE = re.compile(r"^\s+learning_rate: float", re.MULTILINE)


def list_python_files(root: Path, places: Iterable[str]) -> list[Path]:
    """Return the Python files in those folders and files of `places` that exist below `root`."""
    files: list[Path] = []
    for place in places:
        path = root / place
        files += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return files


def measure_checkout(root: Path) -> list[tuple[str, str]]:
    """Return the size of a checkout's code: labels and counts of files, lines, and uses of older names."""
    rows = []
    for part, places in PARTS.items():
        files = list_python_files(root, places)
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        rows.append((f"{part}: files / lines", f"{len(files)} / {lines:,}"))
    texts = {file: file.read_text(encoding="utf-8") for file in list_python_files(root, ("ctxzoo", "recipes"))}
    rates = sum(len(RATE.findall(text)) for text in texts.values())
    rows.append(("places that declare a learning rate", str(rates)))
    for name in OLDER:
        number = sum(bool(re.search(rf"\b{name}\b", text)) for text in texts.values())
        rows.append((f"files that name `{name}`", str(number)))
    return rows


def main() -> None:
    """Print the size of a checkout's code as rows of a Markdown table."""
    for what, number in measure_checkout(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT):
        print(f"| {what} | {number} |")


if __name__ == "__main__":
    main()
