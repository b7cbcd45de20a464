"""Training of taggers with given word vectors: what their recipe shares with evaluations of word vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ctxzoo.runs.settings import TrainingSettings, vectors_content
from ctxzoo.tasks.token_classification.datasets import token_dataset
from ctxzoo.tasks.token_classification.run import TaggerRun
from ctxzoo.word_vectors.source import plain_name

ARCHITECTURE = "bilstm_tagger"
NO_VECTORS = "random_vectors"


@dataclass
class TaggingSettings(TrainingSettings):
    """Options of a recipe that trains taggers; a recipe adds its own.

    The defaults are those of Ling et al. (2015), or of docs/models/bilstm_tagger.md where it is silent.
    """

    epochs: int = field(default=50, metadata={"help": "at most"})
    patience: int = field(default=10, metadata={"help": "epochs without better validation accuracy before it stops"})
    batch_size: int = field(default=100, metadata={"help": "sentences"})
    optimiser: str = field(default="sgd", metadata={"help": "sgd, adam or adamw"})
    learning_rate: float = 0.2
    momentum: float = field(default=0.95, metadata={"help": "of sgd"})
    halve_after: int = field(default=0, metadata={"help": "epochs without better accuracy that halve it; 0: never"})
    weight_decay: float = 0.0
    gradient_clip: float = 5.0
    min_word_count: int = field(default=2, metadata={"help": "occurrences that a word without a vector needs"})
    lower_case: bool = True
    fold_digits: bool = field(default=True, metadata={"help": "read every digit as 0"})
    word_dim: int = field(default=50, metadata={"help": "width of the word vectors where none are given"})
    recurrent_size: int = field(default=50, metadata={"help": "h of each direction"})
    projection_size: int = field(default=50, metadata={"help": "width of the tanh layer"})
    embedding_dropout: float = field(default=0.0, metadata={"help": "on the words"})
    hidden_dropout: float = field(default=0.0, metadata={"help": "on states and tanh layer"})

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
    """One training; `train` runs it and returns its results, `metrics["test/accuracy"]` among them.

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
        "optimiser": settings.optimiser,
        "learning_rate": settings.learning_rate,
        "momentum": settings.momentum if settings.optimiser == "sgd" else None,
        "weight_decay": settings.weight_decay,
        "halve_after": settings.halve_after,
        "label_smoothing": settings.label_smoothing,
    }
    if vectors is None:
        name = vectors_name or NO_VECTORS
    else:
        del config["word_dim"]  # that of the vectors
        name = vectors_name or plain_name(Path(vectors))
    reported = {
        **config,
        **words,
        "tag_column": data["tag_column"],
        "word_vectors": "learned" if vectors is None else name,
        **vectors_content(vectors),
        "freeze_embeddings": False,
        **task,
        "epochs": settings.epochs,
        "patience": settings.patience,
        "batch_size": settings.batch_size,
        "gradient_clip": settings.gradient_clip,
        "ema_decay": settings.ema_decay,
        "precision": settings.precision,
        "tiny": settings.tiny,
    }
    return TaggerRun(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=name,
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
        settings=reported,
        seed=seed,
        fold=None,
        commit=commit,
        score=settings.score,
        tag="-".join(part for part in (data["tag_column"], tag) if part),
        output_dir=settings.output_dir,
        results_dir=settings.results_dir,
    )
