"""Session recommendation and next event: their trainings, and what the command line does with their checkpoints."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ctxzoo.data.notices import format_count
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem, read_names_of_checkpoint
from ctxzoo.tasks.commands import (
    Option,
    TaskCommands,
    answer_file,
    check_input,
    get_scoring_arguments,
    load_model,
    parse_positive_number,
    report_written_answers,
)
from ctxzoo.tasks.sequences import experiments, kinds
from ctxzoo.tasks.sequences.experiments import (
    EVENT_SPACE,
    EVENT_VARIANTS,
    EVENTS,
    MANY_ITEMS,
    SAMPLED_OF_MANY,
    SESSION_SPACE,
    SESSION_VARIANTS,
    SESSIONS,
    TINY,
    EventModel,
    SequenceData,
    SessionModel,
)

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.data.rows import RowStream
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.training.task import ZooTask

COLUMNS = (
    Option("user_column", "of a file of events: whose they are; default: user"),
    Option("item_column", "what was chosen, or happened; default: item"),
    Option("time_column", "when, as numbers or dates; default: time"),
)
SEEN = "{} that a prediction sees at most; default: as in the training"
TIES = "{} with the score of {}: before it, or behind"
LENGTHS = Option("at", "lengths of further lists that are scored, as 5 50", int, many=True)
BETWEEN, AT = "|", "@"  # the things of a history, and an event and its time


def _select_columns(options: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the names of columns that the options give, by field of `EventColumns`; None: the usual name."""
    return {option.name.removesuffix("_column"): options.get(option.name) for option in COLUMNS}


