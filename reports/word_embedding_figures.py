"""Figures of attention CBOW, from checkpoints and from results of its evaluations (Ling et al., EMNLP 2015).

    python reports/word_embedding_figures.py --checkpoints runs/wikipedia_attention_cbow/…/checkpoint …     all of them
    python reports/word_embedding_figures.py --only words --checkpoints A --sentence "…" --centres of town
    python reports/word_embedding_figures.py --only windows --results_dir results     no checkpoint, published runs

- words (Figure 1): how much the words of a sentence count when each of some of its words is predicted; a picture for
  each checkpoint;
- positions: s and its softmax, the curves of all checkpoints in one picture;
- windows: POS induction by the half window b, from the unnamed runs of recipes/embedding_evaluation.py.

Each writes a CSV file and PNG files into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, AutoTokenizer

import ctxzoo  # noqa: F401  (registers the architectures)
from ctxzoo.results.plots import plot_scores_by
from ctxzoo.results.result import RESULTS_DIR, read_results
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.word_embeddings import (
    draw_position_curves,
    draw_word_attention,
    position_curve,
    word_attention,
)
from ctxzoo.training.arguments import Args
from ctxzoo.word_vectors.safetensors_files import find_vector_checkpoint
from reports.recipe_figures import TableRows, check_figures, draw_figures
from reports.tables_word_embedding import MODELS, RECIPE, TREEBANK_TAGS, WINDOWS, select_training_runs


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        checkpoints: Word embedding models for the figures "words" and "positions": checkpoint folders or Hub ids.
        sentence: Sentence to read, for the figure "words".
        centres: Centre words to draw in the figure "words"; none: every word.
        results_dir: Folder of results files for the figure "windows"; published ones are in results.
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    sentence: str = "in the winter the old bridge of the town was closed because of the ice on the river"
    centres: tuple[str, ...] = ()
    results_dir: str = RESULTS_DIR
    figures_dir: str = "runs/word_embedding_figures"

    def __post_init__(self) -> None:
        """Check the options: known figures, and checkpoints where a figure needs them."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoints and {"words", "positions"} & set(self.only or FIGURES):
            raise ValueError(
                "--checkpoints names nothing; give checkpoint folders or Hub ids, or --only windows, which needs none"
            )


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_words(settings: Settings, folder: Path) -> TableRows:
    """Draw which context words attention CBOW attends to when it predicts a word; return a row for each pair."""
    rows: TableRows = [["checkpoint", "predicted", "place", "word", "position", "weight"]]
    for name, path in iterate_named_checkpoints(settings.checkpoints):
        attention = word_attention(load_model(path), AutoTokenizer.from_pretrained(path), settings.sentence)
        centres = attention.find_positions(settings.centres) if settings.centres else range(len(attention.words))
        draw_word_attention(attention, centres, folder / f"words-{name}.png", title=name)
        for centre in centres:
            rows += [
                [
                    name,
                    attention.words[centre],
                    centre,
                    word,
                    index - centre,
                    round(attention.weights[centre, index], 6),
                ]
                for index, word in enumerate(attention.words)
                if attention.is_context[centre, index]
            ]
    return rows


def draw_positions(settings: Settings, folder: Path) -> TableRows:
    """Draw the attention to each position of the window; return a row for each checkpoint and position."""
    curves = {name: position_curve(load_model(path)) for name, path in iterate_named_checkpoints(settings.checkpoints)}
    draw_position_curves(curves, folder / "positions.png")
    rows: TableRows = [["checkpoint", "position", "logit", "share"]]
    for name, curve in curves.items():
        values = zip(curve.positions, curve.logits.tolist(), curve.weights.tolist(), strict=True)
        rows += [[name, position, round(logit, 6), round(weight, 6)] for position, logit, weight in values]
    return rows


def draw_windows(settings: Settings, folder: Path) -> TableRows:
    """Draw the score of part-of-speech induction by half window size; return a row for each model and window."""
    results = read_results(settings.results_dir)
    points: dict[str, dict[int, list[float]]] = {}
    for architecture, label in MODELS.items():
        for window in WINDOWS:
            runs = select_training_runs(results, architecture, "pos_induction", window)
            medians = [run.metrics[f"{TREEBANK_TAGS}/v_measure_median"] for run in runs]
            if medians:
                points.setdefault(label, {})[window] = medians
    if not points:
        raise FileNotFoundError(
            f"no POS induction in {settings.results_dir}/{RECIPE}; make it with: "
            f"python recipes/{RECIPE}.py --tasks pos_induction --vectors CHECKPOINT …"
        )
    plot_scores_by(points, folder / "windows.png", axis="half window b", runs="trainings", score="POS induction, V")
    rows: TableRows = [["model", "window", "V-measures"]]
    return rows + [
        [label, window, " ".join(f"{value:.2f}" for value in values)]
        for label, of_windows in points.items()
        for window, values in of_windows.items()
    ]


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {
    "words": draw_words,
    "positions": draw_positions,
    "windows": draw_windows,
}


def iterate_named_checkpoints(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and path of checkpoints, whose names must differ."""
    path_of_name: dict[str, str] = {}
    for path in paths:
        checkpoint = find_vector_checkpoint(path)
        if checkpoint is None:
            raise FileNotFoundError(f"{path}: no checkpoint folder or Hub id")
        if checkpoint.name in path_of_name:
            raise ValueError(
                f"{path_of_name[checkpoint.name]} and {path} are both called {checkpoint.name}; give one of them"
            )
        path_of_name[checkpoint.name] = path
        yield checkpoint.name, path


def load_model(path: str) -> Any:
    """Return the masked language model of a checkpoint, in evaluation mode."""
    return AutoModelForMaskedLM.from_pretrained(path).eval()


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
