"""The trainings of language models: what may be set, the recipe's settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, SIZE, number_field

PROBLEM, ARCHITECTURE = "language-modelling", "beta_lstm"
PRIOR = "_prior"  # behind the name of a cell
PRIOR_WEIGHT = 1e-3  # kl_lambda
# Units of a layer by which all cells have as many parameters as the LSTM: two layers, 200 numbers for a word, a softmax
# of its own over the 10,001 rows of the Penn Treebank's vocabulary.
HIDDEN_SIZES: Mapping[str, int] = MappingProxyType(
    {
        "lstm": 200,
        "coupled": 211,
        "g2": 200,
        "noisin": 200,
        "beta": 182,
        "bibeta3": 190,
        "bibeta5": 175,
        "kumaraswamy": 182,
        f"bibeta5{PRIOR}": 175,
    }
)
# Cell to its fields; vectors of words are trained.
CELLS: Mapping[str, Mapping[str, Any]] = {
    cell: {"cell": cell.removesuffix(PRIOR), "hidden_size": size, "embedding_seed": None}
    for cell, size in HIDDEN_SIZES.items()
}
TINY_SIZE, TINY_HEADS = 6, 2
TEXT_DATASETS: Mapping[str, str] = {"ptb": "ctxzoo-data/ptb_text", "sample": "sample"}


@dataclass(frozen=True, kw_only=True)
class LineData(DataArgs):
    """What is trained on; null: as the tokenizer of the checkpoint has it.

    Args:
        batch_size: Number of parallel streams into which the text is divided, the batch dimension.
        text_column: Names of text columns, joined in this order; empty: the first usual name that is there, such as
            text.
        min_word_count: Least number of occurrences in the training text for a word to enter the vocabulary; null: that
            of the checkpoint, else 1.
        lower_case: Whether words are lower-cased; null: as the checkpoint's tokenizer does, else yes.
        pre_tokenizer: Pre-tokenizer that cuts texts into words: whitespace, or english for rules of English; null: that
            of the checkpoint, else whitespace.
        bptt: Tokens in a training window, over which gradients flow back (truncated backpropagation through time).
    """

    text_column: tuple[str, ...] = ()
    min_word_count: int | None = number_field(None, SIZE)
    lower_case: bool | None = None
    pre_tokenizer: Literal["whitespace", "english"] | None = None
    bptt: int = number_field(35, SIZE)


@dataclass(frozen=True, kw_only=True)
class LineModel(ModelArgs):
    """What is trained.

    Args:
        hidden_size: Units in each layer; null: a size preset for each LSTM cell, so that all have about as many
            parameters.
        num_layers: Number of layers.
        word_dim: Dimension of the word embeddings.
        embedding_bound: Bound b of the uniform distribution U(-b, b) from which word embeddings are initialized;
            beta_lstm only.
        dropout: Dropout rate on the word embeddings.
        locked_dropout: Dropout rate behind each layer, with one mask for all time steps; beta_lstm only.
        weight_dropout: Dropout rate on the recurrent weights; beta_lstm only.
        kl_lambda: Weight in the loss of the KL divergence of the gates' distributions from their prior, for cells that
            have one; null: 0.001.
        num_heads: Number of attention heads in each layer; Transformer encoders only.
        hidden_dropout: Dropout rate on what each Transformer block adds to the residual stream; encoders only.
        attention_dropout: Dropout rate on the attention weights; Transformer encoders only.
        memory_length: Number of tokens before a window whose keys and values attention still reads; 0: no limit.
    """

    hidden_size: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    word_dim: int | None = number_field(None, SIZE)
    embedding_bound: float | None = number_field(None, COUNT)
    dropout: float | None = number_field(None, FRACTION)
    locked_dropout: float | None = number_field(None, FRACTION)
    weight_dropout: float | None = number_field(None, FRACTION)
    kl_lambda: float | None = number_field(None, COUNT)
    num_heads: int | None = number_field(None, SIZE)
    hidden_dropout: float | None = number_field(None, FRACTION)
    attention_dropout: float | None = number_field(None, FRACTION)
    memory_length: int | None = number_field(None, COUNT)


def get_variants(architecture: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the variants of an architecture and their config fields; encoders are made causal."""
    if architecture == ARCHITECTURE:
        return CELLS
    known = ARCHITECTURES[architecture].config_class.variants
    return {name: {"position": "rotary", "causal": True, **own} for name, own in known.items()}


