"""What the configurations of models that read sessions of items have in common."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE, ZooConfig


@strict
class SessionConfig(ZooConfig):
    """The base of the configurations of models that read sessions and score which item comes next.

    Args:
        num_items: Number of items; their ids are 1..num_items, and 0 is padding.
        item_names: Names of the items 1..num_items in this order; None: "1", "2" and so on.
        embedding_size: Width E of an item vector.
        hidden_size: Number H of units of the state.
        embedding_dropout: Dropout rate on item vectors.
        pooled_dropout: Dropout rate on the vector from which the items' scores are computed.
        max_history: Largest number of last items of a session that a recommendation reads, as many as in training.
        item_counts: How often each item stands in the training, in the order of the ids; what is popular is recommended
            where nothing of a session is known. None: not known.
        num_sampled: Number of items that stand for all others in the training loss (sampled softmax); 0: all items.
    """

    largest = MappingProxyType(dict.fromkeys(("num_items", "item_counts"), LARGEST_TABLE))
    nominal_sizes = MappingProxyType({"num_items": 1980})

    num_items: int = 1980
    item_names: list[str] | None = None
    embedding_size: int = 100
    hidden_size: int = 100
    embedding_dropout: float | int = 0.25
    pooled_dropout: float | int = 0.5
    max_history: int = 100
    item_counts: list[int] | None = None
    num_sampled: int = 0
    pad_token_id: int = 0

    def validate_items(self) -> None:
        """Check that every item has one name of its own, where they have names.

        Raises:
            ValueError: no items, another number of names or counts, an empty name, or one that two items have; counts
                below 0, or of which none is above it; a negative number of sampled items.
        """
        self.check_at_least_one("num_items")
        if self.item_names is not None and "" in self.item_names:
            raise ValueError(f"item_names: item {self.item_names.index('') + 1} has an empty name")
        self.check_names("item_names", f"num_items is {self.num_items}", self.num_items)
        self.check_not_negative("num_sampled")
        counts = self.item_counts
        if counts is not None and (len(counts) != self.num_items or min(counts) < 0 or not any(counts)):
            raise ValueError(
                f"item_counts has {len(counts)} numbers: expected {self.num_items} of 0 or more, some of them above 0"
            )

    def validate_sizes(self) -> None:
        """Check that both widths and the longest history are at least 1."""
        self.check_at_least_one("embedding_size", "hidden_size", "max_history")

    def validate_rates(self) -> None:
        """Check the dropout rates of the embeddings and the pooled vector."""
        self.check_dropout_rates("embedding_dropout", "pooled_dropout")

    def get_row_names(self) -> list[str]:
        """Return the names of the items 1..num_items."""
        return self.item_names or [str(item) for item in range(1, self.num_items + 1)]

    def get_row_name(self, row: int) -> str:
        """Return the name of the item in row 1..num_items of the table."""
        return str(row) if self.item_names is None else self.item_names[row - 1]
