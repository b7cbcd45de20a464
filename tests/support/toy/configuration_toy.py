"""The configuration of the toy: a mean over words, weighed by gates."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from ctxzoo.models.configuration_text import TextClassifierConfig


@strict
class ToyConfig(TextClassifierConfig):
    """Words, a gate for each, and the mean over the words that the gates let through.

    The fields of `TextClassifierConfig` come first.

    Args:
        gate_size: G, units of the hidden layer of the gates.
        dropout: Rate of dropout on the tokens.
    """

    model_type = "ctxzoo_toy"
    variants = MappingProxyType({"base": {}, "narrow": {"gate_size": 2}})

    vocab_size: int = 20
    word_dim: int = 4
    position_dim: int = 0
    embedding_seed: int | None = None
    gate_size: int = 8
    dropout: float | int = 0.3

    def validate_sizes(self) -> None:
        self.check_at_least_one("gate_size")

    def validate_rates(self) -> None:
        self.check_dropout_rates("dropout")
