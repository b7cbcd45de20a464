"""Figures 2 to 4 and Table 4 of Mehta, Rangwala and Ramakrishnan (2019), drawn from what recipes/document_lama.py left.

    python reports/lama_figures.py                                  all of them
    python reports/lama_figures.py --only parameters heads          some of them
    python reports/lama_figures.py --checkpoint runs/document_lama/lama-yelp_review_full-test-seed0/checkpoint

- weights (Figure 2): attention to chosen words in reviews of each rating, as a multiple of an even share;
- heads (Figure 3): test accuracy by the number of heads, from runs named m1, m5, ... by --name;
- parameters (Figure 4): of the attention alone, counted in the modules, for 1 to 40 heads;
- words (Table 4): the words with the most attention in the documents of each class.

Each writes a CSV file and, but for the table, a PNG file into --figures_dir; `figures.json` says how they were made.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from ctxzoo.models.layers_text_baseline import AdditiveScores
from ctxzoo.models.modeling_lama import LowRankAttention
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.plots import COLOURS, label_axes, plot_scores_by, remove_axes_box
from ctxzoo.results.result import RESULTS_DIR, RunResult, read_results
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.experiments import get_document_dataset
from ctxzoo.training.arguments import SIZE, Args, number_field
from reports.attended_words import Occurrences, find_top_words, read_occurrences
from reports.recipe_figures import TableRows, check_figures, draw_figures

RECIPE = "document_lama"
STATE = 100  # D
SAN_SIZE = 350  # d_a
HEAD_OF_TE = 64  # width of a Transformer's head
MOST_HEADS = 40


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is drawn.

    Args:
        only: Names of the figures to draw; none: all of them.
        dataset: Name of a dataset of recipes/document_lama.py, for the figure "weights".
        checkpoint: Checkpoint for the figure "weights"; empty: LAMA trained on --dataset with seed 0.
        words: Words whose attention weights are drawn in the figure "weights".
        table_dataset: Name of a dataset of recipes/document_lama.py, for the table "words".
        table_checkpoint: Checkpoint for the table "words"; empty: LAMA trained on --table_dataset with seed 0.
        top: Number of words to list for each class.
        at_least: Least number of occurrences in its class for a word to be listed.
        run_dataset: Name of the dataset whose runs the figure "heads" compares.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        runs_dir: Folder of checkpoints of the trained runs.
        results_dir: Folder of results files for the figure "heads"; published ones are in results.
        figures_dir: Folder into which the figures are written.
    """

    only: tuple[str, ...] = ()
    dataset: str = "yelp"
    checkpoint: str = ""
    words: tuple[str, ...] = ("delicious", "great", "okay", "bland", "terrible")
    table_dataset: str = "reuters8"
    table_checkpoint: str = ""
    top: int = number_field(10, SIZE)
    at_least: int = number_field(10, SIZE)
    run_dataset: str = "reuters8"
    data_dir: str | None = None
    runs_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    figures_dir: str = "runs/lama_figures"

    def __post_init__(self) -> None:
        """Check that every name in `only` is a figure."""
        super().__post_init__()
        check_figures(self.only, FIGURES)


def main(settings: Settings) -> None:
    """Draw the figures that `settings.only` names, or all."""
    draw_figures(FIGURES, settings, only=settings.only, folder=Path(settings.figures_dir))


