"""The benchmark of the default text classifier: both commands train, and the processor's seconds are theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.default_text_classifier import COMMANDS, format_default_text_classifier_table, main
from benchmarks.default_text_classifier import measure_processor_seconds as measure
from benchmarks.reporting import read_rows


def test_the_seconds_of_children_count_and_a_failure_says_what_was_printed(tmp_path: Path) -> None:
    burn = "while __import__('time').process_time() < 0.3: pass"
    assert measure(["-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"], tmp_path) > 0.3
    with pytest.raises(RuntimeError, match=r"(?s)exit status 3.*no such thing"):
        measure(["-c", "print('no such thing'); raise SystemExit(3)"], tmp_path)


@pytest.mark.slow
def test_both_commands_train(tmp_path: Path) -> None:
    rows = read_rows(main(["--quick", "--output", str(tmp_path / "rows.csv")]))
    assert {row["command_measured"] for row in rows} == set(COMMANDS)
    assert all(float(row["processor_seconds"]) > 1 for row in rows)
    assert "| `ctxzoo train` | 60 |" in format_default_text_classifier_table(rows)
