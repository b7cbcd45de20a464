"""A linear layer that starts small and normal, as Mehta et al. (2019) have it."""

from torch import nn
from transformers import initialization as init

DEVIATION = 0.1


class NormalLinear(nn.Linear):
    """A linear layer that starts from N(0, 0.1^2), its bias too."""

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=DEVIATION)
        if self.bias is not None:
            init.normal_(self.bias, std=DEVIATION)
