"""Constraints on parameters that optimizers do not know, for transformers' Trainer."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback


class ProjectParameters(TrainerCallback):
    """Has a model put its parameters back behind each step of the optimizer: `model.project_parameters()`.

    `Trainer(model, ..., callbacks=[ProjectParameters()])`
    """

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Let the model bring its parameters back into their allowed ranges."""
        kwargs["model"].project_parameters()
