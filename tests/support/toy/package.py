"""The toy among the files of `ctxzoo.models`, registered as docs/adding_an_architecture.md says."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ctxzoo.models
from ctxzoo.hub.card_facts import ARCHITECTURE_FACTS, ArchitectureFacts
from ctxzoo.models.registration import ARCHITECTURES, register_architecture
from ctxzoo.models.tokenization_word import WordTokenizer

HERE = Path(__file__).parent
FILES = ("configuration_toy.py", "modeling_toy.py")
FACTS = ArchitectureFacts(
    title="Toy", summary="A mean of words for tests.", limits=("It knows twenty words.",), citation="@misc{toy2026}"
)


@contextmanager
def registered(config_class: Any, models: dict[str, Any]) -> Iterator[None]:
    """The toy is one of the zoo's architectures, with facts for its cards."""
    register_architecture(config_class, load=lambda: dict(models), tokenizer=WordTokenizer)
    ARCHITECTURE_FACTS["toy"] = FACTS
    try:
        yield
    finally:
        del ARCHITECTURES.loaders["toy"], ARCHITECTURE_FACTS["toy"]
        ARCHITECTURES._loaded.pop("toy", None)
        config_class.before_first_use = None


@contextmanager
def toy_in_the_package(folder: Path) -> Iterator[None]:
    """Files 1 and 2 of the guide stand in `ctxzoo/models/`, which is `folder` beside the real one, and are registered.

    There they import their siblings as every file of that folder must, so that a checkpoint carries its code.
    """
    for sibling in Path(ctxzoo.models.__file__).parent.glob("*.py"):
        (folder / sibling.name).symlink_to(sibling)
    for name in FILES:
        code = (HERE / name).read_text(encoding="utf-8")
        for package in ("ctxzoo.models", "tests.support.toy"):
            code = code.replace(f"from {package}.", "from .")
        (folder / name).write_text(code, encoding="utf-8")
    ctxzoo.models.__path__.append(str(folder))
    names = [f"ctxzoo.models.{name.removesuffix('.py')}" for name in FILES]
    try:
        configuration, modeling = map(importlib.import_module, names)
        heads = {
            "AutoModel": modeling.ToyModel,
            "AutoModelForSequenceClassification": modeling.ToyForSequenceClassification,
        }
        with registered(configuration.ToyConfig, heads):
            yield
    finally:
        ctxzoo.models.__path__.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
