"""`Experiment`: the one description of a run; how it is changed, compared and written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from ctxzoo.results.environment import get_public_checkpoint_name, strip_local_path
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.training import optimizers
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SEED, SIZE, Args, number_field

Precision = Literal["32-true", "bf16-mixed", "16-mixed", "auto"]
Score = Literal["test", "validation"]


OF_A_STREAM = ("streaming", "shuffle_buffer")


@dataclass(frozen=True, kw_only=True)
class DataArgs(Args):
    """What is trained on; a problem adds its own.

    Args:
        dataset: Data: a file, folder, Hub id, dataset name known to the problem, or "sample" (generated data).
        rows: Fingerprint of a user's own rows after splitting, filled in by the run; empty: a published dataset as it
            is.
        named: Name under which results files report a user's own data, filled in by the run.
        batch_size: Number of examples in a batch.
        streaming: Whether training rows stay on the disk, for data larger than memory; a vocabulary and what is linear
            then follow from a sample of them.
        shuffle_buffer: Number of training rows that are read, and shuffled, together where they are streamed.
    """

    dataset: str = "sample"
    rows: str = ""
    named: str = ""
    batch_size: int = number_field(32, SIZE)
    streaming: bool = False
    shuffle_buffer: int = number_field(10_000, SIZE)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them: those of a stream only where there is one."""
        values = super().get_reported_values()
        return values if self.streaming else {name: one for name, one in values.items() if name not in OF_A_STREAM}

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        return ""


@dataclass(frozen=True, kw_only=True)
class ModelArgs(Args):
    """What is trained; a problem adds the fields of configurations that are changed. None: as the configuration has it.

    Args:
        architecture: Name of the architecture, one of those that `ctxzoo list` prints.
        variant: Name of the variant, a named configuration listed by `ctxzoo info ARCHITECTURE`.
        row: Name of the model in results files, where it differs from that of the variant; empty: the variant.
    """

    architecture: str
    variant: str
    row: str = ""

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name, without `model_type`."""
        return {
            name: value
            for name, value in self.values().items()
            if value is not None and name not in ("architecture", "variant", "row")
        }


@dataclass(frozen=True, kw_only=True)
class OptimizerArgs(optimizers.OptimizerArgs):
    """How weights are changed.

    Args:
        optimizer: Name of the optimizer: adadelta, adam, adamw or sgd.
        learning_rate: Peak learning rate of the optimizer, above 0.
        weight_decay: Weight decay of the optimizer, 0 or more.
        momentum: Momentum of SGD; null: 0.9. Other optimizers take none.
        warmup: Fraction of the training steps, 0 to 1, over which the learning rate rises linearly from 0.
        warmup_steps: Number of steps over which the learning rate rises linearly from 0, instead of a fraction.
        decay: Whether the learning rate falls linearly to 0 at the last step.
        decay_steps: Number of steps after which the linearly falling learning rate is 0, in place of the last step.
        halve_after: Consecutive epochs without a better validation score after which the learning rate is halved; 0:
            never.
    """

    warmup: float = number_field(0.0, FRACTION)
    decay: bool = False

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return the optimizer's arguments of the LightningModule for a training of this number of steps."""
        own = {one.name: getattr(self, one.name) for one in fields(optimizers.OptimizerArgs)}
        warmup = {"warmup_steps": round(self.warmup * steps)} if self.warmup else {}
        return {**own, **warmup, **({"decay_steps": steps} if self.decay else {})}


@dataclass(frozen=True, kw_only=True)
class ClassifierOptimizer(OptimizerArgs):
    """How weights of a classifier of texts or words are changed.

    Args:
        label_smoothing: Label smoothing: fraction of the target probability that is spread evenly over all labels.
    """

    label_smoothing: float = number_field(0.0, FRACTION)

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return the optimizer's arguments of the LightningModule for a training of this number of steps."""
        return {**super().get_module_arguments(steps), "label_smoothing": self.label_smoothing}


