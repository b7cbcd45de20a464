"""Pictures of what HCRNN keeps and forgets (Song et al. 2019), from a checkpoint.

    python reports/hcrnn_figures.py --checkpoint FOLDER                 all of them
    python reports/hcrnn_figures.py --checkpoint FOLDER --only change

- drift: the drift gate along two halves of different sessions, the second behind the first;
- change: the mean gate at each place around such a change, over all sessions of the test split that are long enough,
  each followed by the next one; and, as the control, over the same sessions where each goes on by itself;
- contexts: how far topics, local context and drift gate move while these sessions are read: the largest weight of a
  topic, and the deviations of each number of the context, and of each unit's gate, over the steps of a session;
- topics: the items that topics are about, of the topics that their items are surest of.

Each writes a CSV file and a PNG file into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import draw_lists, new_figure, save_figure
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.sequences.data import SessionDataModule
from ctxzoo.tasks.sequences.pictures import draw_drift, drift_gates, topic_items
from ctxzoo.training.arguments import SIZE, Args, number
from reports.recipe_figures import TableRows, check_figures, draw_figures

PERCENTILES = (5, 50, 95)


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        checkpoint: Checkpoint of recipes/citeulike_hcrnn.py, of HCRNN-2 or HCRNN-3.
        only: Figures that are drawn; none: all of them.
        dataset: Dataset that the model was trained on.
        data_dir: Folder of datasets as <namespace>/<name>; null: $CTXZOO_DATA.
        half: Items before the change, and from it on.
        topics: Topics that are drawn.
        top: Items of a topic.
        figures_dir: Folder of the figures.
    """

    checkpoint: str = ""
    only: tuple[str, ...] = ()
    dataset: str = "ctxzoo-data/citeulike_hcrnn"
    data_dir: str | None = None
    half: int = number(10, SIZE)
    topics: int = number(8, SIZE)
    top: int = number(6, SIZE)
    figures_dir: str = "runs/hcrnn_figures"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoint:
            raise ValueError("--checkpoint names nothing; give a checkpoint folder or Hub id")


def main(settings: Settings) -> None:
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def drift(settings: Settings, folder: Path) -> TableRows:
    model, sessions = read(settings)
    history = joined(sessions, settings.half)[0]
    draw_drift(model, history, folder / "drift.png", title=f"another session begins at item {settings.half + 1}")
    gates = drift_gates(model, history)
    rows: TableRows = [["item", "mean of the gate", "deviation over units"]]
    for item, values in zip(history, gates, strict=True):
        rows.append([item, *(round(float(f(values)), 4) for f in (np.mean, np.std))])
    return rows


def change(settings: Settings, folder: Path) -> TableRows:
    model, sessions = read(settings)
    half = settings.half
    own = mean_gates(model, [session[: 2 * half] for session in sessions])
    changed = mean_gates(model, joined(sessions, half))
    places = np.arange(-half, half)
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    for values, label in ((own, "goes on by itself"), (changed, "another session follows")):
        axes.errorbar(places, values.mean(axis=0), stats.sem(values, axis=0), label=label, capsize=2, linewidth=1.2)
    axes.axvline(-0.5, color="grey", linewidth=0.8)
    axes.set_xlabel("place of the item behind the change")
    axes.set_ylabel("drift gate, mean over units")
    axes.set_title(f"{len(own):,} sessions, mean and its standard error", loc="left", fontsize=10)
    axes.legend(fontsize=8)
    save_figure(figure, folder / "change.png")
    rows: TableRows = [["place", "goes on by itself", "another session follows", "p of the paired t-test"]]
    # Behind the change a pair has the same items, and before them its own session or another one.
    behind_another = np.roll(changed, 1, axis=0)
    for column, place in enumerate(places.tolist()):
        a, b = own[:, column], behind_another[:, column]
        p = "" if place < 0 else f"{stats.ttest_rel(a, b).pvalue:.3g}"
        rows.append([place, round(float(a.mean()), 4), round(float(b.mean()), 4), p])
    return rows


def contexts(settings: Settings, folder: Path) -> TableRows:
    model, sessions = read(settings)
    ids = torch.tensor([model.ids_of(session[: 2 * settings.half]) for session in sessions], device=model.device)
    with in_evaluation_mode(model):
        output = model(input_ids=ids, return_dict=True)
    values = {
        "largest weight of a topic": output.theta.max(dim=-1).values,
        "deviation of the local context over steps": output.local_context.std(dim=1),
        "deviation of the drift gate over steps": output.drift_gate.std(dim=1),
    }
    figure = new_figure(9.0, 2.8)
    rows: TableRows = [["value", "mean", *(f"percentile {number}" for number in PERCENTILES)]]
    for axes, (name, found) in zip(figure.subplots(1, len(values)), values.items(), strict=True):
        numbers = found.float().flatten().cpu().numpy()
        axes.hist(numbers, bins=40)
        axes.set_title(name, loc="left", fontsize=9)
        rows.append([name, *(round(float(x), 4) for x in (numbers.mean(), *np.percentile(numbers, PERCENTILES)))])
    save_figure(figure, folder / "contexts.png")
    return rows


def topics(settings: Settings, folder: Path) -> TableRows:
    model, _ = load_saved_model(settings.checkpoint)
    found = topic_items(model, settings.top)
    surest = sorted(range(len(found)), key=lambda topic: -found[topic][0][1])[: settings.topics]
    lists = [[name for name, _ in found[topic]] for topic in surest]
    draw_lists(lists, [f"topic {topic + 1}" for topic in surest], folder / "topics.png")
    rows: TableRows = [["topic", "item", "theta of a session of it"]]
    return rows + [[topic + 1, name, round(theta, 4)] for topic in surest for name, theta in found[topic]]


def read(settings: Settings) -> tuple[Any, list[list[str]]]:
    """Return the model, and the sessions of the test split with 2 `half` items, as names that it knows.

    Raises:
        ValueError: there are not two of them.
    """
    model: Any = load_saved_model(settings.checkpoint)[0]
    names = model.config.names()
    data = SessionDataModule(settings.dataset, data_dir=settings.data_dir, item_names=names, divide=False)
    data.setup()
    long = [session.tolist() for session in data.sequences("test") if len(session) >= 2 * settings.half]
    sessions = [[model.config.name_of(row) for row in session] for session in long]
    if len(sessions) < 2:
        raise ValueError(
            f"half={settings.half}: {len(sessions)} sessions of the test split have {2 * settings.half} items; choose "
            "a smaller one"
        )
    return model, sessions


def joined(sessions: list[list[str]], half: int) -> list[list[str]]:
    """Return the first half of each session with the second half of the next one, of the last that of the first."""
    following = sessions[1:] + sessions[:1]
    return [one[:half] + other[half : 2 * half] for one, other in zip(sessions, following, strict=True)]


def mean_gates(model: Any, histories: list[list[str]]) -> NDArray[np.float64]:
    """Return (histories, items) the mean of the drift gate over the units."""
    return np.stack([drift_gates(model, history).mean(axis=1) for history in histories]).astype(np.float64)


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {
    "drift": drift,
    "change": change,
    "contexts": contexts,
    "topics": topics,
}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
