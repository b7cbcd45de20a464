"""Where tagged sentences come from: files (CoNLL columns, CoNLL-U, JSON lines, Parquet) and the generated corpus.

The generated corpus has short sentences whose words have parts of speech. Many words are a noun after an article and a
verb after a pronoun, so that a word alone does not decide its tag. Names are put together from syllables, and most of
those in validation and test are not in train; numbers have any digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.generated import RandomDraws, generate_splits
from ctxzoo.data.notices import format_count
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.row_files import read_json_lines, read_parquet
from ctxzoo.data.text_files import get_unpacked_suffix, read_text_lines

if TYPE_CHECKING:
    import datasets

COLUMN_FILES = (".conll", ".bio", ".iob", ".iob2", ".txt", ".tsv")  # a word and its tag in a line
UNIVERSAL = ".conllu"
KINDS = (*COLUMN_FILES, UNIVERSAL, ".jsonl", ".parquet")
TOKENS, TAGS, DOCUMENT = "tokens", "tags", "file"  # columns
DOCUMENT_START = "-DOCSTART-"
COMMENT = "# "
NEW_DOCUMENT = "# newdoc"
UNIVERSAL_COLUMNS = 10
NO_VALUE = "_"
TRAILING = "lines with empty columns behind the last, which were left out"


def read_tag_file(path: Path, kind: str | None = None, *, of_folder: bool = False) -> datasets.Dataset:
    """Return the sentences of a file, one a row: `tokens`, columns of tags, and `file`, the document, if it is told.

    In CoNLL files (`COLUMN_FILES`) each line holds a word, other columns, and last its tag, set apart by blanks or
    tabs; an empty line ends a sentence, and a line that begins with -DOCSTART- begins a document. Lines that begin with
    "# " are comments, which are counted, but for the word "#" with a tag that other words have. Empty columns at the
    end of lines are left out, and counted. In CoNLL-U files the tags are `upos` and, where there are any, `xpos`. The
    others hold the columns themselves, with lists in them.

    Args:
        path: Path of a file of tagged sentences.
        kind: File format as a suffix, one of `KINDS`, such as ".conllu"; default: the file's own suffix.
        of_folder: Whether the file is one of a folder's, so that a column `file` is always written and starts with the
            file's name.

    Raises:
        DatasetFileError: a file of another kind; not UTF-8; empty; a line with another number of columns than most,
            which is named, unless its sentence is left out with `--skip_bad`.
    """
    import datasets

    kind = kind or get_unpacked_suffix(path)
    if kind not in KINDS:
        raise DatasetFileError(f"{path} is no {', '.join(KINDS)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return datasets.Dataset(datasets.table.InMemoryTable(read_parquet(path)))
    if kind == ".jsonl":
        rows = read_json_lines(path)
    else:
        lines = read_text_lines(path)
        sentences = (_read_conllu_sentences if kind == UNIVERSAL else _read_conll_sentences)(lines, path)
        rows = _drop_empty_tag_columns(sentences, path) if kind == UNIVERSAL else list(sentences)
    if not rows:
        raise DatasetFileError(f"{path} holds no sentence; expected a word and its tag in each line")
    if kind != ".jsonl" and of_folder:
        rows = [{**row, DOCUMENT: f"{path.name}/{row[DOCUMENT]}"} for row in rows]
    elif kind != ".jsonl" and len({row[DOCUMENT] for row in rows}) < 2:
        rows = [{name: value for name, value in row.items() if name != DOCUMENT} for row in rows]
    try:
        return datasets.Dataset.from_list(rows)
    except (pa.ArrowException, TypeError) as error:
        raise DatasetFileError(f"{path}: {error}; expected lists of words and of tags in each line") from error


def _read_conll_sentences(lines: Sequence[str], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the sentences of CoNLL columns; there are as many columns as most lines have that hold a word and a tag."""
    plain = [_split_columns(line) for line in lines if line.strip() and not line.startswith((COMMENT, DOCUMENT_START))]
    tags = {columns[-1].strip() for columns in plain}
    widths = Counter(len(columns) for columns in plain if len(columns) > 1)
    width = widths.most_common(1)[0][0] if widths else 1

    def is_comment(line: str) -> bool:
        """Return whether a line that begins with # is none of the word "#" with a tag that other words have."""
        columns = _split_columns(line)
        is_word = columns[0] == "#" and len(columns) == width and columns[-1].strip() in tags
        return line.startswith(COMMENT) and not is_word

    comments = trailing = 0
    for document, block in _split_into_sentences(lines):
        rows = [(number, line) for number, line in block if not is_comment(line)]
        comments += len(block) - len(rows)
        odd = next(((n, line) for n, line in rows if len(_split_columns(line)) != width or width < 2), None)
        if odd is not None:
            number, line = odd
            location = f"{path}, line {number}"
            error = (
                f"{location}: {line[:60]!r} has {format_count(len(_split_columns(line)), 'columns')}; expected "
                f"{'a word and its tag' if width < 2 else f'{width} as in most lines'}, and an empty line "
                "between sentences"
            )
            skip_or_raise(location, DatasetFileError(error))
        elif rows:
            trailing += sum(_has_empty_last_column(line) for _, line in rows)
            words, tags_of_words = ([_split_columns(line)[place].strip() for _, line in rows] for place in (0, -1))
            yield {TOKENS: words, TAGS: tags_of_words, DOCUMENT: str(document)}
    record_note(str(path), "comment lines, left out", comments)
    record_note(str(path), TRAILING, trailing)


