"""The wide part of a classifier: scores linear in the TF-IDF of words and n-grams and in the mean of word vectors.

A network with such a part is that of Cheng et al. (2016). No vector of all ids is built.
"""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_text_input import PretrainedEmbedding
from .ops_words import ROWS_ALIKE, take_rows

_PARTS = 16  # sums that make a sum of hundreds of numbers


class LinearTextScores(nn.Module):
    """Scores of classes that are linear in the TF-IDF of a text's ids and in the mean of its word vectors.

    scores = weight^T tfidf + vector_weight^T mean + bias, where the mean is over the fixed vectors of a
    `PretrainedEmbedding`, each word counted by its `mean_weights`.

    Args:
        num_ids: Number V of ids.
        num_labels: Number of labels L.
        group_starts: First id of each group of ids; the TF-IDF vector of each group has length 1, see `tfidf`.
        num_rows: Number K of ids that have a weight, kept as int8; None: all V, in floats that training changes.
        width: Width of the word vectors; 0: their mean is not read.
    """

    inverse_document_frequency: torch.Tensor
    ids: torch.Tensor | None
    weight: torch.Tensor
    weight_scales: torch.Tensor
    vector_weight: torch.Tensor | None

    def __init__(
        self,
        num_ids: int,
        num_labels: int,
        group_starts: list[int],
        num_rows: int | None = None,
        width: int = 0,
    ) -> None:
        super().__init__()
        self.num_ids = num_ids
        self.group_starts = group_starts
        rows = num_ids if num_rows is None else 1 + num_rows  # row 0 is of ids without a weight
        self.bias = nn.Parameter(torch.empty(num_labels))
        self.register_buffer("inverse_document_frequency", torch.empty(rows))
        self.register_buffer("ids", None)
        self._row_of_id = torch.empty(0), 0, torch.empty(0)  # ids, their version, what was made of them
        if num_rows is None:
            self.weight = nn.Parameter(torch.empty(rows, num_labels))
        else:
            self.register_buffer("ids", torch.empty(num_rows, dtype=torch.int32))  # of the rows from 1 on
            self.register_buffer("weight", torch.empty(rows, num_labels, dtype=torch.int8))
            self.register_buffer("weight_scales", torch.empty(rows))
        vector_weight = nn.Parameter(torch.empty(width, num_labels)) if width else None
        self.register_parameter("vector_weight", vector_weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.zeros_(self.weight)
        init.zeros_(self.bias)
        init.ones_(self.inverse_document_frequency)
        if self.ids is not None:
            init.zeros_(self.ids)
            init.zeros_(self.weight_scales)
        if self.vector_weight is not None:
            init.zeros_(self.vector_weight)

    def forward(
        self, input_ids: torch.Tensor, mask: torch.Tensor, words: PretrainedEmbedding | None = None
    ) -> torch.Tensor:
        """Return the scores (B, L) of texts with input_ids (B, n) where the boolean mask (B, n) is true.

        Args:
            input_ids: (B, n) ids, words before n-grams.
            mask: Boolean (B, n), True at ids that count.
            words: Table of the fixed vectors; needed where their mean counts.
        """
        if input_ids.is_cpu and not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
            return self._sum_over_distinct_ids(input_ids, mask, words) + self.bias
        # No matrix product: in mixed precision it would round, and the scores are sums of hundreds of numbers.
        return self.position_contributions(input_ids, mask, words).sum(dim=1) + self.bias

    def _sum_over_distinct_ids(
        self, input_ids: torch.Tensor, mask: torch.Tensor, words: PretrainedEmbedding | None
    ) -> torch.Tensor:
        """Return the scores (B, L) without the bias, for which each of the P pairs of a text and its id is read once.

        P follows from values, so it is not for graphs.
        """
        size, num_groups = len(mask), len(self.group_starts)
        pairs = torch.where(mask, torch.arange(size).unsqueeze(1) * self.num_ids + input_ids, -1).flatten()
        if size * self.num_ids < 2**31:
            pairs = pairs.int()  # which is sorted faster
        pairs, counts = torch.unique_consecutive(pairs.sort().values, return_counts=True)
        outside = int(not bool(mask.all()))  # the first is that of places outside the mask
        pairs, counts = pairs[outside:].long(), counts[outside:].to(self.bias.dtype)
        texts, ids = pairs // self.num_ids, pairs % self.num_ids

        rows = ids if self.ids is None else take_rows(self.get_row_of_id(), ids)
        entries = (1 + counts.log()) * take_rows(self.inverse_document_frequency, rows)
        groups = texts * num_groups + sum(ids >= start for start in self.group_starts[1:])
        values = _divide(entries, _sum_by(entries.square(), groups, size * num_groups).sqrt(), groups)
        if self.ids is not None:
            values = values * take_rows(self.weight_scales, rows)
        scores = _sum_rows(values.unsqueeze(1) * take_rows(self.weight, rows), torch.arange(len(pairs)), texts, size)
        if self.vector_weight is None:
            return scores
        assert words is not None
        places = (ids < words.num_embeddings).nonzero().squeeze(1)
        ids, texts = take_rows(ids, places), take_rows(texts, places)
        weights = take_rows(counts, places) * take_rows(words.mean_weights, ids)
        weights = _divide(weights, _sum_by(weights, texts, size), texts)
        distinct, places = torch.unique(ids, return_inverse=True)
        distinct = F.pad(distinct, (0, -len(distinct) % ROWS_ALIKE))
        with torch.autocast("cpu", enabled=False):
            of_words = words.look_up_fixed(distinct).to(self.vector_weight.dtype) @ self.vector_weight
        return scores + _sum_rows(of_words, places, texts, size, weights)

    def position_contributions(
        self, input_ids: torch.Tensor, mask: torch.Tensor, words: PretrainedEmbedding | None = None
    ) -> torch.Tensor:
        """Return what each position adds to the scores, (B, n, L), 0 outside the mask; with the bias they add up."""
        ids = torch.where(mask, input_ids, torch.zeros_like(input_ids))
        rows = ids if self.ids is None else take_rows(self.get_row_of_id(), ids)
        values = tfidf(ids, mask, take_rows(self.inverse_document_frequency, rows), self.group_starts)  # (B, n)
        if self.ids is None:
            added = values.unsqueeze(-1) * F.embedding(rows, self.weight)  # (B, n, L)
        else:
            added = (values * take_rows(self.weight_scales, rows)).unsqueeze(-1) * take_rows(self.weight, rows)
        if self.vector_weight is None:
            return added
        assert words is not None
        return added + self._mean_contributions(ids, mask, words, self.vector_weight)

    def _mean_contributions(
        self, ids: torch.Tensor, mask: torch.Tensor, words: PretrainedEmbedding, vector_weight: torch.Tensor
    ) -> torch.Tensor:
        """Return what each word adds by way of the mean vector, (B, n, L); 0 at n-grams."""
        is_word = mask & (ids < words.num_embeddings)
        # Not in a graph, whose sizes must not follow from values.
        end = ids.size(1) if torch.compiler.is_compiling() else count_word_columns(is_word)
        is_word, word_ids = is_word[:, :end], torch.where(is_word[:, :end], ids[:, :end], 0)
        weights = take_rows(words.mean_weights, word_ids) * is_word
        total = weights.sum(dim=1, keepdim=True)
        weights = torch.where(total > 0, weights / total.clamp(min=torch.finfo(total.dtype).tiny), weights)
        with torch.autocast(ids.device.type, enabled=False):
            vectors = words.look_up_fixed(word_ids).to(vector_weight.dtype)  # (B, end, v)
            added = weights.unsqueeze(-1) * (vectors @ vector_weight)
        return F.pad(added, (0, 0, 0, ids.size(1) - end))

    def get_row_of_id(self) -> torch.Tensor:
        """Return the row of each id, (V,) int32, 0 for those without a weight; kept until the ids change."""
        assert self.ids is not None
        version = 0 if torch.compiler.is_compiling() or self.ids.is_inference() else self.ids._version
        kept_ids, kept_version, rows = self._row_of_id
        if torch.compiler.is_compiling() or kept_ids is not self.ids or kept_version != version:
            numbers = torch.arange(1, len(self.ids) + 1, dtype=torch.int32, device=self.ids.device)
            rows = torch.zeros(self.num_ids, dtype=torch.int32, device=self.ids.device)
            rows = rows.scatter(0, self.ids.long(), numbers)
            if not torch.compiler.is_compiling():
                self._row_of_id = self.ids, version, rows
        return rows

    @torch.no_grad()
    def init_from_linear_classifier(
        self,
        ids: torch.Tensor,
        inverse_document_frequency: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        vector_weight: torch.Tensor | None = None,
    ) -> None:
        """Take the numbers of a linear classifier that reads K of the ids; its weights are rounded to int8.

        Args:
            ids: (K,) ids that it reads.
            inverse_document_frequency, weight, bias: (K,), (K, L) and (L,).
            vector_weight: (v, L) weight of the mean of word vectors; None: it is not read.

        Raises:
            ValueError: another shape; a layer that keeps float weights.
        """
        if self.ids is None:
            raise ValueError("the layer keeps a float weight for each id; make it with num_rows")
        largest = torch.maximum(weight.amax(dim=1), -weight.amin(dim=1))  # (K,)
        scales = torch.where(largest > 0, largest / 127, torch.ones_like(largest))
        rounded = (weight / scales.unsqueeze(1)).round_().to(torch.int8)
        values = {"inverse_document_frequency": inverse_document_frequency, "weight_scales": scales, "weight": rounded}
        values = {name: F.pad(value, (0, 0) * (value.dim() - 1) + (1, 0)) for name, value in values.items()}
        values |= {"ids": ids, "bias": bias}
        if self.vector_weight is not None:
            assert vector_weight is not None
            values["vector_weight"] = vector_weight
        for name, value in values.items():
            current = getattr(self, name)
            if value.shape != current.shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)}; expected {tuple(current.shape)}")
            current.copy_(value)


