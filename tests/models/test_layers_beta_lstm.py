"""`BetaLSTM` beside `nn.LSTM`, its streams, padding, draws and the errors of bad input."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence

from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.ops_beta_lstm_gates import CELLS

every_cell = pytest.mark.parametrize("cell", CELLS)
DRAWING = [name for name in CELLS if name not in ("lstm", "coupled")]


def layer(cell: str = "bibeta5", seed: int = 0, **options: Any) -> BetaLSTM:
    torch.manual_seed(seed)
    return BetaLSTM(4, 5, 2, cell=cell, batch_first=True, **options).double()


def example(batch: int = 3, length: int = 7, width: int = 4, seed: int = 1) -> torch.Tensor:
    return torch.randn(batch, length, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def as_torchs(ours: BetaLSTM) -> nn.LSTM:
    """`nn.LSTM` with the weights of a layer of the cell lstm: its blocks are i, f, g, o, ours f, i, o, g."""
    theirs = nn.LSTM(ours.input_size, ours.hidden_size, ours.num_layers, bidirectional=ours.bidirectional).double()
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            if name.startswith("bias_hh"):
                weight.zero_()
                continue
            f, i, o, g = ours.get_parameter(name.replace("bias_ih", "bias")).chunk(4)
            weight.copy_(torch.cat([i, f, g, o]))
    return theirs


def test_property_9_the_cell_lstm_is_torchs() -> None:
    ours = BetaLSTM(4, 5, 2, cell="lstm").double()
    theirs, x = as_torchs(ours), example().transpose(0, 1)
    state = torch.randn(2, 2, 3, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64).unbind(0)
    torch.testing.assert_close(ours(x, state), theirs(x, state))
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours(x[:, 0]), theirs(x[:, 0]))  # one sequence, without a batch


def test_property_9_both_directions_of_one_layer_are_torchs() -> None:
    ours = BetaLSTM(4, 5, cell="lstm", bidirectional=True).double()
    theirs = as_torchs(ours)
    sequences = [example(1, n)[0] for n in (3, 6, 1)]
    packed = pack_sequence(sequences, enforce_sorted=False)
    state = torch.randn(2, 2, 3, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64).unbind(0)
    (found, found_state), (expected, expected_state) = ours(packed, state), theirs(packed, state)
    assert isinstance(found, PackedSequence)
    torch.testing.assert_close(found.data, expected.data)
    torch.testing.assert_close(pad_packed_sequence(found), pad_packed_sequence(expected))
    torch.testing.assert_close(found_state, expected_state)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("layers", "bidirectional"), [(2, False), (1, True)])
def test_weights_come_from_torchs_layer_and_go_back(bias: bool, layers: int, bidirectional: bool) -> None:
    shape = {"bias": bias, "batch_first": True, "bidirectional": bidirectional, "dtype": torch.float64}
    theirs, x = nn.LSTM(4, 5, layers, **shape), example()
    ours = BetaLSTM.from_lstm(theirs)
    torch.testing.assert_close(ours(x), theirs(x))
    back = ours.to_lstm()
    torch.testing.assert_close(back(x), theirs(x))
    assert torch.equal(BetaLSTM.from_lstm(back)(x)[0], ours(x)[0])
    drawn = BetaLSTM.from_lstm(theirs, "noisin")
    torch.testing.assert_close(drawn.eval()(x), theirs(x))
    assert not torch.allclose(drawn.train()(x)[0], theirs(x)[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BetaLSTM(4, 5, proj_size=3), "proj_size=3: the states of a BetaLSTM are not projected; set 0"),
        (lambda: BetaLSTM.from_lstm(nn.LSTM(4, 5, proj_size=3)), "proj_size=3: the states of a BetaLSTM are not"),
        (lambda: BetaLSTM.from_lstm(nn.LSTM(4, 5, 2, dropout=0.5)), r"dropout=0\.5, which a BetaLSTM drops otherwise"),
        (lambda: BetaLSTM.from_lstm(nn.LSTM(4, 5, 2, bidirectional=True)), "2 layers of two directions: those of nn.L"),
        (
            lambda: BetaLSTM.from_lstm(nn.LSTM(4, 5), "bibeta5"),
            r"cell 'bibeta5' has other gates than nn\.LSTM; expected",
        ),
        (lambda: BetaLSTM(4, 5, cell="beta").to_lstm(), "cell 'beta', .*: expected lstm or noisin, and rates of 0"),
        (lambda: BetaLSTM(4, 5, cell="lstm", dropout=0.5).to_lstm(), r"dropout=0\.5, .*: expected lstm or noisin"),
        (
            lambda: BetaLSTM(4, 5, 2, cell="noisin", bidirectional=True).to_lstm(),
            "2 layers of two directions: those of nn",
        ),
    ],
)
def test_layers_that_are_none_of_the_other_kind_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("cell", ["lstm", "bibeta5"])
def test_a_layer_without_bias_is_one_whose_bias_is_0(cell: str) -> None:
    without, x = BetaLSTM(4, 5, 2, cell=cell, bias=False, dtype=torch.float64).eval(), example(7, 3)
    assert [name for name, _ in without.named_parameters() if "bias" in name] == []
    zero = BetaLSTM(4, 5, 2, cell=cell, device="cpu").double().eval()
    zero.load_state_dict({name: torch.zeros_like(y) for name, y in zero.state_dict().items()} | without.state_dict())
    assert torch.equal(without(x)[0], zero(x)[0])


def test_weights_may_be_normed_pruned_or_an_argument() -> None:
    layer, x = BetaLSTM(4, 5, cell="bibeta5", dtype=torch.float64).eval(), example(7, 3)
    expected = layer(x)[0]
    doubled = {name: 2 * weight for name, weight in layer.named_parameters()}
    found = torch.func.functional_call(layer, doubled, (x,))[0]
    again = BetaLSTM(4, 5, cell="bibeta5", dtype=torch.float64).eval()
    again.load_state_dict(doubled)
    assert torch.equal(found, again(x)[0])
    assert not torch.equal(found, expected)
    normed = parametrizations.weight_norm(again, "weight_hh_l0")
    torch.testing.assert_close(normed(x)[0], found)
    normed(x)[0].sum().backward()
    assert normed.parametrizations.weight_hh_l0.original0.grad is not None
    prune.l1_unstructured(layer, "weight_ih_l0", amount=0.5)
    assert (layer.weight_ih_l0 == 0).double().mean() == 0.5
    assert not torch.equal(layer(x)[0], expected)
    prune.remove(layer, "weight_ih_l0")
    assert layer(x)[0].isfinite().all()


@pytest.mark.parametrize(
    ("cell", "size", "parameters"),
    [
        ("lstm", 200, 569_688),
        ("g2", 200, 569_688),
        ("coupled", 232, 567_560),
        ("beta", 161, 567_774),
        ("bibeta3", 177, 565_249),
        ("bibeta5", 148, 566_336),
    ],
)
def test_the_authors_sizes_have_as_many_parameters(cell: str, size: int, parameters: int) -> None:
    with torch.device("meta"):
        model = nn.ModuleList([BetaLSTM(88, size, 2, cell=cell), nn.Linear(size, 88)])
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_every_parameter_starts_within_the_same_bound() -> None:
    ours = BetaLSTM(300, 100, 2)
    for name, parameter in ours.named_parameters():
        assert parameter.abs().max() <= 0.1, name
        assert parameter.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.1), name


@every_cell
@pytest.mark.parametrize("bidirectional", [False, True])
def test_property_10_padding_changes_nothing(cell: str, bidirectional: bool) -> None:
    ours = layer(cell, bidirectional=bidirectional).eval()
    lengths = torch.tensor([7, 2, 0])
    x = example(length=9)
    mask = torch.arange(9) < lengths.unsqueeze(1)
    spoilt = x.masked_fill(~mask.unsqueeze(-1), float("nan"))
    encoding = ours.encode(spoilt, mask=mask)
    for row, length in enumerate(lengths.tolist()):
        alone = ours.encode(x[row : row + 1, :length])
        torch.testing.assert_close(encoding.outputs[-1][row, :length], alone.outputs[-1][0])
        assert not encoding.outputs[-1][row, length:].any()
        for found, expected in zip(encoding.state, alone.state, strict=True):
            torch.testing.assert_close(found[:, row], expected[:, 0])
        if CELLS[cell].has_gamma_gates:
            torch.testing.assert_close(encoding.divergence()[row, :length], alone.divergence()[0])
            assert not encoding.divergence()[row, length:].any()


@every_cell
def test_property_10_two_halves_are_the_whole(cell: str) -> None:
    ours = layer(cell).eval()
    x = example()
    whole, state = ours(x)
    first, between = ours(x[:, :3])
    second, after = ours(x[:, 3:], between)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
    torch.testing.assert_close(after, state)


@pytest.mark.parametrize("cell", DRAWING)
def test_property_8_draws_differ_and_repeat_with_their_seed(cell: str) -> None:
    ours, x = layer(cell).train(), example()
    torch.manual_seed(1)
    first = ours(x)[0]
    second = ours(x)[0]
    torch.manual_seed(1)
    again = ours(x)[0]
    assert not torch.allclose(first, second)
    assert torch.equal(first, again)
    ours.eval()
    assert torch.equal(ours(x)[0], ours(x)[0])
    with ours.gate_sampling_mode("sample", torch.Generator().manual_seed(4)):
        drawn = ours(x)[0]
    with ours.gate_sampling_mode("sample", torch.Generator().manual_seed(4)):
        assert torch.equal(ours(x)[0], drawn)
    assert not torch.allclose(drawn, ours(x)[0])
    ours.train()
    with ours.gate_sampling_mode("mean"):
        torch.testing.assert_close(ours(x)[0], copy.deepcopy(ours).eval()(x)[0])


def test_a_generator_leaves_torchs_own_alone() -> None:
    ours, before = layer().eval(), torch.get_rng_state()
    with ours.gate_sampling_mode("sample", torch.Generator().manual_seed(4)):
        ours(example())
    ours.encode(example()).statistics(samples=3)
    assert torch.equal(torch.get_rng_state(), before)


def test_g2_has_noise_of_each_step_in_training_alone() -> None:
    ours = BetaLSTM(4, 200, cell="g2", batch_first=True).double()
    x = torch.zeros(1, 2, 4, dtype=torch.float64)
    torch.manual_seed(0)
    gates = ours.train().encode(x).gates[0] - ours.eval().encode(x).gates[0]
    # At the second step the state of the first enters too, which the noise moved a little.
    assert (gates[0].abs() > 1e-9).double().mean().item() == pytest.approx(0.2, abs=0.06)
    assert (gates[1] - gates[0]).abs().max() > 0.5


def test_locked_dropout_has_one_mask_for_all_steps() -> None:
    ours = layer("lstm", dropout=0.5).train()
    x = example(batch=40)
    torch.manual_seed(0)
    encoding = ours.encode(x)
    for output in encoding.outputs:
        assert ((output == 0) == (output[:, :1] == 0)).all()
        assert 0.3 < (output[:, 0] == 0).double().mean() < 0.7
    kept = encoding.outputs[0] != 0
    ours.eval()
    torch.testing.assert_close(encoding.outputs[0][kept], 2 * ours.encode(x).outputs[0][kept])


def test_weight_dropout_acts_on_the_recurrence_in_training() -> None:
    ours = layer("lstm", weight_dropout=0.5)
    x = example()
    torch.manual_seed(0)
    trained = ours.train()(x)[0]
    torch.testing.assert_close(ours.encode(x[:, :1]).outputs[0], ours.eval().encode(x[:, :1]).outputs[0])
    assert not torch.allclose(trained, ours(x)[0])


@every_cell
@pytest.mark.parametrize("training", [False, True])
def test_halves_are_computed_in_float32(cell: str, training: bool) -> None:
    ours = layer(cell).float().train(training)
    x = example().float()
    halves = copy.deepcopy(ours).bfloat16()
    for how in (lambda: halves(x.bfloat16()), lambda: ours(x)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.manual_seed(0)
            output, (hidden, memory) = how()
        torch.manual_seed(0)
        expected, state = ours(x)
        assert output.dtype == hidden.dtype == memory.dtype
        if not training:  # a draw of a slightly other shape may be a quite different one
            torch.testing.assert_close(output.float(), expected, rtol=0, atol=0.02)
            torch.testing.assert_close(memory.float(), state[1], rtol=0, atol=0.02)
        assert output.isfinite().all()


def test_no_steps_return_the_initial_state() -> None:
    ours = layer(bidirectional=True)
    state = torch.randn(2, 4, 3, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64).unbind(0)
    output, after = ours(example(length=0), state)
    assert output.shape == (3, 0, 10)
    torch.testing.assert_close(after, state)


def test_statistics_are_those_of_the_gates() -> None:
    ours = layer(bidirectional=True).eval()
    x = example(length=6)
    mask = torch.arange(6) < torch.tensor([6, 3, 0]).unsqueeze(1)
    encoding = ours.encode(x, mask=mask)
    statistics = encoding.statistics(samples=400)
    assert [(each.layer, each.reverse) for each in statistics] == [(0, False), (0, True), (1, False), (1, True)]
    for each in statistics:
        assert each.shapes is not None
        assert each.correlation is not None
        u1, u2, u3, u4, u5 = each.shapes[mask].unbind(1)
        torch.testing.assert_close(each.input_gate[mask], (u1 + u3) / (u1 + u3 + u4 + u5))
        torch.testing.assert_close(each.forget_gate[mask], (u2 + u4) / (u2 + u4 + u3 + u5))
        assert not each.input_gate[~mask].any()
        assert -0.4 < each.correlation[mask].mean() < -0.1  # near the start: slightly negative
        assert each.dead_fraction == 0.0
    divergence = torch.stack([each.divergence for each in statistics if each.divergence is not None]).sum(dim=0)
    torch.testing.assert_close(encoding.divergence(), divergence)


def test_statistics_of_a_second_direction_stand_at_their_step() -> None:
    ours = layer(bidirectional=True).eval()
    x = example(batch=1, length=4)
    # What the second direction reads first, the last step, depends on that step alone.
    other = x.clone()
    other[:, :3] += 1
    first, second = (ours.encode(each).statistics(samples=1)[1].input_gate[0] for each in (x, other))
    torch.testing.assert_close(first[3], second[3])
    assert not torch.allclose(first[0], second[0])


def test_dead_shapes_are_counted() -> None:
    ours = layer().eval()
    with torch.no_grad():
        ours.get_parameter("bias_l0").view(7, 5)[:2] = -30
    statistics = ours.encode(example()).statistics(samples=1)
    assert statistics[0].dead_fraction == pytest.approx(2 / 5)
    assert statistics[1].dead_fraction == 0.0


def test_cells_without_draws_have_gates_but_no_shapes() -> None:
    (first, _) = layer("coupled").eval().encode(example()).statistics()
    torch.testing.assert_close(first.input_gate + first.forget_gate, torch.ones(3, 7, 5, dtype=torch.float64))
    assert first.shapes is first.correlation is first.divergence is first.dead_fraction is None
    kumaraswamy = layer("kumaraswamy").eval().encode(example()).statistics()[0]
    assert kumaraswamy.correlation is not None
    assert not kumaraswamy.correlation.any()
    assert kumaraswamy.divergence is None


def test_the_prior_may_have_a_shape_for_each_gamma() -> None:
    x, shapes = example(), [0.5, 0.5, 0.1, 0.1, 4.0]
    torch.testing.assert_close(
        layer(gamma_prior=[0.5] * 5).encode(x).divergence(), layer(gamma_prior=0.5).encode(x).divergence()
    )
    found = layer(gamma_prior=shapes, dropout=0.0).eval().encode(x)
    alpha = torch.nn.functional.softplus(found.gates[1]) + 1e-3
    expected = torch.distributions.kl_divergence(
        torch.distributions.Gamma(alpha, 1.0),
        torch.distributions.Gamma(torch.tensor(shapes, dtype=torch.float64).view(5, 1), 1.0),
    )
    one = found.statistics(samples=1)[1].divergence
    assert one is not None
    torch.testing.assert_close(one, expected.sum(dim=(2, 3)).T)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "gru"}, "cell must be one of lstm, .*, got 'gru'"),
        ({"hidden_size": 0}, "hidden_size must be at least 1, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"gate_eps": 0.0}, "gate_eps must be above 0 and below 1, got 0.0"),
        ({"gamma_prior": 0.0}, "gamma_prior must be above 0 and finite, got 0.0"),
        ({"gamma_prior": float("inf")}, "gamma_prior must be above 0 and finite, got inf"),
        ({"gamma_prior": [0.5, 0.5]}, "gamma_prior has 2 shapes; expected 5"),
        ({"gate_sampling": "never"}, "gate_sampling must be one of auto, mean, sample, got 'never'"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BetaLSTM(**{"input_size": 4, "hidden_size": 5, **options})


def test_bad_input_is_named() -> None:
    ours, x = layer(), example()
    for arguments, message in (
        ((x[..., :3],), r"input of shape \(3, 7, 3\) .* expected sequences of 4 numbers"),
        ((x.long(),), "type torch.int64"),
        ((x.masked_fill(x > 2, float("nan")),), "not finite"),
        ((x, (torch.zeros(2, 3, 4).double(), torch.zeros(2, 3, 5).double())), r"h_0 has shape \(2, 3, 4\); expected "),
        ((x, None, torch.ones(3, 6)), r"mask has shape \(3, 6\); expected \(3, 7\)"),
        ((x, None, torch.tensor([1, 1, 0, 1, 1, 1, 1]).expand(3, 7)), "at row 0, position 3, after padding"),
        ((pack_sequence(list(x)), None, torch.ones(3, 7)), "mask was given with a PackedSequence"),
    ):
        with pytest.raises(ValueError, match=message):
            ours(*arguments)
    with pytest.raises(ValueError, match="cell 'lstm' has no Gamma variables"):
        layer("lstm").encode(x).divergence()


def test_a_second_derivative_is_refused_below_a_plain_sum_too() -> None:
    """What comes from above needs no gradient there, and the second derivative would be 0 in silence."""
    layer, x = BetaLSTM(4, 5, cell="lstm", dtype=torch.float64), example().requires_grad_()
    with pytest.raises(RuntimeError, match=r"BetaLSTM has no second derivatives: .* create_graph=True"):
        torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)


def test_a_layer_is_not_traced_for_torchscript() -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.trace of BetaLSTM would keep the sizes of the example"):
        torch.jit.trace(BetaLSTM(4, 5, dtype=torch.float64).eval(), example())