def _split_into_sentences(lines: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Yield the number of the document of each sentence, and its lines with their numbers."""
    block: list[tuple[int, str]] = []
    document = 0
    for number, line in enumerate([*lines, ""], start=1):
        if line.startswith(DOCUMENT_START):
            document += 1
        elif line.strip():
            block.append((number, line))
        elif block:
            yield document, block
            block = []


def _split_columns(line: str) -> list[str]:
    """Return the columns of a line, without empty ones behind the last."""
    line = line.rstrip()
    return line.split("\t") if "\t" in line else line.split()


def _has_empty_last_column(line: str) -> bool:
    return "\t" in line[len(line.rstrip()) :]


def _read_conllu_sentences(lines: Sequence[str], path: Path) -> Iterator[dict[str, Any]]:
    document = trailing = 0
    for _, block in _split_into_sentences(lines):
        document += sum(line.startswith(NEW_DOCUMENT) for _, line in block)
        rows = [(number, line.split("\t")) for number, line in block if not line.startswith("#")]
        longer = [row for _, row in rows if row[UNIVERSAL_COLUMNS:] and not "".join(row[UNIVERSAL_COLUMNS:]).strip()]
        for row in longer:
            del row[UNIVERSAL_COLUMNS:]
        odd = next(((number, row) for number, row in rows if len(row) != UNIVERSAL_COLUMNS), None)
        if odd is not None:
            location, shown = f"{path}, line {odd[0]}", "\t".join(odd[1])[:60]
            error = (
                f"{location}: {shown!r} has {format_count(len(odd[1]), 'columns')}; expected {UNIVERSAL_COLUMNS} set "
                "apart by tabs, as CoNLL-U has"
            )
            skip_or_raise(location, DatasetFileError(error))
            continue
        trailing += len(longer)
        whole = [row for _, row in rows if row[0].isdigit()]  # others stand for several words, or for none
        if whole:
            words, upos, xpos = ([row[column] for row in whole] for column in (1, 3, 4))
            yield {TOKENS: words, "upos": upos, "xpos": xpos, DOCUMENT: str(document)}
    record_note(str(path), TRAILING, trailing)


def _drop_empty_tag_columns(rows: Iterable[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Drop columns of tags in which every entry is empty; in another column, _ is a tag like others."""
    sentences = list(rows)
    empty = []
    for name in ("upos", "xpos"):
        tags = [tag for row in sentences for tag in row[name]]
        if tags.count(NO_VALUE) == len(tags):
            empty.append(name)
        else:
            record_note(str(path), f"words without {name}, whose tag is {NO_VALUE}", tags.count(NO_VALUE))
    return [{name: value for name, value in row.items() if name not in empty} for row in sentences]


AMBIGUOUS = ("guide", "lock", "paint", "plant", "record", "ship", "ring", "watch", "water", "wave")  # NN or VB
NOUNS = ("boat", "bridge", "clock", "engine", "garden", "harbour", "ladder", "letter", "tower", "window")
PLURALS = ("boats", "bridges", "clocks", "engines", "gardens", "ladders", "letters", "towers", "windows")
VERBS = ("carry", "clean", "find", "follow", "hold", "move", "repair", "sell", "take", "visit")
PAST = ("carried", "cleaned", "followed", "moved", "painted", "repaired", "sold", "visited", "watched")
ADJECTIVES = ("bright", "heavy", "narrow", "new", "old", "quiet", "round", "small", "steep", "wooden")
ADVERBS = ("always", "hardly", "never", "often", "quickly", "slowly")
ARTICLES = ("a", "the", "this", "every")
PRONOUNS = ("they", "we", "you")
MODALS = ("can", "may", "must", "should")
PREPOSITIONS = ("behind", "from", "near", "under", "with")
SYLLABLES = ("bar", "del", "fen", "gal", "kir", "lom", "mur", "nes", "pol", "rud", "sil", "tav", "vor", "wen")
COARSE = {
    **{"DT": "DET", "JJ": "ADJ", "NN": "NOUN", "NNS": "NOUN", "NNP": "NOUN", "CD": "NUM", "PRP": "PRON", "MD": "VERB"},
    **{"VB": "VERB", "VBD": "VERB", "RB": "ADV", "IN": "ADP", "CC": "CONJ", ",": ".", ".": "."},
}


def sample_tags(seed: int = 0, train: int = 1000, validation: int = 200, test: int = 200) -> datasets.DatasetDict:
    """Return the generated corpus; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of sentences to generate for each split, 1 or more.

    Returns:
        Splits train, validation and test with the columns tokens, pos_tags (as in the Penn Treebank) and upos (coarse
        tags), lists of text.

    Raises:
        ValueError: negative seed, or a number of sentences below 1.
    """
    import datasets

    def generate_split(draws: RandomDraws, num_sentences: int, split: str) -> dict[str, list[list[str]]]:
        sampled = [list(_generate_sentence(draws)) for _ in range(num_sentences)]
        return {
            "tokens": [[word for word, _ in sentence] for sentence in sampled],
            "pos_tags": [[tag for _, tag in sentence] for sentence in sampled],
            "upos": [[COARSE[tag] for _, tag in sentence] for sentence in sampled],
        }

    splits = generate_splits("sample_tags", "sentence", seed, (train, validation, test), generate_split)
    return datasets.DatasetDict(splits)


def _generate_sentence(draws: RandomDraws) -> Iterator[tuple[str, str]]:
    yield from _generate_clause(draws)
    if draws.random() < 0.25:
        yield ",", ","
        yield draws.draw_item(("and", "but")), "CC"
        yield from _generate_clause(draws)
    yield ".", "."


def _generate_clause(draws: RandomDraws) -> Iterator[tuple[str, str]]:
    """Return words and tags of a clause, such as "They can ring the old clock" or "the guide sold 17 boats"."""
    if draws.random() < 0.5:
        yield draws.draw_item(PRONOUNS), "PRP"
        if draws.random() < 0.6:
            yield draws.draw_item(MODALS), "MD"
            yield draws.draw_item((*AMBIGUOUS, *VERBS)), "VB"
        else:
            yield draws.draw_item(PAST), "VBD"
    else:
        yield from _generate_noun_phrase(draws)
        if draws.random() < 0.4:
            yield draws.draw_item(ADVERBS), "RB"
        yield draws.draw_item(PAST), "VBD"
    yield from _generate_noun_phrase(draws)
    if draws.random() < 0.4:
        yield draws.draw_item(PREPOSITIONS), "IN"
        yield from _generate_noun_phrase(draws)


def _generate_noun_phrase(draws: RandomDraws) -> Iterator[tuple[str, str]]:
    kind = draws.random()
    if kind < 0.2:
        yield "".join(draws.draw_item(SYLLABLES) for _ in range(3)).capitalize(), "NNP"
        return
    plural = kind < 0.4
    yield (str(int(2 + draws.random() * 998)), "CD") if plural else (draws.draw_item(ARTICLES), "DT")
    if draws.random() < 0.5:
        yield draws.draw_item(ADJECTIVES), "JJ"
    yield (draws.draw_item(PLURALS), "NNS") if plural else (draws.draw_item((*AMBIGUOUS, *NOUNS)), "NN")
