"""Provenance of a run: the commit, the machine and the command, without private paths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ctxzoo.results import environment
from ctxzoo.results.process_memory import get_peak_resident_bytes


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *settings, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=clean).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "my zoo"
    (root / "recipes").mkdir(parents=True)
    (root / "results").mkdir()
    (root / "benchmarks" / "results").mkdir(parents=True)
    (root / "recipes" / "squad.py").write_text("print()\n")
    (root / "results" / "run.json").write_text("{}\n")
    (root / "benchmarks" / "results" / "step.json").write_text("{}\n")
    (root / "benchmarks" / "step.py").write_text("print()\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


def set_argv(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", [str(argument) for argument in arguments])


def test_commit_is_that_of_the_script_not_of_the_working_directory(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_argv(monkeypatch, checkout / "recipes" / "squad.py")
    monkeypatch.chdir(tmp_path)
    assert environment.git_commit() == git(checkout, "rev-parse", "HEAD")


def test_commit_is_dirty_when_tracked_code_differs_only(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = checkout / "recipes" / "squad.py"
    set_argv(monkeypatch, script)
    sha = git(checkout, "rev-parse", "HEAD")
    (checkout / "notes.txt").write_text("untracked")
    (checkout / "results" / "run.json").write_text('{"written": "by an earlier run"}\n')
    assert environment.git_commit() == sha
    script.write_text("print(1)\n")
    assert environment.git_commit() == f"{sha}-dirty"


def test_commit_ignores_what_benchmarks_wrote_but_not_their_code(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_argv(monkeypatch, checkout / "benchmarks" / "step.py")
    sha = git(checkout, "rev-parse", "HEAD")
    (checkout / "benchmarks" / "results" / "step.json").write_text('{"written": "by an earlier run"}\n')
    assert environment.git_commit() == sha
    (checkout / "benchmarks" / "step.py").write_text("print(1)\n")
    assert environment.git_commit() == f"{sha}-dirty"


def test_commit_outside_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_argv(monkeypatch, tmp_path / "script.py")
    assert environment.git_commit() == "unknown"
    monkeypatch.setenv("PATH", "")
    assert environment.git_commit() == "unknown"


def test_command_names_no_path_of_the_machine(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "private" / "data"
    data.mkdir(parents=True)
    monkeypatch.setenv("CTXZOO_DATA", str(data))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(checkout)
    set_argv(
        monkeypatch,
        checkout / "recipes" / "squad.py",
        "--variant",
        "learned char7",
        f"--vectors={data / 'glove 6B' / 'vectors.txt'}",
        "--output",
        checkout / "runs" / "a",
        f"--files={tmp_path / 'elsewhere' / 'x.json'},plain",
        "~/secret/key",
        data,
        "",
    )
    assert environment.format_command_line() == (
        "python recipes/squad.py --variant 'learned char7' --vectors=$CTXZOO_DATA/'glove 6B/vectors.txt'"
        " --output runs/a --files='<...>/x.json',plain '<...>/key' $CTXZOO_DATA ''"
    )


def test_command_repeats_the_arguments_in_a_shell(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    monkeypatch.setenv("CTXZOO_DATA", str(data))
    monkeypatch.chdir(checkout)
    arguments = ["--note=it's $5 & more", f"--data={data}/a b", "a,b", "x=", "*"]
    set_argv(monkeypatch, "recipes/squad.py", *arguments)
    (checkout / "recipes" / "squad.py").write_text("import json, sys\nprint(json.dumps(sys.argv))\n")
    command = environment.format_command_line().replace("python", sys.executable, 1)
    printed = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout
    assert json.loads(printed) == ["recipes/squad.py", *arguments]


def test_command_of_a_data_link_that_leads_elsewhere(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "squad").symlink_to(tmp_path / "cache")
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(checkout)
    set_argv(monkeypatch, "recipes/squad.py", tmp_path / "data" / "squad")
    assert environment.format_command_line() == "python recipes/squad.py $CTXZOO_DATA/squad"


def test_command_of_an_installed_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_argv(monkeypatch, tmp_path / "bin" / "ctxzoo", "list")
    assert environment.format_command_line() == "ctxzoo list"


def test_hardware_is_json_and_names_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    found = json.loads(json.dumps(environment.describe_hardware()))
    assert found["gpus"] == ["GPU 0", "GPU 1"]
    assert 1 <= found["cores"] <= (os.cpu_count() or 1)
    assert found["memory_gb"] > 0.1
    assert found["cpu"]


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "LIBRARIES", ("torch", "a-library-nobody-has"))
    found = environment.get_library_versions()
    assert found["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert found["a-library-nobody-has"] == "not installed"
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_peak_memory_counts_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    host = environment.measure_peak_memory_mb()
    assert host == pytest.approx(get_peak_resident_bytes() / 2**20, rel=0.05)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda index: (index + 1) * 2**30)
    assert environment.measure_peak_memory_mb() == pytest.approx(host + 3 * 1024, abs=50)


@pytest.mark.parametrize(
    ("dataset", "shown"),
    [
        ("SetFit/CR", "SetFit/CR"),
        ("sample", "sample"),
        ("data/texts.csv", "data/texts.csv"),
        ("/home/someone/reviews/texts.csv", "texts.csv"),
        ("~/reviews", "reviews"),
    ],
)
def test_a_dataset_given_by_its_path(dataset: str, shown: str) -> None:
    assert environment.strip_local_path(dataset) == shown


@pytest.mark.parametrize("library", ["numpy", "scipy", "numba", "gensim"])
def test_versions_of_what_computes_are_told(library: str) -> None:
    assert library in environment.get_library_versions()
