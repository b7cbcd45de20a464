"""The trainings of readers: what may be set, the paper's settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ctxzoo.data.bucketing import POOL_BATCHES
from ctxzoo.models.configuration_bidaf import EXTENSIONS, BidafConfig
from ctxzoo.runs.experiment import (
    DataArgs,
    Experiment,
    ModelArgs,
    OptimizerArgs,
    RunArgs,
    TrainerArgs,
    VectorStart,
)
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, SIZE, number_field

PROBLEM, ARCHITECTURE = "question-answering", "bidaf"
VARIANT = "char7"  # of `ctxzoo train`
PAPERS_BEST = "learned_char7"
QUERY_TO_CONTEXT = "coattention"
OF_NEW_MODELS = ("hidden_size", "dropout")  # values that a checkpoint to go on from has decided
TINY: Mapping[str, int] = {"hidden_size": 8, "char_channels": 8, "word_embedding_size": 8, "min_word_count": 1}


@dataclass(frozen=True, kw_only=True)
class QuestionData(DataArgs):
    """What is trained on.

    Args:
        squad_version: Version of SQuAD: 1.1; 2.0, where questions may lack an answer; auto: found from the data.
        fix_answer_start: Whether an answer that is not at its stated offset is moved to its nearest occurrence.
        train_source: Value of the column `source` that training rows must have; null: all rows.
        left_out_source: Value of the column `source` whose rows are excluded from training and scored as a split of
            their own; null: none.
        finish_source: Value of `train_source` when training continues from a checkpoint, filled in by the run.
        word_embedding_size: Dimension of learned word vectors; null: that of the checkpoint, else 100.
        min_word_count: Least number of occurrences in training for a word to get a learned vector; null: that of the
            checkpoint, else 2.
        pool_batches: Number of batches whose rows are sorted by length together; 1: random batches.
    """

    squad_version: Literal["auto", "1.1", "2.0"] = "auto"
    fix_answer_start: bool = False
    train_source: str | None = None
    left_out_source: str | None = None
    finish_source: str | None = None
    word_embedding_size: int | None = number_field(None, SIZE)
    min_word_count: int | None = number_field(None, SIZE)
    pool_batches: int = number_field(POOL_BATCHES, SIZE)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        return {**super().get_reported_values(), "train_source": None if self.finish_source else self.train_source}


@dataclass(frozen=True, kw_only=True)
class ReaderModel(ModelArgs):
    """What is trained.

    Args:
        variant: Name of the variant; empty: that of the checkpoint, else learned_char7.
        extensions: Options beyond the paper to switch on: context_self_attention, word_features; empty: those of the
            checkpoint.
        query_to_context: Attention from question to context: coattention, or max as in BiDAF; null: that of the
            checkpoint, else coattention.
        hidden_size: Width of the hidden layers, and units of each LSTM direction.
        dropout: Dropout rate, in all places where the paper applies dropout.
        char_channels: Number of filters of the convolution over characters; null: 100.

    Raises:
        ValueError: an unknown extension, or one that is no longer there.
    """

    architecture: str = ARCHITECTURE
    variant: str = ""
    extensions: tuple[str, ...] = ()
    query_to_context: Literal["coattention", "max"] | None = None
    hidden_size: int = number_field(100, SIZE)
    dropout: float = number_field(0.2, FRACTION)
    char_channels: int | None = number_field(None, SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        for extension in self.extensions:
            BidafConfig.check_old_field(extension, True)
            if extension not in EXTENSIONS:
                raise ValueError(f"extensions={extension!r}: expected one of {', '.join(EXTENSIONS)}")

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        others = {name: value for name, value in super().get_config_changes().items() if name != "extensions"}
        return {**others, **dict.fromkeys(self.extensions, True)}


@dataclass(frozen=True, kw_only=True)
class ReaderTrainer(TrainerArgs):
    """How long and how exactly.

    Args:
        gradient_clip: Largest norm of the gradient, above which it is scaled down; 0: no clipping.
        monitor: Validation score that selects the best epoch, such as f1; no_answer_auc needs questions without an
            answer.
    """

    gradient_clip: float = number_field(5.0, COUNT)
    monitor: Literal["f1", "exact", "span_f1", "best_f1", "no_answer_auc", "nll"] = "f1"


@dataclass(frozen=True, kw_only=True)
class ReaderStart(VectorStart):
    """What a training begins with.

    Args:
        word_vectors: Pretrained word vectors, which are not trained further: a file, checkpoint folder or Hub id; null:
            learned vectors.
        vectors_name: Name of the word vectors, from their file or the checkpoint, filled in by the run.
        product_start: Bound b of the uniform distribution U(-b, b) that initializes the product weights of the
            similarity function, filled in by the run.
    """

    vectors_name: str | None = None
    product_start: float | None = number_field(None, COUNT)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        name = self.vectors_name if self.encoder is None else None
        values = {**super().get_reported_values(), "word_vectors": name}
        del values["vectors_name"]
        return values


@dataclass(frozen=True, kw_only=True)
class ReaderRunArgs(RunArgs):
    """Where and with what it runs, which decides no result.

    Args:
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
    """

    num_workers: int = number_field(0, COUNT)


def build_paper_experiment(architecture: str = ARCHITECTURE, variant: str = "") -> Experiment:
    """Return the settings of Patel (2022), or of Stanford's CS224N starter code where the paper says nothing.

    Args:
        architecture: Name of the architecture; only "bidaf" is known.
        variant: Name of the variant; empty: the paper's best, or that of a checkpoint to continue from.
    """
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=QuestionData(batch_size=64),
        model=ReaderModel(architecture=architecture, variant=variant),
        optimizer=OptimizerArgs(optimizer="adadelta", learning_rate=0.5),
        trainer=ReaderTrainer(epochs=30, precision="auto", ema_decay=0.999),
        start=ReaderStart(),
        run=ReaderRunArgs(),
    )


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Reader, optimizer and rate are those with the best validation F1 among the trials of docs/results/bidaf.md:
    characters without positions, self-attention after the attention flow, word features, and AdamW at 3e-3 with
    warm-up and linear decay. More epochs than the four of those trials are for data of a few thousand questions.
    """
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=QuestionData(batch_size=32, word_embedding_size=100, min_word_count=2),
        model=ReaderModel(architecture=architecture, variant=variant, extensions=EXTENSIONS),
        optimizer=OptimizerArgs(optimizer="adamw", learning_rate=3e-3, weight_decay=0.01, warmup=0.05, decay=True),
        trainer=ReaderTrainer(epochs=8, patience=3, ema_decay=0.999),
        start=ReaderStart(),
        run=ReaderRunArgs(),
    )


