"""What `ctxzoo train session-recommendation` makes of a user's events."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.runs.training_request import TrainingRequest
from ctxzoo.tasks.session_recommendation.run import VARIANTS
from ctxzoo.tasks.session_recommendation.sample import sample_sessions
from ctxzoo.tasks.session_recommendation.training import SessionTraining

TRAINING = SessionTraining()
CONFIGS: dict[str, type[ZooConfig]] = {"hcrnn": HcrnnConfig, "session_baseline": SessionBaselineConfig}


def events(path: Path, users: int) -> Path:
    lines = ["who,what,when"]
    for user, items in enumerate(sample_sessions(train=users)["train"]["items"]):
        lines += [f"{user},{item},{time}" for time, item in enumerate(items)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_equal_sessions_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("user,item,time\n1,a,1\n1,b,2\n2,b,1\n2,a,2\n3,a,7\n3,b,9\n")
    request = TrainingRequest(data=str(path), columns={"user_column": None, "item_column": None, "time_column": None})
    rows = TRAINING.read(request, tmp_path)
    assert rows.groups["train"].tolist() == [0, 1, 0]
    assert (rows.unit, rows.together) == ("sessions", "equal sessions")


@pytest.mark.parametrize("settings", ["default", "paper"])
@pytest.mark.parametrize("architecture", VARIANTS)
def test_every_setting_makes_a_model(settings: str, architecture: str) -> None:
    assert architecture in TRAINING.architectures()
    for variant in TRAINING.variants(architecture):
        preset = TRAINING.preset(settings, architecture, variant)
        for one in (preset, TRAINING.tiny(preset)):
            config = CONFIGS[architecture](**one.config)
            assert all(getattr(config, name) == value for name, value in one.config.items())
        assert set(TRAINING.search_space(preset)) == set(TRAINING.space)
    assert preset.settings()["max_length"] == (100 if settings == "paper" else 50)


def test_events_of_ones_own_go_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    events(tmp_path / "own.csv", 30)
    command = ["train", "session-recommendation", "--data", "own.csv", "--tiny"]
    columns = ["--user_column", "who", "--item_column", "what", "--time_column", "when"]
    assert main([*command, *columns]) == 0
    said = capsys.readouterr().out
    assert "own.csv: 30 sessions: 24 train, 3 validation, 3 test (" in said
    assert '--history "one item | another"' in said
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert main(["predict", str(checkpoint), "--history", "tea 1", "--top", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main([*command, "--user_column", "whom"]) == 2
    assert "own.csv: no column 'whom'" in capsys.readouterr().err
