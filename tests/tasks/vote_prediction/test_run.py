"""A model of votes from its training to what a user does with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.tasks.vote_prediction import evaluate, predict_votes
from ctxzoo.tasks.vote_prediction.run import VoteRun, VoteSettings, vote_run
from tests.tasks.vote_prediction.test_three_doors import check_doors


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[VoteRun, RunResult]:
    folder = tmp_path_factory.mktemp("votes")
    settings = VoteSettings(
        epochs=12,
        batch_size=20,
        learning_rate=0.03,
        output_dir=str(folder / "runs"),
        results_dir=str(folder / "results"),
        tensorboard=False,
        accelerator="cpu",
    )
    fields = {
        "num_topics": 2,
        "encoder_widths": [16, 8],
        "amortized_bills": True,
        "text_lambda": 1,
        "trust_lambda": 100,
        "new_bill_rate": 0.3,
    }
    one = vote_run(settings, "sample", "nipen", "pgm_vae", seed=0, recipe="trial", commit="0123abc", fields=fields)
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[VoteRun, RunResult]) -> None:
    _, result = finished
    assert set(result.metrics) >= {"test/accuracy", "test/log_likelihood", "test/rmse", "validation/epoch2/accuracy"}
    assert result.metrics["test/log_likelihood"] > -0.6  # rates of bills have -0.67
    assert "legislator_names" not in result.settings


def test_its_checkpoint_knows_the_names(finished: tuple[VoteRun, RunResult]) -> None:
    one, result = finished
    checkpoint = one.spec.checkpoint
    assert {"modeling_nipen.py", "modeling_vote.py"} <= set(check_checkpoint_folder(checkpoint))
    votes = dict(predict_votes(checkpoint, "a bill to forbid and to limit the road"))
    assert len(votes) == 24
    assert "member 3" in votes
    found = evaluate(checkpoint, "sample", progress=False, accelerator="cpu")
    for name in ("log_likelihood", "accuracy", "calibration_error"):
        assert found[name] == pytest.approx(result.metrics[f"test/{name}"], rel=1e-5)


@pytest.mark.slow
def test_it_opens_in_three_ways(finished: tuple[VoteRun, RunResult], tmp_path: Path) -> None:
    checkpoint = finished[0].spec.checkpoint
    assert "| log-likelihood of a vote (nats) |" in (checkpoint / "README.md").read_text(encoding="utf-8")
    check_doors(checkpoint, tmp_path)


def test_the_command_line(
    finished: tuple[VoteRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = str(finished[0].spec.checkpoint)
    assert main(["predict", checkpoint, "--text", "forbid the road"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 24
    assert lines[0].endswith("  member 0")
    (tmp_path / "bills.csv").write_text("text\nopen the school\nlimit water\n")
    out = tmp_path / "votes.json"
    assert main(["predict", checkpoint, "--file", str(tmp_path / "bills.csv"), "--output", str(out)]) == 0
    told = json.loads(out.read_text())
    assert [row["text"] for row in told] == ["open the school", "limit water"]
    assert told[0]["yea"]["member 0"] != told[1]["yea"]["member 0"]
    assert main(["predict", checkpoint]) == 2
    assert "give one of --text, --bill, and --file with --output" in capsys.readouterr().err
    assert main(["predict", checkpoint, "--bill", "bill 9999"]) == 2
    assert "bill 'bill 9999' is none of the 120" in capsys.readouterr().err


@pytest.mark.slow
def test_own_votes_are_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ctxzoo.tasks.vote_prediction.sample import sample_votes

    monkeypatch.chdir(tmp_path)
    rows = sample_votes()["train"]
    rows.remove_columns(["text"]).to_csv(tmp_path / "votes.csv")
    texts = dict(zip(rows["bill"], rows["text"], strict=True))
    (tmp_path / "texts.csv").write_text("bill,text\n" + "".join(f"{bill},{text}\n" for bill, text in texts.items()))
    arguments = ["--data", "votes.csv", "--texts", "texts.csv", "--tiny", "--accelerator", "cpu"]
    assert main(["train", "vote-prediction", *arguments]) == 0, capsys.readouterr().err
    (checkpoint,) = (tmp_path / "runs").rglob("config.json")
    assert "road" in json.loads(checkpoint.read_text())["words"]
    assert main(["predict", str(checkpoint.parent), "--text", "open the school"]) == 0
