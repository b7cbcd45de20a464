"""What is particular to other libraries: which messages of Lightning are left out, which packages are installed."""

from __future__ import annotations

import logging
import re
import warnings
from importlib.util import find_spec

# Beginnings of the messages. The first comes with every epoch and every scoring: what is loaded is ours, and tensors
# only.
_LIGHTNING = "lightning.pytorch"
# Importing Lightning sets the level of the first two; the last speaks of GPUs, and keeps its own.
LIGHTNING_LOGGERS = (_LIGHTNING, "lightning.fabric", f"{_LIGHTNING}.utilities.rank_zero")
LOGGED = {
    f"{_LIGHTNING}.trainer.connectors.checkpoint_connector": ("`weights_only` was not set, defaulting to `False`.",),
    f"{_LIGHTNING}.utilities.rank_zero": (
        "💡 Tip: For seamless cloud ",
        "TPU available: False, using: 0 TPU cores",
    ),
}
WARNED = (
    "`isinstance(treespec, LeafSpec)` is deprecated",
    "The number of training batches",  # is smaller than the logging interval, of trial runs
)


class _HideMessages(logging.Filter):
    """Drops log messages with certain beginnings."""

    def __init__(self, beginnings: tuple[str, ...]) -> None:
        super().__init__()
        self.beginnings = beginnings

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(self.beginnings)


def hide_library_messages() -> None:
    """Hide the messages of libraries in `LOGGED` and `WARNED` from now on."""
    for name, beginnings in LOGGED.items():
        logger = logging.getLogger(name)
        if not any(isinstance(one, _HideMessages) for one in logger.filters):
            logger.addFilter(_HideMessages(beginnings))
    for beginning in WARNED:
        warnings.filterwarnings("ignore", message=re.escape(beginning))


def silence_lightning() -> None:
    """Leave what Lightning tells of devices and starts, and transformers of new heads, out from now on."""
    import lightning.pytorch  # noqa: F401  sets its level when it is imported
    import transformers

    for name in LIGHTNING_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    transformers.utils.logging.set_verbosity_error()


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # of a finder that refuses, or a module that is no package
        return False


def check_wandb() -> None:
    """Raise ImportError, with the command to install it, if Weights & Biases is not installed."""
    if not is_installed("wandb"):
        raise ImportError("wandb needs: pip install wandb")


def check_optuna() -> None:
    """Raise ImportError, with the command to install it, if Optuna is not installed."""
    if not is_installed("optuna"):
        raise ImportError("a search for settings needs Optuna, of the extra tune: pip install optuna")
