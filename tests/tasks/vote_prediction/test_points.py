"""Ideal points with standard errors: against the information of all parameters, coverage on made votes, sign, files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.sparse import csr_array

from ctxzoo.cli.main import main
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction
from ctxzoo.tasks.vote_prediction import ideal_points
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.points import (
    estimate_standard_errors,
    keep_ideal_points,
    list_ideal_points,
    orient_points,
)
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION


def data_of(votes: np.ndarray[Any, Any], words: int = 2) -> VoteDataModule:
    """A DataModule whose training votes (bills, legislators) are given."""
    bills, legislators = votes.shape
    data = VoteDataModule("none", legislator_names=[f"L{n}" for n in range(legislators)])
    data.observed, data.bill_ids = votes.astype(np.float32), np.arange(bills)
    data.bags = csr_array(np.random.default_rng(1).integers(0, 3, size=(bills, words)).astype(np.float32))
    return data


def make_votes(legislators: int, bills: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Draw true points (U,), scaled, and votes (D, U) of one dimension, of which a tenth is missing."""
    draws = np.random.default_rng(seed)
    points = draws.normal(size=legislators)
    points = (points - points.mean()) / points.std()
    logits = draws.normal(scale=1.5, size=(bills, 1)) * points + draws.normal(size=(bills, 1))
    votes = (draws.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return points, np.where(draws.random(votes.shape) < 0.1, np.nan, votes)


def fit(votes: np.ndarray[Any, Any], ridge: float = 0.3) -> Any:
    """An ideal point at the smallest loss of votes (D, U)."""
    torch.manual_seed(0)
    bills, legislators = votes.shape
    sizes = {"num_legislators": legislators, "num_bills": bills, "vocab_size": 2, "ridge": ridge}
    model = VoteBaselineForVotePrediction(VoteBaselineConfig(**sizes, kind="ideal_point", factors=1)).double()
    labels = torch.from_numpy(votes)
    model.set_observed_votes(labels)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def close() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.zeros(bills, 2), torch.arange(bills), labels=labels).loss
        loss.backward()
        return loss

    optimizer.step(close)  # type: ignore[arg-type]
    return model


def test_intervals_hold_the_true_points_as_often_as_they_say() -> None:
    covered = []
    for seed in range(6):
        true, votes = make_votes(30, 150, seed)
        model = fit(votes)
        keep_ideal_points(model, data_of(votes))
        found = list_ideal_points(model, level=90)
        places = {row["legislator"]: row for row in found}
        rows = [places[str(n)] for n in range(30)]
        sign = np.sign(np.corrcoef([row["ideal_point"] for row in rows], true)[0, 1])
        for row, point in zip(rows, sign * true, strict=True):
            covered.append(row["low"] <= point <= row["high"])
    assert 0.84 < np.mean(covered) < 0.96, np.mean(covered)


def test_errors_are_those_of_the_information_of_all_parameters() -> None:
    """Of points, bills and biases at once, by automatic derivatives of the probabilities in float64."""
    _, votes = make_votes(6, 9, 0)
    model, data = fit(votes), data_of(votes)
    layer = model.votes
    start = torch.cat([layer.legislators.weight.flatten(), layer.bills.weight.flatten(), layer.bias.weight]).detach()

    def logits_of(parameters: torch.Tensor) -> torch.Tensor:
        points, bills, bias = parameters.split([6, 9, 9])
        return (bills[:, None] * points + bias[:, None])[torch.from_numpy(~np.isnan(votes))]

    slopes = torch.func.jacrev(logits_of)(start)  # (votes, parameters)
    chances = logits_of(start).sigmoid()
    information = slopes.T @ ((chances * (1 - chances)).unsqueeze(1) * slopes) + 0.3 * torch.eye(24)
    points = ideal_points(model)
    # The same constraint, that mean and deviation of the points do not change, on all parameters.
    held = torch.zeros(24, 2, dtype=torch.float64)
    held[:6, 0], held[:6, 1] = 1, torch.from_numpy(points)
    free = torch.linalg.svd(held, full_matrices=True)[0][:, 2:]
    covariance = free @ torch.linalg.inv(free.T @ information @ free) @ free.T
    expected = covariance.diagonal()[:6].sqrt() / layer.legislators.weight.detach().std(correction=0)
    found = estimate_standard_errors(model, data, points)
    assert found == pytest.approx(expected.numpy(), rel=1e-6)
    assert estimate_standard_errors(model, data, -points) == pytest.approx(found)


