"""Training of a reader of the BiDAF family: the paper's settings, and one training made of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxzoo.data.bucketing import POOL_BATCHES
from ctxzoo.models.configuration_bidaf import LEVERS, BidafConfig
from ctxzoo.models.layers_bidaf import product_bound
from ctxzoo.results.environment import checkpoint_name
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.runs.options import reported, reported_settings, score_option
from ctxzoo.runs.settings import vectors_content
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.question_answering.bidaf_start import QUERY_TO_CONTEXT, VARIANT, BidafCheckpoint, BidafChoice
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.run import ReaderRun
from ctxzoo.training.trainer import TrainerSettings

ARCHITECTURE = "bidaf"
# Scores of validation that can pick the best epoch; no_answer_auc needs questions without an answer.
MONITORS = ("f1", "exact", "span_f1", "best_f1", "no_answer_auc", "nll")
QUERIES_TO_CONTEXT = ("coattention", "max")
OF_NEW_MODELS = ("hidden_size", "dropout")  # options that a checkpoint to go on from has decided


@dataclass
class BidafSettings:
    """Options of a recipe that trains readers; the defaults are those of Patel (2022), or of the CS224N starter."""

    dataset: str = field(default="rajpurkar/squad_v2", metadata={"help": "Hub id, folder, SQuAD JSON file, or: sample"})
    data_dir: str | None = field(default=None, metadata={"help": "folder of datasets; default: $CTXZOO_DATA"})
    squad_version: str = field(default="auto", metadata={"help": "1.1, 2.0, or auto: as the data is"})
    word_vectors: str | None = field(default=None, metadata={"help": "file of word vectors; default: learned ones"})
    train_source: str | None = field(default=None, metadata={"help": "train on rows of this `source` only"})
    left_out_source: str | None = reported(
        None, "train on no row of this `source`, and score these rows beside the test split", only_if_changed=True
    )
    variant: str | None = field(
        default=None,
        metadata={"help": f"one of {', '.join(BidafConfig.variants)}; default: {VARIANT}, or the checkpoint's"},
    )
    levers: list[str] = field(
        default_factory=list, metadata={"help": f"any of {', '.join(LEVERS)}; default: none, or the checkpoint's"}
    )
    query_to_context: str | None = field(
        default=None, metadata={"help": f"coattention or max; default: {QUERY_TO_CONTEXT}, or the checkpoint's"}
    )
    init_from: str | None = field(
        default=None, metadata={"help": "go on from this checkpoint folder or Hub id, with its vectors"}
    )
    hidden_size: int = reported(100, "width of the projection and of each LSTM direction", only_if_changed=True)
    dropout: float = reported(0.2, only_if_changed=True)
    epochs: int = reported(30)
    batch_size: int = reported(64)
    pool_batches: int = reported(POOL_BATCHES, "batches whose rows are sorted by length together; 1: random batches")
    optimizer: str = reported("adadelta", "adadelta or adamw")
    learning_rate: float = reported(0.5)
    warmup_steps: int = reported(0, "AdamW: steps of linear warm-up")
    decay: bool = reported(False, "AdamW: the rate falls linearly to zero", only_if_changed=True)
    ema_decay: float = reported(0.999)
    monitor: str = reported("f1", f"validation score of the best epoch: {', '.join(MONITORS)}", only_if_changed=True)
    score: str = score_option()
    patience: int = reported(0, "stop after so many epochs without a better score; 0: never")
    precision: str = reported("auto", "32-true, bf16-mixed, 16-mixed, or auto")
    seeds: list[int] = field(default_factory=lambda: [224])
    tiny: bool = reported(False, "a small model on a few batches: does the recipe run?")
    resume: bool = field(default=False, metadata={"help": "go on where the run of the same name stopped"})
    name: str | None = field(default=None, metadata={"help": "tells the run from others; default: levers and the like"})
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    accelerator: str = "auto"
    devices: str = "auto"
    num_nodes: int = 1
    strategy: str = "auto"
    num_workers: int = 0
    threads: int = field(default=0, metadata={"help": "CPU threads; 0: all"})
    wandb: bool = False
    tensorboard: bool = True
    progress: bool = True
    push_to: str | None = field(default=None, metadata={"help": "Hub repository to push the checkpoint folder to"})

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown name, or a size beside a checkpoint that has its own."""
        _expect_one("monitor", self.monitor, MONITORS)
        for lever in self.levers:
            BidafConfig.check_former(lever, True)
            _expect_one("levers", lever, LEVERS)
        if self.variant is not None:
            _expect_one("variant", self.variant, BidafConfig.variants)
        if self.query_to_context is not None:
            _expect_one("query_to_context", self.query_to_context, QUERIES_TO_CONTEXT)
        for name in OF_NEW_MODELS:
            value = getattr(self, name)
            if self.init_from is not None and value != getattr(BidafSettings, name):
                raise ValueError(
                    f"{name}={value!r} beside init_from={self.init_from!r}: the checkpoint has its own; leave one of "
                    "the two out"
                )


def _expect_one(name: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(known)}")


def data_arguments(settings: BidafSettings, choice: BidafChoice, seed: int) -> dict[str, Any]:
    return {
        "dataset": settings.dataset,
        "data_dir": settings.data_dir,
        "squad_version": settings.squad_version,
        "word_vectors": settings.word_vectors,
        "word_embedding_size": 16 if settings.tiny else 100,
        "characters": "char" in choice.variant,
        "word_features": "word_features" in choice.levers,
        "batch_size": settings.batch_size,
        "train_source": settings.train_source,
        "left_out_source": settings.left_out_source,
        "pool_batches": settings.pool_batches,
        "seed": seed,
        "num_workers": settings.num_workers,
        "init_from": settings.init_from,
    }


