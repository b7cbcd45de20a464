"""`Problem`: what one problem trains, how, and on which rows. What takes time is imported when it is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ctxzoo.data.notices import print_once
from ctxzoo.lazy_exports import import_object
from ctxzoo.models.old_names import convert_architecture_name
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs
from ctxzoo.runs.spaces import Between, Space, build_learning_rate_range

if TYPE_CHECKING:
    from ctxzoo.data.own_splits import OwnRows
    from ctxzoo.hub.saved_model import SavedModel
    from ctxzoo.hub.task_card import TaskCard
    from ctxzoo.runs.beside import Baseline
    from ctxzoo.runs.train import ExperimentRun
    from ctxzoo.training.task import ZooTask

CONTINUED = "continued"  # what names say of a model that began as a checkpoint
# Settings of a table of word vectors, with the values that leave it out where an encoder reads the words.
OF_A_TABLE = {"word_vectors": None, "vectors_std": 0.0, "vector_words": 0, "word2vec_dim": 0}
# Values of data; the others are the checkpoint's.
OF_A_CONTINUATION = ("batch_size", "max_length", "bptt", "streaming", "shuffle_buffer")


class Problem(ABC):
    """Everything about the trainings of one problem; heavy parts are imported when they are asked for.

    Attributes:
        name: Name of the problem, as in `zoo_task` of the heads.
        title: Name of the problem in plain words, such as "text classification", for messages.
        card_at, module_at: Places of the problem's `TaskCard` and LightningModule, each as "module:name", imported when
            needed.
        page_at: Place of the function that lays out the problem's page, from a pipeline and an example, as `card_at`;
            None: the problem has no page.
        train_name: Name of the problem in `ctxzoo train`, where it differs from `name`; None: `name`.
        data_args, model_args: Classes of the data and model settings of the problem's experiments.
        default: Names of the default architecture and variant.
        objective: Validation metric by which a hyperparameter search compares trials, a key of the card's `metrics`.
        lower_is_better: Whether a lower score is better, as of a loss.
        space: Values that a hyperparameter search tries, by setting; the learning rate is always searched, settings
            that are None are not.
        of_tokenizer: Names of data settings that come with the tokenizer when training continues from a checkpoint.
        of_checkpoint: Names of further settings that the checkpoint fixes when training continues from it.
        in_help: Names of data and model settings that `ctxzoo train PROBLEM --help` lists; empty: all.
        of_recipes: Names of data settings that only recipes accept; `ctxzoo train` on a user's own rows hides them.
        streams: Whether training rows may stay on the disk (`streaming`).
        called: Arguments of a call of the problem's pipeline, as source code for messages, such as '"..."'; empty: they
            depend on the data, and no call is shown.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    card_at: ClassVar[str]
    module_at: ClassVar[str]
    page_at: ClassVar[str | None] = None
    train_name: ClassVar[str | None] = None
    data_args: ClassVar[type[DataArgs]]
    model_args: ClassVar[type[ModelArgs]]
    default: ClassVar[tuple[str, str]]
    objective: ClassVar[str]
    lower_is_better: ClassVar[bool] = False
    space: ClassVar[Space]
    of_tokenizer: ClassVar[tuple[str, ...]] = ()
    of_checkpoint: ClassVar[tuple[str, ...]] = ()
    in_help: ClassVar[tuple[str, ...]] = ()
    of_recipes: ClassVar[tuple[str, ...]] = ()
    streams: ClassVar[bool] = False
    called: ClassVar[str] = ""

    @property
    def card(self) -> TaskCard:
        """The `TaskCard` of the problem: its metrics, and the texts of its model cards."""
        task_card: TaskCard = import_object(self.card_at)
        return task_card

    @property
    def module_class(self) -> type[ZooTask]:
        """Class of the LightningModule; a problem with a `train` of its own needs none."""
        task_class: type[ZooTask] = import_object(self.module_at)
        return task_class

    def build_page(self, pipeline: Any, example: Mapping[str, Any]) -> Any:
        """Lay out what a page asks and shows of a checkpoint, within the `gradio.Blocks` around the call.

        Args:
            pipeline: Checkpoint opened as the pipeline of the problem, with its `model` and `tokenizer`.
            example: Example of a card with its output, by the card's `example_keys`.

        Returns:
            A `ctxzoo.app.frame.Page`.
        """
        if self.page_at is None:
            raise ValueError(f"{self.name} has no page; ask its checkpoints by `ctxzoo predict`")
        return import_object(self.page_at)(pipeline, example)

    @abstractmethod
    def get_variants(self, architecture: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the config fields of each variant of an architecture, the default variant first."""

    @abstractmethod
    def get_settings(self, name: str, architecture: str, variant: str) -> Experiment:
        """Return the experiment with the named settings, "default" or "paper", for an architecture's variant."""

    @abstractmethod
    def make_tiny(self, experiment: Experiment) -> Experiment:
        """Return a copy of the experiment with a small model and a short training, for `--tiny`."""

    @abstractmethod
    def read_user_data(self, experiment: Experiment, files: Mapping[str, str], scratch: Path) -> OwnRows:
        """Read and check a user's data and return all rows, with groups of rows that stay in one split.

        Args:
            experiment: Experiment with the user's settings, whose `data.dataset` is read.
            files: Paths of separate files given for the splits "validation" and "test", by split name.
            scratch: Temporary folder that exists until the rows are written.

        Raises:
            OSError, ValueError: the data is missing or not as it should be, in one line.
        """

    def get_objective(self, experiment: Experiment) -> str:
        """Return the name of the score that a search of settings looks for, and by which two trainings are compared."""
        return self.objective

    def build_data_module(self, experiment: Experiment) -> Any:
        """Build the DataModule of an experiment, before `setup`."""
        raise NotImplementedError

    @abstractmethod
    def format_predict_arguments(self, checkpoint: Path, test: Path) -> str:
        """Return arguments for an example command `ctxzoo predict` with a checkpoint, as a user types them.

        Args:
            checkpoint: Folder of the saved model and tokenizer.
            test: File of the test rows, named in the example command of problems that predict from files.
        """

    def find_variant(self, config: Any) -> str | None:
        """Find the variant to which a checkpoint with this config belongs; None where variants do not matter."""
        return None

    def list_architectures(self) -> list[str]:
        """Return the names of the architectures that have a head of this problem."""
        return list_architectures_of_problem(self.name)

    def check(self, experiment: Experiment) -> None:
        """Raise an error for settings that the architecture does not have or that contradict the checkpoint to start
        from.

        Raises:
            ValueError: there is such a field.
        """
        from ctxzoo.hub.card_facts import check_architecture

        if experiment.data.streaming and not self.streams:
            raise ValueError(f"streaming=True: {self.title} reads all rows at once; leave it out, or take fewer rows")
        model = experiment.model
        check_architecture(model.architecture)
        variants = self.get_variants(model.architecture)
        if experiment.start.init_from is None and model.variant not in variants:
            raise ValueError(f"unknown variant {model.variant!r} of {model.architecture}; known: {', '.join(variants)}")
        known = ARCHITECTURES[model.architecture].config_class.__dataclass_fields__
        model_names = [
            name for name in model.get_config_changes() if experiment.start.init_from is None and name in known
        ]
        unknown = [name for name in model.get_config_changes() if name not in model_names]
        if unknown:
            shared_names = (
                value for group in ("data", "optimizer", "trainer") for value in getattr(experiment, group).values()
            )
            raise ValueError(
                f"{model.architecture} {model.variant} has no setting {unknown[0]}; it has "
                f"{', '.join(sorted((*model_names, *shared_names)))}"
            )
        self.check_continuation(experiment)

    def check_continuation(self, experiment: Experiment) -> None:
        """Raise an error for settings that the checkpoint to continue from decides.

        Raises:
            ValueError: there is such a value.
        """
        start = experiment.start.init_from
        if start is None:
            return
        groups = (experiment.data, experiment.model, experiment.start)
        values, usual = experiment.values(), {one.name: one.default for group in groups for one in fields(group)}
        for name in (*self.of_tokenizer, *self.of_checkpoint):
            if values[name] != usual[name]:
                raise ValueError(
                    f"{name}={values[name]} beside init_from={start!r}: the checkpoint decides it; leave one of them "
                    "out"
                )

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the settings that files decide, such as those of its checkpoint.

        This happens before its settings are compared with those of results files.

        Raises:
            OSError, ValueError: there is no such file, or it is not as it should be.
        """
        return experiment

    def fill_in_encoder(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the fingerprint of its encoder, if it has one, and without word vectors.

        Raises:
            OSError: there is no such encoder.
            ValueError: it is none; the architecture reads words from a table alone; a start that needs a table.
        """
        encoder, name = getattr(experiment.start, "encoder", None), experiment.model.architecture
        if encoder is None:
            return experiment
        with_encoder = [one for one in self.list_architectures() if "encoder_config" in get_config_fields(one)]
        if name not in with_encoder:
            raise ValueError(
                f"{name} reads words from a table alone; with --encoder there are {', '.join(with_encoder)}"
            )
        from ctxzoo.data.word_encoder import fingerprint_word_encoder, read_word_encoder

        read_word_encoder(encoder)
        values = experiment.values()
        if values.get("naive_bayes"):
            raise ValueError(
                f"naive_bayes={values['naive_bayes']} beside an encoder: it starts a table of word vectors"
            )
        replaced = {one: off for one, off in OF_A_TABLE.items() if values.get(one, off) != off}
        if replaced:
            print_once(
                f"the encoder {encoder} is in the place of word vectors: without "
                f"{', '.join(f'--{one} {values[one]}' for one in replaced)}"
            )
        widths = dict.fromkeys({"word_dim", "word_embedding_size"} & values.keys())  # the encoder decides them
        return experiment.copy_with(**replaced, **widths, encoder_fingerprint=fingerprint_word_encoder(encoder))

    def get_implied_values(self, experiment: Experiment) -> dict[str, Any]:
        """Return settings that older result files also hold, though they follow from others."""
        if experiment.start.init_from is not None:
            return {}
        return dict(self.get_variants(experiment.model.architecture)[experiment.model.variant])

    def get_file_name_part(self, experiment: Experiment) -> str:
        """Return a part for the names of result files, such as a dataset configuration; empty: none."""
        return experiment.data.file_name_part

    def get_reported_split(self, experiment: Experiment) -> str:
        """Return the name of the split that the results file reports."""
        return experiment.score

    def get_folder_name(self, experiment: Experiment) -> str | None:
        """Return the name of the run's folder; None for that of the result file."""
        return None

    def build_search_space(self, experiment: Experiment) -> dict[str, Sequence[Any] | Between]:
        """Return the values that a hyperparameter search tries for each setting, around an experiment."""
        values_now = experiment.values()
        rates = {"learning_rate": build_learning_rate_range(values_now["learning_rate"])}
        decided = {*experiment.data.values(), *experiment.model.values()} - set(OF_A_CONTINUATION)
        excluded = decided if experiment.start.init_from else ()
        space = {
            name: values for name, values in self.space.items() if values_now[name] is not None and name not in excluded
        }
        return {**rates, **space}

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Return the complete config of a new model as a dict, from a DataModule after `setup`."""
        model, start = experiment.model, experiment.start
        fields = self.get_variants(model.architecture)[model.variant]
        return {
            "model_type": f"ctxzoo_{model.architecture}",
            **fields,
            **model.get_config_changes(),
            **data.model_sizes(),
            **({"train_encoder": True} if getattr(start, "train_encoder", False) else {}),
        }

    def build_module(self, experiment: Experiment, data: Any, processes: int = 1) -> ZooTask:
        """Build the LightningModule with a new model, or with the checkpoint to continue from.

        Args:
            experiment: Experiment that describes the model's training.
            data: DataModule after its `setup`.
            processes: Number of processes that train together.
        """
        steps = experiment.build_trainer_settings().count_training_steps(data, processes)
        optimizer: Any = experiment.optimizer
        arguments = {**optimizer.get_module_arguments(steps), **experiment.start.get_module_arguments(steps)}
        task = self.module_class(**self.get_start_arguments(experiment, data), **arguments)
        encoder = getattr(experiment.start, "encoder", None)
        if encoder is not None:
            from ctxzoo.data.word_encoder import load_encoder_weights

            load_encoder_weights(task.model, encoder)
        return task

    def train(self, run: ExperimentRun, *, resume: bool) -> None:
        """Train and score the model of a run, and write the checkpoint folder and the result file.

        Args:
            run: Training run to carry out, which holds the lock of its folder.
            resume: Whether an interrupted training continues from its last checkpoint.

        Raises:
            OSError, ValueError, FloatingPointError: see the parts of the problem.
            TrainingInterrupted: Ctrl-C.
        """
        run.fit(resume=resume)

    def get_start_arguments(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Return the LightningModule's arguments that make its model: a config, or a checkpoint."""
        if experiment.start.init_from is not None:
            return {"pretrained": experiment.start.checkpoint}
        return {"model_config": self.build_model_config(experiment, data)}

    def score(
        self, experiment: Experiment, task: Any, data: Any, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the trained model on each split, by name."""
        from ctxzoo.training.scoring import score_splits

        return score_splits(task, data, splits, progress=False)

    def collect_scores_per_example(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, list[float]]:
        """Return the scores of each example for the result file, see `RunResult`; none by default."""
        return {}

    def finish(
        self,
        run: ExperimentRun,
        task: Any,
        data: Any,
        trainer: Any,
        scores: dict[str, Any],
        per_example: dict[str, list[float]],
    ) -> None:
        """Write the checkpoint folder of the best weights, and the result file.

        Args:
            run: Training run that has finished.
            task, data: LightningModule with the best weights, and DataModule.
            trainer: Lightning Trainer of the run.
            scores: Metric values by name, for each split name.
            per_example: What `collect_scores_per_example` gave.
        """
        from ctxzoo.runs.finish import finish_run

        finish_run(task, data, trainer, scores, run, per_example)

    def build_baselines(self, experiment: Experiment) -> Iterable[Baseline]:
        """Yield the baselines that are fitted and printed beside a user's model; none by default."""
        return ()


class Classification(Problem):
    """A problem whose models give one of several labels to a text or a word; their configs name those of the data.

    A checkpoint for other labels, from which a training goes on, gets a new head, see `ClassificationTask`.
    """

    def score_and_refit(
        self,
        experiment: Experiment,
        task: Any,
        data: Any,
        splits: tuple[str, ...],
        initialize_wide_part: Callable[..., None],
    ) -> dict[str, dict[str, float]]:
        """Return split to scores, validation first, before the linear part is fitted to its rows too.

        `initialize_wide_part` fits the linear part of a model to splits of a DataModule.
        """
        scores = super().score(experiment, task, data, tuple(split for split in splits if split == "validation"))
        initialize_wide_part(task.model, data, ("train", "validation"), tell_time=experiment.run.tell_time)
        return scores | super().score(experiment, task, data, tuple(one for one in splits if one != "validation"))

    def fill_in_settings(self, experiment: Experiment) -> Experiment:
        """Return the experiment with hash and width of the word vectors that it starts from, or of its encoder.

        Raises:
            OSError, ValueError: see `fingerprint_word_vectors` and `fill_in_encoder`.
        """
        experiment = self.fill_in_encoder(experiment)
        vectors = getattr(experiment.start, "word_vectors", None)
        if vectors is None:
            return experiment
        from ctxzoo.word_vectors.vectors import fingerprint_word_vectors

        return experiment.copy_with(word_dim=None, vectors_fingerprint=fingerprint_word_vectors(vectors))

    def build_model_config(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Build the complete config of a new model, from a DataModule after `setup`."""
        from ctxzoo.training.classification import label_fields

        return {**super().build_model_config(experiment, data), **label_fields(data.label_names)}

    def get_start_arguments(self, experiment: Experiment, data: Any) -> dict[str, Any]:
        """Return the arguments of the model's start, with the labels where a trained model goes on."""
        labels = {} if experiment.start.init_from is None else {"label_names": data.label_names}
        return {**super().get_start_arguments(experiment, data), **labels}


def get_config_fields(architecture: str) -> Mapping[str, Any]:
    """Return name to field of an architecture's configuration."""
    found: Mapping[str, Any] = ARCHITECTURES[architecture].config_class.__dataclass_fields__
    return found


def read_names_of_checkpoint(checkpoint: str) -> list[str]:
    """Return the names that a checkpoint has ids for, such as items, in the order of the ids."""
    from ctxzoo.hub.saved_model import read_saved_model

    config: Any = read_saved_model(checkpoint).config
    names: list[str] = config.get_row_names()
    return names


def list_architectures_of_problem(problem: str) -> list[str]:
    """Return the names of the architectures that have a head of a problem."""
    return [
        name
        for name, one in ARCHITECTURES.items()
        if any(head.zoo_task == problem for head in one.model_classes.values())
    ]


def choose_names(problem: Any, title: str, architecture: str | None, variant: str | None) -> tuple[str, str]:
    """Return the current names of the architecture and variant that a user typed.

    Args:
        problem: Object with `default` (architecture and variant names), `architectures()` and `variants(architecture)`.
        title: Name of the problem as error messages print it.
        architecture, variant: Names typed by the user; None: the defaults of the problem.

    Raises:
        ValueError: there is no such architecture or variant.
    """
    architectures = problem.list_architectures()
    name, variant_name = problem.default[0], variant
    if architecture is not None:
        name, variant_name = convert_architecture_name(architecture, variant, architectures.__contains__)
        if name != architecture:
            now = " ".join((name, *([] if variant_name is None else ["--variant", variant_name])))
            print_once(f"--architecture {architecture} is --architecture {now} now")
    if name not in architectures:
        raise ValueError(f"unknown --architecture {name!r}; for {title}: {', '.join(architectures)}")
    variants = problem.get_variants(name)
    variant_name = variant_name or (problem.default[1] if name == problem.default[0] else next(iter(variants)))
    if variant_name not in variants:
        raise ValueError(f"unknown --variant {variant_name!r}; {name} has {', '.join(variants)}")
    return name, variant_name


def open_start_checkpoint(checkpoint: str, problem: str, architecture: str | None, variant: str | None) -> SavedModel:
    """Open the checkpoint that a training continues from, and raise an error if it is of another problem or model.

    Args:
        checkpoint: Checkpoint folder or Hub id.
        problem: Name of the problem that the checkpoint's model must solve.
        architecture, variant: Names typed by the user beside the checkpoint; None: not typed.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: it is of another problem or architecture, or a variant was typed.
    """
    from ctxzoo.hub.saved_model import read_saved_model

    saved = read_saved_model(checkpoint)
    _ = saved.folder  # its files are checked now
    name, task_name = saved.architecture.name, saved.model_class.zoo_task
    if task_name != problem:
        raise ValueError(
            f"--init_from {checkpoint!r} holds a {saved.model_class.__name__}, which does {task_name or 'no task'}; "
            f"expected a checkpoint of {problem}"
        )
    if variant is not None or architecture not in (None, name):
        raise ValueError(
            f"--init_from {checkpoint!r} is a {name}; leave --architecture and --variant out, it says them"
        )
    return saved
