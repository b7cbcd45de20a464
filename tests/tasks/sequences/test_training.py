"""What `ctxzoo train session-recommendation` makes of a user's events."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from ctxzoo.cli.main import main
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.results.result import read_result
from ctxzoo.tasks.sequences.experiments import SESSION_VARIANTS
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION
from ctxzoo.tasks.sequences.sample import sample_sessions
from tests.support.baselines import check_baselines, result_of
from tests.support.own_trainings import config_of

COLUMNS = ("--user_column", "who", "--item_column", "what", "--time_column", "when")  # of `events`
CONFIGS: dict[str, type[ZooConfig]] = {"hcrnn": HcrnnConfig, "session_baseline": SessionBaselineConfig}


def events(path: Path, sessions: Sequence[Sequence[str]], columns: Sequence[str] = ("who", "what", "when")) -> Path:
    """Write a row for each item of each session, the last one first, as .csv or .parquet."""
    rows = [(user, item, time) for user, items in enumerate(sessions) for time, item in enumerate(items)]
    table = pa.table(dict(zip(columns, zip(*reversed(rows), strict=True), strict=True)))
    write: Any = pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table
    write(table, path)
    return path


@pytest.mark.parametrize("name", ["own.csv", "own.parquet"])
def test_equal_sessions_stay_together(tmp_path: Path, name: str) -> None:
    path = events(tmp_path / name, ["ab", "ba", "ab"], ("user", "item", "time"))
    experiment = SESSION_RECOMMENDATION.get_settings("default", "hcrnn", "hcrnn1").copy_with(dataset=str(path))
    rows = SESSION_RECOMMENDATION.read_user_data(experiment, {}, tmp_path)
    assert rows.splits["train"]["items"] == [["a", "b"], ["b", "a"], ["a", "b"]]
    assert rows.groups["train"].tolist() == [0, 1, 0]
    assert (rows.unit, rows.together) == ("sessions", "equal sessions")


@pytest.mark.parametrize("settings", ["default", "paper"])
@pytest.mark.parametrize("architecture", SESSION_VARIANTS)
def test_every_setting_makes_a_model(settings: str, architecture: str) -> None:
    assert architecture in SESSION_RECOMMENDATION.list_architectures()
    for variant in SESSION_RECOMMENDATION.get_variants(architecture):
        experiment = SESSION_RECOMMENDATION.get_settings(settings, architecture, variant)
        for one in (experiment, SESSION_RECOMMENDATION.make_tiny(experiment)):
            SESSION_RECOMMENDATION.check(one)
            config = CONFIGS[architecture](**config_of(one))
            assert all(getattr(config, name) == value for name, value in config_of(one).items())
    assert experiment.settings()["max_length"] == (100 if settings == "paper" else 50)


@pytest.mark.parametrize("name", ["own.csv", pytest.param("own.parquet", marks=pytest.mark.slow)])
def test_events_of_ones_own_go_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    events(tmp_path / name, sample_sessions(train=30)["train"]["items"])
    command = ["train", "session-recommendation", "--data", name, "--tiny"]
    assert main([*command, *COLUMNS]) == 0
    said = capsys.readouterr().out
    assert f"{name}: 30 sessions: 24 train, 3 validation, 3 test (" in said
    (printed,) = (line for line in said.splitlines() if line.startswith("    ctxzoo predict"))
    assert main(shlex.split(printed)[1:]) == 0  # as it stands there
    assert len(capsys.readouterr().out.splitlines()) == 10
    assert main([*command, "--user_column", "whom"]) == 2
    assert f"{name}: no column 'whom'" in capsys.readouterr().err


def test_the_best_epoch_of_few_items_is_not_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    walks = [[f"{(start + stride * step) % 12}" for step in range(9)] for start in range(12) for stride in range(1, 8)]
    events(tmp_path / "walks.csv", walks)
    command = ["train", "session-recommendation", "--data", "walks.csv", "--architecture", "session_baseline"]
    assert main([*command, *COLUMNS, "--baselines", "no"]) == 0
    (file,) = Path("runs/results").rglob("*.json")
    scores = read_result(file).metrics
    found, rank = (
        [scores[f"validation/epoch{epoch}/{name}_at_20"] for epoch in range(1, int(scores["epochs"]) + 1)]
        for name in ("recall", "mrr")
    )
    assert min(found) == 100  # it tells no epoch from another
    assert scores["validation/mrr_at_20"] == pytest.approx(max(rank))
    assert rank[0] + 10 < max(rank)


def test_counts_stand_beside_a_users_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each item is followed by the next number: the Markov chain knows it, popularity does not."""
    monkeypatch.chdir(tmp_path)
    walks = [[f"{(start + step) % 40:02}" for step in range(length)] for start in range(40) for length in (7, 8, 9)]
    events(tmp_path / "walks.csv", [*walks, ["00", "an item of one session"]])
    command = ["train", "session-recommendation", "--data", "walks.csv", *COLUMNS, "--tiny"]
    lines = ["popularity has ", "item-kNN has ", "a Markov chain has "]
    said = check_baselines(command, lines, ["pop", "item_knn", "markov"], capsys)
    markov = result_of("markov").metrics
    assert markov["test/mrr_at_20"] > 95 > 30 > result_of("pop").metrics["test/mrr_at_20"]
    assert markov["test/mrr_at_20"] > result_of("item_knn").metrics["test/mrr_at_20"]
    assert re.search(
        rf"\na Markov chain has [\d.]+ recall@20 and {markov['test/mrr_at_20']:.2f} MRR@20 on test \(what followed the "
        r"last of the items in train\); this model's recall@20 beside it: -[\d.]+; a Markov chain is better here\n",
        said,
    )


def test_a_count_counts_targets_that_it_cannot_name_as_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, sessions in {"train": ["ab"] * 8, "validation": ["ab"], "test": ["ab", "ac"]}.items():
        events(tmp_path / f"{name}.csv", sessions, ("user", "item", "time"))
    files = ["--data", "train.csv", "--validation", "validation.csv", "--test", "test.csv"]
    assert main(["train", "session-recommendation", *files, "--tiny"]) == 0
    assert result_of("markov").metrics["test/recall_at_20"] == 50
    assert result_of("markov").metrics["test/recall_at_20_known"] == 100


def test_counts_stand_beside_a_users_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    walks = [[f"{(start + step) % 5}" for step in range(length)] for start in range(5) for length in range(5, 13)]
    events(tmp_path / "walks.csv", walks)
    command = ["train", "next-event", "--data", "walks.csv", *COLUMNS, "--tiny"]
    lines = ["popularity has ", "a Markov chain has 100.00 recall@1 and 100.00 MRR@20 on test (what followed the "]
    check_baselines(command, lines, ["pop", "markov"], capsys)
    assert result_of("pop").metrics["test/recall_at_1"] < 40
