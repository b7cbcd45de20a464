"""The trainings of models of votes: what may be set, the authors' settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.environment import strip_local_path
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number_field

PROBLEM = "vote-prediction"
MAX_WORDS = 10_000
EPOCHS, MIN_STEPS = 30, 300  # usual ones, and the least steps on data of one's own
ALONE = "_alone"  # behind the name of a model of NIPEN: without the trust network
NETWORKS = {"": {}, ALONE: {"network_structure": "without_network"}}
VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "nipen": {
            f"{name}{end}": {**fields, **network}
            for name, fields in NipenConfig.variants.items()
            for end, network in NETWORKS.items()
            if end == "" or "trust_rank" not in fields
        },
        "vote_baseline": VoteBaselineConfig.variants,
    }
)
TINY: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "nipen": {"num_topics": 3, "encoder_widths": (8, 6)},
        "vote_baseline": {"factors": 2, "hidden_widths": (8, 6)},
    }
)
# Name to arguments of `VoteDataModule`: votes drawn one by one, and all votes on a measure held out together.
VOTE_DATASETS: dict[str, dict[str, Any]] = {
    "roll_call": {"dataset": "ctxzoo-data/roll_call", "configuration": "votes"},
    "roll_call_new_bills": {"dataset": "ctxzoo-data/roll_call", "configuration": "votes_new_bills"},
    "sample": {"dataset": "sample", "configuration": None},
}


@dataclass(frozen=True, kw_only=True)
class VoteData(DataArgs):
    """What is trained on.

    Args:
        legislator_column: Name of the column with the legislator, in a table with one row for each vote.
        bill_column: Name of the column with the bill.
        vote_column: Name of the column with the vote: yea or nay in words, 1 or 0, or cast codes of Voteview.
        text_column: Names of the columns with the text of the bill, joined in this order.
        party_column: Name of the column with the legislator's party, used in pictures.
        texts: File with the texts of bills, for votes without texts; null: none.
        configuration: Name of the dataset's configuration, such as votes_new_bills; null: its first.
        max_words: Largest size of the vocabulary of bill texts; the words of most bills are kept.
        cut_outcomes: Whether bracketed parts of a bill's text that reveal the outcome of the vote are removed.
        positive: Name of the legislator whose ideal point is positive; null: the sign of ideal points means nothing.
    """

    legislator_column: str = "legislator"
    bill_column: str = "bill"
    vote_column: str = "vote"
    text_column: tuple[str, ...] = ("text",)
    party_column: str = "party"
    texts: str | None = None
    configuration: str | None = None
    max_words: int = number_field(MAX_WORDS, SIZE)
    cut_outcomes: bool = False  # of the published results
    positive: str | None = None

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        return "" if self.rows or self.configuration is None else self.configuration

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        return {**super().get_reported_values(), "texts": None if self.texts is None else strip_local_path(self.texts)}


@dataclass(frozen=True, kw_only=True)
class VoteObjective(ModelArgs):
    """What is trained, and the weights of what is minimized.

    Args:
        weight_lambda: Weight in the loss of the squared layer weights; nipen only.
        topic_lambda: Weight in the loss of the squared distance between a bill's topics and those read from its text;
            nipen only.
        ideal_lambda: Weight in the loss of the legislators' squared ideal points; nipen only.
        text_lambda: Weight in the loss of the reconstruction of bill texts; nipen only.
        trust_lambda: Weight in the loss of the squared trust between legislators; nipen only.
        vote_lambda: Weight in the loss of the bills' squared points; nipen only.
        scale_lambda: Weight in the loss of the squared distance of the scales of content and trust from 1; nipen only.
        tensor_lambda: Weight in the loss of the squared weights of the neural tensor network of topics; nipen only.
        delta_lambda: Weight in the loss of the bills' squared deviations from the parameters computed from their texts;
            nipen only.
        bias_lambda: Weight in the loss of the bills' squared biases; nipen only.
        ridge: Weight in the loss of the squared factors, points and layer weights; vote_baseline only.
        trust_ridge: Weight in the loss of the squared trust weights; vote_baseline only.
        text_weight: Weight in the loss of the squared reconstruction errors of bill texts; variant cdl of vote_baseline
            only.
        new_bill_rate: Fraction, 0 to 1, of a training batch's bills that are treated as new, with their text alone;
            nipen only.
        corruption_level: Fraction of the inputs that are set to 0 in training, as in a denoising autoencoder.
        dropout: Dropout rate behind the hidden layers.
    """

    weight_lambda: float | None = number_field(None, COUNT)
    topic_lambda: float | None = number_field(None, COUNT)
    ideal_lambda: float | None = number_field(None, COUNT)
    text_lambda: float | None = number_field(None, COUNT)
    trust_lambda: float | None = number_field(None, COUNT)
    vote_lambda: float | None = number_field(None, COUNT)
    scale_lambda: float | None = number_field(None, COUNT)
    tensor_lambda: float | None = number_field(None, COUNT)
    delta_lambda: float | None = number_field(None, COUNT)
    bias_lambda: float | None = number_field(None, COUNT)
    ridge: float | None = number_field(None, COUNT)
    trust_ridge: float | None = number_field(None, COUNT)
    text_weight: float | None = number_field(None, COUNT)
    new_bill_rate: float | None = number_field(None, Range(0, 1))
    corruption_level: float | None = number_field(None, FRACTION)
    dropout: float | None = number_field(None, FRACTION)


@dataclass(frozen=True, kw_only=True)
class VoteModel(VoteObjective):
    """What is trained.

    Args:
        num_topics: Number of topics, the dimension of an ideal point; nipen only.
        encoder_widths: Widths of the text autoencoder's layers between bag of words and topics; nipen only.
        trust_rank: Rank of the factorized trust weights; null: one weight for each pair of legislators; nipen only.
        amortized_bills: Whether a bill's parameters are computed from its text, so that new bills can be predicted;
            nipen only.
        factors: Dimension of an ideal point, latent factor or code; vote_baseline only.
        hidden_widths: Widths of the autoencoder's layers between input and code; vote_baseline only.
    """

    num_topics: int | None = number_field(None, SIZE)
    encoder_widths: tuple[int, ...] | None = number_field(None, SIZE)
    trust_rank: int | None = number_field(None, SIZE)
    amortized_bills: bool = False
    factors: int | None = number_field(None, SIZE)
    hidden_widths: tuple[int, ...] | None = number_field(None, SIZE)

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        changes = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in super().get_config_changes().items()
        }
        return {name: value for name, value in changes.items() if (name, value) != ("amortized_bills", False)}


@dataclass(frozen=True, kw_only=True)
class VoteOptimizer(OptimizerArgs):
    """How weights are changed.

    Args:
        text_learning_rate: Peak learning rate of the layers that read texts; null: that of all other weights.
    """

    text_learning_rate: float | None = number_field(None, POSITIVE)

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return the optimizer's arguments of the LightningModule for a training of this number of steps."""
        return {**super().get_module_arguments(steps), "text_learning_rate": self.text_learning_rate}


