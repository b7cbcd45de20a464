"""What `ctxzoo train vote-prediction` prints beside the scores of a user's model."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from tests.support.baselines import check_baselines, result_of


def write_chamber(path: Path, header: str, *, parties: bool) -> None:
    """Write votes of 12 people on 30 bills: one party says yea where the other says nay."""
    rows = []
    for bill in range(30):
        for person in range(12):
            party = ("red", "blue")[person % 2]
            text = f"a bill to {('open', 'close')[bill % 2]} the road"
            cells = [f"p{person:02}", f"b{bill:02}", str((bill + person) % 2)] + ([text, party] if parties else [])
            rows.append(",".join(cells))
    path.write_text("\n".join([header, *rows]) + "\n")


def test_counts_stand_beside_a_users_votes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_chamber(Path("votes.csv"), "legislator,bill,vote,text,party", parties=True)
    command = ["train", "vote-prediction", "--data", "votes.csv", "--tiny"]
    lines = [
        "the majority on a bill has ",
        "the majority of the party on a bill has 100.00 accuracy and -0.",
        "a linear model has 100.00 accuracy and -0.",
    ]
    said = check_baselines(command, lines, ["bill_rate", "bill_party_rate", "tfidf_party"], capsys)
    assert result_of("bill_rate").metrics["test/accuracy"] < 70
    likelihood = result_of("bill_party_rate").metrics["test/log_likelihood"]
    assert (
        f"{likelihood:.4f} log-likelihood of a vote (nats) on test (how often the party says yea on it in train); this "
        "model's accuracy beside it: "
    ) in said


def test_without_parties_and_texts_the_majority_stands_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_chamber(Path("votes.csv"), "legislator,bill,vote", parties=False)
    command = ["train", "vote-prediction", "--data", "votes.csv", "--architecture", "vote_baseline", "--tiny"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "\nthe majority on a bill has " in said
    assert said.count("beside it: ") == 1
