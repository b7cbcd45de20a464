"""Where a dataset comes from (a path, the data folder, the Hub), how it is loaded, its columns, its content hash."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined, unused-ignore]

from ctxzoo.data.files import FILE_SUFFIXES, OWN_NAMESPACE, is_ctxzoo_dataset_name, is_hub_reachable, path_exists
from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.notices import format_error_reason
from ctxzoo.data.rows import BLOCK
from ctxzoo.data.unpacking import refuse_large_files

if TYPE_CHECKING:
    import datasets  # at run time where it is used: `ctxzoo predict` of a file never needs it

DATA_DIR_VARIABLE = "CTXZOO_DATA"

_GET_INTO = "ctxzoo data get {} --data_dir {}"


class DatasetUnavailableError(OSError):
    """The dataset is neither in a folder nor available from the Hub."""


def get_data_folder(data_dir: str | None = None) -> Path:
    """Return the folder of datasets: `data_dir`, else `$CTXZOO_DATA`, else `ctxzoo/datasets` in the user's data folder.

    The last is `$XDG_DATA_HOME` or `~/.local/share`. The folder need not exist.
    """
    given = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ctxzoo" / "datasets"


def resolve_dataset(name: str, data_dir: str | None = None) -> str:
    """Return the path or Hub id to load `name` from.

    Args:
        name: An existing file or folder, or a Hub id such as "rajpurkar/squad_v2".
        data_dir: Folder with one sub-folder per dataset, `<namespace>/<name>`; default: the one that `get_data_folder`
            finds.

    Returns:
        `name` if it exists, else its folder in `data_dir` if that exists, else `name` as a Hub id.

    Raises:
        ValueError: empty name.
    """
    if not name.strip():
        raise ValueError(
            f"dataset name is {name!r}; expected a path, a Hub id such as 'rajpurkar/squad_v2', or 'sample'"
        )
    if path_exists(Path(name)):
        return name
    folder = get_data_folder(data_dir) / name
    return str(folder) if path_exists(folder) and folder.is_dir() else name


def load_splits(
    name: str,
    data_dir: str | None = None,
    config: str | None = None,
    *,
    sample: bool = False,
    cache_dir: str | None = None,
) -> datasets.DatasetDict:
    """Load the splits that `name` has.

    A folder is read the way the Hub reads a dataset repository (README.md with `configs`, or files named after
    splits). Without network, a dataset that was downloaded before is read from the cache of `datasets`. Names of
    ctxzoo's own (`is_ctxzoo_dataset_name`) are never asked for on the Hub.

    Args:
        name: Dataset: an existing file or folder, or a Hub id, as in `resolve_dataset`.
        data_dir: Folder with one sub-folder per dataset, as in `resolve_dataset`.
        config: Name of the dataset's configuration, where it has several.
        sample: Whether a generated dataset has this name, so that the error can say so.
        cache_dir: Cache folder of the `datasets` library; default: its own.

    Raises:
        DatasetUnavailableError: no such folder, and the Hub does not have the dataset, does not answer or is not asked.
        DatasetFileError: a file of the dataset is damaged or empty, or the dataset has a loading script.
        PackedFileError: a file of a folder unpacks to more than it may, see `refuse_large_files`.
        ValueError: unknown `config`.
    """
    source = resolve_dataset(name, data_dir)
    if Path(source).is_file():
        raise ValueError(f"{source} is a file; expected the folder that holds it, or a Hub id")
    if not Path(source).is_dir() and not _can_be_hub_id(source):
        raise DatasetUnavailableError(f"no file or folder {name!r}; expected one, or a Hub id such as 'user/name'")
    generated = " (or set `dataset` to sample, which is generated)" if sample else ""
    if not Path(source).is_dir() and is_ctxzoo_dataset_name(source):
        raise DatasetUnavailableError(_format_not_built_error(name, data_dir) + generated)
    from datasets.exceptions import DatasetGenerationError

    try:
        with refuse_loading_script(source):
            if Path(source).is_dir():
                refuse_large_files(Path(source))
                return _load_dataset(source, config, cache_dir or _choose_cache_folder(Path(source)))
            return _load_from_hub(source, config, cache_dir)
    except (FileNotFoundError, ConnectionError) as error:  # not on the Hub, no data file, no network
        message = (
            _format_empty_folder_error(source)
            if Path(source).is_dir()
            else _format_unavailable_error(name, data_dir, str(error))
        )
        raise DatasetUnavailableError(message + generated) from error
    except DatasetGenerationError as error:
        raise DatasetFileError(_format_unreadable_error(source, error)) from error


def load_streams(name: str, data_dir: str | None = None) -> datasets.IterableDatasetDict:
    """Return the splits of a folder or of a dataset of the Hub as streams, whose rows are read while they are used.

    Args:
        name, data_dir: Dataset and folder of datasets, as in `load_splits`.

    Raises:
        DatasetUnavailableError: no such folder, and the Hub does not have the dataset, or does not answer.
        DatasetFileError: the dataset has a loading script.
    """
    import datasets

    source = resolve_dataset(name, data_dir)
    if not Path(source).is_dir() and not _can_be_hub_id(source):
        raise DatasetUnavailableError(f"no file or folder {name!r}; expected one, or a Hub id such as 'user/name'")
    if not Path(source).is_dir() and is_ctxzoo_dataset_name(source):
        raise DatasetUnavailableError(_format_not_built_error(name, data_dir))
    try:
        with refuse_loading_script(source):
            return datasets.IterableDatasetDict(datasets.load_dataset(source, streaming=True))
    except (FileNotFoundError, ConnectionError) as error:
        is_folder = Path(source).is_dir()
        message = (
            _format_empty_folder_error(source) if is_folder else _format_unavailable_error(name, data_dir, str(error))
        )
        raise DatasetUnavailableError(message) from error


@contextmanager
def refuse_loading_script(source: str) -> Iterator[None]:
    """Within a `with` block, say what to do where `datasets` refuses a folder or Hub id for its loading script.

    Raises:
        DatasetFileError: the dataset has a loading script.
    """
    try:
        yield
    except RuntimeError as error:
        if "scripts are no longer supported" not in str(error):
            raise
        script = str(error).rsplit(" ", 1)[-1]
        advice = (
            f"rename or remove {script}"
            if Path(source).is_dir()
            else "use a copy of it in Parquet files, or the folder of its files"
        )
        raise DatasetFileError(
            f"{source} has the loading script {script}, which the library datasets does not run: {advice}"
        ) from error


def dataset_fingerprint(dataset: datasets.Dataset) -> str:
    """Return the sha256 (hex) over column names, types and values in row order.

    Unlike the fingerprint that `datasets` keeps, it depends on nothing else: not on the path, the cache, the column
    order, the chunks of the Arrow table, or on how the rows were selected.

    Raises:
        DatasetFileError: a column of a type that cannot be hashed by value.
    """
    running = RunningFingerprint()
    running.add_rows(dataset.with_format("arrow")[:])
    return running.hexdigest()


class RunningFingerprint:
    """The `dataset_fingerprint` of rows that come table by table, all with the same columns."""

    def __init__(self) -> None:
        self._hashes: dict[str, dict[str, Any]] = {}

    def add_rows(self, table: pa.Table) -> None:
        """Add the rows of a table; errors are those of `dataset_fingerprint`."""
        # Rows that were selected in another order are a chunk each, which take many times as long as one of all.
        for begin in range(0, max(1, table.num_rows), BLOCK):
            block = table.slice(begin, BLOCK).combine_chunks()
            for column in block.column_names:
                chunked = block.column(column)
                for chunk in chunked.chunks or [pa.array([], chunked.type)]:
                    _update_hashes(self._hashes.setdefault(column, {}), column, chunk)

    def hexdigest(self) -> str:
        """Return the sha256 (hex) of all rows so far."""
        digest = hashlib.sha256()
        for column in sorted(self._hashes):
            for path, value_hash in self._hashes[column].items():
                digest.update(f"{path}={value_hash.hexdigest()};".encode())
        return digest.hexdigest()


def get_column_values(splits: Mapping[str, datasets.Dataset], split: str, name: str, dataset: str) -> list[Any]:
    """Return the values of a column, one or more.

    Raises:
        ValueError: no such split or column, or no row.
    """
    if split not in splits:
        raise ValueError(f"dataset {dataset!r} has the splits {sorted(splits)}, expected {split!r}")
    rows = splits[split]
    if name not in rows.column_names:
        raise ValueError(f"dataset {dataset!r}, split {split!r} has the columns {rows.column_names}, expected {name!r}")
    values: list[Any] = rows[name][:]
    if not values:
        raise ValueError(f"dataset {dataset!r}, split {split!r} has no row")
    return values


def to_plain_arrow_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that stands for equal content in a hash: one type for all texts, one for all lists."""
    if pa.types.is_dictionary(kind):
        return to_plain_arrow_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_one(kind) for is_one in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        return pa.list_(to_plain_arrow_type(kind.value_type))
    return kind


