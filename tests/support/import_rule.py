"""The import rule of docs/architecture.md, read from syntax trees: which file may import what."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

TRAVELLING_PACKAGES = {"torch", "transformers", "tokenizers", "huggingface_hub"}
# Allowed under `try: … except ImportError`; the loader on the Hub side does not ask for what stands there.
OPTIONAL_TRAVELLING_PACKAGES = {"triton", "numba", "llvmlite"}
OPTIONAL_PACKAGES = {
    "fastapi",
    "gensim",
    "gradio",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "starlette",
    "tensorboard",
    "uvicorn",
    "wandb",
}
NETWORK_MODULES = {"ftplib", "http", "requests", "smtplib", "socket", "ssl", "urllib"}

# Kind of a file in models/ (its name up to the first underscore, or its whole name) -> kinds it may import.
_SHARED = {"layers", "ops"}
MODEL_ARROWS: dict[str, set[str]] = {
    "ops": {"ops"},
    "layers": {"layers", "ops"},
    "configuration_base": set(),
    "configuration_text": {"configuration_base"},
    "configuration_session": {"configuration_base"},
    "configuration_vote": {"configuration_base"},
    "configuration_encoder": {"configuration_base"},
    "configuration_pretrained_encoder": {"configuration_base"},
    "configuration": {
        *("configuration_base", "configuration_text", "configuration_session", "configuration_vote"),
        *("configuration_encoder", "configuration_pretrained_encoder"),
    },
    "modeling_base": {"configuration_base", *_SHARED},
    "modeling_text": {"configuration_base", "configuration_text", "modeling_base", *_SHARED},
    "modeling_session": {"configuration_session", "modeling_base", *_SHARED},
    "modeling_vote": {"configuration_vote", "modeling_base", *_SHARED},
    "modeling_encoder": {"configuration_encoder", "modeling_base", *_SHARED},
    "modeling_generation": {"modeling_base", *_SHARED},
    "modeling_text_encoder": {"configuration_encoder", "modeling_encoder", "modeling_generation", *_SHARED},
    "modeling": {
        *("configuration_base", "configuration"),
        *("modeling_base", "modeling_text", "modeling_session", "modeling_vote"),
        *("modeling_encoder", "modeling_text_encoder", "modeling_generation"),
        *_SHARED,
    },
    "tokenization": {"ops", "tokenization"},
    "pipeline": {"ops", "pipeline", "tokenization"},
    "registration": {"configuration_base", "modeling_base"},
    "old_names": set(),
    "__init__": {
        "configuration_base",
        "configuration",
        "modeling",
        "old_names",
        "pipeline",
        "registration",
        "tokenization",
    },
}
# Of a model with an encoder of transformers inside, that part is made by an Auto class.
AUTO_CLASS_FILES = {"__init__", "registration", "configuration_pretrained_encoder", "layers_pretrained_encoder"}

# Folder (or file) of ctxzoo -> those it may import beside itself.
_GENERAL = {"models", "metrics", "data", "word_vectors", "results", "version"}
PACKAGE_ARROWS: dict[str, set[str]] = {
    "__init__": {
        "models",
        "openmp",
        "version",
        "lazy_exports",
        "word_vectors",
        "tasks",
        "checkpoints",
        "serving",
        "attention_interface",
    },
    "attention_interface": {"models"},
    "openmp": set(),
    "version": set(),
    "lazy_exports": set(),
    "metrics": {"models", "lazy_exports"},
    "data": {"models"},
    "word_vectors": {"models", "data"},
    "catalogue": {"data"},
    "results": {"models", "data", "version"},
    "training": _GENERAL,
    "hub": {*_GENERAL, "catalogue", "training", "lazy_exports"},
    "app": {"data", "hub", "version"},
    "export": {*_GENERAL, "hub"},
    "runs": {*_GENERAL, "training", "hub", "lazy_exports"},
    "tasks": {*_GENERAL, "training", "hub", "app", "export", "runs", "lazy_exports"},
    "checkpoints": {"models", "hub", "app", "runs", "tasks"},
    "estimators": {*_GENERAL, "training", "hub", "runs", "tasks", "checkpoints"},
    "layers": {"models"},
    "serving": {*_GENERAL, "runs", "tasks", "checkpoints"},
    "cli": {*_GENERAL, "catalogue", "training", "hub", "app", "export", "runs", "tasks", "checkpoints", "serving"},
}
# Problems do not import each other, but for these.
TASK_ARROWS: dict[str, set[str]] = {
    "word_embeddings": {"text_classification", "token_classification"},
    "session_recommendation": {"sequences"},
    "next_event": {"sequences"},
}
# Files of `tasks` beside the folders of the problems -> those they may import there.
TASK_FILES: dict[str, set[str]] = {"__init__": {"commands"}, "commands": set()}

# The Hub-side loader finds a file's siblings in its text, strings and docstrings included.
_LOADER_SEES = re.compile(r"^\s*(?:from\s+(\.\S*)\s+import|import\s+(\.\S+))", re.MULTILINE)


def kind_of(stem: str) -> str:
    """Return the kind of a file, as `modeling` of `modeling_bidaf`; files with a rule of their own keep their name."""
    return stem if stem in MODEL_ARROWS else stem.partition("_")[0]


def violations_in_models(stem: str, source: str, siblings: set[str]) -> list[str]:
    """Return what breaks the rule in `ctxzoo/models/<stem>.py`; `siblings` are the names of the files beside it."""
    found = []
    allowed = MODEL_ARROWS.get(kind_of(stem))
    if allowed is None:
        return [f"{stem}: unknown kind of file; names begin with one of {', '.join(sorted(MODEL_ARROWS))}"]
    relative_lines = set()
    for node, names in _imports(source):
        where = f"{stem}:{node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.level:
            relative_lines.add(node.lineno)
            target = node.module or ""
            if node.level > 1 or not target or "." in target:
                found.append(f"{where}: only `from .sibling import name`")
            elif target not in siblings:
                found.append(f"{where}: there is no {target}.py beside it")
            else:
                found += [f"{where}: {problem}" for problem in _sibling_problems(stem, target, allowed)]
            continue
        for name in names:
            top = name.partition(".")[0]
            if top == "ctxzoo":
                found.append(f"{where}: imports {name}; a file that travels cannot find ctxzoo")
            elif top in OPTIONAL_TRAVELLING_PACKAGES:
                if not _may_be_missing(ast.parse(source), node.lineno):
                    found.append(f"{where}: {top} is optional; import it under `try: … except ImportError`")
            elif top in NETWORK_MODULES:
                found.append(f"{where}: imports {top}; models know nothing of the network")
            elif top == "numpy" and _may_be_missing(ast.parse(source), node.lineno):
                continue  # beside numba, which brings it
            elif top == "importlib" or (top not in TRAVELLING_PACKAGES and top not in sys.stdlib_module_names):
                found.append(
                    f"{where}: imports {top}; allowed: {', '.join(sorted(TRAVELLING_PACKAGES))}, standard library"
                )
        if stem not in AUTO_CLASS_FILES and _names_auto_class(node):
            found.append(f"{where}: Auto classes belong to registration.py")
    for match in _LOADER_SEES.finditer(source):
        line = source.count("\n", 0, match.end()) + 1
        if line not in relative_lines:
            found.append(f"{stem}:{line}: text that begins like a relative import; the loader would look for that file")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            found.append(f"{stem}:{node.lineno}: __import__ hides an import")
    return found


def owners_of_shared_files(
    imports: Mapping[str, set[str]], architectures: Mapping[str, set[str]], of_problems: set[str]
) -> list[str]:
    """What breaks the rule of two owners: what one architecture alone needs says so in its name, and what says so
    serves that one alone.

    Args:
        imports: Name of each file of `models/` -> the siblings that it imports.
        architectures: Name of each architecture -> the files it begins with: model, configuration, tokenizer.
        of_problems: Files that serve a problem with any architecture (pipelines); what they need is shared.
    """

    def reached(starts: Iterable[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(starts)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += imports[name]
        return found

    by_architecture = {name: reached(starts) for name, starts in architectures.items()}
    by_problem = reached(of_problems)
    found = []
    for stem in sorted(imports):
        kind, _, rest = stem.partition("_")
        if kind not in _SHARED:
            continue
        owners = [name for name, files in by_architecture.items() if stem in files]
        # The longest: "text" would also be the beginning of "text_baseline".
        named = max((name for name in architectures if f"{rest}_".startswith(f"{name}_")), key=len, default=None)
        if named is not None:
            if owners != [named] or stem in by_problem:
                found.append(f"{stem}: named after {named}, but it serves {', '.join(owners) or 'none'}; rename it")
        elif len(owners) < 2 and stem not in by_problem:
            owner = owners[0] if owners else "<architecture>"
            found.append(f"{stem}: serves {owner} alone; call it {kind}_{owner}… or put it into modeling_{owner}")
    return found


def _sibling_problems(stem: str, target: str, allowed: set[str]) -> Iterator[str]:
    kind = kind_of(target)
    if kind not in allowed:
        yield f"{stem} must not import {target}"
    elif kind_of(stem) == "modeling" and kind == "configuration":
        own = "configuration_" + stem.removeprefix("modeling_")
        if target != own:
            yield f"{stem} must not import {target}, only {own}"


def _names_auto_class(node: ast.Import | ast.ImportFrom) -> bool:
    module = getattr(node, "module", None) or ""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return any(name.startswith("transformers.models.auto") for name in names)
    return module.partition(".")[0] == "transformers" and (
        ".auto" in module or any(re.match(r"Auto[A-Z]", name) for name in names)
    )


def violations_in_package(path: str, source: str) -> list[str]:
    """Return what breaks the rule in a file of ctxzoo outside models/; `path` begins below ctxzoo ("data/files.py")."""
    found = []
    folder = path.split("/")[0].removesuffix(".py")
    allowed = PACKAGE_ARROWS.get(folder)
    if allowed is None:
        return [f"{path}: unknown folder; known: {', '.join(PACKAGE_ARROWS)}"]
    for node, names in _imports(source):
        where = f"{path}:{node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"{where}: relative import; outside models/ imports are absolute")
            continue
        for name in names:
            top, _, rest = name.partition(".")
            if top in ("recipes", "reports", "tests", "benchmarks"):
                found.append(f"{where}: the package must not import {top}")
            elif top == "ctxzoo" and rest:
                target = rest.partition(".")[0]
                # `from ctxzoo import __version__` names no folder.
                if target in {"models", *PACKAGE_ARROWS} and target not in allowed and target != folder:
                    found.append(f"{where}: {folder} must not import {target}")
                elif target == folder == "tasks":
                    found += [f"{where}: {problem}" for problem in _task_problems(path, rest)]
            elif (
                top in OPTIONAL_PACKAGES
                and not (top == "gradio" and _is_page(path))
                and _runs_at_import(ast.parse(source).body, node.lineno)
            ):
                found.append(f"{where}: {top} is optional; import it inside the function that needs it")
    return found


def _is_page(path: str) -> bool:
    """Return whether a file lays out pages: it is imported when one is built, which finds out about gradio before."""
    return path == "app/frame.py" or Path(path).name == "page.py"


def _task_problems(path: str, imported: str) -> Iterator[str]:
    """Return what breaks the rule between problems; `imported` is a name below ctxzoo ("tasks.word_embeddings.run")."""
    own = Path(path).parts[1].removesuffix(".py")
    target = imported.split(".")[1]
    if own in TASK_FILES:
        if target not in TASK_FILES[own]:
            yield f"tasks/{own}.py must not import {target}"
    elif target not in {own, "commands", *TASK_ARROWS.get(own, ())}:
        yield f"{own} must not import {target}"


def violations_in_recipe(name: str, source: str) -> list[str]:
    """A recipe imports the package and other libraries, no other file of the project."""
    found = []
    for node, names in _imports(source):
        if isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"{name}:{node.lineno}: relative import in a recipe")
        elif any(module.partition(".")[0] in ("recipes", "reports", "tests", "benchmarks") for module in names):
            found.append(f"{name}:{node.lineno}: a recipe imports the package only")
    return found


def imported_siblings(path: Path) -> set[str]:
    """Names of the files that a file of models/ imports with one dot."""
    nodes = [node for node, _ in _imports(path.read_text(encoding="utf-8"))]
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module}


def _imports(source: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, list[str]]]:
    """Yield every import, inside functions too, and the full names of what it imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield node, [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from ctxzoo import data` imports a folder as well as `from ctxzoo.data import x`.
            yield node, [f"{node.module}.{alias.name}" for alias in node.names]


def _may_be_missing(tree: ast.Module, line: int) -> bool:
    """Return whether the import in this line stands under `try` with an `except ImportError`."""
    return any(
        isinstance(node, ast.Try)
        and any(statement.lineno == line for statement in node.body)
        and any(isinstance(handler.type, ast.Name) and handler.type.id == "ImportError" for handler in node.handlers)
        for node in ast.walk(tree)
    )


def _runs_at_import(body: list[ast.stmt], line: int) -> bool:
    """Return whether the import in this line runs when the file is imported: in no function nor under TYPE_CHECKING."""
    for statement in body:
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return True
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            return _runs_at_import(statement.orelse, line)
        inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
        handlers = [child for handler in getattr(statement, "handlers", []) for child in handler.body]
        return _runs_at_import([*inner, *handlers], line)
    return False
