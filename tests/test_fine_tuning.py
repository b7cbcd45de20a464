"""docs/fine_tuning.md: three ways to train a checkpoint further, as the page writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.hub.folder_checks import check_checkpoint_folder
from tests.support import tiny_checkpoint, tiny_tagger
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT

PAGE = REPOSITORY_ROOT / "docs" / "fine_tuning.md"


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    tiny_tagger.write_tagger(tmp_path / "tagger")
    tiny_checkpoint.write_tiny(tmp_path / "reader", hidden_size=32, char_channels=32, dropout=0.0)
    run_examples(PAGE, tmp_path)
    assert check_checkpoint_folder(tmp_path / "published")
