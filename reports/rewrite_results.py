"""Write results files anew, in the form that they have today; what tables and comparisons read stays.

    python -m reports.rewrite_results results

Curves over the epochs keep at most 80 points (`subsample_curves`), and numbers of single examples stay only where a
table counts over some of them: those of sessions, and of readers by article.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ctxzoo.results.result import read_result, write_result_file

EXAMPLES_OF = ("citeulike_hcrnn", "session_baselines", "squad_bidaf", "small_reader")  # recipes


def rewrite_results_file(path: Path) -> int:
    """Write a results file again in today's form; return by how many bytes it became shorter.

    Raises:
        ValueError, TypeError: it is no results file, see `read_result`.
    """
    size = path.stat().st_size
    result = read_result(path)
    write_result_file(result if result.recipe in EXAMPLES_OF else replace(result, per_example={}), path)
    return size - path.stat().st_size


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite the results files of a folder in today's form, and print how much smaller they became."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    files = sorted(parser.parse_args(arguments).folder.rglob("*.json"))
    saved = [rewrite_results_file(path) for path in files]
    print(f"{len(files)} files, {sum(map(bool, saved))} of them rewritten, {sum(saved) / 1e6:.1f} MB less")


if __name__ == "__main__":
    main()
