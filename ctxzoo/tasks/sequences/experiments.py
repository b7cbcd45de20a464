"""The trainings of sequences: what may be set, the papers' settings, the usual ones, and what a search tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, SIZE, Range, number_field

MANY_ITEMS, SAMPLED_OF_MANY = 20_000, 2000  # above which a training step compares with a sample of so many
LONGEST_LIST = 1000  # of recommendations that is scored
SESSIONS, EVENTS = "session-recommendation", "next-event"  # as heads say it
SESSION_VARIANTS = {"hcrnn": HcrnnConfig.variants, "session_baseline": SessionBaselineConfig.variants}
EVENT_VARIANTS = {"time_encoder": TimeEncoderConfig.variants}  # what tells when an event was
TINY = {SESSIONS: {"embedding_size": 6, "hidden_size": 6}, EVENTS: {"hidden_size": 8, "time_size": 8}}


@dataclass(frozen=True, kw_only=True)
class SequenceData(DataArgs):
    """What is trained on.

    Args:
        user_column: Name of the column with the user, in a file with one row for each event.
        item_column: Name of the column with the item or event type.
        time_column: Name of the column with the time of the event, as numbers or dates.
        max_length: Largest number of previous items or events that a prediction reads.
        at: Lengths k of further lists of recommendations at which recall, MRR and NDCG are scored, as 5 50; null: the
            usual ones alone.
        split: How a user's own sequences are divided: random, whole sequences; time, later items are for validation
            and test; leave_one_out, the last item of each sequence for test, the one before it for validation.
        min_item_count: Least number of times that an item or event stands in a user's own training data; rarer ones
            are left out.
        min_session_length: Least number of items or events of a sequence in a user's own training data, after rare
            ones are left out; shorter sequences are left out too, and both again until all that is left fits.
    """

    user_column: str = "user"
    item_column: str = "item"
    time_column: str = "time"
    max_length: int = number_field(100, SIZE)
    at: tuple[int, ...] | None = number_field(None, Range(1, LONGEST_LIST))
    split: Literal["random", "time", "leave_one_out"] = "random"
    min_item_count: int = number_field(1, SIZE)
    min_session_length: int = number_field(1, SIZE)


@dataclass(frozen=True, kw_only=True)
class SessionModel(ModelArgs):
    """What is trained.

    Args:
        embedding_size: Dimension of the item embeddings.
        hidden_size: Units of the hidden state.
        embedding_dropout: Dropout rate on the item embeddings.
        pooled_dropout: Dropout rate on the session vector from which the item scores are computed.
        num_topics: Number of topics in the global context; hcrnn only.
        kl_lambda: Weight in the loss of the KL divergence of the topics from their prior; hcrnn only.
        drift_constraint: Constraint that keeps the weights of the drift gate non-negative: clip or softplus; hcrnn
            only.
        sigmoid_scores: Whether item scores pass through a sigmoid, as in the HCRNN authors' code; stamp only.
        num_sampled: Number of items, drawn anew in each step, with which a training step compares the right one
            (sampled softmax); 0: all items; null: all of up to 20,000 items, 2,000 of more.
    """

    embedding_size: int | None = number_field(None, SIZE)
    hidden_size: int | None = number_field(None, SIZE)
    embedding_dropout: float | None = number_field(None, FRACTION)
    pooled_dropout: float | None = number_field(None, FRACTION)
    num_topics: int | None = number_field(None, SIZE)
    kl_lambda: float | None = number_field(None, COUNT)
    drift_constraint: Literal["clip", "softplus"] | None = None
    sigmoid_scores: bool | None = None
    num_sampled: int | None = number_field(None, COUNT)

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        others = {name: value for name, value in super().get_config_changes().items() if name != "sigmoid_scores"}
        return {**others, "sigmoid_scores": True} if self.sigmoid_scores and self.variant == "stamp" else others


@dataclass(frozen=True, kw_only=True)
class EventModel(ModelArgs):
    """What is trained.

    Args:
        hidden_size: Width of the model, and dimension of the event embeddings.
        num_layers: Number of layers.
        num_heads: Number of attention heads in each layer.
        dropout: Dropout rate on the inputs, and on what each block adds to the residual stream.
        time_combine: Way in which the encoding of time is combined with attention or inputs: kernel, multiply, add or
            concat.
        time_transform: Transform of relative times before encoding: none, or log.
        time_size: Dimension of the time encoding, for encodings other than lste.
        num_components: Number of mixture components of the time kernel; lste only.
        num_frequencies: Number of frequencies in each component of the time kernel; lste only.
    """

    hidden_size: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    num_heads: int | None = number_field(None, SIZE)
    dropout: float | None = number_field(None, FRACTION)
    time_combine: Literal["kernel", "multiply", "add", "concat"] | None = None
    time_transform: Literal["none", "log"] | None = None
    time_size: int | None = number_field(None, SIZE)
    num_components: int | None = number_field(None, SIZE)
    num_frequencies: int | None = number_field(None, SIZE)

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        width = {} if self.hidden_size is None else {"word_dim": self.hidden_size, "causal": True}
        dropout = {} if self.dropout is None else {"hidden_dropout": self.dropout}
        return {**super().get_config_changes(), **width, **dropout}


def build_session_paper_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of the authors of HCRNN (Song et al. 2019), but with batches of 16 whole sessions, every
    position of which is trained at once, in place of 512 prefixes drawn from all sessions.
    """
    model_values: dict[str, Any] = {"sigmoid_scores": False}
    if architecture == "hcrnn":
        model_values = {"num_topics": 50, "kl_lambda": 1e-3, "drift_constraint": "clip"}
    return Experiment(
        problem=SESSIONS,
        recipe="",
        data=SequenceData(batch_size=16),
        model=SessionModel(
            architecture=architecture,
            variant=variant,
            embedding_size=100,
            hidden_size=100,
            embedding_dropout=0.25,
            pooled_dropout=0.5,
            **model_values,
        ),
        optimizer=OptimizerArgs(learning_rate=1e-3),
        trainer=TrainerArgs(epochs=200, patience=10),
    )


