"""What the catalogue keeps of the built datasets: fingerprints, and orders of rows, computed from the data folder.

`CTXZOO_DATA=… python -m tests.support.catalogue_facts` writes both into the package; a test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ctxzoo.catalogue
from ctxzoo.catalogue.check import load_splits_of_folder
from ctxzoo.catalogue.entries import ENTRIES, FINGERPRINTS
from ctxzoo.catalogue.entry import Entry
from ctxzoo.catalogue.order import KEY, SPLITS, hash_row_values
from ctxzoo.catalogue.questions import find_answer_offsets
from ctxzoo.data.sources import dataset_fingerprint, get_data_folder

FOLDER = Path(str(ctxzoo.catalogue.__file__)).parent
Arrays = dict[str, npt.NDArray[Any]]


def read(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each split of a dataset in the data folder."""
    with load_splits_of_folder(get_data_folder() / name) as found:
        return {split: rows.to_list() for split, rows in found.items()}


def fingerprints(entry: Entry) -> dict[str, str]:
    """Return the fingerprint of each split of a dataset in the data folder."""
    with load_splits_of_folder(get_data_folder() / entry.name) as found:
        return {
            split: dataset_fingerprint(rows.select_columns(list(entry.checked)) if entry.checked else rows)
            for split, rows in found.items()
        }


def orders() -> dict[str, Arrays]:
    """Return the stored orders by the name of their file."""
    return {
        "yelp": _keys("Yelp/yelp_review_full", ("text", "label")),
        "news_aggregator": _keys("ctxzoo-data/news_aggregator", ("title", "label")),
        "squad": _squad(),
        "roll_call": _roll_call(),
    }


def _keys(name: str, by: Iterable[str]) -> Arrays:
    return {
        split: np.array([hash_row_values(row[c] for c in by) for row in rows], KEY)
        for split, rows in read(name).items()
    }


def _squad() -> Arrays:
    course, mini = read("ctxzoo-data/squad_v2_cs224n")["test"], read("ctxzoo-data/squad_v2_mini")["train"]
    sample, shifts = read("ctxzoo-data/squad_v1_train_sample")["train"], read("ctxzoo-data/squadshifts")
    official = {row["title"] for row in read("rajpurkar/squad_v2")["validation"]}
    rest = [row for row in read("rajpurkar/squad")["validation"] if row["title"] not in official]
    parts = {"v2": course, "v1_dev": rest, "v1_train": sample}
    parts |= {name: shifts[f"{name}/test"] for name in ("new_wiki", "reddit")}
    everything = [(source, row["id"]) for source, rows in parts.items() for row in rows]
    index = {key: number for number, key in enumerate(everything)}
    order = np.array([index[row["source"], row["id"]] for row in mini], np.uint16)
    return {
        "order": order,
        **{f"occurrences_{name}": _occurrences(parts[name]) for name in ("v2", "v1_dev", "v1_train")},
    }


def _roll_call() -> Arrays:
    """Which votes of the last fold are validation, as bits, and on which side each bill is, where all are new."""
    splits = read("ctxzoo-data/roll_call")
    held_out = [
        (row["bill_id"], row["legislator_id"], split == "validation")
        for split in ("validation", "test")
        for row in splits[f"votes/{split}"]
    ]
    sides = [SPLITS.index(row["cold_start_split"]) for row in splits["bills/train"]]
    bits = [validation for _, _, validation in sorted(held_out)]
    return {"validation": np.packbits(np.array(bits, np.uint8)), "new_bills": np.array(sides, np.uint8)}


def _occurrences(rows: Iterable[dict[str, Any]]) -> npt.NDArray[np.uint8]:
    """Return, for each answer that occurs more than once in its context, which occurrence is meant."""
    found = []
    for row in rows:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            places = find_answer_offsets(row["context"], text)
            if len(places) > 1:
                found.append(places.index(start))
    return np.array(found, np.uint8)


def main() -> None:
    """Write fingerprints and orders into the package."""
    for name, arrays in orders().items():
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
    written = [entry for entry in ENTRIES.values() if entry.name in FINGERPRINTS or not entry.fingerprints]
    computed = {entry.name: fingerprints(entry) for entry in written}
    (FOLDER / "fingerprints.json").write_text(json.dumps(computed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
