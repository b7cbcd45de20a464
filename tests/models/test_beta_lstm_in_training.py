"""The Beta-LSTM as it trains: in float32 with its own sampler, compiled, in half precision, with noise of each step."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.modeling_beta_lstm import BetaLstmForCausalLM, BetaLstmForTokenClassification
from ctxzoo.models.ops_beta_lstm_gates import CELLS, Gating
from ctxzoo.models.ops_beta_lstm_steps import run_recurrent_steps
from ctxzoo.models.ops_words import token_classification_loss
from tests.models.test_ops_beta_lstm_gates import CORRELATIONS

EPS = 1e-3
MANY = 100_000
GAMMAS = [name for name, cell in CELLS.items() if cell.has_gamma_gates]
DRAWING = [name for name in CELLS if name not in ("lstm", "coupled")]
every_cell = pytest.mark.parametrize("cell", CELLS)


def layer(cell: str, layers: int = 1, **options: Any) -> BetaLSTM:
    torch.manual_seed(0)
    return BetaLSTM(4, 5, layers, cell=cell, batch_first=True, **options)


def blocks_of(alpha: Any, candidate: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Pre-activations (1, MANY, K + 2, 1) of one unit with these shapes, an output gate of 1/2 and a candidate."""
    u = torch.log(torch.expm1(torch.tensor(alpha, dtype=torch.float64) - EPS))
    u = torch.cat([u, torch.tensor([0.0, candidate]).double()]).to(dtype)
    return u.view(1, 1, -1, 1).expand(1, MANY, -1, 1)


def memory_of(blocks: torch.Tensor, before: float, cell: str, drawn: bool) -> torch.Tensor:
    state = blocks.new_zeros(MANY, 1)
    weights = blocks.new_zeros(blocks.size(2), 1)
    return run_recurrent_steps(blocks, weights, state, state + before, Gating(cell, EPS, drawn))[1]


@pytest.mark.parametrize(("cell", "alpha", "first_mean", "second_mean", "correlation"), CORRELATIONS)
def test_both_gates_of_a_step_have_their_means_and_their_correlation(
    cell: str, alpha: Any, first_mean: float, second_mean: float, correlation: float
) -> None:
    gates = []
    for before, candidate in ((0.0, 30.0), (1.0, 0.0)):  # the new memory is i, or f, of the same draws
        torch.manual_seed(3)
        gates.append(memory_of(blocks_of(alpha, candidate), before, cell, drawn=True).flatten().double())
    assert all(0 < float(gate.min()) <= float(gate.max()) < 1 for gate in gates)
    assert float(gates[0].mean()) == pytest.approx(first_mean, abs=0.005)
    assert float(gates[1].mean()) == pytest.approx(second_mean, abs=0.005)
    assert float(torch.corrcoef(torch.stack(gates))[0, 1]) == pytest.approx(correlation, abs=0.01)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("cell", "alpha"), [("bibeta5", (2, 1, 0.5, 1.5, 0.7)), ("bibeta3", (2, 1, 1)), ("beta", (2, 1, 0.5, 1.5))]
)
def test_the_mean_gradient_of_draws_is_that_of_the_means(cell: str, alpha: Any, dtype: torch.dtype) -> None:
    gradients = []
    for drawn in (True, False):
        torch.manual_seed(1)
        blocks = blocks_of(alpha, 0.3, dtype).clone().requires_grad_()
        memory_of(blocks, 0.4, cell, drawn).sum().backward()
        assert blocks.grad is not None
        gradients.append(blocks.grad[0, :, :, 0].double())
    found, expected = gradients[0], gradients[1][0]
    error = found.std(dim=0) / math.sqrt(MANY)
    assert ((found.mean(dim=0) - expected).abs() < 4 * error + 3e-3 * expected.abs() + 1e-7).all()


@pytest.mark.parametrize("batch", [3, 600])
@pytest.mark.parametrize("cell", GAMMAS)
def test_a_weight_that_is_no_number_shows_in_training(cell: str, batch: int) -> None:
    rnn = layer(cell).train()
    with torch.no_grad():
        rnn.bias_l0.view(-1, 5)[0] = math.nan
    assert rnn(torch.randn(batch, 6, 4))[0].isnan().any()