class SequenceProblem(Problem, TaskCommands):
    """What both problems share; a subclass says with what."""

    data_args = SequenceData
    joins_rows = streams = True
    ends: ClassVar[tuple[str, ...]]  # what stands behind the names of a history that is shown

    @property
    def kind(self) -> kinds.SequenceKind:
        """The `SequenceKind`: names of sequences and their items, and of the columns of a dataset."""
        return kinds.SESSIONS if self.name == SESSIONS else kinds.HISTORIES

    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the settings for a quick trial: one epoch of a very small model."""
        new = experiment.start.init_from is None
        return experiment.copy_with(epochs=1, tiny=True, **(TINY[self.name] if new else {}))

    def check(self, experiment: Experiment) -> None:
        """Raise `ValueError` for settings that the architecture does not have, or that a stream cannot have."""
        super().check(experiment)
        if experiment.data.streaming:
            from ctxzoo.data.training_stream import refuse_settings_of_whole_data

            whole = {"split": "random", "min_item_count": 1, "min_session_length": 1}
            refuse_settings_of_whole_data(experiment.data, whole, self.kind.several)

    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check the user's sessions or histories, with groups of equal ones."""
        from ctxzoo.data.own_splits import Loaded, OwnRows, load_splits_of_files
        from ctxzoo.tasks.sequences.reader import (
            SequenceSplits,
            check_sequences,
            group_equal_sequences,
            load_sequences,
        )
        from ctxzoo.tasks.sequences.splitting import divide_sequences, drop_rare

        data: Any = experiment.data
        columns = kinds.EventColumns(*(getattr(data, option.name) for option in COLUMNS))
        by_time = data.split == "time"

        def load_splits(source: str) -> Loaded:
            splits = load_sequences(self.kind, source, experiment.run.data_dir, columns, keep_times=by_time)
            return splits, dict.fromkeys(splits, source)

        loaded, _ = load_splits_of_files(data.dataset, files, load_splits)
        splits = check_sequences(self.kind, loaded, origin=data.dataset, keep_times=by_time).splits
        how = ""
        if "train" in splits and max(data.min_item_count, data.min_session_length) > 1:
            splits["train"] = drop_rare(
                self.kind, splits["train"], data.dataset, data.min_item_count, data.min_session_length
            )
        if data.split != "random":
            if set(splits) != {"train"}:
                raise ValueError(
                    f"split={data.split!r}: {data.dataset} has the splits {', '.join(sorted(splits))} already; give "
                    "one file without --validation and --test, or leave split out"
                )
            splits, how = divide_sequences(self.kind, splits["train"], data.dataset, data.split)
        groups = group_equal_sequences(self.kind, SequenceSplits(splits, {}))
        unit = {"unit": f"parts of {self.kind.several}", "how": how} if how else {}
        return OwnRows(splits=splits, **{**vars(groups), **unit})

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the DataModule; a training that continues keeps the ids of the checkpoint's items."""
        from ctxzoo.tasks.sequences.data import HistoryDataModule, SessionDataModule

        data: Any = experiment.data
        start = experiment.start.init_from
        if not data.rows and (data.split != "random" or max(data.min_item_count, data.min_session_length) > 1):
            raise ValueError(
                "split, min_item_count and min_session_length are for data of your own (`ctxzoo train`), which it "
                "divides; published data has splits of its own: leave them out"
            )
        # Rows that are written have no columns of their own.
        columns = {} if data.rows else {option.name: getattr(data, option.name) for option in COLUMNS}
        names = {} if start is None else {self.kind.names_argument: read_names_of_checkpoint(start)}
        build: Any = SessionDataModule if self.name == SESSIONS else HistoryDataModule
        return build(
            experiment.source,
            data_dir=experiment.run.data_dir,
            **columns,
            **names,
            max_length=data.max_length,
            batch_size=data.batch_size,
            streaming=data.streaming,
            shuffle_buffer=data.shuffle_buffer,
            seed=experiment.seed,
        )

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield popularity, and item-kNN or a Markov chain where the problem has it."""
        from ctxzoo.runs.beside import Baseline, build_baseline_run
        from ctxzoo.tasks.sequences.baselines import CountedEvents, CountedSessions

        run_class = CountedSessions if self.name == SESSIONS else CountedEvents
        things = self.kind.things
        descriptions = {
            "pop": ("popularity", f"how often each of the {things} stands in train"),
            "item_knn": ("item-kNN", f"{things} that stand in train with the last one, by cosine"),
            "markov": ("a Markov chain", f"what followed the last of the {things} in train"),
        }
        for variant, (name, description) in descriptions.items():
            if variant in run_class.baselines:
                yield Baseline(build_baseline_run(run_class, self, experiment, variant), name, description)

    def get_start_arguments(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Return the LightningModule's arguments that make its model, with the lengths of lists that are scored."""
        data_args: Any = experiment.data
        at = {} if data_args.at is None else {"at": list(data_args.at)}
        return {**super().get_start_arguments(experiment, data), **at}

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with the untrained model, or the one to continue from."""
        task = super().build_module(experiment, data, processes)
        task.model.config.max_history = data.max_length
        return task

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return the scores of each split by name; only in users' own data do unknown targets count as misses."""
        from ctxzoo.tasks.sequences.task import add_unknown_targets

        misses = bool(experiment.data.rows)
        return {
            split: add_unknown_targets(scores, data.targets[split], data.unknown_targets[split], misses)
            for split, scores in super().score(experiment, task, data, splits).items()
        }

    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Format example arguments of `ctxzoo predict` for a checkpoint."""
        names = [name for name in read_names_of_checkpoint(str(checkpoint)) if BETWEEN not in name][: len(self.ends)]
        names = names or read_names_of_checkpoint(str(checkpoint))[:1]
        shown = [names[min(place, len(names) - 1)] + end for place, end in enumerate(self.ends)]
        return f"--history {shlex.quote(f' {BETWEEN} '.join(shown))}"

    def evaluate(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores of a checkpoint on a split, by the options of `evaluate` on the command line."""
        from ctxzoo.tasks.sequences.task import evaluate_histories, evaluate_sessions

        score: Any = evaluate_sessions if self.name == SESSIONS else evaluate_histories
        typed = {name: value for name, value in problem_options.items() if value is not None}
        scores: dict[str, float] = score(
            options.checkpoint, options.dataset, options.split, **get_scoring_arguments(options), **typed
        )
        return scores

    def prepare_answers(
        self, model: Any, tokenizer: Any, options: Mapping[str, Any], *, batch_size: int = 32
    ) -> Callable[[], Any]:
        """Return a function that builds the `SequenceAnswers` to sequences, by `predict_options`."""
        from ctxzoo.tasks.sequences.prediction import SequenceAnswers

        only_new = options.get("only_new") == "yes"
        return partial(SequenceAnswers, self.kind, model, k=options.get("top"), only_new=only_new)

    def stream_rows(self, name: str, rows: Sequence[dict[str, Any]], options: Mapping[str, Any]) -> RowStream:
        """Return rows of events, or of sequences, as the stream of sequences that the answers read."""
        from ctxzoo.tasks.sequences.prediction import stream_sequences

        return stream_sequences(self.kind, name, _select_columns(options), rows)

    def predict(self, options: argparse.Namespace, problem_options: Mapping[str, Any]) -> None:
        """Print or write what follows sessions or histories, by the options of `predict` on the command line."""
        check_input(options, "history", problem_options["history"])
        typed = problem_options["history"]
        history = None if typed is None else self.parse_history(typed.split(BETWEEN))

        from ctxzoo.data.row_stream import open_as_file_with_suffix
        from ctxzoo.tasks.sequences.prediction import stream_sequences

        answers = self.prepare_answers(*load_model(options), problem_options)()
        if history is not None:
            model = answers.model
            only_new = {"only_new": answers.only_new} if self.name == SESSIONS else {}
            next_things = model.recommend if self.name == SESSIONS else model.next_events
            for name, probability in next_things(*history, answers.k, **only_new):
                print(f"{probability:.4f}  {name}")
            return
        columns = _select_columns(problem_options)
        header = [name or usual for usual, name in columns.items()]
        with open_as_file_with_suffix(options.file, kind=options.format, columns=header) as file:
            number = answer_file(options, answers, rows=stream_sequences(self.kind, file, columns))
        report_written_answers(options, format_count(number, self.kind.several))

    def parse_history(self, parts: Sequence[str]) -> tuple[Any, ...]:
        """Parse the things of a history as a user types them into item names, and times if the problem has them."""
        return ([name.strip() for name in parts],)


