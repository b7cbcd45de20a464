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


# An argument's text names what it is; it does not begin where its name, or another docstring, would have to be read on.
ARGUMENT_FRAGMENT = re.compile(
    r"(of|in|on|at|by|for|from|to|with|without|within|as|after|before|behind|beside|between|below|above|under|until"
    r"|since|like|about|into|see|that|those|whose|whom)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(r"\s*(Args|Attributes):\s*$")
_ARGUMENT = re.compile(r"(?P<indent>\s+)(?P<names>[*\w, ]+): (?P<text>\S.*)")


def argument_fragments(source: str) -> list[str]:
    """Return `line names: text` of documented arguments whose text is a fragment, in their order."""
    found = []
    indent = None  # of the arguments of the present section; None outside of one
    for number, line in enumerate(source.splitlines(), start=1):
        section, argument = _SECTION.match(line), _ARGUMENT.match(line)
        if section:
            indent = len(line) - len(line.lstrip()) + 4
        elif line.strip() and indent is not None and len(line) - len(line.lstrip()) < indent:
            indent = None
        elif argument and len(argument["indent"]) == indent and ARGUMENT_FRAGMENT.match(argument["text"]):
            found.append(f"{number} {argument['names']}: {argument['text']}")
    return found
