"""Small trainings of word vectors by PyTorch, in this process or, with several devices, in programs of their own.

`python -m tests.support.torch_embedding_runs <folder> <devices>` leaves what each process read and ended with.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import torch

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.data import WindowBatches
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.torch_trainer import TorchEmbeddingTrainer
from tests.support.tiny_corpus import tiny_corpus

SPECIAL = 2
WORDS = 16
MANY_WORDS = 2000  # of the training in several processes: its steps read far fewer
BATCH_SIZE = 40


def pairs_corpus(lines: int = 120, words: int = WORDS) -> Corpus:
    """Words of 0..11, each followed by one of 12..15 that it decides; the others are noise."""
    draw = random.Random(0)
    firsts = [draw.choices(range(12), k=draw.randrange(1, 7)) for _ in range(lines)]
    return tiny_corpus([[word for first in line for word in (first, 12 + first % 4)] for line in firsts], words)


def model_of(words: int = WORDS, **config: Any) -> WordEmbeddingForMaskedLM:
    """Return a model as it starts; d = 8, b = 2 by default."""
    torch.manual_seed(0)
    sizes = {"word_dim": 8, "window": 2, "num_special_tokens": SPECIAL, **config}
    return WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=words + SPECIAL, **sizes))


def settings(architecture: str = "attention_cbow", **changes: Any) -> WordEmbeddingTraining:
    """Return settings of a short training that draws all that can be drawn."""
    given = {"epochs": 3, "negative_samples": 3, "subsampling": 0.1, "learning_rate": 0.1, "schedule": "linear"}
    return WordEmbeddingTraining.with_architecture_defaults(architecture, **{**given, "random_window": True, **changes})


def trainer_of(
    folder: Path,
    training: WordEmbeddingTraining | None = None,
    model: WordEmbeddingForMaskedLM | None = None,
    corpus: Corpus | None = None,
    **options: Any,
) -> TorchEmbeddingTrainer:
    given: dict[str, Any] = {"batch_size": BATCH_SIZE, "accelerator": "cpu", "folder": folder, **options}
    return TorchEmbeddingTrainer(model or model_of(), corpus or pairs_corpus(), training or settings(), **given)


def trainer_of_many_words(folder: Path, **options: Any) -> TorchEmbeddingTrainer:
    return trainer_of(folder, settings(epochs=2), model_of(MANY_WORDS), pairs_corpus(words=MANY_WORDS), **options)


def train_together(folder: Path, devices: int) -> None:
    read: list[list[int]] = []
    sent: list[int] = []
    make = WindowBatches.__getitem__

    def noted(self: WindowBatches, block: Any) -> Any:
        read.append(block.sentences.tolist())
        return make(self, block)

    WindowBatches.__getitem__ = noted  # type: ignore[method-assign]

    def note_sent(send: Any, sends: int) -> Any:
        """Let a collective note the numbers of its argument at `sends`, which goes to the other processes."""

        def noted_send(*arguments: Any, **options: Any) -> Any:
            sent.append(arguments[sends].numel())
            return send(*arguments, **options)

        return noted_send

    torch.distributed.all_gather = note_sent(torch.distributed.all_gather, 1)
    torch.distributed.all_reduce = note_sent(torch.distributed.all_reduce, 0)
    torch.set_num_threads(1)
    trainer = trainer_of_many_words(folder / "run", devices=devices)
    reached = trainer.fit()
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    outcome = {"weights": trainer.model.state_dict(), "read": read, "sent": sent, "losses": reached.epoch_losses}
    torch.save(outcome, folder / f"process{rank}.pt")


if __name__ == "__main__":
    train_together(Path(sys.argv[1]), int(sys.argv[2]))
