"""A model of votes from its training to what a user does with it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.modeling_vote_baseline import VoteBaselineForVotePrediction
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.vote_prediction import evaluate, predict_votes
from ctxzoo.tasks.vote_prediction.experiments import VoteModel, build_paper_experiment
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION
from ctxzoo.tasks.vote_prediction.sample import sample_votes
from tests.tasks.vote_prediction.test_three_doors import check_doors


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    folder = tmp_path_factory.mktemp("votes")
    experiment = build_paper_experiment("nipen", "pgm_vae").copy_with(
        recipe="trial",
        commit="0123abc",
        epochs=12,
        batch_size=20,
        learning_rate=0.03,
        output_dir=str(folder / "runs"),
        results_dir=str(folder / "results"),
        tensorboard=False,
        progress=False,
        accelerator="cpu",
        num_topics=2,
        encoder_widths=(16, 8),
        amortized_bills=True,
        text_lambda=1,
        trust_lambda=100,
        new_bill_rate=0.3,
    )
    one = ExperimentRun(VOTE_PREDICTION, experiment)
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    _, result = finished
    assert set(result.metrics) >= {"test/accuracy", "test/log_likelihood", "test/rmse", "validation/epoch2/accuracy"}
    assert result.metrics["test/log_likelihood"] > -0.6  # rates of bills have -0.67
    assert "legislator_names" not in result.settings


def test_its_checkpoint_knows_the_names(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    checkpoint = one.checkpoint
    assert {"modeling_nipen.py", "modeling_vote.py"} <= set(check_checkpoint_folder(checkpoint))
    votes = dict(predict_votes(checkpoint, "a bill to forbid and to limit the road"))
    assert len(votes) == 24
    assert "member 3" in votes
    found = evaluate(checkpoint, "sample", progress=False, accelerator="cpu")
    for name in ("log_likelihood", "accuracy", "calibration_error"):
        assert found[name] == pytest.approx(result.metrics[f"test/{name}"], rel=1e-5)


def votes_file(path: Path, *splits: str, keep: slice = slice(None), texts: bool = True) -> str:
    """The rows of splits of the sample as a file."""
    tables = [sample_votes()[split].to_pandas() for split in splits]
    table = pd.concat(tables).iloc[keep]
    (table if texts else table.drop(columns="text")).to_csv(path, index=False)
    return str(path)


def scores_of(one: ExperimentRun, dataset: str, split: str = "train", **arguments: Any) -> dict[str, float]:
    return evaluate(one.checkpoint, dataset, split, progress=False, accelerator="cpu", **arguments)


def test_scored_votes_are_not_read(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    """A file scored whole has the mean of its two halves: no vote of one half tells of the other."""
    one, _ = finished
    rows = len(sample_votes()["test"])
    parts = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
    whole, even, odd = (
        scores_of(one, votes_file(tmp_path / f"{name}.csv", "test", keep=part)) for name, part in parts.items()
    )
    sizes = [len(range(rows)[part]) for part in (parts["even"], parts["odd"])]
    for name in ("log_likelihood", "accuracy"):
        mean = (sizes[0] * even[name] + sizes[1] * odd[name]) / rows
        assert whole[name] == pytest.approx(mean, rel=1e-5)
    trained_on = scores_of(one, "sample", "train")
    assert trained_on == pytest.approx(scores_of(one, "sample", "train", known="none"))


def test_known_votes_are_given_apart(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    one, result = finished
    test, train = votes_file(tmp_path / "test.csv", "test"), votes_file(tmp_path / "train.csv", "train", texts=False)
    both = votes_file(tmp_path / "both.csv", "train", "test", texts=False)
    alone = scores_of(one, test)
    assert alone == pytest.approx(scores_of(one, "sample", "test", known="none"))
    with collect_reading_notes() as notes:
        known = scores_of(one, test, known=train)
    assert known["log_likelihood"] == pytest.approx(result.metrics["test/log_likelihood"], rel=1e-5)
    assert known["log_likelihood"] != pytest.approx(alone["log_likelihood"], abs=1e-4)
    votes, scored = (sample_votes()[split].to_pandas() for split in ("train", "test"))
    read = int(votes["bill"].isin(set(scored["bill"])).sum())
    assert notes.counts()["known votes on scored bills, which the model reads"] == read
    with collect_reading_notes() as notes:
        assert scores_of(one, test, known=both) == pytest.approx(known)
    assert notes.counts()["known votes among the scored ones, which the model does not read"] == len(scored)
    with pytest.raises(TextFormatError, match="every known vote is one that is scored"):
        scores_of(one, test, known=test)
    other = tmp_path / "other.csv"
    other.write_text("legislator,bill,vote\nNobody,bill 1,yea\n")
    with pytest.raises(TextFormatError, match="none of its 1 known votes, such as that of 'Nobody' on 'bill 1'"):
        scores_of(one, test, known=str(other))


def test_bills_without_a_text_are_refused_where_texts_tell(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path
) -> None:
    one, _ = finished
    file = votes_file(tmp_path / "a.csv", "test", texts=False)
    with pytest.raises(TextFormatError, match="no bill has a text, and what this NipenForVotePrediction says"):
        scores_of(one, file)
    table = sample_votes()["test"].to_pandas()
    some = table["text"].where(table["bill"] != "bill 7", "")
    table.assign(text=some, bill=table["bill"].where(table["bill"] != "bill 8", "another")).to_csv(file, index=False)
    with collect_reading_notes() as notes:
        scores_of(one, file)
    assert notes.counts()["bills without a text"] == 1
    assert notes.counts()["bills new to the model, read by their texts"] == 1


def test_a_training_goes_on_with_the_names_of_its_checkpoint(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path
) -> None:
    """Other data has other legislators, bills and words; a row of a table stays the one of its name."""
    one, _ = finished
    table = sample_votes()["train"].to_pandas()
    table = table[~table["legislator"].isin(["member 0", "member 1"]) & (table["bill"] != "bill 3")]
    others = table.assign(legislator=table["legislator"].replace("member 2", "a new one"))
    others.to_csv(tmp_path / "a.csv", index=False)
    goes_on = one.experiment.copy_with(init_from=str(one.checkpoint), dataset=str(tmp_path / "a.csv"))
    start = replace(goes_on, model=VoteModel(architecture="nipen", variant="continued"))
    run = ExperimentRun(VOTE_PREDICTION, start.copy_with(cut_outcomes=False))
    assert run.settings["cut_outcomes"] is True  # as the checkpoint has it
    with pytest.raises(ValueError, match=r"max_words=9: texts are read as .* reads them; leave it out"):
        ExperimentRun(VOTE_PREDICTION, start.copy_with(max_words=9))
    data = run.build_data()
    data.setup()
    names = data.legislator_names or []
    assert len(names) == 24
    known = ~np.isnan(data.vote_matrix("train")).all(axis=0)
    assert {name for name, votes in zip(names, known, strict=True) if not votes} == {
        "member 0",
        "member 1",
        "member 2",
    }
    assert len(data.known_bills or ()) == 120
    row = data.load_checked_data().bills.index("bill 5")
    assert data.bill_ids[row] == (data.known_bills or []).index("bill 5")


@pytest.mark.slow
def test_it_opens_in_three_ways(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    checkpoint = finished[0].checkpoint
    assert "| log-likelihood of a vote (nats) |" in (checkpoint / "README.md").read_text(encoding="utf-8")
    check_doors(checkpoint, tmp_path)


def test_the_command_line(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = str(finished[0].checkpoint)
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
    assert "give --text, --bill, or both, or else --file" in capsys.readouterr().err
    assert main(["predict", checkpoint, "--bill", "bill 9999"]) == 2
    assert "does not know the bill 'bill 9999'" in capsys.readouterr().err


def printed_yeas(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    capsys.readouterr()
    assert main(["predict", *arguments]) == 0, capsys.readouterr().err
    lines = capsys.readouterr().out.splitlines()
    return {name: float(yea) for yea, name in (line.split("  ", 1) for line in lines)}


def test_a_known_bill_is_read_with_its_text_and_known_votes(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = str(finished[0].checkpoint)
    rows = sample_votes()["train"].to_pandas()
    of_bill = rows[rows["bill"] == "bill 5"]
    text = of_bill["text"].iloc[0]
    assert main(["predict", checkpoint, "--bill", "bill 5"]) == 2
    assert "says of the bill 'bill 5' follows from its text, and there is none" in capsys.readouterr().err
    rows.drop_duplicates("bill")[["bill", "text"]].to_csv(tmp_path / "texts.csv", index=False)
    given = printed_yeas(capsys, checkpoint, "--bill", "bill 5", "--text", text)
    assert given == printed_yeas(capsys, checkpoint, "--bill", "bill 5", "--texts", str(tmp_path / "texts.csv"))
    assert given != printed_yeas(capsys, checkpoint, "--text", text)
    train = votes_file(tmp_path / "train.csv", "train", texts=False)
    known = printed_yeas(capsys, checkpoint, "--bill", "bill 5", "--text", text, "--known", train)
    votes = dict(zip(of_bill["legislator"], of_bill["vote"], strict=True))
    expected = dict(predict_votes(checkpoint, text, "bill 5", known=votes))
    assert known == pytest.approx(expected, abs=1e-4)
    assert known != given
    assert main(["predict", checkpoint, "--text", text, "--known", train]) == 2
    assert "has votes on 120 bills; say which with --bill" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_file_of_votes_is_answered_row_by_row(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    """The answers are right as often as `evaluate` says, with the same known votes; the user's columns stay."""
    one, _ = finished
    rows = sample_votes()["test"].to_pandas().assign(note="007")
    rows.loc[3, "legislator"] = "a stranger"
    rows.loc[rows["bill"] == "bill 7", "text"] = ""
    file, answers = tmp_path / f"test.{kind}", tmp_path / "answers.csv"
    if kind == "csv":
        rows.to_csv(file, index=False)
    elif kind == "jsonl":
        rows.to_json(file, orient="records", lines=True)
    else:
        rows.to_parquet(file)
    train = votes_file(tmp_path / "train.csv", "train", texts=False)
    told = ["--file", str(file), "--known", train, "--output", str(answers)]
    assert main(["predict", str(one.checkpoint), *told]) == 0, capsys.readouterr().err
    noted = capsys.readouterr().err
    assert "1 row of legislators whom the checkpoint does not know, left out" in noted
    silent = int(((rows["bill"] == "bill 7") & (rows["legislator"] != "a stranger")).sum())
    assert f"{silent} rows of bills without a text" in noted
    found = pd.read_csv(answers, dtype=str)
    assert list(found.columns) == [*rows.columns, "predicted_vote", "predicted_yea"]
    assert len(found) == len(rows) - 1
    right = (found["predicted_vote"] == "yea") == (found["vote"] == "1")
    rows.to_csv(tmp_path / "test.csv", index=False)
    scores = scores_of(one, str(tmp_path / "test.csv"), known=train)
    assert 100 * right.mean() == pytest.approx(scores["accuracy"], abs=1e-4)
    rows.to_csv(tmp_path / "bare.csv", index=False, header=False)
    told = ["--file", str(tmp_path / "bare.csv"), "--known", train, "--output", str(answers)]
    assert main(["predict", str(one.checkpoint), *told]) == 2
    assert "neither a column 'bill' of bills nor 'text'" in capsys.readouterr().err
    assert main(["predict", str(one.checkpoint), "--file", train]) == 2
    assert "row 0: this model reads what a bill says, and there is no column 'text'" in capsys.readouterr().err


