"""What a BiDAF attends to, from a checkpoint, and the curves of recipes/squad_bidaf.py over training, from its results.

    python reports/bidaf_figures.py --results results --figures_dir docs/pictures/bidaf

- attention: how the words of a question attend to those of a paragraph (S2 of the equations), and the probabilities of
  the answer's first and last word, with a frame around the answer;
- curves: validation F1 and loss of the main models on `squad_v1_mini` by epoch, the mean over seeds (Figure 7 of the
  paper, which has curves by step on the official data), and EM in the CSV file. The literal self-attention is there
  with AdamW, of which all seeds have kept their epochs.

Each is written as a PNG file with a CSV file beside; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.ops_answer import decode_answers
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.plots import COLOURS, remove_axes_box
from ctxzoo.results.result import RunResult, read_results
from ctxzoo.results.table_parts import refuse_runs_of_different_settings
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import Args
from reports.recipe_figures import TableRows, check_figures, draw_figures
from reports.tables_bidaf import (
    ADADELTA,
    ADAMW,
    PRESENT_START,
    V1_MINI,
    VECTORS,
    filter_runs,
    has_all_rows,
    has_no_options,
)

MODELS = {  # label -> variant, optimizer
    "baseline": ("baseline", ADADELTA),
    "learned": ("learned", ADADELTA),
    "sinusoidal": ("sinusoidal", ADADELTA),
    "learned_char7": ("learned_char7", ADADELTA),
    "learned_attention, AdamW": ("learned_attention", ADAMW),
}
LONGEST_ANSWER = 15  # words
NO_ANSWER = "(no answer)"
SCORES = {"exact": "EM (%)", "f1": "F1 (%)", "nll": "loss (nats)"}
DRAWN = ("F1 (%)", "loss (nats)")  # EM rises as F1 does


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        results: Folder of results files for the figure "curves".
        reader: Checkpoint of a BiDAF model, for the figure "attention".
        question: Question that the model reads, for the figure "attention".
        context: Paragraph in which the model searches the answer, for the figure "attention".
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    results: str = "results"
    reader: str = "model_cards/bidaf-squad"
    question: str = "who built the bridge ?"
    context: str = "the bridge of lund was built by anna berg in 1887 ."
    figures_dir: str = "runs/bidaf_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure."""
        super().__post_init__()
        check_figures(self.only, FIGURES)


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_attention(settings: Settings, folder: Path) -> TableRows:
    """Draw which words of a paragraph BiDAF attends to for each word of a question.

    Returns the rows of the CSV file: word, weight of each question word, and probability as first and last word.

    Raises:
        ValueError: a checkpoint of another architecture.
    """
    model, tokenizer = load_saved_model(settings.reader)
    if not isinstance(model, BidafForQuestionAnswering):
        raise ValueError(f"reader={settings.reader!r} is a {type(model).__name__}; expected a BiDAF")
    inputs = tokenizer([settings.question], [settings.context], return_tensors="pt")
    with in_evaluation_mode(model):
        output = model(**inputs, output_attentions=True, return_dict=True)
    answer = decode_answers(output, inputs["attention_mask"], LONGEST_ANSWER)
    # Position 0 of a question is an extra token; that of a context stands for "no answer".
    question = tokenizer.convert_ids_to_tokens(inputs["question_input_ids"][0].tolist())[1:]
    words = [NO_ANSWER, *tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())[1:]]
    weights = output.attentions[1][0, :, 1:].double().numpy()  # S2: (words, question words)
    logits = torch.stack([output.start_logits[0], output.end_logits[0]], dim=1)
    ends = logits.double().softmax(dim=0).numpy()  # (words, 2)
    plot_attention(question, words, weights, ends, (int(answer.starts), int(answer.ends)), folder / "attention.png")
    rows: TableRows = [["word", *question, "first word", "last word"]]
    for word, row in zip(words, np.hstack([weights, ends]).tolist(), strict=True):
        rows.append([word, *(round(value, 4) for value in row)])
    return rows


