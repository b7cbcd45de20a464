"""The trainings of models of votes: what may be set, the authors' settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.results.environment import public_name
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number

PROBLEM = "vote-prediction"
MAX_WORDS = 10_000
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
        legislator_column: Column of a table of votes that says who votes.
        bill_column: Column that says on what.
        vote_column: Column of yeas and nays, in words, as 1 or 0, or as cast codes of Voteview.
        text_column: Column of what the bill says, or several, read one after another.
        party_column: Column of the legislator's party, for pictures.
        texts: File of bills and their texts, where the votes have none.
        configuration: Configuration of a dataset with several, such as votes_new_bills.
        max_words: Words of texts that are read at most: those that stand in most bills.
        cut_outcomes: Whether parts of texts in brackets that tell how a vote ended are cut out.
    """

    legislator_column: str = "legislator"
    bill_column: str = "bill"
    vote_column: str = "vote"
    text_column: tuple[str, ...] = ("text",)
    party_column: str = "party"
    texts: str | None = None
    configuration: str | None = None
    max_words: int = number(MAX_WORDS, SIZE)
    cut_outcomes: bool = False  # of the published results

    @property
    def part(self) -> str:
        return "" if self.rows or self.configuration is None else self.configuration

    def report(self) -> dict[str, Any]:
        return {**super().report(), "texts": None if self.texts is None else public_name(self.texts)}


@dataclass(frozen=True, kw_only=True)
class VoteObjective(ModelArgs):
    """What is trained, and the weights of what is minimized.

    Args:
        weight_lambda: Weight of the squares of layers, of nipen.
        topic_lambda: Weight of the distance of a bill's topics from those of its text.
        ideal_lambda: Weight of the squares of ideal points.
        text_lambda: Weight of the reading of texts.
        trust_lambda: Weight of the squares of trust.
        vote_lambda: Weight of the squares of the bills' points.
        scale_lambda: Weight of the distance of the scales of content and trust from 1.
        tensor_lambda: Weight of the squares of the small network of topics.
        delta_lambda: Weight of the deviations of amortised bills.
        bias_lambda: Weight of the squares of the bills' biases.
        ridge: Weight of the squares of factors, points and layers, of vote_baseline.
        trust_ridge: Weight of the squares of trust.
        text_weight: Weight of the squared errors of texts, of cdl.
        new_bill_rate: Fraction of the bills of a batch that are read as new ones.
        corruption_level: Fraction of the inputs that are 0 in training.
        dropout: Dropout behind layers.
    """

    weight_lambda: float | None = number(None, COUNT)
    topic_lambda: float | None = number(None, COUNT)
    ideal_lambda: float | None = number(None, COUNT)
    text_lambda: float | None = number(None, COUNT)
    trust_lambda: float | None = number(None, COUNT)
    vote_lambda: float | None = number(None, COUNT)
    scale_lambda: float | None = number(None, COUNT)
    tensor_lambda: float | None = number(None, COUNT)
    delta_lambda: float | None = number(None, COUNT)
    bias_lambda: float | None = number(None, COUNT)
    ridge: float | None = number(None, COUNT)
    trust_ridge: float | None = number(None, COUNT)
    text_weight: float | None = number(None, COUNT)
    new_bill_rate: float | None = number(None, Range(0, 1))
    corruption_level: float | None = number(None, FRACTION)
    dropout: float | None = number(None, FRACTION)


@dataclass(frozen=True, kw_only=True)
class VoteModel(VoteObjective):
    """What is trained.

    Args:
        num_topics: Topics of an ideal point, of nipen.
        encoder_widths: Widths of the layers between words and topics.
        trust_rank: Rank of the trust weights; null: a number for each pair of legislators.
        amortized_bills: Whether the parameters of bills follow from their texts, so that a bill can be new.
        factors: Numbers of a point, factor or code, of vote_baseline.
        hidden_widths: Widths of the layers between input and code.
    """

    num_topics: int | None = number(None, SIZE)
    encoder_widths: tuple[int, ...] | None = number(None, SIZE)
    trust_rank: int | None = number(None, SIZE)
    amortized_bills: bool = False
    factors: int | None = number(None, SIZE)
    hidden_widths: tuple[int, ...] | None = number(None, SIZE)

    def config(self) -> dict[str, Any]:
        """Return the fields of a configuration that differ from it; bills that are not amortised are its default."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in super().config().items()}
        return {name: value for name, value in found.items() if (name, value) != ("amortized_bills", False)}


@dataclass(frozen=True, kw_only=True)
class VoteOptimizer(OptimizerArgs):
    """How weights are changed.

    Args:
        text_learning_rate: Peak learning rate of what reads texts; null: that of the others.
    """

    text_learning_rate: float | None = number(None, POSITIVE)

    def arguments(self, steps: int) -> dict[str, Any]:
        return {**super().arguments(steps), "text_learning_rate": self.text_learning_rate}


def vote_dataset(name: str, configuration: str | None = None) -> dict[str, Any]:
    """Return the arguments for one of `VOTE_DATASETS`, or for any other Hub id, folder or file.

    Args:
        name: Short name of a known dataset, or any other Hub id, folder or file.
        configuration: Configuration of another dataset with several.
    """
    known = VOTE_DATASETS.get(name, {"dataset": name, "configuration": None})
    return known if configuration is None else {**known, "configuration": configuration}


def with_fields(experiment: Experiment, architecture: str, variant: str, **fields: Any) -> Experiment:
    """Return the experiment with a variant, and with those fields of its configuration that are not given.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        architecture, variant: Names in `VARIANTS`.
        fields: Further fields, in place of those of the variant.

    Raises:
        ValueError: an unknown variant.
    """
    variants = VARIANTS[architecture]
    if variant not in variants:
        raise ValueError(f"models: unknown model {variant!r}; known: {', '.join(variants)}")
    own = experiment.model.values()
    chosen = {name: value for name, value in {**variants[variant], **fields}.items() if name in own}
    free = {name: value for name, value in chosen.items() if own[name] is None or own[name] is False}
    return experiment.changed(architecture=architecture, variant=variant, **free)


def common() -> Experiment:
    """Return what the settings of all models have in common; none is named yet."""
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=VoteData(batch_size=256),
        model=VoteModel(architecture="", variant=""),
        optimizer=VoteOptimizer(learning_rate=4e-2, text_learning_rate=1e-3, decay=True),
        trainer=TrainerArgs(epochs=30),
    )


def paper(architecture: str = "nipen", variant: str = "pgm_vae") -> Experiment:
    """Return the published weights of the objective; rates, batches and the length of training are ours."""
    return with_fields(common().changed(cut_outcomes=True), architecture, variant)


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


def default(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Parameters of bills follow from their texts, so that `ctxzoo predict` can read a new one.
    """
    usual = with_fields(common(), architecture, variant, **DEFAULT_FIELDS[architecture])
    return usual.changed(batch_size=128, cut_outcomes=True, learning_rate=2e-2)


SEARCH_SPACE: Space = {
    "batch_size": (32, 64, 128),
    "num_topics": (1, 3, 10),
    "trust_lambda": Between(300.0, 3000.0, log=True),
    "delta_lambda": Between(0.3, 10.0, log=True),
    "ideal_lambda": Between(0.1, 10.0, log=True),
}
