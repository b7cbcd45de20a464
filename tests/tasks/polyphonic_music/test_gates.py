"""The gates of models of music: what is averaged, the start of a training, and the run that writes both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lightning
import pytest
import torch

from ctxzoo.hub.published import read_published_entries
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForTokenClassification
from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.polyphonic_music.card import CARD
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.gates import GatesRun, gates_of_split, rebuild_initial_model, set_gates_to_half
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.tasks.polyphonic_music.test_run import run


def model(cell: str = "bibeta5") -> BetaLstmForTokenClassification:
    torch.manual_seed(0)
    return BetaLstmForTokenClassification(BetaLstmConfig(cell=cell, hidden_size=5, input_size=88, num_labels=88))


def music(batch_size: int = 8) -> PolyphonicMusicDataModule:
    data = PolyphonicMusicDataModule("sample", eval_batch_size=batch_size)
    data.setup()
    return data


def test_every_step_of_every_piece_counts_once() -> None:
    one, data = model(), music()
    layers = gates_of_split(one, data, samples=20)
    steps: list[list[torch.Tensor]] = [[], []]
    for row in range(len(data.pieces("test"))):
        roll = torch.from_numpy(data.pieces("test").roll(row)[:-1]).float().unsqueeze(0)
        found = one.eval()(inputs_embeds=roll, output_gate_statistics=True).gate_statistics
        for number, layer_found in enumerate(found):
            steps[number].append(layer_found.forget_gate[0].double())
    for layer, of_layer in zip(layers, map(torch.cat, steps), strict=True):
        torch.testing.assert_close(layer.forget_gate, of_layer.mean(dim=0), rtol=1e-5, atol=1e-6)
        deviation = of_layer.std(dim=0, correction=0)
        torch.testing.assert_close(layer.forget_gate_deviation, deviation, rtol=1e-4, atol=1e-6)
        assert deviation.min() > 1e-4
        assert layer.correlation.shape == layer.input_gate.shape == (5,)
    assert one.training is False


def test_they_do_not_depend_on_batches_but_for_the_draws() -> None:
    one = model()
    few, many = (gates_of_split(one.train(), music(size), samples=100)[1] for size in (1, 20))
    torch.testing.assert_close(few.input_gate, many.input_gate, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(few.correlation, many.correlation, rtol=0, atol=0.02)
    assert one.training is True


def test_a_new_model_has_the_correlation_of_its_cell() -> None:
    # Of pre-activations near 0, by 6 million draws: see the page of the architecture.
    for cell, correlation in (("bibeta5", -0.22), ("bibeta3", 0.46), ("beta", 0.0)):
        metrics = gates_of_split(model(cell), music(), samples=100)[0].metrics()
        assert metrics["correlation"] == pytest.approx(correlation, abs=0.05)
        assert metrics["dead_fraction"] == 0.0


@pytest.mark.parametrize("cell", ["beta", "bibeta3", "bibeta5"])
def test_even_gates_are_a_half_at_every_step(cell: str) -> None:
    one, data = model(cell), music()
    even = set_gates_to_half(one)
    for layer in gates_of_split(even, data, samples=2):
        for gate in ("input_gate", "forget_gate"):
            torch.testing.assert_close(getattr(layer, gate), torch.full((5,), 0.5, dtype=torch.float64))
            assert float(getattr(layer, f"{gate}_deviation").max()) < 1e-6
    rows = slice(-10, None)  # those of o and g
    for after, before in zip(even.parameters(), one.parameters(), strict=True):
        assert torch.equal(after[rows], before[rows])
    assert bool((one.base_model.rnn.weight_ih_l0 != 0).all())


def test_cards_tell_what_the_gates_of_the_published_model_are_worth() -> None:
    committed = REPOSITORY_ROOT / "results" / "music_gates"
    result = read_result(committed / "bibeta5_prior-polyphonic_music-test-seed0-jsb_chorales.json")
    folder = REPOSITORY_ROOT / "model_cards" / "beta-lstm-chorales"
    trained = read_result(read_published_entries(REPOSITORY_ROOT)[folder].result)
    assert result.metrics["test/nll"] == pytest.approx(trained.metrics["test/nll"], abs=1e-4)
    even, own = (f"{result.metrics[name]:.4f}" for name in ("test/even_gates/nll", "test/nll"))
    told = f"give {even} nats of a step in place of {own}"
    assert told in (folder / "README.md").read_text(encoding="utf-8")
    told_of = [" ".join(CARD.describe_limits(BetaLstmConfig(kl_lambda=weight), {})) for weight in (1.0, 0.1)]
    assert [told in text for text in told_of] == [True, False]


def test_cells_that_draw_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="cell 'g2' has no Gamma variables"):
        set_gates_to_half(model("g2"))
    with pytest.raises(ValueError, match="cell 'lstm' draws no gates"):
        gates_of_split(model("lstm"), music())


def test_the_start_is_that_of_the_training(tmp_path: Path) -> None:
    training = run(tmp_path, learning_rate=0.02)
    data = training.build_data()
    data.setup()
    lightning.seed_everything(training.experiment.seed, verbose=False)
    first = training.build_task(data, 1).model
    again = rebuild_initial_model(first, training.experiment.seed)
    for name, value in first.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
    assert not torch.equal(rebuild_initial_model(first, 1).classifier.weight, first.classifier.weight)


@pytest.mark.slow
def test_a_run_tells_both_and_is_kept_until_the_weights_are_others(tmp_path: Path) -> None:
    training = run(tmp_path, epochs=2, learning_rate=0.05)
    results_dir = str(tmp_path / "results")
    gates = GatesRun(recipe="gates", commit="0123abc", trained=training, samples=20, results_dir=results_dir)
    with pytest.raises(FileNotFoundError, match=r"no checkpoint in .*; train it with recipes/trial\.py"):
        execute(gates)
    execute(training)
    result = execute(gates)
    assert (result.variant, result.seed, result.recipe) == ("bibeta5_prior", 0, "gates")
    for layer in (1, 2):
        before, after = (result.metrics[f"test/layer{layer}/{start}correlation"] for start in ("start/", ""))
        assert before == pytest.approx(-0.22, abs=0.05)
        assert -1 < after < 1
        assert after != before
    assert result.metrics["test/nll"] == pytest.approx(read_result(training.results_file).metrics["test/nll"])
    assert result.metrics["test/even_gates/nll"] != result.metrics["test/nll"]
    assert execute(gates, resume=True) == result
    execute(replace(training, experiment=training.experiment.copy_with(learning_rate=0.04)))
    assert execute(gates, resume=True) != result
