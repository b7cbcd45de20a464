"""Windows of a corpus for Lightning, in batches that resume in the middle of an epoch."""

from __future__ import annotations

import lightning

from ctxzoo.data.bucketing import ResumableLoader, rank_and_world_size, resumable_loader
from ctxzoo.tasks.word_embeddings.sentence_sampler import SentenceSampler
from ctxzoo.tasks.word_embeddings.window_batches import WindowBatches


class WindowDataModule(lightning.LightningDataModule):
    """All sentences of a corpus in each epoch, in a new order; `WindowBatches` says what is in a batch.

    All that is drawn for a batch follows from seed, epoch and the number of the batch, so that a resumed run reads what
    an uninterrupted one does. Among several processes each has batches of its own.

    Args:
        batches: makes them.
        batch_size: words of the text in a batch on average; those that subsampling leaves out count. A batch is made
            of whole sentences, the same number of them in all batches.
        seed: of everything that is drawn.
        num_workers: processes that build batches; 0 builds them in the training process.

    Raises:
        ValueError: batch_size below 1; when it loads, fewer batches than processes.
    """

    def __init__(self, batches: WindowBatches, *, batch_size: int, seed: int = 0, num_workers: int = 0) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; expected 1 or more words")
        corpus = batches.corpus
        self.batches = batches
        self.block_size = max(1, round(batch_size * len(corpus) / len(corpus.ids)))
        self.seed = seed
        self.num_workers = num_workers

    def train_dataloader(self) -> ResumableLoader:
        rank, world_size = rank_and_world_size()
        sampler = SentenceSampler(
            len(self.batches.corpus), self.block_size, seed=self.seed, rank=rank, world_size=world_size
        )
        return resumable_loader(self.batches, sampler, self.num_workers)
