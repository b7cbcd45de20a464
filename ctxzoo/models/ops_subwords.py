"""Sub-words of words as an encoder reads them: sequences with its special tokens, long texts in several."""

from typing import NamedTuple

import torch

from .ops_inputs import to_int64

MOST_SUBWORDS = 16  # sub-words of a word that are read
NO_SUBWORDS = (0,) * MOST_SUBWORDS  # of padding and of n-grams


class SubwordSequences(NamedTuple):
    """The sequences that an encoder reads for a batch of texts, one or more for each text.

    Attributes:
        input_ids: (R, m) ids of sub-words between the special tokens, padded.
        attention_mask: Boolean (R, m), True at sub-words and special tokens.
        word_numbers: (R m,) number of the word in the batch, b n + i, that each position is of; B n elsewhere.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    word_numbers: torch.Tensor


def check_subword_ids(subword_ids: torch.Tensor | None, shape: tuple[int, ...], vocab_size: int) -> torch.Tensor:
    """Return the ids of sub-words (B, n, s) as int64, checked.

    Args:
        subword_ids: (B, n, s) ids of an encoder's tokenizer plus 1, 0 where a word has no more of them.
        shape: Batch and words (B, n) of the word ids beside them.
        vocab_size: Number of ids of the encoder.

    Raises:
        ValueError: there are none; another shape or type; an id outside the encoder's table (read on the CPU only).
    """
    if subword_ids is None:
        raise ValueError(
            "the model reads words through an encoder: pass subword_ids, which its tokenizer gives beside input_ids"
        )
    subword_ids = to_int64("subword_ids", subword_ids)
    if subword_ids.dim() != 3 or subword_ids.shape[:2] != shape or subword_ids.size(2) > MOST_SUBWORDS:
        raise ValueError(
            f"subword_ids of shape {tuple(subword_ids.shape)}: expected {tuple(shape)} as the words have, and up to "
            f"{MOST_SUBWORDS} sub-words of each"
        )
    if torch.compiler.is_compiling() or subword_ids.is_cuda or not subword_ids.numel():
        return subword_ids
    low, high = (int(value) for value in subword_ids.aminmax())
    if low < 0 or high > vocab_size:
        raise ValueError(
            f"subword id {low if low < 0 else high} lies outside 0 to {vocab_size}, the ids of the encoder plus 1"
        )
    return subword_ids


def arrange_subwords(
    subword_ids: torch.Tensor, capacity: int, prefix_id: int, suffix_id: int, pad_id: int
) -> SubwordSequences:
    """Put the sub-words of each text one after another, between special tokens.

    A text of more than `capacity` sub-words is cut into several sequences, which begin with a whole word each and do
    not overlap: word i is in number floor(first_i / (capacity - `MOST_SUBWORDS` + 1)), where first_i is how many
    sub-words stand before it. A sequence does not depend on the other texts of the batch.

    Args:
        subword_ids: (B, n, s) ids plus 1, 0 where a word has no more of them; n at least 1.
        capacity: Most sub-words of a sequence, special tokens not counted, at least `MOST_SUBWORDS`.
        prefix_id, suffix_id, pad_id: Ids of the special token in front, of the one behind, and of padding.
    """
    batch, length, width = subword_ids.shape
    used = subword_ids > 0
    counts = used.sum(dim=2)  # (B, n)
    ends = counts.cumsum(dim=1)
    firsts, step = ends - counts, capacity - MOST_SUBWORDS + 1
    is_cut = (ends[:, -1:] > capacity) & (counts > 0)
    parts = torch.where(is_cut, torch.div(firsts, step, rounding_mode="floor"), torch.zeros_like(firsts))  # (B, n)
    # In a graph sizes must not follow from values: there every text has as many sequences as any could have.
    in_graph = torch.compiler.is_compiling()
    most = (length * width - 1) // step + 2 if in_graph else int(parts.max()) + 1  # never 1, which would be a rule
    begins = firsts.new_full((batch, most), length * width).scatter_reduce(1, parts, firsts, "amin")
    columns = (firsts - begins.gather(1, parts)).unsqueeze(2) + used.cumsum(dim=2)  # (B, n, s), the first is 1
    numbers = parts.new_full((batch,), most) if in_graph else parts.amax(dim=1) + 1
    rows = (numbers.cumsum(0) - numbers).unsqueeze(1) + parts  # (B, n)
    if in_graph:
        num_rows, num_columns = batch * most, torch.sym_min(length * width, capacity) + 2  # type: ignore[no-untyped-call]
    else:
        num_rows, num_columns = int(numbers.sum()), int((columns * used).max()) + 2

    nowhere = num_rows * num_columns
    places = torch.where(used, rows.unsqueeze(2) * num_columns + columns, nowhere).flatten()
    words = torch.arange(batch * length, device=subword_ids.device).repeat_interleave(width)
    word_numbers = words.new_full((nowhere + 1,), batch * length).scatter(0, places, words)[:-1]
    input_ids = words.new_full((nowhere + 1,), pad_id).scatter(0, places, subword_ids.flatten() - 1)[:-1]
    input_ids = input_ids.view(num_rows, num_columns)
    lengths = counts.new_zeros(num_rows).scatter_add(0, rows.flatten(), counts.flatten())
    input_ids[:, 0] = prefix_id
    input_ids = input_ids.scatter(1, lengths.unsqueeze(1) + 1, suffix_id)
    attention_mask = torch.arange(num_columns, device=words.device) < lengths.unsqueeze(1) + 2
    return SubwordSequences(input_ids, attention_mask, word_numbers)
