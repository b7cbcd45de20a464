"""`ZooPreTrainedModel`: complete weight initialisation, and the auto_map of every head in each saved checkpoint."""

from typing import Any, ClassVar

import torch
from torch import nn
from transformers import PreTrainedModel

from .configuration_base import ZooConfig


class ZooPreTrainedModel(PreTrainedModel):
    """Base of every model of the zoo.

    Initialisation: a module that has parameters or buffers of its own must fill all of them in `reset_parameters`, through
    `torch.nn.init` or `transformers.initialization`, which leave tensors alone that a checkpoint has already filled.
    """

    config: ZooConfig
    zoo_auto_map: ClassVar[dict[str, str]] = {}

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
        if reset is not None:
            reset()
        elif any(True for _ in module.parameters(recurse=False)) or any(True for _ in module.buffers(recurse=False)):
            raise NotImplementedError(f"{type(module).__name__} holds tensors but has no reset_parameters()")

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        """As in transformers; the saved config's auto_map names every head of the architecture, not just this one."""
        if self.zoo_auto_map:
            previous = getattr(self.config, "auto_map", None) or {}
            self.config.auto_map = {**previous, **self.zoo_auto_map}
        super().save_pretrained(save_directory, *args, **kwargs)
