"""The import rule holds everywhere, and its reader finds what breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.import_rule import violations_in_models, violations_in_package, violations_in_recipe

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ctxzoo"
MODELS = PACKAGE / "models"
SIBLINGS = {"ops_span", "layers_x", "outputs", "modeling_base", "modeling_other", "configuration_base"} | {
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
        ("outputs", "from .ops_span import x", "must not import ops_span"),
        ("tokenization_x", "from .modeling_base import X", "must not import modeling_base"),
        ("modeling_this", "from . import outputs", "only `from .sibling"),
        ("ops_a", "import triton", "triton is optional"),
        ("ops_a", "try:\n    import triton\nexcept ValueError:\n    pass", "triton is optional"),
        ("modeling_this", "from .. import models", "only `from .sibling"),
        ("modeling_this", "from ..models.outputs import X", "only `from .sibling"),
        ("modeling_this", "from .folder.outputs import X", "only `from .sibling"),
        ("modeling_this", "from .nowhere import X", "no nowhere.py"),
        ("modeling_this", "def f():\n    from .modeling_other import X", "must not import modeling_other"),
        ("modeling_this", "from ctxzoo.models.outputs import X", "cannot find ctxzoo"),
        ("modeling_this", "try:\n    import ctxzoo\nexcept ImportError:\n    pass", "cannot find ctxzoo"),
        ("modeling_this", "import lightning", "imports lightning"),
        ("modeling_this", "import numpy as np", "imports numpy"),
        ("modeling_this", "from safetensors import safe_open", "imports safetensors"),
        ("modeling_this", "import urllib.request", "network"),
        ("modeling_this", "import importlib", "imports importlib"),
        ("modeling_this", "x = __import__('outputs')", "__import__"),
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
        "from .outputs import O\nfrom .modeling_base import M\n"
    )
    assert violations_in_models("modeling_this", source, SIBLINGS) == []
    assert violations_in_models("registration", "from transformers import AutoConfig", SIBLINGS) == []
    optional = "try:\n    import triton\n    import triton.language as tl\nexcept ImportError:\n    triton = None\n"
    assert violations_in_models("ops_a", optional, SIBLINGS) == []


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
        ("tasks/b/a.py", "from ctxzoo.tasks import PROBLEMS", "b must not import PROBLEMS"),
        ("tasks/commands.py", "from ctxzoo.tasks.b.run import x", "tasks/commands.py must not import b"),
        ("data/a.py", "from .b import x", "relative import"),
        ("data/a.py", "from recipes.squad_bidaf import x", "must not import recipes"),
        ("data/a.py", "from reports.tables import x", "must not import reports"),
        ("results/a.py", "import matplotlib.pyplot as plt", "matplotlib is optional"),
        ("results/a.py", "try:\n    import wandb\nexcept ImportError:\n    wandb = None", "wandb is optional"),
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
        ("tasks/word_embeddings/a.py", "from ctxzoo.tasks.token_classification.run import x"),
    ],
)
def test_reader_allows_what_the_package_needs(place: str, source: str) -> None:
    assert violations_in_package(place, source) == []


def test_reader_keeps_recipes_apart() -> None:
    assert violations_in_recipe("a.py", "from recipes.b import x\nfrom .b import y") != []
    assert len(violations_in_recipe("a.py", "from tests.support import x")) == 1
    assert violations_in_recipe("a.py", "import lightning\nfrom ctxzoo.data.b import x") == []
