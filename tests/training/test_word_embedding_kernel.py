"""The compiled trainer against autograd in float64, step by step, with the noise words that it draws itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ctxzoo.data.unigrams import alias_table, noise_probabilities
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.training.word_embedding_kernel import (
    KernelPlan,
    Text,
    Weights,
    build_kernel,
    draw_noise,
    number_below,
    random_bits,
    workspace,
)
from ctxzoo.training.word_embedding_weights import load_weights, padded_width, weights_of

WORDS = 12
DIM, WINDOW, NOISE, RATE = 5, 2, 3, 0.3
COUNTS = np.arange(2, WORDS + 2)[::-1].copy()
# No word twice in a sentence, so that the block of copied rows is the table itself.
SENTENCES = [[3, 1, 4, 9, 5], [2, 6], [7], [0, 11, 10, 8, 1, 2, 5, 3]]
PLAIN = KernelPlan(
    architecture="attention_cbow",
    width=padded_width(DIM),
    window=WINDOW,
    noise=NOISE,
    word_logits=True,
    position_logits=True,
    logit_rank=0,
    exact_gradient=True,
    random_window=False,
    subsampling=False,
    shared_noise=False,
)


def drawn_model(**config: Any) -> WordEmbeddingForMaskedLM:
    """With weights away from the start, where O = K = s = 0 hides mistakes."""
    torch.manual_seed(0)
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=WORDS + 2, word_dim=DIM, window=WINDOW, **config))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
        model.word_embedding.word_vectors.weight[:2].zero_()
    return model


def text_of(sentences: list[list[int]], keep: float = 1.0) -> Text:
    limits, others = alias_table(noise_probabilities(COUNTS))
    return Text(
        ids=np.array([word for sentence in sentences for word in sentence], np.int32),
        pointers=np.cumsum([0, *(len(sentence) for sentence in sentences)]),
        keep=np.full(WORDS, round(keep * (2**32 - 1)), np.uint32),
        noise_limits=limits,
        noise_others=others,
    )


def trained(
    model: WordEmbeddingForMaskedLM,
    plan: KernelPlan,
    sentences: list[list[int]] = SENTENCES,
    rate: float = RATE,
    logit_rate: float | None = None,
    keep: float = 1.0,
) -> tuple[Weights, tuple[int, float, int]]:
    weights = weights_of(model)
    state = np.array([77], np.uint64)
    told = build_kernel(plan)(
        text_of(sentences, keep),
        0,
        len(sentences),
        weights,
        workspace(plan),
        state,
        rate,
        rate if logit_rate is None else logit_rate,
    )
    return weights, told


def noise_of(count: int, state: np.ndarray) -> Iterator[list[int]]:
    """The noise words of one sentence's steps; the trainer draws a step ahead."""
    text = text_of(SENTENCES)
    drawn = np.zeros(NOISE + 1, np.int64)
    for _ in range(count):
        draw_noise(text.noise_limits, text.noise_others, state, drawn)
        yield (drawn[1:] + 2).tolist()


def reference(model: WordEmbeddingForMaskedLM, plan: KernelPlan, gradient: str = "exact") -> list[float]:
    """Plain SGD in float64, centre by centre, by `sampled_loss`; the losses. Changes the model."""
    model.double()
    state = np.array([77], np.uint64)
    losses = []
    for sentence in SENTENCES:
        if len(sentence) < 2:
            continue
        ids = torch.tensor([[word + 2 for word in sentence]])
        contexts, present = model.word_embedding.windows(ids)
        places = [
            (t, column)
            for t in range(len(sentence))
            for column in (present[0, t].nonzero().flatten().tolist() if model.config.predicts_from_each_word else [-1])
        ]
        draws = list(noise_of(len(places) + 1, state))
        for (t, column), noise in zip(places, draws, strict=False):
            seen = present[:, t].clone()
            if column >= 0:
                seen[:] = False
                seen[0, column] = True
            drawn = torch.tensor([noise])
            loss = model.sampled_loss(
                contexts[:, t], seen, ids[:, t], drawn, drawn != ids[:, t], input_gradient=gradient
            ).sum()
            model.zero_grad()
            loss.backward()
            losses.append(loss.item())
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= RATE * parameter.grad
    return losses


