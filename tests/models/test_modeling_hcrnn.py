"""HCRNN against a reference in float64, and the properties that follow from its equations."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.layers_hcrnn import LEAST_DRIFT
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.ops_hcrnn import _run_step, normal_kl_divergence, topic_scores
from ctxzoo.models.ops_session import left_align_session, restore_positions
from tests.references.hcrnn import read
from tests.support.session_prefixes import check_every_position

SIZES: dict[str, Any] = {"num_items": 12, "embedding_size": 5, "hidden_size": 4, "num_topics": 3}
CLOSE = {"rtol": 1e-10, "atol": 1e-12}
HISTORIES = ([3, 7, 7, 1, 12], [5], [2, 2, 9])
FAR = 40.0  # sigmoid(FAR) is 1 in float64 but for 4e-18

every_variant = pytest.mark.parametrize(
    "fields",
    [
        {"version": version, "attention": attention, "drift_constraint": constraint}
        for version in (1, 2, 3)
        for attention in ("normal", "bi")
        for constraint in (("clip", "softplus") if version != 1 else ("clip",))
    ],
    ids=lambda fields: "-".join(str(value) for value in fields.values()),
)


def model_of(seed: int = 0, **fields: Any) -> Any:
    """A model in float64 and evaluation mode, its weights wide enough that nothing hides in a zero."""
    torch.manual_seed(seed)
    model: Any = HcrnnForNextItem(HcrnnConfig(**{**SIZES, **fields})).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
            elif "drift" not in name:
                parameter.mul_(2)
    return model


def padded(histories: Any = HISTORIES) -> torch.Tensor:
    length = max(map(len, histories))
    return torch.tensor([[*history, *[0] * (length - len(history))] for history in histories])


@every_variant
def test_equals_the_reference(fields: dict[str, Any]) -> None:
    model = model_of(**fields)
    found = model(padded(), output_attentions=True, output_hidden_states=True)
    for row, history in enumerate(HISTORIES):
        expected, length = read(model, history), len(history)
        pairs = [
            (found.theta[row], expected.theta),
            (found.kl[row], expected.kl),
            (found.hidden_states[1][row, :length], expected.hidden),
            (found.local_context[row, :length], expected.context),
            (found.attentions[0][row, :length], expected.topics),
            (found.attentions[1][row, :length], expected.local),
            (found.logits[row, 1:], expected.logits[1:]),
        ]
        if expected.of_contexts is not None:
            pairs.append((found.attentions[2][row, :length], expected.of_contexts))
        if fields["version"] != 1:
            pairs.append((found.drift_gate[row, :length], expected.gate))
        for ours, theirs in pairs:
            torch.testing.assert_close(ours, theirs, **CLOSE)
    assert (found.logits[:, 0] == torch.finfo(torch.float64).min).all()
    assert (found.drift_gate is None) == (fields["version"] == 1)


def test_topics_sum_to_one_and_are_drawn_in_training_alone() -> None:
    model = model_of(embedding_dropout=0, pooled_dropout=0)
    ids = padded()
    torch.testing.assert_close(model(ids).theta.sum(dim=1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(model(ids).logits, model(ids).logits)
    model.train()
    assert not torch.equal(model(ids).theta, model(ids).theta)
    with torch.no_grad():
        model.hcrnn.topics.deviation.weight.zero_()
        model.hcrnn.topics.deviation.bias.fill_(-1e3)  # the deviation is the least there is, 1e-6
    torch.testing.assert_close(model(ids).theta, model(ids).theta, rtol=0, atol=1e-4)


def test_a_version_without_drift_weights_is_the_one_without_drift() -> None:
    third, plain, second, first = (model_of(version=version) for version in (3, 1, 2, 1))
    with torch.no_grad():
        for model in (third, second):
            model.hcrnn.cell.drift.zero_()
        third.hcrnn.cell.drift_bias.fill_(FAR)
        for model, like in ((plain, third), (first, second)):
            model.load_state_dict(like.state_dict(), strict=False)
            model.hcrnn.cell.reset_context.zero_()
    torch.testing.assert_close(third(padded()).logits, plain(padded()).logits, **CLOSE)
    torch.testing.assert_close(second(padded()).logits, first(padded()).logits, **CLOSE)


@pytest.mark.parametrize("version", [2, 3])
def test_agreement_of_item_and_context_opens_the_drift_gate(version: int) -> None:
    weights = model_of(version=version).hcrnn.cell.collect_weights()
    generator = torch.Generator().manual_seed(1)
    item, context = (torch.randn(100, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    hidden = torch.randn(100, 4, generator=generator, dtype=torch.float64)
    theta = torch.full((100, 3), 1 / 3, dtype=torch.float64)

    def gate(items: torch.Tensor) -> torch.Tensor:
        added = torch.zeros(100, 5 + 3 * 4, dtype=torch.float64)  # what the item adds elsewhere stays the same
        added[:, :5] = -1e4  # nothing is written: the local context stays
        step = _run_step(items, added, hidden, context, theta, weights)
        assert torch.equal(step.context, context)
        return step.drift

    nothing = gate(torch.zeros_like(item))
    assert (gate(context) >= nothing).all()
    assert (gate(-context) <= nothing).all()
    for place in range(5):
        raised = item.clone()
        raised[:, place] += context[:, place].sign() * torch.rand(100, generator=generator, dtype=torch.float64)
        assert (gate(raised) >= gate(item)).all()
        assert not torch.equal(gate(raised), gate(item))


def test_the_drift_gate_is_above_its_bias_where_item_and_context_agree() -> None:
    model, ids = model_of(), padded()[:1]
    found = model(ids, output_hidden_states=True)
    agreement = (found.hidden_states[0] * found.local_context) @ model.hcrnn.cell.drift_weight()
    above = found.drift_gate > torch.sigmoid(model.hcrnn.cell.drift_bias)
    assert torch.equal(above, agreement > 0)
    assert above.any()
    assert not above.all()


def test_drift_weights_stay_positive_in_training() -> None:
    for constraint in ("clip", "softplus"):
        model = model_of(drift_constraint=constraint).train()
        model.hcrnn.cell.drift.data.fill_(LEAST_DRIFT if constraint == "clip" else -20.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        went_below = False
        for _ in range(10):
            optimizer.zero_grad()
            model(padded(), labels=torch.tensor([1, 2, 3])).loss.backward()
            optimizer.step()
            went_below |= bool((model.hcrnn.cell.drift_weight() < 0).any())
            model.project_parameters()
            assert (model.hcrnn.cell.drift_weight() >= (LEAST_DRIFT if constraint == "clip" else 0)).all()
        assert went_below == (constraint == "clip")  # else the test would show nothing


def test_weight_decay_pulls_drift_weights_to_their_least() -> None:
    model = model_of().train()
    model.hcrnn.cell.drift.data.fill_(0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=2.0)
    sizes = []
    for _ in range(30):
        optimizer.zero_grad()
        (0 * model(padded(), labels=torch.tensor([1, 2, 3])).loss).backward()
        optimizer.step()
        model.project_parameters()
        weights = model.hcrnn.cell.drift_weight()
        assert (weights >= LEAST_DRIFT).all()
        sizes.append(float(weights.detach().max()))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.01


def test_topic_scores_are_bounded_and_nearly_equal_at_the_start() -> None:
    generator = torch.Generator().manual_seed(0)
    theta, projected, hidden, vector = (
        scale * torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape, scale in (((50, 3), 100), ((3, 4), 100), ((50, 4), 100), ((4,), 1))
    )
    assert topic_scores(theta, projected, hidden, vector).abs().max() <= vector.abs().sum()
    model = HcrnnForNextItem(HcrnnConfig(**{**SIZES, "num_topics": 10, "hidden_size": 100})).eval()
    weights = model(padded(), output_attentions=True).attentions[0][:, :2]
    assert float((weights[weights > 0] - 0.1).abs().max()) < 0.05


def test_labels_that_are_padding_are_refused() -> None:
    labels = padded().clone()
    labels[0, 1] = 0
    with pytest.raises(ValueError, match=r"label 0"):
        model_of()(padded(), labels=labels, every_position=True)


def test_local_contexts_lie_between_nothing_and_the_memory() -> None:
    model = model_of(seed=3)
    context = model(padded()).local_context
    memory = model.hcrnn.cell.memory
    low, high = memory.amin(dim=0).clamp(max=0), memory.amax(dim=0).clamp(min=0)
    assert ((context >= low - 1e-12) & (context <= high + 1e-12)).all()


def test_one_topic() -> None:
    model = model_of(num_topics=1)
    found = model(padded(), output_attentions=True)
    assert (found.theta == 1).all()
    assert (found.attentions[0][padded() > 0] == 1).all()
    cell = model.hcrnn.cell
    with torch.no_grad():
        for parameter in (cell.write, cell.write_context, cell.write_bias):
            parameter.zero_()  # a gate of 1/2: half of what is missing comes from the one row of the memory
    context = model(padded()).local_context
    for row, history in enumerate(HISTORIES):
        for step in range(len(history)):
            torch.testing.assert_close(context[row, step], (1 - 0.5 ** (step + 1)) * cell.memory[0], **CLOSE)
    model.train()(padded(), labels=torch.tensor([4, 5, 6])).loss.backward()
    for layer in (model.hcrnn.topics.mean, model.hcrnn.topics.deviation):
        assert layer.bias.grad.abs().max() > 0  # by the divergence alone: theta is 1


@pytest.mark.parametrize("every_position", [False, True])
def test_the_loss_is_the_cross_entropy_and_the_weighed_divergence(every_position: bool) -> None:
    model, ids = model_of(kl_lambda=0.5), padded()
    if every_position:
        real = ids > 0
        labels = torch.arange(ids.numel()).view_as(ids) % 12 + 1
        found = model(ids, labels=labels * real, every_position=True)
        expected = F.cross_entropy(found.logits[real], labels[real]) + 0.5 * found.kl[real].mean()
    else:
        labels = torch.tensor([4, 5, 6])
        found = model(ids, labels=labels)
        expected = F.cross_entropy(found.logits, labels) + 0.5 * found.kl.mean()
    torch.testing.assert_close(found.loss, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(("bias", "deviation"), [(1e3, 10.0), (-1e3, 1e-6)])
def test_deviations_of_topics_are_bounded(bias: float, deviation: float, dtype: torch.dtype) -> None:
    model = model_of(embedding_dropout=0).to(dtype).train()
    topics = model.hcrnn.topics
    with torch.no_grad():
        topics.deviation.weight.zero_()
        topics.deviation.bias.fill_(bias)
    found = model(padded(), labels=torch.tensor([4, 5, 6]))
    found.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    model.double()
    mean = []
    for history in HISTORIES:
        sums = model.hcrnn.items.weight[sorted(set(history))].sum(dim=0)
        mean.append(topics.mean(F.elu(topics.query(sums))))
    wide = deviation**2
    expected = 0.5 * (torch.stack(mean).square() + wide - math.log(1e-8 + wide) - 1).sum(dim=1)
    close = {torch.float64: 1e-9, torch.float32: 1e-6}.get(dtype, 0.02)  # of the mean, in half precision
    torch.testing.assert_close(found.kl.double(), expected, rtol=close, atol=0)


def test_padding_changes_nothing_wherever_it_stands() -> None:
    model, labels = model_of(), torch.tensor([4, 5, 6])
    expected = model(padded(), labels=labels, output_attentions=True)
    for left, right in ((0, 3), (2, 0), (1, 2)):
        ids = torch.nn.functional.pad(padded(), (left, right))
        found = model(ids, labels=labels, output_attentions=True)
        for name in ("loss", "logits", "theta", "kl"):
            torch.testing.assert_close(found[name], expected[name], **CLOSE)
        cut = slice(left, left + 5)
        for ours, theirs in zip(
            (found.local_context, found.drift_gate, *found.attentions),
            (expected.local_context, expected.drift_gate, *expected.attentions),
            strict=True,
        ):
            torch.testing.assert_close(ours[:, cut], theirs, **CLOSE)
            assert not ours[ids == 0].any()
        states = model(ids, output_hidden_states=True)
        for each in (*states.hidden_states, model.hcrnn(ids).last_hidden_state):
            assert not each[ids == 0].any()
    between = model(torch.tensor([[3, 0, 7, 7, 0, 0, 1, 12]]))
    torch.testing.assert_close(between.logits, expected.logits[:1], **CLOSE)
    order = [2, 0, 1]
    torch.testing.assert_close(model(padded()[order]).logits, expected.logits[order], **CLOSE)


def test_a_session_without_items_is_the_prior_and_no_nan() -> None:
    model = model_of()
    found = model(torch.tensor([[0, 0], [3, 4]]))
    assert found.logits.isfinite().all()
    topics = model.hcrnn.topics
    expected = topics.mean(torch.nn.functional.elu(topics.query.bias)).softmax(dim=0)
    torch.testing.assert_close(found.theta[0], expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("every_position", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_an_empty_session_has_finite_gradients_in_every_precision(
    training: bool, every_position: bool, dtype: torch.dtype
) -> None:
    ids = torch.tensor([[0, 0, 0], [3, 4, 0], [5, 0, 0]])
    model = model_of().to(dtype).train(training)
    labels = torch.tensor([[0, 0, 0], [4, 5, 0], [6, 0, 0]]) if every_position else torch.tensor([1, 2, 3])
    if not every_position:
        for each in model(ids, output_attentions=True).attentions:
            assert not each[0].any()
    found = model(ids, labels=labels, every_position=every_position)
    found.loss.backward()
    assert found.loss.isfinite()
    assert found.logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("every_position", [False, True])
@pytest.mark.parametrize("attention", ["normal", "bi"])
def test_where_nothing_is_read_the_pooled_output_is_zero(attention: str, every_position: bool) -> None:
    ids = torch.tensor([[0, 0, 0], [3, 4, 0], [0, 5, 0]])
    pooled = model_of(attention=attention).hcrnn(ids, every_position=every_position).pooler_output
    read = ids > 0 if every_position else (ids > 0).any(dim=1)
    assert not pooled[~read].any()
    assert pooled[read].all()


def test_one_step_has_all_the_weight() -> None:
    for fields in ({"attention": "bi"}, {"attention": "normal"}):
        attentions = model_of(**fields)(torch.tensor([[4]]), output_attentions=True).attentions
        assert all((each == 1).all() for each in attentions[1:])
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            among = model_of(**fields).to(dtype)(padded(), output_attentions=True).attentions
            assert all(each[1].tolist() == [1, 0, 0, 0, 0] for each in among[1:])


def test_a_repeated_item_counts_once_for_the_topics() -> None:
    model = model_of()
    twice, once = (model(torch.tensor([x]), output_hidden_states=True) for x in ([3, 7, 7, 1], [3, 7, 1]))
    torch.testing.assert_close(twice.theta, once.theta, **CLOSE)
    assert not torch.allclose(twice.local_context[:, -1], once.local_context[:, -1])
    assert not torch.allclose(twice.hidden_states[1][:, -1], once.hidden_states[1][:, -1], atol=1e-2)


def test_divergence_is_that_of_normal_distributions() -> None:
    mean, deviation = torch.randn(6, 3, dtype=torch.float64), torch.rand(6, 3, dtype=torch.float64) + 0.2
    expected = kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0)).sum(dim=1)
    torch.testing.assert_close(normal_kl_divergence(mean, deviation), expected, rtol=1e-6, atol=1e-7)
    zero = normal_kl_divergence(torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64))
    assert zero.abs().item() < 3e-8
    narrow = normal_kl_divergence(torch.zeros(1, 3).half(), torch.full((1, 3), 1e-4).half())
    assert narrow.dtype == torch.float32
    assert narrow.item() == pytest.approx(25.0911, rel=1e-4)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_sessions_of_a_hundred_items_keep_their_precision(version: int) -> None:
    history = torch.randint(1, 13, (100,), generator=torch.Generator().manual_seed(0)).tolist()
    model = model_of(version=version)
    ids, expected = torch.tensor([history]), read(model, history)
    found = model.hcrnn(ids)
    torch.testing.assert_close(found.last_hidden_state[0], expected.hidden, rtol=0, atol=1e-13)
    single = model_of(version=version).float()
    assert (single.hcrnn(ids).last_hidden_state[0] - expected.hidden).abs().max() < 1e-5
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = single.hcrnn(ids)
    assert (mixed.last_hidden_state[0] - expected.hidden).abs().max() < 1e-3
    narrow = model_of(version=version).bfloat16()
    context = narrow.hcrnn(ids).local_context[0].double()
    assert (context - read(narrow.double(), history).context).abs().max() < 0.006


@torch.no_grad()
@pytest.mark.parametrize("version", [1, 2, 3])
def test_prefixes_of_a_hundred_items_keep_their_precision(version: int) -> None:
    ids = torch.randint(1, 13, (1, 100), generator=torch.Generator().manual_seed(0))

    def ends(model: Any) -> torch.Tensor:
        """The last state of every prefix, which the pooled output ends with."""
        pooled: torch.Tensor = model.hcrnn(ids, every_position=True).pooler_output[0, :, -4:]
        return pooled

    expected, single = ends(model_of(version=version)), model_of(version=version).float()
    assert (ends(single) - expected).abs().max() < 1e-5
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = ends(single)
    assert mixed.dtype == torch.float32
    assert (mixed - expected).abs().max() < 1e-3


def test_dropout_stands_where_the_authors_have_it() -> None:
    ids = padded()

    def still(**fields: Any) -> Any:
        model = model_of(**{"embedding_dropout": 0.0, "pooled_dropout": 0.0, **fields}).train()
        with torch.no_grad():  # topics are drawn with the least deviation that there is
            model.hcrnn.topics.deviation.weight.zero_()
            model.hcrnn.topics.deviation.bias.fill_(-1e3)
        return model

    model = still(pooled_dropout=0.5)
    one, other = model.hcrnn(ids).pooler_output, model.hcrnn(ids).pooler_output
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert (model(ids).logits - model(ids).logits)[:, 1:].abs().max() > 0.1
    model = still(embedding_dropout=0.5)
    assert (model(ids).theta - model(ids).theta).abs().max() > 0.01
    items = model(torch.ones(50, 20, dtype=torch.int64), output_hidden_states=True).hidden_states[0]
    assert 0.45 < float((items == 0).double().mean()) < 0.55
    assert model.hcrnn.items.weight[1].abs().min() > 0


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 0.0), (torch.bfloat16, 1e-4)])
def test_padding_has_no_weight(dtype: torch.dtype, bound: float) -> None:
    attentions = model_of().to(dtype)(padded(), output_attentions=True).attentions
    assert len(attentions) == 3
    assert all(each[padded() == 0].abs().max() <= bound for each in attentions)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_without_contexts_it_is_a_gru(version: int) -> None:
    model = model_of(version=version)
    cell = model.hcrnn.cell
    with torch.no_grad():
        for each in (cell.write_context, cell.update_context, cell.topic_item):
            each.zero_()
        (cell.reset_context if version == 1 else cell.drift).zero_()
        if version == 3:
            cell.drift_bias.fill_(FAR)
    history = [3, 7, 1, 12]
    hidden, states = torch.zeros(4, dtype=torch.float64), []
    for item in model.hcrnn.items.weight[history]:
        both = torch.cat([item, hidden])
        update = torch.sigmoid(both @ cell.update + cell.update_bias)
        reset = torch.sigmoid(both @ cell.reset + cell.reset_bias)
        new = torch.tanh(torch.cat([item, reset * hidden]) @ cell.candidate + cell.candidate_bias)
        hidden = (1 - update) * hidden + update * new
        states.append(hidden)
    found = model.hcrnn(torch.tensor([history])).last_hidden_state[0]
    torch.testing.assert_close(found, torch.stack(states), **CLOSE)


@every_variant
def test_every_position_equals_separate_prefixes_in_values_and_gradients(fields: dict[str, Any]) -> None:
    check_every_position(model_of(**fields), ("logits", "theta", "kl"))


def test_topic_scores_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.models.ops_hcrnn.PIECE", 40)  # three rows at a time
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)

    given = (drawn(2, 4, 3), drawn(3, 4), drawn(2, 4, 4), drawn(4))
    theta, projected, hidden, vector = given
    plain = torch.sigmoid(theta.unsqueeze(-1) * projected + hidden.unsqueeze(-2)) @ vector
    found = topic_scores(*given)
    torch.testing.assert_close(found, plain, **CLOSE)
    upstream = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    for ours, theirs in zip(
        torch.autograd.grad(found, given, upstream), torch.autograd.grad(plain, given, upstream), strict=True
    ):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_steps_go_back_to_where_they_stood() -> None:
    ids = torch.tensor([[0, 4, 0, 5], [1, 2, 3, 0]])
    moved, mask, positions = left_align_session(ids, None, 9)
    assert moved.tolist() == [[4, 5, 0, 0], [1, 2, 3, 0]]
    assert mask.tolist() == [[True, True, False, False], [True, True, True, False]]
    assert torch.equal(restore_positions(moved, positions), ids)
    assert torch.equal(restore_positions(moved.unsqueeze(2).expand(2, 4, 3), positions)[..., 1], ids)


def test_recommendations_are_the_likeliest_items() -> None:
    names = [f"item {number}" for number in range(1, 13)]
    model = model_of(item_names=names).train()
    found = model.recommend(["item 3", "item 7", "item 7"], 12)
    assert model.training
    model.eval()
    probabilities = model(torch.tensor([[3, 7, 7]])).logits[0].softmax(dim=0)
    assert [name for name, _ in found] == [names[item - 1] for item in probabilities[1:].argsort(descending=True) + 1]
    assert [value for _, value in found] == sorted(probabilities[1:].tolist(), reverse=True)
    assert sum(value for _, value in found) == pytest.approx(1)
    new = model.recommend(["item 3", "item 7", "item 7"], 10, only_new=True)
    assert [pair for pair in found if pair[0] not in ("item 3", "item 7")] == new


@pytest.mark.parametrize(
    ("history", "k", "message"),
    [
        ([], 1, "expected a list of one item or more"),
        ("item 3", 1, "expected a list of one item or more, got 'item 3'"),
        (["item 13"], 1, "does not know the item 'item 13': expected one of its 12 names, such as 'item 1'"),
        ([3], 1, "does not know the item '3'"),
        (["item 3"], 0, "k=0: expected 1 to 12"),
        (["item 3"], 13, "k=13"),
    ],
)
def test_recommendations_that_cannot_be(history: Any, k: int, message: str) -> None:
    model = model_of(item_names=[f"item {number}" for number in range(1, 13)])
    with pytest.raises(ValueError, match=message):
        model.recommend(history, k)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_items": 0}, "num_items must be at least 1, got 0"),
        ({"item_names": ["a"]}, "item_names has 1 entries, but num_items is 12"),
        ({"item_names": ["a"] * 12}, "item_names: two have the name 'a'"),
        ({"item_names": ["", *map(str, range(11))]}, "item 1 has an empty name"),
        ({"num_topics": 0}, "num_topics must be at least 1"),
        ({"kl_lambda": -1.0}, "kl_lambda must be 0 or above, got -1"),
        ({"pooled_dropout": 1.0}, "pooled_dropout must be at least 0 and below 1, got 1"),
        ({"version": 4}, "version"),
    ],
)
def test_configurations_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        HcrnnConfig(**{**SIZES, **fields})
