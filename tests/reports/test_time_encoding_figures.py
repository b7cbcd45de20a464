"""The picture of LSTE's kernel, from a model that was not trained."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent
from ctxzoo.tasks.next_event import HistoryDataModule, time_kernel
from tests.support.recipe_here import recipe_here

EVENTS = 7


def test_the_longest_history_is_drawn_from_its_start(tmp_path: Path) -> None:
    data = HistoryDataModule("sample")
    data.setup()
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "word_dim": 8, "num_heads": 2, "num_layers": 1}
    config = TimeEncoderConfig(**data.model_sizes(), **sizes, position="lste", time_combine="add", causal=True)
    model = TimeEncoderForNextEvent(config)
    model.save_pretrained(tmp_path / "checkpoint")
    options = ("--checkpoint", "checkpoint", "--dataset", "sample", "--events", str(EVENTS))
    made = recipe_here(tmp_path, *options, name="time_encoding_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "time_encoding_figures"
    assert (folder / "kernel.png").read_bytes()[:4] == b"\x89PNG"
    with (folder / "kernel.csv").open(encoding="utf-8", newline="") as file:
        rows = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    history = max(data.sequences("validation"), key=len)
    times = history.times[:EVENTS].tolist()
    expected = time_kernel(model, [data.names[row - 1] for row in history.events[:EVENTS]], times)[0]
    assert [row[0] for row in rows] == pytest.approx([(time - times[0]) / config.time_unit for time in times], abs=1e-4)
    assert [row[1] for row in rows] == pytest.approx(expected.diagonal(), abs=1e-4)
    assert [row[2] for row in rows] == pytest.approx(expected[:, 0], abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--checkpoint names nothing"),
        (("--checkpoint", "x", "--only", "power"), "unknown 'power'; known: kernel"),
        (("--checkpoint", "x", "--events", "1"), "events=1: expected 2 or more"),
    ],
)
def test_bad_options_are_named(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    refused = recipe_here(tmp_path, *options, name="time_encoding_figures")
    assert refused.returncode != 0
    assert message in refused.stderr
