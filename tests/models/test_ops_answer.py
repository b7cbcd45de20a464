from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.modeling_bidaf import ExtractiveQuestionAnsweringOutput
from ctxzoo.models.ops_answer import best_spans, decode_answers, no_answer_score, span_log_probabilities, span_scores
from tests.references.answer import reference_best_span

LOW = torch.finfo(torch.float32).min


def random_outputs(lengths: list[int], seed: int = 0) -> tuple[ExtractiveQuestionAnsweringOutput, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    size = (len(lengths), max(lengths))
    mask = torch.arange(size[1]) < torch.tensor(lengths).unsqueeze(1)
    start, end = (3 * torch.randn(size, generator=generator).masked_fill(~mask, LOW) for _ in range(2))
    return ExtractiveQuestionAnsweringOutput(start_logits=start.clamp(min=LOW), end_logits=end.clamp(min=LOW)), mask


def brute_force(
    outputs: ExtractiveQuestionAnsweringOutput, row: int, length: int
) -> tuple[dict[tuple[int, int], float], float]:
    """Probability of every span of a row and of no answer, from exponentials in float64."""
    start = outputs.start_logits[row, :length].double().exp()
    end = outputs.end_logits[row, :length].double().exp()
    pairs = start.unsqueeze(1) * end
    total = pairs.sum()
    spans = {(i, j): float(pairs[i, j] / total) for i in range(1, length) for j in range(i, length)}
    return spans, float(pairs[0, 0] / total)


@pytest.mark.parametrize("max_length", [1, 3, 40])
def test_equals_brute_force(max_length: int) -> None:
    lengths = [9, 2, 5, 12]
    outputs, mask = random_outputs(lengths)
    answers = decode_answers(outputs, mask.long(), max_length)
    for row, length in enumerate(lengths):
        spans, impossible = brute_force(outputs, row, length)
        (start, end), probability = max(
            ((span, p) for span, p in spans.items() if span[1] - span[0] < max_length), key=lambda item: item[1]
        )
        assert (answers.starts[row].item(), answers.ends[row].item()) == (start, end)
        assert answers.span_log_probs[row].exp().item() == pytest.approx(probability, rel=1e-5)
        assert answers.no_answer_log_probs[row].exp().item() == pytest.approx(impossible, rel=1e-5)


def test_row_without_words_answers_nothing() -> None:
    outputs, mask = random_outputs([1, 4])
    answers = decode_answers(outputs, mask, 3)
    assert (answers.starts[0].item(), answers.ends[0].item()) == (0, 0)
    assert answers.span_log_probs[0].item() == -math.inf
    assert answers.no_answer_log_probs[0].item() == pytest.approx(0, abs=1e-6)


def test_extreme_scores_stay_finite() -> None:
    outputs, mask = random_outputs([4, 4])
    outputs.start_logits[:, 0] = torch.tensor([1e4, -1e4])
    answers = decode_answers(outputs, mask, 3)
    assert torch.isfinite(answers.span_log_probs).all()
    assert torch.isfinite(answers.no_answer_log_probs).all()
    assert (answers.no_answer_log_probs > answers.span_log_probs).tolist() == [True, False]


def test_half_precision_is_widened() -> None:
    outputs, _ = random_outputs([5])
    low = ExtractiveQuestionAnsweringOutput(**{name: value.clamp(-1e4).bfloat16() for name, value in outputs.items()})
    wide = ExtractiveQuestionAnsweringOutput(**{name: value.float() for name, value in low.items()})
    for ours, expected in zip(span_log_probabilities(low), span_log_probabilities(wide), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, expected)


def test_bad_input() -> None:
    outputs, mask = random_outputs([5, 3])
    with pytest.raises(ValueError, match=r"\(2, 4\).*\(2, 5\)"):
        decode_answers(outputs, mask[:, :4], 3)
    with pytest.raises(ValueError, match=r"max_length.*got 0"):
        decode_answers(outputs, mask, 0)
    with pytest.raises(ValueError, match="start_logits"):
        span_log_probabilities(ExtractiveQuestionAnsweringOutput())


def test_no_answer_score_weighs_the_best_span() -> None:
    outputs, mask = random_outputs([6, 3, 8])
    spans = decode_answers(outputs, mask, 3)
    for row, length in enumerate([6, 3, 8]):
        probabilities, impossible = brute_force(outputs, row, length)
        best = max(p for (i, j), p in probabilities.items() if j - i < 3)
        assert no_answer_score(spans)[row].item() == pytest.approx(impossible / (impossible + best), rel=1e-5)


def test_no_answer_score_of_a_row_without_words_is_one() -> None:
    outputs, mask = random_outputs([1, 4])
    assert no_answer_score(decode_answers(outputs, mask, 3))[0].item() == 1


def brute_force_span(start: list[float], end: list[float], max_length: int) -> tuple[int, int, float]:
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
        expected = brute_force_span(starts[row].tolist(), ends[row].tolist(), max_length)
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
        expected = brute_force_span((2**start).tolist(), (2**end).tolist(), max_length)
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
