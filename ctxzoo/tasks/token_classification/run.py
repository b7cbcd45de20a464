"""One training of a tagger of the zoo from its start, also with given word vectors, as evaluations of these need it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import ClassificationSettings, vectors_content
from ctxzoo.runs.train import ClassificationRun
from ctxzoo.tasks.token_classification.card import CARD
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule, token_dataset
from ctxzoo.tasks.token_classification.task import TokenClassificationTask
from ctxzoo.training.task import ZooTask
from ctxzoo.word_vectors.source import plain_name
from ctxzoo.word_vectors.vocabulary import set_word_vectors


@dataclass(frozen=True, kw_only=True)
class TaggerRun(ClassificationRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = TokenClassificationDataModule
    task_class: ClassVar[type[ZooTask]] = TokenClassificationTask
    card: ClassVar[TaskCard] = CARD

    def build_data(self) -> TokenClassificationDataModule:
        return TokenClassificationDataModule(**{"init_from": self.pretrained, **self.data})

    def build_task(self, data: TokenClassificationDataModule, processes: int) -> TokenClassificationTask:
        task = TokenClassificationTask(**self.start(data), **self.schedule(data, processes), **self.task)
        set_word_vectors(task.model, data.vector_table())
        return task


ARCHITECTURE = "bilstm_tagger"
NO_VECTORS = "random_vectors"


@dataclass
class TaggingSettings(ClassificationSettings):
    """Options of a recipe that trains taggers; a recipe adds its own.

    The defaults are those of Ling et al. (2015), or of docs/models/bilstm_tagger.md where it is silent.
    """

    epochs: int = reported(50, "at most")
    patience: int = reported(10, "epochs without better validation accuracy before it stops")
    batch_size: int = reported(100, "sentences")
    optimizer: str = reported("sgd", "sgd, adam or adamw")
    learning_rate: float = reported(0.2)
    momentum: float = reported(0.95, "of sgd")
    halve_after: int = reported(0, "epochs without better accuracy that halve it; 0: never")
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(5.0)
    min_word_count: int = reported(2, "occurrences that a word without a vector needs")
    lower_case: bool = reported(True)
    fold_digits: bool = reported(True, "read every digit as 0")
    word_dim: int = reported(50, "width of the word vectors where none are given")
    recurrent_size: int = reported(50, "h of each direction")
    projection_size: int = reported(50, "width of the tanh layer")
    embedding_dropout: float = reported(0.0, "on the words")
    hidden_dropout: float = reported(0.0, "on states and tanh layer")

    def __post_init__(self) -> None:
        if self.tiny:
            self.epochs, self.word_dim, self.recurrent_size, self.projection_size = 1, 8, 6, 6


def tagging_run(
    settings: TaggingSettings,
    dataset: str,
    *,
    vectors: str | None,
    seed: int,
    recipe: str,
    commit: str,
    vectors_name: str | None = None,
    tag_column: str | None = None,
    tag: str = "",
) -> TaggerRun:
    """One training; `execute` runs it and returns its results, `metrics["test/accuracy"]` among them.

    Args:
        settings: of the recipe.
        dataset, tag_column: see `token_dataset`.
        vectors: what the look-up table starts from, as `read_word_vectors` takes it; None: drawn.
        seed, recipe, commit: for the results file.
        vectors_name: the variant in the results file; default: the name of the file, or "random_vectors".
        tag: what tells the run's files from others with these vectors and tags on the same data.
    """
    data = token_dataset(dataset, tag_column)
    words = {
        "min_word_count": settings.min_word_count,
        "lower_case": settings.lower_case,
        "fold_digits": settings.fold_digits,
    }
    config = {
        "word_dim": settings.word_dim,
        "recurrent_size": settings.recurrent_size,
        "projection_size": settings.projection_size,
        "embedding_dropout": settings.embedding_dropout,
        "hidden_dropout": settings.hidden_dropout,
    }
    task = {
        "optimizer": settings.optimizer,
        "learning_rate": settings.learning_rate,
        "momentum": settings.momentum if settings.optimizer == "sgd" else None,
        "weight_decay": settings.weight_decay,
        "halve_after": settings.halve_after,
        "label_smoothing": settings.label_smoothing,
    }
    decisive = reported_settings(settings)
    if vectors is None:
        name = vectors_name or NO_VECTORS
    else:
        del config["word_dim"], decisive["word_dim"]  # that of the vectors
        name = vectors_name or plain_name(Path(vectors))
    decisive |= {
        "tag_column": data["tag_column"],
        "word_vectors": "learned" if vectors is None else name,
        **vectors_content(vectors),
        "freeze_embeddings": False,
        "momentum": task["momentum"],  # None of other optimizers
    }
    spec = settings.spec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=name,
        dataset=data["dataset"],
        seed=seed,
        commit=commit,
        settings=decisive,
        tag="-".join(part for part in (data["tag_column"], tag) if part),
    )
    return TaggerRun(
        spec=spec,
        config={"model_type": f"ctxzoo_{ARCHITECTURE}", **config},
        data={
            **data,
            **words,
            "data_dir": settings.data_dir,
            "word_vectors": vectors,
            "batch_size": settings.batch_size,
            "seed": seed,
        },
        task=task,
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
    )