def draw_weights(settings: Settings, folder: Path) -> TableRows:
    """Draw how much attention some words get in the texts of each label.

    Returns the rows of the CSV file: word, label, number, and quantiles of the weights.
    """
    occurrences, data = read_test_occurrences(settings, settings.dataset, settings.checkpoint)
    ids = dict(zip(settings.words, data.tokenizer.convert_tokens_to_ids(settings.words), strict=True))
    unknown = [word for word, index in ids.items() if not index]
    if unknown:
        raise ValueError(f"words: {unknown} are not in the vocabulary of the checkpoint")
    groups = {
        word: {
            name: occurrences.select_word_weights(index, label).tolist() for label, name in enumerate(data.label_names)
        }
        for word, index in ids.items()
    }
    title = f"Attention to words in the test texts of {settings.dataset} (1: an even share)"
    plot_distributions(groups, folder / "weights.png", axis="label", title=title)
    rows: TableRows = [["word", "label", "occurrences", "5 %", "median", "95 %"]]
    for word, of_labels in groups.items():
        for name, values in of_labels.items():
            quantiles = torch.tensor(values).quantile(torch.tensor([0.05, 0.5, 0.95])).tolist() if values else []
            rows.append([word, name, len(values), *(round(value, 4) for value in quantiles)])
    return rows


def draw_heads(settings: Settings, folder: Path) -> TableRows:
    """Draw test accuracy by the number of attention heads.

    Returns the rows of the CSV file: model, number and accuracies.
    """
    runs = [
        run
        for run in find_finished_runs(settings)
        if run.variant in ("lama", "lama_ctx") and differs_in_heads_alone(run)
    ]
    points: dict[str, dict[int, list[float]]] = {}
    for run in sorted(runs, key=lambda run: (run.variant, run.settings["num_heads"], run.seed)):
        points.setdefault(run.variant, {}).setdefault(run.settings["num_heads"], []).append(
            run.metrics["test/accuracy"]
        )
    plot_scores_by(points, folder / "heads.png", axis="number of heads m", runs="seeds")
    rows: TableRows = [["model", "heads", "accuracies"]]
    return rows + [
        [name, number, " ".join(f"{value:.2f}" for value in values)]
        for name, of_numbers in points.items()
        for number, values in of_numbers.items()
    ]


def draw_parameters(settings: Settings, folder: Path) -> TableRows:
    """Draw the number of parameters of three attentions by the number of heads; return a row for each number."""
    counts: dict[str, dict[int, float]] = {"LAMA": {}, "SAN": {}, "Transformer encoder": {}}
    for heads in range(1, MOST_HEADS + 1):
        with torch.device("meta"):  # counted, not filled
            modules = {
                "LAMA": LowRankAttention(STATE, heads, 1, l2_normalize=heads > 1, logit_scale=1.0),
                "SAN": AdditiveScores(STATE, SAN_SIZE, heads),
                "Transformer encoder": torch.nn.MultiheadAttention(HEAD_OF_TE * heads, heads),
            }
        for name, module in modules.items():
            counts[name][heads] = sum(parameter.numel() for parameter in module.parameters())
    plot_lines(counts, folder / "parameters.png", axis="number of heads m", title="Parameters of the attention")
    rows: TableRows = [["heads", *counts]]
    return rows + [[heads, *(line[heads] for line in counts.values())] for heads in counts["LAMA"]]


def tabulate_top_words(settings: Settings, folder: Path) -> TableRows:
    """Return the words with the most attention in the texts of each label; draw nothing."""
    occurrences, data = read_test_occurrences(settings, settings.table_dataset, settings.table_checkpoint)
    names = data.tokenizer.convert_ids_to_tokens(range(len(data.tokenizer)))
    rows: TableRows = [["label", "word", "weight", "occurrences"]]
    for label, name in enumerate(data.label_names):
        for word, weight, count in find_top_words(occurrences, names, label, settings.top, settings.at_least):
            rows.append([name, word, round(weight, 4), count])
    return rows


FIGURES: dict[str, Callable[[Settings, Path], TableRows]] = {
    "weights": draw_weights,
    "heads": draw_heads,
    "parameters": draw_parameters,
    "words": tabulate_top_words,
}


