"""What remains when a model is trained: checkpoint folder, results file, figures, and a first prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import lightning
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ctxzoo.hub.card import CardOptions, build_card, make_card_example
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.classification_facts import write_label_files
from ctxzoo.hub.eval_results import build_eval_results_files, describe_seed_and_fold
from ctxzoo.hub.push import push_folder
from ctxzoo.hub.task_card import TaskCard, format_loading_snippet
from ctxzoo.results.figures import draw_if_matplotlib_is_installed
from ctxzoo.results.learning_curve import plot_learning_curves, read_losses_by_epoch, read_scores_by_epoch
from ctxzoo.results.printing import print_table_with_title
from ctxzoo.results.result import RunResult, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import CSV_LOG, get_training_seconds


class RunData(Protocol):
    """A DataModule of the zoo, after `setup`."""

    dataset: str

    @property
    def fingerprint(self) -> str:
        """The content hashes of the splits."""

    @property
    def tokenizer(self) -> Any:
        """What turns texts into the model's inputs; None for an architecture that reads no text."""


def build_training_result(
    task: ZooTask,
    data: RunData,
    trainer: lightning.Trainer,
    scores: dict[str, dict[str, float]],
    run: ExperimentRun,
    per_example: Mapping[str, Sequence[float]] | None = None,
) -> RunResult:
    """Build the result of a finished training, as its result file holds it.

    Args:
        task, data, trainer: LightningModule, DataModule and Trainer of the finished training.
        scores: Metric values by name, for each split name.
        run: Training run that has finished, which names the folder of its log and the settings.
        per_example: Values for every scored example, by name, which the results file keeps for paired tests, as in
            `RunResult`.
    """
    log = run.folder / CSV_LOG
    parameters = list(task.model.parameters())
    return run.build_result(
        metrics={
            **{f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            **read_losses_by_epoch(log),
            **read_scores_by_epoch(log, run.card.curves),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
        },
        parameters={
            "trainable": sum(p.numel() for p in parameters if p.requires_grad),
            "total": sum(p.numel() for p in parameters),
        },
        fingerprint=data.fingerprint,
        seconds=get_training_seconds(trainer),
        per_example=per_example,
        labels=getattr(task, "label_tables", None),
    )


def finish_run(
    task: ZooTask,
    data: RunData,
    trainer: lightning.Trainer,
    scores: dict[str, dict[str, float]],
    run: ExperimentRun,
    per_example: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Write the checkpoint folder, result file and figures of a finished training, and print where they are.

    Of several processes the first alone calls it, see `run_in_first_process`.

    The folder of the run gets the checkpoint folder `checkpoint`, then `results_dir` the results file, then the folder
    the pictures: learning_curves.png and those of the problem. Without matplotlib there are no pictures.

    Args:
        task: LightningModule with its final weights.
        data, trainer: DataModule and Trainer that the model was trained with.
        scores: Metric values by name, for each split name.
        run: Training run that has finished; it gives the folders, the split to report and the options of the model
            card.
        per_example: Values for every scored example, by name, which the results file keeps for paired tests, as in
            `RunResult`.
    """
    card, push_to = run.card, run.experiment.run.push_to
    result = build_training_result(task, data, trainer, scores, run, per_example)
    task.model.eval()
    example_arguments: dict[str, Any] = {"tokenizer": data.tokenizer, "data": data, "split": run.split}
    options = run.card_options or CardOptions()
    example = make_card_example(card, result.dataset, model=task.model, **example_arguments)
    published = make_card_example(card, result.dataset, model=task.model, **example_arguments, example=options.example)
    checkpoint = write_checkpoint_folder(
        run.checkpoint,
        model=task.model,
        tokenizer=data.tokenizer,
        card=build_card(result, task.model.config, task=card, example=published, options=options),
        eval_results=build_eval_results_files(result, card),
    )
    for split, table in result.labels.items():
        write_label_files(table, run.folder / f"labels-{split}.csv", run.folder / f"confusion-{split}.csv")
    write_result_file(result, run.results_file)
    draw_if_matplotlib_is_installed(lambda: _draw_figures(task, data, card, example, run.folder))
    print_summary(result, run, example)
    if push_to is not None:
        print(f"pushed: {push_folder(checkpoint, push_to)}")


def _draw_figures(task: ZooTask, data: RunData, card: TaskCard, example: Mapping[str, Any], folder: Path) -> None:
    """Draw the learning curves of a run and the figures of its task into a folder."""
    plot_learning_curves(folder / CSV_LOG, folder / "learning_curves.png", card.drawn)
    card.draw_figures(task, data, example, folder)


def print_summary(result: RunResult, run: Run, example: Mapping[str, Any] | None = None) -> None:
    """Print a finished run's scores, files and an example, and how to load the model.

    Args:
        result: Results of the finished run.
        run: Finished run, which names the folders that are printed.
        example: Example inputs and the model's output for them, by name; None: no example is printed.
    """
    card, console = run.card, Console()
    table = Table()
    splits = ("validation", "test")
    table.add_column("")
    for split in splits:
        table.add_column(split, justify="right")
    for name in card.metrics:
        values = [result.metrics.get(f"{split}/{name}") for split in splits]
        if any(value is not None for value in values):
            table.add_row(name.replace("_", " "), *("" if value is None else f"{value:.2f}" for value in values))
    print_table_with_title(
        f"{result.architecture} {result.variant} on {result.dataset}, {describe_seed_and_fold(result)}", table, console
    )
    for one in card.list_label_tables(result):
        of_labels = Table(*map(escape, one.rows[0]))
        for row in one.rows[1:]:
            of_labels.add_row(*map(escape, row))
        print_table_with_title(one.title, of_labels, console)
    console.print(
        f"trained {result.wall_seconds / 60:.1f} min; {result.parameters['trainable']:,} trainable parameters"
    )
    checkpoint = run.checkpoint.absolute()
    labels_file = run.folder / f"labels-{result.split}.csv"
    labels = f"labels     {labels_file}\n" if result.labels and labels_file.is_file() else ""
    places = f"results    {run.results_file}\n{labels}figures    {run.folder}\ncheckpoint {checkpoint}\n"
    console.print(places, soft_wrap=True, highlight=False)
    for line in format_loading_snippet(checkpoint, card):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if example is not None:
        console.print()
        for line in card.format_example(example):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
