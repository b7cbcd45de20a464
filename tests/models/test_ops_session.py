"""The sampled softmax against the full one, and recommendations for many sessions at once."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch.nn import functional as F

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.models.ops_session import POWER, accumulate_item_weights, draw_items, next_item_loss, sampled_next_item_loss

SIZES = {"num_items": 12, "embedding_size": 4, "hidden_size": 4, "embedding_dropout": 0.0, "pooled_dropout": 0.0}
MODELS = [
    lambda **fields: SessionBaselineForNextItem(SessionBaselineConfig(kind="narm", **SIZES, **fields)),
    lambda **fields: SessionBaselineForNextItem(SessionBaselineConfig(kind="gru4rec", **SIZES, **fields)),
    lambda **fields: SessionBaselineForNextItem(SessionBaselineConfig(kind="stamp", **SIZES, **fields)),
    lambda **fields: HcrnnForNextItem(HcrnnConfig(num_topics=3, kl_lambda=0.0, **SIZES, **fields)),
]


def test_the_sum_of_samples_is_that_of_all_items_in_expectation() -> None:
    """exp(loss + s_y) is the estimated sum over all items: over all pairs of draws, weighed, it is the true one."""
    scores = torch.tensor([[0.3, -1.2, 2.0, 0.7, -0.4]], dtype=torch.float64)  # of items 1 to 5
    counts = torch.tensor([7, 0, 1, 3, 9])
    shares = (counts + 1).double() ** POWER
    shares = shares / shares.sum()
    target, total = torch.tensor([3]), 0.0
    for pair in itertools.product(range(5), repeat=2):
        samples = torch.tensor(pair)
        log_expected = (2 * shares[samples]).log()
        loss = sampled_next_item_loss(scores[:, 2], scores[:, samples], target, samples + 1, log_expected)
        total += math.prod(shares[samples].tolist()) * math.exp(loss.item() + scores[0, 2].item())
    assert total == pytest.approx(scores.exp().sum().item(), rel=1e-12)


def test_items_are_drawn_by_their_counts() -> None:
    torch.manual_seed(0)
    counts = [50, 3, 0, 12]
    items, log_expected = draw_items(accumulate_item_weights(counts, 4), 40_000)
    weights = [(count + 1) ** 0.75 for count in counts]
    for item, weight in enumerate(weights, start=1):
        expected = 40_000 * weight / sum(weights)
        assert (items == item).sum().item() == pytest.approx(expected, abs=5 * math.sqrt(expected))
        assert log_expected[items == item].unique().item() == pytest.approx(math.log(expected))


def test_of_many_samples_it_is_the_full_softmax_with_its_gradient() -> None:
    torch.manual_seed(0)
    logits = torch.randn(6, 13, dtype=torch.float64, requires_grad=True)
    masked = torch.cat([torch.full((6, 1), -torch.inf, dtype=torch.float64), logits[:, 1:]], dim=1)
    labels = torch.tensor([1, 5, 12, 5, 7, 2])
    full = next_item_loss(masked, labels, torch.ones(6))
    items, log_expected = draw_items(accumulate_item_weights(list(range(12)), 12), 300_000)
    samples = items.long()
    scores = logits.gather(1, labels.unsqueeze(1)).squeeze(1)
    sampled = sampled_next_item_loss(scores, logits[:, samples], labels, samples, log_expected, torch.ones(6))
    assert sampled.item() == pytest.approx(full.item(), abs=0.02)
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (full, sampled)]
    torch.testing.assert_close(gradients[1], gradients[0], atol=2e-3, rtol=0)
    assert F.cross_entropy(masked, labels).item() == pytest.approx(full.item() - 1)


@pytest.mark.parametrize("build", MODELS)
def test_every_model_trains_on_samples_and_is_scored_on_all(build: object) -> None:
    torch.manual_seed(0)
    model = build(num_sampled=11, item_counts=[1] * 12)  # type: ignore[operator]
    ids, labels = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([[2, 3, 9], [5, 6, -100]])
    full = model.eval()(input_ids=ids, labels=labels, every_position=True)
    assert full.logits.shape == (2, 3, 13)
    model.train()
    outputs = [model(input_ids=ids, labels=labels, every_position=True) for _ in range(300)]
    assert outputs[0].logits is None
    assert torch.stack([one.loss for one in outputs]).mean().item() == pytest.approx(full.loss.item(), abs=0.1)
    outputs[0].loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("only_new", [False, True])
def test_sessions_read_together_get_what_each_gets_alone(build: object, only_new: bool) -> None:
    torch.manual_seed(0)
    model = build(max_history=3, item_counts=[4, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2])  # type: ignore[operator]
    histories = [["1", 2], [7], [], list(range(1, 12)), [3, 3, 3, 3, 5]]
    found = model.recommend_batch(histories, 4, only_new=only_new, batch_size=2)
    for history, ranking in zip(histories, found, strict=True):
        if not history:
            assert ranking[:2] == [("1", pytest.approx(0.5)), ("12", pytest.approx(0.25))]
            continue
        alone = model.recommend(history, min(4, 12 - len(set(history)) * only_new), only_new=only_new)
        assert [name for name, _ in ranking] == [name for name, _ in alone]
        assert [value for _, value in ranking] == pytest.approx([value for _, value in alone], rel=1e-4)
    assert model.recommend_batch([list(range(1, 13))], only_new=True) == [[]]


def test_what_a_batch_of_sessions_does_not_take() -> None:
    model = MODELS[0]()
    for histories, k, message in (
        ([[1], [99]], None, "does not know the item '99'"),
        ([[1], []], None, "history 1 is empty, and this model does not know what is popular"),
        ([[1]], 13, "k=13: expected 1 to 12"),
    ):
        with pytest.raises(ValueError, match=message):
            model.recommend_batch(histories, k)
    for fields, message in (
        ({"item_counts": [1]}, "item_counts has 1 numbers: expected 12 of 0 or more"),
        ({"item_counts": [0] * 12}, "some of them above 0"),
        ({"num_sampled": -1}, "num_sampled"),
    ):
        with pytest.raises(StrictDataclassError, match=message):
            SessionBaselineConfig(**SIZES, **fields)  # type: ignore[arg-type]
