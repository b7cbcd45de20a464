"""Training of document classifiers on a dataset's own splits: what their recipe shares with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import ClassificationSettings, reported_vectors
from ctxzoo.tasks.text_classification.datasets import document_dataset
from ctxzoo.tasks.text_classification.run import ClassifierRun

DEV_SEED = 0  # validation documents are the same in all runs
RATE = 0.05  # of LAMA


@dataclass
class DocumentSettings(ClassificationSettings):
    """Options of a recipe that trains document classifiers; a recipe adds its own.

    The defaults are those of Mehta et al. (2019), or of docs/models/lama.md where it is silent.
    """

    epochs: int = reported(50, "at most")
    patience: int = reported(5, "epochs without better validation accuracy before it stops")
    batch_size: int = reported(32)
    optimizer: str = reported("sgd", "sgd (momentum 0.9), adam or adamw")
    learning_rate: float | None = reported(None, "default: that of the model")
    halve_after: int = reported(2, "epochs without better accuracy that halve it; 0: never")
    weight_decay: float = reported(1e-4)
    gradient_clip: float = reported(5.0)
    min_word_count: int = reported(5, "occurrences that a word needs; others are left out")
    max_length: int = reported(512, "words to which documents are cut")
    word_dim: int = reported(100)
    word2vec: bool = field(default=True, metadata={"help": "start from word2vec on the training documents"})
    word2vec_epochs: int = reported(5)
    vectors: str | None = field(
        default=None, metadata={"help": "start from these in place of word2vec: file, checkpoint folder or Hub id"}
    )

    def __post_init__(self) -> None:
        if self.tiny:
            self.epochs, self.max_length, self.min_word_count = 1, 32, 1


def document_run(
    settings: DocumentSettings,
    dataset: str,
    *,
    variant: str,
    config: Mapping[str, Any],
    learning_rate: float,
    tag: str,
    seed: int,
    recipe: str,
    commit: str,
    data: Mapping[str, Any] | None = None,
    naive_bayes: float = 0.0,
) -> ClassifierRun:
    """One training.

    Args:
        settings: of the recipe.
        dataset: see `document_dataset`.
        variant, config: name and fields of the model's configuration, with `model_type`.
        learning_rate: unless the settings name one.
        tag: what tells the run's files from others of the variant on the same data.
        seed, recipe, commit: for the results file.
        data: further arguments of `TextClassificationDataModule`.
        naive_bayes: see `ClassifierRun`.
    """
    chosen = {**document_dataset(dataset), **(data or {})}
    words = {
        "min_word_count": settings.min_word_count,
        "max_length": settings.max_length,
        "word2vec_dim": settings.word_dim if settings.word2vec and settings.vectors is None else 0,
        "word2vec_epochs": settings.word2vec_epochs,
    }
    task = {
        "optimizer": settings.optimizer,
        "learning_rate": learning_rate if settings.learning_rate is None else settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "halve_after": settings.halve_after,
        "label_smoothing": settings.label_smoothing,
    }
    trainer = settings.trainer(
        seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
    )
    fields = {"word_dim": settings.word_dim, **config}
    decisive = {
        **reported_settings(settings),
        **{name: value for name, value in fields.items() if name != "model_type"},
        **{name: value for name, value in chosen.items() if name != "dataset"},
        **words,
        **reported_vectors(settings.vectors),
        **({} if settings.vectors is None else {"freeze_embeddings": False}),  # read by the card
        **({"naive_bayes": naive_bayes} if naive_bayes else {}),
        **task,
    }
    spec = settings.spec(
        recipe=recipe,
        architecture=str(config["model_type"]).removeprefix("ctxzoo_"),
        variant=variant,
        dataset=chosen["dataset"],
        seed=seed,
        commit=commit,
        settings=decisive,
        tag=tag,
    )
    return ClassifierRun(
        spec=spec,
        config=fields,
        data={
            **chosen,
            **words,
            "word_vectors": settings.vectors,
            "data_dir": settings.data_dir,
            "fold_seed": DEV_SEED,
            "batch_size": settings.batch_size,
            "eval_batch_size": 64,
            "seed": seed,
        },
        task=task,
        trainer=trainer,
        naive_bayes=naive_bayes,
    )
