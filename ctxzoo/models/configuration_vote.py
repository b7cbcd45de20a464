"""What the configurations of models that predict votes have in common."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE, ZooConfig


@strict
class VoteConfig(ZooConfig):
    """The base of the configurations of models that predict how each legislator votes on a bill.

    Args:
        num_legislators: Number of legislators U.
        num_bills: Number D of bills with training votes; their ids are 0..num_bills - 1.
        vocab_size: Size V of the vocabulary of the bills' texts.
        legislator_names: Names of the legislators 0..U - 1 in this order; None: "0", "1" and so on.
        legislator_groups: Party, or other group, of each legislator, for pictures; models do not read it.
        bill_names: Names of the bills 0..D - 1 in this order; None: "0", "1" and so on.
        words: Lower-case words that the V entries of a bag of words count; None: the model reads bags of words but no
            texts.
        cut_outcomes: Whether bracketed parts of a text that tell how a vote ended are removed before words are counted
            (`remove_outcomes`). Checkpoints from before November 2026 were trained without that.
        ideal_points: Ideal point of each legislator on the main axis, scaled to mean 0 and deviation 1; None: not kept.
        ideal_point_errors: Standard error of each of them; None: not known.
    """

    largest = MappingProxyType(
        dict.fromkeys(("num_legislators", "num_bills", "ideal_points", "ideal_point_errors"), LARGEST_TABLE)
    )
    nominal_sizes = MappingProxyType({"num_legislators": 244, "num_bills": 7554, "vocab_size": 2000})
    former_fields = MappingProxyType({"bow_transform": "log1p"})

    num_legislators: int = 244
    num_bills: int = 7554
    vocab_size: int = 2000
    legislator_names: list[str] | None = None
    legislator_groups: list[str] | None = None
    bill_names: list[str] | None = None
    words: list[str] | None = None
    cut_outcomes: bool = False
    ideal_points: list[float] | None = None
    ideal_point_errors: list[float] | None = None

    def validate_votes(self) -> None:
        """Check that all sizes are at least 1, and that names are as many as what they name, and differ.

        Raises:
            ValueError: a size below 1, another number of names, or a name that two have.
        """
        self.check_at_least_one("num_legislators", "num_bills", "vocab_size")
        sizes = {
            "legislator_names": "num_legislators",
            "legislator_groups": "num_legislators",
            "ideal_points": "num_legislators",
            "ideal_point_errors": "num_legislators",
            "bill_names": "num_bills",
            "words": "vocab_size",
        }
        named = ("legislator_names", "bill_names", "words")
        for field, size in sizes.items():
            number = getattr(self, size)
            self.check_names(field, f"{size} is {number}", number, unique=field in named)

    def get_bill_names(self) -> list[str]:
        """Return the names of the bills 0..num_bills - 1."""
        return self.bill_names or [str(bill) for bill in range(self.num_bills)]

    def get_legislator_name(self, row: int) -> str:
        """Return the name of the legislator in row 0..num_legislators - 1 of the table."""
        return str(row) if self.legislator_names is None else self.legislator_names[row]