@dataclass(frozen=True, kw_only=True)
class VoteTrainer(TrainerArgs):
    """How long and how exactly.

    Args:
        min_steps: Least number of training steps on data of your own: where the usual 30 epochs would be fewer, there
            are more of them; 0: as epochs says.
    """

    min_steps: int = number_field(0, COUNT)


def get_dataset_arguments(name: str, configuration: str | None = None) -> dict[str, Any]:
    """Return the arguments for one of `VOTE_DATASETS`, or for any other Hub id, folder or file.

    Args:
        name: Short name of a known dataset, or any other Hub id, folder or file.
        configuration: Name of the dataset's configuration, for a dataset with several; None: its first.
    """
    known = VOTE_DATASETS.get(name, {"dataset": name, "configuration": None})
    return known if configuration is None else {**known, "configuration": configuration}


def set_variant(experiment: Experiment, architecture: str, variant: str, **fields: Any) -> Experiment:
    """Return a copy of the experiment with another variant, and its config fields where the user gave none.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        architecture, variant: Names of the architecture and of its variant, keys of `VARIANTS`.
        fields: Settings of the model that override those of the variant.

    Raises:
        ValueError: an unknown variant.
    """
    variants = VARIANTS[architecture]
    if variant not in variants:
        raise ValueError(f"models: unknown model {variant!r}; known: {', '.join(variants)}")
    own = experiment.model.values()
    chosen = {name: value for name, value in {**variants[variant], **fields}.items() if name in own}
    free = {name: value for name, value in chosen.items() if own[name] is None or own[name] is False}
    return experiment.copy_with(architecture=architecture, variant=variant, **free)


def build_base_experiment() -> Experiment:
    """Return the settings that the experiments of all models of votes begin with."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=VoteData(batch_size=256),
        model=VoteModel(architecture="", variant=""),
        optimizer=VoteOptimizer(learning_rate=4e-2, text_learning_rate=1e-3, decay=True),
        trainer=VoteTrainer(epochs=EPOCHS),
    )


def build_paper_experiment(architecture: str = "nipen", variant: str = "pgm_vae") -> Experiment:
    """Return the settings with the paper's loss weights; it gives no rates, batches or epochs: these are ours."""
    return set_variant(build_base_experiment().copy_with(cut_outcomes=True), architecture, variant)


# Fields beside those of a variant. The last two are those of the configuration: a search changes what is named.
DEFAULT_FIELDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "nipen": {
            **{"amortized_bills": True, "trust_lambda": 1000, "topic_lambda": 1, "num_topics": 10},
            **{"delta_lambda": 1, "ideal_lambda": 0.1},
        },
        "vote_baseline": {},
    }
)


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Parameters of bills follow from their texts, so that `ctxzoo predict` can read a new one. Few bills get as many
    steps as help them (docs/rows_sessions_votes.md).
    """
    usual = set_variant(build_base_experiment(), architecture, variant, **DEFAULT_FIELDS[architecture])
    return usual.copy_with(batch_size=128, cut_outcomes=True, learning_rate=2e-2, min_steps=MIN_STEPS)


SEARCH_SPACE: Space = {
    "batch_size": (32, 64, 128),
    "num_topics": (1, 3, 10),
    "trust_lambda": Between(300.0, 3000.0, log=True),
    "delta_lambda": Between(0.3, 10.0, log=True),
    "ideal_lambda": Between(0.1, 10.0, log=True),
}
