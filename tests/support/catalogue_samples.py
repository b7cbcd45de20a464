"""A small entry of the catalogue with its raw files, for tests of getting and checking."""

from __future__ import annotations

from dataclasses import replace

from ctxzoo.catalogue.build import build_dataset
from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_lines import make_label_file_converter
from ctxzoo.data.sources import dataset_fingerprint
from tests.support.file_server import FileServer

RAW = {"films.neg": b"dull\n\ntoo long\n", "films.pos": "très bien \n".encode()}
ROWS = {"text": ["dull", "too long", "très bien"], "label": [0, 0, 1]}
KINDS = {"text": "text", "label": ("neg", "pos")}


def small_entry(server: FileServer, *, differs: str = "", name: str = "ctxzoo-data/films") -> Entry:
    """Return the entry of three reviews, whose raw files the server holds."""
    server.files.update(RAW)
    return Entry(
        name=name,
        description="Three reviews of films.",
        licence="none is stated",
        source="a server of the test",
        how="All reviews in one split.",
        uses=("sentence_linear",),
        megabytes=0.1,
        kinds=KINDS,
        files=tuple(RawFile(f"{server.url}/{file}") for file in RAW),
        convert=make_label_file_converter([("films.neg", 0, "neg"), ("films.pos", 1, "pos")], label_text=False),
        differs=differs,
        fingerprints={"train": dataset_fingerprint(build_dataset(ROWS, KINDS))},
    )


def configured_entry(server: FileServer) -> Entry:
    """Return an entry of two configurations."""
    entry = small_entry(server, name="ctxzoo-data/shifts")
    fingerprint = entry.fingerprints["train"]
    convert = entry.convert
    assert convert is not None

    def both(files):  # type: ignore[no-untyped-def]
        (rows,) = convert(files).values()
        return {"old/test": rows, "new/test": rows}

    return replace(entry, convert=both, fingerprints={"old/test": fingerprint, "new/test": fingerprint})
