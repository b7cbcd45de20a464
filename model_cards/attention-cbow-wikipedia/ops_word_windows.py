"""The words around each word of a sentence."""

import torch
from torch.nn import functional as F


def window_offsets(window: int, device: torch.device | None = None) -> torch.Tensor:
    """(2b,): the position of each column of a window, -b to -1 and 1 to b."""
    before = torch.arange(-window, 0, device=device)
    return torch.cat([before, -before.flip(0)])


def word_windows(ids: torch.Tensor, is_word: torch.Tensor, window: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The 2b positions around every place.

    Args:
        ids: (B, n) words.
        is_word: boolean (B, n), False at padding and at other places that are context of no word.
        window: b.

    Returns:
        contexts (B, n, 2b): ids in the columns of positions -b to -1 and 1 to b, 0 where there is no word; present,
        boolean (B, n, 2b): where there is one.
    """
    places = torch.arange(ids.size(1), device=ids.device).unsqueeze(1) + window_offsets(window, ids.device) + window
    padded = F.pad(ids.masked_fill(~is_word, 0), (window, window))
    present = F.pad(is_word, (window, window))
    return padded[:, places], present[:, places]


def reference_word_windows(ids: torch.Tensor, is_word: torch.Tensor, window: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, place by place."""
    batch, length = ids.shape
    contexts = torch.zeros(batch, length, 2 * window, dtype=ids.dtype)
    present = torch.zeros(batch, length, 2 * window, dtype=torch.bool)
    for row in range(batch):
        for place in range(length):
            for position in range(-window, window + 1):
                other = place + position
                if position == 0 or not 0 <= other < length or not is_word[row, other]:
                    continue
                column = position + window if position < 0 else position + window - 1
                contexts[row, place, column] = ids[row, other]
                present[row, place, column] = True
    return contexts, present
