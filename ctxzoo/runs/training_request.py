"""`TrainingRequest`: what a user asks of `ctxzoo train`, whatever the problem, and the splits that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxzoo.data.own_splits import Loaded, gather_splits
from ctxzoo.hub.card import CardOptions

DEFAULT, PAPER = "default", "paper"


@dataclass(frozen=True, kw_only=True)
class TrainingRequest:
    """What a user asks for, whatever the problem.

    Attributes:
        data: file, folder, Hub id, or "sample".
        validation, test: files of their own; None: of `data`, or drawn from its training rows.
        data_dir: folder of datasets; None: `$CTXZOO_DATA`.
        settings: "default", or "paper".
        architecture, variant: what is trained; None: that of the settings.
        init_from: checkpoint folder or Hub id to go on from.
        changes: name to value of settings that are given.
        columns: name to value of options that say where in the data something is.
        minutes: budget of a search for settings; None: no search.
        seed: of all that is drawn in a training.
        tiny: a small model on a few batches.
        resume: keep what is finished, go on with the rest.
        replace: names of folder and results file say nothing of the data's content, so that a training with a changed
            file takes the place of the one before.
        output_dir, results_dir: where to write.
        accelerator, devices: Lightning's.
        threads: of the CPU.
        progress: show a progress bar.
        push_to: Hub repository that receives the checkpoint folder.
        card: What the card says of data that ctxzoo does not know.
    """

    data: str
    validation: str | None = None
    test: str | None = None
    data_dir: str | None = None
    settings: str = DEFAULT
    architecture: str | None = None
    variant: str | None = None
    init_from: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    minutes: float | None = None
    seed: int = 0
    tiny: bool = False
    resume: bool = False
    replace: bool = False
    output_dir: str = "runs"
    results_dir: str = "runs/results"
    accelerator: str = "auto"
    devices: str = "auto"
    threads: int = 1
    progress: bool = False
    push_to: str | None = None
    card: CardOptions = field(default_factory=CardOptions)

    @property
    def name(self) -> str:
        """What the data is called: a file or folder by its last part, so that it is not taken for a Hub id."""
        return Path(self.data).resolve().name if Path(self.data).exists() else self.data


def gathered(request: TrainingRequest, load: Callable[[str], Loaded]) -> Loaded:
    """Return the splits of `data`, those in files of their own in place of its own, and what messages call each.

    Args:
        request: of the user.
        load: see `gather_splits`.

    Raises:
        OSError, ValueError: see `gather_splits`.
    """
    files = {name: file for name in ("validation", "test") if (file := getattr(request, name)) is not None}
    return gather_splits(request.data, files, load)
