from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torchmetrics.retrieval import RetrievalMRR, RetrievalNormalizedDCG, RetrievalRecall

from ctxzoo.metrics import MeanReciprocalRankAtK, NdcgAtK, RecallAtK, target_ranks


def drawn(rows: int = 40, items: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(rows, items, generator=generator), torch.randint(items, (rows,), generator=generator)


def test_rank_counts_the_scores_above() -> None:
    scores = torch.tensor([[0.1, 0.9, 0.5]])
    assert [target_ranks(scores, torch.tensor([item])).item() for item in range(3)] == [3, 1, 2]


@pytest.mark.parametrize(("ties", "rank"), [("optimistic", 1), ("pessimistic", 4)])
def test_equal_scores(ties: str, rank: int) -> None:
    assert target_ranks(torch.zeros(2, 4), torch.tensor([0, 3]), ties).tolist() == [rank, rank]  # type: ignore[arg-type]


def test_ties_are_pessimistic_unless_requested_otherwise() -> None:
    scores, target = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([0])
    hit, lucky = RecallAtK(1), RecallAtK(1, ties="optimistic")
    assert (hit(scores, target).item(), lucky(scores, target).item()) == (0, 1)


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_what_is_no_number_is_last(ties: str) -> None:
    nan = float("nan")
    scores = torch.tensor([[nan, 0.2, 0.1], [nan, nan, nan], [nan, -float("inf"), 0.0]])
    found = target_ranks(scores, torch.tensor([1, 2, 1]), ties)  # type: ignore[arg-type]
    assert found.tolist() == [1, 3, 2]
    assert target_ranks(scores, torch.tensor([0, 0, 0]), ties).tolist() == [3, 3, 3]  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [1, 5, 100])
def test_equals_torchmetrics_where_nothing_ties(top_k: int) -> None:
    scores, targets = drawn()
    relevant = torch.zeros_like(scores, dtype=torch.long).scatter_(1, targets.unsqueeze(1), 1)
    queries = torch.arange(len(scores)).unsqueeze(1).expand_as(scores)
    ours = (RecallAtK(top_k), MeanReciprocalRankAtK(top_k), NdcgAtK(top_k))
    for part in (slice(0, 7), slice(7, None)):
        for metric in ours:
            metric.update(scores[part], targets[part])
    theirs = (RetrievalRecall(top_k=top_k), RetrievalMRR(top_k=top_k), RetrievalNormalizedDCG(top_k=top_k))
    expected = [metric(scores, relevant, indexes=queries).item() for metric in theirs]
    assert [metric.compute().item() for metric in ours] == pytest.approx(expected, abs=1e-6)


def test_a_rank_beyond_k_is_worth_nothing() -> None:
    scores = torch.arange(4.0).expand(4, 4)
    targets = torch.tensor([3, 2, 1, 0])  # ranks 1 to 4
    assert RecallAtK(2)(scores, targets).item() == 0.5
    assert MeanReciprocalRankAtK(2)(scores, targets).item() == (1 + 1 / 2) / 4


def test_starts_anew_and_travels() -> None:
    metric = MeanReciprocalRankAtK(3)
    metric.update(*drawn())
    twins = [copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))]
    assert all(twin.compute() == metric.compute() and twin.top_k == 3 for twin in twins)
    metric.reset()
    metric.update(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
    assert metric.compute().item() == 1


@pytest.mark.parametrize(
    ("scores", "targets", "message"),
    [
        (torch.zeros(2, 3), torch.tensor([0, 3]), r"target 3 is none of the items 0\.\.2"),
        (torch.zeros(2, 3), torch.tensor([-1, 0]), "target -1 is none"),
        (torch.zeros(2, 3), torch.tensor([0]), r"targets of shape \(1,\).*expected \(2,\) integers"),
        (torch.zeros(2, 3), torch.zeros(2), "type torch.float32: expected"),
        (torch.zeros(3), torch.tensor([0]), r"scores of shape \(3,\)"),
        (torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 1]), "expected .n, items. floats"),
    ],
)
def test_predictions_that_cannot_be(scores: torch.Tensor, targets: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecallAtK(1).update(scores, targets)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="top_k is 0"):
        RecallAtK(0)
    with pytest.raises(ValueError, match="ties='random': expected one of pessimistic, optimistic"):
        MeanReciprocalRankAtK(1, ties="random")  # type: ignore[arg-type]
