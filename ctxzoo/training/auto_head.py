"""`AutoHead`: what an Auto class of transformers is, for a problem for which transformers has none."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig

from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.registration import ARCHITECTURES, MODEL_TYPE_PREFIX


class AutoHead:
    """Finds the head of an architecture by the problem that it names.

    Args:
        task: the head's `zoo_task`.
    """

    def __init__(self, task: str) -> None:
        self.task = task

    def from_config(self, config: ZooConfig) -> ZooPreTrainedModel:
        """Return a new model.

        Raises:
            ValueError: no architecture of the zoo, or one without a head for the problem.
        """
        return self._head(config)(config)

    def from_pretrained(self, checkpoint: str, **options: Any) -> Any:
        """Return the model of a checkpoint folder or Hub id; options are those of `PreTrainedModel.from_pretrained`.

        Raises:
            OSError, ValueError: see there and `from_config`.
        """
        return self._head(AutoConfig.from_pretrained(checkpoint)).from_pretrained(checkpoint, **options)

    def _head(self, config: ZooConfig) -> type[ZooPreTrainedModel]:
        name = config.model_type.removeprefix(MODEL_TYPE_PREFIX)
        heads = ARCHITECTURES[name].model_classes.values() if name in ARCHITECTURES else ()
        found = next((head for head in heads if head.zoo_task == self.task), None)
        if found is None:
            raise ValueError(f"{config.model_type!r} has no head for {self.task}")
        return found
