"""Word embeddings: their trainings, and what the command line does with their checkpoints."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.tasks.commands import (
    TEXT,
    TEXT_COLUMN,
    Option,
    TaskCommands,
    answer_file,
    check_input,
    load_model,
    parse_positive_number,
    report_written_answers,
)
from ctxzoo.tasks.word_embeddings import experiments
from ctxzoo.tasks.word_embeddings.experiments import (
    ARCHITECTURE,
    ATTENTION,
    PROBLEM,
    SEARCH_SPACE,
    TINY_SIZES,
    TORCH_BATCH,
    UNREAD,
    WORDS,
    WordData,
    WordModel,
    choose_backend,
)
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, PRECISIONS
from ctxzoo.training.libraries import is_installed

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.train import ExperimentRun

INSTALL = "pip install numba"


class WordEmbeddings(Problem, TaskCommands):
    """Which word stands in a place, from those around it: its trainings leave a vector for each word."""

    name, title, train_name = PROBLEM, "masked words", "word-embeddings"
    card_at = "ctxzoo.tasks.word_embeddings.card:CARD"
    page_at = "ctxzoo.tasks.word_embeddings.page:build_page"
    export_at = "ctxzoo.tasks.word_embeddings.export:EXPORT"
    data_args, model_args = WordData, WordModel
    of_tokenizer = WORDS
    of_recipes = ("split", "test_split")
    in_help = ("text_column", *WORDS, "word_dim", "window", "negative_samples", "subsampling", "backend")
    default = (ARCHITECTURE, ATTENTION)
    space = SEARCH_SPACE
    objective, lower_is_better = "perplexity", True
    called = '"... [MASK] ..."'
    evaluate_options = (
        Option("text_column", "of a dataset, one or several, read one after another; default: text", many=True),
        Option("words", "how many of the text are predicted, a line at a time; default: 5000", parse_positive_number),
    )
    predict_options = (TEXT, TEXT_COLUMN)

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each way to train vectors."""
        return {name: {"architecture": name} for name in CUSTOMS}

    def find_variant(self, config: Any) -> str:
        """Return the variant of a configuration, which is its architecture."""
        architecture: str = config.architecture
        return architecture

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant."""
        return (
            experiments.build_paper_experiment(variant)
            if name == "paper"
            else experiments.build_default_experiment(variant)
        )

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        sizes = TINY_SIZES if experiment.start.init_from is None else {}
        rare = {} if experiment.values()["min_count"] is None else {"min_count": 1}
        return experiment.copy_with(epochs=1, tiny=True, test_words=200, **sizes, **rare)

    def check(self, experiment: Experiment) -> None:
        """Raise an error, before the text is read, for settings that the training cannot have.

        Raises:
            ValueError: Numba is not installed, or cannot do what is asked for; a value that nothing here reads.
        """
        super().check(experiment)
        run: Any = experiment.run
        values, backend = experiment.values(), choose_backend(run)
        usual = {one.name: one.default for group in (experiment.trainer, run) for one in fields(group)}
        for name in WORDS:
            if values[name] is None and experiment.start.init_from is None:
                raise ValueError(f"{name}=null belongs to a checkpoint that a training goes on from; give a value")
        for name in UNREAD:
            if values[name] != usual[name]:
                raise ValueError(f"{name}={values[name]!r}: word vectors are trained without it; leave it out")
        if backend == "torch":
            if values["precision"] not in PRECISIONS:
                raise ValueError(f"precision={values['precision']!r}: expected {' or '.join(PRECISIONS)}")
            if values["shared_noise"]:
                raise ValueError("shared_noise=True saves nothing in batches; leave it to the trainer of numba")
            return
        if not is_installed("numba"):
            raise ValueError(f"backend is 'numba', which is not installed: {INSTALL}, or take the backend torch")
        of_loops: dict[str, tuple[Any, ...]] = {
            "batch_size": (None,),
            "precision": ("32-true",),
            "accelerator": ("auto", "cpu"),
            "devices": ("auto", "1"),
            "num_nodes": (1,),
            "strategy": ("auto",),
        }
        for name, only in of_loops.items():
            if values[name] not in only:
                raise ValueError(
                    f"{name}={values[name]!r}: the compiled loops go word by word on the CPU, in 32 bits; leave it "
                    "out, or give --backend torch"
                )

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the backend filled in, and its threads or its batches and devices."""
        run: Any = experiment.run
        if choose_backend(run) == "numba":
            import torch

            threads = run.threads or torch.get_num_threads()
            return experiment.copy_with(backend="numba", accelerator="cpu", devices="1", threads=threads)
        if run.backend == "auto" and not is_installed("numba"):
            print(f"numba is not installed: torch trains, which is slower on a CPU; {INSTALL}")
        devices = "1" if run.devices == "auto" else run.devices
        size = experiment.data.batch_size or TORCH_BATCH
        return experiment.copy_with(backend="torch", devices=devices, batch_size=size)

    def get_implied_values(self, experiment: Experiment) -> dict[str, Any]:
        """Return settings that older result files also hold, though they follow from others."""
        implied_values = {"architecture": experiment.model.variant, "devices": experiment.run.devices}
        if experiment.start.init_from is None:
            return implied_values
        usual = experiments.build_default_experiment().values()  # which were told though the checkpoint decided them
        return {**implied_values, **{name: usual[name] for name in WORDS}}

    def get_file_name_part(self, experiment: Experiment) -> str:
        """Return the window as "b5" for the names of result files; empty for a user's own data."""
        return "" if experiment.data.rows else f"b{experiment.values()['window']}"

    def get_reported_split(self, experiment: Experiment) -> str:
        """Return the split that is scored at the end; if none is named, the training text itself."""
        if experiment.data.rows:
            return experiment.score
        return next(iter(self.list_scored_splits(experiment)), experiment.values()["split"])

    def list_scored_splits(self, experiment: Experiment) -> tuple[str, ...]:
        """Return the names of the splits that are scored at the end."""
        data: Any = experiment.data
        if data.rows:
            return tuple(dict.fromkeys(("validation", experiment.score)))
        if experiment.score == "validation":
            return ("validation",)
        return (data.test_split,) if data.test_split and data.dataset != "sample" else ()

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read the user's lines of text."""
        from ctxzoo.tasks.word_embeddings.reader import read_lines

        return read_lines(experiment, files, scratch)

    def train(self, run: ExperimentRun, *, resume: bool) -> None:
        """Train by compiled loops or Lightning, score, and write the checkpoint folder and the result file."""
        from ctxzoo.tasks.word_embeddings.run import train_word_embeddings

        train_word_embeddings(run, self.list_scored_splits(run.experiment), resume=resume)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return '--text "... [MASK] ..."'

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on the masked words of a split, by the options of `evaluate` on the command
        line.
        """
        from ctxzoo.tasks.word_embeddings.evaluation import evaluate

        if options.precision != "32-true":
            raise ValueError(f"--precision is {options.precision}; masked words are scored with 32-true")
        if options.device not in ("auto", "cpu"):
            raise ValueError(f"--device {options.device}: masked words are scored on the CPU; leave it out")
        given = {name: value for name, value in problem_options.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, data_dir=options.data_dir, **given)

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `MaskAnswers` to texts, by `predict_options`."""
        from ctxzoo.tasks.word_embeddings.prediction import MaskAnswers

        filler = self.card.build_pipeline(model, tokenizer, device=model.device)
        return partial(MaskAnswers, filler, text_column=options.get("text_column"), batch_size=batch_size)

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write the words predicted for masks, by the options of `predict` on the command line."""
        check_input(options, "text", problem_options["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.word_embeddings.prediction import fill_masks

        answers = self.prepare_answers(*load_model(options), problem_options, batch_size=options.batch_size)()
        if options.file is None:
            for word in fill_masks(answers.filler, [problem_options["text"]])[0]:
                print(json.dumps(word, ensure_ascii=False))
            return
        columns = problem_options["text_column"] or TEXT_COLUMNS[:1]
        report_written_answers(
            options, f"words for {format_count(answer_file(options, answers, columns=columns), 'texts')}"
        )


WORD_EMBEDDINGS = WordEmbeddings()
