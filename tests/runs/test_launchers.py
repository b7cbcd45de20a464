"""Two processes of one training, started in each of the ways that docs/several_devices.md names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.problem_files import FILES
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.two_processes import find_free_port

pytestmark = pytest.mark.slow

PROBLEM = "session-recommendation"
# What would tell a process another place than these tests do.
PLACES = ("SLURM_", "MASTER_", "RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_")
SLURM_PORTS = range(15_000, 25_000)  # Lightning's, which follow from the last four digits of a job's number


def command(data: Path, output: Path, *options: str) -> list[str]:
    return [
        *("-m", "ctxzoo.cli", "train", PROBLEM, "--data", str(data), "--output_dir", str(output), "--tiny"),
        *("--batch_size", "4", "--accelerator", "cpu", "--strategy", "ddp", "--no_baselines", *options),
    ]


def run_together(commands: Sequence[list[str]], variables: Sequence[Mapping[str, str]] = ({},)) -> list[str]:
    """Run Python with each of the commands at once, and return what each prints."""
    free = {name: value for name, value in os.environ.items() if not name.startswith(PLACES)}
    usual = {**free, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    programs = [
        subprocess.Popen(
            [sys.executable, *words],
            cwd=REPOSITORY_ROOT,
            env={**usual, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words, more in zip(commands, variables, strict=True)
    ]
    try:
        printed = [one.communicate(timeout=300) for one in programs]
    finally:
        for one in programs:
            one.kill()
    assert [one.returncode for one in programs] == [0] * len(programs), printed
    return [output for output, _ in printed]


def read_metrics(output: Path) -> dict[str, Any]:
    """What the one results file says."""
    (file,) = (output / "results").rglob("*.json")
    result: dict[str, Any] = json.loads(file.read_text())
    assert result["settings"]["world_size"] == 2
    metrics: dict[str, Any] = result["metrics"]
    return metrics


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FILES[PROBLEM].write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def usual(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What two processes find of which Lightning starts the second."""
    output = tmp_path_factory.mktemp("usual")
    (printed,) = run_together([command(data, output, "--devices", "2")])
    assert printed.count("training ") == printed.count("use it:") == 1
    return read_metrics(output)


def test_torchrun_starts_both(data: Path, usual: dict[str, Any], tmp_path: Path) -> None:
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    (printed,) = run_together([[*launch, *command(data, tmp_path, "--devices", "2")]])
    assert printed.count("use it:") == 1
    assert read_metrics(tmp_path) == usual


def test_torchrun_on_two_machines(data: Path, usual: dict[str, Any], tmp_path: Path) -> None:
    """Both are this one; torchrun's own port and folder are shared as between two."""
    launch = [
        *("-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "1"),
        *("--master_addr", "127.0.0.1", "--master_port", str(find_free_port())),
    ]
    options = ("--devices", "1", "--num_nodes", "2")
    first, second = run_together(
        [[*launch, "--node_rank", str(rank), *command(data, tmp_path, *options)] for rank in range(2)], [{}, {}]
    )
    assert (first.count("use it:"), second) == (1, "")
    assert read_metrics(tmp_path) == usual


@pytest.mark.parametrize("machines", [1, 2])
def test_the_variables_of_srun(machines: int, data: Path, usual: dict[str, Any], tmp_path: Path) -> None:
    tasks = 2 // machines  # of each machine
    common = {
        "SLURM_JOB_NAME": "train",
        "SLURM_JOB_ID": f"77{find_free_port(SLURM_PORTS) - SLURM_PORTS[0]:04d}",
        "SLURM_NTASKS": "2",
        "SLURM_NNODES": str(machines),
        "SLURM_NTASKS_PER_NODE": str(tasks),
        "SLURM_NODELIST": "127.0.0.1",
    }
    places = [
        {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % tasks), "SLURM_NODEID": str(rank // tasks)}
        for rank in range(2)
    ]
    words = command(data, tmp_path, "--devices", str(tasks), "--num_nodes", str(machines))
    first, second = run_together([words, words], [{**common, **place} for place in places])
    assert (first.count("use it:"), second) == (1, "")
    assert read_metrics(tmp_path) == usual
