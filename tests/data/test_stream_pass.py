"""One pass over all rows: which rows are held out, sampled and written, and what is said of bad ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ctxzoo.data import stream_pass
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.data.stream_pass import open_splits, write_stream
from ctxzoo.data.training_stream import TrainingStream
from ctxzoo.tasks.text_classification.stream import TextStreamReader
from tests.support.streamed_runs import LABELS, write_texts

ROWS = 400


def write(folder: Path, data: Path, **options: Any) -> TrainingStream:
    folder.mkdir()
    reader = TextStreamReader()
    write_stream(reader, open_splits(reader, str(data), None), "texts", folder, block=20, **options)
    return TrainingStream(folder)


def read_texts(stream: TrainingStream) -> list[str]:
    table, numbers = stream.read_blocks(range(len(stream.facts.sizes)))
    assert numbers.tolist() == list(range(stream.facts.rows))
    return table.column("text").to_pylist()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts", ROWS)


@pytest.mark.parametrize(("chunk", "most"), [(10_000, 10_000), (33, 10_000), (33, 10)])
def test_every_row_is_in_one_split_and_equal_texts_are_in_the_same(data, tmp_path, monkeypatch, chunk, most):
    """Also where rows of validation move back to train, since there are more than may be kept."""
    monkeypatch.setattr(stream_pass, "CHUNK", chunk)
    monkeypatch.setattr(stream_pass, "MOST_HELD_OUT", most)
    stream = write(tmp_path / "out", data)
    whole = stream.load_whole_splits()
    parts = {"train": read_texts(stream), **{split: whole[split]["text"][:] for split in ("validation", "test")}}
    expected = pa.concat_tables([pq.read_table(file) for file in sorted(data.iterdir())]).column("text").to_pylist()
    assert Counter(text for part in parts.values() for text in part) == Counter(expected)
    assert not set(parts["train"]) & {*parts["validation"], *parts["test"]}
    assert not set(parts["validation"]) & set(parts["test"])
    assert 0 < len(parts["validation"]) <= most
    assert sum(stream.facts.sizes) == stream.facts.rows == len(parts["train"])
    assert set(stream.facts.sizes[:-1]) == {20}


def test_what_is_known_of_the_training_rows_is_that_of_all_of_them(data, tmp_path):
    stream = write(tmp_path / "out", data)
    table, _ = stream.read_blocks(range(len(stream.facts.sizes)))
    assert stream.facts.names == Counter(table.column("label").to_pylist())
    assert stream.facts.fingerprint == dataset_fingerprint(datasets.Dataset(datasets.table.InMemoryTable(table)))


def test_the_sample_has_so_many_rows_and_one_of_every_label(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_pass, "MOST_SAMPLED", 30)
    data = write_texts(tmp_path / "texts", ROWS)
    rare = pa.table({"text": ["rare one", "rare two", "rare three"], "label": ["rare"] * 3})
    pq.write_table(rare, data / "train-9.parquet")
    with collect_reading_notes() as notes:
        stream = write(tmp_path / "out", data)
    sample = stream.load_whole_splits()["train"]
    assert len(sample) == stream.facts.sampled <= 30
    assert {sample.features["label"].int2str(label) for label in sample["label"]} == {*LABELS, "rare"}
    assert not Counter(sample["text"][:]) - Counter(read_texts(stream))
    said = [what for (_, what), _ in notes.noted.items() if "drawn at random" in what]
    assert said == [
        f"of {stream.facts.rows} texts of train, drawn at random, for the vocabulary, the linear part and simple "
        "models beside it"
    ]


def test_a_bad_row_is_named_by_its_number_in_the_file_or_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_pass, "CHUNK", 33)
    data = write_texts(tmp_path / "texts", ROWS, files=1)
    table = pq.read_table(data / "train-0.parquet").to_pydict()
    for row in (70, 71, 350):
        table["text"][row] = "  "
    pq.write_table(pa.table(table), data / "train-0.parquet")
    with pytest.raises(TextFormatError, match=r"train-0.parquet, row 70: the text in column 'text' is empty"):
        write(tmp_path / "out", data)
    with collect_reading_notes(skip_bad=True) as notes:
        stream = write(tmp_path / "skipped", data)
    assert [where.rpartition(" ")[2] for where in notes.left_out] == ["70", "71", "350"]
    assert notes.counts()[LEFT_OUT] == 3
    whole = stream.load_whole_splits()
    assert stream.facts.rows + len(whole["validation"]) + len(whole["test"]) == ROWS - 3


def test_a_chunk_of_bad_rows_alone_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_pass, "CHUNK", 10)
    data = write_texts(tmp_path / "texts", ROWS)
    pq.write_table(pa.table({"text": [""] * 25, "label": ["good"] * 25}), data / "train-1.parquet")
    with collect_reading_notes(skip_bad=True) as notes:
        write(tmp_path / "out", data)
    assert notes.counts()[LEFT_OUT] == 25


def test_a_column_that_a_later_file_lacks_is_an_error_that_names_the_file(data, tmp_path):
    pq.write_table(pa.table({"text": ["a b"], "kind": ["good"]}), data / "train-9.parquet")
    with pytest.raises(TextFormatError, match=r"train-9.parquet: no column 'label' for the label"):
        write(tmp_path / "out", data)


def test_beyond_a_thousand_rows_that_are_left_out_are_counted_and_not_listed(tmp_path):
    data = write_texts(tmp_path / "texts", ROWS)
    pq.write_table(pa.table({"text": [""] * 1_200, "label": ["good"] * 1_200}), data / "train-9.parquet")
    with collect_reading_notes(skip_bad=True) as notes:
        write(tmp_path / "out", data)
    assert (len(notes.left_out), notes.counts()[LEFT_OUT]) == (1_000, 1_200)
    assert "left out 1,200 of the data" in notes.format_lines()[0]


def test_validation_rows_of_ones_own_are_capped_and_those_in_train_are_counted(data, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_pass, "MOST_HELD_OUT", 50)
    rows = pq.read_table(data / "train-0.parquet")
    pq.write_table(pa.concat_tables([rows, rows.slice(0, 10)]).slice(0, 80), data / "validation-0.parquet")
    with collect_reading_notes() as notes:
        stream = write(tmp_path / "out", data)
    validation = stream.load_whole_splits()["validation"]
    counts = {what: number for (_, what), number in notes.noted.items()}
    dropped = "texts of validation beyond 50, not read; those with the smallest hashes are"
    assert counts[dropped] == 80 - len(validation) >= 30
    in_train = set(read_texts(stream))
    assert counts["texts of validation share equal texts with train"] == sum(
        text in in_train for text in validation["text"]
    )


def test_a_stream_of_too_few_rows_is_refused(tmp_path):
    with pytest.raises(TextFormatError, match="9 texts; expected 10 or more"):
        write(tmp_path / "out", write_texts(tmp_path / "texts", 9, files=1))
    data = tmp_path / "one"
    data.mkdir()
    table = pa.table({"text": [f"text {row}" for row in range(300)], "label": ["good"] * 300})
    pq.write_table(table, data / "train-0.parquet")
    with pytest.raises(TextFormatError, match="the only label is 'good'; expected two or more"):
        write(tmp_path / "two", data)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_rows_of_other_files_are_read_as_those_of_parquet(data, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(stream_pass, "CHUNK", 33)
    other = tmp_path / "other"
    other.mkdir()
    for file in sorted(data.iterdir()):
        rows = datasets.Dataset(pq.read_table(file))
        target = str(other / f"{file.stem}.{kind}")
        rows.to_csv(target) if kind == "csv" else rows.to_json(target)
    one, two = write(tmp_path / "one", data), write(tmp_path / "two", other)
    assert (one.facts.fingerprint, one.facts.names) == (two.facts.fingerprint, two.facts.names)
