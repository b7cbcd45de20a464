"""A worker in the test's own process: interpreters of their own would take most of the test's time."""

from __future__ import annotations

import importlib
import json
from typing import Any


class WorkerHere:
    """Takes the place of `benchmarks.worker.Worker`."""

    def __init__(self, side: Any, threads: int, *arguments: str) -> None:
        self.side = side
        self.runner = importlib.import_module(type(side).__module__).Runner(side, *arguments)

    def __enter__(self) -> WorkerHere:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ask(self, name: str, *arguments: Any) -> Any:
        # As through the pipe: what does not survive JSON must fail here too.
        given = json.loads(json.dumps(arguments))
        return json.loads(json.dumps(getattr(self.runner, name)(*given)))
