from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest
from huggingface_hub import constants

from ctxzoo.catalogue.check import find_entry_of_folder
from ctxzoo.data import sources
from ctxzoo.data.files import refuse_missing_path
from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.sources import (
    DatasetUnavailableError,
    dataset_fingerprint,
    get_data_folder,
    load_splits,
    load_streams,
    resolve_dataset,
)
from ctxzoo.word_vectors import safetensors_files
from ctxzoo.word_vectors.vectors import read_word_vectors


@pytest.fixture(autouse=True)
def _nothing_of_the_user(own_cache, monkeypatch):
    monkeypatch.delenv("CTXZOO_DATA", raising=False)


def _dataset(rows: int = 6) -> datasets.Dataset:
    return datasets.Dataset.from_dict(
        {
            "text": [f"line {i} é" for i in range(rows - 1)] + [None],
            "marks": [list(range(i)) for i in range(rows)],
            "span": [{"word": "w" * i, "place": i} for i in range(rows)],
            "flag": [i % 2 == 0 for i in range(rows)],
            "score": [i / 3 for i in range(rows)],
        }
    )


def test_resolve_prefers_an_existing_path_then_the_data_folder_then_the_hub_id(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "someone" / "thing"
    folder.mkdir(parents=True)
    assert resolve_dataset(str(folder)) == str(folder)
    assert resolve_dataset("someone/thing", str(tmp_path / "data")) == str(folder)
    assert resolve_dataset("someone/thing") == "someone/thing"
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path / "data"))
    assert resolve_dataset("someone/thing") == str(folder)
    assert resolve_dataset("someone/thing", str(tmp_path)) == "someone/thing"  # the argument wins
    with pytest.raises(ValueError, match="expected a path"):
        resolve_dataset(" ")


def test_load_splits_reads_only_the_splits_that_exist(tmp_path):
    folder = tmp_path / "someone" / "thing"
    folder.mkdir(parents=True)
    _dataset().to_parquet(folder / "validation.parquet")
    splits = load_splits("someone/thing", str(tmp_path))
    assert list(splits) == ["validation"]
    assert splits["validation"]["score"][:] == _dataset()["score"][:]


def test_load_splits_reads_configurations(tmp_path):
    for name, rows in (("big", 5), ("small", 2)):
        (tmp_path / name).mkdir()
        _dataset(rows).to_parquet(tmp_path / name / "test.parquet")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: big\n  default: true\n  data_files:\n  - split: test\n    path: big/test.parquet\n"
        "- config_name: small\n  data_files:\n  - split: test\n    path: small/test.parquet\n---\n"
    )
    assert len(load_splits(str(tmp_path))["test"]) == 5
    assert len(load_splits(str(tmp_path), config="small")["test"]) == 2
    with pytest.raises(ValueError, match="absent"):
        load_splits(str(tmp_path), config="absent")


def test_folders_of_one_name_and_files_that_change_are_told_apart(tmp_path):
    for place, rows in (("a", 5), ("b", 2), ("a", 4)):
        folder = tmp_path / place / "thing"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(
            "---\nconfigs:\n- config_name: one\n  data_files:\n  - split: test\n    path: rows.parquet\n---\n"
        )
        _dataset(rows).to_parquet(folder / "rows.parquet")
        assert len(load_splits(str(folder))["test"]) == rows


