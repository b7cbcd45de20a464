"""Every side does what it says; a quick run gives a whole table and a plot; what disagrees or dies leaves a note."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.image import imread

from benchmarks import by_length, passes, second_order_attention
from benchmarks.by_length import find_largest_difference, fit_growth_exponent
from benchmarks.passes import LAYER_PASSES
from benchmarks.reporting import read_rows
from benchmarks.second_order_attention import COMPARISONS, explain_missing_support
from benchmarks.second_order_sides import Runner, Side
from benchmarks.worker import WorkerEndedError
from ctxzoo.cli.doctor import find_cxx_compiler
from tests.benchmarks.worker_here import WorkerHere

SIZE = (2, 12, 16, "float32")  # B, n, m
HERE = [side for comparison in COMPARISONS for side in comparison.sides if side.implementation != "triton"]
EAGER = list(dict.fromkeys(replace(side, compiled=False, label="") for side in HERE))


@pytest.fixture(autouse=True)
def allocator_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "keep_freed_memory", lambda: False)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_length, "Worker", WorkerHere)
    monkeypatch.setattr(second_order_attention, "find_cxx_compiler", lambda: None)
    monkeypatch.setitem(passes.ROUND_SECONDS, "cpu", 0.0)


def made(side: Side) -> Runner:
    runner = Runner(side, "cpu")
    runner.resize(*SIZE)
    return runner


def answers(runner: Runner, folder: Path) -> dict[str, torch.Tensor]:
    runner.save_answers(str(folder / "answers.pt"))
    found: dict[str, torch.Tensor] = torch.load(folder / "answers.pt", weights_only=True)
    return found


@pytest.mark.parametrize("side", EAGER, ids=lambda side: f"{side.model}-{side.num_steps}-{side.rank}")
def test_a_pass_reaches_tokens_and_all_weights(side: Side, tmp_path: Path) -> None:
    runner = made(side)
    for name in LAYER_PASSES:
        runner.warm_up(name)
        assert runner.time_round(name) > 0
    found = answers(runner, tmp_path)
    weights = dict(runner.module.named_parameters())
    assert set(found) == {"output", "x", *weights}
    assert all(found[name].shape == weight.shape and found[name].any() for name, weight in weights.items())
    assert found["x"].shape == (2, 12, 16)
    expected = (2, 16) if side.model in ("contextualizer", "attention alone") else (2, 12, 16)
    assert found["output"].shape == expected
    assert runner.measure_peak_memory("forward and backward") > runner.measure_peak_memory("forward") > 0


@pytest.mark.parametrize("num_steps", [1, 5])
@pytest.mark.parametrize("implementation", ["plain", "recompute"])
def test_a_chosen_implementation_gives_what_the_layer_gives(
    num_steps: int, implementation: Any, tmp_path: Path
) -> None:
    side = Side("", "contextualizer", num_steps=num_steps)
    expected = answers(made(side), tmp_path)
    found = answers(made(replace(side, implementation=implementation)), tmp_path)
    assert set(found) == set(expected)
    assert find_largest_difference(found, expected)[1] < 1e-5
    other = answers(made(replace(side, num_steps=num_steps + 1)), tmp_path)
    assert find_largest_difference(other, expected)[1] > 1e-2


def test_a_step_more_costs_memory_only_without_recomputing() -> None:
    def step_more(implementation: Any) -> float:
        sides = (Side("", "contextualizer", num_steps=steps, implementation=implementation) for steps in (5, 6))
        five, six = (made(side).measure_peak_memory("forward and backward") for side in sides)
        return (six - five) * 2**20

    kept = 4 * 2 * 12 * (16 + 64)  # weights and products of all tokens
    assert kept <= step_more("plain") < 1.5 * kept
    assert 0 < step_more("recompute") < kept / 5


def test_the_floor_counts_every_tensor_once_a_pass() -> None:
    runner = made(Side("", "attention alone", rank=8))
    given = 4 * (2 * 12 * 16 + 2 * 12 * 8 + 2 * 8 + 16 * 8)  # x, p, q, W
    mask, output = 2 * 12, 4 * 2 * 16
    assert runner.count_moved_bytes("forward") == given + mask + output
    assert runner.count_moved_bytes("forward and backward") == 3 * given + 2 * mask + 3 * output
    assert runner.floor_seconds("forward") is None  # on a CPU there is no such floor


def test_largest_difference_is_relative_and_notices_nan() -> None:
    expected = {"output": torch.tensor([1.0, -10.0]), "x": torch.tensor([0.001, 0.0])}
    found = {"output": torch.tensor([1.5, -10.0]), "x": torch.tensor([0.0011, 0.0])}
    name, difference = find_largest_difference(found, expected)
    assert name == "x"
    assert difference == pytest.approx(0.1)
    assert find_largest_difference({**found, "output": torch.tensor([torch.nan, 0.0])}, expected) == (
        "output",
        float("inf"),
    )
    assert find_largest_difference(expected, expected)[1] == 0.0


def test_the_exponent_is_fitted_to_logarithms() -> None:
    assert fit_growth_exponent({n: 3e-6 * n**1.25 for n in (512, 1024, 2048, 4096)}) == pytest.approx(1.25)
    assert fit_growth_exponent({512: 3.0}) is None


@pytest.mark.usefixtures("in_this_process")
def test_quick_run_writes_a_whole_table_and_a_plot(tmp_path: Path) -> None:
    output = tmp_path / "quick.csv"
    second_order_attention.main(["--quick", "--output", str(output)])
    check_quick_run(output, skipped={"contextualizer, K = 5, compiled"})
    picture = imread(tmp_path / "quick.png").copy()
    (tmp_path / "quick.png").unlink()
    before = output.read_bytes()
    second_order_attention.main(["--redraw", "--output", str(output)])
    assert (imread(tmp_path / "quick.png") == picture).all()
    assert output.read_bytes() == before


@pytest.mark.slow
def test_quick_run_in_processes_of_their_own(tmp_path: Path) -> None:
    output = tmp_path / "quick.csv"
    second_order_attention.main(["--quick", "--comparisons", "attention alone", "--output", str(output)])
    check_quick_run(output, comparisons={"attention alone"})


@pytest.mark.slow
@pytest.mark.skipif(find_cxx_compiler() is None, reason="needs a C++ compiler")
def test_the_compiled_layer_gives_what_the_layer_gives(tmp_path: Path) -> None:
    side = Side("", "contextualizer", num_steps=2)
    runners = [Runner(one, "cpu") for one in (side, replace(side, compiled=True))]
    for length in (12, 7):
        for runner in runners:
            runner.resize(2, length, 16, "float32")
        expected, found = (answers(runner, tmp_path) for runner in runners)
        assert find_largest_difference(found, expected)[1] < 1e-4


ALL = {comparison.name for comparison in COMPARISONS}


def check_quick_run(output: Path, comparisons: Set[str] = ALL, skipped: Set[str] = frozenset()) -> None:
    rows = {(row["comparison"], row["side"], row["pass"], row["length"]): row for row in read_rows(output)}
    expected = {
        (comparison.name, side.label, name, length)
        for comparison in COMPARISONS
        if comparison.name in comparisons
        for side in comparison.sides
        for name in ("forward", "forward and backward")
        for length in ("8", "16")
        if side.implementation != "triton"
    }
    assert set(rows) == expected
    for (comparison, label, name, length), row in rows.items():
        if label in skipped:
            assert row["seconds"] == row["ratio"] == row["peak_memory_mb"] == ""
            assert row["note"] == "skipped: torch.compile finds no C++ compiler"
            continue
        reference = rows[comparison, row["reference"], name, length]
        assert float(row["ratio"]) == pytest.approx(float(reference["seconds"]) / float(row["seconds"]), rel=1e-3)
        assert float(row["peak_memory_mb"]) > 0
        assert row["exponent"] == row["floor_seconds"] == row["note"] == ""
        assert (row["device"], row["precision"], row["threads"], row["width"]) == ("cpu", "float32", "1", "16")
        assert row["commit"]


@pytest.mark.usefixtures("in_this_process")
def test_a_side_that_disagrees_is_never_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(WorkerHere):
        def ask(self, name: str, *arguments: Any) -> Any:
            if name == "save_answers" and self.side.implementation == "recompute":
                with torch.no_grad():
                    self.runner.module.weight.mul_(1.1)
            return super().ask(name, *arguments)

    monkeypatch.setattr(by_length, "Worker", Wrong)
    output = tmp_path / "quick.csv"
    second_order_attention.main(["--quick", "--comparisons", "attention alone", "--output", str(output)])
    for row in read_rows(output):
        assert bool(row["seconds"]) == (row["side"] != "recompute")
        assert ("left out" in row["note"]) == (row["side"] == "recompute")
    assert not (tmp_path / "quick.png").exists()  # no layers, nothing to draw


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("moment", ["save_answers", "time_round"])
def test_a_side_that_dies_leaves_a_note(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(WorkerHere):
        length = 0

        def ask(self, name: str, *arguments: Any) -> Any:
            if name == "resize":
                self.length = arguments[1]
            due = name == "save_answers" or self.length == 16
            if name == moment and due and self.side.implementation == "recompute":
                raise WorkerEndedError(f"recompute: the process ended with status -9 at {name!r}")
            return super().ask(name, *arguments)

    monkeypatch.setattr(by_length, "Worker", Dying)
    output = tmp_path / "quick.csv"
    second_order_attention.main(["--quick", "--comparisons", "five steps", "--output", str(output)])
    rows = read_rows(output)
    assert all(("status -9" in row["note"]) != bool(row["seconds"]) for row in rows if row["side"] == "recompute")
    measured = {(row["side"], row["length"]) for row in rows if row["seconds"]}
    if moment == "save_answers":  # before anything is timed: the others go on
        assert measured == {("plain", "8"), ("plain", "16"), ("closed form", "8"), ("closed form", "16")}
        assert all(row["note"] == "" and row["peak_memory_mb"] for row in rows if row["side"] != "recompute")
    else:
        assert measured == {("plain", "8"), ("closed form", "8"), ("recompute", "8")}


def test_what_cannot_run_here_is_known_before() -> None:
    assert explain_missing_support(Side("", "contextualizer"), "cpu") == ""
    assert "Triton" in explain_missing_support(Side("", "attention alone", implementation="triton"), "cpu")


def test_a_width_that_heads_do_not_divide(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        second_order_attention.main(["--width", "20"])
    assert "--width 20 is no multiple of 8" in capsys.readouterr().err


def test_quick_numbers_never_replace_results() -> None:
    with pytest.raises(SystemExit):
        second_order_attention.main(["--quick"])
