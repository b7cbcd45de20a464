"""Pictures of music: a piece and its prediction, and the gates of a unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForTokenClassification
from ctxzoo.tasks.polyphonic_music.continuation import predict_roll
from ctxzoo.tasks.polyphonic_music.picture import draw_gate_densities, draw_prediction, gate_draws
from ctxzoo.tasks.polyphonic_music.rolls import roll_of_notes

PIECE = roll_of_notes([[27, 43, 46], [], [29, 41], [29], [27, 43]])


def model(cell: str = "bibeta5", **options) -> BetaLstmForTokenClassification:
    torch.manual_seed(0)
    return BetaLstmForTokenClassification(
        BetaLstmConfig(cell=cell, hidden_size=7, input_size=88, num_labels=88, locked_dropout=0.5, **options)
    ).train()


def test_each_step_is_predicted_from_the_true_steps_before() -> None:
    one = model()
    found = predict_roll(one, PIECE)
    assert (found.shape, one.training) == ((4, 88), True)
    one.eval()
    for step in range(1, len(PIECE)):
        before = torch.from_numpy(PIECE[:step]).float().unsqueeze(0)
        with torch.no_grad():
            expected = one(inputs_embeds=before).logits[0, -1].sigmoid()
        np.testing.assert_allclose(found[step - 1], expected.numpy(), atol=1e-6)
    for wrong in (PIECE[:1], PIECE[:, :80]):
        with pytest.raises(ValueError, match=r"expected \(steps, 88\) with two steps or more"):
            predict_roll(one, wrong)


def test_the_prediction_stands_below_what_sounds(tmp_path: Path, drawn: list[Figure]) -> None:
    probabilities = predict_roll(model(), PIECE)
    draw_prediction(PIECE, probabilities, tmp_path / "p.png", title="a piece")
    above, below = (np.asarray(axes.images[0].get_array()) for axes in drawn[0].axes[:2])
    np.testing.assert_array_equal(above, PIECE[1:].T)
    np.testing.assert_array_equal(below, probabilities.T)
    assert drawn[0].axes[0].get_ylim() == drawn[0].axes[1].get_ylim()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"of the shape \(3, 88\) for a piece of 5 steps; expected \(4, 88\)"):
        draw_prediction(PIECE, probabilities[1:], tmp_path / "q.png")


def test_draws_of_a_unit_have_its_means_and_correlation() -> None:
    one = model()
    generator = torch.Generator().manual_seed(0)
    draws = gate_draws(one, PIECE, layer=1, unit=3, samples=4000, generator=generator)
    assert draws.shape == (4000 * 5, 2)
    assert ((draws > 0) & (draws < 1)).all()
    assert one.training
    with torch.no_grad():
        steps = torch.from_numpy(PIECE).float().unsqueeze(0)
        found = one.eval()(inputs_embeds=steps, output_gate_statistics=True).gate_statistics[1]
    means = [float(gate[0, :, 3].mean()) for gate in (found.input_gate, found.forget_gate)]
    np.testing.assert_allclose(draws.mean(axis=0), means, atol=0.01)
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(float(found.correlation[0, :, 3].mean()), abs=0.1)
    assert np.corrcoef(draws.T)[0, 1] < -0.1


@pytest.mark.parametrize(
    ("cell", "where", "message"),
    [
        ("lstm", {"layer": 0, "unit": 0}, "cell 'lstm' draws no Gamma variables; expected one of beta, bibeta3, bib"),
        ("bibeta3", {"layer": 2, "unit": 0}, r"layer is 2; expected 0\.\.1"),
        ("bibeta3", {"layer": 0, "unit": -1}, r"unit is -1; expected 0\.\.6"),
    ],
)
def test_gates_that_are_not_there(cell: str, where: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gate_draws(model(cell), PIECE, **where)


def test_a_panel_for_each_set_of_draws(tmp_path: Path, drawn: list[Figure]) -> None:
    along = np.linspace(0.01, 0.99, 500, dtype=np.float32)
    draws = {"before": np.stack([along, 1 - along], axis=1), "after": np.stack([along, along], axis=1)}
    draw_gate_densities(draws, tmp_path / "d.png", title="unit 3")
    titles = [axes.get_title(loc="left") for axes in drawn[0].axes]
    assert titles == ["before: correlation -1.00", "after: correlation +1.00"]
    cells = np.asarray(drawn[0].axes[1].collections[0].get_array()).reshape(40, 40)
    assert np.count_nonzero(cells) == np.count_nonzero(np.diag(cells)) == 40
    for nothing in ({}, {"before": along[:1, None]}):
        with pytest.raises(ValueError, match="nothing to draw"):
            draw_gate_densities(nothing, tmp_path / "e.png")
