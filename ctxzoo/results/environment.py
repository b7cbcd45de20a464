"""What a run was made with: code, machine, library versions, memory and the command, without private paths."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import torch

from ctxzoo.results.process_memory import get_machine_memory_bytes, get_peak_resident_bytes
from ctxzoo.version import read_git_output, version

LIBRARIES: tuple[str, ...] = (
    *("torch", "transformers", "lightning", "datasets", "tokenizers", "torchmetrics", "scikit-learn"),
    *("numpy", "scipy", "numba", "gensim"),
)


def git_commit() -> str:
    """Return the commit of the git checkout that holds the running script.

    Call it at the start of a run: it describes the files as they are at the time of the call.

    Returns:
        The full sha, with ``-dirty`` when tracked files differ from it, or ``unknown`` outside a git checkout. Changes
        below ``results/`` and ``benchmarks/results/`` do not count: they are what earlier runs wrote and do not alter
        what this run computes.
    """
    folder = _get_script_path().parent
    sha = read_git_output(folder, "rev-parse", "HEAD")
    if not sha:
        return "unknown"
    counted = (":(top)", ":(top,exclude)results", ":(top,exclude)benchmarks/results")
    changes = read_git_output(folder, "status", "--porcelain", "--untracked-files=no", "--", *counted)
    return sha if changes == "" else f"{sha}-dirty"


def describe_hardware() -> dict[str, str | int | float | list[str]]:
    """Describe the machine: ``cpu`` (model), ``cores`` this process may use, ``memory_gb`` (GiB in all), ``gpus``."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "cpu": _read_cpu_model(),
        "cores": cores,
        "memory_gb": round(get_machine_memory_bytes() / 2**30, 1),
        "gpus": gpus,
    }


def get_library_versions() -> dict[str, str]:
    """Return the versions of Python, ctxzoo and libraries that matter for results, or ``not installed``."""
    versions = {"python": platform.python_version(), "ctxzoo": version()}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = "not installed"
    return versions


def measure_peak_memory_mb() -> float:
    """Return the peak memory so far, in MiB: resident memory of this process plus what PyTorch allocated on CUDA.

    The GPU part is the sum of ``torch.cuda.max_memory_allocated`` over the devices; worker processes are not counted.
    """
    peak = get_peak_resident_bytes()
    if torch.cuda.is_available():
        peak += sum(torch.cuda.max_memory_allocated(index) for index in range(torch.cuda.device_count()))
    return peak / 2**20


def format_command_line() -> str:
    """Return the command that repeats this run, quoted for the shell, without paths of this machine.

    The script is named relative to its checkout (``python recipes/squad_bidaf.py``). Absolute paths among the arguments
    become relative below the working directory, ``$CTXZOO_DATA/…`` below that folder, and ``<...>/name`` elsewhere;
    each part of ``--flag=value`` and of a comma-separated list counts on its own.
    """
    script = _get_script_path()
    if script.suffix == ".py":
        root = read_git_output(script.parent, "rev-parse", "--show-toplevel")
        words = ["python", shlex.quote(os.path.relpath(script, root)) if root else _quote_argument_part(str(script))]
    else:
        words = [shlex.quote(script.name)]  # an installed console script
    words += ["".join(map(_quote_argument_part, re.split(r"([=,])", argument))) or "''" for argument in sys.argv[1:]]
    return " ".join(words)


def strip_local_path(source: str) -> str:
    """Return a dataset's or model's name for results: only the last part of a local path."""
    path = Path(source).expanduser()
    return path.name if path.is_absolute() else source


def get_public_checkpoint_name(path: str) -> str:
    """Return a checkpoint's name for results; one in a run's folder has the folder's name."""
    folder = Path(path)
    return folder.resolve().parent.name if folder.name == "checkpoint" and folder.is_dir() else strip_local_path(path)


def _get_script_path() -> Path:
    """Return the path of the script that Python runs."""
    return Path(sys.argv[0]).resolve()


def _quote_argument_part(part: str) -> str:
    """Quote one part of an argument for the shell, an absolute path in its public form."""
    if not part:
        return ""
    path = os.path.expanduser(part) if part.startswith("~") else part
    if not os.path.isabs(path):
        return shlex.quote(part)
    data = os.environ.get("CTXZOO_DATA")
    # The path as written comes first: the folder may hold links that lead out of it.
    for candidate in (os.path.normpath(path), os.path.realpath(path)):
        for folder, prefix in ((os.getcwd(), ""), (data, "$CTXZOO_DATA/")):
            if not folder:
                continue
            for base in (os.path.abspath(folder), os.path.realpath(folder)):
                if Path(candidate).is_relative_to(base):
                    relative_path = os.path.relpath(candidate, base)
                    # The variable stays outside the quotes so that a shell still expands it.
                    return (
                        prefix.rstrip("/") if prefix and relative_path == "." else prefix + shlex.quote(relative_path)
                    )
    return shlex.quote(f"<...>/{os.path.basename(os.path.normpath(path))}")


def _read_cpu_model() -> str:
    """Return the name of the CPU's model."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return match.group(1).strip() if match else platform.processor() or platform.machine()
