"""The BiLSTM tagger against its equations, word by word, in float64; its loss against a loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.models.modeling_bilstm_tagger import BilstmTaggerForTokenClassification, BilstmTaggerModel
from ctxzoo.models.ops_words import token_classification_loss

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 6, "recurrent_size": 3, "projection_size": 5, "num_labels": 4}
SENTENCES = ([3, 7, 3, 9, 1, 12], [5], [8, 2, 19])


def model_of(**changes: Any) -> BilstmTaggerForTokenClassification:
    torch.manual_seed(0)
    config = BilstmTaggerConfig(**{**SIZES, "embedding_bound": 1.0, **changes})
    return BilstmTaggerForTokenClassification(config).double().eval()


def batch_of(sentences: Any = SENTENCES) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, sentences))
    ids = torch.tensor([[*sentence, *[0] * (width - len(sentence))] for sentence in sentences])
    return ids, (ids > 0).long()


def lstm_by_hand(x: torch.Tensor, parameters: dict[str, torch.Tensor], suffix: str) -> list[torch.Tensor]:
    """s_1, s_2, … of one direction over the rows of x, in the order given."""
    size = parameters[f"weight_hh_l0{suffix}"].size(1)
    state, memory, states = torch.zeros(size).double(), torch.zeros(size).double(), []
    for row in x:
        gates = (
            parameters[f"weight_ih_l0{suffix}"] @ row
            + parameters[f"bias_ih_l0{suffix}"]
            + parameters[f"weight_hh_l0{suffix}"] @ state
            + parameters[f"bias_hh_l0{suffix}"]
        )
        into, forget, new, out = gates.split(size)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(new)
        state = torch.sigmoid(out) * torch.tanh(memory)
        states.append(state)
    return states


def test_sentences_written_out() -> None:
    model = model_of()
    ids, mask = batch_of()
    with torch.no_grad():
        output = model(ids, mask, output_hidden_states=True)
        parameters = model.tagger.rnn.rnn.state_dict()
        for row, sentence in enumerate(SENTENCES):
            x = model.tagger.embeddings.words.weight[sentence]
            forward = lstm_by_hand(x, parameters, "")
            backward = lstm_by_hand(x.flip(0), parameters, "_reverse")[::-1]
            for place, (left, right) in enumerate(zip(forward, backward, strict=True)):
                state = torch.cat([left, right])
                joined = torch.tanh(model.tagger.projection.weight @ state + model.tagger.projection.bias)
                scores = model.classifier.weight @ joined + model.classifier.bias
                for found, wanted in zip(
                    (*output.hidden_states, output.logits), (x[place], state, joined, scores), strict=True
                ):
                    torch.testing.assert_close(found[row, place], wanted, rtol=1e-10, atol=1e-12)
            assert not any(each[row, len(sentence) :].any() for each in output.hidden_states)


def test_the_wide_part_written_out() -> None:
    """Scores linear in features and given vectors of a word and of those beside it, and features beside its vector.

    What training adds to the vectors of the first rows is the network's alone.
    """
    model = model_of(num_features=9, feature_dim=2, wide_window=2, trained_words=10)
    ids, mask = batch_of()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        features = torch.randint(0, 9, (*ids.shape, 3), generator=generator)  # whatever at padding
        table, vectors = model.tagger.embeddings.words, model.wide.vector_weight.view(6, 5, 4)
        table.vectors.copy_(torch.randint(-127, 128, (20, 6), generator=generator))
        table.weight[0] = 0
        words = table.vectors * table.scales.fill_(0.01)
        read = torch.cat([words[:10] + table.weight, words[10:]])
        weights, sums = model.wide.features.table.weight.view(9, 5, 4), model.tagger.features.table.weight
        output = model(ids, mask, feature_ids=features, output_hidden_states=True)
        for row, sentence in enumerate(SENTENCES):
            for place in range(len(sentence)):
                scores = model.classifier.weight @ output.hidden_states[2][row, place] + model.classifier.bias
                for offset in range(-2, 3):
                    if 0 <= place + offset < len(sentence):
                        scores = scores + words[sentence[place + offset]] @ vectors[:, 2 + offset]
                        for feature in features[row, place + offset].tolist():
                            scores = scores + (weights[feature, 2 + offset] if feature else 0)
                torch.testing.assert_close(output.logits[row, place], scores, rtol=1e-10, atol=1e-12)
                beside = sum(sums[feature] for feature in features[row, place].tolist() if feature)
                expected = torch.cat([read[sentence[place]], beside + torch.zeros(2)])
                torch.testing.assert_close(output.hidden_states[0][row, place], expected, rtol=1e-10, atol=1e-12)


def test_a_wide_part_reads_no_vectors_that_are_drawn() -> None:
    assert model_of(num_features=9, wide_window=2).wide.vector_weight is None
    assert model_of(wide_window=2).wide is None


def test_the_wide_part_is_left_out_of_whole_sentences_in_training() -> None:
    model = model_of(num_features=9, wide_window=0, wide_dropout=0.5).train()
    with torch.no_grad():
        for parameter in model.wide.parameters():
            parameter.fill_(1.0)
        ids, features = torch.full((40, 3), 2), torch.ones(40, 3, 1, dtype=torch.long)
        added = model(ids, feature_ids=features).logits - model.classifier(model.tagger(ids, feature_ids=features)[0])
    is_left_out = (added.abs() < 1e-12).flatten(1)
    assert 5 < is_left_out.all(dim=1).sum() < 35
    assert torch.equal(is_left_out.all(dim=1), is_left_out.any(dim=1))


def test_loss_is_the_mean_over_the_words_that_count() -> None:
    model = model_of()
    ids, mask = batch_of()
    labels = torch.tensor([[0, 1, -100, 3, 2, 0], [3, 9, 9, 9, 9, 9], [1, 1, 0, -1, -100, 7]])  # whatever at padding
    with torch.no_grad():
        output = model(ids, mask, labels=labels)
    losses = [
        -output.logits[row, place].log_softmax(dim=0)[labels[row, place]]
        for row, sentence in enumerate(SENTENCES)
        for place in range(len(sentence))
        if labels[row, place] != -100
    ]
    assert len(losses) == 9
    torch.testing.assert_close(output.loss, torch.stack(losses).mean(), rtol=1e-12, atol=0)


def test_no_word_that_counts_gives_no_loss_and_no_gradient() -> None:
    logits = torch.randn(2, 3, 4, requires_grad=True)
    loss = token_classification_loss(logits, torch.full((2, 3), -100))
    loss.backward()
    assert loss.item() == 0
    assert not logits.grad.any()


def test_a_sentence_without_words() -> None:
    model = model_of()
    output = model(torch.zeros(2, 0, dtype=torch.long), output_hidden_states=True)
    assert output.logits.shape == (2, 0, 4)
    assert [x.shape[:2] for x in output.hidden_states] == [(2, 0)] * 3


def test_a_tag_depends_on_words_on_both_sides() -> None:
    model = model_of()
    with torch.no_grad():
        middle = [model(torch.tensor([ids])).logits[0, 1] for ids in ([3, 7, 9], [4, 7, 9], [3, 7, 8])]
    assert not torch.allclose(middle[0], middle[1])
    assert not torch.allclose(middle[0], middle[2])


def test_dropout_rates_act_in_training_alone() -> None:
    ids, mask = batch_of()
    for name in ("embedding_dropout", "hidden_dropout"):
        model = BilstmTaggerModel(BilstmTaggerConfig(**SIZES, **{name: 0.5}))
        first, second = model.train()(ids, mask)[0], model(ids, mask)[0]
        assert not torch.equal(first, second), name
        assert torch.equal(model.eval()(ids, mask)[0], model(ids, mask)[0])


def test_the_paper_s_sizes_are_the_defaults() -> None:
    config = BilstmTaggerConfig()
    assert (config.word_dim, config.recurrent_size, config.projection_size) == (50, 50, 50)
    assert config.hidden_size == 50  # no positions
    model = BilstmTaggerForTokenClassification(BilstmTaggerConfig(vocab_size=10, num_labels=45))
    lstm = 2 * 4 * 50 * (50 + 50 + 2)
    assert sum(x.numel() for x in model.parameters()) == 10 * 50 + lstm + (100 * 50 + 50) + (50 * 45 + 45)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recurrent_size": 0}, "recurrent_size must be at least 1, got 0"),
        ({"num_features": -1}, "num_features must be 0 or more, got -1"),
        ({"wide_window": -1}, "wide_window must be 0 or more, got -1"),
        ({"wide_dropout": 1.0}, r"wide_dropout must be at least 0 and below 1, got 1\.0"),
        ({"projection_size": -1}, "projection_size must be at least 1, got -1"),
        ({"hidden_dropout": 1.0}, r"hidden_dropout must be at least 0 and below 1, got 1\.0"),
    ],
)
def test_sizes_and_rates_out_of_range(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        BilstmTaggerConfig(**changes)
