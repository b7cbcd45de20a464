"""The configuration of the Contextualizer and its variants."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_pretrained_encoder import PretrainedEncoderConfig
from .configuration_text import TextClassifierConfig


@strict
class ContextualizerConfig(PretrainedEncoderConfig, TextClassifierConfig):
    """A context per document, corrected K times by second-order attention over its tokens (Maupomé and Meurs 2021).

    The defaults are the paper's. The fields of `TextClassifierConfig` and `PretrainedEncoderConfig` come first.

    Args:
        num_steps: Number K of steps, that is of corrections of the context.
        recurrent: Whether all steps share U, V and W; otherwise ("regular") each step has its own.
        rank: Rank u of the factorised third-order tensor.
        initial_context: First context c^0: "ones", "learned" (a vector that starts at ones) or "random" (drawn from
            U(-1, 1) for each document).
        eval_context: First context at evaluation where `initial_context` is random: "fixed", drawn once and saved with
            the model, or "redraw", drawn for each document as in training.
        eval_context_samples: Number S of first contexts per document at evaluation, whose class probabilities are
            averaged [ours].
        variant: Algorithm: "contextualizer" (Algorithm 1) or "tokenwise" (Algorithm 2: every token is a context).
        tokenwise_values: Tokens that a step of Algorithm 2 sums: those of the step before ("previous") or the input
            ("tokens").
        concatenate_steps: Whether the classifier reads all contexts c^1 to c^K, not c^K alone [ours].
        dropout: Dropout rate on the tokens and on c^K [ours].
        word_dropout: Rate at which whole tokens are left out in training [ours].
    """

    model_type = "ctxzoo_contextualizer"
    largest = MappingProxyType({"num_steps": 10_000, "eval_context_samples": 10_000})
    # These are the rows of the paper's tables, with its widths of word vectors.
    variants = MappingProxyType(
        {
            "recurrent": {},
            "regular": {"recurrent": False},
            "ones": {"initial_context": "ones"},
            "learned_start": {"initial_context": "learned"},
            "learned_embeddings": {"freeze_embeddings": False, "word_dim": 250},
        }
    )

    word_dim: int = 500
    freeze_embeddings: bool = True
    num_steps: int = 5
    recurrent: bool = True
    rank: int = 100
    initial_context: Literal["ones", "learned", "random"] = "random"
    eval_context: Literal["fixed", "redraw"] = "fixed"
    eval_context_samples: int = 1
    variant: Literal["contextualizer", "tokenwise"] = "contextualizer"
    tokenwise_values: Literal["previous", "tokens"] = "previous"
    concatenate_steps: bool = False
    dropout: float | int = 0.0
    word_dropout: float | int = 0.0

    def validate_sizes(self) -> None:
        """Check that steps, rank and number of context samples are at least 1."""
        self.check_at_least_one("num_steps", "rank", "eval_context_samples")

    def validate_rates(self) -> None:
        """Check the rates of dropout and word dropout."""
        self.check_dropout_rates("dropout", "word_dropout")

    def validate_starts(self) -> None:
        """Check that several context samples are asked for only where first contexts are drawn at random."""
        starts = self.initial_context == "random" and self.variant == "contextualizer"
        if self.eval_context_samples > 1 and not starts:
            raise ValueError(
                f"eval_context_samples={self.eval_context_samples} needs initial_context='random' and "
                f"variant='contextualizer'; got {self.initial_context!r} and {self.variant!r}"
            )
