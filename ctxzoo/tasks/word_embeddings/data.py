"""Windows of a corpus for Lightning: sentences in a random order, in batches that resume in the middle of an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import lightning
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketing import ResumableLoader, ResumableSampler, build_resumable_loader, get_rank_and_world_size
from ctxzoo.tasks.word_embeddings.corpus import Corpus, Ids
from ctxzoo.tasks.word_embeddings.unigrams import (
    build_alias_tables,
    compute_keep_probabilities,
    compute_noise_probabilities,
    draw_from_alias_tables,
)


class SentenceBlock(NamedTuple):
    """The sentences of a batch, wherever it is made.

    Attributes:
        sentences: (n,) row numbers of the batch's sentences in the corpus.
        key: Seed, epoch and number of the batch in the epoch (from 1), which determine its random draws.
    """

    sentences: npt.NDArray[np.int64]
    key: tuple[int, int, int]


class SentenceSampler(ResumableSampler[SentenceBlock]):
    """Every sentence once in an epoch, in an order fixed by (seed, epoch), the same number of them in each block.

    With several processes each takes every `world_size`-th block. The few blocks that would leave some process without
    one are left out, since every process must take the same number of steps.

    Args:
        sentences: Number of sentences in the corpus.
        block_size: Number of sentences in a block, 1 or more; the last block may be smaller.
        seed: Seed of the random order of batches.
        rank, world_size: Number of this process, from 0, and number of all processes.

    Raises:
        ValueError: fewer blocks than processes.
    """

    def __init__(self, sentences: int, block_size: int, *, seed: int, rank: int = 0, world_size: int = 1) -> None:
        super().__init__()
        self.sentences = sentences
        self.block_size = block_size
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        if not len(self):
            raise ValueError(
                f"{sentences} sentences give fewer batches of {block_size} than there are processes, {world_size}; "
                "lower batch_size or the number of devices"
            )

    def __len__(self) -> int:
        return -(-self.sentences // self.block_size) // self.world_size

    def __iter__(self) -> Iterator[SentenceBlock]:
        """Yield the blocks of sentences of this process for an epoch, in an order drawn from seed and epoch."""
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.sentences)
        for step in range(self.skip, len(self)):
            number = step * self.world_size + self.rank
            block = order[number * self.block_size : (number + 1) * self.block_size]
            # numpy draws alike from (seed, epoch), which the order has, and (seed, epoch, 0).
            yield SentenceBlock(block, (self.seed, self.epoch, number + 1))


Indices = npt.NDArray[np.int64]
Present = npt.NDArray[np.bool_]


class WindowBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[block]` holds the arguments of `WordEmbeddingForMaskedLM.sampled_loss` by name.

    For N centres: `contexts` (N, 2b), `present` (N, 2b), `centres` (N,), `noise` and `noise_kept` (N, S), or (N, 2b, S)
    where each context word has its own. Ids are those of the model, so row r of the corpus is id
    `num_special_tokens` + r, and 0 stands where there is no word. A word that nothing is left around is no centre.

    Args:
        corpus: Text to train on, as word ids with counts.
        window: Half width b of the window.
        negative_samples: Number S of negative samples (noise words).
        subsampling: Threshold of subsampling, the fraction of the text above which frequent words are randomly dropped
            before windows are formed; 0: none.
        random_window: Whether the half width of the window is drawn from 1..b for each centre word.
        noise_for_each_word: Whether every context word has its own noise words, instead of sharing those of the centre
            word.
        num_special_tokens: Number of special token ids that precede the word ids.

    Raises:
        ValueError: window below 1, a negative threshold, or a vocabulary of one word where noise is drawn.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        window: int,
        negative_samples: int,
        subsampling: float,
        random_window: bool,
        noise_for_each_word: bool,
        num_special_tokens: int,
    ) -> None:
        if window < 1:
            raise ValueError(f"window is {window}; expected 1 or more")
        self.corpus = corpus
        self.window = window
        self.negative_samples = negative_samples
        self.random_window = random_window
        self.noise_for_each_word = noise_for_each_word
        self.num_special_tokens = num_special_tokens
        self.keep = compute_keep_probabilities(corpus.counts, subsampling)
        self.noise_table = build_alias_tables(compute_noise_probabilities(corpus.counts)) if negative_samples else None

    def __getitem__(self, block: SentenceBlock) -> dict[str, torch.Tensor]:
        """Return the words of a block of sentences (N,) with their contexts, (N, 2 × window), and drawn noise words."""
        generator = np.random.default_rng(block.key)
        words, sentence_of = self._subsample_words(block.sentences, generator)
        widths = np.full(len(words), self.window)
        if self.random_window:
            widths = generator.integers(1, self.window, len(words), endpoint=True)
        contexts, present = gather_context_windows(words, sentence_of, widths, self.window)
        centres = present.any(axis=1)
        words, contexts, present = words[centres], contexts[centres], present[centres]
        noise = self._draw_noise_words(len(words), generator)
        is_kept = noise != words.reshape(-1, *[1] * (noise.ndim - 1))
        special = self.num_special_tokens
        arrays = {
            "contexts": np.where(present, contexts + special, 0),
            "present": present,
            "centres": words + special,
            "noise": noise + special,
            "noise_kept": is_kept,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _subsample_words(self, sentences: Indices, generator: np.random.Generator) -> tuple[Indices, Indices]:
        """Return the words of sentences that subsampling keeps (N,), and the index of each one's sentence (N,)."""
        begins = self.corpus.pointers[sentences]
        lengths = self.corpus.pointers[sentences + 1] - begins
        sentence_of = np.repeat(np.arange(len(sentences)), lengths)
        within = np.arange(len(sentence_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = self.corpus.ids[begins[sentence_of] + within].astype(np.int64)
        is_kept = generator.random(len(words)) < self.keep[words]
        return words[is_kept], sentence_of[is_kept]

    def _draw_noise_words(self, num_centres: int, generator: np.random.Generator) -> Indices:
        """Draw negative samples S for N words: (N, S), or (N, 2 × window, S) for samples of each context word."""
        shape: tuple[int, ...] = (num_centres, self.negative_samples)
        if self.noise_for_each_word:
            shape = (num_centres, 2 * self.window, self.negative_samples)
        if self.noise_table is None:
            return np.zeros(shape, np.int64)
        return draw_from_alias_tables(*self.noise_table, shape, generator)


def gather_context_windows(
    words: Ids | Indices, sentence_ids: Indices, widths: Indices, window: int
) -> tuple[Indices, Present]:
    """Return for each word of a batch the words around it in its sentence.

    Args:
        words: (M,) ids of the M words of consecutive sentences.
        sentence_ids: (M,) ascending number of the sentence in which each of the M words stands.
        widths: (M,) half width of the window around each of the M words, at most `window`.
        window: Half width b of the window.

    Returns:
        (M, 2b) words at positions -b to -1 and 1 to b, and where there are any; elsewhere some word of `words` stands.
    """
    offsets = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    positions = np.arange(len(words))[:, None] + offsets
    inside = positions.clip(0, max(len(words) - 1, 0))
    present = (
        (positions == inside) & (sentence_ids[inside] == sentence_ids[:, None]) & (abs(offsets) <= widths[:, None])
    )
    return words[inside], present


class WindowDataModule(lightning.LightningDataModule):
    """All sentences of a corpus in each epoch, in a new order; `WindowBatches` says what is in a batch.

    All that is drawn for a batch follows from seed, epoch and the number of the batch, so that a resumed run reads what
    an uninterrupted one does. Among several processes each has batches of its own.

    Args:
        batches: Dataset that builds the training batches from blocks of sentences.
        batch_size: Average number of text words in a batch, those dropped by subsampling included; batches consist of
            whole sentences, the same number in each.
        seed: Seed of all random draws.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.

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
        rank, world_size = get_rank_and_world_size()
        sampler = SentenceSampler(
            len(self.batches.corpus), self.block_size, seed=self.seed, rank=rank, world_size=world_size
        )
        return build_resumable_loader(self.batches, sampler, self.num_workers)

    def predict_dataloader(self) -> ResumableLoader:
        """Return a loader of the windows in the corpus, as in the first epoch."""
        return self.train_dataloader()
