"""The trainer of word vectors: it learns, it repeats itself, and it says what is wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.tasks.word_embeddings import hogwild_trainer
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress
from tests.support.hogwild_runs import CHUNK, corpus_of, model_of, settings, trainer_of


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hogwild_trainer, "CHUNK_WORDS", CHUNK)


def weights_after(trainer: HogwildTrainer) -> dict[str, torch.Tensor]:
    trainer.fit()
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def test_one_thread_and_one_seed_give_the_same_vectors(corpus: Corpus) -> None:
    first, second = (weights_after(trainer_of(corpus)) for _ in range(2))
    other = weights_after(trainer_of(corpus, training=settings(seed=1)))
    assert all(torch.equal(first[name], second[name]) for name in first)
    start = model_of(corpus).state_dict()
    assert not any(torch.equal(first[name], start[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_the_report_tells_every_word_and_a_loss_that_falls(corpus: Corpus) -> None:
    told: list[EmbeddingProgress] = []
    trainer = trainer_of(corpus, training=settings(epochs=4), report=told.append)
    reached = trainer.fit()
    assert reached.epoch == 4
    assert reached.words == reached.total_words == 4 * len(corpus.ids)
    assert reached.seconds > 0
    assert len(told) >= 4
    # Nothing is known at the start: log 2 for the centre and for each noise word but those that are the centre.
    assert 3.5 * np.log(2) < reached.epoch_losses[0] < 4 * np.log(2)
    assert reached.epoch_losses == sorted(reached.epoch_losses, reverse=True)
    assert reached.epoch_losses[-1] < 0.9 * reached.epoch_losses[0]


def test_two_threads_read_every_word_once_and_learn(corpus: Corpus) -> None:
    trainer = trainer_of(corpus, training=settings(epochs=4), threads=2)
    read: list[range] = []
    kernel = trainer.kernel

    def noted(text: Any, first: int, last: int, *arguments: Any) -> Any:
        read.append(range(first, last))
        return kernel(text, first, last, *arguments)

    trainer.kernel = noted
    reached = trainer.fit()
    assert sorted(sentence for piece in read for sentence in piece) == sorted([*range(len(corpus))] * 4)
    assert {len(piece) > 0 for piece in read} == {True}
    assert reached.words == 4 * len(corpus.ids)
    assert reached.epoch_losses[-1] < 0.9 * reached.epoch_losses[0]


def test_more_threads_than_sentences(tmp_path: Path) -> None:
    small = corpus_of(tmp_path, ["a b c", "b a"])
    assert trainer_of(small, threads=5).fit().words == 2 * 5


def test_where_the_word_before_decides_its_position_gets_the_largest_logit(tmp_path: Path) -> None:
    """A word of twelve and the one of four that follows it: from behind, three words are possible."""
    draw = random.Random(0)
    first = [f"a{number}" for number in range(12)]
    lines = []
    for _ in range(400):
        pairs = [f"{word} b{int(word[1:]) % 4}" for word in draw.choices(first, k=8)]
        lines.append(" ".join(pairs))
    trainer = HogwildTrainer(
        model := model_of(corpus := corpus_of(tmp_path, lines)),
        corpus,
        settings(epochs=10, subsampling=1.0, schedule="constant"),
    )
    reached = trainer.fit()
    assert reached.epoch_losses[-1] < 0.8 * reached.epoch_losses[0]
    position_logits = model.word_embedding.position_logits.detach()
    largest, next_largest = position_logits.topk(2).values
    assert int(position_logits.argmax()) == model.config.window - 1  # of position -1
    assert largest > next_largest + 0.5


@pytest.mark.parametrize(("schedule", "lost"), [("constant", 0.0), ("linear", 1.0)])
def test_the_rate_follows_the_schedule(corpus: Corpus, schedule: str, lost: float) -> None:
    trainer = trainer_of(corpus, training=settings(schedule=schedule, logit_learning_rate=0.3))
    rates: list[tuple[float, float]] = []
    shares: list[float] = []
    kernel = trainer.kernel

    def noted(*arguments: Any) -> Any:
        rates.append(arguments[-2:])
        shares.append(trainer.progress.words / trainer.progress.total_words)
        return kernel(*arguments)

    trainer.kernel = noted
    trainer.fit()
    assert shares[0] == 0
    assert shares[-1] > 0.97
    assert rates == [pytest.approx((0.1 * (1 - lost * share), 0.3 * (1 - lost * share))) for share in shares]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_rate_that_is_too_large_is_named(corpus: Corpus, threads: int) -> None:
    trainer = trainer_of(corpus, training=settings(learning_rate=1e30, schedule="constant"), threads=threads)
    with pytest.raises(FloatingPointError, match=r"after [\d,]+ words, with the learning rate 1e\+30; lower it"):
        trainer.fit()


def test_a_loss_far_above_that_of_a_model_that_knows_nothing_stops_the_training(corpus: Corpus) -> None:
    """Numbers can stay finite to the end where vectors only grow."""
    trainer = trainer_of(corpus, training=settings(learning_rate=1.0, schedule="constant"))
    message = (
        r"the loss is [\d.e+]+ \(a model that knows nothing: at most 2\.77\) after [\d,]+ words, "
        "with the learning rate 1; lower it"
    )
    with pytest.raises(FloatingPointError, match=message):
        trainer.fit()
    assert all(np.isfinite(values).all() for values in trainer.weights)


def test_bad_input_is_named(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="threads is 0; expected 1 or more"):
        trainer_of(corpus, threads=0)
    small = corpus_of(tmp_path / "small", ["a b"])
    with pytest.raises(ValueError, match=f"the model has 2 words, the corpus {len(corpus.words)}; build the model"):
        HogwildTrainer(model_of(small), corpus, settings())
    with pytest.raises(ValueError, match="the vocabulary has 1 word; noise words need at least 2"):
        trainer_of(corpus_of(tmp_path / "one", ["a a a"]))
