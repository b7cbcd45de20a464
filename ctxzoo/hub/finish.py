"""What remains when a model is trained: checkpoint folder, results file, figures, and a first prediction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
from rich.console import Console
from rich.table import Table

from ctxzoo.evaluation.figures import draw_if_possible
from ctxzoo.evaluation.plots import plot_learning_curves
from ctxzoo.evaluation.results import RunResult, write_result
from ctxzoo.hub.card import build_card
from ctxzoo.hub.card_example import card_example
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import run_place
from ctxzoo.hub.loading import loading_lines
from ctxzoo.hub.push import push_folder
from ctxzoo.hub.task_facts import TaskFacts
from ctxzoo.hub.tasks import task_of
from ctxzoo.hub.training_result import RunData, training_result
from ctxzoo.models import ARCHITECTURES
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import CSV_LOG


def finish_run(
    task: ZooTask,
    data: RunData,
    trainer: lightning.Trainer,
    scores: dict[str, dict[str, float]],
    *,
    folder: Path,
    results_dir: Path,
    recipe: str,
    architecture: str,
    variant: str,
    seed: int,
    commit: str,
    settings: dict[str, Any],
    fold: int | None = None,
    tag: str = "",
    split: str = "test",
    push_to: str | None = None,
) -> None:
    """Write everything that a run leaves behind, what is dearest first, and say where it is.

    Of several processes the first alone calls it, see `in_first_process`.

    `folder` gets the checkpoint folder `checkpoint`, then `results_dir` the results file, then `folder` the pictures:
    learning_curves.png and those of the task (for readers attention.png). Without matplotlib there are no pictures.

    Args:
        task: with its final weights; `hub.tasks` knows what its model does.
        data, trainer: of the run.
        scores: split name to metrics.
        folder, results_dir: where to write.
        recipe, architecture, variant, seed, commit, settings: for the results file.
        fold: number of the fold in cross-validation.
        tag: what tells the run from others of its variant; part of the name of its file.
        split: that is reported, and gives the card's example where there is none of ours.
        push_to: Hub repository that receives the checkpoint folder.

    Raises:
        ValueError: the model's head does no task that `hub.tasks` knows.
    """
    facts = task_of(ARCHITECTURES[architecture], type(task.model).__name__)
    result = training_result(
        task,
        data,
        trainer,
        scores,
        folder=folder,
        curves=facts.curves,
        recipe=recipe,
        architecture=architecture,
        variant=variant,
        seed=seed,
        commit=commit,
        settings=settings,
        fold=fold,
        tag=tag,
        split=split,
    )
    task.model.eval()
    example = card_example(facts, result.dataset, model=task.model, tokenizer=data.tokenizer, data=data, split=split)
    checkpoint = write_checkpoint_folder(
        folder / "checkpoint",
        model=task.model,
        tokenizer=data.tokenizer,
        card=build_card(result, task.model.config, task=facts, example=example),
        eval_results=result,
    )
    path = write_result(result, results_dir)
    draw_if_possible(lambda: _draw_figures(task, data, facts, example, folder))
    _print_summary(result, facts, path, folder, checkpoint, example)
    if push_to is not None:
        print(f"pushed: {push_folder(checkpoint, push_to)}")


def _draw_figures(task: ZooTask, data: RunData, facts: TaskFacts, example: Mapping[str, Any], folder: Path) -> None:
    plot_learning_curves(folder / CSV_LOG, folder / "learning_curves.png", facts.drawn)
    if facts.draw_figures is not None:
        facts.draw_figures(task, data, example, folder)


def _print_summary(
    result: RunResult, facts: TaskFacts, path: Path, folder: Path, checkpoint: Path, example: Mapping[str, Any]
) -> None:
    console = Console()
    table = Table(title=f"{result.architecture} {result.variant} on {result.dataset}, {run_place(result)}")
    splits = ("validation", "test")
    table.add_column("")
    for split in splits:
        table.add_column(split, justify="right")
    for name in facts.metrics:
        values = [result.metrics.get(f"{split}/{name}") for split in splits]
        if any(value is not None for value in values):
            table.add_row(name.replace("_", " "), *("" if value is None else f"{value:.2f}" for value in values))
    console.print(table)
    console.print(
        f"trained {result.wall_seconds / 60:.1f} min; {result.parameters['trainable']:,} trainable parameters"
    )
    console.print(f"results    {path}\nfigures    {folder}\ncheckpoint {checkpoint}\n", soft_wrap=True, highlight=False)
    for line in loading_lines(checkpoint, facts):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    for line in facts.example_lines(example):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
