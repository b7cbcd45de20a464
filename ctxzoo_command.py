"""The `ctxzoo` command, outside of the package, whose import takes seconds: Ctrl-C ends these too in one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130  # as shells have it: 128 and the number of the signal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status, see `ctxzoo.cli.main.main`; 130 after Ctrl-C."""
    try:
        from ctxzoo.cli.main import main as run

        return run(arguments)
    except KeyboardInterrupt:
        print("ctxzoo: stopped", file=sys.stderr)
        return INTERRUPTED
