"""A user's text, as rows of lines that lie on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ctxzoo.data.formats import SAMPLE, SPLITS, DatasetFileError, TextFormatError
from ctxzoo.data.own_splits import Loaded, OwnRows, hash_normalized_text, load_splits_of_files, number_groups_by_key
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import load_splits, resolve_dataset
from ctxzoo.data.text_files import NOT_LINES
from ctxzoo.runs.experiment import Experiment
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE
from ctxzoo.tasks.word_embeddings.corpus_lines import TEXT, CorpusSource, refuse_columns_of_plain_text

if TYPE_CHECKING:
    import datasets

HELD_OUT = 0.05  # of the lines, for each of validation and test
LINES_AT_ONCE = 10_000
NO_TEXT = (*NOT_LINES, ".jsonl")


def read_lines(experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
    """Read the lines of a user's text and group those that stay in one split; see `Problem.read_user_data`."""
    splits, _ = load_splits_of_files(
        experiment.data.dataset, files, lambda source: _load_split_lines(source, experiment, scratch)
    )
    return OwnRows(
        splits=splits,
        groups=number_groups_by_key(
            {name: map(hash_normalized_text, iterate_column(split[TEXT])) for name, split in splits.items()}
        ),
        unit="lines",
        together="equal lines",
        held_out=HELD_OUT,
    )


def _load_split_lines(source: str, experiment: Experiment, scratch: Path) -> Loaded:
    """Return the lines of each split of a source, kept on disk, without blank ones."""
    data: Any = experiment.data
    data_dir = experiment.run.data_dir
    path = Path(resolve_dataset(source, data_dir))
    if path.is_file() and path.suffix.lower() in NO_TEXT:
        raise DatasetFileError(
            f"{path} is a {path.suffix} file; expected running text, a sentence or a paragraph in each line (.txt, "
            "also packed as .gz, .zst or .bz2), or a folder or Hub id with a column of texts"
        )
    names: Sequence[str] = ("train",)
    if path.is_file() or source == SAMPLE:
        refuse_columns_of_plain_text(source, data.text_column)
    else:
        loaded = load_splits(source, data_dir, sample=True)
        names = [name for name in SPLITS if name in loaded]
        if not names:
            raise TextFormatError(f"dataset {source!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    splits = {}
    for name in names:
        text = CorpusSource(source, data.text_column or TEXT, name, data_dir)
        where = f"{source}, split {name!r}" if len(names) > 1 else source
        splits[name] = _store_lines_on_disk(text.lines(), scratch / f"{len(list(scratch.iterdir()))}.arrow", where)
        if not len(splits[name]):
            raise TextFormatError(f"{source} holds no text; expected a sentence or a paragraph in each line")
    return splits, dict.fromkeys(splits, source)


def _store_lines_on_disk(lines: Iterable[str], file: Path, source: str) -> datasets.Dataset:
    """Write the lines that are not blank to a file, and return a dataset that reads them from there.

    Lines of more than 1,000 words come as several rows, cut where sentences of a corpus are cut: so a text without line
    ends can be divided.
    """
    import datasets

    schema = pa.schema({TEXT: pa.string()})
    num_cut = blank = 0

    def iterate_parts() -> Iterable[str]:
        """Yield the lines that are not blank, long ones in parts."""
        nonlocal num_cut, blank
        for line in lines:
            if not line.strip():
                blank += 1
                continue
            words = line.split(" ") if line.count(" ") >= LONGEST_SENTENCE else [line]
            for start in range(0, len(words), LONGEST_SENTENCE):
                num_cut += len(words) > 1
                yield " ".join(words[start : start + LONGEST_SENTENCE])

    filled_lines = (part for part in iterate_parts() if part.strip())
    with pa.ipc.new_stream(str(file), schema) as stream:
        while some := list(islice(filled_lines, LINES_AT_ONCE)):
            stream.write_batch(pa.record_batch([pa.array(some, pa.string())], schema=schema))
    record_note(source, f"lines of up to {LONGEST_SENTENCE:,} words, cut from longer ones", num_cut)
    record_note(source, "blank lines, left out", blank)
    return datasets.Dataset.from_file(str(file))
