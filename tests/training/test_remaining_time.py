"""How long work will take, and where it is."""

from __future__ import annotations

import pytest

from ctxzoo.training import remaining_time
from ctxzoo.training.remaining_time import RemainingTime, format_duration


def test_a_line_comes_once_it_is_known_and_then_now_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [0.0], []
    monkeypatch.setattr(remaining_time.time, "monotonic", lambda: now[0])
    remaining = RemainingTime("training", "steps", say=lines.append, aside=" at most")
    for step in range(1, 101):
        now[0] = 3.0 * step  # a step takes three seconds
        remaining.print_if_due(step, 100)
    assert lines[0] == "training: about 5 min for 100 steps, judged by the first 5 at most"
    assert lines[1] == "training: 12 of 100 steps, about 4 min left"
    assert len(lines) == 1 + 95 * 3 // 21  # seven steps are the first to take 20 seconds
    assert lines[-1].startswith("training: 96 of 100 steps, about 12 s left")


def test_parts_of_before_the_clock_began_took_no_time_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [0.0], []
    monkeypatch.setattr(remaining_time.time, "monotonic", lambda: now[0])
    remaining = RemainingTime("training", "steps", say=lines.append, before=50)
    for step in range(50, 61):
        now[0] = 3.0 * (step - 50)
        remaining.print_if_due(step, 100)
    assert lines == ["training: about 2 min for 100 steps, judged by the first 55"]


def test_short_work_is_told_too() -> None:
    lines: list[str] = []
    remaining = RemainingTime("linear part", "fits", say=lines.append)
    for done in (1, 2):
        remaining.print_if_due(done, 2)
    assert lines == ["linear part: less than 1 s for 2 fits, judged by the first 2"]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "less than 1 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
