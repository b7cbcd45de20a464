"""Question answering: its trainings, and what the command line does with its checkpoints."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.data.notices import format_count
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import CONTINUED, Problem
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    get_scoring_arguments,
    load_model,
    parse_probability,
    report_written_answers,
    write_json,
)
from ctxzoo.tasks.question_answering import experiments
from ctxzoo.tasks.question_answering.experiments import (
    ARCHITECTURE,
    OF_NEW_MODELS,
    PAPERS_BEST,
    PROBLEM,
    QUERY_TO_CONTEXT,
    SEARCH_SPACE,
    TINY,
    VARIANT,
    QuestionData,
    ReaderModel,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.tasks.question_answering.bidaf_start import BidafCheckpoint
    from ctxzoo.training.task import ZooTask

# What a checkpoint to go on from has decided: name to the value that leaves it open.
OF_A_CHECKPOINT = {
    "variant": "",
    "extensions": (),
    "query_to_context": None,
    **{name: getattr(ReaderModel, name) for name in OF_NEW_MODELS},
}


class QuestionAnswering(Problem, TaskCommands):
    """Which words of a text answer a question."""

    name, title = PROBLEM, "question answering"
    card_at = "ctxzoo.tasks.question_answering.card:CARD"
    export_at = "ctxzoo.tasks.question_answering.export:EXPORT"
    module_at = "ctxzoo.tasks.question_answering.task:QuestionAnsweringTask"
    page_at = "ctxzoo.tasks.question_answering.page:build_page"
    data_args, model_args = QuestionData, ReaderModel
    streams = True
    of_tokenizer = ("word_embedding_size", "min_word_count")
    of_checkpoint = ("char_channels",)
    of_recipes = ("squad_version", "train_source", "left_out_source")
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "f1"
    called = 'question="...", context="..."'
    fix_answer_start = Option("fix_answer_start", "move wrong offsets of answers; default: no", choices=("yes", "no"))
    evaluate_options = (
        Option("squad_version", "default: auto, as the data is", choices=("auto", "1.1", "2.0")),
        fix_answer_start,
        Option("threshold", "no-answer score above which it abstains; default: the model's", parse_probability),
    )
    predict_options = (
        Option("question", serves=False),
        Option("context", "the text that answers it", serves=False),
        Option("na_prob", "JSON file of id to no-answer score; with --file", Path, serves=False),
        Option("threshold", "no-answer score above which the answer is empty", parse_probability),
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each variant of an architecture."""
        found: Mapping[str, Mapping[str, Any]] = ARCHITECTURES[architecture].config_class.variants
        return found

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant of an architecture."""
        make = experiments.build_paper_experiment if name == "paper" else experiments.build_default_experiment
        return make(architecture, variant)

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        sizes = TINY if experiment.start.init_from is None else {}
        return experiment.copy_with(epochs=1, tiny=True, **sizes)

    def check(self, experiment: Experiment) -> None:
        """Raise an error, before data is read, for an unknown variant or settings that contradict the checkpoint.

        Raises:
            OSError: there is no such checkpoint.
            ValueError: there is such a value.
        """
        from ctxzoo.hub.card_facts import check_architecture

        model, start = experiment.model, experiment.start.init_from
        check_architecture(model.architecture)
        variants = self.get_variants(model.architecture)
        if model.variant not in ("", CONTINUED, *variants):
            raise ValueError(f"variant={model.variant!r}: expected one of {', '.join(variants)}")
        self.check_continuation(experiment)
        values = experiment.values()
        is_read = start is None or values["vectors_name"] is not None
        if not is_read and any(values[name] != usual for name, usual in OF_A_CHECKPOINT.items()):
            self._read_checkpoint(experiment)

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the settings that follow from its checkpoint, word vectors and data.

        These are variant, extensions, query-to-context, width and dropout, name and content of the vectors, the version
        of SQuAD, and where the similarity's product begins.

        Raises:
            OSError: there is no such checkpoint, file of word vectors or data.
            ValueError: what is asked for contradicts the checkpoint, or the data does not suit.
        """
        from ctxzoo.models.layers_bidaf import trilinear_init_bound

        experiment = self.fill_in_encoder(experiment)
        begun: BidafCheckpoint | None = None
        if experiment.values()["vectors_name"] is None:  # nothing was found out yet
            begun = None if experiment.start.init_from is None else self._read_checkpoint(experiment)
            experiment = experiment.copy_with(**_infer_model_values(experiment, begun))
        model: Any = experiment.model
        data: Any = experiment.data
        version = data.squad_version
        if version == "auto":
            version = self.build_data_module(experiment).squad_version
        if experiment.trainer.monitor == "no_answer_auc" and version == "1.1":
            raise ValueError(f"monitor=no_answer_auc: every question of {data.dataset} has an answer; try f1")
        if begun is not None and version != begun.squad_version:
            raise ValueError(
                f"{experiment.start.init_from} reads SQuAD {begun.squad_version}, and {data.dataset} is SQuAD "
                f"{version}; say --squad_version, or choose other data"
            )
        # Results tell six digits.
        bound = (
            float(f"{trilinear_init_bound(2 * model.hidden_size):.6g}") if experiment.start.init_from is None else None
        )
        return experiment.copy_with(squad_version=version, product_start=bound)

    def _read_checkpoint(self, experiment: Experiment) -> BidafCheckpoint:
        """Read the checkpoint that a training continues from; errors are those of `fill_in_settings`."""
        from ctxzoo.tasks.question_answering.bidaf_start import read_bidaf_checkpoint

        values, path = experiment.values(), str(experiment.start.init_from)
        begun = read_bidaf_checkpoint(path, needs_variant=experiment.model.variant != CONTINUED)
        for name, usual in OF_A_CHECKPOINT.items():
            value, own_value = values[name], getattr(begun, name)
            if name == "extensions":
                value = tuple(sorted(value))
            if value not in (usual, own_value, CONTINUED):
                value, own_value = (list(item) if isinstance(item, tuple) else item for item in (value, own_value))
                raise ValueError(
                    f"{name}={value!r} beside init_from={path!r}: that checkpoint has {own_value!r}; leave one of the "
                    "two out"
                )
        return begun

    def get_folder_name(self, experiment: Experiment) -> str | None:
        """Return a folder name that tells the paper's settings; None for the user's own data."""
        return None if experiment.data.rows else experiments.build_folder_name(experiment)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's questions, with groups of questions that share a text."""
        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.tasks.question_answering.reader import COLUMNS, check_squad, group_questions, load_squad

        data: Any = experiment.data

        def load_splits(source: str) -> Loaded:
            splits, origin, _ = load_squad(source, data_dir=experiment.run.data_dir)
            if len(splits) == 1:  # a file may have any name
                splits, origin = ({"train": next(iter(one.values()))} for one in (splits, origin))
            return splits, origin

        splits, origin = load_splits_of_files(data.dataset, files, load_splits)
        checked = check_squad(splits, origin=origin, fix_answer_start=data.fix_answer_start)
        _refuse_other_squad_version(experiment, checked.squad_version)
        splits = {name: split.select_columns(list(COLUMNS)) for name, split in checked.splits.items()}
        return OwnRows(splits=splits, **vars(group_questions(checked)))

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the `SquadDataModule` of an experiment."""
        from ctxzoo.tasks.question_answering.data import SquadDataModule

        data: Any = experiment.data
        model: Any = experiment.model
        start: Any = experiment.start
        run: Any = experiment.run
        words = {name: value for name in self.of_tokenizer if (value := getattr(data, name)) is not None}
        return SquadDataModule(
            experiment.source,
            data_dir=run.data_dir,
            squad_version=data.squad_version,
            fix_answer_start=data.fix_answer_start,
            word_vectors=start.word_vectors,
            **words,
            characters="char" in model.variant,
            word_features="word_features" in model.extensions,
            batch_size=data.batch_size,
            train_source=data.train_source,
            left_out_source=data.left_out_source,
            pool_batches=data.pool_batches,
            streaming=data.streaming,
            shuffle_buffer=data.shuffle_buffer,
            seed=experiment.seed,
            num_workers=run.num_workers,
            init_from=start.init_from,
            encoder=start.encoder,
        )

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Build the complete config of a new model, from a DataModule after `setup`."""
        return {**super().build_model_config(experiment, data), "squad_version": data.squad_version}

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with the untrained model, or the one to continue from."""
        from ctxzoo.word_vectors.vocabulary import set_word_vectors

        data.split_dataloader("validation")  # it picks epoch and threshold: where there is none, an error now
        task = super().build_module(experiment, data, processes)
        if experiment.start.init_from is None:
            set_word_vectors(task.model, data.build_vector_table())
            return task
        config = task.model.config
        if config.trained_positions is not None:  # what the checkpoint itself was trained on counts as well
            config.trained_positions = max(config.trained_positions, data.count_trained_positions())
        return task

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return the scores of each split by name, at a no-answer threshold that is first tuned on validation."""
        from ctxzoo.tasks.question_answering.data import LEFT_OUT
        from ctxzoo.training.scoring import score_splits

        progress = experiment.run.progress
        scores = score_splits(task, data, ("validation",), progress=progress)
        task.tune_threshold(scores["validation"])
        # With a threshold, validation has a score at it as well.
        later_splits = [split for split in splits if split != "validation" or task.no_answer_threshold is not None]
        if data.left_out_source is not None and "test" in splits:
            later_splits.append(LEFT_OUT)
        return scores | score_splits(task, data, tuple(later_splits), progress=progress)

    def collect_scores_per_example(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, list[float]]:
        """Return the scores by article, see `score_articles`, of the split that the results file reports."""
        from ctxzoo.tasks.question_answering.task import score_articles

        return score_articles(task, data, "test" if "test" in splits else "validation")

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield the sliding window over words, the only baseline of question answering."""
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.question_answering.sliding_window import VARIANT, SlidingWindowRun

        yield Baseline(
            build_baseline_run(SlidingWindowRun, self, experiment, VARIANT),
            "a sliding window",
            "the words of the context beside which most words of the question stand; it always answers",
            notice="reading every question with a sliding window over words, to stand beside it",
        )

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        return '--question "..." --context "..."'

    def get_split_of_file(self, file: Path) -> str:
        from ctxzoo.tasks.question_answering.reader import infer_split_name

        return infer_split_name(file)

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.question_answering.task import evaluate

        return evaluate(
            options.checkpoint,
            options.dataset,
            options.split,
            squad_version=problem_options["squad_version"] or "auto",
            fix_answer_start=problem_options["fix_answer_start"] == "yes",
            no_answer_threshold=problem_options["threshold"],
            **get_scoring_arguments(options),
        )

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `QuestionAnswers` of a reader, by `predict_options`."""
        from ctxzoo.tasks.question_answering.card import CARD
        from ctxzoo.tasks.question_answering.prediction import QuestionAnswers

        reader = CARD.build_pipeline(model, tokenizer, device=model.device)
        return partial(QuestionAnswers, reader, no_answer_threshold=options.get("threshold"), batch_size=batch_size)

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write answers to questions, by the options of `predict` on the command line."""
        question, context, na_prob = (problem_options[name] for name in ("question", "context", "na_prob"))
        is_typed = question is not None or context is not None
        if is_typed == (options.file is not None):
            raise ValueError("give either --question with --context, or --file")
        if is_typed and (question is None or context is None):
            raise ValueError("--question and --context belong together; only one of them was given")
        if is_typed and (options.output is not None or na_prob is not None):
            raise ValueError("--output and --na_prob belong to --file")

        from ctxzoo.tasks.question_answering.prediction import COLUMNS, stream_questions

        rows = None if is_typed else stream_questions(options.file)
        answers = self.prepare_answers(*load_model(options), problem_options, batch_size=options.batch_size)()
        if is_typed:
            _print_answer(answers.reader(question=question, context=context, **answers.options))
            return
        number = answer_file(options, answers, rows=rows, columns=COLUMNS)
        if na_prob is not None:
            write_json(na_prob, answers.no_answer_scores)
        report_written_answers(options, f"{format_count(number, 'answers')}, {answers.empty} of them empty", na_prob)


def _infer_model_values(experiment: Experiment, checkpoint: BidafCheckpoint | None) -> dict[str, Any]:
    """Return the settings by name that a checkpoint or a file of word vectors decides."""
    from ctxzoo.tasks.question_answering.bidaf_start import LEARNED
    from ctxzoo.word_vectors.vectors import fingerprint_word_vectors, get_word_vectors_name

    model: Any = experiment.model
    data: Any = experiment.data
    start: Any = experiment.start
    if checkpoint is not None:
        decided = {name: getattr(checkpoint, name) for name in OF_A_CHECKPOINT}
        variant = CONTINUED if model.variant == CONTINUED else checkpoint.variant
        inferred = {"variant": variant, "vectors_name": checkpoint.word_vectors, "finish_source": data.train_source}
        return {**decided, **inferred}
    vectors = start.word_vectors
    return {
        "variant": model.variant or PAPERS_BEST,
        "extensions": tuple(sorted(model.extensions)),
        "query_to_context": model.query_to_context or QUERY_TO_CONTEXT,
        "vectors_name": LEARNED if vectors is None else get_word_vectors_name(vectors),
        "vectors_fingerprint": None if vectors is None else fingerprint_word_vectors(vectors),
    }


def _refuse_other_squad_version(experiment: Experiment, version: str) -> None:
    """Raise an error if the data has another SQuAD version than the checkpoint to continue from.

    Raises:
        ValueError: the checkpoint is of the other version of SQuAD.
    """
    start = experiment.start.init_from
    if start is None:
        return
    from ctxzoo.hub.saved_model import read_saved_model

    config: Any = read_saved_model(start).config
    if config.squad_version != version:
        has = "some questions have no answer" if version == "2.0" else "every question has an answer"
        raise ValueError(
            f"--init_from {start!r} reads SQuAD {config.squad_version}, and in {experiment.data.dataset} {has}, as in "
            f"SQuAD {version}; take a checkpoint of that version, or train without --init_from"
        )


def _print_answer(answer: Mapping[str, Any]) -> None:
    """Print an answer with its place and probability, or that there is none."""
    if answer["answer"]:
        print(answer["answer"])
        print(f"characters {answer['start']} to {answer['end']}, probability {answer['score']:.4f}")
    else:
        print("(no answer)")
    print(f"no-answer score {answer['no_answer_score']:.4f}")


QUESTION_ANSWERING = QuestionAnswering()
