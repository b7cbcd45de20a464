"""BiDAF with positions, self-attention and characters on SQuAD (Patel 2022).

    python recipes/squad_bidaf.py                      SQuAD 2.0 from CTXZOO_DATA or the Hub, the paper's best model
    python recipes/squad_bidaf.py --dataset sample     a generated corpus, no network needed
    python recipes/squad_bidaf.py --variant baseline --seeds 1 2 3
    python recipes/squad_bidaf.py --resume             go on where an interrupted run stopped

Settings are the paper's (those of the CS224N starter where the paper is silent). A YAML file of
settings may come first. docs/models/bidaf.md describes variants and levers.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import lightning
import torch

from ctxzoo.data.bucketing import POOL_BATCHES
from ctxzoo.data.writable import check_writable
from ctxzoo.models.configuration_bidaf import LEVERS, BidafConfig
from ctxzoo.models.layers_bidaf import product_bound
from ctxzoo.results.environment import git_commit, public_name
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.runs.finish import finish_run
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.score_option import score_option
from ctxzoo.runs.settings import vectors_content
from ctxzoo.tasks.question_answering.bidaf_choice import QUERY_TO_CONTEXT, VARIANT, BidafChoice, choose_bidaf
from ctxzoo.tasks.question_answering.card import CARD
from ctxzoo.tasks.question_answering.data import LEFT_OUT, SquadDataModule
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.full_disk import telling_of_full_disk
from ctxzoo.training.process_group import check_batches, in_first_process
from ctxzoo.training.run_lock import LOCK, locked_run
from ctxzoo.training.scoring import score_splits
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer
from ctxzoo.word_vectors.word_table import set_word_vectors

RECIPE, ARCHITECTURE = "squad_bidaf", "bidaf"
# Scores of validation that can pick the best epoch; no_answer_auc needs questions without an answer.
MONITORS = ("f1", "exact", "span_f1", "best_f1", "no_answer_auc", "nll")
QUERIES_TO_CONTEXT = ("coattention", "max")


@dataclass
class Settings:
    dataset: str = field(default="rajpurkar/squad_v2", metadata={"help": "Hub id, folder, SQuAD JSON file, or: sample"})
    data_dir: str | None = field(default=None, metadata={"help": "folder of datasets; default: $CTXZOO_DATA"})
    squad_version: str = field(default="auto", metadata={"help": "1.1, 2.0, or auto: as the data is"})
    word_vectors: str | None = field(default=None, metadata={"help": "file of word vectors; default: learned ones"})
    train_source: str | None = field(default=None, metadata={"help": "train on rows of this `source` only"})
    left_out_source: str | None = field(
        default=None,
        metadata={"help": "train on no row of this `source`, and score these rows beside the test split"},
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
    epochs: int = 30
    batch_size: int = 64
    pool_batches: int = field(
        default=POOL_BATCHES, metadata={"help": "batches whose rows are sorted by length together; 1: random batches"}
    )
    optimiser: str = field(default="adadelta", metadata={"help": "adadelta or adamw"})
    learning_rate: float = 0.5
    warmup_steps: int = field(default=0, metadata={"help": "AdamW: steps of linear warm-up"})
    decay: bool = field(default=False, metadata={"help": "AdamW: the rate falls linearly to zero"})
    ema_decay: float = 0.999
    monitor: str = field(default="f1", metadata={"help": f"validation score of the best epoch: {', '.join(MONITORS)}"})
    score: str = score_option()
    patience: int = field(default=0, metadata={"help": "stop after so many epochs without a better score; 0: never"})
    precision: str = field(default="auto", metadata={"help": "32-true, bf16-mixed, 16-mixed, or auto"})
    seeds: list[int] = field(default_factory=lambda: [224])
    tiny: bool = field(default=False, metadata={"help": "a small model on a few batches: does the recipe run?"})
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
        """Refuse unknown names."""
        _expect_one("monitor", self.monitor, MONITORS)
        for lever in self.levers:
            _expect_one("levers", lever, LEVERS)
        if self.variant is not None:
            _expect_one("variant", self.variant, BidafConfig.variants)
        if self.query_to_context is not None:
            _expect_one("query_to_context", self.query_to_context, QUERIES_TO_CONTEXT)


def _expect_one(name: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(known)}")


def main(settings: Settings) -> None:
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.WARNING)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    choice = choose_bidaf(
        settings.variant,
        settings.levers,
        settings.query_to_context,
        init_from=settings.init_from,
        word_vectors=settings.word_vectors,
    )
    for seed in settings.seeds:
        run(settings, choice, seed, git_commit())


def run(settings: Settings, choice: BidafChoice, seed: int, commit: str) -> None:
    tag = settings.name or what_differs(settings, choice)
    name = "-".join(part for part in (choice.variant, tag, Path(settings.dataset).name, f"seed{seed}") if part)
    folder = Path(settings.output_dir) / RECIPE / name
    last = folder / "lightning" / LAST
    resume = settings.resume and last.exists()
    if settings.resume and not resume:
        print(f"nothing to resume in {folder}; starting from the first step")
    check_writable(folder)
    check_writable(Path(settings.results_dir), "--results_dir")
    with telling_of_full_disk(folder), locked_run(folder / LOCK, "--output_dir"):
        train(settings, choice, seed, commit, folder=folder, tag=tag, checkpoint=last if resume else None)


def train(
    settings: Settings,
    choice: BidafChoice,
    seed: int,
    commit: str,
    *,
    folder: Path,
    tag: str,
    checkpoint: Path | None,
) -> None:
    """From the data to the results file, in a folder that is this run's own."""
    data = SquadDataModule(
        settings.dataset,
        data_dir=settings.data_dir,
        squad_version=settings.squad_version,  # type: ignore[arg-type]
        word_vectors=settings.word_vectors,
        word_embedding_size=16 if settings.tiny else 100,
        characters="char" in choice.variant,
        word_features="word_features" in choice.levers,
        batch_size=settings.batch_size,
        train_source=settings.train_source,
        left_out_source=settings.left_out_source,
        pool_batches=settings.pool_batches,
        seed=seed,
        num_workers=settings.num_workers,
        init_from=settings.init_from,
    )
    data.prepare_data()
    data.setup()
    if settings.monitor == "no_answer_auc" and data.squad_version == "1.1":
        raise ValueError(f"monitor=no_answer_auc: every question of {settings.dataset} has an answer; try f1")
    if choice.start is not None and data.squad_version != choice.start.squad_version:
        raise ValueError(
            f"{settings.init_from} reads SQuAD {choice.start.squad_version}, and {settings.dataset} is SQuAD "
            f"{data.squad_version}; say --squad_version, or choose other data"
        )
    new_config = None
    if choice.start is None:
        new_config = BidafConfig.of_variant(
            choice.variant,
            squad_version=data.squad_version,
            query_to_context=choice.query_to_context,
            **data.model_sizes(),
            **dict.fromkeys(choice.levers, True),
            **({"hidden_size": 16, "char_channels": 16} if settings.tiny else {}),
        )
    told = reported(settings, choice, data, new_config)
    monitor = f"validation/{settings.monitor}"
    trainer = build_trainer(
        trainer_settings(settings, seed),
        folder,
        monitor,
        lower_is_better=QuestionAnsweringTask.is_lower_better(monitor),
        # With a decay the number of epochs decides every step.
        resumed_with=told | ({"epochs to decay in": settings.epochs} if settings.decay else {}),
    )
    check_batches(data, tuple({"validation", settings.score}), trainer.world_size)
    lightning.seed_everything(seed)
    optimiser = {
        "optimiser": settings.optimiser,
        "learning_rate": settings.learning_rate,
        "warmup_steps": settings.warmup_steps,
        "decay_steps": len(data.train_dataloader()) // trainer.world_size * settings.epochs if settings.decay else None,
    }
    if new_config is None:
        task = QuestionAnsweringTask(pretrained=settings.init_from, **optimiser)
        config = task.model.config
        if config.trained_positions is not None:  # what the checkpoint itself was trained on counts as well
            config.trained_positions = max(config.trained_positions, data.trained_positions())
    else:
        task = QuestionAnsweringTask(model_config=new_config.to_dict(), **optimiser)
        set_word_vectors(task.model, data.vector_table())

    trainer.fit(task, data, ckpt_path=checkpoint, weights_only=None if checkpoint is None else True)
    task.load_weights(folder / "lightning" / BEST)
    scores = score_splits(task, data, ("validation",), progress=settings.progress)
    task.tune_threshold(scores["validation"])
    # With a threshold, validation has a score at it as well.
    left = [] if task.no_answer_threshold is None else ["validation"]
    if settings.score == "test":
        left += ["test"] if settings.left_out_source is None else ["test", LEFT_OUT]
    scores |= score_splits(task, data, tuple(left), progress=settings.progress)
    finish = partial(
        finish_run,
        task,
        data,
        trainer,
        scores,
        card=CARD,
        folder=folder,
        results_dir=Path(settings.results_dir),
        recipe=RECIPE,
        architecture=ARCHITECTURE,
        variant=choice.variant,
        seed=seed,
        commit=commit,
        settings=told,
        tag=tag,
        split=settings.score,
        push_to=settings.push_to,
    )
    in_first_process(finish)


