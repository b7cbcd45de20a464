"""Set-up of the model suite."""

import logging
from pathlib import Path

import pytest

# Assertions in the checks explain themselves as those in test files do.
checks = [f"tests.suite.{path.stem}" for path in Path(__file__).parent.glob("checks_*.py")]
pytest.register_assert_rewrite("tests.suite.subjects", *checks)

# Compilation writes a structured log of thousands of records; pytest would catch and keep every one of them.
logging.getLogger("torch.__trace").propagate = False
