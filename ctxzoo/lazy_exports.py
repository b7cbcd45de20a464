"""Names that are imported when they are asked for, so that importing what offers them takes no time."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def import_object(place: str) -> Any:
    """Return the object at a place "module:name", imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`, which import its exported names on first use (PEP 562).

    What type checkers read there is so the one place that says where a name is from, and how it is called there. A
    name must not be that of a file of the package: whoever imports the file would put it in the place of the name.

    Args:
        package: Name of the package, its `__name__`.
    """
    module = sys.modules[package]
    exports = _parse_type_checking_imports(module.__spec__.loader.get_source(package))  # type: ignore[union-attr]

    def __getattr__(name: str) -> Any:  # noqa: N807
        """Import an exported name, store it in the package, and return it."""
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        source, there = exports[name]
        value = getattr(import_module(source), there)
        setattr(module, name, value)  # found without this function from now on
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(module), *exports})

    return __getattr__, __dir__


def _parse_type_checking_imports(code: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of each import under `if TYPE_CHECKING`, by imported name."""
    imports: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name):
            for line in statement.body:
                assert isinstance(line, ast.ImportFrom)
                imports |= {alias.asname or alias.name: (str(line.module), alias.name) for alias in line.names}
    return imports
