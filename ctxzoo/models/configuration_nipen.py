"""The configuration of NIPEN."""

from dataclasses import field
from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_vote import VoteConfig

MOST_WITHOUT_RANK = 10_000  # legislators
LAMBDAS = ("weight", "topic", "ideal", "text", "trust", "vote", "scale", "tensor", "delta", "bias")


@strict
class NipenConfig(VoteConfig):
    """Ideal points of legislators and bills by topic, the topics of a bill read from its text, and a trust network.

    The defaults are the published settings of the probabilistic version with a variational encoder.

    Args:
        num_topics: Number of topics K.
        version: Version: "pgm" weighs the agreement of legislator and bill by the bill's topics; "tensor" by a small
            network.
        encoder: Autoencoder of texts: "sdae", denoising, or "vae", variational.
        encoder_widths: Widths of the autoencoder's layers between words and topics.
        network_structure: Trust network: "user_alpha" scales content and trust by two numbers for each legislator;
            "without_network" has no trust.
        trust_rank: Rank G of the trust weights; None: one weight for each pair of legislators, for at most 10,000
            legislators.
        ntn_widths: Widths of the hidden layers of the neural tensor network, for version "tensor".
        amortized_bills: Whether the parameters of a bill are computed from its text, plus a deviation for each training
            bill, so that new bills can be read.
        new_bill_rate: Fraction of the bills of a training batch that are treated as new, without deviation and known
            votes; with `amortized_bills`.
        loss_type: Loss: "bernoulli", the log-likelihood; "authors", the sum in the authors' code, in which nays count
            more.
        reduction: Reduction of the loss: "mean" over observed votes; "authors_sum", the sums in the authors' code.
        weight_lambda, topic_lambda, ideal_lambda, text_lambda, trust_lambda, vote_lambda, scale_lambda, tensor_lambda:
            lambda_w, _y, _u, _n, _tau, _f, _alpha and _ntn of the objective.
        delta_lambda: Weight of the prior on the deviations of amortised bills.
        bias_lambda: Weight of the penalty on the bias of each bill; None: the number of legislators, as the authors
            have it.
        corruption_level: Fraction of the entries of a bag of words that are set to 0 in training.
        dropout: Dropout rate behind the layers of the denoising autoencoder and of "tensor", and on the matrices of the
            variational one.
    """

    model_type = "ctxzoo_nipen"
    former_fields = MappingProxyType({"network_positive": False, "bias": "doc"})
    keys_to_ignore_at_inference = [  # noqa: RUF012 (as transformers)
        "loss_terms",
        "topic_weights",
        "text_topics",
        "bill_points",
        "content",
        "network",
    ]
    variants = MappingProxyType(
        {
            "pgm_sdae": {"encoder": "sdae", "topic_lambda": 1},
            "pgm_sdae_low_rank": {"encoder": "sdae", "topic_lambda": 1, "trust_rank": 3},
            "pgm_vae": {"encoder": "vae"},
            "tensor": {
                "version": "tensor",
                "weight_lambda": 10,
                "topic_lambda": 1000,
                "trust_lambda": 1000,
                "scale_lambda": 10,
                "tensor_lambda": 1000,
            },
        }
    )

    num_topics: int = 10
    version: Literal["pgm", "tensor"] = "pgm"
    encoder: Literal["sdae", "vae"] = "vae"
    encoder_widths: list[int] = field(default_factory=lambda: [512, 128])
    network_structure: Literal["user_alpha", "without_network"] = "user_alpha"
    trust_rank: int | None = None
    ntn_widths: list[int] = field(default_factory=lambda: [10])
    amortized_bills: bool = False
    new_bill_rate: float | int = 0.0
    loss_type: Literal["bernoulli", "authors"] = "bernoulli"
    reduction: Literal["mean", "authors_sum"] = "mean"
    weight_lambda: float | int = 0.1
    topic_lambda: float | int = 10
    ideal_lambda: float | int = 0.1
    text_lambda: float | int = 1000
    trust_lambda: float | int = 1
    vote_lambda: float | int = 10
    scale_lambda: float | int = 1
    tensor_lambda: float | int = 1000
    delta_lambda: float | int = 1
    bias_lambda: float | int | None = None
    corruption_level: float | int = 0.3
    dropout: float | int = 0.1

    def validate_widths(self) -> None:
        """Check topics, layer widths and the rank of the trust matrix, which many legislators need."""
        self.check_at_least_one("num_topics")
        for name in ("encoder_widths", "ntn_widths"):
            widths = getattr(self, name)
            if not widths or min(widths) < 1:
                raise ValueError(f"{name} must be one width or more, of 1 or more, got {widths}")
        if self.trust_rank is not None and not 1 <= self.trust_rank <= self.num_legislators:
            raise ValueError(f"trust_rank must be 1 to num_legislators, got {self.trust_rank}")
        with_network = self.network_structure != "without_network"
        if with_network and self.trust_rank is None and self.num_legislators > MOST_WITHOUT_RANK:
            raise ValueError(
                f"trust_rank=None with {self.num_legislators:,} legislators: a weight for each pair of more than "
                f"{MOST_WITHOUT_RANK:,}; set a rank, such as 16, or network_structure='without_network'"
            )

    def validate_version(self) -> None:
        """Raise ValueError for the version "tensor" with another encoder than the variational autoencoder."""
        if self.version == "tensor" and self.encoder != "vae":
            raise ValueError(f"encoder={self.encoder!r} with version='tensor': it always has 'vae'")

    def validate_rates(self) -> None:
        """Check dropout rates, the rate of new bills and the weights of the objective's terms."""
        self.check_dropout_rates("corruption_level", "dropout")
        if not 0 <= self.new_bill_rate <= 1:
            raise ValueError(f"new_bill_rate must be 0 to 1, got {self.new_bill_rate}")
        if self.new_bill_rate and not self.amortized_bills:
            raise ValueError(f"new_bill_rate={self.new_bill_rate} without amortized_bills=True: no bill can be new")
        self.check_not_negative(*(f"{name}_lambda" for name in LAMBDAS))
