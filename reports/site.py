"""A hook of MkDocs: the pages that the site has beyond docs/, and links that lead into the repository.

Beyond docs/ the site has the changelog, the pages of recipes, benchmarks and published checkpoints, the notebooks with
what they print and draw, the reading versions as pages, and the reference of every public name from its docstring. A
source path of the site is that of the repository, without `docs/` in front.
"""

from __future__ import annotations

import logging
import posixpath
import re
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import griffe
import nbformat
from mkdocs.structure.files import File

import ctxzoo
from reports.notebooks import get_drawn_pictures, get_printed_text

_logger = logging.getLogger("mkdocs.hooks")
ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "recipes/README.md",
    "benchmarks/README.md",
    "model_cards/README.md",
    "model_cards/*/README.md",
)
LOOKED_UP = ("adding_*", "api/*", "model_cards/*/*", "notebooks/*", "reading/*", "CHANGELOG.md")  # found later
PROGRAMS = ("notebooks/*.ipynb", "docs/reading/*.py")  # shown as pages
_CODE_OR_LINK = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|(?<=\]\()(?P<path>[^()\s#:]+)(?=[)#])", re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(r'^(?P<indent> *)<!-- include: (?P<path>\S+) "(?P<heading>[^"]+)" -->$', re.MULTILINE)


def list_public_packages() -> list[str]:
    """Return the packages whose names programs may import, those of the problems last."""
    tasks = import_module("ctxzoo.tasks")
    problems = [
        f"ctxzoo.tasks.{one.name}" for one in iter_modules(tasks.__path__) if one.ispkg and one.name != "sequences"
    ]
    return ["ctxzoo", "ctxzoo.estimators", "ctxzoo.layers", "ctxzoo.metrics", "ctxzoo.models", *problems]


def build_reference() -> dict[str, str]:
    """Return the pages of the reference, Markdown for mkdocstrings, by their source path."""
    pages, examples = {}, (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for package in list_public_packages():
        module = import_module(package)
        names = [f"{package}.{name}" for name in module.__all__]
        text = (module.__doc__ or "").strip()
        if f"\n## `{package}`\n" in examples:
            text += f" [Examples](../api.md#{package.replace('.', '')})"
        pages[f"api/{package}.md"] = _write_reference(f"`{package}`", text, names)
    for name, known in ctxzoo.ARCHITECTURES.items():
        classes = [known.config_class, *known.model_classes.values()]
        names = [f"{one.__module__}.{one.__name__}" for one in classes]
        text = f"Classes of the architecture [`{name}`](../../models/{name}.md), all of them names of `ctxzoo.models`."
        pages[f"api/models/{name}.md"] = _write_reference(f"`{name}`", text, names)
    return pages


class ArgumentTypes(griffe.Extension):
    """Types and defaults of documented arguments: of several in one line (`a, b: …`), and of fields of a class."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Set them in all docstrings; an argument that is not there is a warning, as of griffe itself."""
        objects: list[Any] = [pkg]
        for one in objects:  # grows
            objects += [member for member in one.members.values() if not member.is_alias]
            if one.docstring is not None and (one.is_class or one.is_function):
                for section in one.docstring.parsed:
                    if section.kind is griffe.DocstringSectionKind.parameters:
                        for argument in section.value:
                            _complete_argument(argument, one)


def _complete_argument(argument: Any, owner: Any) -> None:
    """Set type and default of a documented argument of a function or class, or of several in one line."""
    by_name = {one.name: (one.annotation, one.default) for one in owner.parameters}
    if owner.is_class:
        fields = {name: one for name, one in owner.all_members.items() if one.is_attribute}
        by_name = {**{name: (one.annotation, one.value) for name, one in fields.items()}, **by_name}
    found = [by_name.get(name.lstrip("*")) for name in argument.name.split(", ")]
    if None in found:
        griffe.logger.warning(f"{owner.path}: documented {argument.name!r}, which it does not have")
    types = {str(one[0]): one[0] for one in found if one and one[0] is not None}
    defaults = [str(one[1]) for one in found if one and one[1] is not None]
    argument.annotation = next(iter(types.values())) if len(types) == 1 else None
    argument.value = ", ".join(defaults) if len(defaults) == len(found) else None


def _write_reference(title: str, text: str, names: list[str]) -> str:
    """Return a page of the reference: a title, a text, and what the docstrings of names say."""
    return "\n\n".join([f"# {title}", text, *(f"::: {name}" for name in dict.fromkeys(names))])


def show_program(path: Path) -> str:
    """Return a notebook, with what it prints and draws, or a Python file as Markdown."""
    if path.suffix == ".py":
        return f"# {path.name}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:  # type: ignore[no-untyped-call]
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if printed := get_printed_text(cell):
            parts.append(f"```text\n{printed.rstrip()}\n```")
        parts += [
            f"![What the cell draws](data:image/png;base64,{picture.strip()})" for picture in get_drawn_pictures(cell)
        ]
    return "\n\n".join(parts)


def _find(pattern: str) -> list[str]:
    """Return the files of the repository that fit a pattern, as paths from its root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def to_site_path(path: str) -> str:
    """Return the source path on the site of a file of the repository."""
    if any(fnmatchcase(path, pattern) for pattern in PROGRAMS):
        path = str(Path(path).with_suffix(".md"))
    return path.removeprefix("docs/")


# By source path on the site, where each page comes from in the repository; pages of the reference come from nowhere.
SOURCES = {to_site_path(path): path for pattern in ("docs/**/*.md", *OUTSIDE, *PROGRAMS) for path in _find(pattern)}


def on_config(config: Any) -> None:
    """Put the pages that fit a pattern of the navigation, such as `api/*.md`, in its place."""
    pages = [*SOURCES, *build_reference()]
    config.nav = list(_expand(config.nav, pages))


def _expand(entries: list[Any], pages: list[str]) -> Iterator[Any]:
    """Yield the entries of a section, patterns replaced by the pages that fit."""
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            yield from (page for page in pages if fnmatchcase(page, entry))
        elif isinstance(entry, dict):
            yield {
                title: list(_expand(part, pages)) if isinstance(part, list) else part for title, part in entry.items()
            }
        else:
            yield entry


def on_post_page(output: str, page: Any, **_: Any) -> None:
    """Warn of what a browser would fetch from another host."""
    for found in re.findall(
        r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="?((?:https?:)?//[^"\s>]+)""", output
    ):
        _logger.warning(f"{page.file.src_uri} fetches {found}; expected nothing from another host")


def on_files(files: Any, config: Any) -> None:
    """Add the pages that are not in docs/, and the files of the repository that pages link to."""
    for path, text in build_reference().items():
        files.append(File.generated(config, path, content=text))
    for path, source in SOURCES.items():
        if source.endswith(".md") and not source.startswith("docs/"):
            files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
        elif not source.endswith(".md"):
            files.append(File.generated(config, path, content=show_program(ROOT / source)))
    linked = {path for source in SOURCES.values() if source.endswith(".md") for path in _linked_files(source)}
    for path in sorted(linked - set(SOURCES.values())):
        if not path.startswith("docs/") and (ROOT / path).is_file():
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))


