from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForTokenClassification
from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
from ctxzoo.tasks.polyphonic_music.picture import draw_roll
from ctxzoo.tasks.polyphonic_music.rolls import roll_of_notes

PROMPT = roll_of_notes([[27, 43, 46], [], [29, 41]])


@pytest.fixture(scope="module")
def model() -> BetaLstmForTokenClassification:
    torch.manual_seed(0)
    return BetaLstmForTokenClassification(
        BetaLstmConfig(cell="bibeta5", hidden_size=7, input_size=88, num_labels=88, locked_dropout=0.5)
    ).train()


def drawn(model, steps: int = 6, seed: int = 0, **options) -> np.ndarray:
    return continue_roll(model, PROMPT, steps, generator=torch.Generator().manual_seed(seed), **options)


def test_each_step_is_drawn_from_what_the_model_gives_for_all_before(model) -> None:
    found = drawn(model)
    assert (found.shape, found.dtype) == ((6, 88), np.bool_)
    generator = torch.Generator().manual_seed(0)
    model.eval()
    for step in range(6):
        whole = torch.from_numpy(np.concatenate([PROMPT, found[:step]])).float()
        with torch.no_grad():
            probabilities = model(inputs_embeds=whole.unsqueeze(0)).logits[0, -1].sigmoid()
        assert (torch.bernoulli(probabilities, generator=generator).bool().numpy() == found[step]).all()
    model.train()


def test_the_generator_decides_and_the_model_stays_in_its_mode(model) -> None:
    state = torch.get_rng_state()
    assert (drawn(model) == drawn(model)).all()
    assert (drawn(model) != drawn(model, seed=1)).any()
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training


def test_a_threshold_draws_nothing(model) -> None:
    with torch.no_grad():
        logits = model.eval()(inputs_embeds=torch.from_numpy(PROMPT).float().unsqueeze(0)).logits[0, -1]
    middle = float(logits.sigmoid().median())
    found = continue_roll(model, PROMPT, 1, threshold=middle)
    assert (found[0] == (logits.sigmoid() >= middle).numpy()).all()
    assert 0 < found.sum() < 88


def test_a_low_temperature_is_a_threshold_of_a_half(model) -> None:
    with torch.no_grad():
        model.classifier.bias.normal_(std=3.0, generator=torch.Generator().manual_seed(1))
    assert (drawn(model, temperature=1e-4) == continue_roll(model, PROMPT, 6, threshold=0.5)).all()
    assert (drawn(model, temperature=3.0) != drawn(model, temperature=1e-4)).any()


def test_no_step_is_no_step(model) -> None:
    assert drawn(model, steps=0).shape == (0, 88)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": np.zeros((0, 88), np.bool_)}, r"shape \(0, 88\); expected \(steps, 88\) with one step or more"),
        ({"prompt": np.zeros((3, 87), np.bool_)}, r"shape \(3, 87\)"),
        ({"steps": -1}, "steps is -1"),
        ({"temperature": 0.0}, r"temperature is 0\.0"),
        ({"threshold": 1.0}, r"threshold is 1\.0"),
    ],
)
def test_bad_numbers_are_named(model, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        continue_roll(model, **{"prompt": PROMPT, "steps": 2, **options})


def test_pictures(tmp_path: Path) -> None:
    from matplotlib import image

    draw_roll(PROMPT, PROMPT[:1], tmp_path / "a.png", title="$a piece")
    assert image.imread(tmp_path / "a.png").ndim == 3
    draw_roll(PROMPT[:0], np.zeros((2, 88), np.bool_), tmp_path / "silent.png")
    assert (tmp_path / "silent.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="there is no step to draw"):
        draw_roll(PROMPT[:0], PROMPT[:0], tmp_path / "none.png")
    with pytest.raises(ValueError, match=r"a name that ends in \.png"):
        draw_roll(PROMPT, PROMPT, tmp_path / "a.jpg")
