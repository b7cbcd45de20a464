"""What HCRNN expects next, and what it keeps and forgets (Song et al. 2019), from a checkpoint.

    python reports/hcrnn_figures.py --checkpoint FOLDER                 all of them
    python reports/hcrnn_figures.py --checkpoint model_cards/hcrnn-citeulike --only next_items \
      --figures_dir docs/pictures/hcrnn

- next_items: the items that are likeliest to come next behind each item of a session, which follows the model's own
  suggestions;
- change: the mean drift gate at each place around the middle of a session, over all sessions of the test split that
  are long enough, the second half taken from the next session; and, as the control, over the same sessions as they are;
- contexts: how far topics, local context and drift gate move while these sessions are read: the largest weight of a
  topic, and the deviations of each number of the context, and of each unit's gate, over the steps of a session.

Each writes a CSV file into --figures_dir, the first a PNG file too; `figures.json` says how they were made.
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
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.sequences.data import SessionDataModule
from ctxzoo.tasks.sequences.pictures import drift_gates
from ctxzoo.training.arguments import SIZE, Args, number_field
from reports.recipe_figures import TableRows, check_figures, draw_figures

PERCENTILES = (5, 50, 95)


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        checkpoint: Checkpoint of HCRNN-2 or HCRNN-3, trained by recipes/citeulike_hcrnn.py.
        only: Names of the figures to draw; none: all of them.
        dataset: Dataset that the model was trained on, a Hub id, folder or file.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        first: Name of the item with which the session of the figure "next_items" starts; empty: the model's first item.
        steps: Number of items of that session, for the figure "next_items".
        top: Number of likely next items that are shown after each item of the session.
        half: Number of items before the change of session, and as many after it.
        figures_dir: Folder into which the figures are written.
    """

    checkpoint: str = ""
    only: tuple[str, ...] = ()
    dataset: str = "ctxzoo-data/citeulike_hcrnn"
    data_dir: str | None = None
    first: str = ""
    steps: int = number_field(5, SIZE)
    top: int = number_field(8, SIZE)
    half: int = number_field(10, SIZE)
    figures_dir: str = "runs/hcrnn_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure, and that a checkpoint is named."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoint:
            raise ValueError("--checkpoint names nothing; give a checkpoint folder or Hub id")


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_next_items(settings: Settings, folder: Path) -> TableRows:
    """Draw how probable each suggested item is after each item of a session.

    Returns the rows of the CSV file: step, item, probability.
    """
    model: Any = load_saved_model(settings.checkpoint)[0]
    session = [settings.first or model.config.get_row_name(1)]
    while len(session) < settings.steps:
        session.append(model.recommend(session, 1, only_new=True)[0][0])
    everything = model.config.num_items
    scores = [dict(model.recommend(session[: step + 1], everything)) for step in range(len(session))]
    names = sorted(scores[-1], key=lambda name: -scores[-1][name])[: settings.top]
    plot_next_items(session, names, scores, folder / "next_items.png")
    rows: TableRows = [["step", "item that is read", "item that may come next", "probability"]]
    for step, (item, behind) in enumerate(zip(session, scores, strict=True), start=1):
        rows += [[step, item, name, round(behind[name], 4)] for name in names]
    return rows


def plot_next_items(session: list[str], names: list[str], scores: list[dict[str, float]], path: Path) -> None:
    """Draw a table of percentages: a column for each item of a session, a row for each item that may follow."""
    values = 100 * np.array([[behind[name] for behind in scores] for name in names])
    figure = new_figure(5.6, 0.33 * len(names) + 1.5)
    axes = figure.subplots()
    axes.imshow(values, cmap="Blues", vmin=0, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value > 0.6 * values.max() else "black"
        axes.text(column, row, f"{value:.0f} %", ha="center", va="center", fontsize=9, color=colour)
    axes.set_xticks(range(len(session)), [f"{step}. {name}" for step, name in enumerate(session, start=1)])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("item that is read, step by step")
    axes.set_ylabel("item that may come next")
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    save_figure(figure, path)


def tabulate_drift_gates(settings: Settings, folder: Path) -> TableRows:
    """Compare HCRNN's mean drift gates within a session and where another session follows; draw nothing."""
    model, sessions = load_model_and_sessions(settings)
    half = settings.half
    own = compute_mean_gates(model, [session[: 2 * half] for session in sessions])
    changed = compute_mean_gates(model, join_session_halves(sessions, half))
    rows: TableRows = [["place", "goes on by itself", "another session follows", "p of the paired t-test"]]
    # Behind the change a pair has the same items, and before them its own session or another one.
    behind_another = np.roll(changed, 1, axis=0)
    for column, place in enumerate(range(-half, half)):
        a, b = own[:, column], behind_another[:, column]
        p = "" if place < 0 else f"{stats.ttest_rel(a, b).pvalue:.3g}"
        rows.append([place, round(float(a.mean()), 4), round(float(b.mean()), 4), p])
    return rows


def tabulate_contexts(settings: Settings, folder: Path) -> TableRows:
    """Return mean and percentiles of HCRNN's topics, local contexts and drift gates over sessions; draw nothing."""
    model, sessions = load_model_and_sessions(settings)
    ids = torch.tensor(
        [model.encode_history(session[: 2 * settings.half]) for session in sessions], device=model.device
    )
    with in_evaluation_mode(model):
        output = model(input_ids=ids, return_dict=True)
    values = {
        "largest weight of a topic": output.theta.max(dim=-1).values,
        "deviation of the local context over steps": output.local_context.std(dim=1),
        "deviation of the drift gate over steps": output.drift_gate.std(dim=1),
    }
    rows: TableRows = [["value", "mean", *(f"percentile {number}" for number in PERCENTILES)]]
    for name, tensor in values.items():
        numbers = tensor.float().flatten().cpu().numpy()
        rows.append([name, *(round(float(x), 4) for x in (numbers.mean(), *np.percentile(numbers, PERCENTILES)))])
    return rows


def load_model_and_sessions(settings: Settings) -> tuple[Any, list[list[str]]]:
    """Return the model, and the test sessions with `2 * half` items that it knows, as item names.

    Raises:
        ValueError: there are not two of them.
    """
    model: Any = load_saved_model(settings.checkpoint)[0]
    names = model.config.get_row_names()
    data = SessionDataModule(settings.dataset, data_dir=settings.data_dir, item_names=names, divide=False)
    data.setup()
    long = [session.tolist() for session in data.sequences("test") if len(session) >= 2 * settings.half]
    sessions = [[model.config.get_row_name(row) for row in session] for session in long]
    if len(sessions) < 2:
        raise ValueError(
            f"half={settings.half}: {len(sessions)} sessions of the test split have {2 * settings.half} items; choose "
            "a smaller one"
        )
    return model, sessions


def join_session_halves(sessions: list[list[str]], half: int) -> list[list[str]]:
    """Join the first half of each session to the second half of the next one; the last one takes the first's."""
    following = sessions[1:] + sessions[:1]
    return [session[:half] + other[half : 2 * half] for session, other in zip(sessions, following, strict=True)]


def compute_mean_gates(model: Any, histories: list[list[str]]) -> NDArray[np.float64]:
    """Return the mean drift gate over its units (histories, items), after each item of each history."""
    return np.stack([drift_gates(model, history).mean(axis=1) for history in histories]).astype(np.float64)


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {
    "next_items": draw_next_items,
    "change": tabulate_drift_gates,
    "contexts": tabulate_contexts,
}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
