"""What models of sessions have in common: the table of items, and heads that score which item comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_session import SessionConfig
from .layers_session import ItemTable, mask_padding_item
from .modeling_base import ZooPreTrainedModel
from .ops_execution import in_evaluation_mode
from .ops_inputs import look_up_rows
from .ops_session import check_next_item_labels, next_item_loss

TOP = 10  # items that are recommended where nobody says how many


@dataclass
class NextItemOutput(ModelOutput):
    """The output of a head that scores the next item.

    Attributes:
        loss: Scalar in nats, when labels are given.
        logits: (B, num_items + 1) scores of the item after each session, or (B, T, num_items + 1) after each step; item
            0, padding, has the lowest finite number.
        hidden_states, attentions: Hidden states and attention weights of the base model, on request.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class SessionPreTrainedModel(ZooPreTrainedModel):
    """The base of models whose base model has an `ItemTable` named `items`."""

    config: SessionConfig
    main_input_name = "input_ids"

    def get_input_embeddings(self) -> ItemTable:
        """Return the table of items."""
        table: ItemTable = self.base_model.items
        return table

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Put another table of items in place."""
        self.base_model.items = value

    def project_parameters(self) -> None:
        """Put parameters back into their allowed range; training calls it after each optimizer step.

        Here: nothing to do.
        """


class NextItemPreTrainedModel(SessionPreTrainedModel):
    """The base of the heads that score which item comes next; a subclass says what `compute_logits` returns.

    Attributes:
        output_class: Class of the output of `forward`, with the fields of `NextItemOutput` and of `extra_outputs`.
    """

    zoo_task = "session-recommendation"
    output_class: ClassVar[type[ModelOutput]] = NextItemOutput

    def compute_logits(self, pooled: torch.Tensor) -> torch.Tensor:
        """Return the scores (..., num_items + 1) of all items from the `pooler_output` of the base model."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(pooled)")

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return the fields that only this head outputs, by name, from the output of the base model."""
        return {}

    def compute_divergence(self, outputs: Any) -> torch.Tensor | None:
        """Return a divergence to add to the loss of each prediction, of the shape of labels; None without one."""
        return None

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        every_position: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> Any:
        """Score the item after each session, or after each of its steps.

        Args:
            input_ids: (B, T) ids of items 1..num_items in order of time; 0 is padding, at any place.
            attention_mask: (B, T), 1 at items, 0 at padding; default: every id above 0 is an item.
            labels: (B,) the item after each session; with `every_position` (B, T) the item after each step, -100 where
                none counts; padding never does.
            every_position: Whether to score the item after each step, as if the session ended there.

        Returns:
            An `output_class`, or a tuple of its fields. The loss is the cross-entropy, plus what the model adds, the
            mean over the predictions that count.

        Raises:
            ValueError: labels that do not fit `every_position`, or that are no items; see also the base model.
        """
        if labels is not None and labels.dim() != (2 if every_position else 1):
            raise ValueError(
                f"labels of shape {tuple(labels.shape)} with every_position={every_position}: expected (batch, steps) "
                "with it, (batch,) without"
            )
        outputs = self.base_model(
            input_ids,
            attention_mask=attention_mask,
            every_position=every_position,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = mask_padding_item(
            self.compute_logits(outputs.pooler_output)
        )  # (B, num_items + 1), or (B, T, num_items + 1)
        loss = None
        if labels is not None:
            assert input_ids is not None  # the base model has refused it
            checked = check_next_item_labels(labels, attention_mask, input_ids, self.config.num_items)
            loss = next_item_loss(logits, checked, self.compute_divergence(outputs))
        output = self.output_class(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
            **self.extra_outputs(outputs),
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def encode_history(self, history: Sequence[str | int]) -> list[int]:
        """Return the `input_ids` of a session from the names that its items had in training; 10 and "10" are one.

        Raises:
            ValueError: no items, or one that the model does not know.
        """
        return [row + 1 for row in look_up_rows(history, self.config.get_row_names(), "item")]  # id 0 is padding

    def recommend(
        self, history: Sequence[str | int], k: int | None = None, *, only_new: bool = False
    ) -> list[tuple[str, float]]:
        """Return the k items that are likeliest to come after a history, the likeliest first.

        The model is in evaluation mode while it reads the last `max_history` items, as many as predictions of its
        training saw at most.

        Args:
            history: Names of items in order of time, one or more; the number 10 is the item "10". Items of a
                configuration without names are called "1" to `num_items`.
            k: Number of recommended items; default: 10, or all where there are fewer.
            only_new: Whether to leave out all items of the history.

        Returns:
            (name, probability) of each; probabilities are those among all items.

        Raises:
            ValueError: an empty history, an item that the model does not know, or a k that cannot be.
        """
        config, ids = self.config, self.encode_history(history)
        num_candidates = config.num_items - (len(set(ids)) if only_new else 0)
        if num_candidates == 0:
            raise ValueError(f"the history has all {config.num_items} items, so that only_new=True leaves none")
        k = min(TOP, num_candidates) if k is None else k
        if not 1 <= k <= num_candidates:
            raise ValueError(f"k={k}: expected 1 to {num_candidates}, the items that can be recommended")
        with in_evaluation_mode(self):
            input_ids = torch.tensor([ids[-config.max_history :]], device=self.device)  # (1, T)
            logits = self(input_ids=input_ids, return_dict=True).logits[0]
        probabilities = logits.softmax(dim=0)
        if only_new:
            probabilities[ids] = -1  # below all that are left, of which there are k or more
        likeliest = probabilities[1:].topk(k)  # without padding: place 0 is item 1
        items = likeliest.indices.tolist()
        return [
            (config.get_row_name(item + 1), value) for item, value in zip(items, likeliest.values.tolist(), strict=True)
        ]
