"""Language modelling: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
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
    get_scoring_arguments,
    load_model,
    parse_positive_number,
    report_written_answers,
)
from ctxzoo.tasks.language_modelling import experiments
from ctxzoo.tasks.language_modelling.experiments import (
    ARCHITECTURE,
    PROBLEM,
    SEARCH_SPACE,
    TINY_HEADS,
    TINY_SIZE,
    LineData,
    LineModel,
    set_cell,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline

WORDS = 30  # that are added at most
COUNTED = "kneser_ney_5"  # stands beside the scores


class LanguageModelling(Problem, TaskCommands):
    """Which word comes next. Paper's settings are those of the recipe for the Penn Treebank."""

    name, title = PROBLEM, "language modelling"
    called = '"..."'
    card_at = "ctxzoo.tasks.language_modelling.card:CARD"
    export_at = "ctxzoo.tasks.language_modelling.export:EXPORT"
    module_at = "ctxzoo.tasks.language_modelling.task:LanguageModellingTask"
    page_at = "ctxzoo.tasks.language_modelling.page:build_page"
    data_args, model_args = LineData, LineModel
    streams = True
    of_tokenizer = ("min_word_count", "lower_case", "pre_tokenizer")
    default = (ARCHITECTURE, "lstm")
    space = SEARCH_SPACE
    objective, lower_is_better = "perplexity", True
    evaluate_options = (TEXT_COLUMN,)
    predict_options = (
        TEXT,
        TEXT_COLUMN,
        Option("words", f"to add at most; default: {WORDS}", parse_positive_number),
        Option("temperature", "below 1: what is likely becomes likelier; default: 1", float),
        Option("draw_seed", "of the draws; default: 0", int),
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each variant of an architecture."""
        return experiments.get_variants(architecture)

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant of an architecture."""
        if name == "paper":
            return set_cell(experiments.build_paper_experiment(architecture, variant), variant)
        return experiments.build_default_experiment(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        small: dict[str, Any] = {}
        if experiment.start.init_from is None:
            small = {"hidden_size": TINY_SIZE, "word_dim": TINY_SIZE}
        if experiment.values()["num_heads"] is not None:
            small |= {"hidden_size": TINY_HEADS * TINY_SIZE, "num_heads": TINY_HEADS}
        return experiment.copy_with(epochs=1, tiny=True, **small)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's lines of text, with groups of equal lines."""
        from ctxzoo.data.own_splits import OwnRows, load_splits_of_files
        from ctxzoo.tasks.language_modelling.reader import check_lines, group_equal_lines, load_lines

        data: Any = experiment.data
        columns = data.text_column or None
        splits, origin = load_splits_of_files(
            data.dataset, files, lambda source: load_lines(source, experiment.run.data_dir, columns)
        )
        checked = check_lines(splits, text_column=columns, origin=origin)
        return OwnRows(splits=checked.splits, **vars(group_equal_lines(checked)))

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the `LanguageModellingDataModule` of an experiment."""
        from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule

        data: Any = experiment.data
        words = {name: value for name in self.of_tokenizer if (value := getattr(data, name)) is not None}
        return LanguageModellingDataModule(
            experiment.source,
            data_dir=experiment.run.data_dir,
            text_column=None if data.rows else data.text_column or None,
            init_from=experiment.start.init_from,
            **words,
            batch_size=data.batch_size,
            bptt=data.bptt,
            streaming=data.streaming,
            shuffle_buffer=data.shuffle_buffer,
            seed=experiment.seed,
        )

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield the 5-gram model by counts, the only baseline of language models."""
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.language_modelling.baselines import BaselineRun

        yield Baseline(
            build_baseline_run(BaselineRun, self, experiment, COUNTED),
            "a count of up to five words in a row",
            "modified Kneser-Ney, fitted on train",
            notice="counting up to five words in a row in all training lines, to stand beside it",
        )

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return '--text "the beginning of a line"'

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.language_modelling.task import evaluate

        problem_options = {name: value for name, value in problem_options.items() if value is not None}
        return evaluate(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `Continuations` of texts, by `predict_options`."""
        from ctxzoo.tasks.language_modelling.continuation import Continuations

        return partial(
            Continuations,
            model,
            tokenizer,
            text_column=options.get("text_column"),
            words=options.get("words") or WORDS,
            temperature=1.0 if options.get("temperature") is None else options["temperature"],
            seed=options.get("draw_seed") or 0,
        )

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write continuations of texts, by the options of `predict` on the command line."""
        check_input(options, "text", problem_options["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS

        continuations = self.prepare_answers(*load_model(options), problem_options)()
        if options.file is None:
            print(f"{problem_options['text']} {continuations.continue_prompts([problem_options['text']])[0]}".rstrip())
            return
        number = answer_file(options, continuations, columns=problem_options["text_column"] or TEXT_COLUMNS[:1])
        report_written_answers(options, format_count(number, "continuations"))


LANGUAGE_MODELLING = LanguageModelling()
