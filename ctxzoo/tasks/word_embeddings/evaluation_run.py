"""One evaluation of one set of word vectors, from a path to its results file; tagging is the training of a tagger."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import RESULTS_DIR, build_result_path_of_parts, write_result_file
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, RunArgs
from ctxzoo.runs.run import Run
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.token_classification.experiments import set_corpus
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from ctxzoo.tasks.word_embeddings.card import CARD
from ctxzoo.tasks.word_embeddings.evaluations import EmbeddingTask, Evaluation, EvaluationOptions
from ctxzoo.tasks.word_embeddings.experiments import PROBLEM
from ctxzoo.word_vectors.safetensors_files import find_vector_checkpoint
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

ARCHITECTURE = "word_embedding"
FILE = "word_vectors"  # the architecture of vectors that are in no checkpoint


@dataclass(frozen=True, kw_only=True)
class EmbeddingSource:
    """Word vectors and what results are told of them.

    Attributes:
        path: Word vectors: a file, checkpoint folder or Hub id.
        seed: Seed with which the vectors were trained, for the results file.
        name: Name that distinguishes these vectors from others of the same architecture, window and seed; may be empty.
        fold_digits: Whether digits of a looked-up word become 0; None: as a checkpoint's tokenizer does, else no.
    """

    path: str
    seed: int
    name: str = ""
    fold_digits: bool | None = None

    @cached_property
    def vectors(self) -> WordVectors:
        """The word vectors, read from their file when first used."""
        return read_word_vectors(self.path, fold_digits=self.fold_digits)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The architecture, window and origin of the vectors, for the result file; None where they are not known."""
        checkpoint = find_vector_checkpoint(self.path)
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
        """Name in results: `<architecture>-b<window>`; of a file its name."""
        if self.settings["window"] is None:
            return self.vectors.name
        return f"{self.settings['architecture']}-b{self.settings['window']}"


@dataclass(frozen=True, kw_only=True)
class EvaluationData(DataArgs):
    """What word vectors are evaluated on; null: as the task, which has no such setting, does it.

    Args:
        dataset: Name of the evaluation data; empty: the task's own dataset or datasets.
        task: Name of the evaluation task, such as "similarity".
        tags: Names of the tag columns; POS induction only.
        restarts: Number of trainings from different random starts; POS induction only.
        evaluation_seed: Seed of the evaluation's random draws; POS induction only.
        variance: Variance of the Gaussian emissions; POS induction only.
        means: Names of the weighted means of word vectors that represent a text; sentiment only.
        folds: Number of cross-validation folds; sentiment only.
    """

    dataset: str = ""
    task: str
    tags: tuple[str, ...] | None = None
    restarts: int | None = None
    evaluation_seed: int | None = None
    variance: float | None = None
    means: tuple[str, ...] | None = None
    folds: int | None = None

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        return {name: value for name, value in super().get_reported_values().items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class VectorModel(ModelArgs):
    """Word vectors that are evaluated.

    Args:
        name: Name that distinguishes these vectors from others of the same architecture, window and seed; may be empty.
        window: Number of context words on each side in the vectors' training; null: unknown.
        vectors: Name of the word vectors, such as the name of their file.
        vectors_fingerprint: Hash of the content of the word vectors.
        fold_digits: Whether digits of a looked-up word become 0.
    """

    name: str
    window: int | None
    vectors: str
    vectors_fingerprint: str
    fold_digits: bool


@dataclass(frozen=True, kw_only=True)
class EmbeddingRun(Run):
    """All that decides one results file.

    Attributes:
        source: Word vectors to evaluate, with their name and seed.
        task, evaluation: Name of an evaluation task, and the function and settings that carry it out.
        options: Options of the evaluation, such as datasets, restarts and seed.
        recipe, commit, results_dir: Name of the recipe, commit of the code, and folder of results files.
        show: Function called with the evaluation's result after the results file is written.
        output_dir: Folder of the lock file that prevents the same evaluation from running twice at once.
    """

    card: ClassVar[TaskCard] = CARD
    reads: ClassVar[tuple[str, ...]] = (
        *("task", "tags", "restarts", "evaluation_seed", "variance", "means", "folds"),
        *("name", "window", "vectors", "vectors_fingerprint", "fold_digits"),
    )

    source: EmbeddingSource
    task: str
    evaluation: EmbeddingTask
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    recipe: str
    commit: str
    results_dir: str = RESULTS_DIR
    output_dir: str = "runs"
    show: Callable[[Evaluation], object] | None = None

    @property
    def experiment(self) -> Experiment:
        """The experiment that the result file of this evaluation describes."""
        source_values = {name: value for name, value in self.source.settings.items() if name != "architecture"}
        architecture = FILE if source_values["window"] is None else ARCHITECTURE
        return Experiment(
            problem=PROBLEM,
            recipe=self.recipe,
            data=EvaluationData(task=self.task, **self.evaluation.settings(self.options)),
            model=VectorModel(architecture=architecture, variant=self.source.variant, **source_values),
            run=RunArgs(output_dir=self.output_dir, results_dir=self.results_dir),
            seed=self.source.seed,
            tag="-".join(part for part in (self.source.name, self.task) if part),
            commit=self.commit,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the experiment, with the architecture that made the vectors."""
        return {**super().settings, "architecture": self.source.settings["architecture"]}

    @property
    def results_file(self) -> Path:
        """The path of the result file; its name leaves the data out, since a task may have several datasets."""
        one = self.experiment
        return build_result_path_of_parts(one.run.results_dir, one.recipe, (self.variant, f"seed{one.seed}", self.tag))

    def work(self, *, resume: bool) -> None:
        """Evaluate, and write the results file.

        Raises:
            ValueError: see the tasks; a name that cannot stand in a file name.
        """
        vectors = self.source.vectors
        started = time.perf_counter()
        evaluated = self.evaluation.run(vectors, self.options)
        result = self.build_result(
            metrics=evaluated.metrics,
            parameters={"trainable": 0, "total": vectors.vectors.numel()},
            fingerprint=evaluated.fingerprint,
            seconds=time.perf_counter() - started,
            dataset=evaluated.dataset,
            split=evaluated.split,
        )
        write_result_file(result, self.results_file)
        if self.show is not None:
            self.show(evaluated)


TAGGING = "pos_tagging"
TAGGING_DATASET = "ptb_sample"


@dataclass(frozen=True, kw_only=True)
class EmbeddingTaggerRun(ExperimentRun):
    """The training of a tagger from word vectors, whose settings also tell, as all evaluations do, which these are.

    Attributes:
        source: Word vectors to evaluate, with their name and seed.
    """

    source: EmbeddingSource

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the vectors' training and of the tagger, for the result file."""
        return {**self.source.settings, **super().settings, "word_vectors": self.variant, "task": TAGGING}


def build_embedding_tagger_run(source: EmbeddingSource, experiment: Experiment) -> EmbeddingTaggerRun:
    """Build the training run of a part-of-speech tagger that starts from the word vectors.

    Its results file is that of the tagger, with `<architecture>-b<window>[-<name>]` as variant.

    Args:
        source: Word vectors to evaluate, with their name and seed.
        experiment: Experiment with the settings that all taggers share.
    """
    row = "-".join(part for part in (source.variant, source.name) if part)
    tagger = set_corpus(experiment, TAGGING_DATASET, source.path).copy_with(row=row, seed=source.seed)
    return EmbeddingTaggerRun(problem=TOKEN_CLASSIFICATION, experiment=tagger, source=source)