def test_texts_of_several_columns_are_those_of_one(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint, answers = str(finished[0].checkpoint), tmp_path / "answers.csv"
    rows = sample_votes()["test"].to_pandas().head(40)
    words = rows["text"].str.partition(" ")
    rows.to_csv(tmp_path / "one.csv", index=False)
    rows.assign(text=words[0], rest=words[2]).to_csv(tmp_path / "two.csv", index=False)
    found = []
    for name, columns in (("one.csv", []), ("two.csv", ["--text_column", "text", "rest"])):
        told = ["predict", checkpoint, "--file", str(tmp_path / name), "--output", str(answers)]
        assert main([*told, *columns]) == 0, capsys.readouterr().err
        scores = tmp_path / "scores.json"
        command = ["evaluate", checkpoint, "--dataset", str(tmp_path / name), "--split", "train", *columns]
        assert main([*command, "--output", str(scores)]) == 0
        found.append((pd.read_csv(answers)["predicted_yea"].tolist(), json.loads(scores.read_text())["metrics"]))
    assert found[0] == found[1]
    absent = ["--text_column", "text", "title"]
    assert main(["predict", checkpoint, "--file", str(tmp_path / "two.csv"), *absent]) == 2
    assert "no column 'title' of texts" in capsys.readouterr().err


def test_the_line_that_a_training_prints_runs(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    """Also where the model knows the bills of its training alone."""
    config = VoteBaselineConfig(num_legislators=2, num_bills=2, vocab_size=1, bill_names=["a b", "c"], words=["road"])
    VoteBaselineForVotePrediction(config).save_pretrained(tmp_path)
    for checkpoint, start in ((tmp_path, "--bill 'a b'"), (finished[0].checkpoint, "--text")):
        options = VOTE_PREDICTION.format_predict_arguments(checkpoint, tmp_path)
        assert options.startswith(start)
        assert main(["predict", str(checkpoint), *shlex.split(options)]) == 0


@pytest.mark.slow
def test_own_votes_are_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = sample_votes()["train"]
    rows.remove_columns(["text"]).to_csv(tmp_path / "votes.csv")
    texts = dict(zip(rows["bill"], rows["text"], strict=True))
    (tmp_path / "texts.csv").write_text("bill,text\n" + "".join(f"{bill},{text}\n" for bill, text in texts.items()))
    arguments = ["--data", "votes.csv", "--texts", str(tmp_path / "texts.csv"), "--tiny", "--accelerator", "cpu"]
    assert main(["train", "vote-prediction", *arguments]) == 0, capsys.readouterr().err
    (checkpoint,) = (tmp_path / "runs").rglob("config.json")
    assert "road" in json.loads(checkpoint.read_text())["words"]
    (result,) = (tmp_path / "runs" / "results").rglob("pgm_vae-*.json")
    assert json.loads(result.read_text())["settings"]["texts"] == "texts.csv"  # no path of this machine
    assert main(["predict", str(checkpoint.parent), "--text", "open the school"]) == 0
