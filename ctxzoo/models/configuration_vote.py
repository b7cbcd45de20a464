"""What the configurations of models that predict votes have in common."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from .configuration_base import ZooConfig


@strict
class VoteConfig(ZooConfig):
    """The base of the configurations of models that predict how each legislator votes on a bill.

    Args:
        num_legislators: Number of legislators U.
        num_bills: D, bills with votes to train on; their ids are 0..num_bills - 1.
        vocab_size: V, words of the texts of bills.
        legislator_names: The names of the legislators 0..U - 1, in this order; None: they are called "0", "1", ...
        legislator_groups: The party, or the like, of each legislator, for pictures; no model reads it.
        bill_names: The names of the bills 0..D - 1, in this order; None: they are called "0", "1", ...
        words: Words that the entries of a bag of words stand for, in small letters; None: texts cannot be read, bags of
            words can.
        cut_outcomes: Whether parts of a text in brackets that tell how a vote ended are cut out before words are
            counted (`without_outcomes`). Checkpoints of before November 2026 were trained without that.
    """

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

    def validate_votes(self) -> None:
        """Check that there is something of everything, and that names are as many as what they name, and differ.

        Raises:
            ValueError: a size below 1, another number of names, or a name that two have.
        """
        self.check_counts("num_legislators", "num_bills", "vocab_size")
        sizes = {
            "legislator_names": "num_legislators",
            "legislator_groups": "num_legislators",
            "bill_names": "num_bills",
            "words": "vocab_size",
        }
        for field, size in sizes.items():
            number = getattr(self, size)
            self.check_names(field, f"{size} is {number}", number, differ=field != "legislator_groups")

    def names_of_bills(self) -> list[str]:
        """Return the names of the bills 0..num_bills - 1."""
        return self.bill_names or [str(bill) for bill in range(self.num_bills)]

    def name_of(self, row: int) -> str:
        """Return the name of the legislator in row 0..num_legislators - 1 of the table."""
        return str(row) if self.legislator_names is None else self.legislator_names[row]
