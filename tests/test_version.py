"""The version names the commit between releases, and the other files that tell a version agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.results.environment import get_library_versions
from ctxzoo.version import NEXT_RELEASE, read_git_output
from tests.support.subprocesses import REPOSITORY_ROOT, run_python

DEV = "7.0.0.dev0"  # of the repositories of these tests
WHICH = "from ctxzoo.version import version; print(version())"


def run_git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The version's file alone, in a repository with one commit."""
    folder = tmp_path / "checkout"
    (folder / "ctxzoo").mkdir(parents=True)
    (folder / "ctxzoo" / "__init__.py").touch()
    shutil.copy(REPOSITORY_ROOT / "ctxzoo" / "version.py", folder / "ctxzoo")
    file = folder / "ctxzoo" / "version.py"
    file.write_text(file.read_text().replace(f'"{NEXT_RELEASE}"', f'"{DEV}"'))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(REPOSITORY_ROOT / name, folder)
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    return folder


def version_in(folder: Path) -> str:
    return run_python(WHICH, cwd=folder).stdout.strip()


def test_a_checkout_names_its_commit(checkout: Path) -> None:
    commit = run_git(checkout, "rev-parse", "HEAD")
    assert version_in(checkout) == f"{DEV}+g{commit[:12]}"
    (checkout / "notes.txt").write_text("not of the package")
    assert version_in(checkout) == f"{DEV}+g{commit[:12]}"
    (checkout / "ctxzoo" / "new.py").write_text("")
    assert version_in(checkout) == f"{DEV}+g{commit[:12]}.dirty"


def test_copied_files_name_no_commit(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    assert version_in(checkout) == DEV


def test_a_copy_below_another_repository_does_not_take_its_commit(checkout: Path) -> None:
    shutil.copytree(checkout / "ctxzoo", checkout / "env" / "ctxzoo")
    assert version_in(checkout / "env") == DEV


def test_a_release_names_no_commit(checkout: Path) -> None:
    file = checkout / "ctxzoo" / "version.py"
    file.write_text(file.read_text().replace(f'"{DEV}"', '"0.1.0"'))
    assert version_in(checkout) == "0.1.0"


def test_everything_that_tells_the_version_tells_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    commit = read_git_output(REPOSITORY_ROOT, "rev-parse", "HEAD")
    if not Version(NEXT_RELEASE).is_devrelease:
        assert ctxzoo.__version__ == NEXT_RELEASE
    elif commit is not None:
        assert ctxzoo.__version__.removesuffix(".dirty") == f"{NEXT_RELEASE}+g{commit[:12]}"
    assert get_library_versions()["ctxzoo"] == ctxzoo.__version__
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"ctxzoo {ctxzoo.__version__}\n"
    assert str(Version(ctxzoo.__version__)) == ctxzoo.__version__  # PEP 440, in its normal form


def test_citation_and_changelog_agree() -> None:
    citation = yaml.safe_load((REPOSITORY_ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (REPOSITORY_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\] - (\S+)$", changelog, flags=re.MULTILINE)
    assert citation["version"] == NEXT_RELEASE
    if Version(NEXT_RELEASE).is_devrelease:
        assert "date-released" not in citation  # nothing is released
        assert all(Version(name) < Version(NEXT_RELEASE) for name, _ in released)
    else:
        assert released[0] == (NEXT_RELEASE, str(citation["date-released"]))


def test_sdist_and_wheel_keep_the_commit(checkout: Path, tmp_path: Path) -> None:
    """A wheel from the sdist, where there is no git, is named as the checkout was."""
    build = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    expected = version_in(checkout)
    code = "import hatchling.build, sys; print(hatchling.build.build_{what}({to!r}))"
    sdist = run_python(code.format(what="sdist", to=str(tmp_path)), cwd=checkout).stdout.split()[-1]
    with tarfile.open(tmp_path / sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / sdist.removesuffix(".tar.gz")
    wheel = run_python(code.format(what="wheel", to=str(tmp_path)), cwd=folder).stdout.split()[-1]
    assert build is not None
    assert (sdist, wheel) == (f"ctxzoo-{expected}.tar.gz", f"ctxzoo-{expected}-py3-none-any.whl")
