"""Nothing of an architecture is forgotten: each failure names the file to add."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxzoo.hub.card_facts import load_architecture_facts
from ctxzoo.models import ARCHITECTURES, Architecture
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.tasks import PROBLEMS
from tests.support.import_rule import imported_siblings
from tests.support.model_cases import find_case

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "ctxzoo" / "models"
DOCS_SECTIONS = ("Equations", "Deviations", "Results", "Citation")
PICKLE_SUFFIXES = {".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth"}

RECIPE_NAMES = {
    "word_embedding": ("attention_cbow",),
    "session_baseline": ("baselines",),
    "vote_baseline": ("nipen",),  # one recipe trains both
    "kernel_encoder": ("ika",),
    "linear_encoder": ("esa",),
    "higher_order_encoder": ("esa",),  # one recipe trains both
    "time_encoder": ("lste",),
}

each_architecture = pytest.mark.parametrize(
    "architecture", [pytest.param(known, id=name) for name, known in ARCHITECTURES.items()]
)


def test_registry_holds_every_model_class_of_the_package() -> None:
    registered = {
        cls for known in ARCHITECTURES.values() for cls in (known.config_class, *known.model_classes.values())
    }
    defined = {
        cls
        for base in (ZooConfig, ZooPreTrainedModel)
        for cls in _subclasses(base)
        # What other classes of ours are derived from is a base, such as `TextConfig`.
        if cls.__module__.startswith("ctxzoo.models.")
        and cls.__module__ in sys.modules  # those of an architecture that a test had added are not
        and not any(each.__module__.startswith("ctxzoo.models.") for each in cls.__subclasses__())
    }
    assert registered
    assert {cls.__name__ for cls in defined - registered} == set(), "add it to a register_architecture(...) call"


def test_references_of_tests_travel_with_no_checkpoint() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in MODELS.glob("*.py"))
    defined = re.findall(r"^def (reference_\w+)", code, re.MULTILINE)
    unused = [name for name in defined if len(re.findall(rf"\b{name}\b", code)) == 1]
    assert unused == [], "no model calls it: move it to tests/references"


@each_architecture
def test_has_a_case_for_the_shared_suite(architecture: Architecture) -> None:
    path = f"tests/models/cases_{architecture.name}.py"
    assert find_case(architecture.name) is not None, f"add {path}: tiny configs and batches, CASE = <a ModelCase>"


@each_architecture
def test_has_tests_of_its_equations(architecture: Architecture) -> None:
    path = ROOT / "tests" / "models" / f"test_modeling_{architecture.name}.py"
    assert path.is_file(), f"add {path.relative_to(ROOT)}: tests against the equations"
    assert re.search(r"^def test_", path.read_text("utf-8"), re.MULTILINE), f"{path.name} holds no test"


@each_architecture
def test_has_a_docs_page(architecture: Architecture) -> None:
    path = ROOT / "docs" / "models" / f"{architecture.name}.md"
    assert path.is_file(), f"add {path.relative_to(ROOT)}"
    text = path.read_text("utf-8")
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    for section in DOCS_SECTIONS:
        assert section in headings, f"{path.name} lacks the section {section!r}"
        body = re.search(rf"^(#+) +{section} *$\n(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
        assert body is not None
        assert body[2].strip(), f"{path.name}: section {section!r} is empty"


def recipes_of(architecture: Architecture) -> list[Path]:
    """Named after the architecture, or after its best-known variant."""
    names = [architecture.name, *RECIPE_NAMES.get(architecture.name, ())]
    return sorted(path for name in names for path in (ROOT / "recipes").glob(f"*_{name}.py"))


@each_architecture
def test_has_a_recipe(architecture: Architecture) -> None:
    assert recipes_of(architecture), f"add recipes/<data>_{architecture.name}.py"


@each_architecture
def test_has_facts_for_its_cards(architecture: Architecture) -> None:
    facts = load_architecture_facts(architecture)
    assert all([facts.title, facts.summary, facts.limits, facts.citation]), "fill in ctxzoo/hub/architectures.yaml"


@each_architecture
def test_its_heads_name_known_problems(architecture: Architecture) -> None:
    named = {head.zoo_task for head in architecture.model_classes.values()} - {None}
    assert named, f"no head of {architecture.name} names its problem in zoo_task"
    assert named <= set(PROBLEMS), "add the problem to PROBLEMS in ctxzoo/tasks/__init__.py: docs/adding_a_problem.md"


@each_architecture
def test_is_in_the_table_of_architectures(architecture: Architecture) -> None:
    page = ROOT / "docs" / "models" / "README.md"
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    names = (f"]({architecture.name}.md)", *(f"recipes/{recipe.name}" for recipe in recipes_of(architecture)))
    assert any(all(name in row for name in names) for row in rows), f"{page}: a row that names {' and '.join(names)}"


@each_architecture
def test_public_classes_are_documented(architecture: Architecture) -> None:
    for cls in (architecture.config_class, *architecture.model_classes.values()):
        # `inspect.getdoc` would give the docstring of a base class, and dataclasses write one themselves.
        text = cls.__dict__.get("__doc__") or ""
        assert len(text.split()) >= 5, f"{cls.__name__} has no docstring"
        assert not text.startswith(f"{cls.__name__}("), f"{cls.__name__} has no docstring but the generated one"


def test_every_file_of_models_is_reachable_from_the_registry() -> None:
    files = {path.stem for path in MODELS.glob("*.py")}
    reached: set[str] = set()
    waiting = ["__init__"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += imported_siblings(MODELS / f"{name}.py")
    assert files - reached == set(), "no registered class uses it"


def tracked_files() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip(f"git does not list the files: {listed.stderr.decode(errors='replace').strip()}")
    names = [name for name in listed.stdout.decode().split("\0") if name]
    assert names
    return names


def test_no_python_file_is_a_copy_of_another() -> None:
    """Checkpoints hold no code: `ctxzoo pack` adds it."""
    found: dict[str, list[str]] = {}
    for name in tracked_files():
        path = ROOT / name
        if path.suffix == ".py" and path.is_file() and path.stat().st_size:
            found.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), []).append(name)
    assert [names for names in found.values() if len(names) > 1] == []


def test_no_pickle_is_tracked() -> None:
    names = tracked_files()
    assert [name for name in names if Path(name).suffix.lower() in PICKLE_SUFFIXES] == []
    assert [name for name in names if _begins_like_a_pickle(ROOT / name)] == []


def _begins_like_a_pickle(path: Path) -> bool:
    """A pickle of protocol 2 or later, or a zip as torch.save writes it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(64)
    return (start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05") or (start[:2] == b"PK" and b"data.pkl" in start)


def _subclasses(cls: type) -> set[type]:
    below = set(cls.__subclasses__())
    return below.union(*(_subclasses(each) for each in below))
