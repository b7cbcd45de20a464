"""The catalogue: every dataset that a recipe, a table or an evaluation names."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from importlib.resources import files

from ctxzoo.catalogue import (
    entries_sentences,
    entries_words,
    events,
    music,
    questions,
    regression,
    sessions,
    votes,
)
from ctxzoo.catalogue.entry import Entry

# Name of a dataset -> split -> fingerprint of the rows that results were computed on; tests/support/catalogue_facts.py
# writes it.
FINGERPRINTS: dict[str, dict[str, str]] = json.loads((files("ctxzoo.catalogue") / "fingerprints.json").read_text())
ENTRIES: dict[str, Entry] = {
    entry.name: replace(entry, fingerprints=FINGERPRINTS.get(entry.name, entry.fingerprints))
    for entry in (
        *entries_sentences.ENTRIES,
        *questions.ENTRIES,
        *entries_words.ENTRIES,
        *music.ENTRIES,
        *sessions.ENTRIES,
        *votes.ENTRIES,
        *events.ENTRIES,
        *regression.ENTRIES,
    )
}


def find_entry_by_name(name: str) -> Entry:
    """Return the entry of a dataset, by its whole name or the part behind the slash, in any case.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    folded_name = name.strip().casefold()
    entries = [entry for entry in ENTRIES.values() if folded_name in _list_entry_names(entry)]
    if len(entries) == 1:
        return entries[0]
    shorts = {short: entry.name for entry in ENTRIES.values() for short in _list_entry_names(entry)}
    near = difflib.get_close_matches(folded_name, shorts, n=1)
    meant = f", did you mean {shorts[near[0]]}?" if near else ""
    raise ValueError(f"the catalogue has no dataset {name!r}{meant or ';'} `ctxzoo data list` names all")


def _list_entry_names(entry: Entry) -> tuple[str, str]:
    """Return the names by which an entry is found, in lower case: with and without its namespace."""
    whole = entry.name.casefold()
    return whole, whole.rpartition("/")[2]
