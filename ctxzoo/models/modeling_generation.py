"""What language models have in common that stream: a state stands for all words before, and `generate` works."""

from typing import Any

import torch
from torch import nn
from transformers import GenerationMixin

from .modeling_base import ZooPreTrainedModel
from .ops_inputs import to_boolean_mask


class StreamingLanguageModel(ZooPreTrainedModel, GenerationMixin):
    """The base of language models whose scores of words are those of a layer `lm_head`.

    The state that `use_cache` returns is a tuple with tensors of each layer, the batch first; it stands for all words
    before. A step of `generate` reads one word.
    """

    zoo_task = "language-modelling"
    lm_head: nn.Linear

    def get_output_embeddings(self) -> nn.Linear:
        """Return the layer that scores the next word."""
        return self.lm_head

    def set_output_embeddings(self, value: nn.Linear) -> None:
        """Put another layer that scores the next word in place."""
        self.lm_head = value

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        """Tell transformers to make no cache of keys and values."""
        return False  # the state is not one of keys and values

    def prepare_inputs_for_generation(
        self,
        input_ids: torch.Tensor,
        state: Any = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the inputs of a step of `generate`: the whole prompt, then with the state the last word alone.

        Raises:
            ValueError: prompts with padding.
        """
        if attention_mask is not None and not bool(to_boolean_mask(attention_mask).all()):
            raise ValueError("generate() needs prompts of one length, without padding; give them one at a time")
        inputs = {"state": state, "use_cache": use_cache}
        if "logits_to_keep" in kwargs:
            inputs["logits_to_keep"] = kwargs["logits_to_keep"]
        if state is not None:
            return {"input_ids": input_ids[:, -1:], **inputs}  # (B, 1)
        if inputs_embeds is not None:
            return {"inputs_embeds": inputs_embeds, **inputs}
        return {"input_ids": input_ids, **inputs}

    def _reorder_cache(self, state: Any, beam_idx: torch.Tensor) -> Any:
        """Return the state with its rows in the order of `beam_idx`."""
        # Beams are rows, and the batch is first in every tensor.
        return tuple(tuple(each.index_select(0, beam_idx) for each in layer) for layer in state)
