"""Naive-Bayes log-count ratios: how much a feature speaks for a class (Wang and Manning 2012); a classifier of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ctxzoo.data.formats import Rows
from ctxzoo.data.text_encoding import EncodedTexts
from ctxzoo.models.tokenization_word import WordTokenizer

SMOOTHING = 1.0  # alpha, added to every count


def compute_log_count_ratios(counts: Any, labels: npt.ArrayLike, classes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return r = log((p / |p|) / (q / |q|)) with p = 1 + counts of the features in a class, q = 1 + counts outside it.

    Args:
        counts: (rows, features) feature counts of texts, a scipy sparse matrix or an array.
        labels: (rows,) class number of each row of `counts`; or (rows, L) 0 and 1 where a row may have several.
        classes: (C,) class numbers for which ratios are computed, each against all other classes.

    Returns:
        (C, features); above 0 where a feature speaks for the class.
    """
    of_rows = np.asarray(labels)
    ratios = []
    for label in np.asarray(classes):
        # A product, for rows taken out of a matrix of long texts would be a copy of it.
        is_inside = of_rows[:, label] == 1 if of_rows.ndim == 2 else of_rows == label
        inside, outside = (rows.astype(np.float64) @ counts for rows in (is_inside, ~is_inside))
        p, q = SMOOTHING + inside, SMOOTHING + outside
        ratios.append(np.log(p / p.sum()) - np.log(q / q.sum()))
    return np.reshape(ratios, (-1, counts.shape[1]))


def fit_naive_bayes_of_means(
    counts: Any, labels: npt.ArrayLike, num_labels: int, groups: Sequence[slice]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Build a linear classifier of a row's mean over its features: class scores are weights times mean ratios.

    A group of features has ratios of its own, of their presence in the rows, in columns of their own, which are 0 for
    the features of other groups: each group is a naive Bayes classifier, and their scores are added. The weights are
    such that each group alone sets the classes apart by 1 in the mean over the rows. With two classes, a group has one
    column, the ratio of the second class.

    Args:
        counts: (rows, features) sparse matrix of feature counts of the training texts.
        labels: (rows,) class of each row, 0..num_labels-1.
        num_labels: Number of labels L.
        groups: Range of feature columns of each group, such as words and character n-grams.

    Returns:
        Ratios (features, columns) and weights (L, columns); columns are C for each group, C = 1 for two labels, else L.
    """
    classes = [1] if num_labels == 2 else list(range(num_labels))
    columns = len(classes)
    ratios = np.zeros((counts.shape[1], columns * len(groups)))
    for number, group in enumerate(groups):
        present = (counts[:, group] > 0).astype(np.float64)
        ratios[group, number * columns : (number + 1) * columns] = compute_log_count_ratios(present, labels, classes).T
    lengths = np.asarray(counts.sum(axis=1)).clip(min=1)
    sizes = np.abs((counts @ ratios) / lengths).mean(axis=0)
    of_column = 1 / np.maximum(sizes, np.finfo(np.float64).tiny)
    if num_labels == 2:
        return ratios, np.stack([-of_column / 2, of_column / 2])
    return ratios, np.tile(np.eye(num_labels), len(groups)) * of_column


def count_ids(texts_and_rows: Sequence[tuple[EncodedTexts, Rows]], num_ids: int) -> sparse.csr_matrix:
    """Return (rows, size) how often each id is in each text: rows of some texts, below them rows of others."""
    ids = np.concatenate(
        [texts.ids[texts.pointers[row] : texts.pointers[row + 1]] for texts, rows in texts_and_rows for row in rows]
    )
    lengths = np.concatenate([texts.lengths()[rows] for texts, rows in texts_and_rows])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if ends[-1] <= np.iinfo(ids.dtype).max:  # otherwise the ids are copied into the wider type of the ends
        ends = ends.astype(ids.dtype)
    counts = sparse.csr_matrix((np.ones(len(ids)), ids, ends), shape=(len(lengths), num_ids))
    counts.sum_duplicates()
    return counts


def fit_naive_bayes_of_texts(
    texts: EncodedTexts, rows: Rows, labels: npt.NDArray[np.int64], num_labels: int, tokenizer: WordTokenizer
) -> tuple[torch.Tensor, torch.Tensor]:
    """Build features (num_ids, F) of words and buckets, and weights (L, F) of their means, by naive Bayes.

    Words with n-grams of words are one group, character n-grams with buckets of their own another; padding is 0. See
    `fit_naive_bayes_of_means`.

    Args:
        texts: Encoded texts, of which `rows` selects the training texts.
        rows, labels: Row numbers of the training texts, and their classes.
        num_labels: Number of labels L.
        tokenizer: Tokenizer with which the texts were encoded.
    """
    size = tokenizer.num_ids
    counts = count_ids([(texts, rows)], size)
    end = size - tokenizer.char_ngram_buckets
    groups = [slice(1, end), *([slice(end, size)] if end < size else [])]
    features, weights = fit_naive_bayes_of_means(counts, labels, num_labels, groups)
    return torch.from_numpy(features).float(), torch.from_numpy(weights).float()