def test_a_damaged_file_is_named(tmp_path):
    _dataset().to_parquet(tmp_path / "train.parquet")
    _dataset().to_parquet(tmp_path / "test.parquet")
    whole = (tmp_path / "test.parquet").read_bytes()
    (tmp_path / "test.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetFileError, match=r"test\.parquet cannot be read"):
        load_splits(str(tmp_path))


@pytest.mark.parametrize("read", [load_splits, load_streams, lambda name: find_entry_of_folder(Path(name))])
def test_a_folder_with_a_loading_script_is_told_to_do_without(tmp_path, read):
    folder = tmp_path / "mine"
    folder.mkdir()
    _dataset().to_parquet(folder / "train.parquet")
    (folder / "mine.py").touch()
    with pytest.raises(DatasetFileError, match=r"mine has the loading script mine\.py.*rename or remove mine\.py"):
        read(str(folder))


def test_a_dataset_of_the_hub_with_a_loading_script_is_wanted_as_parquet_files(monkeypatch):
    def load_dataset(*arguments, **options):
        raise RuntimeError("Dataset scripts are no longer supported, but found old.py")

    monkeypatch.setattr(sources, "is_hub_reachable", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DatasetFileError, match=r"some/old has the loading script old\.py.*copy of it in Parquet"):
        load_splits("some/old")


@pytest.mark.parametrize("offline", [True, False])
def test_neither_folder_nor_hub_is_said_at_once(tmp_path, monkeypatch, offline):
    loads: list[bool] = []
    original = datasets.load_dataset

    def load_dataset(*arguments, **options):
        loads.append(datasets.config.HF_HUB_OFFLINE)
        return original(*arguments, **options)

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(sources, "is_hub_reachable", lambda: False)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DatasetUnavailableError) as caught:
        load_splits("nobody/nothing", str(tmp_path))
    for part in (
        "'nobody/nothing'",
        str(tmp_path / "nobody" / "nothing"),
        "(or set `data_dir`)",
        "CTXZOO_DATA",
    ):
        assert part in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert loads == [True]  # no request, so no retries
    assert datasets.config.HF_HUB_OFFLINE is offline


def test_the_hub_counts_as_silent_when_the_connection_fails(monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the discard port: refused at once
    assert not sources.is_hub_reachable()


def test_an_empty_folder_is_unavailable(tmp_path):
    with pytest.raises(DatasetUnavailableError, match="or set `dataset` to sample, which is gen"):
        load_splits(str(tmp_path), sample=True)


def test_a_file_is_not_a_folder(tmp_path):
    file = tmp_path / "train.parquet"
    _dataset().to_parquet(file)
    with pytest.raises(ValueError, match="expected the folder"):
        load_splits(str(file))


def test_fingerprint_depends_on_content_only(tmp_path):
    dataset = _dataset()
    expected = dataset_fingerprint(dataset)
    halves = datasets.concatenate_datasets([dataset.select(range(2)), dataset.select(range(2, 6))])
    picked = datasets.concatenate_datasets([dataset, dataset]).select([6, 1, 8, 3, 10, 5])
    dataset.to_parquet(tmp_path / "train.parquet", batch_size=2)
    reordered = dataset.select_columns(["score", "flag", "span", "marks", "text"])
    wide = datasets.Dataset(
        datasets.table.InMemoryTable(
            dataset.data.table.set_column(
                0, "text", dataset.data.table.column("text").cast(pa.large_string())
            ).replace_schema_metadata()
        )
    )
    for same in (
        halves,
        picked,
        load_splits(str(tmp_path))["train"],
        reordered,
        wide,
        dataset.shuffle(seed=1).sort("score"),
    ):
        assert dataset_fingerprint(same) == expected


def test_fingerprint_is_frozen():
    """The value other machines and later versions must find again."""
    dataset = datasets.Dataset.from_dict({"a": ["x", "yz", ""], "b": [[1], [], [2, 3]]})
    assert dataset_fingerprint(dataset) == "195cb6bc84567f154e4dae8f563a4b4995b48d7ae97b5dc7845ceb5e5b891a81"


def test_fingerprint_sees_every_change():
    dataset = _dataset()
    table = dataset.to_dict()
    changes = {
        "text": ["line 0", *table["text"][1:]],
        "marks": [[0], [], *table["marks"][2:]],
        "span": [*table["span"][:-1], {"word": "w", "place": 5}],
        "flag": [False, *table["flag"][1:]],
        "score": [float(np.nextafter(0.0, 1.0)), *table["score"][1:]],
    }
    prints = {
        dataset_fingerprint(datasets.Dataset.from_dict({**table, column: values})) for column, values in changes.items()
    }
    prints.add(dataset_fingerprint(dataset))
    prints.add(dataset_fingerprint(dataset.select([1, 0, 2, 3, 4, 5])))
    prints.add(dataset_fingerprint(dataset.select(range(5))))
    prints.add(dataset_fingerprint(dataset.rename_column("score", "mark")))
    assert len(prints) == 9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ["ab", "c"]}, {"a": ["a", "bc"]}),  # borders between strings
        ({"a": [["x"], ["y", "z"]]}, {"a": [["x", "y"], ["z"]]}),  # borders between lists
        ({"a": ["", "x"]}, {"a": [None, "x"]}),  # null is not the empty string
        ({"a": [0, 1]}, {"a": [None, 1]}),
        ({"a": [1, 2]}, {"a": [1.0, 2.0]}),
    ],
)
def test_fingerprint_tells_lookalikes_apart(one, other):
    assert dataset_fingerprint(datasets.Dataset.from_dict(one)) != dataset_fingerprint(
        datasets.Dataset.from_dict(other)
    )


