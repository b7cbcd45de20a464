"""The page of a model of music: a piece continued, heard, seen, and as a MIDI file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from ctxzoo.app.frame import Page
from ctxzoo.tasks.polyphonic_music.midi import SUFFIXES, Grid, read_midi, write_midi
from ctxzoo.tasks.polyphonic_music.picture import draw_roll
from ctxzoo.tasks.polyphonic_music.rolls import LOWEST_PITCH, roll_of_notes

GRID = Grid()
STEPS = 32  # that are added: fewer than by `ctxzoo predict`, so that they are there at once
STEP_SECONDS = 0.25  # an eighth at 120 beats a minute, as in the MIDI files
SAMPLE_RATE = 22_050  # samples of sound in a second
OVERTONES = (1.0, 0.5, 0.25, 0.12)  # strengths of a tone and of those at 2, 3, 4 times its frequency
FADE_SECONDS = 0.01  # at both ends of a tone, without which it clicks


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a MIDI file and how steps are drawn beside sound, piano roll and MIDI file of the continued piece."""
    folder = tempfile.TemporaryDirectory(prefix="ctxzoo-page-")  # as long as the page
    with gr.Row():
        with gr.Column():
            file = gr.File(
                label="A piece as a MIDI file; without one a short example is continued",
                file_types=list(SUFFIXES),
                type="filepath",
                height=170,
            )
            read = gr.Slider(1, 256, 32, step=1, label="First steps of the piece that are read, each an eighth")
            steps = gr.Slider(1, 256, STEPS, step=1, label="Steps to add")
            temperature = gr.Slider(0.1, 2.0, 1.0, step=0.1, label="Temperature: below 1 likely keys are likelier")
            seed = gr.Number(0, label="Seed of the draws", precision=0, minimum=0)
            button = gr.Button("Go on", variant="primary")
        with gr.Column():
            sound = gr.Audio(
                label="The piece and its continuation", interactive=False, format="wav", buttons=["download"]
            )
            roll = gr.Image(
                label="Piano roll", show_label=False, type="filepath", interactive=False, buttons=["fullscreen"]
            )
            midi = gr.File(label="MIDI file", interactive=False)
    answer = partial(continue_piece, pipeline, example["notes"], folder)
    return Page([file, read, steps, temperature, seed], [sound, roll, midi], button, answer)


def continue_piece(
    pipeline: Any,
    example: Sequence[Sequence[int]],
    folder: tempfile.TemporaryDirectory[str],
    file: str | None,
    read: int,
    steps: int,
    temperature: float,
    seed: int,
) -> list[Any]:
    """Return the sound, the picture and the MIDI file of a piece and of the steps that a model adds.

    Raises:
        OSError, ValueError: see `read_midi`; a number out of its range.
    """
    piece = example if file is None else read_midi(file, GRID)
    found = pipeline(piece, steps=int(steps), prompt_steps=int(read), temperature=temperature, seed=int(seed or 0))
    whole = [*found["prompt"], *found["continuation"]]
    picture, midi = Path(folder.name, "roll.png"), Path(folder.name, "continued.mid")
    draw_roll(roll_of_notes(found["prompt"]), roll_of_notes(found["continuation"]), picture)
    write_midi(whole, midi, GRID)
    return [(SAMPLE_RATE, synthesize(whole)), str(picture), str(midi)]


def synthesize(notes: Sequence[Sequence[int]]) -> NDArray[np.int16]:
    """Return the sound of a piece, (samples,), of which no sample is louder than 0.8 of the largest.

    Args:
        notes: Numbers of the piano keys (0..87) that sound, for each time step. A key that sounds in several steps in a
            row is one tone.
    """
    step_samples = round(STEP_SECONDS * SAMPLE_RATE)
    wave = np.zeros(len(notes) * step_samples)
    for key in sorted({key for step in notes for key in step}):
        sounds = np.array([key in step for step in notes], np.int8)
        starts, ends = (np.flatnonzero(np.diff(sounds, prepend=0, append=0) == edge) for edge in (1, -1))
        for start, end in zip(starts * step_samples, ends * step_samples, strict=True):
            wave[start:end] += _make_tone(key, int(end - start))
    loudest = max(float(np.abs(wave).max(initial=0.0)), 1e-9)
    return (wave / loudest * 0.8 * np.iinfo(np.int16).max).astype(np.int16)


def _make_tone(key: int, samples: int) -> NDArray[np.float64]:
    """Return a tone of a piano key that fades away, (samples,)."""
    seconds = np.arange(samples) / SAMPLE_RATE
    frequency = 440.0 * 2 ** ((key + LOWEST_PITCH - 69) / 12)  # key 69 of MIDI is the A of a tuning fork
    heard = [(n, strength) for n, strength in enumerate(OVERTONES, start=1) if n * frequency < SAMPLE_RATE / 2]
    wave = sum(strength * np.sin(2 * np.pi * n * frequency * seconds) for n, strength in heard)
    fade = np.minimum(1.0, np.minimum(seconds, seconds[::-1]) / FADE_SECONDS)
    tone: NDArray[np.float64] = wave * np.exp(-1.5 * seconds) * fade
    return tone
