"""Polyphonic music: which keys of a piano sound at the next step."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "Grid",
    "MusicScores",
    "PieceScore",
    "PolyphonicMusicDataModule",
    "PolyphonicMusicTask",
    "continue_roll",
    "draw_roll",
    "evaluate",
    "notes_of_roll",
    "piece_scores",
    "read_midi",
    "roll_of_notes",
    "write_midi",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
    from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
    from ctxzoo.tasks.polyphonic_music.evaluation import PieceScore, evaluate, piece_scores
    from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi, write_midi
    from ctxzoo.tasks.polyphonic_music.picture import draw_roll
    from ctxzoo.tasks.polyphonic_music.rolls import notes_of_roll, roll_of_notes
    from ctxzoo.tasks.polyphonic_music.task import MusicScores, PolyphonicMusicTask
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Grid": "ctxzoo.tasks.polyphonic_music.midi",
            "MusicScores": "ctxzoo.tasks.polyphonic_music.task",
            "PieceScore": "ctxzoo.tasks.polyphonic_music.evaluation",
            "PolyphonicMusicDataModule": "ctxzoo.tasks.polyphonic_music.data",
            "PolyphonicMusicTask": "ctxzoo.tasks.polyphonic_music.task",
            "continue_roll": "ctxzoo.tasks.polyphonic_music.continuation",
            "draw_roll": "ctxzoo.tasks.polyphonic_music.picture",
            "evaluate": "ctxzoo.tasks.polyphonic_music.evaluation",
            "notes_of_roll": "ctxzoo.tasks.polyphonic_music.rolls",
            "piece_scores": "ctxzoo.tasks.polyphonic_music.evaluation",
            "read_midi": "ctxzoo.tasks.polyphonic_music.midi",
            "roll_of_notes": "ctxzoo.tasks.polyphonic_music.rolls",
            "write_midi": "ctxzoo.tasks.polyphonic_music.midi",
        },
    )
