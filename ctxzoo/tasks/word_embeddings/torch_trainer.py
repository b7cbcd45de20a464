"""Training of word vectors by PyTorch: on GPUs, in several processes, and where Numba is not installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.data import WindowBatches, WindowDataModule
from ctxzoo.tasks.word_embeddings.settings import PRECISIONS, WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.task import WordPredictionTask
from ctxzoo.tasks.word_embeddings.trainer_parts import (
    REPORT_SECONDS,
    EmbeddingProgress,
    check_vocabulary,
    get_config_fields,
)
from ctxzoo.training.trainer import LAST, TrainerSettings, build_trainer, get_training_seconds

CHECKPOINT_STEPS = 2000

Report = Callable[[EmbeddingProgress], None]


class TorchEmbeddingTrainer:
    """Trains a model on a corpus, batch by batch.

    On the CPU one seed gives the same weights, bit for bit on one kind of machine with the same versions of the
    libraries, also over interruptions.

    Args:
        model: Word embedding model, whose weights are the start and, after `fit`, the result.
        corpus: Text to train on, as word ids with counts.
        training: Training settings: epochs, negative samples, learning rates; `shared_noise` must be off.
        folder: Folder into which checkpoints and logs are written.
        batch_size, num_workers: Text words in a batch of each process, and number of its worker processes, as in
            `WindowDataModule`; gradients are summed over processes.
        accelerator, devices, num_nodes, strategy: Kind and number of devices, number of machines, and distributed
            strategy, as Lightning's Trainer takes them.
        precision: Precision of training, "32-true" or "bf16-mixed".
        report: Function called with the progress about twice a second and after each pass.

    Raises:
        ValueError: an option out of range; a model of another vocabulary size; a vocabulary of one word where noise is
            drawn.
    """

    def __init__(
        self,
        model: WordEmbeddingForMaskedLM,
        corpus: Corpus,
        training: WordEmbeddingTraining,
        *,
        folder: Path,
        batch_size: int,
        num_workers: int = 0,
        accelerator: str = "auto",
        devices: int | str = 1,
        num_nodes: int = 1,
        strategy: str = "auto",
        precision: str = "32-true",
        report: Report | None = None,
    ) -> None:
        check_vocabulary(model, corpus)
        if training.shared_noise:
            raise ValueError("shared_noise=True saves nothing in batches; leave it to the trainer of numba")
        if precision not in PRECISIONS:
            raise ValueError(f"precision is {precision!r}; expected {' or '.join(PRECISIONS)}")
        self.model = model
        self.folder = folder
        self.report = report
        config = model.config
        batches = WindowBatches(
            corpus,
            window=config.window,
            negative_samples=training.negative_samples,
            subsampling=training.subsampling,
            random_window=training.random_window,
            noise_for_each_word=config.predicts_from_each_word,
            num_special_tokens=config.num_special_tokens,
        )
        self.data = WindowDataModule(batches, batch_size=batch_size, seed=training.seed, num_workers=num_workers)
        self.settings = TrainerSettings(
            epochs=training.epochs,
            max_minutes=training.max_minutes,
            precision=precision,
            gradient_clip=0,
            ema_decay=0,
            checkpoint_every=CHECKPOINT_STEPS,
            seed=training.seed,
            accelerator=accelerator,
            devices=devices,
            num_nodes=num_nodes,
            strategy=strategy,
            tensorboard=False,
            progress=False,
        )
        self.task = WordPredictionTask(
            model_config={"model_type": config.model_type, **get_config_fields(model)},
            training=training.to_dict(),
            data={"corpus": corpus.fingerprint, "known_words": len(corpus.ids), "batch_size": batch_size},
            total_words=training.epochs * len(corpus.ids),
        )

    def fit(self, resume: bool = False) -> EmbeddingProgress:
        """Train to the end, and write the weights into the model.

        Args:
            resume: Whether an interrupted training continues from its checkpoint, if there is one.

        Raises:
            TrainingInterrupted: Ctrl-C; the checkpoint is written.
            FloatingPointError, ValueError: see `WordPredictionTask`.
        """
        self.task.model.load_state_dict(self.model.state_dict())
        trainer = build_trainer(self.settings, self.folder, monitor=None)
        if self.report is not None:
            trainer.callbacks.append(_ReportProgress(self.report))
        last = self.folder / "lightning" / LAST
        go_on = resume and last.exists()
        trainer.fit(self.task, self.data, ckpt_path=last if go_on else None, weights_only=True if go_on else None)
        self.task.progress.seconds = get_training_seconds(trainer)
        self.model.load_state_dict(self.task.model.state_dict())
        return self.task.progress


class _ReportProgress(lightning.Callback):
    def __init__(self, report: Report) -> None:
        self.report = report
        self._last = 0.0

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if time.perf_counter() - self._last > REPORT_SECONDS:
            self._report(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._report(trainer, pl_module)

    def _report(self, trainer: Any, pl_module: Any) -> None:
        """Set the seconds of the training and let the first process report the progress."""
        pl_module.progress.seconds = get_training_seconds(trainer)
        if trainer.is_global_zero:
            self.report(pl_module.progress)
        self._last = time.perf_counter()