@dataclass(frozen=True, kw_only=True)
class TrainerArgs(Args):
    """How long and how exactly.

    Args:
        epochs: Maximum number of passes over the training data.
        max_steps: Maximum number of training steps, after which the model is scored on validation once more; 0: no
            limit.
        patience: Consecutive epochs without a better validation score after which training stops early; 0: never.
        precision: Precision of training as Lightning names it, such as 32-true or bf16-mixed; auto: what suits the
            device.
        ema_decay: Decay of the exponential moving average of the weights, such as 0.999; 0: no average.
        gradient_clip: Largest norm of the gradient, above which it is scaled down; 0: no clipping.
        monitor: Validation score that selects the best epoch, such as accuracy; empty: the problem's usual one.
        tiny: Whether a small model is trained on a few batches, to check that everything runs.
        world_size: Number of processes that train together, filled in by the run.
    """

    epochs: int = number_field(30, SIZE)
    max_steps: int = number_field(0, COUNT)
    patience: int = number_field(0, COUNT)
    precision: Precision = "32-true"
    ema_decay: float = number_field(0.0, FRACTION)
    gradient_clip: float = number_field(0.0, COUNT)
    monitor: str = ""
    tiny: bool = False
    world_size: int = number_field(1, SIZE)


@dataclass(frozen=True, kw_only=True)
class StartArgs(Args):
    """What a training begins with.

    Args:
        init_from: Checkpoint to continue training from, a folder or Hub id; null: training starts anew.
    """

    init_from: str | None = None

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint to continue training from as transformers loads it, see `locate_checkpoint`; None: none."""
        from ctxzoo.hub.saved_model import locate_checkpoint

        return None if self.init_from is None else locate_checkpoint(self.init_from)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        start = self.init_from
        return {
            **super().get_reported_values(),
            "init_from": None if start is None else get_public_checkpoint_name(start),
        }

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return further arguments of the LightningModule for a training of this number of steps."""
        return {}


OF_AN_ENCODER = ("encoder", "train_encoder", "encoder_learning_rate", "encoder_warmup", "encoder_fingerprint")


@dataclass(frozen=True, kw_only=True)
class VectorStart(StartArgs):
    """What a training of a model of words begins with.

    Args:
        word_vectors: Word vectors that the embedding table starts from: a file, checkpoint folder or Hub id; null:
            random vectors.
        vectors_fingerprint: Hash of the content of the word vectors, filled in by the run.
        encoder: Encoder of transformers whose states take the place of word vectors, such as
            distilbert/distilbert-base-uncased: a folder or Hub id; null: none.
        train_encoder: Whether training changes the encoder; otherwise it is frozen.
        encoder_learning_rate: Peak learning rate of a trained encoder.
        encoder_warmup: Fraction of the training steps, 0 to 1, over which that learning rate rises linearly from 0.
        encoder_fingerprint: Hash of the encoder's weights, or its commit on the Hub, filled in by the run.

    Raises:
        ValueError: word vectors or an encoder beside a checkpoint; settings of an encoder without one, or of its
            training where it is frozen.
    """

    word_vectors: str | None = None
    vectors_fingerprint: str | None = None
    encoder: str | None = None
    train_encoder: bool = False
    encoder_learning_rate: float = number_field(2e-5, POSITIVE)
    encoder_warmup: float = number_field(0.1, FRACTION)
    encoder_fingerprint: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init_from is not None and self.word_vectors is not None:
            raise ValueError(
                f"word_vectors={self.word_vectors!r} beside init_from={self.init_from!r}: a checkpoint has vectors of "
                "its own; leave one of them out"
            )
        if self.init_from is not None and self.encoder is not None:
            raise ValueError(
                f"encoder={self.encoder!r} beside init_from={self.init_from!r}: the checkpoint reads words as it was "
                "trained to; leave one of them out"
            )
        if self.train_encoder and self.encoder is None:
            raise ValueError("train_encoder=True without an encoder; name one, such as encoder=USER/NAME")
        changed = [
            name
            for name in ("encoder_learning_rate", "encoder_warmup")
            if getattr(self, name) != getattr(VectorStart, name)
        ]
        if changed and not self.train_encoder:
            raise ValueError(
                f"{changed[0]}={getattr(self, changed[0])} for an encoder that is not trained; set train_encoder=True"
            )

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them: those of an encoder only where there is one."""
        values = super().get_reported_values()
        for name in ("word_vectors", "encoder"):
            values[name] = None if values[name] is None else strip_local_path(values[name])
        # Earlier files tell the way in which a baseline sums up a text under the name of an encoder.
        return values if self.encoder else {name: value for name, value in values.items() if name not in OF_AN_ENCODER}

    def get_module_arguments(self, steps: int) -> dict[str, Any]:
        """Return the arguments of the LightningModule with which a trained encoder learns."""
        if not self.train_encoder:
            return {}
        warmup = round(self.encoder_warmup * steps)
        return {"encoder_learning_rate": self.encoder_learning_rate, "encoder_warmup_steps": warmup}


@dataclass(frozen=True, kw_only=True)
class RunArgs(Args):
    """Where and with what it runs, which decides no result.

    Args:
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        output_dir: Folder into which checkpoints, logs and pictures are written.
        results_dir: Folder of results files, one JSON file for each run.
        resume: Whether finished runs are kept and interrupted ones continue where they stopped.
        accelerator: Kind of device, as Lightning's Trainer takes it: auto, cpu, gpu and so on.
        devices: Number of devices to train on, as Lightning's Trainer takes it.
        num_nodes: Number of machines that train together, as Lightning's Trainer takes it.
        strategy: Strategy of distributed training, as Lightning's Trainer takes it, such as ddp.
        threads: Number of CPU threads in each process; null: torch's own choice, in recipes of several runs 1.
        processes: Number of runs that execute at the same time, each in a process; 0: one for each core.
        progress: Whether a progress bar is shown.
        tensorboard: Whether logs are written for TensorBoard too, if it is installed.
        wandb: Whether logs go to Weights & Biases too.
        push_to: Hub repository USER/NAME to which the checkpoint is pushed; null: none.
        minutes: Minutes of training after which it stops at the end of the running epoch; null: no limit.
        checkpoint_every: Number of training steps between checkpoints from which an interrupted run can resume.
        tell_time: Whether the expected duration of the training, and its progress now and then, are printed.
        replace: Whether the run overwrites an earlier one that has the same name but was trained on other rows.
        baselines: Whether simple baseline models are fitted too, whose scores are printed beside the model's.
    """

    data_dir: str | None = None
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    resume: bool = False
    accelerator: str = "auto"
    devices: str = "auto"
    num_nodes: int = number_field(1, SIZE)
    strategy: str = "auto"
    threads: int | None = number_field(1, SIZE)
    processes: int = number_field(0, COUNT)
    progress: bool = True
    tensorboard: bool = True
    wandb: bool = False
    push_to: str | None = None
    minutes: float | None = number_field(None, COUNT)
    checkpoint_every: int = number_field(200, SIZE)
    tell_time: bool = False
    replace: bool = False
    baselines: bool = True

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments that belong into the results file: none, but for subclasses with some that matter."""
        return {}

    def format_rows_part(self, rows: str) -> str:
        """Return a part of file names that tells a user's rows apart, so that other rows have other files."""
        return "" if self.replace else rows


