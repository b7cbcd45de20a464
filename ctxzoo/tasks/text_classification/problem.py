"""Classification of texts: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import OF_A_CONTINUATION, Classification, get_config_fields
from ctxzoo.runs.spaces import Between
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
from ctxzoo.tasks.text_classification import experiments
from ctxzoo.tasks.text_classification.experiments import (
    ARCHITECTURE,
    DEV_SEED,
    OF_THE_LINEAR_PART,
    PROBLEM,
    SEARCH_SPACE,
    TINY,
    TINY_BUCKETS,
    TINY_ROWS,
    VARIANT,
    TextData,
    TextModel,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.runs.many import Outcomes
    from ctxzoo.runs.train import ExperimentRun
    from ctxzoo.training.task import ZooTask

LINEAR = "words_characters_svm_tuned"
LINEAR_NAME = "a tuned linear SVM on TF-IDF of words and characters"
_OF_THE_DATA_MODULE = ("vectors_std", "vector_words", "word2vec_dim", "word2vec_epochs", "word_vectors", "encoder")
_OF_LABELS = ("label_column", "label_separator", "label_columns")
_OF_ALL_DATA = ("dataset", "rows", "named", "text_column", *_OF_LABELS, "folds")


class TextClassification(Classification, TaskCommands):
    """Which label a text has."""

    name, title = PROBLEM, "text classification"
    joins_rows = streams = True
    card_at = "ctxzoo.tasks.text_classification.card:CARD"
    export_at = "ctxzoo.tasks.text_classification.export:EXPORT"
    module_at = "ctxzoo.tasks.text_classification.task:SequenceClassificationTask"
    page_at = "ctxzoo.tasks.text_classification.page:build_page"
    data_args, model_args = TextData, TextModel
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "accuracy"
    of_checkpoint = (
        *("pre_tokenizer", "lower_case", "min_word_count", "ngram_order", "ngram_buckets", "char_ngrams"),
        *("char_ngram_buckets", "vectors_std", "word2vec_dim", "word2vec_epochs", "naive_bayes", "zeroed", "wide"),
    )
    in_help = ("text_column", *_OF_LABELS, "class_weights", "max_length", "min_word_count", "word_dim", "dropout")
    of_recipes = ("folds", "dev_share", "dev_block", "train_rows")
    called = '"..."'
    evaluate_options = (
        TEXT_COLUMN,
        Option("label_column", "default: label or the like"),
        Option("label_separator", "between several labels in one cell; default: that of the training"),
        Option("label_columns", "of 0 and 1, one for each label; default: those of the training", many=True),
        Option("folds", "of the cross-validation that the checkpoint is from", parse_positive_number),
        Option("fold", "which of them, from 0", int),
        Option("fold_seed", "of the folds", int),
        Option("max_length", "cut texts to so many known words", parse_positive_number),
    )
    predict_options = (
        TEXT,
        TEXT_COLUMN,
        Option("unsure", "probability below which labels are flagged as unsure, or auto: as the training has chosen"),
        Option("explain", "page (.html), or picture of one text (.png), of which words decided", Path, serves=False),
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        variants: Mapping[str, Mapping[str, Any]] = ARCHITECTURES[architecture].config_class.variants
        return variants

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        return (experiments.build_paper_experiment if name == "paper" else experiments.build_default_experiment)(
            architecture, variant
        )

    def make_tiny(self, experiment: Experiment) -> Experiment:
        changes: dict[str, Any] = {"epochs": 1, "tiny": True}
        model, start, data = experiment.model, experiment.start, experiment.data
        assert isinstance(data, TextData)
        if start.init_from is None:
            usual = {name: one.default for name, one in get_config_fields(model.architecture).items()}
            own = model.get_config_changes()
            sizes = {name: size for name, size in TINY.items() if own.get(name) or usual.get(name)}
            changes |= {"min_word_count": 1, **sizes}
        if start.values()["wide"]:
            changes |= {"wide_rows": TINY_ROWS, "ngram_buckets": TINY_BUCKETS, "char_ngram_buckets": TINY_BUCKETS}
        return experiment.copy_with(**changes, folds=None if data.folds is None else 2)

    def check(self, experiment: Experiment) -> None:
        super().check(experiment)
        data, start = experiment.data.values(), experiment.start.values()
        reads_words_alone = experiment.model.architecture == "lama" and not experiment.model.get_config_changes().get(
            "linear_mean"
        )
        if reads_words_alone and (start["naive_bayes"] or (data["ngram_buckets"] and not start["wide"])):
            raise ValueError("--ngram_buckets and --naive_bayes need --linear_mean, the only part that reads n-grams")

    def get_implied_values(self, experiment: Experiment) -> dict[str, Any]:
        """Return the values of the variant, and those that follow from words, folds and options of earlier versions."""
        values = super().get_implied_values(experiment)
        if experiment.start.init_from is None:
            values |= ARCHITECTURES[experiment.model.architecture].config_class.former_fields
        if experiment.start.values()["word_vectors"] is not None:
            values |= {"freeze_embeddings": False, "embedding_seed": None}
        return values if experiment.fold is not None else {**values, "own_splits": True}

    def build_search_space(self, experiment: Experiment) -> dict[str, Sequence[Any] | Between]:
        space = super().build_search_space(experiment)
        wide = experiment.start.values()["wide"]
        linear = {name: self.space[name] for name in OF_THE_LINEAR_PART if wide and name in self.space}
        return {name: values for name, values in (space | linear).items() if wide or name not in OF_THE_LINEAR_PART}

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        import datasets
        import numpy as np

        from ctxzoo.data.own_splits import OwnRows, load_splits_of_files
        from ctxzoo.tasks.text_classification.reader import (
            check_texts,
            load_texts,
            note_contradictory_labels,
            refuse_numeric_texts,
        )
        from ctxzoo.tasks.text_classification.splitting import get_labels, group_equal_texts

        data: Any = experiment.data
        names: dict[str, Any] = {"text_column": data.text_column, **{name: getattr(data, name) for name in _OF_LABELS}}
        data_dir = experiment.run.data_dir
        to_load = {name: value for name, value in names.items() if name != "label_separator"}
        splits, origin = load_splits_of_files(
            data.dataset, files, lambda source: load_texts(source, data_dir, **to_load)
        )
        checked = check_texts(splits, **names, origin=origin, any_labels=True)
        for name, split in checked.splits.items():
            refuse_numeric_texts(origin[name], split["text"][:])
        grouped = group_equal_texts(checked)
        labels = {name: get_labels(split) for name, split in checked.splits.items()}
        both = (np.concatenate([one[name] for name in checked.splits]) for one in (grouped.groups, labels))
        note_contradictory_labels(", ".join(dict.fromkeys(origin.values())), *both)
        label = datasets.ClassLabel(names=checked.label_names)
        splits = checked.splits
        if not checked.has_several_labels:
            splits = {name: split.cast_column("label", label) for name, split in splits.items()}
        return OwnRows(splits=splits, **vars(grouped))

    def build_data_module(self, experiment: Experiment) -> Any:
        from ctxzoo.tasks.text_classification.data import TextClassificationDataModule

        return TextClassificationDataModule.from_options(experiment.source, **self.build_data_options(experiment))

    def build_data_options(self, experiment: Experiment) -> dict[str, Any]:
        """Return the arguments of the DataModule by name, but for its dataset."""
        data: Any = experiment.data
        start = experiment.start.values()
        options: dict[str, Any] = {"data_dir": experiment.run.data_dir, "seed": experiment.seed}
        if not data.rows:
            columns = data.get_reported_values()["text_column"]
            options |= {"text_column": columns, **{name: getattr(data, name) for name in _OF_LABELS}}
        if start["init_from"] is not None:
            continued_values = {name: value for name, value in data.values().items() if name in OF_A_CONTINUATION}
            continued_values["class_weights"] = data.class_weights
            return {**options, **continued_values, "init_from": start["init_from"]}
        if experiment.fold is not None:
            options |= {"folds": data.folds, "fold": experiment.fold}
        is_document = data.folds is None and not data.rows
        options |= {"eval_batch_size": 64} if is_document else {}
        options |= {name: value for name, value in data.values().items() if name not in _OF_ALL_DATA}
        options["objective"] = None if experiment.trainer.monitor == "nll" else experiment.trainer.monitor or None
        linear = {name: start[name] for name in ("wide", "wide_rows", "wide_cost", *_OF_THE_DATA_MODULE)}
        seeds = {"fold_seed": DEV_SEED if is_document else experiment.seed, "train_seed": experiment.seed}
        return {**options, **linear, **seeds}

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Build the complete config of a new model, from a DataModule after `setup`."""
        from ctxzoo.training.classification import label_fields

        config = super().build_model_config(experiment, data)
        if config.get("linear_mean"):
            config["ngram_buckets"] = experiment.data.values()["ngram_buckets"]
        if data.has_several_labels:
            config |= label_fields(data.label_names, several=True)
        # With a seed of their own, frozen vectors would be drawn again and no checkpoint would hold those given.
        has_vectors = experiment.start.values()["word_vectors"] is not None
        has_vectors = has_vectors and "embedding_seed" in get_config_fields(experiment.model.architecture)
        return {**config, "embedding_seed": None} if has_vectors else config

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with the untrained model, or the one to continue from."""
        from torch import nn

        from ctxzoo.tasks.text_classification.prediction import RECORDED
        from ctxzoo.tasks.text_classification.wide_start import has_wide_part, initialize_wide_part
        from ctxzoo.word_vectors.vocabulary import overwrite_word_vector_columns, set_word_vectors

        check_objective(experiment.trainer.monitor, several=data.has_several_labels)
        if data.has_several_labels and experiment.start.values()["naive_bayes"]:
            raise ValueError(
                "--naive_bayes needs one label for each text, and texts may have several here; leave it out"
            )
        task: Any = super().build_module(experiment, data, processes)
        start = experiment.start.values()
        for name, recorded in RECORDED.items():
            columns = experiment.data.values()[name]
            data.tokenizer.init_kwargs.pop(recorded, None)
            if experiment.data.rows and columns:
                data.tokenizer.init_kwargs[recorded] = list(columns) if isinstance(columns, tuple) else columns
        if data.has_fixed_vectors:
            fixed = data.build_fixed_vectors()
            table = task.model.get_input_embeddings()
            table.init_from_vectors(fixed.vectors, fixed.scales, fixed.differences, fixed.mean_weights)
        elif start["encoder"] is None:
            set_word_vectors(task.model, data.build_vector_table())
        if start["naive_bayes"]:
            features, weights = data.fit_naive_bayes()
            overwrite_word_vector_columns(task.model, features)
            task.model.init_from_linear_classifier(start["naive_bayes"] * weights)
        if has_wide_part(task.model):
            initialize_wide_part(task.model, data, ("train",), tell_time=experiment.run.tell_time)
        for name in start["zeroed"]:
            nn.init.zeros_(task.model.get_parameter(name)).requires_grad_(False)
        return task  # type: ignore[no-any-return]

    def get_start_arguments(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        from ctxzoo.metrics.label_scores import SET_SCORES

        arguments = super().get_start_arguments(experiment, data)
        monitor, weights = experiment.trainer.monitor, data.compute_class_weights()
        if experiment.start.init_from is not None:
            arguments["several_labels"] = data.has_several_labels
        if data.has_several_labels and monitor in SET_SCORES:
            arguments["objective"] = monitor
        return arguments if weights is None else {**arguments, "class_weights": weights}

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return it with micro F1 as what selects the best epoch, where a user's texts may have several labels.

        Raises:
            OSError, ValueError: see `Classification.fill_in_settings`.
        """
        experiment = super().fill_in_settings(experiment)
        if experiment.trainer.monitor or not has_written_lists(experiment):
            return experiment
        from ctxzoo.metrics.label_scores import SET_SCORES

        return experiment.copy_with(monitor=SET_SCORES[0])

    def get_objective(self, experiment: Experiment) -> str:
        from ctxzoo.metrics.label_scores import SET_SCORES

        return experiment.trainer.monitor if experiment.trainer.monitor in SET_SCORES else self.objective

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return split to scores, once thresholds are chosen on validation.

        The linear part is fitted to the rows of validation too, once these are scored.
        """
        from ctxzoo.tasks.text_classification.task import choose_thresholds
        from ctxzoo.tasks.text_classification.wide_start import has_wide_part, initialize_wide_part

        if "validation" in data.splits:
            lines = choose_thresholds(task, data)
            if experiment.run.tell_time:
                print(*lines, sep="\n", end="\n" if lines else "", flush=True)
        if not has_wide_part(task.model) or "validation" not in data.splits:
            return super().score(experiment, task, data, splits)
        return self.score_and_refit(experiment, task, data, splits, initialize_wide_part)

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.text_classification.linear import LinearRun

        as_written = experiment.copy_with(pre_tokenizer="english", min_words=0)
        monitor, several = experiment.trainer.monitor, has_written_lists(experiment)
        run = replace(
            build_baseline_run(LinearRun, self, as_written, LINEAR),
            tell_time=True,
            several_labels=several,
            objective=None if monitor in ("", "nll", "calibration_error") else monitor,
        )
        some = f"{TINY_ROWS:,} texts at most of " if experiment.trainer.tiny else ""
        each = ", one for each label" if several else ""
        yield Baseline(run, "a linear model", f"{LINEAR_NAME}{each}, fitted on {some}train and validation")

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return '--text "..."'

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.data.formats import SAMPLE
        from ctxzoo.tasks.text_classification.prediction import read_recorded_columns
        from ctxzoo.tasks.text_classification.task import evaluate_labels

        problem_options = {name: value for name, value in problem_options.items() if value is not None}
        if options.dataset != SAMPLE:
            recorded = read_recorded_columns(options.checkpoint)
            if "label_column" in problem_options or "label_columns" in problem_options:
                recorded.pop("label_columns", None)
            if "label_columns" in problem_options:
                recorded.pop("label_separator", None)
            problem_options = {**recorded, **problem_options}
        scores, options.labels = evaluate_labels(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )
        return scores

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[..., Any]:
        from ctxzoo.tasks.text_classification.prediction import RECORDED, TextAnswers, resolve_unsure

        return partial(
            TextAnswers,
            model,
            tokenizer,
            text_column=options.get("text_column") or tokenizer.init_kwargs.get(RECORDED["text_column"]),
            batch_size=batch_size,
            unsure_below=resolve_unsure(options.get("unsure"), model.config),
        )

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        text, page = problem_options["text"], problem_options["explain"]
        check_input(options, "text", text)
        if page is not None:
            _check_explanation_file(page)

        from ctxzoo.data.text_columns import TEXT_COLUMNS
        from ctxzoo.runs.processes import count_sharing_processes
        from ctxzoo.tasks.text_classification.prediction import UNSURE, drop_probabilities

        model, tokenizer = load_model(options)
        build = self.prepare_answers(model, tokenizer, problem_options, batch_size=options.batch_size)
        processes = count_sharing_processes() if model.device.type == "cpu" else 1
        answers = build(keeps_texts=page is not None, processes=processes)
        header = answers.texts_of.requested or TEXT_COLUMNS[:1]
        if text is not None:
            (label,) = answers.classify([text])
        elif page is None or options.output is not None:
            answer_file(options, answers, columns=header)
        else:
            from ctxzoo.data.row_stream import open_row_stream

            with open_row_stream(options.file, kind=options.format, columns=header) as rows:
                for chunk in rows.chunks:
                    answers(chunk, rows)
        if page is not None:
            _write_explanation(model, tokenizer, answers.texts, page)
        if text is not None:
            if answers.unsure_below is not None:
                label[UNSURE] = label["score"] < answers.unsure_below
            print(json.dumps(drop_probabilities(label), ensure_ascii=False))
        else:
            report_written_answers(options, format_count(answers.number, "labels"), page)
        for note in answers.write_notes():
            print(f"ctxzoo: {note}", file=sys.stderr)


class PretrainedEncoder(TextClassification):
    """Which label a text has, by an encoder of Hugging Face that a training goes on from.

    The checkpoint folder is that of transformers: model and tokenizer, without a card, for the model is not ours.
    """

    def check(self, experiment: Experiment) -> None:
        """Check nothing; a missing encoder is an error when the training runs."""

    def build_data_module(self, experiment: Experiment) -> Any:
        from transformers import AutoTokenizer

        from ctxzoo.tasks.text_classification.data import TextClassificationDataModule

        tokenizer = AutoTokenizer.from_pretrained(experiment.start.checkpoint)
        options = self.build_data_options(experiment.copy_with(init_from=None))
        return TextClassificationDataModule.from_options(experiment.source, **options, tokenizer=tokenizer)

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with the untrained model, or the one to continue from."""
        return Classification.build_module(self, experiment, data, processes)

    def finish(
        self,
        run: ExperimentRun,
        task: Any,
        data: Any,
        trainer: Any,
        scores: dict[str, Any],
        per_example: dict[str, list[float]],
    ) -> None:
        from ctxzoo.data.files import atomic_folder
        from ctxzoo.hub.checkpoint_folder import save_weights
        from ctxzoo.results.result import write_result_file
        from ctxzoo.runs.finish import build_training_result

        with atomic_folder(run.checkpoint) as new:
            save_weights(task.model, new, half=False)
            data.tokenizer.save_pretrained(new)
        # Last: a run whose results are there is taken for finished.
        write_result_file(build_training_result(task, data, trainer, scores, run), run.results_file)


