"""What remains when a reader is trained: results file, figures, checkpoint folder, and a first answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only
from rich.console import Console
from rich.table import Table

from ctxzoo.data.squad_datamodule import SquadDataModule
from ctxzoo.evaluation.environment import command_line, hardware, peak_memory_mb, versions
from ctxzoo.evaluation.learning_curve import scores_by_epoch
from ctxzoo.evaluation.plots import plot_learning_curves, plot_similarity
from ctxzoo.evaluation.results import RunResult, write_result
from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.push import push_folder
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline
from ctxzoo.training.question_answering_task import QuestionAnsweringTask
from ctxzoo.training.trainer import training_seconds

# Kept for every epoch in the results file.
CURVES = ("nll", "exact", "f1", "span_exact", "span_f1", "no_answer_auc")
SHOWN = ("exact", "f1", "span_exact", "span_f1", "AvNA", "no_answer_auc", "f1_at_threshold", "always_no_answer", "nll")


@rank_zero_only  # type: ignore[untyped-decorator, unused-ignore]
def finish_reader(
    task: QuestionAnsweringTask,
    data: SquadDataModule,
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
    tag: str = "",
    push_to: str | None = None,
) -> None:
    """Write everything that a run leaves behind, and say where it is.

    `folder` gets learning_curves.png, attention.png and the checkpoint folder `checkpoint`; `results_dir` the results
    file.

    Args:
        task: with its final weights.
        data, trainer: of the run.
        scores: split name to metrics.
        folder, results_dir: where to write.
        recipe, architecture, variant, seed, commit, settings: for the results file.
        tag: what its name says beside variant, data and seed.
        push_to: Hub repository that receives the checkpoint folder.
    """
    log = folder / "logs" / "csv" / "metrics.csv"
    result = RunResult(
        recipe=recipe,
        architecture=architecture,
        variant=variant,
        dataset=data.dataset,
        split="test",
        fold=None,
        seed=seed,
        metrics={
            **{f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            **scores_by_epoch(log, CURVES),
            "epochs": trainer.current_epoch,
            "steps": trainer.global_step,
        },
        settings=settings,
        parameters={
            "trainable": sum(p.numel() for p in task.model.parameters() if p.requires_grad),
            "total": sum(p.numel() for p in task.model.parameters()),
        },
        command=command_line(),
        commit=commit,
        data={"source": data.dataset, "fingerprint": data.fingerprint},
        hardware=hardware(),
        versions=versions(),
        wall_seconds=training_seconds(trainer),
        peak_memory_mb=peak_memory_mb(),
    )
    path = write_result(result, results_dir, tag=tag or None)

    task.model.eval()
    example = _example(task, data)
    plot_learning_curves(log, folder / "learning_curves.png")
    _attention_figure(task, data, example, folder / "attention.png")
    checkpoint = write_checkpoint_folder(
        folder / "checkpoint",
        model=task.model,
        tokenizer=data.tokenizer,
        card=build_card(result, task.model.config, example=example),
        eval_results=result,
    )
    _print_summary(result, path, folder, checkpoint, example)
    if push_to is not None:
        print(f"pushed: {push_folder(checkpoint, push_to)}")


def _example(task: QuestionAnsweringTask, data: SquadDataModule) -> dict[str, Any]:
    """The first answerable test question, with the model's answer."""
    rows = data.texts("test")
    row = next((place for place, answers in enumerate(rows["answers"]) if answers["text"]), 0)
    question, context, answers = (rows[row][name] for name in ("question", "context", "answers"))
    reader = QuestionAnsweringPipeline(model=task.model, tokenizer=data.tokenizer)
    answer = reader(question=question, context=context)
    return {"row": row, "question": question, "context": context, "gold": answers["text"], **answer}


def _attention_figure(task: QuestionAnsweringTask, data: SquadDataModule, example: dict[str, Any], path: Path) -> None:
    """S of the example as a picture, its answer marked."""
    inputs = data.tokenizer(
        example["question"], example["context"], return_tensors="pt", return_offsets_mapping=True, truncation=False
    ).to(task.model.device)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    question = [example["question"][begin:end] for begin, end in _offsets(data, example["question"])]
    with torch.inference_mode():
        attentions = task.model(**inputs, output_attentions=True).attentions
    # The logarithm of S1 differs from S by a constant for each context word, which the figure's softmax takes out
    # again.
    similarity = attentions[0][0].float().clamp(min=1e-30).log().cpu().numpy()
    answer = [
        place
        for place, (begin, end) in enumerate(offsets)
        if place > 0 and begin < example["end"] and end > example["start"]
    ]
    plot_similarity(
        similarity[1:, 1:],
        [example["context"][begin:end] for begin, end in offsets[1:]],
        question,
        path,
        title=f"{task.model.config.model_type}: which question words each context word attends to",
        highlight=(answer[0] - 1, answer[-1] - 1) if answer else None,
    )


def _offsets(data: SquadDataModule, text: str) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = data.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    return offsets


def _print_summary(result: RunResult, path: Path, folder: Path, checkpoint: Path, example: dict[str, Any]) -> None:
    console = Console()
    table = Table(title=f"{result.architecture} {result.variant} on {result.dataset}, seed {result.seed}")
    splits = ("validation", "test")
    table.add_column("")
    for split in splits:
        table.add_column(split, justify="right")
    for name in SHOWN:
        values = [result.metrics.get(f"{split}/{name}") for split in splits]
        if any(value is not None for value in values):
            table.add_row(name.replace("_", " "), *("" if value is None else f"{value:.2f}" for value in values))
    console.print(table)
    answer = example["answer"] or "(no answer)"
    console.print(
        f"trained {result.wall_seconds / 60:.1f} min; {result.parameters['trainable']:,} trainable parameters"
    )
    console.print(f"results    {path}\nfigures    {folder}\ncheckpoint {checkpoint}\n", soft_wrap=True, highlight=False)
    console.print("load it:", highlight=False)
    for line in (
        "from transformers import pipeline",
        f'reader = pipeline("question-answering", model="{checkpoint}", trust_remote_code=True)',
        "reader(question=..., context=...)",
    ):
        console.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"\nquestion: {example['question']}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"answer:   {answer}   (gold: {' | '.join(example['gold'])})", markup=False, soft_wrap=True)
