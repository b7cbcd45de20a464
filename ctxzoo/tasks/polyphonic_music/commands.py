"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for polyphonic music."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxzoo.tasks.commands import Option, TaskCommands, how_to_score, positive, probability, write_json

CONFIG_NAME = Option("config_name", "of a dataset with several, such as jsb_chorales; default: the one it names")
GRID = (
    Option("steps_per_beat", "steps of MIDI files: 1 are quarters; default: 2, eighths", float),
    Option("step_seconds", "length of such a step by the clock instead", float),
)
STEPS = 64  # that are added


class PolyphonicMusicCommands(TaskCommands):
    title = "polyphonic music"
    train_options = (CONFIG_NAME, *GRID, Option("hidden_size", "units of a layer", positive))
    evaluate_options = (CONFIG_NAME, *GRID)
    predict_options = (
        Option("steps", f"to add; default: {STEPS}", positive),
        Option("prompt_steps", "read only so many of the file's first steps", positive),
        Option("row", "piece of a .jsonl or .parquet file, from 0; default: 0", int),
        Option("temperature", "below 1: what is likely becomes likelier; default: 1", float),
        Option("threshold", "probability from which a key sounds; nothing is drawn then", probability),
        Option("draw_seed", "of the draws; default: 0", int),
        Option("picture", "PNG file of the roll", Path),
        *GRID,
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.polyphonic_music.training import MusicTraining

        columns = (CONFIG_NAME.name, *(option.name for option in GRID))
        train_own_data(MusicTraining(), request_of(options, own, columns=columns))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.polyphonic_music.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        if options.file is None or (options.output is None and own["picture"] is None):
            raise ValueError(
                "give --file, a .mid, .jsonl or .parquet file that begins the music, and --output, a .mid or .json "
                "file to write, or --picture"
            )
        if own["threshold"] is not None and own["temperature"] is not None:
            raise ValueError("give either --threshold or --temperature; with a threshold nothing is drawn")

        if own["picture"] is not None:
            from ctxzoo.results.figures import check_plots

            check_plots()

        import torch

        from ctxzoo.hub.saved_model import load_saved_model
        from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
        from ctxzoo.tasks.polyphonic_music.midi import Grid, is_midi, write_midi
        from ctxzoo.tasks.polyphonic_music.picture import draw_roll
        from ctxzoo.tasks.polyphonic_music.rolls import notes_of_roll, roll_of_notes

        if options.output is not None and not is_midi(options.output) and options.output.suffix != ".json":
            raise ValueError(f"--output {options.output}: expected a .mid or .json file")
        grid = Grid(**{name: own[name] for name in (option.name for option in GRID) if own[name] is not None})
        prompt = roll_of_notes(_piece(options.file, own["row"] or 0, grid)[: own["prompt_steps"]])
        model, _ = load_saved_model(options.checkpoint)
        continuation = continue_roll(
            model,
            prompt,
            own["steps"] or STEPS,
            temperature=1.0 if own["temperature"] is None else own["temperature"],
            threshold=own["threshold"],
            generator=torch.Generator().manual_seed(own["draw_seed"] or 0),
        )
        notes = {"prompt": notes_of_roll(prompt), "continuation": notes_of_roll(continuation)}
        if options.output is not None and is_midi(options.output):
            write_midi([*notes["prompt"], *notes["continuation"]], options.output, grid)
        elif options.output is not None:
            write_json(options.output, notes)
        if own["picture"] is not None:
            draw_roll(prompt, continuation, own["picture"])
        written = ", ".join(str(file) for file in (options.output, own["picture"]) if file is not None)
        print(f"{len(continuation)} steps behind {len(prompt)}: {written}")


def _piece(file: Path, row: int, grid: Any) -> list[list[int]]:
    """Return the steps of a piece of a file.

    Raises:
        OSError, ValueError: the file is missing or not as it should be; it has no such row.
    """
    from ctxzoo.tasks.polyphonic_music.reader import read_music
    from ctxzoo.tasks.polyphonic_music.rolls import NOTES

    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected a .mid, .jsonl or .parquet file")
    pieces = read_music(str(file), grid=grid).splits["train"]
    if not 0 <= row < len(pieces):
        raise ValueError(f"--row {row}: {file} has {len(pieces)} pieces; expected 0..{len(pieces) - 1}")
    notes: list[list[int]] = pieces[row][NOTES]
    return notes


COMMANDS = PolyphonicMusicCommands()
