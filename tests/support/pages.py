"""The examples of a page of docs/, run as a reader of the page would."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.warm_python import WITHOUT_HUB, run_warm


def run_examples(page: Path, folder: Path) -> None:
    """Run the Python of a page in order, as one program, in `folder`, with `model_cards/` of the checkout there.

    Raises:
        AssertionError: the page has no examples, they fail, or do not print what their lines "# prints ..." say.
    """
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    said = re.findall(r"^# prints (.*)$", "\n".join(blocks), flags=re.MULTILINE)
    assert said, f"{page} has no example that prints"
    (folder / "model_cards").symlink_to(REPOSITORY_ROOT / "model_cards")
    program = "\n".join([f"import sys\nsys.path.insert(0, {str(REPOSITORY_ROOT)!r})", *blocks])
    printed = run_warm(program, env={**os.environ, **WITHOUT_HUB}, cwd=folder, timeout=600).stdout
    for one in said:
        assert one in printed, f"{one!r} is not in:\n{printed}"
