"""The layers of NIPEN written out again, and where dropout acts on them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models import layers_nipen, layers_vote
from tests.models.test_modeling_nipen import batch_of, model_of

RATE = 0.25


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout doubles what it is given, in training: results tell where it acts."""

    def double(x: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
        assert rate == RATE
        return 2 * x if training else x

    for module in (layers_nipen, layers_vote):
        monkeypatch.setattr(module, "dropout", double)


def model_with_biases(training: bool, **fields: Any) -> Any:
    model = model_of(**fields, dropout=RATE, corruption_level=0.0).train(training)
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.usefixtures("doubled")
def test_the_variational_encoder_drops_numbers_of_its_matrices(training: bool) -> None:
    encoder = model_with_biases(training).encoder
    times = 2 if training else 1

    def layer(part: Any, x: torch.Tensor) -> torch.Tensor:
        return x @ (times * part.weight).t() + part.bias

    text = batch_of()["bag_of_words"].log1p()
    read = encoder(text)
    first, second = encoder.encoder
    hidden = torch.relu(layer(second, torch.relu(layer(first, text))))
    torch.testing.assert_close(read.hidden, hidden)
    torch.testing.assert_close(read.mean, layer(encoder.mean, hidden))
    torch.testing.assert_close(read.log_deviation, layer(encoder.log_deviation, hidden))
    assert torch.equal(read.topics, read.mean) != training
    first, second, last = encoder.decoder
    made = layer(last, torch.relu(layer(second, torch.relu(layer(first, read.topics)))))
    torch.testing.assert_close(read.reconstruction, made)
    assert (made < 0).any()  # no relu at the end


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.usefixtures("doubled")
def test_the_denoising_encoder_drops_numbers_behind_all_layers_but_the_last(training: bool) -> None:
    model, batch = model_with_biases(training, encoder="sdae"), batch_of()
    times = 2 if training else 1
    x = batch["bag_of_words"].log1p()
    for layer in model.encoder.encoder:
        last_hidden, code = x, torch.relu(x @ layer.weight.t() + layer.bias)
        x = times * code
    for layer in model.encoder.decoder:
        made = torch.relu(x @ layer.weight.t() + layer.bias)
        x = times * made
    found = model.encoder(batch["bag_of_words"].log1p())
    for one, expected in zip(found, (code, last_hidden, made), strict=True):
        torch.testing.assert_close(one, expected)
    torch.testing.assert_close(model(**batch).text_topics, code)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.usefixtures("doubled")
def test_the_network_of_tensor_drops_numbers_behind_its_hidden_layers(training: bool) -> None:
    model = model_with_biases(training, version="tensor", ntn_widths=[6, 4])
    weighed, points = torch.randn(2, 3, dtype=torch.float64), model.legislators.weight
    hidden = weighed.unsqueeze(1) * points
    for layer in model.tensor.hidden:
        hidden = (2 if training else 1) * torch.tanh(hidden @ layer.weight.t() + layer.bias)
    content = hidden @ model.tensor.output.weight[0] + model.tensor.output.bias
    torch.testing.assert_close(model.tensor(weighed, points), content)