def test_slopes_of_nipen_are_those_of_its_logits() -> None:
    """More votes make the errors smaller; each kind of model that has a likelihood has errors, others have none."""
    _, votes = make_votes(5, 40, 1)
    sizes = {"num_legislators": 5, "num_bills": 40, "vocab_size": 2, "num_topics": 3, "encoder_widths": [4, 3]}
    for fields in ({"amortized_bills": True}, {}, {"network_structure": "without_network"}):
        torch.manual_seed(0)
        model = NipenForVotePrediction(NipenConfig(**sizes, **fields))  # type: ignore[arg-type]
        few = votes.copy()
        few[20:] = np.nan
        errors = [estimate_standard_errors(model, data_of(some), ideal_points(model)) for some in (votes, few)]
        assert errors[0] is not None
        assert errors[1] is not None
        assert (errors[0] > 0).all()
        assert (errors[0] <= errors[1]).all()
    for fields in ({"version": "tensor"}, {"loss_type": "authors"}):
        model = NipenForVotePrediction(NipenConfig(**sizes, **fields))  # type: ignore[arg-type]
        keep_ideal_points(model, data_of(votes))
        assert model.config.ideal_point_errors is None
        assert len(model.config.ideal_points) == 5


def test_a_named_legislator_fixes_the_sign() -> None:
    _, votes = make_votes(5, 20, 2)
    model, data = fit(votes), data_of(votes)
    for name in data.legislator_names or ():
        keep_ideal_points(model, data, name)
        place = int(name[1:])
        assert model.config.ideal_points[place] > 0
        assert ideal_points(model).tolist() == pytest.approx(model.config.ideal_points)
    with pytest.raises(ValueError, match="'L9' is none of the 5 legislators of the training; expected one such as 'L"):
        orient_points(np.ones(5), data.legislator_names or [], "L9")
    autorec = VoteBaselineForVotePrediction(
        VoteBaselineConfig(num_legislators=5, num_bills=20, vocab_size=2, kind="autorec", hidden_widths=[3], factors=2)
    )
    keep_ideal_points(autorec, data)
    assert autorec.config.ideal_points is None
    with pytest.raises(ValueError, match="has no ideal points; leave it out"):
        keep_ideal_points(autorec, data, "L1")


@pytest.mark.parametrize(
    ("bills", "changes", "epochs"),
    [
        (120, {}, 300),
        (500, {}, 75),
        (7554, {}, 30),
        (120, {"batch_size": 8}, 30),
        (120, {"min_steps": 0}, 30),
        (120, {"epochs": 5}, 5),
    ],
)
def test_few_bills_get_enough_steps(tmp_path: Path, bills: int, changes: dict[str, int], epochs: int) -> None:
    rows = tmp_path / "recipe" / "rows" / "train.parquet"
    rows.parent.mkdir(parents=True)
    pq.write_table(pa.table({"bill": [f"b{number % bills}" for number in range(2 * bills)]}), rows)
    usual = VOTE_PREDICTION.get_settings("default", "nipen", "pgm_vae").copy_with(recipe="recipe", **changes)
    experiment = usual.copy_with(rows="rows", output_dir=str(tmp_path))
    found = VOTE_PREDICTION.fill_in_settings(experiment)
    assert found.trainer.epochs == epochs
    assert VOTE_PREDICTION.fill_in_settings(found) == found
    assert VOTE_PREDICTION.fill_in_settings(usual) == usual  # published rows


def test_from_votes_to_a_file_of_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, votes = make_votes(6, 30, 3)
    lines = [f"L{u},b{d},{votes[d, u]:.0f}" for d in range(30) for u in range(6) if not np.isnan(votes[d, u])]
    Path("votes.csv").write_text("\n".join(["legislator,bill,vote", *lines]) + "\n")
    command = [
        "train",
        "vote-prediction",
        "--data",
        "votes.csv",
        "--baselines",
        "no",
        "--architecture",
        "vote_baseline",
    ]
    assert main([*command, "--epochs", "3", "--positive", "L4"]) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["ideal_points"][4] > 0
    assert "Laplace" in (checkpoint / "README.md").read_text()
    capsys.readouterr()
    points = ["predict", str(checkpoint), "--ideal_points", "points.csv"]
    assert main([*points, "--positive", "L2", "--interval", "50"]) == 0
    assert capsys.readouterr().out == "6 ideal points: points.csv\n"
    rows = {row["legislator"]: row for row in csv.DictReader(Path("points.csv").read_text().splitlines())}
    numbers = zip(config["ideal_points"], config["ideal_point_errors"], strict=True)
    kept = dict(zip(config["legislator_names"], numbers, strict=True))
    assert float(rows["L2"]["ideal_point"]) == pytest.approx(abs(kept["L2"][0]))
    reach = float(rows["L0"]["high"]) - float(rows["L0"]["ideal_point"])
    assert reach == pytest.approx(0.67449 * kept["L0"][1], rel=1e-4)
    for options, message in (
        ([*points, "--positive", "Ada"], "'Ada' is none of the 6 legislators"),
        ([*points, "--interval", "100"], "an interval of 100 %"),
        ([*points, "--bill", "b1"], "--ideal_points goes without --text, --bill and --file"),
        (["predict", str(checkpoint), "--bill", "b1", "--positive", "L1"], "--positive belongs to --ideal_points"),
        ([*command, "--epochs", "3", "--positive", "Ada"], "'Ada' is none of the 6 legislators"),
    ):
        assert main(options) == 2
        assert message in capsys.readouterr().err