def _check_explanation_file(file: Path) -> None:
    if file.suffix not in (".html", ".png"):
        raise ValueError(f"--explain is {str(file)!r}; expected a name that ends in .html (page) or .png (picture)")
    if not file.parent.is_dir():
        raise ValueError(f"--explain is {str(file)!r}, but there is no folder {str(file.parent)!r}; make it first")
    from ctxzoo.data.files import check_output_file

    check_output_file(file, "--explain")
    if file.suffix == ".png":
        from ctxzoo.results.figures import check_matplotlib

        check_matplotlib()


def _write_explanation(model: Any, tokenizer: Any, texts: Sequence[str], file: Path) -> None:
    """Write an explanation of which words decided, as an HTML page or a picture."""
    from ctxzoo.tasks.text_classification.contributions import explain_text
    from ctxzoo.tasks.text_classification.explanation import write_explanation_page
    from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation

    if file.suffix == ".png" and len(texts) != 1:
        raise ValueError(f"--explain is {str(file)!r}, a picture of one text, but there are {len(texts)}; take .html")
    explanations = [explain_text(model, tokenizer, text) for text in texts]
    if file.suffix == ".png":
        draw_explanation(explanations[0], file)
    else:
        write_explanation_page(explanations, file)


def has_written_lists(experiment: Experiment) -> bool:
    """Return whether the user's rows that a run reads have lists of labels; of other data False."""
    if not experiment.data.rows:
        return False
    import pyarrow.parquet as pq
    import pyarrow.types as types

    from ctxzoo.data.training_stream import SAMPLED, STREAM

    file = Path(experiment.source) / (f"{STREAM}/{SAMPLED}" if experiment.data.streaming else "train.parquet")
    return file.is_file() and bool(types.is_list(pq.read_schema(file).field("label").type))


