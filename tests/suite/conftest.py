"""Set-up of the model suite."""

import logging

import pytest

# Assertions in the checks explain themselves as those in test files do.
pytest.register_assert_rewrite("tests.suite.subjects", "tests.suite.model_suite")

# Compilation writes a structured log of thousands of records; pytest would catch and keep every one of them.
logging.getLogger("torch.__trace").propagate = False
