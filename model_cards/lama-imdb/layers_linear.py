"""Linear layers: one that starts small and normal (Mehta et al. 2019), and classifiers of the vector of a text."""

import torch
from torch import nn
from transformers import initialization as init

from .ops_dropout import dropout

DEVIATION = 0.1


class NormalLinear(nn.Linear):
    """A linear layer whose weights and bias start from N(0, 0.1^2)."""

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=DEVIATION)
        if self.bias is not None:
            init.normal_(self.bias, std=DEVIATION)


class MlpClassifier(nn.Module):
    """A classifier with one hidden layer: scores = W_2 dropout(relu(W_1 x + b_1)) + b_2.

    Args:
        input_size: d.
        hidden_size: rows of W_1.
        num_labels: L.
        rate: rate of dropout.
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


def text_classifier(input_size: int, hidden_size: int, num_labels: int, rate: float) -> nn.Module:
    """Return an `MlpClassifier`, or, with a `hidden_size` of 0, a linear layer."""
    if hidden_size == 0:
        return nn.Linear(input_size, num_labels)
    return MlpClassifier(input_size, hidden_size, num_labels, rate)
