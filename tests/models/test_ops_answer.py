import math

import pytest
import torch

from ctxzoo.models.modeling_bidaf import span_loss
from ctxzoo.models.ops_answer import decode_answers, no_answer_score, span_log_probabilities
from ctxzoo.models.outputs import ExtractiveQuestionAnsweringOutput

LOW = torch.finfo(torch.float32).min


def random_outputs(
    lengths: list[int], no_answer: bool, seed: int = 0
) -> tuple[ExtractiveQuestionAnsweringOutput, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    size = (len(lengths), max(lengths))
    mask = torch.arange(size[1]) < torch.tensor(lengths).unsqueeze(1)
    places = mask & (torch.arange(size[1]) > 0) if no_answer else mask
    start, end = (3 * torch.randn(size, generator=generator).masked_fill(~places, LOW) for _ in range(2))
    outputs = ExtractiveQuestionAnsweringOutput(
        start_logits=start.clamp(min=LOW),
        end_logits=end.clamp(min=LOW),
        no_answer_logits=4 * torch.randn(size[0], generator=generator) if no_answer else None,
    )
    return outputs, mask


def brute_force(
    outputs: ExtractiveQuestionAnsweringOutput, row: int, length: int
) -> tuple[dict[tuple[int, int], float], float]:
    """Probability of every span of a row and of no answer, from exponentials in float64."""
    start = outputs.start_logits[row, :length].double().exp()
    end = outputs.end_logits[row, :length].double().exp()
    pairs = start.unsqueeze(1) * end
    total = pairs.sum()
    no_answer = pairs[0, 0]
    if outputs.no_answer_logits is not None:
        no_answer = outputs.no_answer_logits[row].double().exp()
        total = total + no_answer
    spans = {(i, j): float(pairs[i, j] / total) for i in range(1, length) for j in range(i, length)}
    return spans, float(no_answer / total)


@pytest.mark.parametrize("no_answer", [False, True])
@pytest.mark.parametrize("max_length", [1, 3, 40])
def test_equals_brute_force(no_answer: bool, max_length: int) -> None:
    lengths = [9, 2, 5, 12]
    outputs, mask = random_outputs(lengths, no_answer)
    answers = decode_answers(outputs, mask.long(), max_length)
    for row, length in enumerate(lengths):
        spans, impossible = brute_force(outputs, row, length)
        (start, end), probability = max(
            ((span, p) for span, p in spans.items() if span[1] - span[0] < max_length), key=lambda item: item[1]
        )
        assert (answers.starts[row].item(), answers.ends[row].item()) == (start, end)
        assert answers.span_log_probs[row].exp().item() == pytest.approx(probability, rel=1e-5)
        assert answers.no_answer_log_probs[row].exp().item() == pytest.approx(impossible, rel=1e-5)


def test_joint_probability_is_that_of_the_loss() -> None:
    outputs, _ = random_outputs([7, 7, 7], no_answer=True)
    starts, ends = torch.tensor([2, 0, 6]), torch.tensor([4, 0, 6])
    start, end, no_answer = span_log_probabilities(outputs)
    rows = torch.arange(3)
    ours = torch.where(starts == 0, no_answer, start[rows, starts] + end[rows, ends])
    loss = span_loss(outputs.start_logits, outputs.end_logits, outputs.no_answer_logits, starts, ends)
    torch.testing.assert_close(-ours.mean(), loss)


@pytest.mark.parametrize("no_answer", [False, True])
def test_row_without_words_answers_nothing(no_answer: bool) -> None:
    outputs, mask = random_outputs([1, 4], no_answer)
    answers = decode_answers(outputs, mask, 3)
    assert (answers.starts[0].item(), answers.ends[0].item()) == (0, 0)
    assert answers.span_log_probs[0].item() == -math.inf
    assert answers.no_answer_log_probs[0].item() == pytest.approx(0, abs=1e-6)


def test_extreme_scores_stay_finite() -> None:
    outputs, mask = random_outputs([4, 4], no_answer=True)
    outputs.no_answer_logits = torch.tensor([1e4, -1e4])
    answers = decode_answers(outputs, mask, 3)
    assert torch.isfinite(answers.span_log_probs).all()
    assert torch.isfinite(answers.no_answer_log_probs).all()
    assert (answers.no_answer_log_probs > answers.span_log_probs).tolist() == [True, False]


def test_half_precision_is_widened() -> None:
    outputs, _ = random_outputs([5], no_answer=True)
    low = ExtractiveQuestionAnsweringOutput(**{name: value.clamp(-1e4).bfloat16() for name, value in outputs.items()})
    wide = ExtractiveQuestionAnsweringOutput(**{name: value.float() for name, value in low.items()})
    for ours, expected in zip(span_log_probabilities(low), span_log_probabilities(wide), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, expected)


def test_bad_input() -> None:
    outputs, mask = random_outputs([5, 3], no_answer=False)
    with pytest.raises(ValueError, match=r"\(2, 4\).*\(2, 5\)"):
        decode_answers(outputs, mask[:, :4], 3)
    with pytest.raises(ValueError, match=r"max_length.*got 0"):
        decode_answers(outputs, mask, 0)
    with pytest.raises(ValueError, match="start_logits"):
        span_log_probabilities(ExtractiveQuestionAnsweringOutput())


@pytest.mark.parametrize("no_answer", [False, True])
def test_no_answer_score_weighs_the_best_span(no_answer: bool) -> None:
    outputs, mask = random_outputs([6, 3, 8], no_answer)
    spans = decode_answers(outputs, mask, 3)
    for row, length in enumerate([6, 3, 8]):
        probabilities, impossible = brute_force(outputs, row, length)
        best = max(p for (i, j), p in probabilities.items() if j - i < 3)
        assert no_answer_score(spans)[row].item() == pytest.approx(impossible / (impossible + best), rel=1e-5)


def test_no_answer_score_of_a_row_without_words_is_one() -> None:
    outputs, mask = random_outputs([1, 4], no_answer=False)
    assert no_answer_score(decode_answers(outputs, mask, 3))[0].item() == 1
