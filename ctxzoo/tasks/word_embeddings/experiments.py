"""The trainings of word vectors: what may be set, the paper's settings, the usual ones, and what a search tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ctxzoo.models.configuration_word_embedding import InputGradient
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, RunArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, Customs, Schedule
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Args, number
from ctxzoo.training.libraries import is_installed

PROBLEM, ARCHITECTURE, ATTENTION = "fill-mask", "word_embedding", "attention_cbow"
WORDS = ("cutter", "lower_case", "fold_digits", "min_count")  # values that say which words there are
BY_CUSTOM = Customs._fields  # values that are customary for an architecture where nothing is given
TINY_SIZES = {"word_dim": 8, "window": 2}
TORCH_BATCH = 1024
MIN_COUNT, SAMPLE_MIN_COUNT = 10, 2  # of the recipe; the paper's text is larger, and has 41
# Values that nothing here reads: no score is taken before the end, and one machine trains.
UNREAD = ("patience", "ema_decay", "gradient_clip", "monitor", "wandb", "num_nodes", "strategy")


@dataclass(frozen=True, kw_only=True)
class WordData(DataArgs):
    """What is trained on; null: as the tokenizer of the checkpoint has it.

    Args:
        batch_size: Words of a step of torch; null: 1024, and of the compiled loops, which go word by word, none.
        text_column: Columns of the text, read one after another; empty: text.
        split: Split of a dataset that is trained on.
        test_split: Split of a dataset that is scored at the end; empty, and of the sample: none.
        test_words: Number, roughly, of the words of each scored split that are predicted.
        cutter: How texts are cut into words, by blanks or by rules for English.
        lower_case: Whether words are read in small letters.
        fold_digits: Whether every digit becomes 0.
        min_count: Occurrences in the training text that a word needs; null in the recipe: 10, of the sample 2.
    """

    batch_size: int | None = number(None, SIZE)  # type: ignore[assignment]
    text_column: tuple[str, ...] = ()
    split: str = "train"
    test_split: str = "test"
    test_words: int = number(5000, SIZE)
    cutter: Literal["whitespace", "english"] | None = None
    lower_case: bool | None = None
    fold_digits: bool | None = None
    min_count: int | None = number(None, SIZE)

    def report(self) -> dict[str, Any]:
        """Return the arguments by name, without the words that a checkpoint decides, and the split that names tell."""
        aside = {"test_split", *(name for name in WORDS if getattr(self, name) is None)}
        return {name: value for name, value in super().report().items() if name not in aside}


@dataclass(frozen=True, kw_only=True)
class WordModel(ModelArgs):
    """What is trained.

    Args:
        word_dim: Numbers of a word's vector, d.
        window: Words on each side that are read, b.
        word_logits: Whether attention_cbow has K, a number for each word at each position.
        position_logits: Whether attention_cbow has s, a number for each position.
        logit_rank: Rank of K; 0: a full table.
    """

    word_dim: int | None = number(None, SIZE)
    window: int | None = number(None, SIZE)
    word_logits: bool | None = None
    position_logits: bool | None = None
    logit_rank: int | None = number(None, COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("word_logits", "position_logits", "logit_rank"):
            value = getattr(self, name)
            if value is not None and self.variant != ATTENTION:
                raise ValueError(f"{name}={value}: {self.variant} has no attention; leave it out, or train {ATTENTION}")
        if self.word_logits is False and self.position_logits is False:
            raise ValueError(
                "--word_logits false and --position_logits false leave no attention; for even weights, all else as it "
                "is, give --logit_learning_rate 0"
            )


@dataclass(frozen=True, kw_only=True)
class Descent(Args):
    """How weights are changed: by stochastic gradient descent with negative sampling; null: as is customary.

    Args:
        learning_rate: Learning rate of all vectors at the beginning; null: customary for the architecture.
        logit_learning_rate: Learning rate of K and s; null: the same; 0: they stay 0, and the weights even.
        schedule: Course of the rate, which falls with the words read or stays; null: customary for the architecture.
        random_window: Whether the half width is drawn from 1..b for each word; null: customary for the architecture.
        input_gradient: Gradient of cbow, word2vec gives each word of the mean the whole; null: customary for it.
        negative_samples: Noise words of a step, N.
        subsampling: Fraction of the text above which words are thinned, 0.001 in word2vec; 0: none are.
        shared_noise: Whether 16 words in a row share their noise words, which is faster; of the compiled loops.
    """

    learning_rate: float | None = number(None, POSITIVE)
    logit_learning_rate: float | None = number(None, COUNT)
    schedule: Schedule | None = None
    random_window: bool | None = None
    input_gradient: InputGradient | None = None
    negative_samples: int = number(5, COUNT)
    subsampling: float = number(0.0, FRACTION)
    shared_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class WordRun(RunArgs):
    """Where and with what it runs; the backend, and threads of compiled loops, which do not wait, decide the result.

    Args:
        backend: What trains: loops that Numba compiles, or torch, which GPUs need; auto: as the device has it.
        num_workers: Processes that build batches of torch; 0: the training does.
    """

    backend: Literal["numba", "torch", "auto"] = "numba"
    num_workers: int = number(0, COUNT)

    def report(self) -> dict[str, Any]:
        return {"backend": self.backend, **({} if self.backend == "torch" else {"threads": self.threads})}


def backend_of(run: WordRun) -> str:
    """Return numba or torch: where it is left open numba, if that is installed and no other device is named."""
    if run.backend != "auto":
        return run.backend
    return "numba" if run.accelerator in ("auto", "cpu") and is_installed("numba") else "torch"


def paper(variant: str = ATTENTION) -> Experiment:
    """Return the settings of Ling et al. (2015), or of docs/models/word_embedding.md where it is silent."""
    words: dict[str, Any] = {"cutter": "english", "lower_case": True, "fold_digits": True, "min_count": MIN_COUNT}
    usual = Experiment(
        problem=PROBLEM,
        recipe="",
        data=WordData(**words),
        model=WordModel(architecture=ARCHITECTURE, variant=variant, word_dim=50, window=20),
        optimizer=Descent(negative_samples=10),
        trainer=TrainerArgs(epochs=2),
        run=WordRun(backend="auto", checkpoint_every=2000),
    )
    return of_architecture(usual, variant)


def default(variant: str = ATTENTION) -> Experiment:
    """Return the settings of `ctxzoo train`.

    They are the paper's, but for what suits a text of a user's own, which is smaller than theirs: a window of ten
    words, more passes and rarer words, after word2vec's customs (min_count 5, 5 passes, 5 noise words).
    """
    return paper(variant).changed(word_dim=100, window=10, min_count=5, epochs=5, negative_samples=5)


def of_architecture(experiment: Experiment, variant: str) -> Experiment:
    """Return the experiment with another architecture of `CUSTOMS`, and with its customs where nothing is given."""
    given = experiment.values()
    customs = {name: getattr(CUSTOMS[variant], name) for name in BY_CUSTOM if given[name] is None}
    attention = dict.fromkeys(() if variant == ATTENTION else ("word_logits", "position_logits", "logit_rank"))
    return experiment.changed(variant=variant, **customs, **attention)


# What changes the vocabulary is not searched: scores over other words do not compare.
SEARCH_SPACE: Space = {
    "epochs": Between(3, 20),
    "window": Between(3, 10),
    "word_dim": (50, 100, 200),
    "negative_samples": Between(5, 10),
    "subsampling": Between(0.0, 1e-3),
}