SEARCH_SPACE: Space = {
    "batch_size": (16, 32, 64),
    "epochs": Between(4, 12),
    "hidden_size": (50, 100, 150),
    "dropout": Between(0.1, 0.3),
    "weight_decay": Between(0.0, 0.1),
    "word_embedding_size": (50, 100, 200),
    "min_word_count": Between(1, 3),
}


def describe_differences(experiment: Experiment) -> str:
    """Describe an experiment's differences from the usual settings, for names of folders and results files."""
    data: Any = experiment.data
    model: Any = experiment.model
    is_new = experiment.start.init_from is None
    usual = build_paper_experiment().values()
    parts = list(model.extensions)
    if model.query_to_context != QUERY_TO_CONTEXT:
        parts.append(model.query_to_context)
    if experiment.values()["optimizer"] != usual["optimizer"]:
        parts.append(experiment.values()["optimizer"])
    sizes = OF_NEW_MODELS if is_new else ()
    for name in (*sizes, "pool_batches"):
        value = experiment.values()[name]
        is_tiny = experiment.trainer.tiny and name in TINY
        if value != usual[name] and not is_tiny:
            parts.append(f"{name}_{value}")
    if not is_new:
        parts.append(f"finish_{data.train_source}" if data.train_source else "continued")
    elif data.train_source is not None:
        parts.append(f"of_{data.train_source}")
    if data.left_out_source is not None:
        parts.append(f"without_{data.left_out_source}")
    if experiment.trainer.monitor != usual["monitor"]:
        parts.append(experiment.trainer.monitor)
    return "-".join(parts)


def build_folder_name(experiment: Experiment) -> str:
    """Build the name of the folder of a reader's checkpoint."""
    parts = (experiment.model.variant, experiment.tag, Path(experiment.data.dataset).name, f"seed{experiment.seed}")
    return "-".join(part for part in parts if part)