def test_fingerprint_names_a_column_it_cannot_hash():
    table = pa.table({"price": pa.array([1]).cast(pa.decimal128(20, 0))})
    with pytest.raises(DatasetFileError, match=r"'price' has the type decimal128.*; expected text"):
        dataset_fingerprint(datasets.Dataset(datasets.table.InMemoryTable(table)))


def test_the_fingerprint_of_text_is_that_of_its_letters_and_times_count():
    def of(values):
        return dataset_fingerprint(datasets.Dataset(datasets.table.InMemoryTable(pa.table({"x": values}))))

    words, kinds = ["a", "bc", None], (pa.string(), pa.large_string(), pa.string_view())
    assert len({of(pa.array(words, kind)) for kind in kinds}) == 1
    lists = (pa.list_(pa.string()), pa.list_(pa.string_view()), pa.large_list(pa.string()))
    assert len({of(pa.array([["a", "bc"], []], kind)) for kind in lists}) == 1
    assert len({of(pa.array([second], pa.timestamp("s"))) for second in (1, 2)}) == 2


@pytest.mark.parametrize("name", ["no where.csv", "nowhere.csv", "my data/none", "/no/folder", "./none"])
def test_what_can_be_no_hub_id_is_not_asked_for(name, monkeypatch):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("asked"))
    with pytest.raises(DatasetUnavailableError, match=f"no file or folder '{name}'; expected one, or a Hub id"):
        load_splits(name)


def test_a_folder_with_a_blank_in_its_name(tmp_path):
    (tmp_path / "my data").mkdir()
    _dataset().to_parquet(tmp_path / "my data" / "train.parquet")
    assert list(load_splits(str(tmp_path / "my data"))) == ["train"]


@pytest.mark.parametrize("name", ["ctxzoo-data/reuters8", "ctxzoo-data/never-made"])
def test_names_of_our_own_never_reach_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("asked"))
    monkeypatch.setattr(sources, "is_hub_reachable", lambda: pytest.fail("asked"))
    with pytest.raises(DatasetUnavailableError, match=f"on no hub. Get it: ctxzoo data get {name} --data_dir"):
        load_splits(name, str(tmp_path / "my data"), sample=True)
    with pytest.raises(
        FileNotFoundError, match=f"there is no checkpoint '{name}': names under ctxzoo-data/ are of data"
    ):
        refuse_missing_path(name, "checkpoint")
    monkeypatch.setattr(safetensors_files, "snapshot_download", lambda *_, **__: pytest.fail("asked"))
    with pytest.raises(FileNotFoundError, match=f"{name}: no such word vectors in .*; `ctxzoo data get {name}` builds"):
        read_word_vectors(name)


def test_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert get_data_folder() == tmp_path / "share" / "ctxzoo" / "datasets"
    (get_data_folder() / "ctxzoo-data" / "films").mkdir(parents=True)
    assert resolve_dataset("ctxzoo-data/films") == str(get_data_folder() / "ctxzoo-data" / "films")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_data_folder() == tmp_path / ".local" / "share" / "ctxzoo" / "datasets"
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path / "named"))
    assert get_data_folder() == tmp_path / "named"
    assert get_data_folder("given") == Path("given")
