"""The public names: documented, lazily imported, known to type checkers, and the same for every problem."""

from __future__ import annotations

import ast
import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import lightning
import pytest

import ctxzoo.tasks
from reports.site import build_reference, list_public_packages
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT, run_python

NAMES_ALONE = ("ctxzoo.tasks.session_recommendation", "ctxzoo.tasks.next_event")  # of `tasks/sequences`
OF_PROBLEMS = tuple(
    f"ctxzoo.tasks.{one.name}" for one in iter_modules(ctxzoo.tasks.__path__) if one.ispkg and one.name != "sequences"
)
PACKAGES = ("ctxzoo", *OF_PROBLEMS)
SLOW_LIBRARIES = (
    *("datasets", "evaluate", "gensim", "lightning", "matplotlib", "numba", "pandas", "scipy", "sklearn"),
    *("tensorboard", "torchmetrics", "triton"),
)
API_PAGE = REPOSITORY_ROOT / "docs" / "api.md"

each_package = pytest.mark.parametrize("name", PACKAGES)
each_problem = pytest.mark.parametrize("name", OF_PROBLEMS)


def files_of(package: ModuleType) -> set[str]:
    """Names of the files and folders of a package."""
    return {path.stem for path in Path(str(package.__file__)).parent.iterdir() if not path.name.startswith("_")}


def test_importing_the_packages_imports_no_library_that_takes_time() -> None:
    # What transformers and torch import by themselves is not ours.
    found = run_python(f"""
        import json, sys
        import torch, transformers
        from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, TokenizersBackend
        before = set(sys.modules)
        import ctxzoo
        {"; ".join(f"import {name}" for name in OF_PROBLEMS)}
        assert "pipeline" in dir(ctxzoo) and "evaluate" in dir(ctxzoo.tasks.question_answering)
        print(json.dumps(sorted(set(sys.modules) - before)))
        from ctxzoo.tasks.text_classification import card, prediction, problem
        print(json.dumps([name for name in ("lightning", "sklearn", "torchmetrics") if name in sys.modules]))
    """)
    imported, by_predictions = map(json.loads, found.stdout.splitlines()[-2:])
    assert by_predictions == []
    assert "ctxzoo.tasks.word_embeddings" in imported
    assert {name.partition(".")[0] for name in imported} & set(SLOW_LIBRARIES) == set()
    slow_of_ours = [name for name in imported if re.fullmatch(r"ctxzoo\.(checkpoints|models\.modeling_.*)", name)]
    assert slow_of_ours == []


@each_package
def test_every_name_is_there_for_programs_and_for_type_checkers(name: str) -> None:
    package = import_module(name)
    for exported in package.__all__:
        assert getattr(package, exported) is not None
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    typed = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = set(package.__all__) - {"ARCHITECTURES", "__version__"}
    assert set(typed) == lazy <= set(dir(package))
    for exported, (module, there) in typed.items():
        assert getattr(package, exported) is getattr(import_module(str(module)), there), exported


@each_package
def test_no_file_takes_the_place_of_a_name(name: str) -> None:
    package = import_module(name)
    assert files_of(package) or name in NAMES_ALONE
    assert set(package.__all__) & files_of(package) == set(), "importing the file would replace the name"


@each_package
def test_a_name_that_is_not_there(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'evaluates'"):
        import_module(name).evaluates  # noqa: B018


@each_problem
def test_every_problem_exports_its_data_its_task_and_evaluate(name: str) -> None:
    package = import_module(name)
    exported = [getattr(package, one) for one in package.__all__]
    classes = [one for one in exported if inspect.isclass(one)]
    assert sum(issubclass(one, lightning.LightningDataModule) for one in classes) == 1
    assert sum(issubclass(one, lightning.LightningModule) for one in classes) == 1
    parameters = inspect.signature(package.evaluate).parameters
    assert list(parameters)[:4] == ["checkpoint", "dataset", "split", "tokenizer"]
    assert parameters["split"].default == "test"
    assert parameters["tokenizer"].kind is inspect.Parameter.KEYWORD_ONLY


def test_every_name_stands_in_the_reference_and_says_what_it_does() -> None:
    assert set(PACKAGES) < set(list_public_packages())
    reference = build_reference()
    for package in map(import_module, list_public_packages()):
        names = re.findall(r"^::: (\S+)$", reference[f"api/{package.__name__}.md"], flags=re.MULTILINE)
        assert names == [f"{package.__name__}.{exported}" for exported in package.__all__]
        for exported in set(package.__all__) - {"ARCHITECTURES", "__version__"}:
            assert getattr(package, exported).__doc__, exported


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    run_examples(API_PAGE, tmp_path)


def test_every_model_class_is_a_name_of_the_models() -> None:
    for known in ctxzoo.ARCHITECTURES.values():
        for model_class in known.model_classes.values():
            assert getattr(ctxzoo.models, model_class.__name__) is model_class
            assert model_class.__name__ in dir(ctxzoo.models)
        assert getattr(ctxzoo.models, known.config_class.__name__) is known.config_class
    with pytest.raises(AttributeError, match=r"module 'ctxzoo\.models' has no attribute 'LamaForNothing'"):
        ctxzoo.models.LamaForNothing  # noqa: B018


TYPED = {
    "bidaf-squad": ["--question", "Who came?", "--context", "Ada came."],
    "lama-reuters8": ["--text", "oil"],
    "attention-cbow-wikipedia": ["--text", "the [MASK]"],
    "hcrnn-citeulike": ["--history", "100010"],
    "lste-badges": ["--history", "Announcer @ 0"],
    "nipen-senate": ["--text", "a bill to cut taxes"],
    "tagger-ewt": ["--text", "oil"],
}
WITHOUT_TABLES = ("bidaf-squad", "lama-reuters8")  # the first of `TYPED`, whose questions and texts need no table


def test_a_typed_prediction_imports_no_library_of_data_or_training() -> None:
    found = run_python(f"""
        import sys
        from ctxzoo.cli.main import main
        for name, words in {TYPED}.items():
            assert main(["predict", f"{REPOSITORY_ROOT}/model_cards/{{name}}", *words]) == 0
            if name in {WITHOUT_TABLES}:
                assert "pyarrow" not in sys.modules, name
        print([name for name in ("datasets", "lightning", "rich", "sklearn", "matplotlib") if name in sys.modules])
    """)
    assert found.stdout.splitlines()[-1] == "[]"
