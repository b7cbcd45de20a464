"""Completion of `ctxzoo` in a shell, by shtab."""

from __future__ import annotations

from ctxzoo.cli.main import build_parser
from ctxzoo.training.libraries import is_installed

SHELLS = ("bash", "zsh", "tcsh")


def format_completion(shell: str) -> str:
    """Return the script by which a shell completes commands, options and their values.

    Args:
        shell: "bash", "zsh" or "tcsh".

    Raises:
        ImportError: shtab is not installed.
        ValueError: another shell.
    """
    if shell not in SHELLS:
        raise ValueError(f"--print_completion {shell}: expected one of {', '.join(SHELLS)}")
    if not is_installed("shtab"):
        raise ImportError("--print_completion needs shtab, of the extra completion: pip install shtab")
    import shtab

    script: str = shtab.complete(build_parser(), shell=shell)
    return script
