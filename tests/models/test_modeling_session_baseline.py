"""GRU4REC, NARM and STAMP against plain computations in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from tests.support.session_prefixes import check_every_position

KINDS = ("gru4rec", "narm", "stamp")
CLOSE = {"rtol": 1e-10, "atol": 1e-12}
HISTORIES = ([3, 7, 7, 1, 12], [5], [2, 2, 9])


def model_of(kind: str, **fields: Any) -> Any:
    torch.manual_seed(0)
    config = SessionBaselineConfig(num_items=12, embedding_size=5, hidden_size=4, kind=kind, **fields)  # type: ignore[arg-type]
    model: Any = SessionBaselineForNextItem(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
            else:
                parameter.mul_(2)
    return model


def padded() -> torch.Tensor:
    return torch.tensor([[*history, *[0] * (5 - len(history))] for history in HISTORIES])


def gru_states(weights: dict[str, torch.Tensor], items: torch.Tensor) -> list[torch.Tensor]:
    state, states = torch.zeros(4, dtype=torch.float64), []
    prefix = "reader.steps.rnn.gru"
    for item in items:
        given = weights[f"{prefix}.weight_ih_l0"] @ item + weights[f"{prefix}.bias_ih_l0"]
        before = weights[f"{prefix}.weight_hh_l0"] @ state + weights[f"{prefix}.bias_hh_l0"]
        reset = torch.sigmoid(given[:4] + before[:4])
        update = torch.sigmoid(given[4:8] + before[4:8])
        state = (1 - update) * torch.tanh(given[8:] + reset * before[8:]) + update * state
        states.append(state)
    return states


def reference(model: Any, history: list[int]) -> tuple[torch.Tensor, list[torch.Tensor] | None]:
    """The scores of all items, and the weight of each step where the model weighs them."""
    weights = {name: x.detach() for name, x in model.state_dict().items()}
    table = weights["reader.items.weight"]
    items = table[history]
    if model.config.kind == "gru4rec":
        return weights["output.weight"] @ gru_states(weights, items)[-1] + weights["output.bias"], None

    def of(name: str, x: torch.Tensor) -> torch.Tensor:
        bias = weights.get(f"reader.steps.{name}.bias", torch.zeros((), dtype=torch.float64))
        return weights[f"reader.steps.{name}.weight"] @ x + bias

    if model.config.kind == "narm":
        states = gru_states(weights, items)
        scores = [
            of("attention.score", torch.sigmoid(of("attention.state", state) + of("attention.last", states[-1])))
            for state in states
        ]
        chosen = torch.softmax(torch.cat(scores), dim=0)
        summed = sum(weight * state for weight, state in zip(chosen, states, strict=True))
        assert isinstance(summed, torch.Tensor)
        return table @ (weights["head.bilinear.weight"] @ torch.cat([summed, states[-1]])), list(chosen)
    last, mean = items[-1], items.sum(dim=0) / len(items)
    free = [of("score", torch.sigmoid(of("item", item) + of("last", last) + of("mean", mean)))[0] for item in items]
    summed = sum(weight * item for weight, item in zip(free, items, strict=True))
    assert isinstance(summed, torch.Tensor)
    found = table @ (torch.tanh(of("of_session", summed)) * torch.tanh(of("of_last", last)))
    return torch.sigmoid(found) if model.config.sigmoid_scores else found, free


@pytest.mark.parametrize(
    "fields", [*({"kind": kind} for kind in KINDS), {"kind": "stamp", "sigmoid_scores": True}], ids=str
)
def test_equals_the_reference(fields: dict[str, Any]) -> None:
    model = model_of(**fields)
    logits, found = model(padded()).logits, model.reader(padded())
    for row, history in enumerate(HISTORIES):
        scores, weights = reference(model, history)
        torch.testing.assert_close(logits[row, 1:], scores[1:], **CLOSE)
        if weights is None:
            assert found.step_weights is None
        else:
            torch.testing.assert_close(found.step_weights[row, : len(history)], torch.stack(weights), **CLOSE)
            assert not found.step_weights[row, len(history) :].any()


@pytest.mark.parametrize("kind", KINDS)
def test_every_position_equals_separate_prefixes_in_values_and_gradients(kind: str) -> None:
    check_every_position(model_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_wherever_it_stands(kind: str) -> None:
    model = model_of(kind)
    expected = model(padded()).logits
    for left, right in ((0, 3), (2, 0), (1, 2)):
        found = model(torch.nn.functional.pad(padded(), (left, right))).logits
        torch.testing.assert_close(found, expected, **CLOSE)
    assert model(torch.tensor([[0, 0], [3, 4]])).logits.isfinite().all()


def test_labels_that_do_not_fit() -> None:
    model = model_of("narm")
    with pytest.raises(ValueError, match=r"labels of shape \(3,\) with every_position=True: expected \(batch, steps\)"):
        model(padded(), labels=torch.tensor([1, 2, 3]), every_position=True)
    with pytest.raises(ValueError, match=r"label 13 is none of the items 1\.\.12"):
        model(padded(), labels=padded() + 1, every_position=True)


def test_scores_between_0_and_1_cannot_tell_items_apart() -> None:
    model = model_of("stamp", sigmoid_scores=True)
    with torch.no_grad():
        model.reader.items.weight.mul_(100)
    probabilities = model(padded()).logits.softmax(dim=1)
    assert probabilities.max() <= torch.e / (torch.e + 11)  # one score of 1 among eleven of 0


def test_an_option_of_another_model() -> None:
    with pytest.raises(StrictDataclassError, match="sigmoid_scores=True with kind='narm'"):
        SessionBaselineConfig(sigmoid_scores=True)