GROUPS = ("data", "model", "optimizer", "trainer", "start", "run")
OF_THE_FILE = ("architecture", "variant", "row", "dataset", "named")  # which a results file has beside its settings
OWN = ("recipe", "seed", "fold", "score", "tag", "commit")  # values of an experiment that are in no group


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The only way in which a run is written down, changed, compared, resumed, searched for and published.

    A run is a training, or what trains nothing: a simple model, an evaluation. No name stands in two groups; a value is
    changed by its name alone.

    Attributes:
        problem: Name of the problem, such as "text-classification", as in the `zoo_task` of model classes.
        recipe: Name of the recipe script or command that starts the run; part of file names.
        data, model, optimizer, trainer, start: Groups of settings that decide the result.
        run: Group of settings that say where and with what hardware it runs; they usually do not affect the result.
        seed: Seed of the random initial weights, batch order and dropout.
        fold: Number of the cross-validation fold that is the test set, from 0; None: no cross-validation.
        score: Split scored at the end beside validation; "validation": the test split is not touched, for choosing
            settings.
        tag: Free text added to the names of files, after variant, dataset, seed and fold; empty: nothing.
        commit: Git commit, or package version, of the code that started the run.
    """

    problem: str
    recipe: str
    data: DataArgs
    model: ModelArgs
    optimizer: Args = field(default_factory=OptimizerArgs)
    trainer: TrainerArgs = field(default_factory=TrainerArgs)
    start: StartArgs = field(default_factory=StartArgs)
    run: RunArgs = field(default_factory=RunArgs)
    seed: int = 0
    fold: int | None = None
    score: Score = "test"
    tag: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        if self.seed not in SEED:
            raise ValueError(f"seed={self.seed}: expected {SEED}")
        if self.score not in ("test", "validation"):
            raise ValueError(f"score={self.score!r}: expected one of test, validation")

    def values(self) -> dict[str, Any]:
        """Return all values of all groups, by name."""
        ungrouped = {name: getattr(self, name) for name in OWN}
        return ungrouped | {name: value for group in GROUPS for name, value in getattr(self, group).values().items()}

    def copy_with(self, **changes: Any) -> Experiment:
        """Return a copy of the experiment in which some values, by their names, are others.

        Raises:
            ValueError: there is no such name, or a value that cannot be.
        """
        owner = self.groups()
        unknown = [name for name in changes if name not in owner and name not in OWN]
        if unknown:
            raise ValueError(
                f"{self.model.architecture} {self.model.variant} has no setting {unknown[0]}; it has "
                f"{', '.join(sorted(self.settings()))}"
            )
        replaced: dict[str, Any] = {name: value for name, value in changes.items() if name in OWN}
        for group in GROUPS:
            of_group = {name: value for name, value in changes.items() if owner.get(name) == group}
            if of_group:
                replaced[group] = getattr(self, group).copy_with(of_group)
        return replace(self, **replaced)

    def groups(self) -> dict[str, str]:
        """Return a dict from the name of each value to the name of the group that holds it."""
        return {one.name: group for group in GROUPS for one in fields(getattr(self, group))}

    def settings(self) -> dict[str, Any]:
        """Return by name all settings that decide the result, as a result file holds them."""
        values = {name: value for group in GROUPS for name, value in getattr(self, group).get_reported_values().items()}
        return {name: _convert_tuples_to_lists(value) for name, value in values.items() if name not in OF_THE_FILE}

    def class_defaults(self) -> dict[str, Any]:
        """Return the default of each setting, for result files that lack the setting."""
        groups = [getattr(self, group) for group in GROUPS]
        reported_names = {name for group in groups for name in group.get_reported_values() if name not in OF_THE_FILE}
        defaults = {one.name: one.default for group in groups for one in fields(group) if one.name in reported_names}
        return {name: _convert_tuples_to_lists(value) for name, value in defaults.items() if value is not MISSING}

    @property
    def source(self) -> str:
        """The data to load: the folder of a user's rows after they were divided, or else the dataset."""
        if not self.data.rows:
            return self.data.dataset
        return str(Path(self.run.output_dir) / self.recipe / self.data.rows)

    def same_when_resumed(self) -> dict[str, Any]:
        """Return the settings that must not change when the training is resumed."""
        optimizer: Any = self.optimizer
        trainer = self.trainer
        lengths = {"epochs to decay in": trainer.epochs} if optimizer.decay else {}
        if optimizer.decay and trainer.max_steps:
            lengths["steps to decay in"] = trainer.max_steps
        return {**self.settings(), **lengths}

    def build_trainer_settings(self) -> Any:
        """Build the `TrainerSettings`, from which Lightning's Trainer is built."""
        from ctxzoo.training.trainer import TrainerSettings

        tiny = self.trainer.tiny
        return TrainerSettings(
            epochs=self.trainer.epochs,
            max_steps=self.trainer.max_steps or -1,
            patience=self.trainer.patience,
            precision=self.trainer.precision,
            ema_decay=self.trainer.ema_decay,
            gradient_clip=self.trainer.gradient_clip,
            seed=self.seed,
            max_minutes=self.run.minutes,
            checkpoint_every=self.run.checkpoint_every,
            accelerator=self.run.accelerator,
            devices=self.run.devices,
            num_nodes=self.run.num_nodes,
            strategy=self.run.strategy,
            tensorboard=self.run.tensorboard,
            wandb=self.run.wandb,
            progress=self.run.progress,
            tell_time=self.run.tell_time,
            limit_train_batches=4 if tiny else None,
            limit_eval_batches=2 if tiny else None,
        )


def describe_values(settings: Mapping[str, Any], names: Iterable[str] | None = None) -> str:
    """Return settings as text for a person: "name value, name value"."""
    return ", ".join(f"{name} {_format_value(settings[name])}" for name in (settings if names is None else names))


def _format_value(value: Any) -> str:
    """Return the value of a setting as text for a person."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _convert_tuples_to_lists(value: Any) -> Any:
    """Return a value with its tuples replaced by lists, as JSON stores them."""
    return [_convert_tuples_to_lists(one) for one in value] if isinstance(value, (list, tuple)) else value
