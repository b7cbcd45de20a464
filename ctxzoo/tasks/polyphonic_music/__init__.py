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
    from ctxzoo.tasks.polyphonic_music.evaluation import PieceScore, evaluate, piece_scores
    from ctxzoo.tasks.polyphonic_music.gate_picture import draw_gate_densities, gate_draws
    from ctxzoo.tasks.polyphonic_music.gates import gates_of_split
    from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi, write_midi
    from ctxzoo.tasks.polyphonic_music.picture import draw_prediction, draw_roll
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
            "draw_gate_densities": "ctxzoo.tasks.polyphonic_music.gate_picture",
            "draw_prediction": "ctxzoo.tasks.polyphonic_music.picture",
            "draw_roll": "ctxzoo.tasks.polyphonic_music.picture",
            "evaluate": "ctxzoo.tasks.polyphonic_music.evaluation",
            "gate_draws": "ctxzoo.tasks.polyphonic_music.gate_picture",
            "gates_of_split": "ctxzoo.tasks.polyphonic_music.gates",
            "notes_of_roll": "ctxzoo.tasks.polyphonic_music.rolls",
            "piece_scores": "ctxzoo.tasks.polyphonic_music.evaluation",
            "predict_roll": "ctxzoo.tasks.polyphonic_music.continuation",
            "read_midi": "ctxzoo.tasks.polyphonic_music.midi",
            "roll_of_notes": "ctxzoo.tasks.polyphonic_music.rolls",
            "write_midi": "ctxzoo.tasks.polyphonic_music.midi",
        },
    )
