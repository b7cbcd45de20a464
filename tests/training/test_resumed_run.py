from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest
from lightning.pytorch.loggers import CSVLogger

from ctxzoo.training.resumed_run import KeepCsvRows, SameSettings, StayStopped


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]


def resumed(folder: Path, global_step: int) -> CSVLogger:
    """The logger of a run that is resumed at a step, as Lightning sets it up."""
    keep = KeepCsvRows(folder / "metrics.csv")
    logger = CSVLogger(folder, name="", version="")
    _ = logger.experiment  # removes the file
    trainer = SimpleNamespace(loggers=[logger], is_global_zero=True)
    keep.on_load_checkpoint(trainer, None, {"global_step": global_step})
    return logger


@pytest.mark.filterwarnings("ignore")
def test_rows_of_steps_before_the_checkpoint_are_kept_and_later_ones_follow(tmp_path):
    (tmp_path / "metrics.csv").write_text("a,step\n1,0\n2,3\n3,4\n,9\n")
    logger = resumed(tmp_path, 4)
    assert rows(tmp_path / "metrics.csv") == [{"a": "1", "step": "0"}, {"a": "2", "step": "3"}]
    logger.log_metrics({"b": 5.0}, step=4)
    logger.save()
    assert rows(tmp_path / "metrics.csv") == [
        {"a": "1", "step": "0"},
        {"a": "2", "step": "3"},
        {"b": "5.0", "step": "4"},
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("torn", ["a,step\n1,0\n2", "", "a,step\n1,0\n2,x\n"])
def test_a_log_that_was_torn_off_is_read_as_far_as_it_goes(tmp_path, torn):
    (tmp_path / "metrics.csv").write_text(torn)
    resumed(tmp_path, 4)
    found = rows(tmp_path / "metrics.csv") if (tmp_path / "metrics.csv").exists() else []
    assert found == ([{"a": "1", "step": "0"}] if torn else [])


@pytest.mark.parametrize(("waited", "stops"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_run_that_has_waited_long_enough_stays_stopped(waited, stops):
    stopping = SimpleNamespace(wait_count=waited, patience=2)
    trainer = SimpleNamespace(early_stopping_callbacks=[stopping], should_stop=False)
    StayStopped().on_train_start(trainer, None)
    assert trainer.should_stop is stops


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"rate": 0.2, "sizes": [1, 2]}, "rate=0.1, not 0.2"),
        ({"rate": 0.1}, r"sizes=\[1, 2\], not None"),
        ({"rate": 0.1, "sizes": [1, 2], "decay": True}, "decay=None, not True"),
        ({"rate": 0.2, "sizes": []}, r"rate=0.1, not 0.2; sizes=\[1, 2\], not \[\]"),
    ],
)
def test_other_settings_than_those_it_began_with_are_refused_by_name(other, told):
    began = SameSettings({"rate": 0.1, "sizes": (1, 2), "epochs": 3}).state_dict()
    with pytest.raises(ValueError, match=f"training with {told}: resume with the same settings"):
        SameSettings(other).load_state_dict(began)


def test_a_run_may_go_on_for_longer():
    began = SameSettings({"rate": 0.1, "sizes": (1, 2), "epochs": 3, "patience": 0}).state_dict()
    SameSettings({"rate": 0.1, "sizes": [1, 2], "epochs": 9, "patience": 2}).load_state_dict(began)
