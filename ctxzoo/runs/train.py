"""One training, from plain settings to results file and checkpoint folder."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import lightning

from ctxzoo.results.result import RESULTS_DIR, RunResult, finished_result, read_result, result_path
from ctxzoo.training.scoring import score_splits
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.training.full_disk import telling_of_full_disk
from ctxzoo.training.process_group import check_batches, in_first_process
from ctxzoo.training.run_lock import LOCK, locked_run
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer
from ctxzoo.data.writable import check_writable

LOG = "log.txt"


@dataclass(frozen=True, kw_only=True)
class TrainingRun(ABC):
    """All that decides one training, in values that can be sent to another process.

    A subclass says which model is trained, on which kind of data, and what it leaves beside the results file.

    Attributes:
        recipe, architecture, variant, seed, fold, commit: for the results file.
        data_class, task_class: the DataModule, and the LightningModule, whose `monitor` picks the best epoch.
        card: of the problem.
        data: arguments of the `data_class`, `dataset` among them.
        task: arguments of the `task_class` beside the model.
        trainer: how to train; its seed is that of the run.
        settings: what decides the result, as the results file tells it.
        score: the split that the results file reports: test, or validation to choose settings, and then test is not
            scored.
        tag: what the names of folder and results file say beside variant, data, seed and fold.
        output_dir, results_dir: where to write.
    """

    data_class: ClassVar[Any]
    task_class: ClassVar[type[ZooTask]]
    card: ClassVar[TaskCard]

    recipe: str
    architecture: str
    variant: str
    data: dict[str, Any]
    task: dict[str, Any]
    trainer: TrainerSettings
    settings: dict[str, Any]
    seed: int
    fold: int | None
    commit: str
    score: str = "test"
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    @property
    def folder(self) -> Path:
        """Of checkpoints, logs and figures."""
        return Path(self.output_dir) / self.recipe / self.results_file.stem

    @property
    def checkpoint(self) -> Path:
        """The folder of the finished model."""
        return self.folder / "checkpoint"

    @property
    def results_file(self) -> Path:
        """What the finished run leaves."""
        return result_path(
            self.results_dir,
            recipe=self.recipe,
            variant=self.variant,
            dataset=self.data["dataset"],
            split=self.score,
            seed=self.seed,
            fold=self.fold,
            tag=self.tag,
        )

    @property
    def told(self) -> dict[str, Any]:
        """What `training_result` is given about the run."""
        names = ("recipe", "architecture", "variant", "seed", "fold", "commit", "settings", "tag")
        return {**{name: getattr(self, name) for name in names}, "split": self.score}

    def build_data(self) -> Any:
        """The data, before `setup`."""
        return self.data_class(**self.data)

    @abstractmethod
    def build_task(self, data: Any, processes: int) -> ZooTask:
        """The model as it starts, on data after `setup`, with so many processes in the training."""

    @abstractmethod
    def finish(
        self,
        task: Any,
        data: Any,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
    ) -> None:
        """Write the checkpoint folder of the best weights, and the results file."""


def train(run: TrainingRun, *, resume: bool = False, quiet: bool = False) -> RunResult:
    """Train, score and write everything down.

    Args:
        run: what to do.
        resume: return the results of a finished run with the same settings; go on where an unfinished one stopped.
        quiet: what would be printed goes to log.txt in the folder of the run.

    Raises:
        OSError: the folders cannot be written, or another process works on the run, before anything is trained; the
            disk is full.
        ValueError: the data has no rows of the split to score; fewer batches than processes that train together; the
            run to resume has other settings.
        TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
    """
    done = finished_result(run.results_file, run.settings) if resume else None
    if done is not None:
        return done
    check_writable(run.folder)
    check_writable(Path(run.results_dir), "--results_dir")
    with (
        telling_of_full_disk(run.folder),
        locked_run(run.folder / LOCK, "--output_dir"),
        _printing_to(run.folder / LOG if quiet else None),
    ):
        data = run.build_data()
        data.prepare_data()
        data.setup()
        data.split_dataloader(run.score)  # scored at the end: where there is none, an error now
        last, best = (run.folder / "lightning" / file for file in (LAST, BEST))
        scored = tuple(split for split in dict.fromkeys(("validation", run.score)) if split in data.splits)
        monitor = run.task_class.monitor if "validation" in scored else None  # None: the last is the best
        trainer = build_trainer(
            run.trainer,
            run.folder,
            monitor,
            lower_is_better=run.task_class.is_lower_better(monitor),
            resumed_with=run.settings,
        )
        check_batches(data, scored, trainer.world_size)
        lightning.seed_everything(run.seed, verbose=False)
        task = run.build_task(data, trainer.world_size)
        go_on = resume and last.exists()
        trainer.fit(task, data, ckpt_path=last if go_on else None, weights_only=True if go_on else None)
        task.load_weights(best)
        scores = score_splits(task, data, scored, progress=False)
        in_first_process(lambda: run.finish(task, data, trainer, scores))
    return read_result(run.results_file)


@contextlib.contextmanager
def _printing_to(log: Path | None) -> Iterator[None]:
    if log is None:
        yield
        return
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield
