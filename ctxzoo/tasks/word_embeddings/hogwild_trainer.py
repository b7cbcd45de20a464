"""Training of word vectors by threads that share the weights without locks (Hogwild; Niu et al. 2011)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ctxzoo.data.files import atomic_path
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.kernel import KernelPlan, Text, Workspace, allocate_workspace, build_kernel
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.trainer_parts import (
    REPORT_SECONDS,
    EmbeddingProgress,
    check_same_training,
    check_training_loss,
    check_vocabulary,
    compute_untrained_loss,
    get_config_fields,
)
from ctxzoo.tasks.word_embeddings.unigrams import (
    build_alias_tables,
    compute_keep_probabilities,
    compute_noise_probabilities,
)
from ctxzoo.tasks.word_embeddings.weights import check_weights_finite, extract_weights, load_weights, round_up_width
from ctxzoo.training.interrupted import TrainingInterrupted

CHUNK_WORDS = 20_000  # after so many words a thread updates its rate, looks whether to stop, and reports its loss
LARGEST_UINT32 = 2.0**32 - 1


@dataclass
class _Shard:
    """A thread's part of the text in the present pass, and how far it is."""

    position: int
    end: int
    state: npt.NDArray[np.uint64]
    work: Workspace
    loss: float = 0.0
    centres: int = 0


class HogwildTrainer:
    """Trains a model on a corpus.

    Each thread reads its own part of the text in order. One thread and one seed give the same weights, bit for bit,
    also over interruptions, on one kind of processor: the kernel is compiled for it, and sums in an order that suits it
    (fastmath). Several threads do not.

    Args:
        model: Word embedding model, whose weights are the start and, after `fit`, the result; row `num_special_tokens`
            + r of its tables is word r of the corpus.
        corpus: Text to train on, as word ids with counts.
        training: Training settings: epochs, negative samples, learning rates and schedule.
        threads: Number of threads that train the shared weights without locks, 1 or more.
        checkpoint: Path of the file from which an interrupted training can resume; None: none is written.
        checkpoint_seconds: Seconds between two checkpoints.
        report: Function called with the progress about twice a second and after each pass.

    Raises:
        ValueError: no thread; a model of another vocabulary size; a vocabulary of one word where noise is drawn.
    """

    def __init__(
        self,
        model: WordEmbeddingForMaskedLM,
        corpus: Corpus,
        training: WordEmbeddingTraining,
        *,
        threads: int = 1,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 300.0,
        report: Callable[[EmbeddingProgress], None] | None = None,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}; expected 1 or more")
        config = model.config
        check_vocabulary(model, corpus)
        self.model = model
        self.corpus = corpus
        self.training = training
        self.threads = threads
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.report = report or (lambda progress: None)
        self.plan = KernelPlan(
            architecture=config.architecture,
            width=round_up_width(config.word_dim),
            window=config.window,
            noise=training.negative_samples,
            word_logits=config.architecture == "attention_cbow" and config.word_logits,
            position_logits=config.position_logits,
            logit_rank=config.logit_rank,
            exact_gradient=training.input_gradient == "exact",
            random_window=training.random_window,
            subsampling=training.subsampling > 0,
            shared_noise=training.shared_noise,
        )
        self.kernel = build_kernel(self.plan)
        self.text = self._build_kernel_text()
        self._untrained_loss = compute_untrained_loss(model, training.negative_samples)
        self.weights = extract_weights(model)
        self.progress = EmbeddingProgress(total_words=training.epochs * len(corpus.ids))
        self._stop = threading.Event()
        # A call without sentences compiles before the clock starts.
        self.kernel(
            self.text,
            0,
            0,
            self.weights,
            allocate_workspace(self.plan, len(self.corpus.words)),
            _seed_random_state(0, 0),
            0.0,
            0.0,
        )
        self._lock = threading.Lock()
        self._shards: list[_Shard] = []

    def fit(self, resume: bool = False) -> EmbeddingProgress:
        """Train to the end, and write the weights into the model.

        Args:
            resume: Whether an interrupted training continues from its checkpoint, if there is one.

        Raises:
            TrainingInterrupted: Ctrl-C; the checkpoint is written.
            FloatingPointError: weights or loss are no longer finite, or the loss is far above that of a model that
                knows nothing; the message has the words read and the rate.
            ValueError: the checkpoint is of another training.
        """
        self._shards = self._split_into_shards(
            [_seed_random_state(self.training.seed, thread) for thread in range(self.threads)]
        )
        if resume and self.checkpoint is not None and self.checkpoint.exists():
            self._load_checkpoint(self.checkpoint)
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                while self.progress.epoch < self.training.epochs:
                    if self.training.is_out_of_time(self.progress.epoch, self.progress.seconds):
                        break
                    self._run_epoch(pool)
                    self.progress.epoch += 1
                    self.progress.epoch_losses.append(self.progress.loss)
                    check_weights_finite(self.weights, f"{self.progress.words:,} words", self.progress.rate)
                    self._shards = self._split_into_shards([shard.state for shard in self._shards])
                    self._save_checkpoint()
                    self.report(self.progress)
        except KeyboardInterrupt:
            raise TrainingInterrupted(f"stopped after {self.progress.words:,} words; resuming goes on") from None
        load_weights(self.model, self.weights)
        return self.progress

    def _run_epoch(self, pool: ThreadPoolExecutor) -> None:
        """Train for the rest of this pass over the text, with pauses to write checkpoints."""
        while any(shard.position < shard.end for shard in self._shards):
            start_time, before = time.perf_counter(), self.progress.seconds
            running: list[Future[None]] = []
            self._stop.clear()
            try:
                running += [pool.submit(self._train_shard, shard) for shard in self._shards]
                while wait(running, REPORT_SECONDS, return_when="FIRST_EXCEPTION").not_done:
                    self.progress.seconds = before + time.perf_counter() - start_time
                    self.report(self.progress)
                    self.corpus.release_memory()
                    if time.perf_counter() - start_time > self.checkpoint_seconds:
                        break
                    if any(future.done() and future.exception() for future in running):
                        break
            finally:
                # Where `report` raises or Ctrl-C is pressed, too, what is trained until then is kept.
                self._stop.set()
                for future in running:
                    future.result()
                self.progress.seconds = before + time.perf_counter() - start_time
                self.corpus.release_memory()
                self._save_checkpoint()

    def _train_shard(self, shard: _Shard) -> None:
        """Train on one thread's part of the text until it is done or a pause is requested."""
        pointers = self.corpus.pointers
        while shard.position < shard.end and not self._stop.is_set():
            until = pointers[shard.position] + CHUNK_WORDS
            last = min(shard.end, max(shard.position + 1, int(np.searchsorted(pointers, until))))
            fraction = self.progress.words / self.progress.total_words
            rate = self.training.learning_rate_at(fraction)
            words, loss, centres = self.kernel(
                self.text,
                shard.position,
                last,
                self.weights,
                shard.work,
                shard.state,
                rate,
                self.training.logit_learning_rate_at(fraction),
            )
            shard.position = last
            shard.loss += loss
            shard.centres += centres
            with self._lock:
                self.progress.words += words
                self.progress.rate = rate
                counted = sum(one.centres for one in self._shards)
                self.progress.loss = sum(one.loss for one in self._shards) / counted if counted else float("nan")
            if counted:
                progress = f"after {self.progress.words:,} words, with the learning rate {rate:.3g}; lower it"
                check_training_loss(self.progress.loss, self._untrained_loss, progress)

    def _build_kernel_text(self) -> Text:
        """Collect the corpus and its tables of noise and of subsampling as the compiled loop reads them."""
        counts = self.corpus.counts
        if self.training.negative_samples:
            limits, others = build_alias_tables(compute_noise_probabilities(counts))
        else:
            limits, others = np.zeros(len(counts), np.uint32), np.zeros(len(counts), np.int32)
        keep = np.round(compute_keep_probabilities(counts, self.training.subsampling) * LARGEST_UINT32).astype(
            np.uint32
        )
        return Text(self.corpus.ids, self.corpus.pointers, keep, limits, others)

    def _split_into_shards(self, random_states: list[npt.NDArray[np.uint64]]) -> list[_Shard]:
        """Split the text into one part for each thread, with about as many words each."""
        pointers = self.corpus.pointers
        cuts = np.searchsorted(pointers, np.linspace(0, pointers[-1], self.threads + 1))
        works = [shard.work for shard in self._shards] or [
            allocate_workspace(self.plan, len(self.corpus.words)) for _ in range(self.threads)
        ]
        return [
            _Shard(int(begin), int(end), state, work)
            for begin, end, state, work in zip(cuts[:-1], cuts[1:], random_states, works, strict=True)
        ]

    def _describe_training(self) -> str:
        """Return, as JSON text, the settings that must be equal to resume a checkpoint."""
        run = {"threads": self.threads, "corpus": self.corpus.fingerprint, "known_words": len(self.corpus.ids)}
        return json.dumps({**get_config_fields(self.model), **self.training.to_dict(), **run})

    def _save_checkpoint(self) -> None:
        """Write weights, shards and progress to the checkpoint file, if there is to be one."""
        if self.checkpoint is None:
            return
        tensors = {name: values for name, values in self.weights._asdict().items() if values.size}
        shards = np.array([[one.position, one.loss, one.centres] for one in self._shards])
        tensors |= {"shards": shards, "states": np.concatenate([one.state for one in self._shards])}
        metadata = {"training": self._describe_training(), "progress": json.dumps(vars(self.progress))}
        with atomic_path(self.checkpoint) as temporary:
            save_file(tensors, temporary, metadata)

    def _load_checkpoint(self, path: Path) -> None:
        """Set weights, shards and progress to those of a checkpoint file of the same training."""
        try:
            file: Any = safe_open(path, "np")
        except SafetensorError as error:
            raise ValueError(f"{path} is no checkpoint of a training: {error}; remove it, or start anew") from error
        with file:
            metadata = file.metadata() or {}
            saved_training = json.loads(metadata.get("training", "{}"))
            check_same_training(str(path), saved_training, json.loads(self._describe_training()))
            for name, values in self.weights._asdict().items():
                if values.size:
                    values[...] = file.get_tensor(name)
            for shard, (position, loss, centres) in zip(self._shards, file.get_tensor("shards"), strict=True):
                shard.position, shard.loss, shard.centres = int(position), float(loss), int(centres)
            for shard, state in zip(self._shards, file.get_tensor("states"), strict=True):
                shard.state[0] = state
        self.progress = EmbeddingProgress(**json.loads(metadata["progress"]))


def _seed_random_state(seed: int, thread: int) -> npt.NDArray[np.uint64]:
    """Return the first state of a thread's random number generator (1,), never 0."""
    return np.maximum(np.random.SeedSequence([seed, thread]).generate_state(1, np.uint64), np.uint64(1))
