"""The trainings of word vectors: what may be set, the paper's settings, the usual ones, and what a search tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ctxzoo.models.configuration_word_embedding import InputGradient
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, RunArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, Customs, Schedule
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Args, number_field
from ctxzoo.training.libraries import is_installed

PROBLEM, ARCHITECTURE, ATTENTION = "fill-mask", "word_embedding", "attention_cbow"
WORDS = ("pre_tokenizer", "lower_case", "fold_digits", "min_count")  # values that say which words there are
BY_CUSTOM = Customs._fields  # values that are customary for an architecture where nothing is given
TINY_SIZES = {"word_dim": 8, "window": 2}
TORCH_BATCH = 1024
MIN_COUNT, SAMPLE_MIN_COUNT = 10, 2  # of the recipe; the paper's text is larger, and has 41
# Values that nothing here reads: no score is taken before the end.
UNREAD = ("patience", "ema_decay", "gradient_clip", "monitor", "wandb")


@dataclass(frozen=True, kw_only=True)
class WordData(DataArgs):
    """What is trained on; null: as the tokenizer of the checkpoint has it.

    Args:
        batch_size: Text words in a batch of the torch backend; null: 1024. The numba backend goes word by word and
            takes none.
        text_column: Names of text columns, joined in this order; empty: text.
        split: Name of the dataset's split to train on.
        test_split: Name of the dataset's split to score at the end; empty: none.
        test_words: Approximate number of words predicted in each scored split.
        pre_tokenizer: Pre-tokenizer that cuts texts into words: whitespace, or english for rules of English; null: that
            of the checkpoint.
        lower_case: Whether words are lower-cased.
        fold_digits: Whether every digit of a word is replaced by 0; null: as the checkpoint's tokenizer does.
        min_count: Least number of occurrences in the training text for a word to enter the vocabulary; null: 10, or 2
            for the generated sample.
    """

    batch_size: int | None = number_field(None, SIZE)  # type: ignore[assignment]
    text_column: tuple[str, ...] = ()
    split: str = "train"
    test_split: str = "test"
    test_words: int = number_field(5000, SIZE)
    pre_tokenizer: Literal["whitespace", "english"] | None = None
    lower_case: bool | None = None
    fold_digits: bool | None = None
    min_count: int | None = number_field(None, SIZE)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments for the result file, without those that a checkpoint decides."""
        aside = {"test_split", *(name for name in WORDS if getattr(self, name) is None)}
        return {name: value for name, value in super().get_reported_values().items() if name not in aside}


@dataclass(frozen=True, kw_only=True)
class WordModel(ModelArgs):
    """What is trained.

    Args:
        word_dim: Dimension d of the word vectors.
        window: Number b of context words on each side of a centre word.
        word_logits: Whether attention_cbow learns the logits K, one for each word at each position of the window.
        position_logits: Whether attention_cbow learns the logits s, one for each position of the window.
        logit_rank: Rank of the factorized logits K, one for each word and position; 0: a full table.
    """

    word_dim: int | None = number_field(None, SIZE)
    window: int | None = number_field(None, SIZE)
    word_logits: bool | None = None
    position_logits: bool | None = None
    logit_rank: int | None = number_field(None, COUNT)

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
        learning_rate: Initial learning rate of the word vectors; null: the usual one of the architecture.
        logit_learning_rate: Learning rate of the attention logits; null: that of the word vectors; 0: they stay 0, so
            that attention is uniform.
        schedule: Schedule of the learning rate: constant, or linear decay with the words read; null: the usual one of
            the architecture.
        random_window: Whether the half width of the window is drawn from 1..b for each centre word; null: as is usual
            for the architecture.
        input_gradient: Gradient of cbow's context words: exact, or word2vec, which gives each word the gradient of the
            whole mean; null: as is usual.
        negative_samples: Number of negative samples (noise words) for each prediction.
        subsampling: Threshold of subsampling, the fraction of the text above which frequent words are randomly dropped,
            0.001 in word2vec; 0: none.
        shared_noise: Whether 16 consecutive centre words share their noise words, which is faster; numba backend only.
    """

    learning_rate: float | None = number_field(None, POSITIVE)
    logit_learning_rate: float | None = number_field(None, COUNT)
    schedule: Schedule | None = None
    random_window: bool | None = None
    input_gradient: InputGradient | None = None
    negative_samples: int = number_field(5, COUNT)
    subsampling: float = number_field(0.0, FRACTION)
    shared_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class WordRun(RunArgs):
    """Where and with what it runs; the backend, and threads of compiled loops, which do not wait, decide the result.

    Args:
        backend: Training code: numba (compiled CPU loops), torch (needed for GPUs), or auto, by the device.
        num_workers: Number of worker processes that build batches for the torch backend; 0: the training process builds
            them.
    """

    backend: Literal["numba", "torch", "auto"] = "numba"
    num_workers: int = number_field(0, COUNT)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        return {"backend": self.backend, **({} if self.backend == "torch" else {"threads": self.threads})}


def choose_backend(run: WordRun) -> str:
    """Choose how to train: by Numba on the CPU if it is installed and no other device is named, else by torch."""
    if run.backend != "auto":
        return run.backend
    return "numba" if run.accelerator in ("auto", "cpu") and is_installed("numba") else "torch"


def build_paper_experiment(variant: str = ATTENTION) -> Experiment:
    """Return the settings of Ling et al. (2015), or of docs/models/word_embedding.md where the paper says nothing."""
    words: dict[str, Any] = {"pre_tokenizer": "english", "lower_case": True, "fold_digits": True}
    usual = Experiment(
        problem=PROBLEM,
        recipe="",
        data=WordData(**words, min_count=MIN_COUNT),
        model=WordModel(architecture=ARCHITECTURE, variant=variant, word_dim=50, window=20),
        optimizer=Descent(negative_samples=10),
        trainer=TrainerArgs(epochs=2),
        run=WordRun(backend="auto", checkpoint_every=2000),
    )
    return replace_architecture(usual, variant)


def build_default_experiment(variant: str = ATTENTION) -> Experiment:
    """Return the settings of `ctxzoo train`.

    They are the paper's, but for what suits a text of a user's own, which is smaller than theirs: a window of ten
    words, more passes and rarer words, after word2vec's customs (min_count 5, 5 passes, 5 noise words).
    """
    return build_paper_experiment(variant).copy_with(word_dim=100, window=10, min_count=5, epochs=5, negative_samples=5)


def replace_architecture(experiment: Experiment, variant: str) -> Experiment:
    """Return a copy of the experiment with another architecture, and its usual settings where the user gave none."""
    values = experiment.values()
    customs = {name: getattr(CUSTOMS[variant], name) for name in BY_CUSTOM if values[name] is None}
    attention = dict.fromkeys(() if variant == ATTENTION else ("word_logits", "position_logits", "logit_rank"))
    return experiment.copy_with(variant=variant, **customs, **attention)


# What changes the vocabulary is not searched: scores over other words do not compare.
SEARCH_SPACE: Space = {
    "epochs": Between(3, 20),
    "window": Between(3, 10),
    "word_dim": (50, 100, 200),
    "negative_samples": Between(5, 10),
    "subsampling": Between(0.0, 1e-3),
}
