"""Word vectors drawn from a uniform distribution: trained, or fixed by a seed."""

import torch
from torch import nn
from transformers import initialization as init

from .ops_seeded_uniform import seeded_uniform


class RandomEmbedding(nn.Embedding):
    """Rows from U(-bound, bound); row 0 (padding) is zero.

    Args:
        vocab_size, width: size of the table.
        trainable: whether the rows are trained.
        bound: of the distribution.
        seed: of a table that is not trained: it is a function of this number alone (`seeded_uniform`), and checkpoints
            do not hold it. None draws the table as other weights are drawn.
    """

    def __init__(
        self, vocab_size: int, width: int, *, trainable: bool, bound: float = 1.0, seed: int | None = None
    ) -> None:
        self.bound = bound
        self.seed = None if trainable else seed
        super().__init__(vocab_size, width, padding_idx=0)
        self.weight.requires_grad_(trainable)

    @property
    def follows_from_config(self) -> bool:
        """Whether the table is left out of checkpoints (`ZooPreTrainedModel.post_init`)."""
        return self.seed is not None

    def reset_parameters(self) -> None:
        if self.weight.is_meta:
            return
        if self.seed is None:
            init.uniform_(self.weight, -self.bound, self.bound)
        else:
            cpu = torch.device("cpu")
            drawn = seeded_uniform(self.num_embeddings, self.embedding_dim, self.seed, device=cpu)
            init.copy_(self.weight, self.bound * drawn)
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[0].zero_()
