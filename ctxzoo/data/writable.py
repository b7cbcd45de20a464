"""A check that a run can write into its folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def check_writable(folder: Path, option: str = "--output_dir") -> None:
    """Make sure that a run can write into `folder` before hours are spent.

    Args:
        folder: is made where it is missing.
        option: of the command line, which leads the run elsewhere.

    Raises:
        OSError: the folder cannot be made or written; the message says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(bytes(2**20))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error}; choose another {option} or free some space") from error