class SessionRecommendation(SequenceProblem):
    """Which item comes next in a session."""

    name, title = SESSIONS, "session recommendation"
    called = '["..."]'
    card_at = "ctxzoo.tasks.sequences.card:SESSION_CARD"
    export_at = "ctxzoo.tasks.sequences.export:SESSION_EXPORT"
    module_at = "ctxzoo.tasks.sequences.task:SessionRecommendationTask"
    page_at = "ctxzoo.tasks.sequences.page:build_session_page"
    model_args = SessionModel
    default = ("hcrnn", "hcrnn3_bi")
    space = SESSION_SPACE
    # Among few items the right one is soon among twenty, whatever is learned: recall@20 tells no epoch from another.
    objective = "mrr_at_20"
    ends = ("", "")
    evaluate_options = (
        *COLUMNS,
        Option("max_length", SEEN.format("items"), parse_positive_number),
        Option("ties", TIES.format("items", "the right one"), str, ("pessimistic", "optimistic")),
        LENGTHS,
    )
    predict_options = (
        Option("history", f'names of items in the order of time, with "{BETWEEN}" between them', serves=False),
        Option(
            "top",
            "number of items; default: 10, or all that can be recommended where they are fewer",
            parse_positive_number,
        ),
        Option("only_new", "whether to leave out the items of the history", str, ("yes", "no")),
        *COLUMNS,
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each variant of an architecture."""
        return SESSION_VARIANTS[architecture]

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Return the complete config of a new model; of many items its training compares with a sample, and says so."""
        model: Any = experiment.model
        config = super().build_model_config(experiment, data)
        if config["num_items"] > MANY_ITEMS and model.num_sampled is None:
            config["num_sampled"] = SAMPLED_OF_MANY
            print(
                f"{config['num_items']:,} items: each training step compares the right one with {SAMPLED_OF_MANY:,} "
                "sampled ones (num_sampled, 0 for all); scores are over all items"
            )
        return config

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant of an architecture."""
        make = (
            experiments.build_session_paper_experiment
            if name == "paper"
            else experiments.build_session_default_experiment
        )
        return make(architecture, variant).copy_with(monitor=self.objective)

    def collect_scores_per_example(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, list[float]]:
        """Return the scores of each session of the scored splits, by `SessionScore` field."""
        from ctxzoo.tasks.sequences.task import session_scores

        sessions = {split: session_scores(task.model, data, split) for split in splits}
        return {
            f"{split}/{name}": [getattr(session, name) for session in scores]
            for split, scores in sessions.items()
            for name in ("predictions", "recall_at_20", "mrr_at_20")
        }


class NextEvent(SequenceProblem):
    """Which event comes next in a history of events at times."""

    name, title = EVENTS, "next event"
    called = '{"events": ["..."], "timestamps": [0]}'
    card_at, module_at = "ctxzoo.tasks.sequences.card:EVENT_CARD", "ctxzoo.tasks.sequences.task:NextEventTask"
    page_at = "ctxzoo.tasks.sequences.page:build_event_page"
    export_at = "ctxzoo.tasks.sequences.export:EVENT_EXPORT"
    model_args = EventModel
    default = ("time_encoder", "lste")
    space = EVENT_SPACE
    objective = "recall_at_1"
    ends = (f" {AT} 0", f" {AT} 3600")
    evaluate_options = (
        *COLUMNS,
        Option("max_length", SEEN.format("events"), parse_positive_number),
        Option("ties", TIES.format("events", "the right one"), str, ("pessimistic", "optimistic")),
        LENGTHS,
    )
    predict_options = (
        Option(
            "history",
            f'names of events with their times, "water {AT} 0 {BETWEEN} feed {AT} 86400", or dates where those of the '
            "training were dates",
            serves=False,
        ),
        Option("top", "number of events; default: 10, or all where there are fewer", parse_positive_number),
        *COLUMNS,
    )

    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of the model's configuration for each variant of an architecture."""
        return EVENT_VARIANTS[architecture]

    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the settings named "paper" or "default" for a variant of an architecture."""
        make = (
            experiments.build_event_paper_experiment if name == "paper" else experiments.build_event_default_experiment
        )
        return make(architecture, variant)

    def parse_history(self, parts: Sequence[str]) -> tuple[Any, ...]:
        """Parse the things of a history as a user types them into events and times.

        Raises:
            ValueError: an event without a time; times that are none.
        """
        from ctxzoo.tasks.sequences.reader import convert_to_seconds

        events, times = [], []
        for part in parts:
            name, at, time = part.rpartition(AT)
            if not at or not name.strip() or not time.strip():
                raise ValueError(f'{part.strip()!r} is no event with a time; expected as "water {AT} 86400"')
            events.append(name.strip())
            times.append(time.strip())
        return events, convert_to_seconds(times)


SESSION_RECOMMENDATION, NEXT_EVENT = SessionRecommendation(), NextEvent()
