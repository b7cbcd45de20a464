"""Polyphonic music: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    get_scoring_arguments,
    load_model,
    parse_positive_number,
    parse_probability,
    report_written_answers,
    write_json,
)
from ctxzoo.tasks.polyphonic_music import experiments
from ctxzoo.tasks.polyphonic_music.experiments import (
    ARCHITECTURE,
    CELLS,
    PROBLEM,
    SEARCH_SPACE,
    TINY_SIZE,
    MusicData,
    MusicModel,
    set_cell,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.data.rows import RowStream
    from ctxzoo.runs.beside import Baseline

CONFIG_NAME = Option("config_name", "of a dataset with several, such as jsb_chorales; default: the one it names")
GRID = (
    Option("steps_per_beat", "steps of MIDI files: 1 are quarters; default: 2, eighths", float, serves=False),
    Option("step_seconds", "length of such a step by the clock instead", float, serves=False),
)
STEPS = 64  # that are added
ONE_PIECE = (".mid", ".midi", ".json")
OUTPUTS = (*ONE_PIECE, ".jsonl", ".csv", ".tsv")


class PolyphonicMusic(Problem, TaskCommands):
    """Which keys sound in the next step of a piece."""

    name, title = PROBLEM, "polyphonic music"
    called = "[[39, 43, 46]]"
    card_at = "ctxzoo.tasks.polyphonic_music.card:CARD"
    export_at = "ctxzoo.tasks.polyphonic_music.export:EXPORT"
    module_at = "ctxzoo.tasks.polyphonic_music.task:PolyphonicMusicTask"
    page_at = "ctxzoo.tasks.polyphonic_music.page:build_page"
    data_args, model_args = MusicData, MusicModel
    default = (ARCHITECTURE, "bibeta5")
    space = SEARCH_SPACE
    objective, lower_is_better = "nll", True
    evaluate_options = (CONFIG_NAME, *GRID)
    predict_options = (
        Option("steps", f"to add; default: {STEPS}", parse_positive_number),
        Option("prompt_steps", "read only so many of the file's first steps", parse_positive_number),
        Option(
            "row", "piece of a file or folder, from 0; default: all, of .mid, .json and pictures 0", int, serves=False
        ),
        Option("temperature", "below 1: what is likely becomes likelier; default: 1", float),
        Option("threshold", "probability from which a key sounds; nothing is drawn then", parse_probability),
        Option("draw_seed", "of the draws; default: 0", int),
        Option("picture", "PNG file of the roll", Path, serves=False),
        *GRID,
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each recurrent cell."""
        return CELLS

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a recurrent cell."""
        if name == "paper":
            return set_cell(experiments.build_paper_experiment(architecture, variant), variant)
        return experiments.build_default_experiment(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        size = {"hidden_size": TINY_SIZE} if experiment.start.init_from is None else {}
        return experiment.copy_with(epochs=1, tiny=True, **size)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's pieces, with groups of equal pieces."""
        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.tasks.polyphonic_music.reader import check_music, group_equal_pieces, load_music

        data: Any = experiment.data
        grid = _build_grid(data.values())

        def load(source: str) -> Loaded:
            config_name = data.config_name if source == data.dataset else None
            splits = load_music(source, experiment.run.data_dir, config_name, grid=grid)
            return splits, dict.fromkeys(splits, source)

        splits, _ = load_splits_of_files(data.dataset, files, load)
        checked = check_music(splits, origin=data.dataset)
        return OwnRows(splits=checked.splits, **vars(group_equal_pieces(checked)))

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the `PolyphonicMusicDataModule` of an experiment."""
        from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule

        data: Any = experiment.data
        return PolyphonicMusicDataModule(
            experiment.source,
            data_dir=experiment.run.data_dir,
            config_name=None if data.rows else data.config_name,
            batch_size=data.batch_size,
            seed=experiment.seed,
        )

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield the two counts of keys that stand beside the model."""
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.polyphonic_music.baselines import KEY_FREQUENCY, KEY_MARKOV, BaselineRun

        for variant, name, description in (
            (KEY_FREQUENCY, "a count of each key", "how often it sounds in train"),
            (
                KEY_MARKOV,
                "a count of each key by the step before",
                "how often it sounds in train behind a step with it, and behind one without it",
            ),
        ):
            yield Baseline(build_baseline_run(BaselineRun, self, experiment, variant), name, description)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return f"--file {shlex.quote(str(test))} --row 0 --output continued.mid"

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.polyphonic_music.task import evaluate

        problem_options = {name: value for name, value in problem_options.items() if value is not None}
        return evaluate(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `PieceAnswers` to pieces, by `predict_options`.

        Raises:
            ValueError: a temperature and a threshold.
        """
        if options.get("threshold") is not None and options.get("temperature") is not None:
            raise ValueError("give either --threshold or --temperature; with a threshold nothing is drawn")
        from ctxzoo.tasks.polyphonic_music.continuation import PieceAnswers

        return partial(
            PieceAnswers,
            model,
            steps=options.get("steps") or STEPS,
            prompt_steps=options.get("prompt_steps"),
            temperature=1.0 if options.get("temperature") is None else options["temperature"],
            threshold=options.get("threshold"),
            seed=options.get("draw_seed") or 0,
        )

    def stream_rows(self, name: str, rows: Sequence[dict[str, Any]], options: Mapping[str, Any]) -> RowStream:
        """Return rows with `notes` as the stream of pieces, numbered from 0, that the answers read.

        Raises:
            TextFormatError: a row without steps of keys from 0 to 87.
        """
        import datasets

        from ctxzoo.data.rows import build_row_stream
        from ctxzoo.tasks.polyphonic_music.reader import check_music

        checked = check_music({"train": datasets.Dataset.from_list(list(rows))}, origin=name).splits["train"]
        return build_row_stream(name, ({"piece": number, **row} for number, row in enumerate(checked)))

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write continuations of pieces, by the options of `predict` on the command line."""
        if options.file is None:
            raise ValueError("give --file, a .mid, .jsonl or .parquet file, or a folder, that begins the music")
        if options.output is not None and options.output.suffix.lower() not in OUTPUTS:
            raise ValueError(f"--output {options.output}: expected a name that ends in {', '.join(OUTPUTS)}")

        if problem_options["picture"] is not None:
            from ctxzoo.results.figures import check_matplotlib

            check_matplotlib()

        from ctxzoo.data.rows import build_row_stream
        from ctxzoo.tasks.polyphonic_music.midi import write_midi
        from ctxzoo.tasks.polyphonic_music.picture import draw_roll
        from ctxzoo.tasks.polyphonic_music.rolls import roll_of_notes

        grid = _build_grid(problem_options)
        pieces = _read_pieces(options.file, grid)
        row, picture = problem_options["row"], problem_options["picture"]
        if row is not None and not 0 <= row < len(pieces):
            found = format_count(len(pieces), "pieces")
            raise ValueError(f"--row {row}: {options.file} has {found}; expected 0..{len(pieces) - 1}")
        answers = self.prepare_answers(*load_model(options), problem_options)()
        is_table = options.output is None or options.output.suffix.lower() not in ONE_PIECE
        if is_table and picture is None:
            numbers = range(len(pieces)) if row is None else [row]
            rows = build_row_stream(str(options.file), ({"piece": number, **pieces[number]} for number in numbers))
            report_written_answers(options, format_count(answer_file(options, answers, rows=rows), "pieces"))
            return
        if is_table and options.output is not None:
            raise ValueError(f"--picture is of one piece; give a {' or '.join(ONE_PIECE)} file as --output, or none")
        notes = answers.continue_piece(pieces[row or 0])
        if options.output is not None and options.output.suffix.lower() == ".json":
            write_json(options.output, notes)
        elif options.output is not None:
            write_midi([*notes["prompt"], *notes["continuation"]], options.output, grid)
        if picture is not None:
            prompt, continuation = map(roll_of_notes, notes.values())
            draw_roll(prompt, continuation, picture)
        said = f"{format_count(len(notes['continuation']), 'steps')} behind {len(notes['prompt'])}"
        report_written_answers(options, said, picture)


def _build_grid(options: Mapping[str, Any]) -> Any:
    """Return the time grid for reading MIDI files that the options ask for."""
    from ctxzoo.tasks.polyphonic_music.midi import Grid

    return Grid(**{option.name: options[option.name] for option in GRID if options[option.name] is not None})


def _read_pieces(source: Path, grid: Any) -> Any:
    """Return the pieces of a file or folder as rows of a dataset.

    Raises:
        OSError, ValueError: it is missing or not as it should be.
    """
    from ctxzoo.tasks.polyphonic_music.reader import read_music

    if not source.exists():
        raise FileNotFoundError(f"no file {str(source)!r}; expected a .mid, .jsonl or .parquet file, or a folder")
    splits = read_music(str(source), grid=grid).splits
    return splits["train"] if len(splits) == 1 and "train" in splits else _concatenate_splits(splits)


def _concatenate_splits(splits: Mapping[str, Any]) -> Any:
    """Return the rows of all splits as one dataset."""
    import datasets

    return datasets.concatenate_datasets(list(splits.values()))


POLYPHONIC_MUSIC = PolyphonicMusic()
