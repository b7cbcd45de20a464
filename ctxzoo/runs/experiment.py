"""`Experiment`: the one description of a run; how it is changed, compared and written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from ctxzoo.results.environment import checkpoint_name, public_name
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.training import optimizers
from ctxzoo.training.arguments import COUNT, FRACTION, SEED, SIZE, Args, number

Precision = Literal["32-true", "bf16-mixed", "16-mixed", "auto"]
Score = Literal["test", "validation"]


@dataclass(frozen=True, kw_only=True)
class DataArgs(Args):
    """What is trained on; a problem adds its own.

    Args:
        dataset: File, folder, Hub id, a name of the problem's own, or sample: generated.
        rows: Content of a user's divided rows, which a training finds out; empty: a dataset as it is.
        named: Name of a user's data in results, which a training finds out.
        batch_size: Examples of a step.
    """

    dataset: str = "sample"
    rows: str = ""
    named: str = ""
    batch_size: int = number(32, SIZE)

    @property
    def part(self) -> str:
        """What names of files say beside the name of the dataset, such as a configuration of it; empty: nothing."""
        return ""


@dataclass(frozen=True, kw_only=True)
class ModelArgs(Args):
    """What is trained; a problem adds the fields of configurations that are changed. None: as the configuration has it.

    Args:
        architecture: Name of the architecture, as `ctxzoo list` has it.
        variant: Name of the variant, as `ctxzoo info ARCHITECTURE` has it.
        row: Name of the model in results, where it is not that of the variant.
    """

    architecture: str
    variant: str
    row: str = ""

    def config(self) -> dict[str, Any]:
        """Return the fields of a configuration that differ from it, without `model_type`."""
        return {
            name: value
            for name, value in self.values().items()
            if value is not None and name not in ("architecture", "variant", "row")
        }


@dataclass(frozen=True, kw_only=True)
class OptimizerArgs(optimizers.OptimizerArgs):
    """How weights are changed.

    Args:
        optimizer: Name of the optimizer.
        learning_rate: Peak learning rate.
        weight_decay: Weight decay.
        momentum: Momentum of SGD; null: 0.9, and of the others there is none.
        warmup: Fraction of the steps over which the rate rises linearly.
        warmup_steps: Number of these steps in place of a fraction.
        decay: Whether the rate falls linearly, to zero after the last step.
        decay_steps: Number of steps after which it is zero in place of all.
        halve_after: Epochs in a row without a better score after which the rate is halved; 0: never.
    """

    warmup: float = number(0.0, FRACTION)
    decay: bool = False

    def arguments(self, steps: int) -> dict[str, Any]:
        """Return the arguments of a LightningModule for a training of so many steps."""
        own = {one.name: getattr(self, one.name) for one in fields(optimizers.OptimizerArgs)}
        warmup = {"warmup_steps": round(self.warmup * steps)} if self.warmup else {}
        return {**own, **warmup, **({"decay_steps": steps} if self.decay else {})}


@dataclass(frozen=True, kw_only=True)
class ClassifierOptimizer(OptimizerArgs):
    """How weights of a classifier of texts or words are changed.

    Args:
        label_smoothing: Fraction of the target that is spread over all labels.
    """

    label_smoothing: float = number(0.0, FRACTION)

    def arguments(self, steps: int) -> dict[str, Any]:
        return {**super().arguments(steps), "label_smoothing": self.label_smoothing}


@dataclass(frozen=True, kw_only=True)
class TrainerArgs(Args):
    """How long and how exactly.

    Args:
        epochs: Passes over the training data, at most.
        patience: Epochs without better validation after which it ends; 0: none.
        precision: Precision of numbers; auto: what the device does well.
        ema_decay: Decay of the moving average of weights; 0: none.
        gradient_clip: Largest norm of the gradient; 0: any.
        monitor: Score of validation that picks the best epoch; empty: the problem's.
        tiny: Whether a small model is trained on a few batches: does it run?
        world_size: Processes that train together, which a training finds out.
    """

    epochs: int = number(30, SIZE)
    patience: int = number(0, COUNT)
    precision: Precision = "32-true"
    ema_decay: float = number(0.0, FRACTION)
    gradient_clip: float = number(0.0, COUNT)
    monitor: str = ""
    tiny: bool = False
    world_size: int = number(1, SIZE)


@dataclass(frozen=True, kw_only=True)
class StartArgs(Args):
    """What a training begins with.

    Args:
        init_from: Checkpoint, folder or Hub id, to go on from; null: none.
    """

    init_from: str | None = None

    def report(self) -> dict[str, Any]:
        start = self.init_from
        return {**super().report(), "init_from": None if start is None else checkpoint_name(start)}


@dataclass(frozen=True, kw_only=True)
class VectorStart(StartArgs):
    """What a training of a model of words begins with.

    Args:
        word_vectors: Word vectors that its table starts from: file, checkpoint folder or Hub id; null: drawn ones.
        vectors_fingerprint: Content of these, which a training finds out.

    Raises:
        ValueError: word vectors beside a checkpoint.
    """

    word_vectors: str | None = None
    vectors_fingerprint: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init_from is not None and self.word_vectors is not None:
            raise ValueError(
                f"word_vectors={self.word_vectors!r} beside init_from={self.init_from!r}: a checkpoint has vectors of "
                "its own; leave one of them out"
            )

    def report(self) -> dict[str, Any]:
        vectors = self.word_vectors
        return {**super().report(), "word_vectors": None if vectors is None else public_name(vectors)}


@dataclass(frozen=True, kw_only=True)
class RunArgs(Args):
    """Where and with what it runs, which decides no result.

    Args:
        data_dir: Folder of datasets as <namespace>/<name>; null: $CTXZOO_DATA.
        output_dir: Folder of checkpoints, logs and pictures.
        results_dir: Folder of results files.
        resume: Whether what is finished is kept, and what stopped goes on.
        accelerator: Lightning's: cpu, gpu and so on.
        devices: Lightning's: how many of them.
        num_nodes: Lightning's: machines that train together.
        strategy: Lightning's: how processes train together, such as ddp.
        threads: CPU threads of each process; null: as many as there are.
        processes: Trainings that are worked on at once; 0: one for each core.
        progress: Whether a progress bar is shown.
        tensorboard: Whether logs are written for TensorBoard, where it is installed.
        wandb: Whether logs go to Weights & Biases.
        push_to: Hub repository that receives the checkpoint, as USER/NAME; null: none.
        minutes: Minutes of training after which it ends with the running epoch; null: no end.
        checkpoint_every: Steps between checkpoints to go on from.
        tell_time: Whether it is printed how long the training will take, and now and then where it is.
        replace: Whether a training takes the place of one with other rows of the same name.
        baselines: Whether simple models are fitted to a user's data, whose scores stand beside the model's.
    """

    data_dir: str | None = None
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    resume: bool = False
    accelerator: str = "auto"
    devices: str = "auto"
    num_nodes: int = number(1, SIZE)
    strategy: str = "auto"
    threads: int | None = number(1, SIZE)
    processes: int = number(0, COUNT)
    progress: bool = True
    tensorboard: bool = True
    wandb: bool = False
    push_to: str | None = None
    minutes: float | None = number(None, COUNT)
    checkpoint_every: int = number(200, SIZE)
    tell_time: bool = False
    replace: bool = False
    baselines: bool = True

    def report(self) -> dict[str, Any]:
        """Return those arguments that decide the result after all, which a problem's own may be."""
        return {}

    def content(self, rows: str) -> str:
        """Return what names of files say of a user's rows, so that other rows do not take their place."""
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
        problem: Name of the problem, as heads say it.
        recipe: Name of the script that asks for it, or of the command.
        data, model, optimizer, trainer, start: What decides the result.
        run: Where and with what it runs, of which a problem tells what decides the result all the same.
        seed: Seed of weights, order and dropout.
        fold: Number of the fold in cross-validation; None: no folds.
        score: Split that is scored at the end beside validation; validation: to choose settings, test is left alone.
        tag: What names of files say beside variant, data, seed and fold.
        commit: Commit, or version, of the code when the training was asked for.
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
        """Return every value by its name."""
        own = {name: getattr(self, name) for name in OWN}
        return own | {name: value for group in GROUPS for name, value in getattr(self, group).values().items()}

    def changed(self, **changes: Any) -> Experiment:
        """Return it with other values, by their names.

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
        found: dict[str, Any] = {name: value for name, value in changes.items() if name in OWN}
        for group in GROUPS:
            of_group = {name: value for name, value in changes.items() if owner.get(name) == group}
            if of_group:
                found[group] = getattr(self, group).changed(of_group)
        return replace(self, **found)

    def groups(self) -> dict[str, str]:
        """Return name to group of every value that stands in one."""
        return {one.name: group for group in GROUPS for one in fields(getattr(self, group))}

    def settings(self) -> dict[str, Any]:
        """Return what decides the result, complete and flat, as a results file reports it."""
        found = {name: value for group in GROUPS for name, value in getattr(self, group).report().items()}
        return {name: _plain(value) for name, value in found.items() if name not in OF_THE_FILE}

    def class_defaults(self) -> dict[str, Any]:
        """Return what stands for a name that the settings of a results file lack: the defaults of the classes."""
        groups = [getattr(self, group) for group in GROUPS]
        told = {name for group in groups for name in group.report() if name not in OF_THE_FILE}
        found = {one.name: one.default for group in groups for one in fields(group) if one.name in told}
        return {name: _plain(value) for name, value in found.items() if value is not MISSING}

    @property
    def source(self) -> str:
        """What a DataModule reads: the folder of a user's divided rows, or the dataset as it is."""
        if not self.data.rows:
            return self.data.dataset
        return str(Path(self.run.output_dir) / self.recipe / self.data.rows)

    def same_when_resumed(self) -> dict[str, Any]:
        """Return what must be the same when the training goes on; with a decay the epochs decide every step."""
        optimizer: Any = self.optimizer
        epochs = {"epochs to decay in": self.trainer.epochs} if optimizer.decay else {}
        return {**self.settings(), **epochs}

    def trainer_settings(self) -> Any:
        """Return how Lightning's Trainer is built, a `TrainerSettings`."""
        from ctxzoo.training.trainer import TrainerSettings

        tiny = self.trainer.tiny
        return TrainerSettings(
            epochs=self.trainer.epochs,
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
    """Write settings for a person: those named, or all, as `name value`."""
    return ", ".join(f"{name} {_written(settings[name])}" for name in (settings if names is None else names))


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """Return a value as JSON keeps it."""
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