def read_test_occurrences(
    settings: Settings, name: str, requested: str
) -> tuple[Occurrences, TextClassificationDataModule]:
    """Return the words of a dataset's test split with their attention by a checkpoint, and the data module."""
    arguments = get_document_dataset(name)
    dataset = arguments["dataset"].rsplit("/", 1)[-1]
    checkpoint = Path(requested or f"{settings.runs_dir}/{RECIPE}/lama-{dataset}-test-seed0/checkpoint")
    if not (checkpoint / "config.json").is_file():
        raise FileNotFoundError(
            f"no checkpoint in {checkpoint}; make it with: python recipes/{RECIPE}.py --dataset {name} --model lama"
        )
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    data = TextClassificationDataModule.from_options(
        **arguments, data_dir=settings.data_dir, tokenizer=tokenizer, max_length=512, eval_batch_size=64, divide=False
    )
    data.setup()
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    return read_occurrences(model, data.split_dataloader("test")), data


def find_finished_runs(settings: Settings) -> Sequence[RunResult]:
    """Return the finished runs of recipes/document_lama.py on one dataset."""
    dataset = get_document_dataset(settings.run_dataset)["dataset"]
    runs = [
        run
        for run in read_results(settings.results_dir)
        if (run.recipe, run.dataset, run.split) == (RECIPE, dataset, "test") and not run.settings.get("tiny")
    ]
    if not runs:
        raise FileNotFoundError(
            f"no results of {RECIPE} on {dataset} in {settings.results_dir}; make them with: "
            f"python recipes/{RECIPE}.py --dataset {settings.run_dataset}"
        )
    return runs


def differs_in_heads_alone(run: RunResult) -> bool:
    """Return whether a run has the paper's settings but for the number of heads, by its name."""
    return run.tag in ("", f"m{run.settings['num_heads']}")


def plot_lines(lines: Mapping[str, Mapping[int, float]], path: str | Path, *, axis: str, title: str) -> None:
    """Draw a line for each name: values by whole numbers, which are on a logarithmic axis.

    Args:
        lines: Points of each line, value by whole number on the x axis, by the line's name.
        path: The PNG file to write.
        axis, title: Label of the x axis, and title, which says what the values are.

    Raises:
        ValueError: a line without points, or no line.
        ImportError: matplotlib is missing.
    """
    if not lines or not all(lines.values()):
        raise ValueError(f"nothing to draw: every line needs points, got {dict(lines)}")
    figure = new_figure(6, 3.8)
    axes = figure.subplots()
    for place, (name, points) in enumerate(lines.items()):
        numbers = sorted(points)
        axes.plot(
            numbers,
            [points[one] for one in numbers],
            color=COLOURS[place % len(COLOURS)],
            linewidth=2,
            label=name,
        )
    axes.set_yscale("log")
    axes.locator_params(axis="x", integer=True)
    label_axes(axes, axis, title)
    save_figure(figure, path)


def plot_distributions(
    rows: Mapping[str, Mapping[str, Sequence[float]]], path: str | Path, *, axis: str, title: str
) -> None:
    """Draw box plots, a panel for each row and a box for each group: quartiles, whiskers from 5 to 95 %.

    Args:
        rows: Values of each group, by group name, by title of the panel; a group may be empty.
        path: The PNG file to write.
        axis, title: Label of the group axis, and title, which says what the values are.

    Raises:
        ValueError: no rows.
        ImportError: matplotlib is missing.
    """
    if not rows:
        raise ValueError("nothing to draw: no rows")
    figure = new_figure(max(4.0, 2.4 * len(rows)), 3.4)
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for panel, (name, groups) in zip(panels, rows.items(), strict=True):
        panel.boxplot(
            [list(values) for values in groups.values()],
            tick_labels=list(groups),
            whis=(5, 95),
            showfliers=False,
            widths=0.6,
            patch_artist=True,
            boxprops={"facecolor": "#d6e3f2", "edgecolor": COLOURS[0]},
            medianprops={"color": COLOURS[1], "linewidth": 2},
        )
        panel.set_title(name, fontsize=11)
        panel.tick_params(labelsize=8)
        remove_axes_box(panel)
    figure.supxlabel(axis, fontsize=10)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    save_figure(figure, path)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
