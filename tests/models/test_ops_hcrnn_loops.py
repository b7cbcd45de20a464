"""The compiled attention over topics beside the plain one, which `test_modeling_hcrnn` holds to the equations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_hcrnn
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.ops_hcrnn import topic_scores

loops = pytest.importorskip("ctxzoo.models.ops_hcrnn_loops")

SHAPES = [(1, 1, 1), (3, 5, 37), (2, 4, 7, 50)]  # rows..., K, H


def given(shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(len(shape))
    *rows, topics, size = shape
    shapes = ((*rows, topics), (topics, size), (*rows, size), (size,))
    drawn = [2 * torch.randn(each, generator=generator, dtype=torch.float64) for each in shapes]
    return [x.to(dtype).requires_grad_() for x in drawn]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Compiled loops at any size; the list has the rows of each call."""
    rows: list[int] = []

    def noticing(theta: torch.Tensor, *others: torch.Tensor) -> Any:
        rows.append(len(theta))
        return scores(theta, *others)

    scores = loops.compute_topic_scores_compiled
    monkeypatch.setattr(loops, "compute_topic_scores_compiled", noticing)
    monkeypatch.setattr(ops_hcrnn, "COMPILED_FROM", 0)
    return rows


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_and_gradients_are_those_of_the_plain_ones_in_float64(shape: tuple[int, ...], taken: list[int]) -> None:
    found, exact = given(shape, torch.float32), given(shape, torch.float64)
    ours, theirs = topic_scores(*found), topic_scores(*exact)
    assert len(taken) == 1  # float64 has no compiled loops
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)
    upstream = torch.randn(theirs.shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    gradients = torch.autograd.grad(ours, found, upstream.float())
    expected = torch.autograd.grad(theirs, exact, upstream)
    for one, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))


def test_tensors_that_are_not_contiguous(taken: list[int]) -> None:
    found = given((6, 5, 12), torch.float32)
    strided = [x.detach().mT.contiguous().mT if x.dim() > 1 else x.detach().repeat_interleave(2)[::2] for x in found]
    strided = [x.requires_grad_() for x in strided]
    assert not any(x.is_contiguous() for x in strided)
    one, other = topic_scores(*found), topic_scores(*strided)
    assert torch.equal(one, other)
    upstream = one.detach().mT.contiguous().mT
    for ours, theirs in zip(
        torch.autograd.grad(other, strided, upstream), torch.autograd.grad(one, found, upstream), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_numbers_that_are_none_or_large(taken: list[int]) -> None:
    theta, projected, hidden, vector = given((4, 3, 20), torch.float32)
    with torch.no_grad():
        hidden[1, 2], hidden[2], hidden[3] = float("nan"), 1e4, -1e4
    scores = topic_scores(theta, projected, hidden, vector)
    assert taken
    assert scores.isnan().any(dim=1).tolist() == [False, True, False, False]
    torch.testing.assert_close(scores[2], vector.sum().expand(3), rtol=1e-5, atol=1e-5)
    assert float(scores[3].abs().max()) < 1e-30


def test_a_training_of_the_model_takes_them_and_a_prediction_does_not(taken: list[int]) -> None:
    torch.manual_seed(0)
    model: Any = HcrnnForNextItem(HcrnnConfig(num_items=12, embedding_size=5, hidden_size=4, num_topics=3)).eval()
    ids = torch.tensor([[3, 7, 7, 1], [5, 2, 0, 0]])
    labels = torch.tensor([[7, 7, 1, 2], [2, 9, -100, -100]])
    with torch.no_grad():
        model(ids)
    assert not taken
    gradients = []
    for limit in (0, 10**9):
        ops_hcrnn.COMPILED_FROM = limit
        model.zero_grad()
        model(ids, labels=labels, every_position=True).loss.backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        assert taken == [8, 6, 4, 2]  # two sessions, of which prefixes end
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_without_numba_the_attention_is_plain(taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctxzoo.models.ops_hcrnn_loops", None)  # importing it is an ImportError
    tensors = given((3, 5, 37), torch.float32)
    found = topic_scores(*tensors)
    assert not taken
    monkeypatch.setattr(ops_hcrnn, "COMPILED_FROM", 10**9)
    assert torch.equal(topic_scores(*tensors), found)


def test_a_checkpoints_code_does_not_ask_for_numba() -> None:
    folder = Path(ops_hcrnn.__file__).parent
    for name in ("ops_hcrnn_loops.py", "ops_compiled_math.py"):
        assert not {"numba", "llvmlite"} & set(get_imports(folder / name))