@pytest.mark.parametrize(
    "cell", [cell if cell in ("bibeta5", "g2") else pytest.param(cell, marks=pytest.mark.slow) for cell in DRAWING]
)
def test_compiled_training_draws_as_plain_training_does(cell: str) -> None:
    torch._dynamo.reset()
    rnn, x = layer(cell).train(), torch.randn(3, 2, 4)  # each step is compiled anew
    compiled = torch.compile(rnn, backend="aot_eager", fullgraph=True)
    found = []
    for run in (compiled, rnn):
        torch.manual_seed(1)
        output = run(x)[0]
        found.append([output, *torch.autograd.grad(output.square().sum(), list(rnn.parameters()))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=1e-5)
    torch.manual_seed(2)
    assert not torch.allclose(compiled(x)[0], found[0][0])


def without_inputs(rnn: BetaLSTM) -> BetaLSTM:
    """The layer with weights that half precision holds exactly, of which none reads an input."""
    with torch.no_grad():
        for name, parameter in rnn.named_parameters():
            parameter.copy_(torch.zeros_like(parameter) if "weight_ih" in name else parameter.bfloat16())
    return rnn


@every_cell
@pytest.mark.parametrize("training", [False, True])
def test_autocast_ends_where_the_recurrence_begins(cell: str, training: bool) -> None:
    rnn, x = without_inputs(layer(cell, 2)).train(training), torch.randn(3, 7, 4)
    torch.manual_seed(1)
    _, (_, expected) = rnn(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(1)
        encoding = rnn.encode(x)
        if CELLS[cell].has_gamma_gates:
            assert encoding.divergence().dtype == torch.float32
    torch.testing.assert_close(encoding.state[1], expected, rtol=1e-6, atol=1e-7)


@every_cell
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_weights_are_computed_with_in_single(cell: str, dtype: torch.dtype) -> None:
    rnn, x = without_inputs(layer(cell)).eval(), torch.randn(3, 7, 4)
    expected, found = rnn.encode(x), copy.deepcopy(rnn).to(dtype).encode(x.to(dtype))
    assert found.gates[0].dtype == torch.float32
    torch.testing.assert_close(found.gates[0], expected.gates[0], rtol=1e-6, atol=1e-6)
    assert torch.equal(found.outputs[0], expected.outputs[0].to(dtype))
    if CELLS[cell].has_gamma_gates:
        torch.testing.assert_close(found.divergence(), expected.divergence(), rtol=1e-5, atol=1e-6)


@every_cell
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_weights_train_with_drawn_gates(cell: str, dtype: torch.dtype) -> None:
    rnn, x = without_inputs(layer(cell)).train(), torch.randn(3, 7, 4)
    outputs = []
    for one, read in ((rnn, x), (copy.deepcopy(rnn).to(dtype), x.to(dtype))):
        torch.manual_seed(1)
        outputs.append(one(read)[0])
        outputs[-1].square().sum().backward()
        for name, parameter in one.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    assert torch.equal(outputs[1], outputs[0].to(dtype))


def test_steps_build_no_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a torch.distributions object checks its arguments at every step")

    monkeypatch.setattr(torch.distributions.Distribution, "__init__", refused)
    for cell in CELLS:
        rnn = layer(cell).train()
        rnn(torch.randn(2, 3, 4))[0].sum().backward()


@pytest.mark.parametrize("bidirectional", [False, True])
def test_training_tells_which_part_of_the_shapes_is_dead(bidirectional: bool) -> None:
    rnn = layer("bibeta5", 2, bidirectional=bidirectional)
    with torch.no_grad():
        for name, parameter in rnn.named_parameters():
            parameter.copy_(
                torch.linspace(-20, 5, parameter.numel()).view_as(parameter) if "bias" in name else 0 * parameter
            )
        rnn.weight_ih_l0.normal_(std=4)
    mask = torch.arange(7) < torch.tensor([[7], [2], [0]])
    encoding = rnn.encode(torch.randn(3, 7, 4), None, mask)
    statistics = [one.dead_fraction for one in encoding.statistics(samples=1)]
    assert len(set(statistics)) > 1
    found = encoding.dead_fraction()
    assert found is not None
    assert float(found) == pytest.approx(sum(statistics) / len(statistics), abs=1e-6)
    assert float(rnn.encode(torch.randn(3, 7, 4), None, torch.zeros(3, 7).bool()).dead_fraction()) == 0
    assert layer("lstm").encode(torch.randn(1, 2, 4)).dead_fraction() is None
    assert float(layer("bibeta5", gate_eps=0.01).encode(torch.randn(1, 2, 4)).dead_fraction()) == 0


@every_cell
def test_padded_rows_read_in_two_parts(cell: str) -> None:
    rnn = layer(cell, 2).double().eval()
    x = torch.randn(3, 7, 4).double()
    mask = torch.arange(7) < torch.tensor([[7], [2], [5]])
    whole, state = rnn(x, None, mask)
    first, between = rnn(x[:, :3], None, mask[:, :3])
    second, last = rnn(x[:, 3:], between, mask[:, 3:])  # of the second row nothing is left
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
    torch.testing.assert_close(last, state)


@every_cell
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_no_steps_return_the_state_of_every_cell(cell: str, bidirectional: bool, training: bool) -> None:
    rnn = layer(cell, 2, bidirectional=bidirectional, dropout=0.3, weight_dropout=0.2).train(training)
    state = torch.randn(2, 4 if bidirectional else 2, 3, 5).unbind(0)
    output, last = rnn(torch.zeros(3, 0, 4), state)
    assert output.shape == (3, 0, 10 if bidirectional else 5)
    assert all(torch.equal(*pair) for pair in zip(last, state, strict=True))
    assert not any(part.any() for part in rnn(torch.zeros(3, 0, 4))[1])


def test_every_step_and_row_draws_its_own_noise() -> None:
    rnn = BetaLSTM(4, 300, cell="kumaraswamy", batch_first=True).double().train()
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.zero_()
        blocks = rnn.bias_l0.view(6, 300)
        blocks[2], blocks[3], blocks[5] = -50.0, 5.0, 3.0
    states = rnn(torch.zeros(2, 2, 4).double())[0].flatten(0, 1)
    assert states.std() > 0.05
    assert (torch.corrcoef(states) - torch.eye(4)).abs().max() < 0.3
    torch.manual_seed(0)
    rnn = BetaLSTM(4, 300, cell="noisin", batch_first=True).double().train()
    kept = (rnn(torch.randn(2, 2, 4).double())[0].flatten(0, 1) != 0).double()
    assert float(kept.mean()) == pytest.approx(0.41, abs=0.06)
    assert (torch.corrcoef(kept) - torch.eye(4)).abs().max() < 0.25


def test_drawn_gates_in_evaluation_bring_no_dropout() -> None:
    rnn = layer("lstm", 2, dropout=0.5, weight_dropout=0.5, gate_sampling="sample").eval()
    x = torch.randn(3, 4, 4)
    with rnn.gate_sampling_mode("mean"):
        expected = rnn(x)[0]
    assert torch.equal(rnn(x)[0], expected)


def test_units_are_dead_from_shapes_of_two_thousandths_down() -> None:
    rnn = layer("bibeta5").double().eval()
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.zero_()
        blocks = rnn.bias_l0.view(7, 5)
        blocks[0], blocks[1] = (math.log(math.expm1(alpha - EPS)) for alpha in (1.9e-3, 2.1e-3))
    mask = torch.tensor([[1, 1, 1], [1, 0, 0]])
    statistics = rnn.encode(torch.zeros(2, 3, 4).double(), mask=mask).statistics(samples=1)
    assert statistics[0].dead_fraction == pytest.approx(0.2)  # one block of five


def test_the_loss_of_a_language_model_holds_the_divergence() -> None:
    def model(**fields: Any) -> Any:
        torch.manual_seed(0)
        return BetaLstmForCausalLM(BetaLstmConfig(vocab_size=30, word_dim=4, hidden_size=5, **fields)).double().eval()

    ids = torch.randint(1, 30, (3, 6), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
    plain = model()(input_ids=ids, attention_mask=mask, labels=ids).loss
    found = model(kl_lambda=0.3)(input_ids=ids, attention_mask=mask, labels=ids)
    torch.testing.assert_close(found.loss, plain + 0.3 * found.kl.sum() / 8)  # 5, 0 and 3 words are predicted
    assert not found.kl[~mask].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_losses_of_many_words_in_half_precision(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20, 500, 2000, generator=generator).to(dtype)
    labels = torch.randint(0, 2000, (20, 500), generator=generator)
    found, expected = (token_classification_loss(each, labels) for each in (logits, logits.float()))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_mean_of_many_drawn_passes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    config = BetaLstmConfig(input_size=6, num_labels=6, hidden_size=5)
    model: Any = BetaLstmForTokenClassification(config).eval().to(dtype)
    x = torch.zeros(1, 3, 6, dtype=dtype)
    found = model.sampled_probabilities(500, torch.Generator().manual_seed(0), inputs_embeds=x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, model(inputs_embeds=x).logits.float().sigmoid(), rtol=0, atol=0.03)
