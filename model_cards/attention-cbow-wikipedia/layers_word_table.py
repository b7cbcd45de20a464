"""Tables with a row for each word, of which special tokens have none."""

import torch
from torch import nn
from transformers import initialization as init


class WordTable(nn.Embedding):
    """Rows from U(-bound, bound); the first rows, of special tokens, are 0, and nothing reads them.

    Args:
        vocab_size, width: size of the table.
        num_special_tokens: rows that are 0.
        bound: of the distribution; 0: the table starts at 0.
    """

    def __init__(self, vocab_size: int, width: int, num_special_tokens: int, bound: float) -> None:
        self.num_special_tokens = num_special_tokens
        self.bound = bound
        super().__init__(vocab_size, width)

    def reset_parameters(self) -> None:
        init.uniform_(self.weight, -self.bound, self.bound)
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[: self.num_special_tokens].zero_()
