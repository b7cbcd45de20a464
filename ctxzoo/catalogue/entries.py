"""The catalogue: every dataset that a recipe, a table or an evaluation names."""

from __future__ import annotations

import difflib
from dataclasses import replace

from ctxzoo.catalogue import (
    entries_events,
    entries_music,
    entries_questions,
    entries_regression,
    entries_sentences,
    entries_sessions,
    entries_votes,
    entries_words,
)
from ctxzoo.catalogue.entry import Entry
from ctxzoo.catalogue.fingerprints import FINGERPRINTS

ENTRIES: dict[str, Entry] = {
    entry.name: replace(entry, fingerprints=FINGERPRINTS.get(entry.name, entry.fingerprints))
    for entry in (
        *entries_sentences.ENTRIES,
        *entries_questions.ENTRIES,
        *entries_words.ENTRIES,
        *entries_music.ENTRIES,
        *entries_sessions.ENTRIES,
        *entries_votes.ENTRIES,
        *entries_events.ENTRIES,
        *entries_regression.ENTRIES,
    )
}


def entry_named(name: str) -> Entry:
    """Return the entry of a dataset, by its whole name or the part behind the slash, in any case.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    wanted = name.strip().casefold()
    found = [entry for entry in ENTRIES.values() if wanted in _names(entry)]
    if len(found) == 1:
        return found[0]
    shorts = {short: entry.name for entry in ENTRIES.values() for short in _names(entry)}
    near = difflib.get_close_matches(wanted, shorts, n=1)
    meant = f", did you mean {shorts[near[0]]}?" if near else ""
    raise ValueError(f"the catalogue has no dataset {name!r}{meant or ';'} `ctxzoo data list` names all")


def _names(entry: Entry) -> tuple[str, str]:
    whole = entry.name.casefold()
    return whole, whole.rpartition("/")[2]
