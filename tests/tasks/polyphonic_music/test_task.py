from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForTokenClassification
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule, build_model_inputs
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, build_paper_experiment, set_dataset_and_cell
from ctxzoo.tasks.polyphonic_music.midi import Grid, write_midi
from ctxzoo.tasks.polyphonic_music.problem import POLYPHONIC_MUSIC
from ctxzoo.tasks.polyphonic_music.rolls import roll_of_notes
from ctxzoo.tasks.polyphonic_music.task import (
    MusicScores,
    PolyphonicMusicTask,
    compute_annealing_factor,
    compute_step_losses,
    evaluate,
    piece_scores,
)
from tests.support.own_trainings import config_of

SIZES = {"input_size": 88, "num_labels": 88}


def task(cell: str = "lstm", **options) -> PolyphonicMusicTask:
    torch.manual_seed(0)
    config = {"model_type": "ctxzoo_beta_lstm", "cell": cell, "hidden_size": 5, "num_layers": 2, **SIZES}
    config |= {name: options.pop(name) for name in ("kl_lambda",) if name in options}
    return PolyphonicMusicTask(config, **options)


def batch() -> dict[str, torch.Tensor]:
    pieces = [[[3, 40], [40], [], [41, 87]], [[0], [1]]]
    return {**build_model_inputs([roll_of_notes(piece) for piece in pieces]), "row": torch.tensor([4, 9])}


def test_the_divergence_is_logged_for_each_step_and_is_nothing_without_steps(monkeypatch: pytest.MonkeyPatch):
    one = task("bibeta5", kl_lambda=2.0)
    one.model.eval()
    logged: dict[str, float] = {}
    monkeypatch.setattr(one, "log", lambda name, value, **_: logged.update({name: float(value)}))
    given = batch()
    one.compute_training_loss(given)
    output = one.model(inputs_embeds=given["inputs_embeds"], attention_mask=given["attention_mask"])
    assert logged["train/kl"] == pytest.approx(output.kl.sum().item() / 4)  # 3 + 1 steps that are read
    assert one.compute_training_loss(build_model_inputs([roll_of_notes([[3]])])).item() == 0
    assert logged["train/kl"] == 0


@pytest.mark.parametrize("key", [-1, 88])
def test_keys_that_a_piano_does_not_have(key: int, tmp_path: Path):
    message = rf"step 1 has the key {key}; expected 0\.\.87"
    with pytest.raises(ValueError, match=message):
        roll_of_notes([[3], [4, key]])
    with pytest.raises(ValueError, match=message):
        write_midi([[3], [4, key]], tmp_path / "piece.mid", Grid(1))
    assert not list(tmp_path.iterdir())


def test_scores_by_hand():
    scores = MusicScores()
    logits = torch.full((3, 88), -2.0)
    labels = torch.zeros(3, 88)
    logits[0, 5], labels[0, 5] = 1.0, 1.0  # predicted and sounding
    labels[1, 6] = 1.0  # missed
    logits[2, 7] = 3.0  # predicted, silent
    silent = math.log1p(math.exp(-2.0))
    losses = [87 * silent + math.log1p(math.exp(-1)), 87 * silent + 2 + silent, 87 * silent + math.log1p(math.exp(3))]
    assert compute_step_losses(logits, labels).tolist() == pytest.approx(losses, rel=1e-6)
    scores.update(logits[:1], labels[:1])
    scores.update(logits[1:], labels[1:])
    found = scores.compute()
    assert found["nll"] == pytest.approx(sum(losses) / 3, rel=1e-6)  # of steps, not of batches
    assert found["frame_accuracy"] == pytest.approx(100 / 3, rel=1e-6)


def test_half_everywhere_is_88_times_log_2():
    assert compute_step_losses(torch.zeros(1, 88), torch.ones(1, 88)).item() == pytest.approx(60.997, abs=5e-4)


def test_a_certain_mistake_is_finite():
    assert compute_step_losses(torch.full((1, 88), 200.0), torch.zeros(1, 88)).item() == pytest.approx(88 * 200.0)


def test_the_objective_is_the_sum_over_a_piece():
    one = task()
    one.model.eval()
    full = batch()
    logits = one.model(inputs_embeds=full["inputs_embeds"], attention_mask=full["attention_mask"]).logits
    losses = compute_step_losses(logits, full["labels"]) * full["attention_mask"]
    assert one.compute_training_loss(full).item() == pytest.approx(losses.sum().item() / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "epoch", "weight"),
    [
        ("constant", 0, 1.0),
        ("linear", 0, 0.0),
        ("linear", 10, 0.25),
        ("linear", 90, 1.0),
        ("logistic", 40, 0.5),
        ("logistic", 0, 1 / (1 + math.exp(8))),
    ],
)
def test_annealing(kind, epoch, weight):
    assert compute_annealing_factor(kind, epoch, 40) == pytest.approx(weight)


