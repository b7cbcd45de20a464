"""Results files: what is written is whole, plain, finite and public, and what is read is checked."""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.results.result import TRIALS, RunResult, format_utc_now, read_result, read_results, write_result


def make_result(**changes: Any) -> RunResult:
    result = RunResult(
        recipe="squad_bidaf",
        architecture="bidaf",
        variant="baseline",
        dataset="ctxzoo-data/squad_v1_mini",
        split="test",
        fold=None,
        seed=1,
        metrics={"test/f1": 40.5, "epochs": 3},
        settings={"epochs": 3, "extensions": [], "finish_source": None, "betas": [0.9, 0.999], "ema": {"decay": 0.999}},
        parameters={"trainable": 1_439_405, "total": 2_000_000},
        command="python recipes/squad_bidaf.py --vectors $CTXZOO_DATA/glove.txt --out '<...>/run'",
        commit="0123abc-dirty",
        data={"source": "ctxzoo-data/squad_v1_mini", "fingerprint": "00ff"},
        hardware={"cpu": "Some CPU @ 2.00GHz", "cores": 2, "memory_gb": 15.6, "gpus": []},
        versions={"python": "3.11.2"},
        wall_seconds=60.0,
        peak_memory_mb=900.0,
        created="2026-01-31T12:00:00+00:00",
    )
    return replace(result, **changes)


def test_round_trip(tmp_path: Path) -> None:
    result = make_result()
    assert read_result(write_result(result, tmp_path)) == result


def test_file_format(tmp_path: Path) -> None:
    path = write_result(make_result(wall_seconds=12345.6789, metrics={"b": 1 / 3, "a": 1_234_567_890}), tmp_path)
    text = path.read_text()
    content = json.loads(text)
    assert list(content) == sorted({field.name for field in fields(RunResult)} - {"per_example", "reading", "labels"})
    assert list(content["metrics"]) == ["a", "b"]
    assert content["metrics"] == {"a": 1_234_567_890, "b": 0.333333}
    assert content["wall_seconds"] == 12345.7
    assert '\n "architecture": "bidaf",\n' in text
    assert text.endswith("}\n")


def test_numbers_of_examples(tmp_path: Path) -> None:
    result = make_result(per_example={"test/nll": [101.25, 7.0], "test/steps": [12, 1]})
    path = write_result(result, tmp_path)
    assert read_result(path) == result
    assert json.loads(path.read_text())["per_example"] == {"test/nll": [101.25, 7.0], "test/steps": [12, 1]}


def test_scores_of_labels_may_have_any_name_and_are_numbers(tmp_path: Path) -> None:
    table = {
        "names": ["/r/python", "b"],
        "precision": [50.0, 0.0],
        "recall": [1.0, 2.0],
        "f1": [1.5, 0.0],
        "support": [3, 1],
    }
    result = make_result(labels={"test": {**table, "confused": [["b", "/r/python", 2]]}})
    assert read_result(write_result(result, tmp_path)) == result
    with pytest.raises(TypeError, match=r"labels\.test\.f1\[0\]'?: expected float, found str"):
        write_result(make_result(labels={"test": {**table, "f1": ["high", 0.0]}}), tmp_path)


def test_curves_of_long_trainings_have_at_most_80_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    long = {f"validation/epoch{epoch}/rmse": float(value) for epoch, value in enumerate(rng.random(1000), start=1)}
    short = {f"train/epoch{epoch}/loss": 1.0 / epoch for epoch in range(1, 81)}
    path = write_result(make_result(metrics={**long, **short, "epochs": 1000}), tmp_path)
    metrics = read_result(path).metrics
    points = {int(name.split("/")[1].removeprefix("epoch")): metrics[name] for name in long if name in metrics}
    assert 78 <= len(points) <= 80
    assert {1, 1000} <= set(points)
    assert (min(points.values()), max(points.values())) == pytest.approx(
        (min(long.values()), max(long.values())), rel=1e-5
    )
    assert max(np.diff(sorted(points))) <= 13
    assert set(short) <= set(metrics)
    assert metrics["epochs"] == 1000
    assert write_result(read_result(path), tmp_path).read_bytes() == path.read_bytes()


