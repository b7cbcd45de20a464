"""How a training says that it was stopped, whatever trains."""

from __future__ import annotations


class TrainingInterrupted(Exception):  # noqa: N818 (not an error: the user requested it)
    """Ctrl-C, SIGTERM or SIGUSR1 ended the training; the message says how to go on."""


class TrainingPruned(Exception):  # noqa: N818 (not an error: a search requested it)
    """A search ended the training before its last epoch; the message says why."""
