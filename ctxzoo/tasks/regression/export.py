"""Regressions as exported programs, which scale rows and read those of the training that the model keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from ctxzoo.export.task_export import NotExportableError, TaskExport, Tensors


class RegressionExport(TaskExport):
    """Rows of features to their targets, all in the units of the data."""

    inputs = {"rows": "features of each row, in the order of `feature_names` in config.json"}  # noqa: RUF012
    outputs = {"target": "predicted target of each row, (length,), in its own unit"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.regression.export_example"

    def build_program(self, model: Any) -> nn.Module:
        if model.config.vocab_size:
            raise NotExportableError(
                "it predicts a number for each word, and programs are made of models of rows alone"
            )
        return _RowProgram(model)

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        offsets, scales = model.scaling.offsets_and_scales[:, :-1]
        scaled = torch.randn(max(lengths), len(offsets), generator=generator, dtype=torch.float64)
        return {"rows": (scaled * scales + offsets).float()}

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        kept = "behind those of the training that the program holds" if model.context is not None else "alone"
        yield (
            f"Rows are features in their own units. They are read as one sequence, {kept}: what is predicted for one "
            "depends a little on the others."
        )
        yield "Scaling is part of the program: what it gives is the target in its own unit."

    def decide(self, outputs: Tensors) -> None:
        return None


class _RowProgram(nn.Module):
    """What `predict` of a regression computes, without its checks: rows (n, I) to targets (n,)."""

    offsets_and_scales: torch.Tensor

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        # As numbers: ONNX cannot read the bits in which the model keeps them.
        self.register_buffer("offsets_and_scales", model.scaling.offsets_and_scales.clone())

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor]:
        """Return the predicted targets."""
        offsets, scales = self.offsets_and_scales  # (I + 1,) each
        x = ((rows.double() - offsets[:-1]) / scales[:-1]).to(self.model.dtype)
        context = self.model.context
        if context is not None:
            x = torch.cat([context.rows.to(x.dtype), x])
        logits = self.model(inputs_embeds=x.unsqueeze(0), return_dict=True).logits[0, :, 0]
        first = 0 if context is None else len(context.rows)
        return (logits[first:] * scales[-1].float() + offsets[-1].float(),)


EXPORT = RegressionExport()
