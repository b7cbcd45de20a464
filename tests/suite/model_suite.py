"""`ModelSuite`: every check that every architecture passes, put together from checks_*.py (one file for each idea)."""

from __future__ import annotations

from tests.suite.checks_bad_input import BadInputChecks
from tests.suite.checks_compilation import CompilationChecks
from tests.suite.checks_config import ConfigChecks
from tests.suite.checks_gradients import GradientChecks
from tests.suite.checks_initialisation import InitialisationChecks
from tests.suite.checks_invariance import InvarianceChecks
from tests.suite.checks_loading import LoadingChecks
from tests.suite.checks_outputs import OutputChecks
from tests.suite.checks_precision import PrecisionChecks
from tests.suite.checks_saving import SavingChecks
from tests.suite.checks_second_use import SecondUseChecks
from tests.suite.checks_subprocess import SubprocessChecks
from tests.suite.checks_trainer import TrainerChecks
from tests.suite.checks_training import TrainingChecks


class ModelSuite(
    ConfigChecks,
    InitialisationChecks,
    SavingChecks,
    LoadingChecks,
    SubprocessChecks,
    OutputChecks,
    InvarianceChecks,
    GradientChecks,
    TrainingChecks,
    TrainerChecks,
    PrecisionChecks,
    CompilationChecks,
    BadInputChecks,
    SecondUseChecks,
):
    """The checks of layout.md; a test class that inherits it runs them on what `pytest_generate_tests` gives."""


def check_names() -> set[str]:
    """Names under which a case may declare a check not applicable."""
    return {name.removeprefix("test_") for name in dir(ModelSuite) if name.startswith("test_")}