def build_session_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Model and rates are those of HCRNN's authors. Sizes, dropout and the moving average were chosen on validation
    sessions of CiteULike (docs/results/hcrnn.md, twice the width); how many items are read and when it ends are ours.
    """
    return build_session_paper_experiment(architecture, variant).copy_with(
        **{"embedding_size": 200, "hidden_size": 200, "embedding_dropout": 0.5, "pooled_dropout": 0.5},
        **{"num_topics": None, "kl_lambda": None, "drift_constraint": None, "sigmoid_scores": None},
        **{"max_length": 50, "epochs": 60, "patience": 6, "ema_decay": 0.998},
    )


def build_event_paper_experiment(architecture: str, variant: str) -> Experiment:
    """Return sizes and rate of Xu et al. (2019) on badges, but for dropout, batches and the length of training."""
    return Experiment(
        problem=EVENTS,
        recipe="",
        data=SequenceData(batch_size=32),
        model=EventModel(
            architecture=architecture,
            variant=variant,
            hidden_size=32,
            num_layers=1,
            num_heads=1,
            dropout=0.2,
            time_combine="kernel",
            time_transform="none",
            time_size=32,
            num_components=2,
            num_frequencies=8,
        ),
        optimizer=OptimizerArgs(learning_rate=1e-3),
        trainer=TrainerArgs(epochs=30, patience=5, gradient_clip=5.0),
    )


def build_event_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`: the best trial on validation of badges (docs/models/time_encoder.md)."""
    return build_event_paper_experiment(architecture, variant).copy_with(
        **{"hidden_size": 64, "num_layers": 2, "num_heads": 2, "time_combine": "add"},
        **{"learning_rate": 5e-3, "epochs": 40, "patience": 8, "ema_decay": 0.998},
    )


SESSION_SPACE: Space = {
    "batch_size": (8, 16, 32),
    "hidden_size": (100, 200, 400),
    "embedding_size": (100, 200, 400),
    "embedding_dropout": Between(0.1, 0.5),
    "pooled_dropout": Between(0.25, 0.5),
    "weight_decay": Between(0.0, 1e-3),
}
EVENT_SPACE: Space = {
    "batch_size": (16, 32, 64),
    "hidden_size": (32, 64, 128),
    "dropout": Between(0.1, 0.4),
    "num_layers": (1, 2, 3),
    "num_heads": (1, 2, 4),
    "weight_decay": Between(0.0, 1e-3),
    **{"time_size": (16, 32, 64), "num_components": (1, 2, 4), "num_frequencies": (4, 8, 16)},
}
