"""Word vectors as a .safetensors file with one tensor, `vectors`, beside a text file with one word per line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from ctxzoo.word_vectors.rows import RowSelection, RowStore


def read_safetensors(path: Path, words_path: Path, selection: RowSelection) -> tuple[list[str], torch.Tensor]:
    """Return words and float32 vectors (rows, dim).

    Raises:
        ValueError: one of the files breaks the format, or they differ in their numbers of rows.
    """
    vectors = load_matrix(path, _only_vectors, "one tensor named 'vectors'")
    store = RowStore(str(words_path), "line", vectors.shape[1])
    kept: list[int] = []
    lines = 0
    with words_path.open("rb") as file:
        for row, raw in enumerate(file):
            lines = row + 1
            word = raw.rstrip(b"\r\n")
            if selection.keeps(row, word) or not word:
                store.add_word(word, lines)
                kept.append(row)
    if lines != len(vectors):
        raise ValueError(
            f"{words_path}: {lines} lines, expected {len(vectors)}, one for each row of {path.name}; the two files do "
            "not belong together"
        )
    if len(kept) < len(vectors):
        vectors = vectors[torch.tensor(kept, dtype=torch.long)]
    return store.words, finite_floats(path, vectors, store.words, kept)


def finite_floats(path: Path, vectors: torch.Tensor, words: Sequence[str], rows: Sequence[int]) -> torch.Tensor:
    """Return `vectors` in float32, of these words and from these rows of the file.

    Raises:
        ValueError: a number is not finite.
    """
    vectors = vectors.float()
    faults = (~torch.isfinite(vectors)).nonzero()
    if len(faults):
        row, column = faults[0].tolist()
        raise ValueError(
            f"{path}: row {rows[row] + 1} (word {words[row]!r}): value {column + 1} is "
            f"{vectors[row, column].item()}, expected a finite number"
        )
    return vectors


def load_matrix(path: Path, choose: Callable[[Sequence[str]], str | None], expected: str) -> torch.Tensor:
    """Return one tensor of a safetensors file, which `choose` names.

    Args:
        path: the file.
        choose: from the sorted names to one of them, or None if the right one is not there.
        expected: what the error says then.

    Raises:
        ValueError: the file is damaged, there is no such tensor, or it is not a matrix of floats.
    """
    try:
        with safe_open(path, framework="pt") as file:
            names = sorted(file.keys())
            chosen = choose(names)
            if chosen is None:
                raise ValueError(f"{path}: holds the tensors {names}, expected {expected}")
            vectors: torch.Tensor = file.get_tensor(chosen)
    except SafetensorError as error:
        raise ValueError(f"{path}: is no whole safetensors file ({error}); get the file again") from error
    if vectors.dim() != 2 or 0 in vectors.shape or not vectors.is_floating_point():
        raise ValueError(
            f"{path}: the tensor {chosen!r} has shape {tuple(vectors.shape)} and type {vectors.dtype}, expected "
            "(rows, dim), both above 0, of floats"
        )
    return vectors


def _only_vectors(names: Sequence[str]) -> str | None:
    return "vectors" if names == ["vectors"] else None
