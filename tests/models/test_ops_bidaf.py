from __future__ import annotations

from typing import Literal

import pytest
import torch

from ctxzoo.models import ops_bidaf
from ctxzoo.models.ops_bidaf import attention_flow, trilinear_similarity, unique_rows
from tests.references.bidaf import reference_attention_flow, reference_unique_rows

Mode = Literal["coattention", "max"]
MODES: tuple[Mode, ...] = ("coattention", "max")
BATCH, CONTEXT, QUESTION, WIDTH = 3, 7, 4, 5


def similarity_of(
    context: torch.Tensor, question: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """`weight` is that of the concatenation, (3d,)."""
    for_context, for_question, for_product = weight.chunk(3)
    return trilinear_similarity(context, question, for_context, for_question, for_product, bias)


class Case:
    """Random c, q, w and b in float64, rows of different lengths in both sequences."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(1)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.context, self.question = draw(BATCH, CONTEXT, WIDTH), draw(BATCH, QUESTION, WIDTH)
        self.weight, self.bias = draw(3 * WIDTH), draw(1)
        self.context_mask = torch.arange(CONTEXT) < torch.tensor([[7], [4], [1]])
        self.question_mask = torch.arange(QUESTION) < torch.tensor([[2], [4], [1]])

    def similarity(self) -> torch.Tensor:
        return similarity_of(self.context, self.question, self.weight, self.bias)

    def flow(self, mode: Mode = "coattention") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return attention_flow(
            self.context, self.question, self.similarity(), self.context_mask, self.question_mask, mode
        )


def test_similarity_is_one_weight_on_the_concatenation() -> None:
    case = Case()
    similarity = case.similarity()
    assert similarity.shape == (BATCH, CONTEXT, QUESTION)
    for row in range(BATCH):
        for i in range(CONTEXT):
            for j in range(QUESTION):
                c, q = case.context[row, i], case.question[row, j]
                expected = torch.cat([c, q, c * q]) @ case.weight + case.bias[0]
                torch.testing.assert_close(similarity[row, i, j], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_flow_equals_loops(mode: Mode) -> None:
    case = Case()
    flow = case.flow(mode)[0]
    for row in range(BATCH):
        c = case.context[row, case.context_mask[row]]
        q = case.question[row, case.question_mask[row]]
        s = case.similarity()[row, : len(c), : len(q)]
        s1, s2 = s.exp() / s.exp().sum(1, keepdim=True), s.exp() / s.exp().sum(0, keepdim=True)
        strongest = s.max(1).values.exp()
        for i in range(len(c)):
            zero = torch.zeros(WIDTH, dtype=torch.float64)
            a = sum((s1[i, j] * q[j] for j in range(len(q))), zero)
            if mode == "coattention":
                b = sum((s1[i, j] * s2[k, j] * c[k] for j in range(len(q)) for k in range(len(c))), zero)
            else:
                b = sum((strongest[k] / strongest.sum() * c[k] for k in range(len(c))), zero)
            expected = torch.cat([c[i], a, c[i] * a, c[i] * b])
            torch.testing.assert_close(flow[row, i], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_flow_equals_the_reference(mode: Mode) -> None:
    case = Case()
    expected = reference_attention_flow(
        case.context, case.question, case.weight, case.bias[0], case.context_mask, case.question_mask, mode
    )
    flow = case.flow(mode)[0]
    torch.testing.assert_close(flow[case.context_mask], expected[case.context_mask], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 2e-6)])
def test_both_orders_of_the_product_agree(dtype: torch.dtype, tolerance: float) -> None:
    """S1 (S2^T c), as computed, and (S1 S2^T) c, as the course starter has it."""
    case = Case()
    case.context, case.question = case.context.to(dtype), case.question.to(dtype)
    case.weight, case.bias = case.weight.to(dtype), case.bias.to(dtype)
    flow, to_question, to_context = case.flow()
    starter = torch.bmm(torch.bmm(to_question, to_context.transpose(1, 2)), case.context)
    torch.testing.assert_close(flow[..., 3 * WIDTH :], case.context * starter, rtol=0, atol=tolerance)


def test_attention_maps_are_distributions_over_real_words() -> None:
    case = Case()
    _, to_question, to_context = case.flow()
    _, _, strongest = case.flow("max")
    ones = torch.ones(BATCH, CONTEXT, dtype=torch.float64)
    torch.testing.assert_close(to_question.sum(2), ones)
    torch.testing.assert_close(to_context.sum(1), ones[:, :QUESTION])
    torch.testing.assert_close(strongest.sum(1), ones[:, 0])
    assert (to_question.transpose(1, 2)[~case.question_mask] == 0).all()
    assert (to_context[~case.context_mask] == 0).all()
    assert (strongest[~case.context_mask] == 0).all()


@pytest.mark.parametrize("mode", MODES)
def test_padding_does_not_reach_real_words(mode: Mode) -> None:
    case = Case()
    before = case.flow(mode)[0]
    case.context[~case.context_mask] = 50.0
    case.question[~case.question_mask] = -50.0
    after = case.flow(mode)[0]
    assert torch.equal(before[case.context_mask], after[case.context_mask])


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode: Mode) -> None:
    case = Case()

    def flow(context: torch.Tensor, question: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        similarity = similarity_of(context, question, weight, bias)
        return attention_flow(context, question, similarity, case.context_mask, case.question_mask, mode)[0]

    inputs = [value.requires_grad_() for value in (case.context, case.question, case.weight, case.bias)]
    torch.autograd.gradcheck(flow, inputs)


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_rebuilt_from_as_many_distinct_ones_as_a_dictionary_finds(seed):
    rows = torch.randint(0, 3, (500, 4), generator=torch.Generator().manual_seed(seed))
    distinct, inverse = unique_rows(rows)
    expected, _ = reference_unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)
    assert sorted(distinct.tolist()) == sorted(expected.tolist())


def test_the_reference_rebuilds_the_rows_in_order_of_first_occurrence():
    rows = torch.tensor([[2, 1], [0, 0], [2, 1], [1, 2]])
    distinct, inverse = reference_unique_rows(rows)
    assert distinct.tolist() == [[2, 1], [0, 0], [1, 2]]
    assert inverse.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    "rows",
    [
        torch.zeros(5, 3, dtype=torch.long),
        torch.arange(6).view(6, 1),
        torch.tensor([[1, 2, 3]]),
        torch.tensor([[0, 1], [1, 0], [0, 1]]),
        torch.tensor([[2**62, -(2**63)], [-1, 7], [2**62, -(2**63)]]),
        torch.zeros(0, 4, dtype=torch.long),
    ],
)
def test_edges(rows):
    distinct, inverse = unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)
    assert len({tuple(row) for row in distinct.tolist()}) == len(distinct)


def test_two_rows_with_the_same_hash_stay_apart(monkeypatch):
    # With all multipliers 0 every row has the same hash.
    monkeypatch.setattr(ops_bidaf.torch, "randint", lambda *args, **kwargs: torch.zeros(2, dtype=torch.long))
    rows = torch.tensor([[1, 2], [3, 4], [1, 2]])
    distinct, inverse = unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    unique_rows(torch.randint(0, 2, (4, 2), generator=torch.Generator()))
    assert torch.equal(torch.rand(4), expected)
