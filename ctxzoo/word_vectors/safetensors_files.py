"""Word vectors in safetensors: a file beside the list of its words, or a checkpoint of the model WordEmbedding."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from ctxzoo.data.files import is_ctxzoo_dataset_name, refuse_missing_path
from ctxzoo.data.notices import format_count, format_error_on_one_line
from ctxzoo.word_vectors.rows import RowSelection, RowStore

MODEL_TYPE = "ctxzoo_word_embedding"
CONFIG_FILE, MODEL_FILE, TOKENIZER_FILE = "config.json", "model.safetensors", "tokenizer.json"
FILES = (CONFIG_FILE, MODEL_FILE, TOKENIZER_FILE)
_TABLE = "word_vectors.weight"  # W; with a head in front of it the name of the base model
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_LIKE_A_FILE = (".txt", ".vec", ".bin", ".gz", ".zip", ".safetensors")


def read_safetensors(path: Path, words_path: Path, selection: RowSelection) -> tuple[list[str], torch.Tensor]:
    """Return words and float32 vectors (rows, dim).

    Raises:
        ValueError: one of the files breaks the format, or they differ in their numbers of rows.
    """
    vectors = load_tensor_matrix(path, _find_vectors_tensor, "one tensor named 'vectors'")
    store = RowStore(str(words_path), "line", vectors.shape[1])
    kept_rows: list[int] = []
    lines = 0
    with words_path.open("rb") as file:
        for row, raw in enumerate(file):
            lines = row + 1
            word = raw.rstrip(b"\r\n")
            if selection.is_row_kept(row, word) or not word:
                store.add_word(word, lines)
                kept_rows.append(row)
    if lines != len(vectors):
        raise ValueError(
            f"{words_path}: {format_count(lines, 'lines')}, expected {len(vectors)}, one for each row of {path.name}; "
            "the two files do not belong together"
        )
    if len(kept_rows) < len(vectors):
        vectors = vectors[torch.tensor(kept_rows, dtype=torch.long)]
    return store.words, to_finite_float32(path, vectors, store.words, kept_rows)


def to_finite_float32(path: Path, vectors: torch.Tensor, words: Sequence[str], rows: Sequence[int]) -> torch.Tensor:
    """Return `vectors` in float32, of these words and from these rows of the file.

    Raises:
        ValueError: a number is not finite.
    """
    vectors = vectors.float()
    faults = (~torch.isfinite(vectors)).nonzero()
    if len(faults):
        row, column = faults[0].tolist()
        raise ValueError(
            f"{path}: row {rows[row]} (word {words[row]!r}): value {column + 1} is "
            f"{vectors[row, column].item()}, expected a finite number"
        )
    return vectors


def load_tensor_matrix(path: Path, choose_name: Callable[[Sequence[str]], str | None], expected: str) -> torch.Tensor:
    """Return one tensor of a safetensors file, which `choose_name` names.

    Args:
        path: Path of the safetensors file.
        choose_name: Function that picks one of the sorted tensor names; it returns None if the wanted one is missing.
        expected: Description of the wanted tensor, for the error message.

    Raises:
        ValueError: the file is damaged, there is no such tensor, or it is not a matrix of floats.
    """
    try:
        with safe_open(path, framework="pt") as file:
            names = sorted(file.keys())
            tensor_name = choose_name(names)
            if tensor_name is None:
                raise ValueError(f"{path}: holds the tensors {names}, expected {expected}")
            vectors: torch.Tensor = file.get_tensor(tensor_name)
    except SafetensorError as error:
        raise ValueError(f"{path}: is no whole safetensors file ({error}); get the file again") from error
    if vectors.dim() != 2 or 0 in vectors.shape or not vectors.is_floating_point():
        raise ValueError(
            f"{path}: the tensor {tensor_name!r} has shape {tuple(vectors.shape)} and type {vectors.dtype}, expected "
            "(rows, dim), both above 0, of floats"
        )
    return vectors


def _find_vectors_tensor(names: Sequence[str]) -> str | None:
    return "vectors" if names == ["vectors"] else None


@dataclass(frozen=True, eq=False)
class VectorCheckpoint:
    """A checkpoint folder of word vectors.

    Attributes:
        folder: Folder of the checkpoint.
        name: Name of the word vectors.
        config: Content of the checkpoint's config.json.
    """

    folder: Path
    name: str
    config: dict[str, Any]

    @property
    def files(self) -> list[Path]:
        """Paths of the files that decide the vectors."""
        return [self.folder / file for file in FILES]

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The content of tokenizer.json.

        Raises:
            ValueError: it is damaged.
        """
        path = self.folder / TOKENIZER_FILE
        try:
            return Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises nothing more particular
            raise ValueError(f"{path}: is no tokenizer ({error}); write the checkpoint again") from error

    @property
    def fold_digits(self) -> bool:
        """Whether the tokenizer makes every digit a 0."""
        normalizer = self.tokenizer.normalizer
        return normalizer is not None and bool(normalizer.normalize_str("7") == "0")

    def read(self, selection: RowSelection) -> tuple[list[str], torch.Tensor]:
        """Return words in the order of their ids, without special tokens, and float32 vectors (words, dim).

        Raises:
            ValueError: a file is damaged, or the table has not one row for each id.
        """
        path = self.folder / MODEL_FILE
        table = load_tensor_matrix(path, _find_word_table_name, f"one tensor with a name that ends in {_TABLE!r}")
        vocabulary: dict[str, int] = self.tokenizer.get_vocab(with_added_tokens=True)
        if len(table) != len(vocabulary) or set(vocabulary.values()) != set(range(len(table))):
            raise ValueError(
                f"{path}: {len(table)} rows, but {TOKENIZER_FILE} has {len(vocabulary)} tokens; expected one row for "
                "each, so the two files do not belong together"
            )
        left_out = _list_special_tokens(self.tokenizer)
        all_words = sorted((word for word in vocabulary if word not in left_out), key=vocabulary.__getitem__)
        words = [
            word
            for row, word in enumerate(all_words)
            if selection.is_row_kept(row, word.encode("utf-8", "surrogatepass"))
        ]
        rows = [vocabulary[word] for word in words]
        return words, to_finite_float32(path, table[torch.tensor(rows, dtype=torch.long)], words, rows)


