from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import nn

from benchmarks.packing import compute_packed_states_of_mask
from ctxzoo.models.layers_recurrent import MaskedBiRNN, _make_contiguous
from tests.references.bidaf import gru, lstm

Cell = Literal["lstm", "gru"]
LENGTHS = [6, 1, 9, 4]


def case(cell: Cell, dtype: torch.dtype = torch.float64) -> tuple[MaskedBiRNN, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    module = MaskedBiRNN(5, 3, cell).to(dtype)
    mask = torch.arange(11) < torch.tensor(LENGTHS).unsqueeze(1)  # two steps more than the longest
    return module, torch.randn(4, 11, 5, dtype=dtype), mask


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
def test_equals_torch_on_each_sequence_alone(cell: Cell, dtype: torch.dtype, tolerance: float) -> None:
    module, x, mask = case(cell, dtype)
    plain = (nn.LSTM if cell == "lstm" else nn.GRU)(5, 3, batch_first=True, bidirectional=True).to(dtype)
    plain.load_state_dict(module.rnn.state_dict())
    out = module(x, mask)
    assert out.shape == (4, 11, 6)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(out[row, :length], plain(x[row : row + 1, :length])[0][0], rtol=0, atol=tolerance)
        assert (out[row, length:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_an_lstm_that_the_cpu_lacks_in_half_precision_is_computed_in_float32(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    module, x, mask = case("lstm", torch.float32)
    with torch.autocast("cpu", dtype):
        out = module(x.to(dtype), mask)
    torch.testing.assert_close(out, module(x.to(dtype).float(), mask), rtol=0, atol=0)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_equals_the_gates_written_out(cell: Cell) -> None:
    module, x, mask = case(cell)
    equations = lstm if cell == "lstm" else gru
    weights = {name: value.detach().numpy() for name, value in module.rnn.named_parameters()}
    kinds = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    for row, length in enumerate(LENGTHS):
        words = x[row, :length].numpy()
        forward = equations(words, *(weights[kind] for kind in kinds))
        backward = equations(words[::-1], *(weights[f"{kind}_reverse"] for kind in kinds))[::-1]
        expected = torch.cat([torch.from_numpy(forward), torch.from_numpy(backward.copy())], dim=1)
        torch.testing.assert_close(module(x, mask)[row, :length].detach(), expected, rtol=0, atol=1e-13)


def test_gru_is_that_of_papers_whose_update_gate_says_how_much_is_new() -> None:
    """Mehta et al. (2019), equations 3.1 to 3.4: h <- (1 - z) h + z h~; torch's z is their 1 - z."""
    module, x, mask = case("gru")

    def states(words: torch.Tensor, suffix: str) -> list[torch.Tensor]:
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        parts = [getattr(module.rnn, f"{kind}_l0{suffix}").detach().split(3) for kind in kinds]
        (w_r, w_z, w_h), (u_r, u_z, u_h), (b_r, b_z, b_h), (d_r, d_z, d_h) = parts
        h, found = torch.zeros(3, dtype=torch.float64), []
        for word in words:
            z = torch.sigmoid(-(w_z @ word + b_z) - (u_z @ h + d_z))
            r = torch.sigmoid(w_r @ word + b_r + u_r @ h + d_r)
            h = (1 - z) * h + z * torch.tanh(w_h @ word + b_h + r * (u_h @ h + d_h))
            found.append(h)
        return found

    for row, length in enumerate(LENGTHS):
        words = x[row, :length]
        both = torch.stack(states(words, "")), torch.stack(states(words.flip(0), "_reverse")[::-1])
        torch.testing.assert_close(module(x, mask)[row, :length], torch.cat(both, dim=1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 5e-6)])
def test_values_and_gradients_are_those_of_packed_sequences(cell: Cell, dtype: torch.dtype, tolerance: float) -> None:
    module, x, mask = case(cell, dtype)
    mask[3] = False  # a text of no words
    x.requires_grad_()
    weight = torch.randn(4, 11, 6, dtype=dtype)
    results = []
    for packed in (True, False):
        out = compute_packed_states_of_mask(module.rnn, x, mask) if packed else module(x, mask)
        gradients = torch.autograd.grad((out * weight).sum(), [x, *module.parameters()])
        results.append([out, *gradients])
    for packed_value, unpacked_value in zip(*results, strict=True):
        torch.testing.assert_close(packed_value, unpacked_value, rtol=0, atol=tolerance)
    assert (results[0][0][~mask] == 0).all()
    assert (results[1][1][~mask] == 0).all()


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_padding_has_no_influence(cell: Cell) -> None:
    module, x, mask = case(cell)
    before = module(x, mask)
    x[~mask] = 1e3
    assert torch.equal(module(x, mask), before)


def test_gradients() -> None:
    module, x, mask = case("lstm")
    torch.autograd.gradcheck(lambda value: module(value, mask[:2, :7]), x[:2, :7].requires_grad_())


def test_trained_and_evaluated_alike() -> None:
    """The path differs between the modes inside torch, the values do not."""
    module, x, mask = case("lstm", torch.float32)
    trained = module(x, mask)
    with torch.no_grad():
        torch.testing.assert_close(module.eval()(x, mask), trained, rtol=0, atol=1e-6)


def test_weights_in_one_piece_are_those_of_the_module_and_give_it_its_gradients() -> None:
    """What cuDNN is given on a GPU, here without one."""
    weights = [torch.randn(6, 4), torch.randn(6, 2), torch.randn(6)]
    for weight in weights:
        weight.requires_grad_()
    parts = _make_contiguous(weights)
    for place, (part, weight) in enumerate(zip(parts, weights, strict=True)):
        assert torch.equal(part, weight)
        before = sum(one.numel() for one in weights[:place])
        assert part.data_ptr() == parts[0].data_ptr() + 4 * before
    gradients = torch.autograd.grad(sum((i + 1) * part.sum() for i, part in enumerate(parts)), weights)
    assert [float(gradient.min()) for gradient in gradients] == [1, 2, 3]
    assert [float(gradient.max()) for gradient in gradients] == [1, 2, 3]
