"""Linear layers: how they start, and classifiers of the vector of a text."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from transformers import initialization as init

from .ops_execution import dropout

DEVIATION = 0.1


Fill = Callable[[torch.Tensor], Any]


def make_linear(
    in_features: int, out_features: int, fill_weight: Fill, fill_bias: Fill = init.zeros_, *, bias: bool = True
) -> nn.Linear:
    """Return a linear layer with its own initialisation, used now and when a model's weights are initialised.

    It is an `nn.Linear` and no subclass, which torch's dynamic quantisation would pass over.

    Args:
        in_features, out_features: Size of the input and of the output.
        fill_weight, fill_bias: Functions that fill a parameter in place, by `transformers.initialization`; default for
            the bias: zeros.
        bias: Whether the layer has a bias; default: True.
    """
    # Made on the meta device, as nn.Linear would draw a start of its own.
    layer: Any = nn.Linear(in_features, out_features, bias=bias, device="meta")
    layer = layer.to_empty(device=torch.get_default_device())
    # Kept with the layer, so that its weights can be started again.
    layer.start = partial(_init_linear, fill_weight=fill_weight, fill_bias=fill_bias)
    layer.start(layer)
    made: nn.Linear = layer
    return made


def _init_linear(layer: nn.Linear, fill_weight: Fill, fill_bias: Fill) -> None:
    """Fill the weight and, if there is one, the bias of a linear layer."""
    fill_weight(layer.weight)
    if layer.bias is not None:
        fill_bias(layer.bias)


def get_linear_weight(layer: Any) -> torch.Tensor:
    """Return the weight (out, in) of a linear layer, also of one that torch has quantised, which packs it."""
    weight: torch.Tensor = layer.weight if isinstance(layer.weight, torch.Tensor) else layer.weight().dequantize()
    return weight


def normal_linear(in_features: int, out_features: int, bias: bool = True) -> nn.Linear:
    """Return a linear layer whose weights and bias start from N(0, 0.1^2) (Mehta et al. 2019)."""
    fill = partial(init.normal_, std=DEVIATION)
    return make_linear(in_features, out_features, fill, fill, bias=bias)


class MlpClassifier(nn.Module):
    """A classifier with one hidden layer: scores = W_2 dropout(relu(W_1 x + b_1)) + b_2.

    Args:
        input_size: Number d of input features.
        hidden_size: Number of hidden units, rows of W_1.
        num_labels: Number L of classes.
        rate: Dropout rate on the hidden layer in training, from 0 to 1.
    """

    def __init__(self, input_size: int, hidden_size: int, num_labels: int, rate: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(input_size, hidden_size)
        self.output = nn.Linear(hidden_size, num_labels)
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, L) of the classes from x (B, d)."""
        hidden = torch.relu(self.hidden(x))
        scores: torch.Tensor = self.output(dropout(hidden, self.rate, training=self.training))
        return scores


def build_text_classifier(input_size: int, hidden_size: int, num_labels: int, rate: float) -> nn.Module:
    """Return an `MlpClassifier`, or, with a `hidden_size` of 0, a linear layer."""
    if hidden_size == 0:
        return nn.Linear(input_size, num_labels)
    return MlpClassifier(input_size, hidden_size, num_labels, rate)
