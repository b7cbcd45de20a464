"""A check that this machine is fit for ctxzoo: versions, devices, data folder, Hub, optional parts."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import torch
from huggingface_hub import constants, get_session
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ctxzoo.data.files import HUB_PROBE_SECONDS, default_cache_folder
from ctxzoo.data.sources import DATA_DIR_VARIABLE, get_data_folder

PACKAGE = "ctxzoo"
EXTRAS = ("plots", "tensorboard", "word2vec", "embeddings", "wandb")
Status = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Finding:
    """One line of the report. "missing" is something without which ctxzoo does not work; "note" something to know."""

    status: Status
    subject: str
    detail: str


def examine_installation(known_datasets: Iterable[str]) -> list[Finding]:
    """Return the results of all checks of this machine: versions, devices, folders and the Hub.

    Args:
        known_datasets: Ids of datasets to look for in the data folder.
    """
    python, requirements = _read_requirements()
    findings = [_check_python(python)]
    findings += [_check_library(requirement) for requirement in requirements if requirement.marker is None]
    findings += [_check_extra(name, requirements) for name in EXTRAS]
    findings += [
        _check_devices(),
        _check_threads(),
        _check_cxx_compiler(),
        _check_cache_folder(),
        *_check_data_folder(known_datasets),
        _check_hub(),
    ]
    return findings


def _read_requirements() -> tuple[str, list[Requirement]]:
    """Return the range of Python and the requirements, from the installed metadata or a checkout's pyproject.toml."""
    try:
        python = metadata.metadata(PACKAGE)["Requires-Python"]
        lines = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        python, lines = _read_requirements_of_checkout()
    requirements = [Requirement(line) for line in lines]
    return python, [requirement for requirement in requirements if requirement.name != PACKAGE]


def _read_requirements_of_checkout() -> tuple[str, list[str]]:
    """Return the versions of Python and the libraries that pyproject.toml of the checkout asks for."""
    import tomllib  # from Python 3.11 on; an installed package does not come here

    module = importlib.import_module(PACKAGE)
    file = Path(str(module.__file__)).parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra, more in project["optional-dependencies"].items():
        for line in more:
            what, _, marker = line.partition(";")
            lines.append(f"{what} ; {f'({marker}) and ' if marker else ''}extra == '{extra}'")
    return project["requires-python"], lines


def _check_python(supported: str) -> Finding:
    """Return whether this Python is one of the `supported` versions."""
    version = platform.python_version()
    fits = SpecifierSet(supported).contains(version, prereleases=True)
    return Finding("ok" if fits else "missing", "python", f"{version} (supported: {supported})")


def _check_library(requirement: Requirement) -> Finding:
    """Return whether a library is installed in a version that the requirement allows."""
    supported = f"supported: {requirement.specifier or 'any'}"
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding("missing", requirement.name, f"not installed ({supported}); pip install '{requirement}'")
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding("missing", requirement.name, f"{version} is not supported ({supported})")
    return Finding("ok", requirement.name, f"{version} ({supported})")


def _check_extra(name: str, requirements: list[Requirement]) -> Finding:
    """Return whether all libraries of the optional part `name` are installed."""
    members = [r for r in requirements if r.marker is not None and r.marker.evaluate({"extra": name})]
    lacking = [r for r in members if _check_library(r).status != "ok"]
    if lacking:
        names = ", ".join(r.name for r in lacking)
        packages = " ".join(f"'{r.name}{r.specifier}'" for r in lacking)
        return Finding("note", f"extra {name}", f"without {names}; pip install {packages}")
    return Finding("ok", f"extra {name}", "installed")


def _check_devices() -> Finding:
    """Return the GPUs that PyTorch sees."""
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("Apple GPU (mps)")
    return Finding("ok" if names else "note", "devices", ", ".join(names) or "CPU only")


def _check_threads() -> Finding:
    """Return the number of threads that PyTorch uses, and of cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("ok", "threads", f"{torch.get_num_threads()} of PyTorch on {cores} cores")


def find_cxx_compiler() -> str | None:
    """Return the path of the C++ compiler that torch.compile can use on the CPU, or None."""
    names = [os.environ.get("CXX"), "c++", "g++", "clang++", "cl"]
    return next((path for name in names if name and (path := shutil.which(name))), None)


def _check_cxx_compiler() -> Finding:
    """Return whether there is a C++ compiler, which `torch.compile` needs on the CPU."""
    compiler = find_cxx_compiler()
    if compiler is None:
        return Finding("note", "C++ compiler", "none found; torch.compile on the CPU needs one (or CXX)")
    return Finding("ok", "C++ compiler", f"{compiler}, for torch.compile")


def _check_cache_folder() -> Finding:
    """Return whether the folder for prepared data can be written."""
    folder = default_cache_folder()
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Finding("missing", "cache", f"{folder} cannot be written; set CTXZOO_CACHE to a folder that can")
    return Finding("ok", "cache", str(folder))


def _check_data_folder(known_datasets: Iterable[str]) -> Iterable[Finding]:
    """Yield where the data folder is and which of the known datasets it holds."""
    root = get_data_folder()
    subject = DATA_DIR_VARIABLE if os.environ.get(DATA_DIR_VARIABLE) else "data folder"
    if not root.is_dir():
        why = (
            f"{root} is not a folder" if subject == DATA_DIR_VARIABLE else f"no {root}, and {DATA_DIR_VARIABLE} not set"
        )
        yield Finding("note", subject, f"{why}; `ctxzoo data get NAME` fills it, the sample needs none")
        return
    yield Finding("ok", subject, str(root))
    for name in known_datasets:
        files = sorted({path.stem for path in (root / name).rglob("*") if path.suffix in (".parquet", ".json")})
        if files:
            yield Finding("ok", f"data {name}", f"files: {', '.join(files)}")
        elif "/" in name:
            yield Finding("note", f"data {name}", f"not in the folder; ctxzoo data get {name}")


def _check_hub() -> Finding:
    """Return whether the Hugging Face Hub answers."""
    if constants.HF_HUB_OFFLINE:
        return Finding("note", "Hub", "offline mode (HF_HUB_OFFLINE)")
    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_PROBE_SECONDS)
    except Exception as error:  # the HTTP library, and so its errors, differ between versions of the client
        return Finding("note", "Hub", f"{constants.ENDPOINT} does not answer ({type(error).__name__})")
    return Finding("ok", "Hub", f"{constants.ENDPOINT} answers")