def check_objective(name: str, *, several: bool) -> None:
    """Check the name of the validation score that selects the best epoch.

    Args:
        name: Name of the score; empty: the usual one.
        several: Whether a text may have several labels.

    Raises:
        ValueError: there is no such score.
    """
    from ctxzoo.metrics.label_scores import SET_SCORES

    name = name or ("accuracy" if several else "")  # which a training selects by unless it is told otherwise
    known = (*SET_SCORES, "nll") if several else ("accuracy", "macro_f1", "calibration_error", "nll")
    if name and name not in known:
        kind = "any number of labels" if several else "one label"
        raise ValueError(f"objective={name!r}: texts have {kind}; expected one of {', '.join(known)}")


TEXT_CLASSIFICATION = TextClassification()


def cross_validate(rows: Sequence[tuple[str, Experiment]], seeds: Sequence[int]) -> Outcomes:
    """Train every row on every fold with every seed, print the table, and return the results of each row.

    Folds of all rows run side by side; each writes its results file when it is done.

    Args:
        rows: Pairs of a row's name in the printed table and its experiment.
        seeds: Seeds of all random draws, including the folds; each gives runs of its own.

    Raises:
        ValueError: two rows of the same name, or of the same results files.
        TrainingInterrupted: Ctrl-C; what is finished is kept, and `resume` goes on.
    """
    from ctxzoo.runs.many import run_rows
    from ctxzoo.runs.train import ExperimentRun

    first: Any = rows[0][1]
    title = f"{first.recipe}: {first.score} accuracy over {first.data.folds} folds, mean ± sd"
    return run_rows(partial(ExperimentRun, TEXT_CLASSIFICATION), rows, seeds, title, range(first.data.folds))
