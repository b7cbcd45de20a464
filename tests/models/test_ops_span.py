from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_span import best_spans, reference_best_span, span_scores


def brute_force(start: list[float], end: list[float], max_length: int) -> tuple[int, int, float]:
    """Every pair of probabilities; of equal products the smallest i, then the smallest j."""
    spans = [
        (start[i] * end[j], -i, -j)
        for i in range(1, len(start))
        for j in range(i, len(start))
        if j - i + 1 <= max_length
    ]
    product, i, j = max(spans)
    return -i, -j, product


def padded(rows: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row)) for row in rows], batch_first=True).bool()
    # Padding that would win if it were looked at.
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=99.0), mask


@pytest.mark.parametrize("max_length", [1, 2, 5, 15, 100])
def test_equals_brute_force_on_random_probabilities(max_length: int) -> None:
    generator = torch.Generator().manual_seed(max_length)
    lengths = torch.randint(2, 24, (60,), generator=generator).tolist()
    starts, ends = (
        [torch.rand(length, generator=generator, dtype=torch.float64) for length in lengths] for _ in range(2)
    )
    start, mask = padded([row.log() for row in starts])
    end, _ = padded([row.log() for row in ends])
    found = best_spans(start, end, mask, max_length)
    for row, (i, j, score) in enumerate(zip(*(value.tolist() for value in found), strict=True)):
        expected = brute_force(starts[row].tolist(), ends[row].tolist(), max_length)
        assert (i, j) == expected[:2]
        assert torch.tensor(score).exp().item() == pytest.approx(expected[2])


@pytest.mark.parametrize("max_length", [1, 3, 15])
def test_equals_brute_force_with_ties(max_length: int) -> None:
    """Probabilities 1, 1/2, 1/4: their logarithms to base 2 are whole, so that equal products are equal sums."""
    generator = torch.Generator().manual_seed(5)
    ties = 0
    for _ in range(100):
        start, end = (-torch.randint(0, 3, (2, 9), generator=generator).double()).unbind(0)
        found = best_spans(start[None], end[None], torch.ones(1, 9, dtype=torch.bool), max_length)
        i, j, score = (value.item() for value in found)
        expected = brute_force((2**start).tolist(), (2**end).tolist(), max_length)
        assert (i, j, 2**score) == expected
        assert (i, j, score) == reference_best_span(start, end, max_length)
        band = span_scores(start[None], end[None], torch.ones(1, 9, dtype=torch.bool), max_length)
        ties += int((band == score).sum() > 1)
    assert ties > 50


def test_all_equal_gives_the_first_word() -> None:
    zeros, mask = torch.zeros(2, 30), torch.ones(2, 30, dtype=torch.bool)
    starts, ends, _ = best_spans(zeros, zeros, mask, 15)
    assert starts.tolist() == ends.tolist() == [1, 1]


def test_length_limit_counts_words() -> None:
    start, end = torch.full((1, 40), -50.0), torch.full((1, 40), -50.0)
    start[0, 3] = end[0, 17] = 0.0  # 15 words
    mask = torch.ones(1, 40, dtype=torch.bool)
    assert [value.item() for value in best_spans(start, end, mask, 15)] == [3, 17, 0.0]
    starts, ends, scores = best_spans(start, end, mask, 14)
    assert scores.item() == -50.0
    assert ends.item() - starts.item() < 14


def test_never_position_zero() -> None:
    """Even when "no answer" has all the mass, which is what SQuAD 1.1 asks for."""
    start = torch.full((1, 6), -1e30)
    start[0, 0] = 0.0
    starts, ends, _ = best_spans(start, start.clone(), torch.ones(1, 6, dtype=torch.bool), 15)
    assert starts.item() >= 1
    assert ends.item() >= 1


def test_end_never_before_start() -> None:
    start, end = torch.full((1, 8), -9.0), torch.full((1, 8), -9.0)
    start[0, 6] = end[0, 2] = 0.0
    starts, ends, _ = best_spans(start, end, torch.ones(1, 8, dtype=torch.bool), 15)
    assert starts.item() <= ends.item()


def test_a_context_without_words_gives_the_place_of_no_answer() -> None:
    scores = torch.zeros(2, 3)
    mask = torch.tensor([[True, False, False], [True, True, False]])
    starts, ends, best = best_spans(scores, scores, mask, 15)
    assert starts.tolist() == ends.tolist() == [0, 1]
    assert best.tolist() == [float("-inf"), 0.0]


@pytest.mark.parametrize("place", ["start", "end"])
def test_nan_gives_the_place_of_no_answer_in_its_row_only(place: str) -> None:
    start, end = torch.zeros(3, 6), torch.zeros(3, 6)
    start[:, 2] = end[:, 4] = 1.0
    mask = torch.ones(3, 6, dtype=torch.bool)
    mask[2, 5] = False
    # The third row has NaN only where it is not looked at: at "no answer" and in the padding.
    for row, column in ((1, 3), (2, 0), (2, 5)):
        (start if place == "start" else end)[row, column] = float("nan")
    starts, ends, scores = best_spans(start, end, mask, 15)
    assert starts.tolist() == [2, 0, 2]
    assert ends.tolist() == [4, 0, 4]
    assert scores[[0, 2]].tolist() == [2.0, 2.0]
    assert scores[1].isnan()


def test_the_band_holds_each_allowed_span_once() -> None:
    start, end = torch.arange(6.0)[None], 10 * torch.arange(6.0)[None]
    mask = torch.tensor([[True, True, True, True, True, False]])
    band = span_scores(start, end, mask, 3)[0]
    expected = {(i, j): i + 10.0 * j for i in range(1, 5) for j in range(i, min(i + 3, 5))}
    finite = {(i, i + k): band[i, k].item() for i in range(6) for k in range(3) if band[i, k].isfinite()}
    assert finite == expected
