"""Token classification: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Classification
from ctxzoo.tasks.commands import (
    TEXT,
    Option,
    TaskCommands,
    answer_file,
    check_input,
    get_scoring_arguments,
    load_model,
    report_written_answers,
)
from ctxzoo.tasks.token_classification import experiments
from ctxzoo.tasks.token_classification.experiments import (
    ARCHITECTURE,
    PROBLEM,
    SEARCH_SPACE,
    TINY,
    TOKEN_DATASETS,
    TagData,
    TagModel,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.training.task import ZooTask

TINY_SENTENCES = 1_000  # of baselines
BY_FILE = TOKEN_DATASETS["brown_pos"]["dataset"]  # training rows alone, of which each tenth file is test


class TokenClassification(Classification, TaskCommands):
    """Which tag each word of a sentence has."""

    name, title = PROBLEM, "token classification"
    joins_rows = True
    card_at = "ctxzoo.tasks.token_classification.card:CARD"
    export_at = "ctxzoo.tasks.token_classification.export:EXPORT"
    module_at = "ctxzoo.tasks.token_classification.task:TokenClassificationTask"
    page_at = "ctxzoo.tasks.token_classification.page:build_page"
    data_args, model_args = TagData, TagModel
    of_tokenizer = ("min_word_count", "lower_case", "fold_digits", "pre_tokenizer", "features")
    default = (ARCHITECTURE, ARCHITECTURE)
    space = SEARCH_SPACE
    objective = "accuracy"
    called = '"..."'
    evaluate_options = (Option("tag_column", "default: pos_tags or the like"),)
    predict_options = (TEXT,)

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        return experiments.get_variants(architecture)

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        make = experiments.build_paper_experiment if name == "paper" else experiments.build_default_experiment
        return make(architecture, variant)

    def get_implied_values(self, experiment: Experiment) -> dict[str, Any]:
        return {**super().get_implied_values(experiment), "freeze_embeddings": False}

    def make_tiny(self, experiment: Experiment) -> Experiment:
        own = experiment.values()
        return experiment.copy_with(
            epochs=1, tiny=True, **{name: size for name, size in TINY.items() if own[name] is not None}
        )

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        import datasets

        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.tasks.token_classification.reader import check_tokens, group_sentences, load_tokens
        from ctxzoo.tasks.token_classification.sources import TAGS, TOKENS

        data: Any = experiment.data

        def load_splits(source: str) -> Loaded:
            splits = load_tokens(source, experiment.run.data_dir)
            return splits, dict.fromkeys(splits, source)

        splits, _ = load_splits_of_files(data.dataset, files, load_splits)
        checked = check_tokens(splits, data.tag_column, origin=data.dataset)
        tags = datasets.List(datasets.ClassLabel(names=checked.label_names))
        sentences = {
            name: split.select_columns([TOKENS, "labels"]).rename_column("labels", TAGS).cast_column(TAGS, tags)
            for name, split in checked.splits.items()
        }
        return OwnRows(splits=sentences, **vars(group_sentences(checked)))

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return it with span F1 as what selects the best epoch, and a CRF where none is chosen, for tags of spans.

        Raises:
            OSError, ValueError: see `Classification.fill_in_settings`.
        """
        experiment = super().fill_in_settings(experiment)
        if not experiment.data.rows:
            return experiment
        from ctxzoo.models.ops_bilstm_tagger import recognise_scheme
        from ctxzoo.tasks.token_classification.reader import read_label_names

        if recognise_scheme(read_label_names(Path(experiment.source))) is None:
            return experiment
        model: Any = experiment.model
        optimizer: Any = experiment.optimizer
        can_choose = experiment.start.init_from is None and model.architecture == ARCHITECTURE and model.crf is None
        crf = {"crf": True} if can_choose and not optimizer.label_smoothing else {}
        return experiment.copy_with(**crf, monitor=experiment.trainer.monitor or "span_f1")

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        config = super().build_model_config(experiment, data)
        return {**config, "scheme": data.scheme} if config.get("crf") else config

    def get_objective(self, experiment: Experiment) -> str:
        return "span_f1" if experiment.trainer.monitor == "span_f1" else self.objective

    def build_data_module(self, experiment: Experiment) -> Any:
        from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
        from ctxzoo.tasks.token_classification.sources import TAGS

        data: Any = experiment.data
        start: Any = experiment.start
        words = {name: value for name in self.of_tokenizer if (value := getattr(data, name)) is not None}
        return TokenClassificationDataModule(
            experiment.source,
            data_dir=experiment.run.data_dir,
            tag_column=TAGS if data.rows else data.tag_column,
            **words,
            word_vectors=start.word_vectors,
            encoder=start.encoder,
            vector_words=start.vector_words,
            batch_size=data.batch_size,
            seed=experiment.seed,
            init_from=start.init_from,
            divide=data.dataset != BY_FILE,
        )

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with the untrained model, or the one to continue from."""
        from ctxzoo.tasks.token_classification.wide_start import has_wide_start, initialize_wide_part
        from ctxzoo.word_vectors.vocabulary import set_word_vectors

        task: Any = super().build_module(experiment, data, processes)
        if data.has_fixed_vectors:
            task.model.get_input_embeddings().init_from_vectors(**vars(data.build_fixed_vectors()))
        else:
            set_word_vectors(task.model, data.build_vector_table())
        if has_wide_start(task.model) and experiment.start.init_from is None:
            initialize_wide_part(task.model, data, ("train",), tell_time=experiment.run.tell_time)
        return task  # type: ignore[no-any-return]

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return split to scores, once the network beside a fitted linear part has its weight in the sum.

        The linear part is fitted to the rows of validation too, once these are scored.
        """
        from ctxzoo.tasks.token_classification.wide_start import has_wide_start, initialize_wide_part, weigh_network

        is_fitted = has_wide_start(task.model) and experiment.start.init_from is None
        if is_fitted:
            weigh_network(task.model)
        if not is_fitted or "validation" not in data.splits:
            return super().score(experiment, task, data, splits)
        return self.score_and_refit(experiment, task, data, splits, initialize_wide_part)

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.token_classification.baselines import RANDOM_FIELD, TagRun

        limit_text = f"{TINY_SENTENCES:,} sentences at most of " if experiment.trainer.tiny else ""
        rows = f"{limit_text}train{'' if experiment.score == 'validation' else ' and validation'}"
        of_words = f"of a word, its ends, its shape and the words beside it, fitted on {rows}"
        baselines = [
            ("most_frequent_tag", "the most frequent tag of each word", f"counted in {rows}"),
            ("linear_tagger", "a linear model", of_words),
        ]
        model: Any = experiment.model
        if model.crf:
            of_field = f"ten features of a word and the words beside it, fitted on {rows}"
            baselines.append((RANDOM_FIELD, "a conditional random field", of_field))
        for variant, name, description in baselines:
            yield Baseline(build_baseline_run(TagRun, self, experiment, variant), name, description)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return '--text "..."'

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.token_classification.task import evaluate

        return evaluate(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        from ctxzoo.tasks.token_classification.prediction import TagAnswers

        return partial(TagAnswers, model, tokenizer, batch_size=batch_size)

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        check_input(options, "text", problem_options["text"])

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.tasks.token_classification.prediction import stream_conll_sentences

        answers = self.prepare_answers(*load_model(options), problem_options, batch_size=options.batch_size)()
        if options.file is None:
            for word in answers.tag_and_count([answers.tokenizer.split_into_words(problem_options["text"])])[0]:
                print(f"{word['word']}\t{word['tag']}\t{word['score']:.4f}")
            return
        rows = stream_conll_sentences(options.file, options.format)
        number = answer_file(options, answers, rows=rows, columns=TEXT_COLUMNS[:1])
        report_written_answers(
            options, f"tags of {format_count(answers.words, 'words')} in {format_count(number, 'texts')}"
        )


TOKEN_CLASSIFICATION = TokenClassification()
