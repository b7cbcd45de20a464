"""Attention CBOW whose K and s stay 0: the mean of the whole window, trained as attention CBOW is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.experiments import build_paper_experiment
from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer, _seed_random_state
from ctxzoo.tasks.word_embeddings.kernel_parts import draw_noise_words
from ctxzoo.tasks.word_embeddings.run import build_training_settings
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.unigrams import build_alias_tables, compute_noise_probabilities
from tests.support.hogwild_runs import SPECIAL, corpus_of, model_of

EPOCHS, NOISE = 2, 3
Table = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("corpus"))


def settings(**changes: Any) -> WordEmbeddingTraining:
    """The paper's, as its recipe trains."""
    return build_training_settings(
        build_paper_experiment().copy_with(window=2, epochs=EPOCHS, negative_samples=NOISE, **changes)
    )


def trained(corpus: Corpus, **changes: Any) -> WordEmbeddingForMaskedLM:
    model = model_of(corpus, window=2)
    HogwildTrainer(model, corpus, settings(**changes)).fit()
    return model


def mean_of_the_window(corpus: Corpus, vectors: Table, rate: float, window: int) -> tuple[Table, Table]:
    """W and O after plain gradient descent in float64, centre by centre at a constant rate, O from 0."""
    outputs = np.zeros_like(vectors)
    state = _seed_random_state(0, 0)
    limits, others = build_alias_tables(compute_noise_probabilities(corpus.counts))

    def noise() -> list[int]:
        drawn = np.zeros(NOISE + 1, np.int64)
        draw_noise_words(limits, others, state, drawn)
        return [int(word) for word in drawn[1:]]

    for _ in range(EPOCHS):
        for begin, end in zip(corpus.pointers[:-1], corpus.pointers[1:], strict=True):
            line = corpus.ids[begin:end].tolist()
            if len(line) < 2:
                continue
            coming = noise()
            for place, centre in enumerate(line):
                around = line[max(0, place - window) : place] + line[place + 1 : place + window + 1]
                context = sum(vectors[word] for word in around) / len(around)
                targets = [(centre, 1.0), *((word, 0.0) for word in coming if word != centre)]
                coming = noise()
                errors = [label - 1 / (1 + np.exp(-outputs[word] @ context)) for word, label in targets]
                back = sum(error * outputs[word] for error, (word, _) in zip(errors, targets, strict=True))
                for error, (word, _) in zip(errors, targets, strict=True):
                    outputs[word] += rate * error * context
                for word in around:
                    vectors[word] += rate * back / len(around)
    return vectors, outputs


@pytest.mark.slow
def test_without_a_rate_of_their_own_the_weights_stay_even(corpus: Corpus) -> None:
    model = trained(corpus, logit_learning_rate=0.0)
    base = model.word_embedding
    assert not base.word_position_logits.weight.any()
    assert not base.position_logits.any()
    ids = torch.arange(SPECIAL, SPECIAL + 6).unsqueeze(0)
    weights = base(ids, output_attentions=True).attentions[0]
    assert torch.equal(weights, (weights > 0) / (weights > 0).sum(-1, keepdim=True))
    attended = trained(corpus).word_embedding.position_logits
    assert attended.detach().abs().min() > 0.01


@pytest.mark.slow
def test_it_equals_the_mean_of_the_window_trained_in_float64(corpus: Corpus) -> None:
    start = model_of(corpus, window=2).word_embedding.word_vectors.weight[SPECIAL:].detach().double().numpy()
    rate = 0.3
    model = trained(corpus, learning_rate=rate, logit_learning_rate=0.0)
    vectors, outputs = mean_of_the_window(corpus, start.copy(), rate, window=2)
    ours = model.word_embedding.word_vectors.weight[SPECIAL:].detach().numpy()
    np.testing.assert_allclose(ours, vectors, atol=1e-4)
    np.testing.assert_allclose(model.output_vectors[SPECIAL:].detach().numpy(), outputs, atol=1e-4)
    attended = trained(corpus, learning_rate=rate).word_embedding.word_vectors.weight[SPECIAL:].detach().numpy()
    assert np.abs(attended - vectors).max() > 0.05


def test_only_the_rate_of_the_logits_differs_from_attention_cbow() -> None:
    even, attention = settings(logit_learning_rate=0.0).to_dict(), settings().to_dict()
    assert {name for name in attention if even[name] != attention[name]} == {"logit_learning_rate"}
    with pytest.raises(ValueError, match="give --logit_learning_rate 0"):
        build_paper_experiment().copy_with(word_logits=False, position_logits=False)
