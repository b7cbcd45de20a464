"""The notebooks: stored as they run, from public names alone, and what they show is what they say."""

from __future__ import annotations

import ast
import base64
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ctxzoo.models import ARCHITECTURES
from reports.notebooks import METADATA, NOTEBOOKS, get_drawn_pictures, get_printed_text, list_code_cells, run_notebook
from tests.support.numbers import assert_alike
from tests.test_public_names import PACKAGES

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
LIBRARIES = {"IPython", "lightning", "matplotlib", "numpy", "torch", "transformers"}
MOST_PICTURE, MOST_NOTEBOOK = 60 * 1024, 250 * 1024
# Paths of a machine, times, progress bars and what a hub says.
NOT_STORED = re.compile(r"/(?:home|tmp|root|work|Users)/|\d s\b|\d%\|| min\b|it/s|\b20\d\d-\d\d|[Ww]arning")

each_notebook = pytest.mark.parametrize("name", NAMES)


def stored(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]


def program(notebook: Any) -> ast.Module:
    """The code of all cells, without magics."""
    lines = "\n".join(cell.source for cell in list_code_cells(notebook)).splitlines()
    return ast.parse("\n".join(line for line in lines if not line.startswith("%")))


def public_classes() -> set[tuple[str, str]]:
    """Modules and names of configurations and models, as `ARCHITECTURES` lists them."""
    listed = [
        one for known in ARCHITECTURES.values() for one in (known.config_class, *known.model_classes.values()) if one
    ]
    return {(one.__module__, one.__name__) for one in listed}


def names_that_are_not_public(tree: ast.Module) -> Iterator[str]:
    """What a program takes from ctxzoo, or from a library, and is not offered there."""
    modules = {"ctxzoo": "ctxzoo"}  # name in the program to package
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wrong = [one.name for one in node.names if not _may_be_imported(one.name)]
            yield from wrong
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module)
            for one in node.names:
                if f"{module}.{one.name}" in PACKAGES:
                    modules[one.asname or one.name] = f"{module}.{one.name}"
                elif not _offers(module, one.name):
                    yield f"{module}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            package = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if package is not None and not (_offers(package, node.attr) or node.attr == "__file__"):
                yield f"{package}.{node.attr}"
            elif package is None and node.attr.startswith("_"):
                yield node.attr


def _may_be_imported(module: str) -> bool:
    top = module.partition(".")[0]
    is_private = any(part.startswith("_") for part in module.split("."))
    return module in PACKAGES or (not is_private and top != "ctxzoo" and top in LIBRARIES | sys.stdlib_module_names)


def _offers(module: str, name: str) -> bool:
    if module.partition(".")[0] != "ctxzoo":
        return _may_be_imported(module) and not name.startswith("_")
    if module in PACKAGES:
        return name in import_module(module).__all__
    return (module, name) in public_classes()


@each_notebook
def test_it_is_stored_as_it_ran_from_top_to_bottom(name: str) -> None:
    notebook = stored(name)
    cells = list_code_cells(notebook)
    assert notebook.metadata == METADATA
    assert [cell.metadata for cell in notebook.cells] == [{}] * len(notebook.cells)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert {one.output_type for one in cell.outputs} <= {"stream", "display_data", "execute_result"}
        assert all(one.name == "stdout" for one in cell.outputs if one.output_type == "stream")
        is_silent = cell.source.startswith("%%capture")
        assert bool(get_printed_text(cell)) == ("print" in cell.source and not is_silent)
        assert len(get_drawn_pictures(cell)) == len(
            re.findall(r"^Image\(|^plt\.show\(", cell.source, flags=re.MULTILINE)
        )
        assert not NOT_STORED.search(get_printed_text(cell))


@each_notebook
def test_it_is_small(name: str) -> None:
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size <= MOST_NOTEBOOK
    for cell in list_code_cells(stored(name)):
        assert all(len(base64.b64decode(picture)) <= MOST_PICTURE for picture in get_drawn_pictures(cell))


@each_notebook
def test_it_is_made_from_public_names_alone(name: str) -> None:
    assert list(names_that_are_not_public(program(stored(name)))) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("import ctxzoo.runs.run", ["ctxzoo.runs.run"]),
        ("import ctxzoo\nctxzoo.tasks", ["ctxzoo.tasks"]),
        ("from ctxzoo.runs.run import execute", ["ctxzoo.runs.run.execute"]),
        (
            "from ctxzoo.tasks import next_event\nnext_event.next_events\nnext_event.data",
            ["ctxzoo.tasks.next_event.data"],
        ),
        (
            "from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem, HcrnnCell",
            ["ctxzoo.models.modeling_hcrnn.HcrnnCell"],
        ),
        ("from transformers import AutoModel, _lazy", ["transformers._lazy"]),
        ("import pandas", ["pandas"]),
        ("model = 1\nmodel._weights", ["_weights"]),
    ],
)
def test_the_reader_finds_names_that_are_not_public(code: str, wrong: list[str]) -> None:
    assert list(names_that_are_not_public(ast.parse(code))) == wrong


@pytest.mark.slow
@each_notebook
def test_it_prints_and_draws_again_what_is_stored(name: str, tmp_path: Path) -> None:
    again = list_code_cells(run_notebook(NOTEBOOKS / f"{name}.ipynb", tmp_path))
    before = list_code_cells(stored(name))
    # Trainings round otherwise on another processor: with AVX2 and AVX-512 a score is 85 and 79 %.
    printed, expected = ([get_printed_text(cell) for cell in cells] for cells in (again, before))
    assert_alike(printed, expected, rel=0.15, abs=0.1)
    assert [len(get_drawn_pictures(cell)) for cell in again] == [len(get_drawn_pictures(cell)) for cell in before]