def test_the_prior_counts_by_its_annealed_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name, options in (("none", {}), ("whole", {"kl_lambda": 2.0}), ("linear", {"kl_lambda": 2.0})):
        annealing = {"kl_annealing": "linear", "kl_annealing_epochs": 4} if name == "linear" else {}
        one = task("bibeta5", **options, **annealing)
        monkeypatch.setattr(one, "log", lambda *_, **__: None)
        monkeypatch.setattr(PolyphonicMusicTask, "current_epoch", 1)
        one.model.eval()
        found[name] = one.compute_training_loss(batch()).item()
    assert found["whole"] > found["none"] + 1
    assert found["linear"] == pytest.approx(found["none"] + (found["whole"] - found["none"]) / 4, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"divide_by": 0.5}, "divide_by=0.5"),
        ({"divide_by": 1.2, "halve_after": 2}, "choose one schedule"),
        ({"kl_annealing": "cosine"}, "kl_annealing='cosine'.*constant, linear, logistic"),
        ({"kl_annealing": "linear", "kl_annealing_epochs": 0}, "kl_annealing_epochs=0"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        task(**options)


def test_scores_do_not_depend_on_batches_and_pieces_sum_up():
    config = BetaLstmConfig(cell="bibeta5", hidden_size=5, **SIZES)
    torch.manual_seed(0)
    model = BetaLstmForTokenClassification(config)
    how = {"progress": False, "accelerator": "cpu"}
    one = evaluate(model, "sample", batch_size=1, **how)
    many = evaluate(model, "sample", batch_size=20, **how)
    assert set(one) == {"nll", "frame_accuracy"}
    assert one == pytest.approx(many, rel=1e-5)
    data = PolyphonicMusicDataModule("sample")
    data.setup()
    pieces = piece_scores(model, data, accelerator="cpu")
    assert [piece.row for piece in pieces] == list(range(20))
    assert [piece.steps for piece in pieces] == (data.pieces("test").lengths() - 1).tolist()
    total = sum(piece.nll for piece in pieces) / sum(piece.steps for piece in pieces)
    assert total == pytest.approx(one["nll"], rel=1e-5)


# With the output layer; spec of the sizes: docs/models/beta_lstm.md.
PARAMETERS = {"lstm": 569_688, "g2": 569_688, "coupled": 567_560, "beta": 567_774, "bibeta3": 565_249}


@pytest.mark.parametrize(
    ("cell", "parameters"), [*PARAMETERS.items(), ("bibeta5", 566_336), ("bibeta5_prior", 566_336)]
)
def test_cells_have_the_authors_sizes(cell: str, parameters: int) -> None:
    experiment = set_dataset_and_cell(build_paper_experiment(), "jsb_chorales", cell)
    model = BetaLstmForTokenClassification(BetaLstmConfig(**{**config_of(experiment), **SIZES}))
    assert sum(one.numel() for one in model.parameters()) == parameters
    settings = experiment.settings()
    assert settings["hidden_size"] == model.config.hidden_size
    assert settings["locked_dropout"] == (0.2 if cell.startswith("bibeta") else 0.1)
    assert settings["kl_lambda"] == (1.0 if cell == "bibeta5_prior" else 0.0)


def test_settings_of_a_run():
    def run(dataset: str, cell: str = "bibeta5_prior", **changes):
        experiment = build_paper_experiment().copy_with(recipe="r", tag="own", seed=3, **changes)
        return ExperimentRun(POLYPHONIC_MUSIC, set_dataset_and_cell(experiment, dataset, cell))

    assert config_of(run("piano_midi").experiment)["kl_lambda"] == 1e-3
    assert config_of(run("piano_midi", kl_lambda=0.5).experiment)["kl_lambda"] == 0.5
    assert run("piano_midi").results_file.name == "bibeta5_prior-polyphonic_music-test-seed3-piano_midi-own.json"
    assert config_of(run("sample", "lstm", hidden_size=9, num_layers=1).experiment)["hidden_size"] == 9
    assert run("sample").trainer.gradient_clip == 1.0
    assert run("sample").experiment.data.batch_size == 1
    assert set(CELLS) >= {"lstm", "coupled", "g2", "noisin", "beta", "bibeta3", "bibeta5", "bibeta5_prior"}
    with pytest.raises(ValueError, match="unknown cell 'gru'; known: lstm, "):
        run("sample", "gru")
    with pytest.raises(ValueError, match=r"learning_rate=-1\.0"):
        run("sample", learning_rate=-1.0)
