"""The configuration of the bivariate Beta-LSTM and of the cells beside it."""

from types import MappingProxyType
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_text import TextClassifierConfig

# Cells whose gates are ratios of Gamma variables -> the number of these for each unit.
GAMMAS = MappingProxyType({"beta": 4, "bibeta3": 3, "bibeta5": 5})


@strict
class BetaLstmConfig(TextClassifierConfig):
    """An LSTM whose input and forget gates may be drawn, independently or together.

    With `vocab_size` above 0 the models read words, and the fields of `TextClassifierConfig` say how; with 0 they read
    `inputs_embeds` of `input_size` numbers alone. The variants have the sizes of the authors' experiments on music, by
    which all of them have about as many parameters.

    Args:
        vocab_size: Size of the vocabulary, rows of the word table; 0: the model has no word table.
        input_size: Number I of features of each step of `inputs_embeds`, where there are no words.
        cell: Kind of recurrent cell: lstm; coupled (f = 1 - i); g2 (G2-LSTM); noisin; with drawn gates beta
            (independent Beta variables), bibeta3 and bibeta5 (bivariate Beta of three or five Gamma variables) and
            kumaraswamy (independent Kumaraswamy variables) [ours].
        hidden_size: Number H of units of each layer and direction.
        num_layers: Number of stacked layers, each over the whole sequence.
        bidirectional: Whether a second stack of layers reads from the end; the states of both are concatenated.
        gate_eps: Small number that is added to the parameters of the gates' distributions, and to Gamma draws.
        gate_sampling: How gates are computed: "sample" draws them, "mean" takes their means, "auto" draws in training
            only.
        kl_lambda: Weight in the loss of the divergence of the Gamma variables from their prior; 0: no prior.
        kl_gamma_prior: Shape alpha_0 of the Gamma prior: one number, or one for each Gamma variable of a unit.
        dropout: Dropout rate on the input steps [ours].
        locked_dropout: Dropout rate behind each layer, with one mask for all steps of a sequence.
        weight_dropout: Dropout rate on recurrent weights, with one mask for a whole sequence.
    """

    model_type = "ctxzoo_beta_lstm"
    # They are no predictions: transformers' Trainer leaves them out of those that metrics are computed from.
    keys_to_ignore_at_inference = ["auxiliary_loss", "kl", "state"]  # noqa: RUF012 (transformers declares it so)
    largest = MappingProxyType({"num_layers": 1000})
    nominal_sizes = MappingProxyType({"num_labels": 88})
    former_fields = MappingProxyType({"gumbel_noise": "step"})
    variants = MappingProxyType(
        {
            "lstm": {"cell": "lstm", "hidden_size": 200, "locked_dropout": 0.1},
            "coupled": {"cell": "coupled", "hidden_size": 232, "locked_dropout": 0.1},
            "g2": {"cell": "g2", "hidden_size": 200, "locked_dropout": 0.1},
            "noisin": {"cell": "noisin", "hidden_size": 200, "locked_dropout": 0.1},
            "beta": {"cell": "beta", "hidden_size": 161, "locked_dropout": 0.1},
            "bibeta3": {"cell": "bibeta3", "hidden_size": 177, "locked_dropout": 0.2},
            "bibeta5": {"cell": "bibeta5", "hidden_size": 148, "locked_dropout": 0.2},
            "kumaraswamy": {"cell": "kumaraswamy", "hidden_size": 161, "locked_dropout": 0.1},
        }
    )

    vocab_size: int = 0
    word_dim: int = 100
    position_dim: int = 0
    embedding_bound: float | int = 0.1
    input_size: int = 88
    cell: Literal["lstm", "coupled", "g2", "noisin", "beta", "bibeta3", "bibeta5", "kumaraswamy"] = "bibeta5"
    hidden_size: int = 148
    num_layers: int = 2
    bidirectional: bool = False
    gate_eps: float | int = 1e-3
    gate_sampling: Literal["auto", "mean", "sample"] = "auto"
    kl_lambda: float | int = 0.0
    kl_gamma_prior: float | int | list[float] = 0.5
    dropout: float | int = 0.0
    locked_dropout: float | int = 0.0
    weight_dropout: float | int = 0.0
    pad_token_id: int | None = 0  # type: ignore[assignment]  # None where there is no table

    def __post_init__(self, **kwargs: Any) -> None:
        """Set no padding id where there is no table of words."""
        super().__post_init__(**kwargs)
        if not self.vocab_size and self.pad_token_id == 0:
            self.pad_token_id = None  # without a table transformers warns of a padding id

    @property
    def step_dim(self) -> int:
        """The number of features of a step at the first layer: `input_size`, or those of a word and its position."""
        return self.word_dim + self.position_dim if self.vocab_size else self.input_size

    @property
    def output_size(self) -> int:
        """The number D of features of a step after the last layer: H, or 2H with two directions."""
        return self.hidden_size * (2 if self.bidirectional else 1)

    @property
    def gamma_prior(self) -> list[float]:
        """The shapes alpha_0 of the prior, one for each Gamma variable of a unit; empty for a cell without any."""
        number = GAMMAS.get(self.cell, 0)
        shapes = self.kl_gamma_prior
        return [float(shape) for shape in shapes] if isinstance(shapes, list) else number * [float(shapes)]

    def validate_words(self) -> None:
        """Check the fields of the word table, if there is one."""
        if self.vocab_size:
            super().validate_words()

    def validate_wide(self) -> None:
        """Check the fields of the wide part, if it or a word table is there."""
        if self.vocab_size or self.wide_buckets:
            super().validate_wide()

    def validate_sizes(self) -> None:
        """Check that widths and number of layers are at least 1."""
        self.check_at_least_one("input_size", "hidden_size", "num_layers")

    def validate_rates(self) -> None:
        """Check the three dropout rates."""
        self.check_dropout_rates("dropout", "locked_dropout", "weight_dropout")

    def validate_gates(self) -> None:
        """Check that `gate_eps`, added to the parameters of the gates, lies between 0 and 1."""
        if not 0 < self.gate_eps < 1:
            raise ValueError(f"gate_eps must be above 0 and below 1, got {self.gate_eps}")

    def validate_prior(self) -> None:
        """Check that the prior has a positive shape for each Gamma variable of the cell.

        Raises:
            ValueError: a negative weight, a weight for a cell without Gamma variables, another number of shapes, or one
                that is not above 0.
        """
        if self.kl_lambda < 0:
            raise ValueError(f"kl_lambda must be 0 (no prior) or above, got {self.kl_lambda}")
        number = GAMMAS.get(self.cell, 0)
        if self.kl_lambda and not number:
            raise ValueError(
                f"kl_lambda={self.kl_lambda} with cell={self.cell!r}, which has no Gamma variables; set 0, or one of "
                f"the cells {', '.join(GAMMAS)}"
            )
        shapes = self.kl_gamma_prior if isinstance(self.kl_gamma_prior, list) else [self.kl_gamma_prior]
        if isinstance(self.kl_gamma_prior, list) and len(shapes) != number:
            raise ValueError(
                f"kl_gamma_prior has {len(shapes)} shapes, but cell {self.cell!r} has {number} Gamma variables"
            )
        if not all(shape > 0 for shape in shapes):
            raise ValueError(f"kl_gamma_prior must be above 0, got {self.kl_gamma_prior}")
