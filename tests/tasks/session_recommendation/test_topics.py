from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.tasks.session_recommendation import topic_items, topics

SIZES: dict[str, Any] = {"num_items": 4, "embedding_size": 3, "hidden_size": 5}


def test_items_stand_with_a_topic_by_its_weight_in_their_own_session(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = HcrnnForNextItem(HcrnnConfig(**SIZES, num_topics=3, item_names=["tea", "soup", "bread", "rice"])).train()
    monkeypatch.setattr(topics, "SESSIONS", 3)  # parts of two sizes
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