def _sum_by(values: torch.Tensor, numbers: torch.Tensor, size: int) -> torch.Tensor:
    """Return the sums (size,) of values (P,) by their numbers (P,), from 0 to size - 1."""
    return values.new_zeros(size).index_add_(0, numbers, values)


def _divide(values: torch.Tensor, divisors: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Return values (P,) divided by the divisors of their numbers (P,); values whose divisor is 0 stay."""
    return values / take_rows(torch.where(divisors > 0, divisors, 1), numbers)


def _sum_rows(
    table: torch.Tensor, rows: torch.Tensor, texts: torch.Tensor, size: int, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return for each of `size` texts the sum (L,) of the rows (P,) of a table (R, L) that are its own, weighted.

    Args:
        table: Table (R, L).
        rows: Rows (P,) of the table.
        texts: Text (P,) of each row, ascending.
        size: Number of texts.
        weights: Weight (P,) of each row; None: 1.
    """
    ends = torch.searchsorted(texts, torch.arange(size + 1))
    # Added one by one, hundreds of numbers would be rounded hundreds of times: first sums of parts.
    begins = ends[:-1, None] + ends.diff().unsqueeze(1) * torch.arange(_PARTS) // _PARTS
    sums = F.embedding_bag(rows, table, begins.flatten(), mode="sum", per_sample_weights=weights)
    return sums.view(size, _PARTS, -1).sum(dim=1)


def count_word_columns(is_word: torch.Tensor) -> int:
    """Count the columns of a boolean (B, n) up to the last in which any text has a word, at least 1.

    Behind them there are n-grams alone, many of them.
    """
    return int(torch.where(is_word.any(dim=0))[0].max()) + 1 if bool(is_word.any()) else 1


def tfidf(
    ids: torch.Tensor, mask: torch.Tensor, inverse_document_frequency: torch.Tensor, group_starts: list[int]
) -> torch.Tensor:
    """Return the part of the TF-IDF vector of its text that each position contributes.

    With c occurrences of an id in a text, its entry of the vector is (1 + log c) idf(id), and each occurrence adds a
    c-th of it. The entries of a group of ids are then divided by the length of the group's part of the vector, as
    scikit-learn's `TfidfVectorizer(sublinear_tf=True)` has it, one for each group.

    Args:
        ids: (B, n) ids, 0 outside the mask.
        mask: Boolean (B, n), True at ids that count.
        inverse_document_frequency: (B, n) inverse document frequency of the id at each position; 0: it does not count.
        group_starts: First id of each group, ascending; the first is 0.

    Returns:
        (B, n) in the type of `inverse_document_frequency`, 0 outside the mask.
    """
    counts = count_occurrences(ids).to(inverse_document_frequency.dtype)
    # (B, n), the whole entry at each occurrence
    entries = (1 + counts.log()) * torch.where(
        mask, inverse_document_frequency, inverse_document_frequency.new_zeros(())
    )
    parts = entries / counts
    # Each of c occurrences adds a c-th of the square of the entry.
    squares = entries * parts
    weights = torch.zeros_like(parts)
    for start, end in zip(group_starts, [*group_starts[1:], torch.iinfo(ids.dtype).max], strict=True):
        inside = (ids >= start) & (ids < end)
        length = (squares * inside).sum(dim=1, keepdim=True).sqrt()  # (B, 1)
        # A text without an id of the group has length 0: quotients by it are not taken.
        weights = weights + torch.where(inside & (length > 0), parts / length, torch.zeros_like(parts))
    return weights


def count_occurrences(ids: torch.Tensor) -> torch.Tensor:
    """Count how often the id of each position of ids (B, n) occurs in its row, (B, n)."""
    values, order = ids.sort(dim=1)
    # The value before, of n columns again: a slice of n - 1 would bind an exported program to n >= 3.
    before = F.pad(values, (1, 0), value=-1)[:, :-1]
    group = (values != before).long().cumsum(dim=1) - 1  # (B, n), the number of a run of equal ids
    sizes = torch.zeros_like(ids).scatter_add(1, group, torch.ones_like(ids))  # (B, n), the length of each run
    return torch.zeros_like(ids).scatter(1, order, sizes.gather(1, group))
