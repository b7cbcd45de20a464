"""The configuration of the time encoder: how it knows when events were, their names, and the sizes."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_encoder import EncoderConfig


@strict
class TimeEncoderConfig(EncoderConfig):
    """Dot-product attention over events at times, which encodings of continuous time tell it.

    Args:
        position: Position encoding: none; sinusoidal, of the events' positions; or one of the events' `timestamps`:
            bochner (one frequency for a sine and its cosine, so that only gaps count), bochner_untied (a frequency for
            each), bochner_sampled, mercer (Xu et al. 2019), time2vec (Kazemi et al. 2019) or lste.
        attention_dropout: Dropout rate on the attention weights.
        time_combine: How an encoding of time enters: its kernel is added to the scores ("kernel") or multiplied into
            the weights ("multiply"), or its features are added to the steps ("add") or concatenated with them
            ("concat").
        time_unit: Divisor of relative times, in the unit of the timestamps: the median gap of the training data.
        time_span: Longest elapsed time of the training data, in multiples of `time_unit`; it sets the start of learned
            frequencies.
        time_reference: Event from which the times of a row are measured: "first" or "last".
        time_transform: Transform of relative times: "log", sign(t) log(1 + |t|), or "none".
        time_size: Width D of the encoding; that of lste follows from its components and frequencies.
        num_harmonics: Number J of harmonics of mercer.
        num_components: Number A of components of lste, each with a power that varies over time in its own way.
        num_frequencies: Number M of frequencies of each component of lste.
        behaviour_conditioned: Whether the parameters of lste depend on the events of the row, in a causal model on
            those up to each step.
        event_names: Names of the events 1..vocab_size - 1 in this order; None: "1", "2" and so on.
        max_history: Largest number of last events of a history that `next_events` reads, as many as in training.
    """

    model_type = "ctxzoo_time_encoder"
    variants = MappingProxyType(
        {
            "none": {"position": "none"},
            "positional": {"position": "sinusoidal"},
            "bochner": {"position": "bochner"},
            "bochner_untied": {"position": "bochner_untied"},
            "bochner_sampled": {"position": "bochner_sampled"},
            "mercer": {"position": "mercer"},
            "time2vec": {"position": "time2vec"},
            "lste": {"position": "lste", "behaviour_conditioned": False},
            "lste_behaviour": {"position": "lste", "behaviour_conditioned": True},
        }
    )

    position: Literal[
        "none", "sinusoidal", "bochner", "bochner_untied", "bochner_sampled", "mercer", "time2vec", "lste"
    ] = "sinusoidal"
    causal: bool = True
    attention_dropout: float | int = 0.0
    time_combine: Literal["kernel", "multiply", "add", "concat"] = "kernel"
    time_unit: float | int = 1.0
    time_span: float | int = 100.0
    time_reference: Literal["first", "last"] = "first"
    time_transform: Literal["none", "log"] = "none"
    time_size: int = 64
    num_harmonics: int = 10
    num_components: int = 4
    num_frequencies: int = 16
    behaviour_conditioned: bool = True
    event_names: list[str] | None = None
    max_history: int = 100

    @property
    def reads_time(self) -> bool:
        """Whether the models read `timestamps`."""
        return self.position not in ("none", "sinusoidal")

    def get_row_names(self) -> list[str]:
        """Return the names of the events 1..vocab_size - 1."""
        return self.event_names or [str(event) for event in range(1, self.vocab_size)]

    def get_row_name(self, row: int) -> str:
        """Return the name of the event in row 1..vocab_size - 1 of the table."""
        return str(row) if self.event_names is None else self.event_names[row - 1]

    def validate_attention(self) -> None:
        """Check the dropout rate of the attention weights."""
        self.check_dropout_rates("attention_dropout")

    def validate_time(self) -> None:
        """Check the fields of the encodings of time.

        Raises:
            ValueError: a unit, span or size that is not above 0, or an odd size of sines and cosines; times of a causal
                model measured by an event that a step does not see, see `TimePosition`.
        """
        for name in ("time_unit", "time_span"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        self.check_at_least_one("time_size", "num_harmonics", "num_components", "num_frequencies")
        if self.position.startswith("bochner") and self.time_size % 2:
            raise ValueError(f"time_size {self.time_size} must be even with position={self.position!r}")
        own = self.position == "lste" and self.time_combine in ("kernel", "multiply")
        if self.reads_time and self.causal and self.time_reference == "last" and not own:
            raise ValueError(
                "time_reference='last' measures the times of a causal model by events that its steps do not see; "
                "expected time_reference='first' (position='lste' in scores takes 'last' too)"
            )

    def validate_events(self) -> None:
        """Check that every event has one name of its own, where they have names.

        Raises:
            ValueError: another number of names, an empty name, or one that two events have; no event to read.
        """
        self.check_at_least_one("max_history")
        if self.event_names is not None and "" in self.event_names:
            raise ValueError(f"event_names: event {self.event_names.index('') + 1} has an empty name")
        number = self.vocab_size - 1
        self.check_names("event_names", f"there are {number} events", number)
