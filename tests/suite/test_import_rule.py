"""The import rule holds everywhere, and its reader finds what breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.models import ARCHITECTURES
from tests.support.import_rule import (
    imported_siblings,
    owners_of_shared_files,
    violations_in_models,
    violations_in_package,
    violations_in_recipe,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ctxzoo"
MODELS = PACKAGE / "models"
SIBLINGS = {"ops_span", "layers_x", "modeling_base", "modeling_other", "configuration_base"} | {
    "configuration_this",
    "configuration_other",
    "tokenization_x",
    "registration",
}


def _python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def test_models_folder_is_flat() -> None:
    folders = [path.name for path in MODELS.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert folders == [], "the Hub-side loader copies siblings only"


def test_models_keep_the_rule() -> None:
    files = _python_files(MODELS)
    siblings = {path.stem for path in files}
    assert len(files) > 5
    found = [line for path in files for line in violations_in_models(path.stem, path.read_text("utf-8"), siblings)]
    assert found == []


def test_shared_files_have_two_owners() -> None:
    imports = {path.stem: imported_siblings(path) for path in _python_files(MODELS)}
    architectures = {
        name: {
            _file_of(cls)
            for cls in (known.config_class, *known.model_classes.values(), known.tokenizer_class)
            if cls is not None
        }
        for name, known in ARCHITECTURES.items()
    }
    pipelines = {_file_of(cls) for known in ARCHITECTURES.values() for cls in known.pipeline_classes.values()}
    assert pipelines
    assert owners_of_shared_files(imports, architectures, pipelines) == []


def _file_of(cls: type) -> str:
    return cls.__module__.rpartition(".")[2]


TWO_ARCHITECTURES = {"text": {"modeling_text"}, "text_cnn": {"modeling_text_cnn"}}


@pytest.mark.parametrize(
    ("imports", "problem"),
    [
        # Reached through another file, from one architecture and from two.
        ({"modeling_text": {"layers_a"}, "layers_a": {"ops_b"}, "modeling_text_cnn": {"layers_a"}, "ops_b": set()}, ""),
        ({"modeling_text": {"ops_b"}, "modeling_text_cnn": set(), "ops_b": set()}, "ops_b: serves text alone; call"),
        ({"modeling_text": {"ops_text"}, "modeling_text_cnn": set(), "ops_text": set()}, ""),
        ({"modeling_text": {"ops_text_x"}, "modeling_text_cnn": set(), "ops_text_x": set()}, ""),
        ({"modeling_text": {"ops_texts"}, "modeling_text_cnn": set(), "ops_texts": set()}, "serves text alone"),
        (
            {"modeling_text": {"ops_text"}, "modeling_text_cnn": {"ops_text"}, "ops_text": set()},
            "named after text, but it serves text, text_cnn",
        ),
        (
            {"modeling_text": {"layers_text_cnn"}, "modeling_text_cnn": set(), "layers_text_cnn": set()},
            "named after text_cnn, but it serves text;",
        ),
        # What a pipeline needs serves a problem, and is not called after an architecture.
        ({"modeling_text": {"ops_b"}, "modeling_text_cnn": set(), "ops_b": set(), "pipeline_x": {"ops_b"}}, ""),
        (
            {"modeling_text": {"ops_text"}, "modeling_text_cnn": set(), "ops_text": set(), "pipeline_x": {"ops_text"}},
            "named after text",
        ),
        ({"modeling_text": set(), "modeling_text_cnn": set(), "ops_b": set()}, "serves <architecture> alone"),
    ],
)
def test_reader_counts_owners(imports: dict[str, set[str]], problem: str) -> None:
    found = owners_of_shared_files(imports, TWO_ARCHITECTURES, {"pipeline_x"} & set(imports))
    assert len(found) == (1 if problem else 0)
    assert problem in "".join(found)


def test_package_keeps_the_rule() -> None:
    files = [path for path in _python_files(PACKAGE) if MODELS not in path.parents]
    assert len(files) > 5
    found = [
        line
        for path in files
        for line in violations_in_package(path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8"))
    ]
    assert found == []


def test_recipes_keep_the_rule() -> None:
    files = _python_files(ROOT / "recipes")
    assert [line for path in files for line in violations_in_recipe(path.name, path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("stem", "source", "problem"),
    [
        ("ops_a", "from .layers_x import X", "must not import layers_x"),
        ("layers_a", "from .modeling_base import X", "must not import modeling_base"),
        ("layers_a", "from .configuration_this import X", "must not import configuration_this"),
        ("modeling_this", "from .modeling_other import X", "must not import modeling_other"),
        ("modeling_this", "from .configuration_other import X", "only configuration_this"),
        ("configuration_this", "from .modeling_base import X", "must not import modeling_base"),
        ("ops_a", "from .modeling_base import X", "must not import modeling_base"),
        ("tokenization_x", "from .modeling_base import X", "must not import modeling_base"),
        ("modeling_this", "from . import ops_span", "only `from .sibling"),
        ("ops_a", "import triton", "triton is optional"),
        ("ops_a", "from numba.core import types", "numba is optional"),
        ("ops_a", "try:\n    import triton\nexcept ValueError:\n    pass", "triton is optional"),
        ("modeling_this", "from .. import models", "only `from .sibling"),
        ("modeling_this", "from ..models.ops_span import X", "only `from .sibling"),
        ("modeling_this", "from .folder.ops_span import X", "only `from .sibling"),
        ("modeling_this", "from .nowhere import X", "no nowhere.py"),
        ("modeling_this", "def f():\n    from .modeling_other import X", "must not import modeling_other"),
        ("modeling_this", "from ctxzoo.models.ops_span import X", "cannot find ctxzoo"),
        ("modeling_this", "try:\n    import ctxzoo\nexcept ImportError:\n    pass", "cannot find ctxzoo"),
        ("modeling_this", "import lightning", "imports lightning"),
        ("modeling_this", "import numpy as np", "imports numpy"),
        ("modeling_this", "from safetensors import safe_open", "imports safetensors"),
        ("modeling_this", "import urllib.request", "network"),
        ("modeling_this", "import importlib", "imports importlib"),
        ("modeling_this", "x = __import__('ops_span')", "__import__"),
        ("modeling_this", "from transformers import AutoModel", "Auto classes"),
        ("modeling_this", "from transformers.models.auto import modeling_auto", "Auto classes"),
        ("modeling_this", '"""Read it with\n    from .nowhere import x\n"""', "begins like a relative import"),
        ("helpers", "import math", "unknown kind of file"),
    ],
)
def test_reader_finds_what_models_must_not(stem: str, source: str, problem: str) -> None:
    found = violations_in_models(stem, source, SIBLINGS)
    assert len(found) == 1
    assert problem in found[0]


def test_reader_allows_what_models_need() -> None:
    source = (
        "import math\nimport torch\nfrom torch.nn import functional as F\nfrom transformers import PreTrainedModel\n"
        "from .configuration_this import X\nfrom .layers_x import (\n    Y,\n    Z,\n)\nfrom .ops_span import x\n"
        "from .modeling_base import M\n"
    )
    assert violations_in_models("modeling_this", source, SIBLINGS) == []
    assert violations_in_models("registration", "from transformers import AutoConfig", SIBLINGS) == []
    optional = "try:\n    import triton\n    import triton.language as tl\nexcept ImportError:\n    triton = None\n"
    assert violations_in_models("ops_a", optional, SIBLINGS) == []
    compiled = "try:\n    import numba\n    import numpy\n    from llvmlite import ir\nexcept ImportError:\n    raise\n"
    assert violations_in_models("ops_a", compiled, SIBLINGS) == []


@pytest.mark.parametrize(
    ("place", "source", "problem"),
    [
        ("data/a.py", "from ctxzoo.training.trainer import x", "data must not import training"),
        ("data/a.py", "from ctxzoo.metrics import x", "data must not import metrics"),
        ("metrics/a.py", "from ctxzoo.data.b import x", "metrics must not import data"),
        ("results/a.py", "from ctxzoo.word_vectors.b import x", "results must not import word_vectors"),
        ("training/a.py", "import ctxzoo.hub.push", "training must not import hub"),
        ("hub/a.py", "def f():\n    from ctxzoo.runs import train", "hub must not import runs"),
        ("runs/a.py", "from ctxzoo import tasks", "runs must not import tasks"),
        ("tasks/b/a.py", "from ctxzoo import cli", "tasks must not import cli"),
        ("tasks/b/a.py", "from ctxzoo.tasks.c.run import x", "b must not import c"),
        ("tasks/text_classification/a.py", "from ctxzoo.tasks.word_embeddings.run import x", "must not import word_em"),
        ("tasks/sequences/a.py", "from ctxzoo.tasks.next_event import x", "sequences must not import next_event"),
        ("tasks/b/a.py", "from ctxzoo.tasks import PROBLEMS", "b must not import PROBLEMS"),
        ("tasks/commands.py", "from ctxzoo.tasks.b.run import x", "tasks/commands.py must not import b"),
        ("data/a.py", "from .b import x", "relative import"),
        ("data/a.py", "from recipes.squad_bidaf import x", "must not import recipes"),
        ("data/a.py", "from reports.tables import x", "must not import reports"),
        ("results/a.py", "import matplotlib.pyplot as plt", "matplotlib is optional"),
        ("results/a.py", "try:\n    import wandb\nexcept ImportError:\n    wandb = None", "wandb is optional"),
        ("app/server.py", "import gradio as gr", "gradio is optional"),
        ("app/a.py", "from ctxzoo.tasks.b.run import x", "app must not import tasks"),
        ("newfolder/a.py", "import math", "unknown folder"),
    ],
)
def test_reader_finds_what_the_package_must_not(place: str, source: str, problem: str) -> None:
    found = violations_in_package(place, source)
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("hub/a.py", "import ctxzoo\nfrom ctxzoo import __version__\nfrom ctxzoo.results.result import x"),
        ("results/a.py", "def f():\n    import matplotlib.pyplot as plt\n    return plt"),
        ("results/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import matplotlib"),
        ("data/a.py", "from ctxzoo.data.b import x\nfrom ctxzoo.models.ops_a import y\nimport datasets"),
        ("tasks/b/a.py", "from ctxzoo.tasks.b.run import x\nfrom ctxzoo.tasks.commands import y"),
        ("tasks/word_embeddings/a.py", "from ctxzoo.tasks.token_classification.problem import x"),
        ("tasks/b/page.py", "import gradio as gr\nfrom ctxzoo.app.frame import Page"),
        ("tasks/next_event/a.py", "from ctxzoo.tasks.sequences.task import x"),
    ],
)
def test_reader_allows_what_the_package_needs(place: str, source: str) -> None:
    assert violations_in_package(place, source) == []


def test_reader_keeps_recipes_apart() -> None:
    assert violations_in_recipe("a.py", "from recipes.b import x\nfrom .b import y") != []
    assert len(violations_in_recipe("a.py", "from tests.support import x")) == 1
    assert violations_in_recipe("a.py", "import lightning\nfrom ctxzoo.data.b import x") == []
