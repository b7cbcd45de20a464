"""One training of a text classifier, from plain settings to results file and checkpoint folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning

from ctxzoo.data.text_datamodule import TextClassificationDataModule
from ctxzoo.evaluation.results import RunResult, finished_result, read_result, result_path
from ctxzoo.evaluation.scoring import score_splits
from ctxzoo.hub.finish import finish_run
from ctxzoo.training.sequence_classification_task import SequenceClassificationTask, label_fields
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer, check_writable

LOG = "log.txt"


@dataclass(frozen=True, kw_only=True)
class ClassifierRun:
    """All that decides one training, in values that can be sent to another process.

    Attributes:
        recipe, architecture, variant, seed, fold, commit: for the results file.
        config: fields of the model's config with its `model_type`; sizes and labels come from the data.
        data: arguments of `TextClassificationDataModule`.
        task: arguments of `SequenceClassificationTask` beside the model.
        trainer: how to train; its seed is that of the run.
        decay: whether the learning rate falls linearly, to zero after the last step.
        naive_bayes: the model starts as naive Bayes over the training rows, with class scores that each group of
            features sets apart by so much; 0: it starts at random.
        settings: what decides the result, as the results file tells it.
        tag: what the names of folder and results file say beside variant, data, seed and fold.
        output_dir, results_dir: where to write.
        push_to: Hub repository that receives the checkpoint folder.
    """

    recipe: str
    architecture: str
    variant: str
    config: dict[str, Any]
    data: dict[str, Any]
    task: dict[str, Any]
    trainer: TrainerSettings
    settings: dict[str, Any]
    seed: int
    fold: int | None
    commit: str
    tag: str = ""
    decay: bool = False
    naive_bayes: float = 0.0
    output_dir: str = "runs"
    results_dir: str = "results"
    push_to: str | None = None

    @property
    def folder(self) -> Path:
        """Of checkpoints, logs and figures."""
        return Path(self.output_dir) / self.recipe / self.results_file.stem

    @property
    def results_file(self) -> Path:
        """What the finished run leaves."""
        return result_path(
            self.results_dir,
            recipe=self.recipe,
            variant=self.variant,
            dataset=self.data["dataset"],
            split="test",
            seed=self.seed,
            fold=self.fold,
            tag=self.tag,
        )


def train_classifier(run: ClassifierRun, *, resume: bool = False, quiet: bool = False) -> RunResult:
    """Train, score and write everything down.

    Args:
        run: what to do.
        resume: return the results of a finished run with the same settings; go on where an unfinished one stopped.
        quiet: what would be printed goes to log.txt in the folder of the run.

    Raises:
        OSError: the folders cannot be written, before anything is trained.
        TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
    """
    done = finished_result(run.results_file, run.settings) if resume else None
    if done is not None:
        return done
    for place in (run.folder, Path(run.results_dir)):
        check_writable(place)
    with _printing_to(run.folder / LOG if quiet else None):
        data = TextClassificationDataModule(**run.data)
        data.prepare_data()
        data.setup()
        last, best = (run.folder / "lightning" / file for file in (LAST, BEST))
        scored = tuple(split for split in ("validation", "test") if split in data.splits)
        monitor = SequenceClassificationTask.monitor if "validation" in scored else None  # None: the last is the best
        trainer = build_trainer(run.trainer, run.folder, monitor=monitor)
        lightning.seed_everything(run.seed, verbose=False)
        task = SequenceClassificationTask(
            model_config={**run.config, **data.model_sizes(), **label_fields(data.label_names)},
            decay_steps=_steps(run, data, trainer.world_size) if run.decay else None,
            **run.task,
        )
        task.set_word_vectors(data.vector_table())
        if run.naive_bayes:
            features, weights = data.naive_bayes()
            task.set_word_features(features)
            task.model.start_linear(run.naive_bayes * weights)
        go_on = resume and last.exists()
        trainer.fit(task, data, ckpt_path=last if go_on else None, weights_only=True if go_on else None)
        task.load_weights(best)
        finish_run(
            task,
            data,
            trainer,
            score_splits(task, data, scored, progress=False),
            folder=run.folder,
            results_dir=Path(run.results_dir),
            recipe=run.recipe,
            architecture=run.architecture,
            variant=run.variant,
            seed=run.seed,
            fold=run.fold,
            commit=run.commit,
            settings=run.settings,
            tag=run.tag,
            push_to=run.push_to,
        )
    return read_result(run.results_file)


def _steps(run: ClassifierRun, data: TextClassificationDataModule, processes: int) -> int:
    """Of the whole training."""
    batches = len(data.train_dataloader()) // processes
    limit = run.trainer.limit_train_batches
    return run.trainer.epochs * (batches if limit is None else min(limit, batches))


@contextlib.contextmanager
def _printing_to(log: Path | None) -> Iterator[None]:
    if log is None:
        yield
        return
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield
