"""What README and other texts say agrees with the program."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pyarrow.parquet
import pytest

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.cli.main import build_parser
from tests.support.subprocesses import REPOSITORY_ROOT

TEXTS = [
    *REPOSITORY_ROOT.glob("*.md"),
    *(REPOSITORY_ROOT / "docs").rglob("*.md"),
    *(REPOSITORY_ROOT / "model_cards").glob("*.md"),
    *(path for folder in ("ctxzoo", "recipes", "benchmarks") for path in (REPOSITORY_ROOT / folder).rglob("*.py")),
    *(REPOSITORY_ROOT / "ctxzoo").rglob("*.md"),
    *(REPOSITORY_ROOT / "notebooks").rglob("*.ipynb"),
]
PAGES = [
    *REPOSITORY_ROOT.glob("*.md"),
    *(REPOSITORY_ROOT / "docs").rglob("*.md"),
    *(REPOSITORY_ROOT / folder / "README.md" for folder in ("recipes", "benchmarks", "model_cards")),
]
# What only people of this project would understand; names of options, files and tables may have them.
_PRIVATE_WORDS = re.compile(
    r"\b(?:levers?|cutter|floors|doors|moonshots?|boasts?|smaller cousins?|to be had)\b", flags=re.IGNORECASE
)
# The name ctxzoo as something to be had from a package index; a checkout (-e ".[train]") and a git URL are no index.
_FROM_INDEX = re.compile(r"""pip3? install (?:-\S+ )*["'\\]*ctxzoo\b(?!\S* ?@)|(?:uv|pipx)\b[^\n]*\badd ctxzoo\b""")


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def commands() -> list[str]:
    return list(subparsers_of(build_parser()))


def test_every_command_is_listed() -> None:
    listed = re.findall(r"^ctxzoo ([\w-]+)", _text("docs/command_line.md"), flags=re.MULTILINE)
    assert list(dict.fromkeys(listed)) == commands()


def test_the_readme_stays_short() -> None:
    text = _text("README.md")
    assert len(text.splitlines()) <= 130
    assert len(text.encode()) <= 8192


def test_links_between_pages_lead_to_files_and_headings() -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY_ROOT)}: {target}"
        for path in PAGES
        for target in _links(path.read_text(encoding="utf-8"))
        if not _leads_somewhere(path, target)
    ]
    assert wrong == []


def test_links_of_the_readme_lead_into_the_source_distribution() -> None:
    """Its text is also that of the package, which has no results, checkpoints and tests."""
    section = _text("pyproject.toml").partition("[tool.hatch.build.targets.sdist]")[2].partition("\n[")[0]
    listed = {name: re.findall(r'"([^"]+)"', values) for name, values in re.findall(r"([\w-]+) = \[(.+)\]", section)}
    packed = {*listed["only-include"], "LICENSE", "README.md"}
    targets = [target.partition("#")[0] for target in _links(_text("README.md"))]
    assert targets
    assert [target for target in targets if target.split("/")[0] not in packed] == []
    assert [target for target in targets for left_out in listed["exclude"] if fnmatch(target, left_out)] == []


def test_no_table_of_results_stands_twice() -> None:
    found = Counter(
        name.partition(", ")[0]
        for path in PAGES
        for name in re.findall(r"^<!-- table: (.+) -->$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert found
    assert [name for name, times in found.items() if times > 1] == []


def test_every_problem_has_a_page_and_stands_among_those_of_own_data() -> None:
    text, index = _text("docs/own_data.md"), _text("docs/problems/README.md")
    by_name = subparsers_of(subparsers_of(build_parser())["train"])
    problems = {parser: name for name, parser in reversed(by_name.items())}  # an alias comes behind its name
    assert len(problems) >= 10
    for problem in problems.values():
        assert f"\nctxzoo train {problem} --data " in text, f"docs/own_data.md has no example of {problem}"
        page = f"{problem.replace('-', '_')}.md"
        assert f"]({page}) | " in index, f"docs/problems/README.md has no row of {problem}"
        for part in (f"\nctxzoo train {problem} --data ", "\n## What is read\n", "\n## Answers for a file\n"):
            assert part in _text(f"docs/problems/{page}"), f"docs/problems/{page} lacks {part!r}"


def test_every_dataset_stands_in_the_table_of_datasets() -> None:
    rows = _dataset_rows()
    assert list(rows) == list(ENTRIES)
    for name, (_, _, _, _, licence, source) in rows.items():
        assert licence == ENTRIES[name].licence
        assert ENTRIES[name].source.startswith(source.removesuffix(" and others"))


@pytest.mark.data
def test_rows_of_the_table_of_datasets_are_those_of_our_copies() -> None:
    for name, (_, told, *_) in _dataset_rows().items():
        for part in told.replace(",", "").split("; ") if told != "–" else []:
            configuration, _, counts = part.rpartition(": ")
            folder = Path(os.environ["CTXZOO_DATA"], name)
            folder = next(one for one in (folder / (configuration or "data"), folder) if one.is_dir())
            for split, count in zip(("train", "validation", "test"), counts.split(" / "), strict=True):
                file = folder / f"{split}.parquet"
                found = str(pyarrow.parquet.read_metadata(file).num_rows) if file.exists() else "–"
                assert found == count, f"docs/datasets.md, {name}, {split}"


def test_every_number_of_the_choice_of_a_model_stands_in_a_table() -> None:
    page = REPOSITORY_ROOT / "docs" / "which_model.md"
    others = [path for path in PAGES if path != page]
    rows = "\n".join(re.sub(r"^[^|].*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE) for path in others)
    numbers = re.findall(r"\d+\.\d+(?: ± \d+\.\d+)?", page.read_text(encoding="utf-8"))
    assert len(numbers) >= 20
    assert [one for one in numbers if not re.search(rf"(?<![\d.]){re.escape(one)}(?!\d)", rows)] == []


def test_the_glossary_is_short_and_in_order() -> None:
    terms = re.findall(r"^\| ([^|]+) \| [^|]+\. \|$", _text("docs/glossary.md"), flags=re.MULTILINE)
    assert 30 <= len(terms) <= 40
    assert terms == sorted(terms, key=str.casefold)


def test_every_table_begins_with_its_headings() -> None:
    """A blank line within a table makes plain text of the rows behind it."""
    for path in (path for path in TEXTS if path.suffix == ".md"):
        outside_code = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for table in re.findall(r"(?:^\|.*\n)+", outside_code, flags=re.MULTILINE):
            lines = table.splitlines()
            assert len(lines) > 1, f"{path.name}: {lines[0][:60]}"
            assert re.fullmatch(r"\|[\s:|-]+\|", lines[1]), f"{path.name}: {lines[0][:60]}"


def test_pages_have_no_private_words() -> None:
    for page in (page for page in PAGES if page.name != "CHANGELOG.md"):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        prose = re.sub(r"^(?:\||<!--).*$", "", text, flags=re.MULTILINE)
        assert _PRIVATE_WORDS.findall(prose) == [], page.name


def test_nothing_is_installed_by_a_name_that_anybody_could_register() -> None:
    found = {str(path): _FROM_INDEX.findall(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {path: names for path, names in found.items() if names} == {}
    for text in ("pip install ctxzoo", 'pip install -U "ctxzoo[plots]"', "pip install 'ctxzoo>=1'"):
        assert _FROM_INDEX.search(text), text
    assert Path("README.md") in {path.relative_to(REPOSITORY_ROOT) for path in TEXTS}


def test_who_installs_the_package_gets_versions_that_were_tested() -> None:
    """A checkout has constraints.txt, which every line names; of a wheel pyproject.toml bounds what others build on."""
    own = re.compile(r"^ *pip install (?:.* )?(?:-e )?[\"']?\.(?:\[\w+\])?[\"']?(?: |$)", flags=re.MULTILINE)
    lines = [line for text in TEXTS if text.suffix == ".md" for line in own.findall(text.read_text(encoding="utf-8"))]
    assert len(lines) >= 3
    assert [line for line in lines if "-c constraints.txt" not in line] == []
    bounds = re.findall(r'^  "(torch|transformers)(>=[\d.]+,<([\d.]+))"', _text("pyproject.toml"), flags=re.MULTILINE)
    # Of several the last is the newest, for the newer Pythons.
    newest = dict(re.findall(r"^(torch|transformers)==([\d.]+)", _text("constraints.txt"), flags=re.MULTILINE))
    for name, _, below in bounds:
        major, minor = newest[name].split(".")[:2]
        assert below == f"{major}.{int(minor) + 1}"
    assert sorted(newest) == sorted(name for name, _, _ in bounds) == ["torch", "transformers"]


def _dataset_rows() -> dict[str, tuple[str, ...]]:
    """Return what docs/datasets.md says of each dataset: the cells behind its name."""
    found = re.findall(r"^\| `([\w.-]+/[\w.-]+)` \| (.*) \|$", _text("docs/datasets.md"), flags=re.MULTILINE)
    return {name: tuple(cells.split(" | ")) for name, cells in found}


def _links(text: str) -> list[str]:
    """Return the targets of links and pictures of a page that are not of the web, outside of code."""
    outside_code = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return [found for found in re.findall(r"\]\(([^()\s]+)\)", outside_code) if "://" not in found]


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not anchor or anchor in _anchors(file.read_text(encoding="utf-8")))


def _anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    outside_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", outside_code, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _text(name: str) -> str:
    return (REPOSITORY_ROOT / name).read_text(encoding="utf-8")