def trainer_settings(settings: Settings, seed: int) -> TrainerSettings:
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


def what_differs(settings: Settings, choice: BidafChoice) -> str:
    """What names of folders and results files say beside variant, data and seed."""
    parts = list(choice.levers)
    if choice.query_to_context != QUERY_TO_CONTEXT:
        parts.append(choice.query_to_context)
    if settings.optimiser != Settings.optimiser:
        parts.append(settings.optimiser)
    if settings.pool_batches != Settings.pool_batches:
        parts.append(f"pool_batches_{settings.pool_batches}")
    if settings.init_from is not None:
        parts.append(f"finish_{settings.train_source}" if settings.train_source else "continued")
    elif settings.train_source is not None:
        parts.append(f"of_{settings.train_source}")
    if settings.left_out_source is not None:
        parts.append(f"without_{settings.left_out_source}")
    if settings.monitor != Settings.monitor:
        parts.append(settings.monitor)
    return "-".join(parts)


def reported(
    settings: Settings, choice: BidafChoice, data: SquadDataModule, new_config: BidafConfig | None
) -> dict[str, object]:
    """The settings that decide a result, as they go into the results file; `new_config` unless a checkpoint goes on."""
    start = settings.init_from
    return {
        "epochs": settings.epochs,
        "batch_size": settings.batch_size,
        "pool_batches": settings.pool_batches,
        "optimiser": settings.optimiser,
        "learning_rate": settings.learning_rate,
        "warmup_steps": settings.warmup_steps,
        **({"decay": True} if settings.decay else {}),
        "ema_decay": settings.ema_decay,
        **({"monitor": settings.monitor} if settings.monitor != Settings.monitor else {}),
        "patience": settings.patience,
        "precision": settings.precision,
        "levers": list(choice.levers),
        "query_to_context": choice.query_to_context,
        # Results made before this was told began with sqrt(6 / (d + 1)).
        "product_start": product_bound(2 * new_config.hidden_size) if new_config is not None else None,
        "finish_source": None if start is None else settings.train_source,
        **({"train_source": settings.train_source} if start is None and settings.train_source else {}),
        **({} if start is None else {"init_from": checkpoint_name(start)}),
        **({} if settings.left_out_source is None else {"left_out_source": settings.left_out_source}),
        "squad_version": data.squad_version,
        "word_vectors": data.vectors_name() if choice.start is None else choice.start.word_vectors,
        **vectors_content(settings.word_vectors),
        "tiny": settings.tiny,
    }


def checkpoint_name(path: str) -> str:
    """How results name the checkpoint of a run: by the run's folder."""
    place = Path(path)
    return place.resolve().parent.name if place.name == "checkpoint" and place.is_dir() else public_name(path)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
