"""The drift gate and the topics of HCRNN; the time kernel is asked in test_event_run.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.tasks.sequences import pictures
from ctxzoo.tasks.session_recommendation import draw_drift, drift_gates, topic_items

SIZES: dict[str, Any] = {"num_items": 4, "embedding_size": 3, "hidden_size": 5}
NAMES = ["tea", "$soup$", "a name that is longer than any label", "bread"]


def model_of(**fields: Any) -> HcrnnForNextItem:
    torch.manual_seed(0)
    return HcrnnForNextItem(HcrnnConfig(**SIZES, num_topics=2, item_names=NAMES, **fields)).train()


def test_gates_are_those_of_the_model() -> None:
    model = model_of()
    found = drift_gates(model, ["tea", "bread", "tea"])
    assert model.training
    expected = model.eval()(torch.tensor([[1, 4, 1]])).drift_gate[0].detach().numpy()
    assert found.shape == (3, 5)
    np.testing.assert_array_equal(found, expected)


def test_a_picture(tmp_path: Path) -> None:
    draw_drift(model_of(version=2), [*NAMES, "tea"], tmp_path / "drift.png", title="$not math")
    assert (tmp_path / "drift.png").read_bytes()[:4] == b"\x89PNG"


def test_models_without_a_drift_gate() -> None:
    with pytest.raises(ValueError, match="this HcrnnForNextItem has no drift gate; expected HCRNN-2 or HCRNN-3"):
        drift_gates(model_of(version=1), ["tea"])
    with pytest.raises(ValueError, match="this SessionBaselineForNextItem has no drift gate"):
        drift_gates(SessionBaselineForNextItem(SessionBaselineConfig(**SIZES)), [1])
    with pytest.raises(ValueError, match="does not know the item 'gold'"):
        drift_gates(model_of(), ["gold"])


def test_items_stand_with_a_topic_by_its_weight_in_their_own_session(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = HcrnnForNextItem(HcrnnConfig(**SIZES, num_topics=3, item_names=["tea", "soup", "bread", "rice"])).train()
    monkeypatch.setattr(pictures, "SESSIONS_AT_ONCE", 3)  # parts of two sizes
    found = topic_items(model, 2)
    assert model.training
    theta = model.eval()(torch.tensor([[1], [2], [3], [4]])).theta
    assert len(found) == 3
    for topic, pairs in enumerate(found):
        order = theta[:, topic].sort(descending=True)
        assert [name for name, _ in pairs] == [model.config.item_names[row] for row in order.indices[:2]]
        assert [weight for _, weight in pairs] == pytest.approx(order.values[:2].tolist())


def test_what_has_no_topics_is_refused() -> None:
    with pytest.raises(ValueError, match="a SessionBaselineForNextItem has no topics; expected an HcrnnForNextItem"):
        topic_items(SessionBaselineForNextItem(SessionBaselineConfig(**SIZES)))
    with pytest.raises(ValueError, match="k is 5; expected 1 to 4, the number of items"):
        topic_items(HcrnnForNextItem(HcrnnConfig(**SIZES, num_topics=2)))