def _linked_files(source: str) -> Iterator[str]:
    """Yield the paths, from the root of the repository, that a page links to."""
    for found in _CODE_OR_LINK.finditer((ROOT / source).read_text(encoding="utf-8")):
        if found["path"]:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with its includes, and with links as they are from its place on the site."""
    uri = page.file.src_uri
    if any(fnmatchcase(uri, pattern) for pattern in LOOKED_UP):
        # Cards are alike, so that one question would find all of them; the table of checkpoints leads to each.
        page.meta["search"] = {"exclude": True} if uri.startswith("model_cards/") else {"boost": 0.3}
    if uri not in SOURCES:
        return markdown
    markdown = relink(markdown, SOURCES[uri], uri)
    if uri == "api.md":
        markdown = re.sub(r"^## `(ctxzoo.*)`$", r"\g<0>\n\n[Every name of it](api/\1.md)", markdown, flags=re.MULTILINE)
    return _INCLUDE.sub(lambda found: _include(found, uri), markdown)


def _include(found: re.Match[str], uri: str) -> str:
    """Return the section of another page that an include names, indented as the include is."""
    text = relink(read_section(found["path"], found["heading"]), found["path"], uri)
    return textwrap.indent(text, found["indent"])


def relink(markdown: str, source: str, uri: str) -> str:
    """Return text of a file of the repository with links that lead to the same from a page of the site.

    Args:
        markdown: Text; links are relative to `source`.
        source: Path of its file from the root of the repository.
        uri: Source path on the site of the page that shows it.
    """

    def move(found: re.Match[str]) -> str:
        if not found["path"]:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        return posixpath.relpath(to_site_path(target), posixpath.dirname(uri) or ".")

    return _CODE_OR_LINK.sub(move, markdown)


def read_section(path: str, heading: str) -> str:
    """Return what stands below a heading of a page, up to the next one.

    Args:
        path: Path of the page from the root of the repository.
        heading: Text of the heading, without its signs.

    Raises:
        ValueError: the page has no such heading.
    """
    parts = re.split(r"^##+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    if heading not in parts[1::2]:
        raise ValueError(f"no heading {heading!r} in {path}; it has {parts[1::2]}")
    return parts[parts.index(heading) + 1].strip()