def plot_attention(
    question: list[str],
    words: list[str],
    weights: NDArray[np.float64],
    ends: NDArray[np.float64],
    answer: tuple[int, int],
    path: Path,
) -> None:
    """Draw a row for each word of a paragraph: attention in blue, the probabilities of start and end in orange.

    Args:
        question: List of the q words of the question.
        words: List of the n words of the paragraph.
        weights: (n, q) attention of each of q question words to each of n paragraph words; each column sums to 1.
        ends: (n, 2) probability that each of n paragraph words is the first, and the last, of the answer.
        answer: Positions in the paragraph of the answer's first and last word, which get a frame.
        path: The PNG file to write.
    """
    figure = new_figure(5.6, 0.29 * len(words) + 1.3)
    weight_axes, end_axes = figure.subplots(1, 2, sharey=True, width_ratios=[len(question), 2])
    for axes, values, colours, labels, title in (
        (weight_axes, weights, "Blues", question, "attention of question words (%)"),
        (end_axes, ends, "Oranges", ["first", "last"], "answer (%)"),
    ):
        axes.imshow(100 * values, cmap=colours, vmin=0, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if value > 0.6 * values.max() else "black"
            axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=9, color=colour)
        axes.set_xticks(range(len(labels)), labels, fontsize=10, parse_math=False)
        axes.set_title(title, loc="left", fontsize=10)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        top, bottom = answer[0] - 0.5, answer[1] + 0.5
        edges = (-0.5, len(labels) - 0.5)
        axes.plot([*edges, *edges[::-1], edges[0]], [top, top, bottom, bottom, top], color=COLOURS[2], linewidth=2.5)
    weight_axes.set_yticks(range(len(words)), words, fontsize=10, parse_math=False)
    save_figure(figure, path)


def draw_curves(settings: Settings, folder: Path) -> TableRows:
    """Draw validation scores over the epochs of training.

    Returns the rows of the CSV file: model, seeds, epoch, and mean EM, F1 and loss.

    Raises:
        ValueError: there are no results to draw.
    """
    results = read_results(Path(settings.results))
    rows: TableRows = []
    for model, (variant, optimizer) in MODELS.items():
        runs = select_variant_runs(results, variant, optimizer)
        for epoch in range(1, runs[0].settings["epochs"] + 1) if runs else ():
            means = [
                statistics.fmean(run.metrics[f"validation/epoch{epoch}/{name}"] for run in runs) for name in SCORES
            ]
            rows.append([model, len(runs), epoch, *(round(mean, 3) for mean in means)])
    if not rows:
        raise ValueError(f"results={settings.results!r} holds none of recipes/squad_bidaf.py; run it first")
    headings = [*SCORES.values()]
    figure = new_figure(6.4, 3.6)
    for panel, heading in zip(figure.subplots(1, len(DRAWN)), DRAWN, strict=True):
        column = 3 + headings.index(heading)
        for model in MODELS:
            model_rows = [row for row in rows if row[0] == model]
            panel.plot([row[2] for row in model_rows], [row[column] for row in model_rows], label=model)
        panel.set(title=heading, xlabel="epoch")
        remove_axes_box(panel)
    lines, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    save_figure(figure, folder / "curves.png")
    return [["model", "seeds", "epoch", *headings], *rows]


def select_variant_runs(results: list[RunResult], variant: str, optimizer: str) -> list[RunResult]:
    """Return a BiDAF variant's runs with an optimizer, on all rows, with today's initial weights and vectors."""
    runs = [
        run
        for run in filter_runs(results, V1_MINI)
        if (run.variant, run.settings.get("optimizer")) == (variant, optimizer)
        and has_no_options(run)
        and has_all_rows(run)
        and run.settings["product_start"] == PRESENT_START
        and run.settings.get("word_vectors") == VECTORS
    ]
    refuse_runs_of_different_settings(runs)
    return runs


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {"attention": draw_attention, "curves": draw_curves}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
