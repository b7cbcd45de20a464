"""The compiled trainer against autograd in float64, step by step, with the noise words that it draws itself."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Set
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE
from ctxzoo.tasks.word_embeddings.kernel import (
    SHARING_CENTRES,
    KernelPlan,
    Text,
    Weights,
    allocate_workspace,
    build_kernel,
)
from ctxzoo.tasks.word_embeddings.kernel_parts import draw_noise_words, draw_random_bits, scale_bits_below
from ctxzoo.tasks.word_embeddings.unigrams import build_alias_tables, compute_noise_probabilities
from ctxzoo.tasks.word_embeddings.weights import extract_weights, load_weights, round_up_width

WORDS = 12
DIM, WINDOW, NOISE, RATE = 5, 2, 3, 0.3
COUNTS = np.arange(2, WORDS + 2)[::-1].copy()
SENTENCES = [[3, 1, 4, 9, 5], [2, 6], [7], [0, 11, 10, 8, 1, 2, 5, 3]]
SIZES = {"vocab_size": WORDS + 2, "word_dim": DIM, "window": WINDOW}
PLAIN = KernelPlan(
    architecture="attention_cbow",
    width=round_up_width(DIM),
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
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(**{**SIZES, **config}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
        model.word_embedding.word_vectors.weight[:2].zero_()
    return model


def text_of(sentences: list[list[int]], keep: float = 1.0) -> Text:
    """Ids and pointers are read-only, as those of a corpus are: the loops are compiled for both."""
    limits, others = build_alias_tables(compute_noise_probabilities(COUNTS))
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    pointers = np.cumsum([0, *(len(sentence) for sentence in sentences)])
    for read in (ids, pointers):
        read.setflags(write=False)
    return Text(
        ids=ids,
        pointers=pointers,
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
    weights = extract_weights(model)
    state = np.array([77], np.uint64)
    told = build_kernel(plan)(
        text_of(sentences, keep),
        0,
        len(sentences),
        weights,
        allocate_workspace(plan, WORDS),
        state,
        rate,
        rate if logit_rate is None else logit_rate,
    )
    return weights, told


class Draws:
    """What the trainer draws, in its order: `state` is that of its generator."""

    def __init__(self, plan: KernelPlan, keep: float) -> None:
        self.plan, self.keep = plan, round(keep * (2**32 - 1))
        self.state = np.array([77], np.uint64)
        self.text = text_of(SENTENCES)

    def upper_bits(self) -> int:
        return int(draw_random_bits(self.state)) % 2**64 >> 32

    def kept(self, sentence: list[int]) -> list[int]:
        return [word for word in sentence if not self.plan.subsampling or self.upper_bits() <= self.keep]

    def half_width(self) -> int:
        if not self.plan.random_window:
            return self.plan.window
        return 1 + int(scale_bits_below(np.uint64(self.upper_bits()), self.plan.window))

    def noise(self) -> list[int]:
        drawn = np.zeros(NOISE + 1, np.int64)
        draw_noise_words(self.text.noise_limits, self.text.noise_others, self.state, drawn)
        return (drawn[1:] + 2).tolist()


def reference(
    model: WordEmbeddingForMaskedLM,
    plan: KernelPlan,
    gradient: str = "exact",
    sentences: list[list[int]] = SENTENCES,
    rate: float = RATE,
    keep: float = 1.0,
) -> list[float]:
    """Row by row in float64: each step reads the tables and moves them before the next, by the gradient of
    `sampled_loss`; the losses. Changes the model.
    """
    model.double()
    draws = Draws(plan, keep)
    losses = []
    for sentence in map(draws.kept, sentences):
        if len(sentence) < 2:
            continue
        ids = torch.tensor([[word + 2 for word in sentence]])
        contexts, present = model.word_embedding.collect_windows(ids)
        distances = torch.tensor([abs(i) for i in range(-plan.window, plan.window + 1) if i])
        columns = torch.arange(2 * plan.window)
        coming = draws.noise()
        for t in range(len(sentence)):
            seen = present[:, t] & (distances <= draws.half_width())
            each = model.config.predicts_from_each_word
            steps = [seen & (columns == one) for one in columns[seen[0]]] if each else [seen]
            for part in steps:
                noise = torch.tensor([coming])
                if not plan.shared_noise or each or t % SHARING_CENTRES == SHARING_CENTRES - 1:
                    coming = draws.noise()
                loss = model.sampled_loss(
                    contexts[:, t], part, ids[:, t], noise, noise != ids[:, t], input_gradient=gradient
                ).sum()
                model.zero_grad()
                loss.backward()
                losses.append(loss.item())
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= rate * parameter.grad
    return losses


CASES = {
    "attention": ({}, {}, "exact"),
    "K only": ({"position_logits": False}, {"position_logits": False}, "exact"),
    "s only": ({"word_logits": False}, {"word_logits": False}, "exact"),
    "rank": ({"logit_rank": 3}, {"logit_rank": 3}, "exact"),
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


# Numba compiles the loops anew for each case, several seconds each.
QUICK = {"attention"}


def cases(left_out: Set[str] = frozenset()) -> list[Any]:
    """All cases but those `left_out`; those that are not quick are marked slow."""
    return [
        pytest.param(case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES if case not in left_out
    ]


each_case = pytest.mark.parametrize("case", cases())


def check_against_reference(
    case: str, sentences: list[list[int]], rate: float, keep: float = 1.0, window: int = WINDOW, **options: Any
) -> None:
    config, plan_options, gradient = CASES[case]
    config = {**config, "window": window}
    plan = dataclasses.replace(PLAIN, window=window, **plan_options, **options)
    model, expected, start = (drawn_model(**config) for _ in range(3))
    weights, (words, loss, told) = trained(model, plan, sentences, rate, keep=keep)
    losses = reference(expected, plan, gradient, sentences, rate, keep)
    load_weights(model, weights)
    for (name, parameter), wanted in zip(model.named_parameters(), expected.parameters(), strict=True):
        assert (wanted.float() - start.get_parameter(name)).abs().max() > 0.02, name
        assert torch.allclose(parameter, wanted.float(), atol=5e-5), name
    assert words == sum(map(len, sentences))
    if told == 1:  # the first centre
        first = (
            losses[0] if not model.config.predicts_from_each_word else sum(losses[: min(window, len(sentences[0]) - 1)])
        )
        assert loss == pytest.approx(first, rel=1e-5)


@each_case
def test_equals_plain_gradient_descent_in_float64(case: str) -> None:
    check_against_reference(case, SENTENCES, RATE)


# "the" is everywhere, a line is one word again and again, and a window holds a word several times.
REPETITIVE = [[0, 3, 0, 1, 0, 0, 4, 0, 3, 0], [5, 5, 5, 5, 5], [7], [2, 6, 2, 6], [0, 1, 0, 1, 2, 0, 1, 3, 0, 1]]


@each_case
def test_a_repeated_word_moves_in_place(case: str) -> None:
    check_against_reference(case, REPETITIVE, 0.2)


@each_case
def test_one_line_of_as_many_words_as_a_line_can_have(case: str) -> None:
    draw = random.Random(0)
    line = draw.choices(range(WORDS), weights=[1 / (word + 1) for word in range(WORDS)], k=LONGEST_SENTENCE)
    check_against_reference(case, [line], 0.02)


# Compiled once more for each: attention draws as its parts do.
@pytest.mark.parametrize("case", cases(left_out={"K only", "s only"}))
def test_all_that_is_drawn_in_windows_longer_than_a_line_of_repeated_words(case: str) -> None:
    options = {"random_window": True, "subsampling": True, "shared_noise": True}
    check_against_reference(case, REPETITIVE * 2, 0.1, keep=0.6, window=12, **options)


@pytest.mark.slow  # the loops of CBOW are compiled for it
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


@pytest.mark.slow
def test_mirrored_text_with_mirrored_columns_is_trained_alike() -> None:
    """Up to the order of the centres: one step that is too small to matter to the next."""
    model, mirrored = drawn_model(), drawn_model()
    with torch.no_grad():
        base = mirrored.word_embedding
        base.word_position_logits.weight.copy_(base.word_position_logits.weight.flip(1))
        base.position_logits.copy_(base.position_logits.flip(0))
    plan, small = dataclasses.replace(PLAIN, noise=0), 1e-3
    start = extract_weights(model)
    ours, _ = trained(model, plan, rate=small)
    theirs, _ = trained(mirrored, plan, [sentence[::-1] for sentence in SENTENCES], rate=small)
    assert np.abs(ours.word_logits - start.word_logits).max() > 50 * 1e-6
    assert np.allclose(ours.word_logits, theirs.word_logits[:, ::-1], atol=1e-6)
    assert np.allclose(ours.input, theirs.input, atol=1e-6)


@pytest.mark.slow
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
    draw_noise_words(text.noise_limits, text.noise_others, np.array([5], np.uint64), drawn)
    expected = compute_noise_probabilities(COUNTS) * 1_000_000
    assert stats.chisquare(np.bincount(drawn[1:], minlength=WORDS), expected).pvalue > 1e-3


def test_random_numbers_are_even() -> None:
    state = np.array([5], np.uint64)
    places = [int(scale_bits_below(np.uint64(draw_random_bits(state)) >> np.uint64(32), 20)) for _ in range(20_000)]
    assert stats.chisquare(np.bincount(places, minlength=20)).pvalue > 1e-3


@pytest.mark.slow
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
