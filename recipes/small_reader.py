"""A trained reader made small: weights in half precision, and only the first words of its table, the most frequent.

    python recipes/small_reader.py --checkpoint RUN/checkpoint --result FILE --keep_words 30000 --score validation
    python recipes/small_reader.py --checkpoint RUN/checkpoint --result FILE --keep_words 30000 --name reader_small

RUN is a run of recipes/squad_bidaf.py, FILE its results file. A word that is left out has its characters and the row of
unknown words, or that of another of its forms (lower case and so on). The small reader is scored as it is loaded, and
stands beside the scores of the whole one: choose the number of words with --score validation. It leaves a checkpoint
folder, and a results file whose command trains the reader and makes it small. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.hub.card import build_card, make_card_example
from ctxzoo.hub.checkpoint_folder import save_weights, write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.hub.folder_checks import read_architecture
from ctxzoo.models.tokenization_word_char import WordCharTokenizer
from ctxzoo.results.environment import format_command_line
from ctxzoo.results.printing import print_table_with_title
from ctxzoo.results.result import RESULTS_DIR, RunResult, build_result_path, format_utc_now, read_result, write_result
from ctxzoo.runs.experiment import Score
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING
from ctxzoo.tasks.question_answering.cut_vocabulary import cut_vocabulary
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask, evaluate, score_articles
from ctxzoo.training.arguments import SIZE, Args, number_field
from ctxzoo.training.scoring import load_task

RECIPE = "small_reader"
UNKNOWN = "unknown_words"  # the metric: percent of the words of a split


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is made small.

    Args:
        checkpoint: Checkpoint folder of the full-size reader.
        result: Path of the full-size reader's results file.
        keep_words: Number of words that the small reader's vocabulary keeps.
        score: Split to score beside validation; validation: the test split is not touched.
        name: Name of the run; null: that of the full-size reader, followed by --keep_words.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        output_dir: Folder into which the small checkpoint is written.
        results_dir: Folder of results files, one JSON file for each run.
        progress: Whether progress bars are shown.
    """

    checkpoint: str = ""
    result: str = ""
    keep_words: int = number_field(30_000, SIZE)
    score: Score = "test"
    name: str | None = None
    data_dir: str | None = None
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    progress: bool = True

    def __post_init__(self) -> None:
        """Check that a checkpoint and the results file of its run are given."""
        super().__post_init__()
        for name in ("checkpoint", "result"):
            if not getattr(self, name):
                raise ValueError(f"--{name} names nothing; give the checkpoint folder and the results file of one run")
        if not Path(self.result).is_file():
            raise ValueError(
                f"--result {self.result}: no such file; a run of recipes/squad_bidaf.py writes one, below {RESULTS_DIR}"
            )


