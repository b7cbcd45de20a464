"""One evaluation of one set of word vectors, from a path to its results file."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ctxzoo.data.writable import check_writable
from ctxzoo.results.environment import command_line, hardware, peak_memory_mb, public_name, versions
from ctxzoo.results.result import RESULTS_DIR, RunResult, finished_result, path_of_parts, write_result_file
from ctxzoo.tasks.word_embeddings.evaluations import EmbeddingTask, Evaluation, EvaluationOptions
from ctxzoo.training.run_lock import LOCK, locked_run
from ctxzoo.word_vectors.checkpoint import find_checkpoint
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

ARCHITECTURE = "word_embedding"
FILE = "word_vectors"  # the architecture of vectors that are in no checkpoint


@dataclass(frozen=True, kw_only=True)
class EmbeddingSource:
    """Word vectors and what results are told of them.

    Attributes:
        path: file, checkpoint folder or Hub id.
        seed: of the training that made them.
        name: tells them from others of the same architecture, window and seed; may be empty.
        fold_digits: as in `read_word_vectors`.
    """

    path: str
    seed: int
    name: str = ""
    fold_digits: bool | None = None

    @cached_property
    def vectors(self) -> WordVectors:
        """Read at the first use."""
        return read_word_vectors(self.path, fold_digits=self.fold_digits)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """`architecture` and `window` (None where there is no checkpoint that says so), and what vectors they are."""
        checkpoint = find_checkpoint(self.path)
        config = {} if checkpoint is None else checkpoint.config
        return {
            "architecture": config.get("architecture", FILE),
            "window": config.get("window"),
            "name": self.name,
            "vectors": self.vectors.name,
            "vectors_fingerprint": self.vectors.fingerprint,
            "fold_digits": self.vectors.fold_digits,
        }

    @property
    def variant(self) -> str:
        """`<architecture>-b<window>`; of a file its name."""
        if self.settings["window"] is None:
            return self.vectors.name
        return f"{self.settings['architecture']}-b{self.settings['window']}"


@dataclass(frozen=True, kw_only=True)
class EmbeddingRun:
    """All that decides one results file.

    Attributes:
        source: the vectors.
        task, evaluation: name of a task, and what it does.
        options: of the evaluation.
        recipe, commit, results_dir: for the results file.
        output_dir: for the lock that keeps a second evaluation of the same out.
    """

    source: EmbeddingSource
    task: str
    evaluation: EmbeddingTask
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    recipe: str
    commit: str
    results_dir: str = RESULTS_DIR
    output_dir: str = "runs"

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the result, as the results file tells it."""
        return {**self.source.settings, "task": self.task, **self.evaluation.settings(self.options)}

    @property
    def tag(self) -> str:
        """The name and the task."""
        return "-".join(part for part in (self.source.name, self.task) if part)

    @property
    def results_file(self) -> Path:
        """`<architecture>-b<window>-seed<seed>[-<name>]-<task>.json`."""
        parts = (self.source.variant, f"seed{self.source.seed}", self.tag)
        return path_of_parts(self.results_dir, self.recipe, parts)

    @property
    def folder(self) -> Path:
        """Of the lock."""
        return Path(self.output_dir) / self.recipe / self.results_file.stem


def evaluate_embedding(run: EmbeddingRun, *, resume: bool = False) -> tuple[RunResult, Evaluation | None]:
    """Evaluate, write the results file, and return it with what the task gave.

    Args:
        run: what to do.
        resume: return the results of a finished run with the same settings, without an evaluation.

    Raises:
        OSError: another process evaluates the same.
        ValueError: see the tasks; a name that cannot stand in a file name.
    """
    done = finished_result(run.results_file, run.settings) if resume else None
    if done is not None:
        return done, None
    check_writable(run.folder)
    with locked_run(run.folder / LOCK, "--output_dir"):
        return _evaluate(run)


def _evaluate(run: EmbeddingRun) -> tuple[RunResult, Evaluation]:
    vectors = run.source.vectors
    started = time.perf_counter()
    found = run.evaluation.run(vectors, run.options)
    seconds = time.perf_counter() - started
    dataset = public_name(found.dataset)
    result = RunResult(
        recipe=run.recipe,
        architecture=FILE if run.source.settings["window"] is None else ARCHITECTURE,
        variant=run.source.variant,
        dataset=dataset,
        split=found.split,
        fold=None,
        seed=run.source.seed,
        metrics=found.metrics,
        settings=run.settings,
        parameters={"trainable": 0, "total": vectors.vectors.numel()},
        command=command_line(),
        commit=run.commit,
        data={"source": dataset, "fingerprint": found.fingerprint},
        hardware=hardware(),
        versions=versions(),
        wall_seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
        tag=run.tag,
    )
    write_result_file(result, run.results_file)
    return result, found