def cast_to_plain_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in its plain type (`to_plain_arrow_type`), so that equal content has equal bytes."""
    plain = to_plain_arrow_type(column.type)
    return column if column.type == plain else column.cast(plain)


def _can_be_hub_id(name: str) -> bool:
    """Whether the name has the form of a dataset on the Hub rather than of a file."""
    if Path(name).suffix.lower() in FILE_SUFFIXES:
        return False
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def _load_dataset(source: str, config: str | None, cache_dir: str | None) -> datasets.DatasetDict:
    """Return all splits of a dataset, loaded by the library `datasets` from a folder or the Hub."""
    import datasets

    return datasets.DatasetDict(datasets.load_dataset(source, config, cache_dir=cache_dir))


def _choose_cache_folder(folder: Path) -> str | None:
    """Return the cache folder for `datasets` to read a local folder in its present state, or None for the usual one.

    By itself it tells folders whose README.md has `configs` apart by their names alone: what it read of another folder,
    or of this one before its files changed, would be taken for it.
    """
    from datasets import config

    if not (folder / "README.md").is_file():
        return None
    digest = hashlib.sha256(str(folder.resolve()).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place, state = path.relative_to(folder), path.stat()
        if not any(part.startswith(".") for part in place.parts):
            digest.update(f"{place}:{state.st_size}:{state.st_mtime_ns};".encode())
    return str(Path(config.HF_DATASETS_CACHE) / f"ctxzoo-{digest.hexdigest()[:16]}")


def _load_from_hub(source: str, config: str | None, cache_dir: str | None) -> datasets.DatasetDict:
    """Return the splits of a dataset of the Hub, from the cache if one short request finds the Hub unreachable."""
    from datasets import config as datasets_config

    if datasets_config.HF_HUB_OFFLINE or is_hub_reachable():
        return _load_dataset(source, config, cache_dir)
    with _force_offline():
        return _load_dataset(source, config, cache_dir)


@contextmanager
def _force_offline() -> Iterator[None]:
    """Within a `with` block, let the library `datasets` read its cache alone."""
    from datasets import config

    before = config.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE = before


def _format_empty_folder_error(folder: str) -> str:
    """Return the message for a folder without files of data."""
    return (
        f"the folder {folder} holds no file of data; expected .csv, .json, .jsonl, .parquet or .txt files, named after "
        "their split (train, validation, test)"
    )


def _format_not_built_error(name: str, data_dir: str | None) -> str:
    """Return the message for a dataset of this project that has not been built on this machine."""
    return (
        f"Dataset {name!r} is not available: it is not in {get_data_folder(data_dir)}, and names under "
        f"{OWN_NAMESPACE}/ are on no hub. Get it: {_format_get_command(name, data_dir)} (or set `data_dir`)"
    )


def _format_unavailable_error(name: str, data_dir: str | None, reason: str) -> str:
    """Return the message for a dataset that is neither in the data folder nor, for `reason`, from the Hub."""
    return (
        f"Dataset {name!r} is not available: looked in {get_data_folder(data_dir) / name}, and the Hub could not "
        f"deliver it ({reason}). Get it, if `ctxzoo data list` names it: {_format_get_command(name, data_dir)}; or "
        f"name a folder that holds <namespace>/<name> with the variable {DATA_DIR_VARIABLE} (or set `data_dir`)"
    )


def _format_get_command(name: str, data_dir: str | None) -> str:
    """Return the command line that builds the dataset, into `data_dir` if one is set."""
    return _GET_INTO.format(name, shlex.quote(data_dir)) if data_dir else f"ctxzoo data get {name}"


def _format_unreadable_error(source: str, error: Exception) -> str:
    """Return an error that names the damaged file where the dataset is a folder of Parquet files."""
    for path in sorted(Path(source).rglob("*.parquet")) if Path(source).is_dir() else []:
        try:
            for _ in pq.ParquetFile(path).iter_batches():
                pass
        except (pa.ArrowException, OSError) as reason:
            return f"{path} cannot be read: {format_error_reason(reason)}. Download or copy the file again."
    return f"Dataset {source!r} cannot be read: {error.__cause__ or error}"


def _update_hashes(hashes: dict[str, Any], path: str, array: pa.Array) -> None:
    """Add the values of `array` to the running hashes of its leaves, one per path.

    Lengths, validity and values go to separate hashes, so that the borders between chunks leave no trace.
    """
    kind = array.type
    if isinstance(kind, pa.ExtensionType):
        _update_hashes(hashes, path, array.storage)
    elif pa.types.is_dictionary(kind):
        _update_hashes(hashes, path, array.dictionary_decode())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _add_values_to_hash(hashes, f"{path}:valid", _get_validity_mask(array))
        filled = pc.fill_null(array, "") if array.null_count else array
        _add_values_to_hash(
            hashes, f"{path}:length", pc.binary_length(filled).cast(pa.int64()).to_numpy(zero_copy_only=False)
        )
        _add_values_to_hash(hashes, f"{path}:utf8", _get_utf8_bytes(filled))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        _add_values_to_hash(hashes, f"{path}:valid", _get_validity_mask(array))
        lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
        _add_values_to_hash(hashes, f"{path}:count", lengths.to_numpy(zero_copy_only=False))
        _update_hashes(hashes, f"{path}[]", array.flatten())
    elif pa.types.is_struct(kind):
        _add_values_to_hash(hashes, f"{path}:valid", _get_validity_mask(array))
        for field, child in sorted(zip(kind, array.flatten(), strict=True), key=lambda pair: str(pair[0].name)):
            _update_hashes(hashes, f"{path}.{field.name}", child)
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        _add_values_to_hash(hashes, f"{path}:valid", _get_validity_mask(array))
        filled = pc.fill_null(array, False if pa.types.is_boolean(kind) else pa.scalar(0, kind))
        values = filled.to_numpy(zero_copy_only=False)
        _add_values_to_hash(hashes, f"{path}:{kind}", values.astype(values.dtype.newbyteorder("<"), copy=False))
    elif pa.types.is_null(kind):
        _add_values_to_hash(hashes, f"{path}:null", np.zeros(len(array), dtype=np.uint8))
    elif to_plain_arrow_type(kind) != kind:
        _update_hashes(hashes, path, array.cast(to_plain_arrow_type(kind)))
    elif pa.types.is_temporal(kind):
        _update_hashes(hashes, f"{path}:{kind}", array.view(pa.int64() if kind.bit_width == 64 else pa.int32()))
    else:
        raise DatasetFileError(
            f"column {path!r} has the type {kind}; expected text, numbers, booleans, times, or lists or structs of them"
        )


def _add_values_to_hash(hashes: dict[str, Any], key: str, values: np.ndarray[Any, Any] | memoryview) -> None:
    """Add the bytes of `values` to the hash under `key`, begun here if it is new."""
    data = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
    hashes.setdefault(key, hashlib.sha256()).update(data)


def _get_validity_mask(array: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array with 1 where a value is there and 0 where it is null."""
    valid: np.ndarray[Any, Any] = pc.is_valid(array).cast(pa.uint8()).to_numpy(zero_copy_only=False)
    return valid


def _get_utf8_bytes(array: pa.Array) -> memoryview:
    """Return the bytes of all strings of an array without nulls, in order, without a copy."""
    _, offsets_buffer, data = array.buffers()
    if len(array) == 0 or data is None:
        return memoryview(b"")
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = np.frombuffer(offsets_buffer, dtype=width)
    return memoryview(data)[int(offsets[array.offset]) : int(offsets[array.offset + len(array)])]
