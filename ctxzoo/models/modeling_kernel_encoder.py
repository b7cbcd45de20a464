"""The kernel encoder: attention as a kernel, with heads for texts, words, language and rows of numbers.

docs/models/kernel_encoder.md lists which function computes which equation, and the deviations.
"""

from typing import Any

import torch
from torch import nn

from .configuration_kernel_encoder import KernelEncoderConfig
from .layers_encoder import Attention
from .layers_kernel_encoder import RowContext, RowScaling, build_kernel_attention
from .modeling_encoder import EncoderPreTrainedModel
from .modeling_text_encoder import (
    TextEncoderForCausalLM,
    TextEncoderForSequenceClassification,
    TextEncoderForTokenClassification,
    TextEncoderModel,
    TextEncoderStepsPreTrainedModel,
)
from .ops_execution import in_evaluation_mode
from .ops_kernel_encoder import masked_squared_error
from .ops_kernel_encoder_intervals import find_half_width


class KernelEncoderPreTrainedModel(EncoderPreTrainedModel):
    """The base of the kernel encoders."""

    config: KernelEncoderConfig

    def compute_penalty(self, outputs: Any, num_targets: torch.Tensor | int) -> torch.Tensor | None:
        """Return the weighted divergence of learned kernels from their prior, see `EncoderPreTrainedModel`."""
        if outputs.kl is None or not self.config.kl_lambda:
            return None
        penalty: torch.Tensor = self.config.kl_lambda * outputs.kl.sum() / num_targets
        return penalty


class KernelEncoderModel(KernelEncoderPreTrainedModel, TextEncoderModel):
    """The kernel encoder without a head, over words or over rows of numbers."""

    @staticmethod
    def make_attention(config: Any, layer_index: int) -> Attention:
        """Return attention by a kernel for one layer."""
        return build_kernel_attention(config, layer_index)


class KernelEncoderForSequenceClassification(KernelEncoderPreTrainedModel, TextEncoderForSequenceClassification):
    """The kernel encoder as a classifier of texts."""

    encoder_class = KernelEncoderModel


class KernelEncoderForTokenClassification(KernelEncoderPreTrainedModel, TextEncoderForTokenClassification):
    """The kernel encoder as a tagger of words."""

    encoder_class = KernelEncoderModel


class KernelEncoderForCausalLM(KernelEncoderPreTrainedModel, TextEncoderForCausalLM):
    """The kernel encoder as a language model."""

    encoder_class = KernelEncoderModel


class KernelEncoderForRegression(KernelEncoderPreTrainedModel, TextEncoderStepsPreTrainedModel):
    """A regression of rows on each other: a number for each row.

    Labels are floats (B, n, 1), or (B, n), NaN where there is none; the loss is the mean squared error. Inputs and
    labels are scaled, as `scaling` says; `predict` does so itself.
    """

    _auto_class = "KernelEncoderForRegression"  # transformers has no Auto class for it; its code travels all the same
    encoder_class = KernelEncoderModel
    zoo_task = "regression"

    def __init__(self, config: KernelEncoderConfig) -> None:
        super().__init__(config)
        self.regressor = nn.Linear(config.hidden_size, 1)
        self.scaling = RowScaling(config.input_size, config.row_scaling)
        if config.row_scaling is not None:
            # The config has the same numbers, from which the module starts.
            self._keys_to_ignore_on_load_missing = (r"^scaling\.bits$",)
        self.context: RowContext | None = None
        if config.num_context_rows:
            self.context = RowContext(config.num_context_rows, config.input_size)
        self.post_init()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the predicted numbers of each step."""
        predicted: torch.Tensor = self.regressor(steps)
        return predicted

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean squared error, and how many numbers were predicted."""
        return masked_squared_error(logits, labels, mask)

    def predict(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the predictions for rows, in the unit of the target; the model is in evaluation mode meanwhile.

        The rows are read as one sequence, behind those of the training that the model keeps.

        Args:
            rows: (n, I) feature values of rows, in their original units.

        Returns:
            (n, 1) float32.

        Raises:
            ValueError: rows of another shape, or that are no finite numbers.
        """
        config = self.config
        if rows.dim() != 2 or rows.size(1) != config.input_size or rows.size(0) == 0:
            raise ValueError(
                f"rows of shape {tuple(rows.shape)}: expected (rows, {config.input_size}), one row or more"
            )
        if not bool(torch.isfinite(rows).all()):
            raise ValueError("rows hold a number that is missing or not finite; fill it in or leave the row out")
        x = self.scaling.scale_features(rows).to(self.device, self.dtype)  # (n, I)
        number = len(x)
        if self.context is not None:
            # Rows of the training first, so that the scores to keep are the last ones.
            x = torch.cat([self.context.rows.to(x.dtype), x])
        with in_evaluation_mode(self):
            logits = self(inputs_embeds=x.unsqueeze(0), logits_to_keep=number, return_dict=True).logits[0]
        return self.scaling.unscale_target(logits.float())  # (n, 1)

    def get_half_width(self, level: float) -> float:
        """Return by how much a prediction interval of `level` percent goes below and above what is predicted.

        It is the same for all rows: a quantile of the absolute errors on the validation rows of the training (split
        conformal prediction, see `find_half_width`). It covers `level` percent of new rows that are like those, on
        average over all of them, not within each kind of row.

        Raises:
            ValueError: a model without such errors, or a level that cannot be.
        """
        if self.config.interval_errors is None:
            raise ValueError(
                "this model keeps no errors on validation rows, from which intervals follow: it is of an earlier "
                "ctxzoo, or was trained without validation rows; train it again"
            )
        return find_half_width(self.config.interval_errors, level)
