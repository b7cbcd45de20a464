"""Windows and noise words of many sentences at once, as training by negative sampling takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.tasks.word_embeddings.corpus import Corpus, Ids
from ctxzoo.tasks.word_embeddings.sentence_sampler import SentenceBlock
from ctxzoo.tasks.word_embeddings.unigrams import alias_table, draw_words, keep_probabilities, noise_probabilities

Indices = npt.NDArray[np.int64]
Present = npt.NDArray[np.bool_]


class WindowBatches(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `batches[block]` holds the arguments of `WordEmbeddingForMaskedLM.sampled_loss` by name.

    For N centres: `contexts` (N, 2b), `present` (N, 2b), `centres` (N,), `noise` and `noise_kept` (N, S), or (N, 2b, S)
    where each context word has its own. Ids are those of the model, so row r of the corpus is id
    `num_special_tokens` + r, and 0 stands where there is no word. A word that nothing is left around is no centre.

    Args:
        corpus: the text.
        window: b.
        negative_samples: S.
        subsampling: see `keep_probabilities`; windows are laid over the words that are kept.
        random_window: whether the half width is drawn from 1..b for each centre.
        noise_for_each_word: whether every context word has noise words of its own.
        num_special_tokens: ids before those of words.

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
        self.keep = keep_probabilities(corpus.counts, subsampling)
        self.noise_table = alias_table(noise_probabilities(corpus.counts)) if negative_samples else None

    def __getitem__(self, block: SentenceBlock) -> dict[str, torch.Tensor]:
        generator = np.random.default_rng(block.key)
        words, sentence_of = self._thinned(block.sentences, generator)
        widths = np.full(len(words), self.window)
        if self.random_window:
            widths = generator.integers(1, self.window, len(words), endpoint=True)
        contexts, present = sentence_windows(words, sentence_of, widths, self.window)
        centres = present.any(axis=1)
        words, contexts, present = words[centres], contexts[centres], present[centres]
        noise = self._noise(len(words), generator)
        kept = noise != words.reshape(-1, *[1] * (noise.ndim - 1))
        special = self.num_special_tokens
        arrays = {
            "contexts": np.where(present, contexts + special, 0),
            "present": present,
            "centres": words + special,
            "noise": noise + special,
            "noise_kept": kept,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _thinned(self, sentences: Indices, generator: np.random.Generator) -> tuple[Indices, Indices]:
        """Return the words of sentences that subsampling keeps, and of each the index in `sentences`."""
        begins = self.corpus.pointers[sentences]
        lengths = self.corpus.pointers[sentences + 1] - begins
        sentence_of = np.repeat(np.arange(len(sentences)), lengths)
        within = np.arange(len(sentence_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = self.corpus.ids[begins[sentence_of] + within].astype(np.int64)
        kept = generator.random(len(words)) < self.keep[words]
        return words[kept], sentence_of[kept]

    def _noise(self, centres: int, generator: np.random.Generator) -> Indices:
        shape: tuple[int, ...] = (centres, self.negative_samples)
        if self.noise_for_each_word:
            shape = (centres, 2 * self.window, self.negative_samples)
        if self.noise_table is None:
            return np.zeros(shape, np.int64)
        return draw_words(*self.noise_table, shape, generator)


def sentence_windows(
    words: Ids | Indices, sentence_of: Indices, widths: Indices, window: int
) -> tuple[Indices, Present]:
    """Return the words around each word of sentences that follow one another.

    Args:
        words: (M,).
        sentence_of: (M,) ascending: which sentence each word is of.
        widths: (M,) how far the window of each reaches, at most `window`.
        window: b.

    Returns:
        (M, 2b) words at positions -b to -1 and 1 to b, and where there are any; elsewhere some word of `words` stands.
    """
    offsets = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    positions = np.arange(len(words))[:, None] + offsets
    inside = positions.clip(0, max(len(words) - 1, 0))
    present = (positions == inside) & (sentence_of[inside] == sentence_of[:, None]) & (abs(offsets) <= widths[:, None])
    return words[inside], present
