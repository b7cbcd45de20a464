"""Batches of windows against a loop over sentences and centres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.data import (
    SentenceBlock,
    SentenceSampler,
    WindowBatches,
    WindowDataModule,
    gather_context_windows,
)
from ctxzoo.tasks.word_embeddings.unigrams import compute_noise_probabilities
from tests.support.tiny_corpus import tiny_corpus

SENTENCES = [[3, 1, 4, 9, 5], [2, 6], [7], [0, 11, 10, 8, 1, 2, 5, 3], [4, 4, 4], [9, 9]]
SPECIAL, WINDOW, NOISE = 2, 3, 4


def batches_of(corpus: Corpus, **changes: Any) -> WindowBatches:
    options: dict[str, Any] = {
        "window": WINDOW,
        "negative_samples": NOISE,
        "subsampling": 0.0,
        "random_window": False,
        "noise_for_each_word": False,
        "num_special_tokens": SPECIAL,
    }
    return WindowBatches(corpus, **{**options, **changes})


def block_of(*sentences: int, number: int = 1) -> SentenceBlock:
    return SentenceBlock(np.array(sentences), (5, 0, number))


def reference_windows(
    sentences: Sequence[Sequence[int]], widths: Sequence[int], window: int
) -> list[tuple[int, list[int | None]]]:
    """(centre, what is in each column) for each word; `widths` in the order of the words."""
    found = []
    for sentence in sentences:
        for place, centre in enumerate(sentence):
            width = widths[len(found)]
            columns: list[int | None] = []
            for position in (*range(-window, 0), *range(1, window + 1)):
                there = 0 <= place + position < len(sentence) and abs(position) <= width
                columns.append(sentence[place + position] if there else None)
            found.append((centre, columns))
    return found


def windows_in(batch: dict[str, torch.Tensor]) -> list[tuple[int, list[int | None]]]:
    """The same of a batch, in rows of the corpus."""
    rows = zip(batch["centres"].tolist(), batch["contexts"].tolist(), batch["present"].tolist(), strict=True)
    found = []
    for centre, contexts, present in rows:
        assert all(word == 0 for word, there in zip(contexts, present, strict=True) if not there)
        columns = [word - SPECIAL if there else None for word, there in zip(contexts, present, strict=True)]
        found.append((centre - SPECIAL, columns))
    return found


def test_windows_are_those_of_a_loop() -> None:
    order = [3, 0, 5, 2, 1, 4]
    batch = batches_of(tiny_corpus(SENTENCES))[block_of(*order)]
    chosen = [SENTENCES[row] for row in order]
    expected = reference_windows(chosen, [WINDOW] * 21, WINDOW)
    assert windows_in(batch) == [one for one in expected if any(word is not None for word in one[1])]
    assert len(batch["centres"]) == 20  # the word alone in its sentence is no centre
    assert {name: array.dtype for name, array in batch.items()} == {
        "contexts": torch.int64,
        "present": torch.bool,
        "centres": torch.int64,
        "noise": torch.int64,
        "noise_kept": torch.bool,
    }


def test_windows_of_any_width() -> None:
    widths = [1 + place % WINDOW for place in range(21)]
    words = np.concatenate(SENTENCES)
    sentence_of = np.repeat(np.arange(len(SENTENCES)), [len(sentence) for sentence in SENTENCES])
    contexts, present = gather_context_windows(words, sentence_of, np.array(widths), WINDOW)
    columns = np.where(present, contexts, -1).tolist()
    expected = reference_windows(SENTENCES, widths, WINDOW)
    assert columns == [[-1 if word is None else word for word in row] for _, row in expected]


def test_the_random_window_reaches_every_width_alike() -> None:
    corpus = tiny_corpus([[1, 2, 3, 4, 5, 6, 7] * 3] * 300)
    batch = batches_of(corpus, random_window=True)[block_of(*range(300))]
    inner = batch["present"].view(300, 21, 6)[:, WINDOW:-WINDOW].reshape(-1, 6)
    assert (inner == inner.flip(1)).all()
    widths = inner[:, :WINDOW].sum(dim=1).numpy()
    assert stats.chisquare(np.bincount(widths, minlength=4)[1:]).pvalue > 1e-3


def test_left_out_words_leave_no_gap() -> None:
    """Every other word is never kept."""
    corpus = tiny_corpus(SENTENCES)
    batches = batches_of(corpus)
    batches.keep = (np.arange(len(corpus.counts)) % 2).astype(float)
    odd = [[word for word in sentence if word % 2] for sentence in SENTENCES]
    expected = reference_windows(odd, [WINDOW] * 20, WINDOW)
    batch = batches[block_of(*range(len(SENTENCES)))]
    assert windows_in(batch) == [one for one in expected if any(word is not None for word in one[1])]


def test_words_are_left_out_as_often_as_they_should() -> None:
    corpus = tiny_corpus([[0] * 90 + [1] * 10] * 300)
    batches = batches_of(corpus, subsampling=0.05)
    kept = batches[block_of(*range(300))]["centres"].bincount()[SPECIAL:].numpy() / corpus.counts
    assert batches.keep[0] < 0.4
    assert kept == pytest.approx(batches.keep, abs=0.01)


def test_a_batch_may_have_no_centre() -> None:
    batch = batches_of(tiny_corpus(SENTENCES))[block_of(2)]
    shapes = {name: tuple(array.shape) for name, array in batch.items()}
    assert shapes == {
        "contexts": (0, 6),
        "present": (0, 6),
        "centres": (0,),
        "noise": (0, 4),
        "noise_kept": (0, 4),
    }


@pytest.mark.parametrize("each", [False, True])
def test_noise_is_drawn_by_its_probabilities_and_never_is_the_centre(each: bool) -> None:
    corpus = tiny_corpus([*SENTENCES, *[[0, 1, 2]] * 2000])
    batch = batches_of(corpus, noise_for_each_word=each)[block_of(*range(len(corpus)))]
    noise = batch["noise"]
    assert noise.shape[1:] == ((2 * WINDOW, NOISE) if each else (NOISE,))
    centres = batch["centres"].reshape(-1, *[1] * (noise.dim() - 1))
    assert torch.equal(batch["noise_kept"], noise != centres)
    drawn = np.bincount(noise.flatten().numpy() - SPECIAL, minlength=len(corpus.counts))
    assert stats.chisquare(drawn, compute_noise_probabilities(corpus.counts) * drawn.sum()).pvalue > 1e-3


def test_without_noise_there_is_none() -> None:
    one_word = tiny_corpus([[0, 0]])
    assert batches_of(one_word, negative_samples=0)[block_of(0)]["noise"].shape == (2, 0)
    with pytest.raises(ValueError, match="1 word; noise words need at least 2"):
        batches_of(one_word)


def test_what_is_drawn_follows_from_the_key() -> None:
    batches = batches_of(tiny_corpus(SENTENCES), random_window=True)
    first, again, other = (batches[block_of(0, 3, number=number)] for number in (2, 2, 3))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["noise"], other["noise"])


def test_bad_options_are_named() -> None:
    corpus = tiny_corpus(SENTENCES)
    with pytest.raises(ValueError, match="window is 0; expected 1 or more"):
        batches_of(corpus, window=0)
    with pytest.raises(ValueError, match="batch_size is 0; expected 1 or more words"):
        WindowDataModule(batches_of(corpus), batch_size=0)
    with pytest.raises(ValueError, match="6 sentences give fewer batches of 4 than there are processes, 3"):
        SentenceSampler(6, 4, seed=0, world_size=3)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_processes_share_the_sentences_of_an_epoch(world_size: int) -> None:
    samplers = [SentenceSampler(101, 10, seed=3, rank=rank, world_size=world_size) for rank in range(world_size)]
    blocks = [list(sampler) for sampler in samplers]
    assert [len(sampler) for sampler in samplers] == [11 // world_size] * world_size == [len(one) for one in blocks]
    seen = np.concatenate([block.sentences for one in blocks for block in one])
    assert len(np.unique(seen)) == len(seen) == {1: 101, 2: 100, 3: 90}[world_size]
    keys = [block.key for one in blocks for block in one]
    assert len(set(keys)) == len(keys)


def test_each_epoch_has_an_order_of_its_own() -> None:
    sampler = SentenceSampler(50, 7, seed=3)
    orders = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        orders.append(np.concatenate([block.sentences for block in sampler]).tolist())
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(50))


def test_the_loader_goes_on_where_its_state_was_taken() -> None:
    data = WindowDataModule(batches_of(tiny_corpus(SENTENCES * 20), subsampling=0.1), batch_size=20, seed=1)
    assert data.block_size == round(20 * 120 / 420)
    loader = data.train_dataloader()
    whole = []
    for number, batch in enumerate(loader, start=1):
        whole.append(batch)
        if number == 7:
            state = loader.state_dict()
    resumed = data.train_dataloader()
    resumed.load_state_dict(state)
    rest = list(resumed)
    assert len(rest) == len(whole) - 7 > 5
    for batch, expected in zip(rest, whole[7:], strict=True):
        assert all(torch.equal(batch[name], expected[name]) for name in expected)
