"""Docstrings that are fragments: they begin in the middle of a sentence whose subject is elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# A docstring begins with a verb ("Return …") or its subject ("The steps of a whole training.").
FRAGMENT = re.compile(
    r"""
    (The\ same | That | Those | These | This | Such | Its | Their | They | Also           # refers to what is not there
    | Of | As | In | Into | On | Onto | Over | To | From | With | Without | For | By | At # has lost its head
    )\b
    | \( | ->                                                                            # a shape, without its noun
    """,
    re.VERBOSE,
)


def fragments(source: str) -> list[str]:
    """Return `line name: first line` of the docstrings of public names that are fragments, in their order."""
    return [
        f"{node.lineno} {node.name}: {docstring.splitlines()[0]}"
        for node in _public(ast.parse(source).body)
        if (docstring := ast.get_docstring(node)) is not None and FRAGMENT.match(docstring)
    ]


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from _public([*node.body, *node.orelse])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)
