"""Cross-validation of text classifiers: what its recipes share, from the command line to the printed table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxzoo.data.text_folds import DEV_SHARE
from ctxzoo.runs.many import FoldSettings, Outcomes, run_all
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import ClassificationSettings, reported_vectors
from ctxzoo.tasks.text_classification.run import ClassifierRun


@dataclass
class CrossValidationSettings(ClassificationSettings, FoldSettings):
    """Options of a recipe that trains classifiers on folds; a recipe adds its own."""

    epochs: int = reported(10)
    batch_size: int = reported(64)
    learning_rate: float = reported(1e-3)
    decay: bool = reported(False, "the learning rate falls linearly to zero", only_if_changed=True)
    dev_share: float = reported(
        DEV_SHARE,
        "of the training part, picks the best epoch; 0: train on all of it and keep the last epoch",
        only_if_changed=True,
    )
    min_word_count: int = reported(3, "occurrences that a word of the vocabulary needs")
    vectors: str | None = field(
        default=None,
        metadata={"help": "word vectors to start from: file, checkpoint folder or Hub id"},
    )
    vectors_std: float = reported(
        0.0, "standard deviation to which they are scaled; 0: as they are", only_if_changed=True
    )

    def __post_init__(self) -> None:
        if self.tiny:
            self.folds, self.epochs = 2, 1
        if self.vectors_std and self.vectors is None:
            raise ValueError(f"vectors_std={self.vectors_std} scales given vectors, and there are none; give both")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a table: a model on a dataset, trained once for each fold and seed.

    Attributes:
        name: of the row in the printed table.
        dataset: Hub id, folder, file, or "sample".
        variant: named configuration of the architecture.
        config: fields of its config, with `model_type`.
        tag: what tells its results files from those of the same variant.
        data: further arguments of `TextClassificationDataModule`, which the results file reports too.
        naive_bayes, zeroed: see `ClassifierRun`.
    """

    name: str
    dataset: str
    variant: str
    config: Mapping[str, Any]
    tag: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    naive_bayes: float = 0.0
    zeroed: tuple[str, ...] = ()


def cross_validate(cells: Sequence[Cell], settings: CrossValidationSettings, *, recipe: str, commit: str) -> Outcomes:
    """Train every cell on every fold with every seed, print the table, and return the results of each cell.

    Folds of all cells run side by side, `settings.processes` at a time; each writes its results file when it is done.

    Raises:
        ValueError: two cells of the same name, or of the same results files.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    names = [cell.name for cell in cells]
    if len(set(names)) < len(names):
        raise ValueError(f"cells must have names of their own, got {names}")
    runs = {
        cell.name: [
            run_of(cell, settings, seed, fold, recipe=recipe, commit=commit)
            for seed in settings.seeds
            for fold in range(settings.folds)
        ]
        for cell in cells
    }
    return run_all(runs, f"{recipe}: {settings.score} accuracy over {settings.folds} folds, mean ± sd", settings)


def run_of(
    cell: Cell,
    settings: CrossValidationSettings,
    seed: int,
    fold: int,
    *,
    recipe: str,
    commit: str,
) -> ClassifierRun:
    """One fold of a cell."""
    data = {
        "dataset": cell.dataset,
        "data_dir": settings.data_dir,
        "folds": settings.folds,
        "fold": fold,
        "fold_seed": seed,
        "dev_share": settings.dev_share,
        "min_word_count": settings.min_word_count,
        "word_vectors": settings.vectors,
        "vectors_std": settings.vectors_std,
        "batch_size": settings.batch_size,
        "seed": seed,
        **cell.data,
    }
    task = {
        "optimizer": "adam",
        "learning_rate": settings.learning_rate,
        "label_smoothing": settings.label_smoothing,
    }
    trainer = settings.trainer(seed, epochs=settings.epochs, gradient_clip=0.0)
    # With a seed of their own, frozen vectors would be drawn again and no checkpoint would hold those given.
    config = {**cell.config, **({} if settings.vectors is None else {"embedding_seed": None})}
    decisive = {
        **reported_settings(settings),
        **{name: value for name, value in config.items() if name != "model_type"},
        **cell.data,
        **reported_vectors(settings.vectors),
        **({"naive_bayes": cell.naive_bayes} if cell.naive_bayes else {}),
        **({"zeroed": list(cell.zeroed)} if cell.zeroed else {}),
        **task,
    }
    spec = settings.spec(
        recipe=recipe,
        architecture=str(config["model_type"]).removeprefix("ctxzoo_"),
        variant=cell.variant,
        dataset=cell.dataset,
        seed=seed,
        fold=fold,
        commit=commit,
        settings=decisive,
        tag=cell.tag,
    )
    return ClassifierRun(
        spec=spec,
        config=config,
        data=data,
        task=task,
        trainer=trainer,
        decay=settings.decay,
        naive_bayes=cell.naive_bayes,
        zeroed=cell.zeroed,
    )
