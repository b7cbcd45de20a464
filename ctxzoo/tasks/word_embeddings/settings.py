"""How word vectors are trained, whatever trains them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from ctxzoo.models.configuration_word_embedding import InputGradient

Schedule = Literal["constant", "linear"]
PRECISIONS = ("32-true", "bf16-mixed")  # of training by PyTorch
LEAST_RATE = 1e-4  # of the rate at the beginning, which the linear schedule keeps to the end, as word2vec does


class Customs(NamedTuple):
    """The customary settings of an architecture: the paper's for attention_cbow, else those of word2vec and its kin.

    The rate of cwindow is half of theirs, at which it diverges with b = 20, see docs/models/word_embedding.md.
    """

    learning_rate: float
    schedule: Schedule
    random_window: bool
    input_gradient: InputGradient


CUSTOMS = {
    "attention_cbow": Customs(0.05, "constant", False, "exact"),
    "cbow": Customs(0.05, "linear", True, "word2vec"),
    "positional_cbow": Customs(0.05, "linear", False, "exact"),
    "cwindow": Customs(0.025, "linear", False, "exact"),
    "skip_gram": Customs(0.025, "linear", True, "exact"),
    "structured_skip_gram": Customs(0.025, "linear", False, "exact"),
}


@dataclass(frozen=True, kw_only=True)
class WordEmbeddingTraining:
    """Settings of a training by negative sampling.

    Attributes:
        epochs: Number of passes over the text.
        negative_samples: Number N of negative samples (noise words) for each prediction.
        subsampling: Threshold of subsampling, the fraction of the text above which frequent words are randomly dropped;
            0: none; as in `compute_keep_probabilities`.
        learning_rate: Initial learning rate of all word vectors.
        logit_learning_rate: Learning rate of the attention logits K and s; None: that of the word vectors; 0: they stay
            0, so that attention is uniform.
        schedule: Schedule of the learning rate: "linear", decay with the words read to 1e-4 of the initial rate, or
            "constant".
        random_window: Whether the half width of the window is drawn from 1..b for each centre word.
        input_gradient: Gradient of cbow's context words: "exact", or "word2vec", which gives each word the gradient of
            the whole mean.
        shared_noise: Whether 16 consecutive centre words share their noise words.
        seed: Seed of all random draws.
        max_minutes: Minutes after which training stops at the end of the running pass; None: no limit. Results files do
            not report it.

    Raises:
        ValueError: a value out of range.
    """

    epochs: int
    negative_samples: int
    subsampling: float
    learning_rate: float
    logit_learning_rate: float | None = None
    schedule: Schedule
    random_window: bool
    input_gradient: InputGradient
    shared_noise: bool = False
    seed: int = 0
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("negative_samples", 0), ("subsampling", 0), ("seed", 0)):
            value = getattr(self, name)
            if not value >= least:
                raise ValueError(f"{name} is {value}; expected {least} or more")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}; expected a positive number")
        if self.logit_learning_rate is not None and not self.logit_learning_rate >= 0:
            raise ValueError(f"logit_learning_rate is {self.logit_learning_rate}; expected 0 or more")
        for name, kind in (("schedule", Schedule), ("input_gradient", InputGradient)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(get_args(kind))}")

    @classmethod
    def with_architecture_defaults(cls, architecture: str, **settings: Any) -> WordEmbeddingTraining:
        """Return a copy in which missing settings are those usual for the architecture."""
        chosen = {name: value for name, value in settings.items() if value is not None}
        return cls(**{**CUSTOMS[architecture]._asdict(), **chosen})

    def learning_rate_at(self, fraction_read: float) -> float:
        """Return the learning rate of the vectors after this fraction of all words."""
        left = 1.0 if self.schedule == "constant" else max(LEAST_RATE, 1.0 - fraction_read)
        return self.learning_rate * left

    def logit_learning_rate_at(self, fraction_read: float) -> float:
        """Return the learning rate of the attention logits K and s after this fraction of all words."""
        if self.logit_learning_rate is None:
            return self.learning_rate_at(fraction_read)
        return self.logit_learning_rate * self.learning_rate_at(fraction_read) / self.learning_rate

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a results file reports them."""
        return {name: value for name, value in asdict(self).items() if name != "max_minutes"}

    def is_out_of_time(self, epoch: int, seconds: float) -> bool:
        """Return whether training stops after this epoch and time because of `max_minutes`."""
        return self.max_minutes is not None and epoch > 0 and seconds >= 60 * self.max_minutes
