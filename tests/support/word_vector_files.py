"""Small word vectors, a checkpoint that holds some, and test sets for them, as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import save_file
from tokenizers import Regex, normalizers

from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.word_vectors.vectors import WordVectors

NOUNS = ("paris", "rome", "france", "italy", "boy", "girl", "good", "bad", "fine", "awful", "film", "play")
VERBS = ("run", "walk", "running", "walking", "see", "go")
SIGNS = (".", ",", "the", "a", "0")
WORDS = (*NOUNS, *VERBS, *SIGNS)
DIM = 6


def small_vectors(words: Sequence[str] = WORDS, dim: int = DIM, seed: int = 0) -> WordVectors:
    """Return random vectors in which France is to Paris as Italy to Rome, and good words differ from bad ones."""
    matrix = torch.randn(len(words), dim, generator=torch.Generator().manual_seed(seed))
    row = {word: index for index, word in enumerate(words)}
    if "rome" in row:
        matrix[row["rome"]] = matrix[row["paris"]] - matrix[row["france"]] + matrix[row["italy"]]
    for sign, word in ((3.0, "good"), (3.0, "fine"), (-3.0, "bad"), (-3.0, "awful")):
        if word in row:
            matrix[row[word], 0] = sign
    return WordVectors(list(words), matrix, "small", "00")


def write_vectors(path: Path, vectors: WordVectors) -> Path:
    """Write vectors as word2vec text."""
    lines = [f"{len(vectors)} {vectors.dim}"]
    lines += [
        f"{word} {' '.join(map(repr, row.tolist()))}" for word, row in zip(vectors.words, vectors.vectors, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_checkpoint(
    folder: Path, vectors: WordVectors, *, prefix: str = "", fold_digits: bool = False, **config: Any
) -> Path:
    """Write a folder as the architecture WordEmbedding leaves it: special tokens have rows too."""
    folder.mkdir(parents=True)
    tokenizer = build_word_tokenizer(vectors.words, lower_case=False).backend_tokenizer
    tokenizer.add_special_tokens(["[PAD]", "[MASK]"])
    steps = [normalizers.Lowercase(), *([normalizers.Replace(Regex(r"\d"), "0")] if fold_digits else [])]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = torch.zeros(tokenizer.get_vocab_size(), vectors.dim)
    table[[tokenizer.token_to_id(word) for word in vectors.words]] = vectors.vectors
    tensors = {f"{prefix}word_vectors.weight": table, "output_vectors": torch.ones(3, 2)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    fields = {"model_type": "ctxzoo_word_embedding", "architecture": "attention_cbow", "window": 20, **config}
    (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    return folder


def write_test_sets(data_dir: Path, sentences: int = 40) -> Path:
    """The datasets of the evaluations, small, as `data_dir` holds them."""
    similarity = [("pets", "paris", "rome", 9.0), ("pets", "boy", "girl", 8.0), ("pets", "film", "run", 1.0)]
    _write(
        data_dir / "ctxzoo-data" / "word_similarity" / "test.parquet",
        ("dataset", "word1", "word2", "score"),
        [*similarity, ("pets", "unheard", "boy", 2.0), ("other", "good", "bad", 1.0), ("other", "see", "go", 5.0)],
    )
    questions = [("capitals", "France", "Paris", "Italy", "Rome"), ("capitals", "France", "Paris", "Peru", "Lima")]
    questions += [("gram5-participle", "run", "running", "walk", "walking")]
    _write(
        data_dir / "ctxzoo-data" / "word_analogy" / "test.parquet",
        ("dataset", "category", "a", "b", "c", "d"),
        [("google", *question) for question in questions],
    )
    generator = np.random.default_rng(0)
    tagged = []
    for _ in range(sentences):
        noun, verb = generator.choice(NOUNS, 2), generator.choice(VERBS)
        tagged.append((["The", noun[0], verb, "7", noun[1], "."], ["DT", "NN", "VB", "CD", "NN", "."]))
    universal = {"DT": "DET", "NN": "NOUN", "VB": "VERB", "CD": "NUM", ".": "."}
    for split, part in (("train", tagged[3:]), ("validation", tagged[:1]), ("test", tagged[1:3])):
        rows = [(tokens, tags, [universal[tag] for tag in tags]) for tokens, tags in part]
        _write(data_dir / "ctxzoo-data" / "ptb_sample" / f"{split}.parquet", ("tokens", "pos_tags", "upos"), rows)
    for split, count in (("train", 60), ("validation", 20), ("test", 20)):
        labels = generator.integers(0, 2, count).tolist()
        good, bad = ("good", "fine"), ("bad", "awful")
        rows = [(f"the film , {generator.choice(good if label else bad)} .", label) for label in labels]
        _write(data_dir / "SetFit" / "sst2" / f"{split}.parquet", ("text", "label"), rows)
    return data_dir


def _write(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = zip(*rows, strict=True)
    pq.write_table(pa.table({name: list(column) for name, column in zip(names, columns, strict=True)}), path)
