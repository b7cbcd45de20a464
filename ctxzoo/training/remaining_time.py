"""Lines that tell how long work will take, once its first parts are done, and how much of it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightning

FIRST = 5  # parts after which the remaining time is estimated
SECONDS = 20.0  # between two lines


def format_duration(seconds: float, prefix: str = "") -> str:
    """Return a duration as text in seconds, minutes or hours; `prefix` goes before the number."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 90:
        return f"{prefix}{seconds:.0f} s"
    return prefix + (f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h")


def print_now(line: str) -> None:
    """Print a line without buffering."""
    print(line, flush=True)


class RemainingTime:
    """Prints how long work of many parts takes, estimated from the time that its first parts took.

    Args:
        work: Name of the work, with which each printed line begins.
        unit: Name of the parts of the work, in the plural, such as "epochs".
        say: Function that outputs a line; default: print.
        aside: Text appended to the first line.
        before: Number of parts that were already done when the clock started, as in a resumed run.
    """

    def __init__(
        self, work: str, unit: str, *, say: Callable[[str], None] = print_now, aside: str = "", before: int = 0
    ) -> None:
        self.work, self.unit, self.say, self.aside, self.before = work, unit, say, aside, before
        self._began = time.monotonic()
        self._printed_at: float | None = None

    def print_if_due(self, done_parts: int, total_parts: int) -> None:
        """Print how much time is left, if enough parts or time passed since the last line.

        Args:
            done_parts: Number of parts done so far.
            total_parts: Total number of parts.
        """
        now = time.monotonic()
        if (
            done_parts <= self.before
            or done_parts < min(self.before + FIRST, total_parts)
            or (self._printed_at is not None and (done_parts >= total_parts or now - self._printed_at < SECONDS))
        ):
            return
        seconds_left = (now - self._began) / (done_parts - self.before) * (total_parts - done_parts)
        if self._printed_at is None:
            total_time = format_duration(now - self._began + seconds_left, "about ")
            self.say(
                f"{self.work}: {total_time} for {total_parts:,} {self.unit}, "
                f"judged by the first {done_parts:,}{self.aside}"
            )
        else:
            self.say(
                f"{self.work}: {done_parts:,} of {total_parts:,} {self.unit}, "
                f"{format_duration(seconds_left, 'about ')} left"
            )
        self._printed_at = now


class PrintRemainingTime(lightning.Callback):
    """Prints how long a training will take, once its first steps are done, and where it is; see `RemainingTime`."""

    def __init__(self) -> None:
        self._time: RemainingTime | None = None

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        if self._time is None:  # behind the first step, which also sets everything up
            most = (
                " at most; it ends where validation no longer gets better" if trainer.early_stopping_callbacks else ""
            )
            aside = f"{most}; validation comes on top" if trainer.enable_validation else most
            self._time = RemainingTime(
                "training", "steps", say=pl_module.print, aside=aside, before=trainer.global_step
            )
            return
        self._time.print_if_due(trainer.global_step, int(trainer.estimated_stepping_batches))