def check_data(settings: BidafSettings, choice: BidafChoice, data: SquadDataModule) -> None:
    if settings.monitor == "no_answer_auc" and data.squad_version == "1.1":
        raise ValueError(f"monitor=no_answer_auc: every question of {settings.dataset} has an answer; try f1")
    if choice.start is not None and data.squad_version != choice.start.squad_version:
        raise ValueError(
            f"{settings.init_from} reads SQuAD {choice.start.squad_version}, and {settings.dataset} is SQuAD "
            f"{data.squad_version}; say --squad_version, or choose other data"
        )


def reader_run(
    settings: BidafSettings, choice: BidafChoice, data: SquadDataModule, seed: int, *, recipe: str, commit: str
) -> ReaderRun:
    """Return one training.

    Args:
        settings: of the recipe.
        choice: see `choose_bidaf`.
        data: set up, with any seed.
        seed, recipe, commit: for the results file.
    """
    tag = settings.name or what_differs(settings, choice)
    name = "-".join(part for part in (choice.variant, tag, Path(settings.dataset).name, f"seed{seed}") if part)
    new_config = None if choice.start is not None else config_of(settings, choice, data)
    spec = RunSpec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=choice.variant,
        dataset=settings.dataset,
        seed=seed,
        commit=commit,
        settings=decisive_settings(settings, choice, data, new_config),
        score=settings.score,
        tag=tag,
        output_dir=settings.output_dir,
        results_dir=settings.results_dir,
        folder_name=name,
    )
    return ReaderRun(
        spec=spec,
        config={} if new_config is None else new_config.to_dict(),
        pretrained=settings.init_from,
        data=data_arguments(settings, choice, seed),
        task={
            "optimizer": settings.optimizer,
            "learning_rate": settings.learning_rate,
            "warmup_steps": settings.warmup_steps,
        },
        trainer=trainer_settings(settings, seed),
        best_by=settings.monitor,
        decay=settings.decay,
        push_to=settings.push_to,
    )


def config_of(settings: BidafSettings, choice: BidafChoice, data: SquadDataModule) -> BidafConfig:
    return BidafConfig.of_variant(
        choice.variant,
        squad_version=data.squad_version,
        query_to_context=choice.query_to_context,
        **data.model_sizes(),
        **dict.fromkeys(choice.levers, True),
        hidden_size=16 if settings.tiny else settings.hidden_size,
        dropout=settings.dropout,
        **({"char_channels": 16} if settings.tiny else {}),
    )


def trainer_settings(settings: BidafSettings, seed: int) -> TrainerSettings:
    return TrainerSettings(
        epochs=1 if settings.tiny else settings.epochs,
        precision=settings.precision,
        ema_decay=settings.ema_decay,
        patience=settings.patience,
        seed=seed,
        accelerator=settings.accelerator,
        devices=settings.devices,
        num_nodes=settings.num_nodes,
        strategy=settings.strategy,
        tensorboard=settings.tensorboard,
        wandb=settings.wandb,
        progress=settings.progress,
        limit_train_batches=4 if settings.tiny else None,
        limit_eval_batches=2 if settings.tiny else None,
    )


def what_differs(settings: BidafSettings, choice: BidafChoice) -> str:
    """Return what names of folders and results files say beside variant, data and seed."""
    parts = list(choice.levers)
    if choice.query_to_context != QUERY_TO_CONTEXT:
        parts.append(choice.query_to_context)
    if settings.optimizer != BidafSettings.optimizer:
        parts.append(settings.optimizer)
    for name in (*OF_NEW_MODELS, "pool_batches"):
        if getattr(settings, name) != getattr(BidafSettings, name):
            parts.append(f"{name}_{getattr(settings, name)}")
    if settings.init_from is not None:
        parts.append(f"finish_{settings.train_source}" if settings.train_source else "continued")
    elif settings.train_source is not None:
        parts.append(f"of_{settings.train_source}")
    if settings.left_out_source is not None:
        parts.append(f"without_{settings.left_out_source}")
    if settings.monitor != BidafSettings.monitor:
        parts.append(settings.monitor)
    return "-".join(parts)


def decisive_settings(
    settings: BidafSettings, choice: BidafChoice, data: SquadDataModule, new_config: BidafConfig | None
) -> dict[str, object]:
    """Return the settings that decide a result, as they go into the results file.

    `new_config` is the config of a new model, None where a checkpoint goes on.
    """
    start = settings.init_from
    return {
        **reported_settings(settings),
        **({} if choice.start is None else _unusual_sizes(choice.start)),
        "levers": list(choice.levers),
        "query_to_context": choice.query_to_context,
        # Results made before this was reported began with sqrt(6 / (d + 1)).
        "product_start": product_bound(2 * new_config.hidden_size) if new_config is not None else None,
        "finish_source": None if start is None else settings.train_source,
        **({"train_source": settings.train_source} if start is None and settings.train_source else {}),
        **({} if start is None else {"init_from": checkpoint_name(start)}),
        "squad_version": data.squad_version,
        "word_vectors": data.vectors_name() if choice.start is None else choice.start.word_vectors,
        **vectors_content(settings.word_vectors),
    }


def _unusual_sizes(start: BidafCheckpoint) -> dict[str, object]:
    """Return what a checkpoint has otherwise than a new model; results tell it only then."""
    found = {name: getattr(start, name) for name in OF_NEW_MODELS}
    return {name: value for name, value in found.items() if value != getattr(BidafSettings, name)}
