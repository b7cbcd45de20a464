"""A quick run gives a whole table; sides that disagree are never timed; switches change the way, not the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import sides, training_step
from benchmarks.reporting import read_rows
from benchmarks.sides import Runner, Side, build_model
from benchmarks.training_step import COMPARISONS, DisagreementError, choose_questions, find_largest_difference
from benchmarks.worker import WorkerEndedError
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.layers_bidaf import CharCnn
from ctxzoo.models.layers_recurrent import MaskedBiRNN
from tests.benchmarks.test_textbook_bidaf import CONFIGS, make_batch
from tests.benchmarks.worker_here import WorkerHere


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A file as `write_inputs` makes it."""
    config = CONFIGS["learned_char7"]
    torch.manual_seed(0)
    batch = make_batch(config)
    batch |= {"start_positions": torch.tensor([2, 0, 11, 0]), "end_positions": torch.tensor([3, 0, 11, 0])}
    fields = {name: getattr(config, name) for name in BidafConfig.__annotations__ if name != "model_type"}
    weights = sides.BidafForQuestionAnswering(config).state_dict()
    file = tmp_path / "inputs.pt"
    torch.save({"config": fields, "weights": weights, "bucketed": [batch], "shuffled": [batch]}, file)
    return file


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `use_slower_functions` replaces comes back after the test; the allocator is left alone."""
    monkeypatch.setattr(sides.layers_bidaf, "dropout", sides.layers_bidaf.dropout)
    monkeypatch.setattr(CharCnn, "forward", CharCnn.forward)
    monkeypatch.setattr(MaskedBiRNN, "forward", MaskedBiRNN.forward)
    monkeypatch.setattr(sides, "keep_freed_memory", lambda: False)


OTHERS = {comparison.other.label: comparison.other for comparison in COMPARISONS}


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("label", OTHERS)
def test_every_side_answers_as_ctxzoo_does_and_trains(label: str, inputs: Path) -> None:
    ours = Runner(Side("ctxzoo"), inputs, "cpu").compute_answers()
    side = OTHERS[label]
    runner = Runner(side, inputs, "cpu")
    half = side.precision != "32-true"
    assert find_largest_difference(ours, runner.compute_answers(), label, half=half) <= (0.05 if half else 1e-4)
    before = [weight.detach().clone() for weight in runner.model.parameters() if weight.requires_grad]
    assert runner.time_round("evaluation") > 0
    assert runner.time_round("training") > 0
    after = [weight for weight in runner.model.parameters() if weight.requires_grad]
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True) if old.numel() > 1)


@pytest.mark.usefixtures("restored")
def test_switches_take_another_way(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for owner, name in ((sides.layers_bidaf, "unique_rows"), (sides, "compute_packed_states_of_mask")):
        before = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *args, _before=before, _name=name: (calls.append(_name), _before(*args))[1]
        )
    plain = Side("ctxzoo")
    Runner(plain, inputs, "cpu").time_round("evaluation")
    assert set(calls) == {"unique_rows"}
    calls.clear()
    Runner(replace(plain, characters="every word", recurrent="packed"), inputs, "cpu").time_round("evaluation")
    assert set(calls) == {"compute_packed_states_of_mask"}


def test_disagreement_is_an_error() -> None:
    ours = {"shuffled.loss": torch.tensor(1.0), "shuffled.span": torch.tensor([-1.0, -4.0])}
    with pytest.raises(DisagreementError, match=r"a and b differ by 0\.01 in shuffled\.loss"):
        find_largest_difference(ours, {**ours, "shuffled.loss": torch.tensor(1.01)}, "a and b", half=False)
    other = {**ours, "shuffled.span": torch.tensor([-1.0, -4.001])}
    with pytest.raises(DisagreementError, match=r"shuffled\.span"):
        find_largest_difference(ours, other, "a and b", half=False)
    assert find_largest_difference(ours, other, "a and b", half=True) < 1e-4
    with pytest.raises(DisagreementError, match="differ by nan"):
        find_largest_difference(ours, {**ours, "shuffled.loss": torch.tensor(torch.nan)}, "a and b", half=True)


def test_damaged_weights_are_noticed(inputs: Path) -> None:
    stored = torch.load(inputs, weights_only=True)
    ours = Runner(Side("ctxzoo", keep_freed_memory=False), inputs, "cpu")
    found = ours.compute_answers()
    stored["weights"]["bidaf.highway.gates.0.bias"] += 1.0
    ours.model = build_model("starter", ours.config, stored["weights"])
    with pytest.raises(DisagreementError):
        find_largest_difference(found, ours.compute_answers(), "ctxzoo and starter", half=False)


def test_chosen_questions_go_from_long_to_short_without_repetition() -> None:
    lengths = np.random.default_rng(0).integers(10, 400, 1003)
    chosen = choose_questions(lengths, 10, 4)
    assert chosen.shape == (4, 10)
    assert len(set(chosen.flatten().tolist())) == 40
    assert (np.diff(lengths[chosen].mean(axis=1)) < 0).all()
    with pytest.raises(ValueError, match="30 questions make 3 full batches of 10, 4 are needed"):
        choose_questions(lengths[:30], 10, 4)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("own_processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_quick_run_writes_a_whole_table(own_processes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not own_processes:
        monkeypatch.setattr(training_step, "Worker", WorkerHere)
    output = tmp_path / "quick.csv"
    training_step.main(["--quick", "--comparisons", "starter", "--variants", "learned_char7", "--output", str(output)])
    rows = read_rows(output)
    assert [row["phase"] for row in rows] == ["evaluation", "training"]
    for row in rows:
        assert row["ours"] == "ctxzoo"
        assert row["other"] == "starter"
        assert float(row["ratio"]) == pytest.approx(float(row["other_seconds"]) / float(row["our_seconds"]), rel=1e-3)
        assert float(row["our_examples_per_second"]) == pytest.approx(4 / float(row["our_seconds"]), rel=1e-3)
        assert float(row["our_peak_memory_mb"]) > 50
        assert float(row["largest_difference"]) <= 1e-4
        assert row["commit"]
        assert row["torch"].split("+")[0] == torch.__version__.split("+")[0]
        assert row["note"] == ""


@pytest.mark.usefixtures("restored")
def test_a_side_that_dies_leaves_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(WorkerHere):
        def ask(self, name: str, *arguments: Any) -> Any:
            if "training" in arguments and self.side.model == "textbook":
                raise WorkerEndedError(f"textbook: the process ended with status -9 at {name!r}")
            return super().ask(name, *arguments)

    monkeypatch.setattr(training_step, "Worker", Dying)
    output = tmp_path / "quick.csv"
    training_step.main(["--quick", "--comparisons", "textbook", "--variants", "baseline", "--output", str(output)])
    evaluation, training = read_rows(output)
    assert float(evaluation["ratio"]) > 0
    assert evaluation["note"] == ""
    assert training["ratio"] == ""
    assert "status -9" in training["note"]


def test_quick_numbers_never_replace_results() -> None:
    with pytest.raises(SystemExit):
        training_step.main(["--quick"])
