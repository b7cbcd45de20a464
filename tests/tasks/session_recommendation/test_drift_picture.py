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
from ctxzoo.tasks.session_recommendation import draw_drift, drift_gates

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