def test_what_was_left_out_of_the_data(tmp_path: Path) -> None:
    result = make_result(reading={"left out as bad": 3})
    path = write_result(result, tmp_path)
    assert read_result(path) == result
    with pytest.raises(TypeError, match=r"reading\.rows"):
        write_result(make_result(reading={"rows": "three"}), tmp_path)


def test_names(tmp_path: Path) -> None:
    assert write_result(make_result(), tmp_path) == tmp_path / "squad_bidaf" / "baseline-squad_v1_mini-test-seed1.json"
    other = write_result(make_result(fold=0, dataset="plain", tag="dropout0.4"), tmp_path)
    assert other.name == "baseline-plain-test-seed1-fold0-dropout0.4.json"
    blank = write_result(make_result(dataset="my data/Reviews (new).csv"), tmp_path)
    assert blank.name == "baseline-Reviews_new_.csv-test-seed1.json"


@pytest.mark.parametrize(
    "changes", [{"variant": "a/b"}, {"recipe": ".."}, {"split": "test set"}, {"dataset": "a/"}, {"tag": "../x"}]
)
def test_names_that_are_no_file_names(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="file name"):
        write_result(make_result(**changes), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_result(make_result(), tmp_path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_result(make_result(wall_seconds=1.0), tmp_path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"metrics": {"test/f1": float("nan")}}, "metrics.test/f1"),
        ({"metrics": {"test/f1": np.float64("inf")}}, "metrics.test/f1"),
        ({"settings": {"ema": {"decay": [0.1, float("-inf")]}}}, "settings.ema.decay[1]"),
        ({"per_example": {"test/nll": [1.0, float("nan")]}}, "per_example.test/nll[1]"),
        ({"wall_seconds": float("nan")}, "wall_seconds"),
    ],
)
def test_numbers_are_finite(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match="finite") as error:
        write_result(make_result(**changes), tmp_path)
    assert f"'{key}'" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"metrics": {"test/f1": torch.tensor(1.0)}}, "metrics.test/f1"),
        ({"metrics": {"test/f1": True}}, "metrics.test/f1"),
        ({"metrics": {"test/f1": None}}, "metrics.test/f1"),
        ({"settings": {"betas": (0.9, 0.999)}}, "settings.betas"),
        ({"settings": {"inner": [{"path": Path("x")}]}}, "settings.inner[0].path"),
        ({"settings": {"inner": {1: "x"}}}, "settings.inner"),
        ({"parameters": {"trainable": np.int64(3), "total": 4}}, "parameters.trainable"),
        ({"parameters": {"trainable": 3.0, "total": 4}}, "parameters.trainable"),
        ({"seed": True}, "seed"),
        ({"fold": "0"}, "fold"),
        ({"tag": 5}, "tag"),
        ({"versions": {"torch": 2}}, "versions.torch"),
        ({"hardware": []}, "hardware"),
        ({"per_example": [1.0]}, "per_example"),
        ({"per_example": {"test/nll": 1.0}}, "per_example.test/nll"),
        ({"per_example": {"test/nll": [1.0, "2"]}}, "per_example.test/nll[1]"),
    ],
)
def test_values_are_plain_json_of_the_right_kind(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    with pytest.raises(TypeError) as error:
        write_result(make_result(**changes), tmp_path)
    assert f"'{key}'" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "/home/someone/data",
        "python x.py --data /mnt/disk/squad",
        "python x.py --data=/mnt/disk/squad",
        "python x.py --data '/mnt/disk/squad'",
        "~/squad",
        "~someone/squad",
        "C:\\Users\\someone",
        "D:/squad",
        "\\\\server\\share",
        "file:///etc/hosts",
        "a:/usr/lib",
        "[/usr/lib]",
    ],
)
def test_absolute_paths_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"'settings\.note\[0\]' holds an absolute path"):
        write_result(make_result(settings={"note": [text]}), tmp_path)
    with pytest.raises(ValueError, match="'command' holds an absolute path"):
        write_result(make_result(command=text), tmp_path)
    with pytest.raises(ValueError, match="absolute path"):
        write_result(make_result(settings={text: 1}), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "https://huggingface.co/datasets/rajpurkar/squad",
        "hf://datasets/rajpurkar/squad@main/train.parquet",
        "ctxzoo-data/squad_v1_mini",
        "python recipes/x.py --data $CTXZOO_DATA/squad --out=runs/a ../b '<...>/c'",
        "1 / 2 examples/s, ~3 GB, 10:30",
    ],
)
def test_public_names_are_no_paths(tmp_path: Path, text: str) -> None:
    assert read_result(write_result(make_result(settings={"note": text}), tmp_path)).settings == {"note": text}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", "1", r"'seed': expected int, found str '1'"),
        ("metrics", [1], "'metrics': expected dict, found list"),
        ("metrics", {"test/f1": "40"}, "'metrics.test/f1': expected float"),
        ("metrics", {"test/f1": float("nan")}, "'metrics.test/f1' is nan"),
        ("schema", 2, "'schema' is 2, this version reads 1"),
        ("variant", "", "'variant' is empty"),
        ("commit", None, "'commit': expected str"),
        ("parameters", {"trainable": 1}, "'parameters' needs exactly"),
        ("data", {"source": "a", "fingerprint": "b", "more": "c"}, "'data' needs exactly"),
        ("created", "yesterday", "'created' is 'yesterday'"),
        ("created", "2026-01-31T12:00:00", "'created' is"),
        ("created", "2026-01-31T12:00:00+02:00", "'created' is"),
        ("command", "python /home/me/x.py", "'command' holds an absolute path"),
        ("loss", 1.0, "unknown field 'loss'"),
    ],
)
def test_reading_names_file_and_field(tmp_path: Path, key: str, value: object, message: str) -> None:
    path = write_result(make_result(), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises((ValueError, TypeError), match=message) as error:
        read_result(path)
    assert str(error.value).startswith(f"{path}: ")


def test_reading_a_file_without_a_field(tmp_path: Path) -> None:
    path = write_result(make_result(), tmp_path)
    content = json.loads(path.read_text())
    for name in content.keys() - {"tag"}:
        path.write_text(json.dumps({key: value for key, value in content.items() if key != name}))
        with pytest.raises(ValueError, match=f"{path.name}: missing field '{name}'"):
            read_result(path)


def test_trials_are_read_where_they_are_asked_for_alone(tmp_path: Path) -> None:
    write_result(make_result(), tmp_path)
    write_result(make_result(split="validation"), tmp_path / TRIALS)
    assert [one.split for one in read_results(tmp_path)] == ["test"]
    assert [one.split for one in read_results(tmp_path / TRIALS)] == ["validation"]


def test_files_of_earlier_runs_have_no_tag(tmp_path: Path) -> None:
    path = write_result(make_result(tag="k5"), tmp_path)
    content = json.loads(path.read_text())
    assert content.pop("tag") == "k5"
    path.write_text(json.dumps(content))
    assert read_result(path) == make_result(tag="")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null"])
def test_reading_what_is_no_results_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises((ValueError, TypeError), match=r"broken\.json: "):
        read_result(path)


def test_read_results_in_the_order_of_paths(tmp_path: Path) -> None:
    for seed in (2, 1):
        write_result(make_result(seed=seed), tmp_path)
    write_result(make_result(recipe="another"), tmp_path)
    found = read_results(tmp_path)
    assert [(run.recipe, run.seed) for run in found] == [("another", 1), ("squad_bidaf", 1), ("squad_bidaf", 2)]


def test_read_results_of_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no results folder"):
        read_results(tmp_path / "nowhere")


def test_the_present_time_is_accepted(tmp_path: Path) -> None:
    assert read_result(write_result(make_result(created=format_utc_now()), tmp_path)).created.endswith("+00:00")