def find_vector_checkpoint(path: str | Path) -> VectorCheckpoint | None:
    """Return the checkpoint that a folder holds or a Hub id names; None where the path is anything else.

    A text `user/name`, or `user/name@revision`, is a Hub id if there is no folder `user` and the name has no ending of
    vector files.

    Raises:
        FileNotFoundError: a file of the checkpoint is missing; neither a file nor the Hub has this name.
        ValueError: config.json is damaged or of another architecture.
    """
    folder = Path(path)
    if (folder / CONFIG_FILE).is_file():
        # Recipes write the folder `checkpoint` in that of the run, which has the better name.
        whole = folder.resolve()
        return _build_vector_checkpoint(folder, whole.parent.name if whole.name == "checkpoint" else whole.name)
    name, _, revision = str(path).partition("@")
    if isinstance(path, Path) or not _can_be_hub_id(name):
        return None
    refuse_missing_path(name, "file of word vectors", revision=revision or None)
    try:
        downloaded = snapshot_download(name, revision=revision or None, allow_patterns=list(FILES))
        return _build_vector_checkpoint(Path(downloaded), name.rsplit("/", 1)[-1])
    except (HfHubHTTPError, LocalEntryNotFoundError) as error:
        reason = format_error_on_one_line(error)
        raise FileNotFoundError(
            f"{path}: no such file of word vectors or checkpoint folder, and the Hub could not deliver it ({reason})"
        ) from error


def _build_vector_checkpoint(folder: Path, name: str) -> VectorCheckpoint:
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(f"{folder}: the checkpoint lacks {', '.join(missing)}; write or download it again")
    path = folder / CONFIG_FILE
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a JSON file ({error}); write the checkpoint again") from error
    model_type = config.get("model_type") if isinstance(config, dict) else None
    if model_type != MODEL_TYPE:
        raise ValueError(
            f"{folder}: a checkpoint with model_type {model_type!r}, expected {MODEL_TYPE!r}, the one with word "
            "vectors to take"
        )
    return VectorCheckpoint(folder, name, config)


def _can_be_hub_id(path: str) -> bool:
    names_local_file = Path(path).parent.is_dir()  # then a file of that folder is meant
    has_id_form = _HUB_ID.fullmatch(path) is not None and not is_ctxzoo_dataset_name(
        path
    )  # which are vectors of the catalogue
    return not names_local_file and not path.endswith(_LIKE_A_FILE) and has_id_form


def _find_word_table_name(names: Sequence[str]) -> str | None:
    found = [name for name in names if name == _TABLE or name.endswith(f".{_TABLE}")]
    return found[0] if len(found) == 1 else None


def _list_special_tokens(tokenizer: Tokenizer) -> set[str]:
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    unknown = getattr(tokenizer.model, "unk_token", None)
    return added if unknown is None else added | {unknown}
