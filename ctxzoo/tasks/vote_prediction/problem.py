"""Vote prediction: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count, print_once
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    get_scoring_arguments,
    load_model,
    report_written_answers,
)
from ctxzoo.tasks.vote_prediction import experiments
from ctxzoo.tasks.vote_prediction.experiments import (
    EPOCHS,
    MAX_WORDS,
    PROBLEM,
    SEARCH_SPACE,
    TINY,
    VARIANTS,
    VoteData,
    VoteModel,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.training.task import ZooTask

COLUMNS = (
    Option("legislator_column", "of a table of votes: who votes; default: legislator"),
    Option("bill_column", "on what; default: bill"),
    Option("vote_column", "yea or nay, in words, as 1 or 0, or as cast codes of Voteview; default: vote"),
    Option("text_column", "what the bill says, one or several, read one after another; default: text", many=True),
    Option("party_column", "of the legislator, for pictures; default: party"),
)
SOURCES = (
    Option("texts", "a .csv, .tsv, .jsonl or .parquet file of bills and their texts, where the votes have none"),
    Option("configuration", "of a dataset with several, such as votes_new_bills"),
)
KNOWN = Option(
    "known",
    "votes that are known already: a file, folder or Hub id like --dataset, or: none; default: the train split of the "
    "dataset where another split is scored, else none",
)


class VotePrediction(Problem, TaskCommands):
    """How each legislator votes on a bill."""

    name, title = PROBLEM, "vote prediction"
    joins_rows = True
    card_at = "ctxzoo.tasks.vote_prediction.card:CARD"
    export_at = "ctxzoo.tasks.vote_prediction.export:EXPORT"
    module_at = "ctxzoo.tasks.vote_prediction.task:VotePredictionTask"
    page_at = "ctxzoo.tasks.vote_prediction.page:build_page"
    data_args, model_args = VoteData, VoteModel
    default = ("nipen", "pgm_vae")
    space = SEARCH_SPACE
    objective = "log_likelihood"
    evaluate_options = (*COLUMNS, *SOURCES, KNOWN)
    predict_options = (
        Option("text", "what the bill says", serves=False),
        Option("bill", "name of a bill of the training, instead of a new one", serves=False),
        Option(
            "ideal_points",
            "file for the ideal points of all legislators, with intervals: .csv, .json",
            Path,
            serves=False,
        ),
        Option(
            "positive", "name of a legislator whose ideal point is positive; default: as in the training", serves=False
        ),
        Option("interval", "percent of the intervals of ideal points; default: 90", float, serves=False),
        SOURCES[0],
        Option("known", "a .csv, .tsv, .jsonl or .parquet file of votes that are known, as of other legislators"),
        *(option for option in COLUMNS if option.name != "party_column"),
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each variant of an architecture."""
        return VARIANTS[architecture]

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant of an architecture."""
        make = experiments.build_paper_experiment if name == "paper" else experiments.build_default_experiment
        return make(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        sizes = TINY.get(experiment.model.architecture, {}) if experiment.start.init_from is None else {}
        return experiment.copy_with(epochs=1, tiny=True, **sizes)

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return the experiment with enough steps for its rows, and where a training continues with the checkpoint's
        setting of how texts are read.

        Raises:
            ValueError: texts were to be read in another way.
        """
        from ctxzoo.hub.saved_model import read_saved_model

        experiment = self.take_enough_steps(experiment)
        data: Any = experiment.data
        start = experiment.start.init_from
        if start is None:
            return experiment
        config: Any = read_saved_model(start).config
        for name, usual in (("max_words", MAX_WORDS), ("cut_outcomes", config.cut_outcomes)):
            if getattr(data, name) not in (usual, False):
                raise ValueError(f"{name}={getattr(data, name)}: texts are read as {start!r} reads them; leave it out")
        return experiment.copy_with(cut_outcomes=config.cut_outcomes)

    def take_enough_steps(self, experiment: Experiment) -> Experiment:
        """Return the experiment with more epochs where a user's own bills are so few that the usual ones would be fewer
        than `min_steps` steps; epochs that a user chose stay.
        """
        trainer: Any = experiment.trainer
        if not experiment.data.rows or not trainer.min_steps or trainer.epochs != EPOCHS:
            return experiment
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        from ctxzoo.tasks.vote_prediction.reader import VoteColumns

        table = pq.read_table(Path(experiment.source) / "train.parquet", columns=[VoteColumns().bill])
        bills = pc.count_distinct(table.column(0)).as_py()
        batches = math.ceil(bills / experiment.data.batch_size)
        epochs = max(EPOCHS, math.ceil(trainer.min_steps / batches))
        if epochs > EPOCHS:
            print_once(
                f"{format_count(bills, 'bills')}: {EPOCHS} epochs would be {EPOCHS * batches:,} steps; it takes at "
                f"most {epochs} (min_steps {trainer.min_steps}; 0, or another number of epochs, says otherwise)"
            )
        return experiment.copy_with(epochs=epochs)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's votes, with groups of rows that stay in one split."""
        import datasets

        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.data.reading_notes import record_note
        from ctxzoo.tasks.vote_prediction.reader import check_votes, load_votes, separate_votes

        data: Any = experiment.data
        columns = _build_vote_columns(data.values())

        def load(source: str) -> Loaded:
            where = experiment.run.data_dir
            tables = load_votes(source, where, data.configuration, columns=columns, texts=data.texts)
            splits = {name: datasets.Dataset(datasets.table.InMemoryTable(table)) for name, table in tables.items()}
            return splits, dict.fromkeys(splits, source)

        splits, _ = load_splits_of_files(data.dataset, files, load)
        checked = check_votes(
            {name: split.with_format("arrow")[:] for name, split in splits.items()}, origin=data.dataset
        )
        splits = {name: datasets.Dataset(datasets.table.InMemoryTable(checked.build_table(name))) for name in splits}
        record_note(data.dataset, "bills without a text", sum(not text for text in checked.texts))
        return OwnRows(splits=splits, **vars(separate_votes(checked)))

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the DataModule; a training that continues keeps the checkpoint's legislators, bills and words."""
        from ctxzoo.hub.saved_model import read_saved_model
        from ctxzoo.tasks.vote_prediction.data import VoteDataModule, get_model_names

        data: Any = experiment.data
        start = experiment.start.init_from
        # Rows that are written have no columns of their own.
        columns = {} if data.rows else {option.name: getattr(data, option.name) for option in (*COLUMNS, *SOURCES)}
        words = {"max_words": data.max_words, "cut_outcomes": data.cut_outcomes}
        return VoteDataModule(
            experiment.source,
            data_dir=experiment.run.data_dir,
            **columns,
            **(words if start is None else get_model_names(read_saved_model(start).config)),
            batch_size=data.batch_size,
            seed=experiment.seed,
        )

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield majorities on a bill and, where rows have the columns for it, a linear model of its words."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.vote_prediction.baselines import BaselineRun
        from ctxzoo.tasks.vote_prediction.sample import GROUP, TEXT

        rows = pq.read_table(Path(experiment.source) / "train.parquet")
        filled_columns = {
            name for name in (GROUP, TEXT) if name in rows.column_names and pc.any(pc.not_equal(rows[name], "")).as_py()
        }
        descriptions = {"bill_rate": ("the majority on a bill", "how often it has a yea in train")}
        if GROUP in filled_columns:
            descriptions["bill_party_rate"] = (
                "the majority of the party on a bill",
                "how often the party says yea on it in train",
            )
        if TEXT in filled_columns:
            descriptions["tfidf_party"] = (
                "a linear model",
                "logistic regressions on TF-IDF of the words of a bill, one for each party, fitted on train",
            )
        for variant, (name, description) in descriptions.items():
            notice = (
                "fitting a linear model of the words of bills, to stand beside it" if variant == "tfidf_party" else ""
            )
            yield Baseline(build_baseline_run(BaselineRun, self, experiment, variant), name, description, notice=notice)

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule, whose model also keeps which votes the training has."""
        import torch

        from ctxzoo.tasks.vote_prediction.pictures import ideal_points
        from ctxzoo.tasks.vote_prediction.points import orient_points

        task = super().build_module(experiment, data, processes)
        data_args: Any = experiment.data
        if data_args.positive is not None:  # an error now, not when the training is over
            orient_points(ideal_points(task.model), data.legislator_names, data_args.positive)
        task.model.config.ideal_points = task.model.config.ideal_point_errors = None
        if experiment.start.init_from is None:
            task.model.set_observed_votes(torch.from_numpy(data.observed[data.bill_ids >= 0]))
        return task

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return the scores of each split by name, after the config got the ideal points of the trained model."""
        from ctxzoo.tasks.vote_prediction.points import keep_ideal_points

        data_args: Any = experiment.data
        keep_ideal_points(task.model, data, data_args.positive)
        return super().score(experiment, task, data, splits)

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        from ctxzoo.hub.saved_model import load_saved_model

        model: Any = load_saved_model(str(checkpoint))[0]
        if model.reads_new_bills:
            return '--text "what the bill says"'
        return f"--bill {shlex.quote(model.config.get_bill_names()[0])}"

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.vote_prediction.task import evaluate

        problem_options = {name: value for name, value in problem_options.items() if value is not None}
        return evaluate(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **problem_options
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `VoteAnswers` to rows, by `predict_options`; files it names are read."""
        from ctxzoo.tasks.vote_prediction.prediction import VoteAnswers, collect_known_votes
        from ctxzoo.tasks.vote_prediction.reader import read_bill_texts, read_votes

        columns = _build_vote_columns(options)
        texts, known = options.get("texts"), options.get("known")
        return partial(
            VoteAnswers,
            model,
            columns,
            texts=None if texts is None else read_bill_texts(Path(texts), columns),
            known=None if known is None else collect_known_votes(known, read_votes(known, columns=columns), model),
        )

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write predicted votes on bills, by the options of `predict` on the command line."""
        text, bill, points = (problem_options[name] for name in ("text", "bill", "ideal_points"))
        if points is not None:
            if text is not None or bill is not None or options.file is not None:
                raise ValueError("--ideal_points goes without --text, --bill and --file: it is of all training votes")
            self.write_ideal_points(options, problem_options)
            return
        for name in ("positive", "interval"):
            if problem_options[name] is not None:
                raise ValueError(f"--{name} belongs to --ideal_points")
        if (text is None and bill is None) == (options.file is None):
            raise ValueError("give --text, --bill, or both, or else --file")
        if options.file is None and options.output is not None:
            raise ValueError("--output belongs to --file")
        if text is not None and not text.strip():
            raise ValueError(f"--text is {text!r}; expected what the bill says")

        from ctxzoo.models.ops_vote import NEW_BILL

        answers = self.prepare_answers(*load_model(options), problem_options)()
        if options.file is not None:
            number = answer_file(options, answers, columns=answers.columns.names)
            report_written_answers(options, format_count(number, "predictions"))
            return
        source, known_votes, texts = problem_options["known"], answers.known, answers.texts
        if bill is None and len(known_votes) > 1:
            raise ValueError(
                f"--known {source} has votes on {len(known_votes):,} bills; say which with --bill, or give one"
            )
        on_bill = next(iter(known_votes.values()), None) if bill is None else known_votes.get(bill)
        if known_votes and on_bill is None:
            raise ValueError(f"--known {source} has no vote on the bill {bill!r}")
        said = text if text is not None or texts is None else texts.get(bill)
        found = answers.model.predict_votes(said, NEW_BILL if bill is None else bill, on_bill)
        for name, yea in found:
            print(f"{yea:.4f}  {name}")

    def write_ideal_points(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Write the ideal points of a checkpoint into a file, and say how many have an interval.

        Raises:
            ValueError: a model without ideal points, no such legislator, or an interval that cannot be.
        """
        from ctxzoo.data.answer_files import parse_answer_file_kind
        from ctxzoo.data.files import check_output_file
        from ctxzoo.tasks.vote_prediction.points import list_ideal_points, write_ideal_points

        file, level = problem_options["ideal_points"], problem_options["interval"]
        parse_answer_file_kind(file)
        check_output_file(file, "--ideal_points", [])
        rows = list_ideal_points(options.saved.load()[0], problem_options["positive"], 90 if level is None else level)
        write_ideal_points(rows, file)
        without = sum(row["low"] is None for row in rows)
        intervals = f", {without:,} of them without an interval" if without else ""
        print(f"{format_count(len(rows), 'ideal points')}{intervals}: {file}")


def _build_vote_columns(options: Mapping[str, Any]) -> Any:
    """Return the names of the columns of votes, bills and legislators that the options give."""
    from ctxzoo.tasks.vote_prediction.reader import VoteColumns

    named = {option.name: options.get(option.name) for option in COLUMNS}
    return VoteColumns(**{name.removesuffix("_column"): value for name, value in named.items() if value is not None})


VOTE_PREDICTION = VotePrediction()
