"""Names that a package offers and imports when they are asked for, so that importing the package takes no time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package (PEP 562).

    A name must not be that of a file of the package: whoever imports the file would put it in the place of the name.

    Args:
        package: name of the package, its `__name__`.
        modules: name to the module that defines it, or as "module:name" where it has another name there.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = modules[name].partition(":")
        value = getattr(import_module(module), there or name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[package]), *modules})

    return __getattr__, __dir__
