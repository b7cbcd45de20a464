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
    "draw_gate_densities",
    "draw_prediction",
    "draw_roll",
    "evaluate",
    "gate_draws",
    "gates_of_split",
    "notes_of_roll",
    "piece_scores",
    "predict_roll",
    "read_midi",
    "roll_of_notes",
    "write_midi",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.polyphonic_music.continuation import continue_roll, predict_roll
    from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
    from ctxzoo.tasks.polyphonic_music.gates import gates_of_split
    from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi, write_midi
    from ctxzoo.tasks.polyphonic_music.picture import draw_gate_densities, draw_prediction, draw_roll, gate_draws
    from ctxzoo.tasks.polyphonic_music.rolls import notes_of_roll, roll_of_notes
    from ctxzoo.tasks.polyphonic_music.task import MusicScores, PieceScore, PolyphonicMusicTask, evaluate, piece_scores
else:
    __getattr__, __dir__ = lazy_exports(__name__)