def main(settings: Settings) -> None:
    """Make a trained reader small, write its checkpoint and results, and print both scores side by side."""
    full_result = read_result(settings.result)
    tag = settings.name or "-".join(part for part in (full_result.tag, f"words{settings.keep_words}") if part)
    identity = {"variant": full_result.variant, "dataset": full_result.dataset, "seed": full_result.seed, "tag": tag}
    file = build_result_path(settings.results_dir, recipe=full_result.recipe, split=settings.score, **identity)
    folder = Path(settings.output_dir) / RECIPE / file.stem
    check_folder_is_writable(folder)
    check_folder_is_writable(file.parent, "--results_dir")
    architecture, _ = read_architecture(Path(settings.checkpoint))
    tokenizer = AutoTokenizer.from_pretrained(settings.checkpoint)
    if not isinstance(tokenizer, WordCharTokenizer) or architecture.name != full_result.architecture:
        raise ValueError(
            f"{settings.checkpoint} is a {architecture.name}; expected a reader of words and characters, as which "
            f"{settings.result} tells of a {full_result.architecture}"
        )
    data = build_data_module(settings, full_result, tokenizer)
    model = AutoModelForQuestionAnswering.from_pretrained(settings.checkpoint)
    small, words = cut_vocabulary(model, tokenizer, settings.keep_words)
    small_data = build_data_module(settings, full_result, words)
    splits = tuple(dict.fromkeys(("validation", settings.score)))
    with tempfile.TemporaryDirectory() as temporary:
        save_weights(small, Path(temporary), half=True)
        words.save_pretrained(temporary)
        options = {"data_dir": settings.data_dir, "squad_version": full_result.settings["squad_version"]}
        scores = {
            split: evaluate(temporary, full_result.dataset, split, progress=settings.progress, **options)
            for split in splits
        }
        rounded = AutoModelForQuestionAnswering.from_pretrained(temporary)
        task = load_task(QuestionAnsweringTask, temporary)
    if rounded.config.squad_version == "2.0":
        task.no_answer_threshold = rounded.config.no_answer_threshold
    result = replace(
        full_result,
        split=settings.score,
        metrics={
            **{f"{split}/{name}": value for split, values in scores.items() for name, value in values.items()},
            **{f"{split}/{UNKNOWN}": compute_unknown_word_percentage(small_data, split) for split in splits},
            **{name: full_result.metrics[name] for name in ("epochs", "steps") if name in full_result.metrics},
        },
        settings={**full_result.settings, "keep_words": settings.keep_words, "weights": "float16"},
        parameters={**full_result.parameters, "total": sum(p.numel() for p in rounded.parameters())},
        per_example=score_articles(task, small_data, settings.score, progress=settings.progress),
        command=f"{full_result.command} && {format_command_line()}",
        created=format_utc_now(),
        tag=tag,
    )
    example = make_card_example(
        QUESTION_ANSWERING, full_result.dataset, model=rounded, tokenizer=words, data=small_data, split=settings.score
    )
    card = build_card(result, rounded.config, task=QUESTION_ANSWERING, example=example, half=True)
    scores = build_eval_results_files(result, QUESTION_ANSWERING)
    write_checkpoint_folder(
        folder / "checkpoint", model=rounded, tokenizer=words, card=card, eval_results=scores, half=True
    )
    write_result(result, settings.results_dir)
    print_score_comparison(
        full_result, result, {split: compute_unknown_word_percentage(data, split) for split in splits}
    )
    size = sum(path.stat().st_size for path in (folder / "checkpoint").rglob("*") if path.is_file())
    print(f"results    {file}\ncheckpoint {folder / 'checkpoint'}, {size / 1e6:.2f} MB")


def build_data_module(settings: Settings, full_result: RunResult, tokenizer: WordCharTokenizer) -> SquadDataModule:
    """Return the data that the full reader was trained on, as the smaller tokenizer reads them.

    Raises:
        ValueError: the data is not that of the results file.
    """
    data = SquadDataModule(
        full_result.dataset,
        data_dir=settings.data_dir,
        squad_version=full_result.settings["squad_version"],
        tokenizer=tokenizer,
    )
    data.setup()
    if data.fingerprint != full_result.data["fingerprint"]:
        raise ValueError(
            f"{full_result.dataset} has the content {data.fingerprint}, and {settings.result} was made with "
            f"{full_result.data['fingerprint']}; expected the data of the training"
        )
    return data


def compute_unknown_word_percentage(data: SquadDataModule, split: str) -> float:
    """Return the percentage of words in a split that are not in the vocabulary."""
    counts = data.count_word_id_occurrences(split)
    return float(100 * counts[data.tokenizer.unk_token_id] / counts.sum())


def print_score_comparison(full_result: RunResult, small_result: RunResult, unknown: dict[str, float]) -> None:
    """Print the scores of the full and the small reader side by side.

    `unknown` has the percentage of unknown words of the full reader by split.
    """
    table = Table("", "whole", "small", "difference")
    for split in unknown:
        metrics = {**full_result.metrics, f"{split}/{UNKNOWN}": unknown[split]}
        for name in ("exact", "f1", UNKNOWN):
            key = f"{split}/{name}"
            first = metrics.get(key)
            difference = "" if first is None else f"{small_result.metrics[key] - first:+.2f}"
            table.add_row(key, "" if first is None else f"{first:.2f}", f"{small_result.metrics[key]:.2f}", difference)
    print_table_with_title(f"{small_result.variant}, seed {small_result.seed}, {small_result.tag}", table)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