def build_paper_experiment(architecture: str = ARCHITECTURE, variant: str = "lstm") -> Experiment:
    """Return the settings of the recipe for the Penn Treebank.

    The rate is that of stochastic gradient descent on a mean over words whose gradients are short (a norm of 0.25 at
    most): Adam stays for the first hundreds of steps where words are predicted by how often they occur.

    Raises:
        ValueError: another architecture than the recipe's.
    """
    if architecture != ARCHITECTURE:
        raise ValueError(
            f"there are no settings of a paper for {architecture} on language, only for {ARCHITECTURE}; try "
            "--settings default"
        )
    dropout: dict[str, Any] = {"dropout": 0.2, "locked_dropout": 0.2, "weight_dropout": 0.0}
    sizes: dict[str, Any] = {"num_layers": 2, "word_dim": 200, "embedding_bound": 1.0}
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=LineData(batch_size=20, bptt=35, min_word_count=1, pre_tokenizer="whitespace"),
        model=LineModel(architecture=architecture, variant=variant, **sizes, **dropout),
        optimizer=OptimizerArgs(optimizer="sgd", learning_rate=20.0, momentum=0.0, halve_after=1),
        trainer=TrainerArgs(epochs=15, gradient_clip=0.25),
    )


def set_cell(experiment: Experiment, cell: str) -> Experiment:
    """Return a copy of the experiment with another recurrent cell and its usual settings where the user gave none.

    Raises:
        ValueError: an unknown cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(CELLS)}")
    model: Any = experiment.model
    weight = PRIOR_WEIGHT if model.kl_lambda is None else model.kl_lambda
    size = HIDDEN_SIZES[cell] if model.hidden_size is None else model.hidden_size
    return experiment.copy_with(variant=cell, hidden_size=size, kl_lambda=weight if cell.endswith(PRIOR) else 0.0)


# Of each encoder beside the fields of its variants.
_ENCODER: Mapping[str, Any] = {
    **{"num_layers": 2, "word_dim": 200, "hidden_size": 200, "num_heads": 4, "dropout": 0.3, "hidden_dropout": 0.3},
}
_KEYS: Mapping[str, Any] = {"memory_length": 70, "attention_dropout": 0.1}  # of attention that keeps keys
ENCODERS: Mapping[str, Mapping[str, Any]] = {
    "kernel_encoder": {**_ENCODER, **_KEYS},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, **_KEYS},
}


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Sizes are those of the recipe for the Penn Treebank, with stronger dropout for smaller texts, and words that occur
    twice so that the unknown word is learned. An encoder reads the keys of two windows before its own. These are ours;
    no table has chosen them.
    """
    usual = build_paper_experiment().copy_with(
        **{"batch_size": 10, "min_word_count": 2, "lower_case": True, "pre_tokenizer": "english"},
        **{"dropout": 0.3, "locked_dropout": 0.3, "epochs": 40, "patience": 5},
    )
    if architecture == ARCHITECTURE:
        return set_cell(usual, variant)
    encoder = LineModel(architecture=architecture, variant=variant, **ENCODERS[architecture])
    return replace(usual, model=encoder).copy_with(optimizer="adamw", learning_rate=1e-3, weight_decay=0.01)


SEARCH_SPACE: Space = {
    "batch_size": (5, 10, 20),
    "hidden_size": (120, 200, 320),  # a head of the four has an even number of them, which rotary positions need
    "word_dim": (100, 200, 300),
    "num_layers": (1, 2, 3),
    "dropout": Between(0.1, 0.5),
    "locked_dropout": Between(0.1, 0.5),
    "weight_dropout": Between(0.0, 0.4),
    "hidden_dropout": Between(0.1, 0.5),
    "attention_dropout": Between(0.0, 0.3),
}
