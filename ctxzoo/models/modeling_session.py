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
from .ops_inputs import format_name, look_up_rows, number_names
from .ops_session import (
    accumulate_item_weights,
    check_next_item_labels,
    draw_items,
    next_item_loss,
    sampled_next_item_loss,
)
from .ops_words import IGNORED

TOP = 10  # items that are recommended where nobody says how many
TOGETHER = 64  # sessions that are read at once


@dataclass
class NextItemOutput(ModelOutput):
    """The output of a head that scores the next item.

    Attributes:
        loss: Scalar in nats, when labels are given.
        logits: (B, num_items + 1) scores of the item after each session, or (B, T, num_items + 1) after each step; item
            0, padding, has the lowest finite number. None in a training step whose loss is of sampled items.
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
    # What follows from the names and counts of the config, made once: of a million items it takes a second.
    _ids_of_names: tuple[list[str] | None, dict[str, int]] | None = None
    _weight_sums: torch.Tensor | None = None

    def compute_logits(self, pooled: torch.Tensor, items: torch.Tensor | None = None) -> torch.Tensor:
        """Return the scores (..., num_items + 1) of all items from the `pooler_output` of the base model; or (..., S)
        of the `items` (S,) alone.
        """
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(pooled, items)")

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
        logits, loss, checked = None, None, None
        if labels is not None:
            assert input_ids is not None  # the base model has refused it
            checked = check_next_item_labels(labels, attention_mask, input_ids, self.config.num_items)
        if checked is not None and self.training and 0 < self.config.num_sampled < self.config.num_items:
            loss = self._compute_sampled_loss(outputs, checked)
        else:
            # (B, num_items + 1), or (B, T, num_items + 1)
            logits = mask_padding_item(self.compute_logits(outputs.pooler_output))
            if checked is not None:
                loss = next_item_loss(logits, checked, self.compute_divergence(outputs))
        output = self.output_class(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
            **self.extra_outputs(outputs),
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _compute_sampled_loss(self, outputs: Any, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of labels, checked, against a sample of `num_sampled` items in the place of all."""
        config, counts = self.config, labels != IGNORED
        if self._weight_sums is None or self._weight_sums.device != labels.device:
            self._weight_sums = accumulate_item_weights(config.item_counts, config.num_items).to(labels.device)
        drawn = draw_items(self._weight_sums, config.num_sampled)
        samples, targets = drawn[0].long(), labels[counts]  # (S,), (n,)
        # Targets and samples are scored at once, so that dropout is the same: each prediction reads its own column.
        distinct, places = torch.unique(torch.cat([samples, targets]), return_inverse=True)
        scores = self.compute_logits(outputs.pooler_output[counts], distinct)  # (n, targets and samples)
        of_samples, of_targets = places.split([len(samples), len(targets)])
        target_scores = scores.gather(1, of_targets.unsqueeze(1)).squeeze(1)
        divergence = self.compute_divergence(outputs)
        return sampled_next_item_loss(
            target_scores,
            scores.index_select(1, of_samples),
            targets,
            samples,
            drawn[1],
            None if divergence is None else divergence[counts],
        )

    def encode_history(self, history: Sequence[str | int]) -> list[int]:
        """Return the `input_ids` of a session from the names that its items had in training; 10 and "10" are one.

        Raises:
            ValueError: no items, or one that the model does not know.
        """
        return look_up_rows(history, self._number_items(), "item")

    def _number_items(self) -> dict[str, int]:
        """Return the id of each item by its name, from 1: id 0 is padding."""
        names = self.config.item_names
        if self._ids_of_names is None or self._ids_of_names[0] is not names:
            self._ids_of_names = names, number_names(self.config.get_row_names(), start=1)
        return self._ids_of_names[1]

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
        ids = self.encode_history(history)
        num_candidates = self.config.num_items - (len(set(ids)) if only_new else 0)
        if num_candidates == 0:
            raise ValueError(f"the history has all {self.config.num_items} items, so that only_new=True leaves none")
        if k is not None and not 1 <= k <= num_candidates:
            raise ValueError(f"k={k}: expected 1 to {num_candidates}, the items that can be recommended")
        return self.recommend_batch([history], k, only_new=only_new)[0]

    def recommend_batch(
        self,
        histories: Sequence[Sequence[str | int]],
        k: int | None = None,
        *,
        only_new: bool = False,
        batch_size: int = TOGETHER,
    ) -> list[list[tuple[str, float]]]:
        """Return the k items that are likeliest to come after each of many histories; see `recommend`.

        For an empty history these are the items that are most frequent in the training, with their shares of it.

        Args:
            histories: Histories as `recommend` takes them, or empty ones.
            k: Number of recommended items, of which a history with fewer candidates has fewer; default: 10.
            only_new: Whether to leave out all items of the history; nothing is left of one that has all items.
            batch_size: Number of histories that are read at once; those of one length stand together.

        Returns:
            For each history (name, probability) of each recommended item, the likeliest first.

        Raises:
            ValueError: an unknown item; an empty history and a config without `item_counts`; a k that cannot be.
        """
        config = self.config
        if k is not None and not 1 <= k <= config.num_items:
            raise ValueError(f"k={k}: expected 1 to {config.num_items}, the items that can be recommended")
        numbers = self._number_items()
        rows = [[numbers.get(format_name(name, "item"), 0) for name in history] for history in histories]
        for history, row in zip(histories, rows, strict=True):
            if 0 in row:
                self.encode_history(history)  # which says what is unknown
        if config.item_counts is None and not all(rows):
            raise ValueError(
                f"history {rows.index([])} is empty, and this model does not know what is popular: it is of an earlier "
                "ctxzoo; leave the history out, or train the model again"
            )
        found: list[list[tuple[str, float]]] = [[] for _ in rows]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        for begin in range(0, len(order), batch_size):
            places = order[begin : begin + batch_size]
            together = self._compute_probabilities([rows[place] for place in places])
            for place, probabilities in zip(places, together, strict=True):
                ids = rows[place]
                number = min(TOP if k is None else k, config.num_items - (len(set(ids)) if only_new else 0))
                if only_new:
                    probabilities[ids] = -1  # below all that are left, of which there are `number` or more
                likeliest = probabilities[1:].topk(number)  # without padding: place 0 is item 1
                names = [config.get_row_name(item + 1) for item in likeliest.indices.tolist()]
                found[place] = list(zip(names, likeliest.values.tolist(), strict=True))
        return found

    def _compute_probabilities(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the probability (n, num_items + 1) of each item behind n histories of ids; of an empty one its share
        in the training.
        """
        config = self.config
        longest = max(1, min(config.max_history, max(map(len, rows))))
        input_ids = torch.zeros(len(rows), longest, dtype=torch.int64)
        for number, ids in enumerate(rows):
            input_ids[number, : len(ids[-longest:])] = torch.tensor(ids[-longest:], dtype=torch.int64)
        with in_evaluation_mode(self):
            logits = self(input_ids=input_ids.to(self.device), return_dict=True).logits
        probabilities: torch.Tensor = logits.softmax(dim=1)
        empty = torch.tensor([not ids for ids in rows], device=probabilities.device)
        if config.item_counts is not None and bool(empty.any()):
            counts = torch.tensor([0, *config.item_counts], dtype=torch.float64)
            probabilities[empty] = (counts / counts.sum()).to(probabilities)
        return probabilities
