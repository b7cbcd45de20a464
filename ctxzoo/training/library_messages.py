"""Messages of Lightning that come with every run and ask for nothing are left out; all others are shown."""

from __future__ import annotations

import logging
import re
import warnings

# Beginnings of the messages. The first comes with every epoch and every scoring: what is loaded is ours, and tensors
# only.
_LIGHTNING = "lightning.pytorch"
LOGGED = {
    f"{_LIGHTNING}.trainer.connectors.checkpoint_connector": ("`weights_only` was not set, defaulting to `False`.",),
    f"{_LIGHTNING}.utilities.rank_zero": (
        "💡 Tip: For seamless cloud ",
        "TPU available: False, using: 0 TPU cores",
    ),
}
WARNED = "`isinstance(treespec, LeafSpec)` is deprecated"


class _LeaveOut(logging.Filter):
    def __init__(self, beginnings: tuple[str, ...]) -> None:
        super().__init__()
        self.beginnings = beginnings

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(self.beginnings)


def leave_out_library_messages() -> None:
    """Filter these messages from now on; a second call adds nothing."""
    for name, beginnings in LOGGED.items():
        logger = logging.getLogger(name)
        if not any(isinstance(one, _LeaveOut) for one in logger.filters):
            logger.addFilter(_LeaveOut(beginnings))
    warnings.filterwarnings("ignore", message=re.escape(WARNED))
