"""Polyphonic music: which keys of a piano sound at the next step."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "MusicScores",
    "PieceScore",
    "PolyphonicMusicDataModule",
    "PolyphonicMusicTask",
    "continue_roll",
    "draw_roll",
    "evaluate",
    "piece_scores",
    "read_midi",
    "write_midi",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
    from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
    from ctxzoo.tasks.polyphonic_music.evaluation import PieceScore, evaluate, piece_scores
    from ctxzoo.tasks.polyphonic_music.midi import read_midi, write_midi
    from ctxzoo.tasks.polyphonic_music.picture import draw_roll
    from ctxzoo.tasks.polyphonic_music.task import MusicScores, PolyphonicMusicTask
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "MusicScores": "ctxzoo.tasks.polyphonic_music.task",
            "PieceScore": "ctxzoo.tasks.polyphonic_music.evaluation",
            "PolyphonicMusicDataModule": "ctxzoo.tasks.polyphonic_music.data",
            "PolyphonicMusicTask": "ctxzoo.tasks.polyphonic_music.task",
            "continue_roll": "ctxzoo.tasks.polyphonic_music.continuation",
            "draw_roll": "ctxzoo.tasks.polyphonic_music.picture",
            "evaluate": "ctxzoo.tasks.polyphonic_music.evaluation",
            "piece_scores": "ctxzoo.tasks.polyphonic_music.evaluation",
            "read_midi": "ctxzoo.tasks.polyphonic_music.midi",
            "write_midi": "ctxzoo.tasks.polyphonic_music.midi",
        },
    )