CASES = {
    "attention": ({}, {}, "exact"),
    "K only": ({"position_logits": False}, {"position_logits": False}, "exact"),
    "s only": ({"word_logits": False}, {"word_logits": False}, "exact"),
    "cbow": ({"architecture": "cbow"}, {"architecture": "cbow"}, "exact"),
    "cbow as word2vec": (
        {"architecture": "cbow"},
        {"architecture": "cbow", "exact_gradient": False},
        "word2vec",
    ),
    "positional": ({"architecture": "positional_cbow"}, {"architecture": "positional_cbow"}, "exact"),
    "cwindow": ({"architecture": "cwindow"}, {"architecture": "cwindow"}, "exact"),
    "skip_gram": ({"architecture": "skip_gram"}, {"architecture": "skip_gram"}, "exact"),
    "structured": ({"architecture": "structured_skip_gram"}, {"architecture": "structured_skip_gram"}, "exact"),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_plain_gradient_descent_in_float64(case: str) -> None:
    config, options, gradient = CASES[case]
    model, expected = drawn_model(**config), drawn_model(**config)
    plan = dataclasses.replace(PLAIN, **options)
    weights, (words, loss, told) = trained(model, plan)
    losses = reference(expected, plan, gradient)
    load_weights(model, weights)
    for (name, parameter), wanted in zip(model.named_parameters(), expected.parameters(), strict=True):
        moved = (wanted.float() - drawn_model(**config).get_parameter(name)).abs().max()
        assert moved > 0.05, name
        assert torch.allclose(parameter, wanted.float(), atol=3e-5), name
    assert words == sum(map(len, SENTENCES))
    assert told == 1  # the first of 15 centres
    first = losses[0] if not model.config.predicts_from_each_word else sum(losses[:2])
    assert loss == pytest.approx(first, rel=1e-5)


def test_a_product_of_factors_moves_along_its_gradient() -> None:
    """A and B change once a sentence, by the sum of what K changed: for one small step, the gradient."""
    model, expected = drawn_model(logit_rank=3), drawn_model(logit_rank=3)
    small = 1e-3
    plan = dataclasses.replace(PLAIN, logit_rank=3)
    before = drawn_model(logit_rank=3)
    weights, _ = trained(model, plan, sentences=SENTENCES[:1], rate=small)
    load_weights(model, weights)
    state = np.array([77], np.uint64)
    expected.double()
    ids = torch.tensor([[word + 2 for word in SENTENCES[0]]])
    contexts, present = expected.word_embedding.windows(ids)
    noise = torch.tensor(list(noise_of(len(SENTENCES[0]), state)))
    expected.sampled_loss(contexts[0], present[0], ids[0], noise, noise != ids.T).sum().backward()
    for name in ("word_embedding.word_factors.weight", "word_embedding.position_factors"):
        step = (model.get_parameter(name) - before.get_parameter(name)) / small
        assert torch.allclose(step, -expected.get_parameter(name).grad.float(), rtol=0.02, atol=2e-3), name


def test_without_a_rate_of_its_own_attention_is_exact_cbow_bit_for_bit() -> None:
    attention, mean = drawn_model(), drawn_model(architecture="cbow")
    with torch.no_grad():
        attention.word_embedding.word_position_logits.weight.zero_()
        attention.word_embedding.position_logits.zero_()
        mean.word_embedding.word_vectors.weight.copy_(attention.word_embedding.word_vectors.weight)
        mean.output_vectors.copy_(attention.output_vectors)
    ours, _ = trained(attention, PLAIN, logit_rate=0.0)
    theirs, _ = trained(mean, dataclasses.replace(PLAIN, architecture="cbow"))
    assert (ours.input == theirs.input).all()
    assert (ours.output == theirs.output).all()
    assert not ours.word_logits.any()


def test_mirrored_text_with_mirrored_columns_is_trained_alike() -> None:
    """Up to the order of the centres: one step that is too small to matter to the next."""
    model, mirrored = drawn_model(), drawn_model()
    with torch.no_grad():
        base = mirrored.word_embedding
        base.word_position_logits.weight.copy_(base.word_position_logits.weight.flip(1))
        base.position_logits.copy_(base.position_logits.flip(0))
    plan, small = dataclasses.replace(PLAIN, noise=0), 1e-3
    start = weights_of(model)
    ours, _ = trained(model, plan, rate=small)
    theirs, _ = trained(mirrored, plan, [sentence[::-1] for sentence in SENTENCES], rate=small)
    assert np.abs(ours.word_logits - start.word_logits).max() > 50 * 1e-6
    assert np.allclose(ours.word_logits, theirs.word_logits[:, ::-1], atol=1e-6)
    assert np.allclose(ours.input, theirs.input, atol=1e-6)


def test_a_repeated_word_gets_the_gradient_of_each_occurrence() -> None:
    """The block adds the differences of copies: the gradient's sum, but for terms of second order."""
    sentence = [3, 1, 3, 3, 4]
    small = 1e-3
    model, expected = drawn_model(), drawn_model().double()
    before = weights_of(model)
    after, _ = trained(model, dataclasses.replace(PLAIN, noise=0), [sentence], rate=small)
    ids = torch.tensor([[word + 2 for word in sentence]])
    contexts, present = expected.word_embedding.windows(ids)
    none = torch.zeros(len(sentence), 0, dtype=torch.long)
    expected.sampled_loss(contexts[0], present[0], ids[0], none, none.bool()).sum().backward()
    wanted = -expected.word_embedding.word_vectors.weight.grad[2:].float().numpy()
    step = (after.input - before.input)[:, :DIM] / small
    assert np.abs(wanted[3]).max() > 0.2
    assert np.allclose(step, wanted, rtol=0.02, atol=2e-3)


def test_padded_columns_and_the_centres_column_stay_as_they_are() -> None:
    for architecture in ("attention_cbow", "positional_cbow", "cwindow"):
        weights, _ = trained(
            drawn_model(architecture=architecture), dataclasses.replace(PLAIN, architecture=architecture)
        )
        blocks = weights.output.reshape(-1, PLAIN.width)
        for table in (weights.input, blocks, weights.position_vectors):
            assert not table[:, DIM:].any()
        assert not weights.word_logits[:, WINDOW : WINDOW + 1].any()
        assert weights.position_logits[WINDOW] == np.float32(-1e30)


def test_noise_is_drawn_by_its_probabilities() -> None:
    text = text_of(SENTENCES)
    drawn = np.zeros(1_000_001, np.int64)
    draw_noise(text.noise_limits, text.noise_others, np.array([5], np.uint64), drawn)
    expected = noise_probabilities(COUNTS) * 1_000_000
    assert stats.chisquare(np.bincount(drawn[1:], minlength=WORDS), expected).pvalue > 1e-3


def test_random_numbers_are_even() -> None:
    state = np.array([5], np.uint64)
    places = [int(number_below(np.uint64(random_bits(state)) >> np.uint64(32), 20)) for _ in range(20_000)]
    assert stats.chisquare(np.bincount(places, minlength=20)).pvalue > 1e-3


def test_words_are_left_out_as_often_as_they_should() -> None:
    """With noise 0 and one pair a sentence, only pairs that are both kept move K."""
    sentences = [[a, b] for a in range(WORDS) for b in range(WORDS) if a != b] * 20
    model = drawn_model()
    plan = dataclasses.replace(PLAIN, noise=0, subsampling=True)
    _, (words, _, told) = trained(model, plan, sentences, rate=1e-6, keep=0.5)
    pairs = len(sentences)
    assert words == 2 * pairs
    # A quarter of the pairs gives two centres each; every 16th is told.
    assert told * 16 / 2 == pytest.approx(pairs / 4, rel=0.1)


def test_the_random_window_reaches_every_width() -> None:
    sentence = list(range(WORDS))
    model = drawn_model(architecture="cbow")
    plan = dataclasses.replace(PLAIN, architecture="cbow", noise=0, random_window=True, exact_gradient=False)
    small = 1e-4
    before = weights_of(model)
    weights, _ = trained(model, plan, [sentence] * 200, rate=small)
    full, _ = trained(model, dataclasses.replace(plan, random_window=False), [sentence] * 200, rate=small)
    # With word2vec's gradient a word moves once for each window it is in: 1.5 of 2 places on each side on average.
    share = np.abs(weights.input - before.input).sum() / np.abs(full.input - before.input).sum()
    assert 0.6 < share < 0.9
