"""What a card says of the code: which release saved the checkpoint, and from where to install it."""

from __future__ import annotations

import os
import re
import warnings

from ctxzoo.version import COMMIT_DIGITS, version

URL_VARIABLE = "CTXZOO_URL"
SOURCE_URL = ""  # of the git repository, once it is public; the variable goes before it
_URL = re.compile(r"https://[\w.-]+(:\d+)?(/[\w.~-]+)+/?")
_SAVED = re.compile(r"^Saved with ctxzoo (\S+)\. ", flags=re.MULTILINE)


def saved_with() -> str:
    """Return the sentence that names the release, for cards."""
    return f"Saved with ctxzoo {version()}."


def release_of(card: str) -> str | None:
    """Return the release that a card names; None if it names none."""
    found = _SAVED.search(card)
    return found.group(1) if found else None


def how_to_install() -> str:
    """Say in Markdown how to install this very code.

    Never by a name in a package index, where anybody could register it: from the git URL that `SOURCE_URL` or the
    environment variable CTXZOO_URL gives, and without one from a checkout. Of a URL that is not https, or that holds a
    password, it warns and takes none: a card is written when the training is over, and must not fail.
    """
    url = os.environ.get(URL_VARIABLE, SOURCE_URL)
    if url and not _URL.fullmatch(url):
        warnings.warn(
            f"{URL_VARIABLE} is not used: expected the https URL of a git repository, without user and password",
            stacklevel=2,
        )
        url = ""
    if not url:
        return "`pip install .` in a checkout of its source"
    return f'`pip install "git+{url}{_at_commit(version())}"`'


def _at_commit(release: str) -> str:
    """Return `@` and what git calls a release; empty where the files are those of no commit."""
    if ".dev" not in release:
        return f"@v{release}"
    found = re.search(rf"\+g([0-9a-f]{{{COMMIT_DIGITS},}})$", release)
    return f"@{found.group(1)}" if found else ""
