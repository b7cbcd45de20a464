"""Word vectors as a .safetensors file with one tensor, `vectors`, beside a text file with one word per line."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from ctxzoo.data.word_vectors_rows import RowSelection, RowStore


def read_safetensors(path: Path, words_path: Path, selection: RowSelection) -> tuple[list[str], torch.Tensor]:
    """Words and float32 vectors (rows, dim).

    Raises:
        ValueError: one of the files breaks the format, or they differ in their numbers of rows.
    """
    vectors = _load_tensor(path)
    store = RowStore(str(words_path), "line", vectors.shape[1])
    kept: list[int] = []
    lines = 0
    with words_path.open("rb") as file:
        for row, raw in enumerate(file):
            lines = row + 1
            word = raw.rstrip(b"\r\n")
            if selection.wants(row, word) or not word:
                store.add_word(word, lines)
                kept.append(row)
    if lines != len(vectors):
        raise ValueError(
            f"{words_path}: {lines} lines, expected {len(vectors)}, one for each row of {path.name}; the two files do "
            "not belong together"
        )
    if len(kept) < len(vectors):
        vectors = vectors[torch.tensor(kept, dtype=torch.long)]
    vectors = vectors.float()
    faults = (~torch.isfinite(vectors)).nonzero()
    if len(faults):
        row, column = faults[0].tolist()
        raise ValueError(
            f"{path}: row {kept[row] + 1} (word {store.words[row]!r}): value {column + 1} is "
            f"{vectors[row, column].item()}, expected a finite number"
        )
    return store.words, vectors


def _load_tensor(path: Path) -> torch.Tensor:
    try:
        with safe_open(path, framework="pt") as file:
            names = sorted(file.keys())
            if names != ["vectors"]:
                raise ValueError(f"{path}: holds the tensors {names}, expected one tensor named 'vectors'")
            vectors: torch.Tensor = file.get_tensor("vectors")
    except SafetensorError as error:
        raise ValueError(f"{path}: is no whole safetensors file ({error}); get the file again") from error
    if vectors.dim() != 2 or 0 in vectors.shape or not vectors.is_floating_point():
        raise ValueError(
            f"{path}: the tensor 'vectors' has shape {tuple(vectors.shape)} and type {vectors.dtype}, expected "
            "(rows, dim), both above 0, of floats"
        )
    return vectors
