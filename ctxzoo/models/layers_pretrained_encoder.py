"""An encoder of transformers in the place of a table of word vectors: its states, joined to words."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import AutoModel

from .ops_subwords import MOST_SUBWORDS, arrange_subwords, check_subword_ids

MOST_KEPT = 2**28  # numbers in states that are kept in training; 1 GiB in single precision
ENCODER_WEIGHTS = ".words.encoder."  # part of the names of an encoder's weights in a model


class EncoderWords(nn.Module):
    """Vectors of words: the mean of an encoder's last states over the sub-words of each word.

    Of words with more than `MOST_SUBWORDS` sub-words the first are read. A text that is longer than the encoder's
    positions is read in several parts, which do not see each other (`arrange_subwords`).

    In training on a CPU the states of a frozen encoder are computed once for each text, by itself, and kept for later
    epochs, up to `MOST_KEPT` numbers; what is beyond is computed again.

    Args:
        config: Configuration of the encoder, with `cls_token_id`, `sep_token_id` and `pad_token_id`.
        num_words: Number of ids that stand for words.
        trainable: Whether training changes the encoder; otherwise it is always in evaluation mode, without gradient.

    Raises:
        ValueError: a configuration that no encoder has; an encoder with too few positions for one word.

    Attributes:
        loaded_from: Folder or Hub id from which the weights of the encoder were read; None: none, or those of a model.
    """

    def __init__(self, config: Any, num_words: int, *, trainable: bool) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_words, config.hidden_size
        self.trainable = trainable
        self.loaded_from: str | None = None
        self._kept: dict[Any, torch.Tensor] = {}
        self._num_kept = 0
        try:
            self.encoder = AutoModel.from_config(config)
        except (AssertionError, AttributeError, TypeError, ZeroDivisionError) as error:
            raise ValueError(
                f"no encoder has the encoder_config of the model ({error}); expected one as saved"
            ) from error
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None  # it reads the first state alone, which no word has
        self.encoder.requires_grad_(trainable)
        self.capacity = _count_positions(self.encoder) - 2
        if self.capacity < MOST_SUBWORDS:
            raise ValueError(
                f"the encoder has {self.capacity + 2} positions; expected at least {MOST_SUBWORDS + 2}, for one word "
                "and two special tokens"
            )
        if not trainable:
            self.encoder.eval()

    def train(self, mode: bool = True) -> "EncoderWords":
        """Switch to training; a frozen encoder stays in evaluation mode."""
        super().train(mode)
        if not self.trainable:
            self.encoder.eval()
        return self

    def forward(self, subword_ids: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor:
        """Return the vectors (B, n, d) of words, 0 at words without sub-words.

        Args:
            subword_ids: (B, n, s) ids of the encoder's tokenizer plus 1, 0 where a word has no more of them.
            mask: Boolean (B, n), True at words that the encoder reads.

        Raises:
            ValueError: see `check_subword_ids`.
        """
        config, (batch, length) = self.encoder.config, mask.shape
        if not torch.compiler.is_compiling() and length == 0:
            return torch.zeros(batch, 0, self.embedding_dim, dtype=self.encoder.dtype, device=mask.device)
        subword_ids = check_subword_ids(subword_ids, mask.shape, config.vocab_size) * mask.unsqueeze(2)
        if not (self.trainable or torch.compiler.is_compiling()) and self.training and not subword_ids.is_cuda:
            return self._look_up_states(subword_ids)
        with torch.set_grad_enabled(self.trainable and torch.is_grad_enabled()):
            return self._compute_states(subword_ids)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the states that are kept."""
        return {**self.__dict__, "_kept": {}, "_num_kept": 0}

    @torch.no_grad()
    def _look_up_states(self, subword_ids: torch.Tensor) -> torch.Tensor:
        """Return the states of the words of texts as `_compute_states` does, which does not see the texts together."""
        device = subword_ids.device.type
        precision = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        found = []
        for text in subword_ids:
            used = text > 0
            words = used.any(dim=1).nonzero()
            length = int(words.max()) + 1 if len(words) else 1  # without padding, whatever the batch has
            width = max(1, int(used.sum(dim=1).max()))
            own = text[:length, :width]
            key = (width, precision, *own.flatten().tolist())
            states = self._kept.get(key)
            if states is None:
                states = self._compute_states(own.unsqueeze(0))[0]
                if self._num_kept + states.numel() <= MOST_KEPT and not torch.is_inference_mode_enabled():
                    self._kept[key] = states
                    self._num_kept += states.numel()
            found.append(F.pad(states, (0, 0, 0, subword_ids.size(1) - length)))
        return torch.stack(found)

    def _compute_states(self, subword_ids: torch.Tensor) -> torch.Tensor:
        """Return the mean (B, n, d) of the encoder's last states over the sub-words of each word."""
        config, (batch, length) = self.encoder.config, subword_ids.shape[:2]
        read = arrange_subwords(
            subword_ids, self.capacity, config.cls_token_id, config.sep_token_id, config.pad_token_id
        )
        states = self.encoder(input_ids=read.input_ids, attention_mask=read.attention_mask.long())
        states = states.last_hidden_state.flatten(0, 1)  # (R m, d)
        # The last row gathers what is of no word.
        sums = states.new_zeros(batch * length + 1, self.embedding_dim).index_add(0, read.word_numbers, states)
        counts = (subword_ids > 0).sum(dim=2, keepdim=True).clamp(min=1)  # (B, n, 1)
        means: torch.Tensor = sums[:-1].view(batch, length, self.embedding_dim) / counts
        return means


def _count_positions(encoder: Any) -> int:
    """Return how many positions an encoder reads at once."""
    positions = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    # As RoBERTa has it: positions begin behind the row of padding.
    padding = getattr(positions, "padding_idx", None)
    number: int = encoder.config.max_position_embeddings
    return number if padding is None else number - padding - 1
