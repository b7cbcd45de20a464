"""Word vectors drawn from a uniform distribution: trained, or fixed by a seed, with the same bits on every machine."""

import torch
from torch import nn
from transformers import initialization as init

_ROUNDS = ((16, 0x7FEB352D), (15, 0x846CA68B))  # shifts and factors of the hash function "lowbias32"
_COLUMNS = 0x9E3779B9
_MASK = 0xFFFFFFFF


class RandomEmbedding(nn.Embedding):
    """A table of word vectors drawn from U(-bound, bound); row 0 (padding) is zero.

    Args:
        vocab_size, width: size of the table.
        trainable: whether the rows are trained.
        bound: bound of the distribution.
        seed: seed of a table that is not trained: the table is a function of this number alone (`seeded_uniform`), and
            checkpoints do not hold it. None draws the table as other weights are drawn.
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


def _mix(values: torch.Tensor) -> torch.Tensor:
    """Map 32-bit integers, held in int64, one to one, so that neighbours are spread over the whole range."""
    for shift, factor in _ROUNDS:
        values = ((values ^ (values >> shift)) * factor) & _MASK
    return values ^ (values >> 16)


def seeded_uniform(rows: int, columns: int, seed: int, *, device: torch.device | None = None) -> torch.Tensor:
    """Return a (rows, columns) table of float32 numbers in [-1, 1), multiples of 2^-23.

    Entry (r, c) depends on seed, r and c only. The arithmetic is that of integers, so nothing is rounded and every
    machine gives the same bits; torch's own generators promise that for one release on one kind of device.
    """
    start = _mix(torch.tensor(seed & _MASK, dtype=torch.int64, device=device))
    row_keys = _mix(torch.arange(rows, dtype=torch.int64, device=device) ^ start)
    # Columns start from another number than rows: otherwise the diagonal would be constant.
    column_keys = _mix((torch.arange(columns, dtype=torch.int64, device=device) + _COLUMNS) & _MASK)
    bits = _mix(row_keys.unsqueeze(1) ^ column_keys) >> 8  # 24 bits
    return bits.to(torch.float32) * 2.0**-23 - 1.0
