"""Pictures of attention as a kernel (Song et al. 2021), from checkpoints of recipes/sentence_context_encoder.py.

    python reports/context_encoder_figures.py --checkpoint FOLDER
    python reports/context_encoder_figures.py --checkpoint FOLDER --sentence "…"

words: similarity and importance of the words of a sentence side by side, and the weights that they make. It is written
as a PNG file with a CSV file beside into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.pictures import draw_word_kernels, word_kernels
from ctxzoo.training.arguments import COUNT, Args, number_field
from reports.recipe_figures import TableRows, check_figures, draw_figures


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        checkpoint: Checkpoint of a model that reads texts, a folder or Hub id.
        sentence: Sentence that the model reads.
        layer: Number of the layer to draw, from 0.
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    checkpoint: str = ""
    sentence: str = "the plot is thin , but the actors are so good that one hardly minds"
    layer: int = number_field(0, COUNT)
    figures_dir: str = "runs/context_encoder_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure, and that a checkpoint is named."""
        super().__post_init__()
        check_figures(self.only, FIGURES)
        if not self.checkpoint:
            raise ValueError("--checkpoint names nothing; give a checkpoint folder or Hub id")


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_words(settings: Settings, folder: Path) -> TableRows:
    """Draw how the words of a sentence attend to each other: similarity, importance and attention.

    Returns the rows of the CSV file, one for each pair of words.
    """
    model, tokenizer = load_saved_model(settings.checkpoint)
    kernels = word_kernels(model, tokenizer, settings.sentence, layer=settings.layer)
    draw_word_kernels(kernels, folder / "words.png")
    rows: TableRows = [["query", "key", "similarity", "importance of the key", "weight"]]
    similarity, weights = kernels.similarity.mean(axis=0), kernels.weights.mean(axis=0)
    importance = kernels.importance.mean(axis=0)
    for i, query in enumerate(kernels.words):
        for j, key in enumerate(kernels.words):
            numbers = (similarity[i, j], importance[j], weights[i, j])
            rows.append([query, key, *(round(float(number), 5) for number in numbers)])
    return rows


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"words": draw_words}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
