"""`OwnTraining`: a training on a user's own data, from what the command line says to scores and a checkpoint."""

from __future__ import annotations

import shlex
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.data.files import check_writable
from ctxzoo.data.own_splits import OwnRows, OwnSplits, write_own_splits
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.environment import checkpoint_name
from ctxzoo.results.result import RunResult
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.problem import CONTINUED, architectures_of, choose_names, open_start
from ctxzoo.runs.run import Run
from ctxzoo.runs.spaces import Between, Space, rates_around
from ctxzoo.runs.spec import RunSpec
from ctxzoo.runs.training_request import PAPER, TrainingRequest
from ctxzoo.runs.tuning import Trial
from ctxzoo.version import version


class OwnTraining(ABC):
    """What `ctxzoo train` does for one problem.

    Attributes:
        card: of the problem.
        default: the architecture and variant where none is named.
        space: name to what a search tries of settings beside the learning rate, where the preset has them.
        objective: score of validation by which a search compares; a name in the card's `metrics`.
        lower_is_better: of that score.
        kept_with_checkpoint: settings of a preset's `data` and `run` that count where a checkpoint goes on: what the
            tokenizer and the weights of the checkpoint decide is not among them.
        predicted: arguments of `ctxzoo predict` behind the checkpoint, as they are typed; {test} stands for the file of
            test rows.
        called: how a pipeline of the problem is called; of one without a pipeline empty.
    """

    card: ClassVar[TaskCard]
    default: ClassVar[tuple[str, str]]
    space: ClassVar[Space]
    objective: ClassVar[str]
    lower_is_better: ClassVar[bool] = False
    kept_with_checkpoint: ClassVar[frozenset[str]] = frozenset(
        {"batch_size", "eval_batch_size", "decay", "warmup", "best_by"}
    )
    predicted: ClassVar[str]
    called: ClassVar[str] = ""

    def predict_options(self, checkpoint: Path, test: Path) -> str:
        """Return arguments of `ctxzoo predict` that this checkpoint takes, as they are typed.

        Args:
            checkpoint: Its folder.
            test: File of the rows of test, which problems whose checkpoints read files name.
        """
        return self.predicted.format(test=shlex.quote(str(test)))

    @abstractmethod
    def variants(self, architecture: str) -> Sequence[str]:
        """Return the names of the variants of an architecture, the one that is taken where none is named first."""

    def variant_of(self, config: Any) -> str | None:
        """Return the variant whose settings suit a checkpoint with this config; None where all have the same."""
        return None

    @abstractmethod
    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        """Return the settings of that name, "default" or "paper"."""

    @abstractmethod
    def tiny(self, preset: Preset) -> Preset:
        """Return the preset with a small model and one epoch."""

    @abstractmethod
    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        """Read and check the user's data.

        Args:
            request: of the user.
            scratch: folder that is there until the rows are written.

        Raises:
            OSError, ValueError: the data is missing or not as it should be, in one line.
        """

    @abstractmethod
    def run(self, request: TrainingRequest, preset: Preset, splits: OwnSplits, trial: Trial | None = None) -> Run:
        """Return one training.

        Args:
            request, preset: what and how to train.
            splits: of the data.
            trial: of a search; None: a plain training.
        """

    def beside(self, request: TrainingRequest, run: Run, result: RunResult) -> Iterable[str]:
        """Yield lines that stand beside the scores, such as a baseline's."""
        return ()

    def search_space(self, preset: Preset) -> dict[str, Sequence[Any] | Between]:
        """Return name to what a search tries of a setting, from this preset on."""
        own = preset.values()
        rate = own.get("learning_rate")
        rates = {"learning_rate": rates_around(rate)} if rate else {}
        return {**rates, **{name: values for name, values in self.space.items() if name in own}}

    def architectures(self) -> list[str]:
        """Return the names of the architectures that have a head of this problem."""
        return architectures_of(self.card.name)

    def choose(self, request: TrainingRequest) -> Preset:
        """Return the settings that a user asks for.

        Raises:
            OSError: there is no such checkpoint.
            ValueError: an architecture, variant or setting that there is not; a checkpoint of another problem.
        """
        if request.card.example:
            self.card.typed_example(request.card.example)  # an error now, not when the training is over
        start = request.init_from
        preset = self._new(request) if start is None else self._continued(request, start)
        if request.tiny:
            preset = self.tiny(preset)
        return preset.changed(**request.changes)

    def spec(self, request: TrainingRequest, preset: Preset, splits: OwnSplits, trial: Trial | None) -> RunSpec:
        """Return the identity of a run."""
        settings = preset.settings()
        start = {} if request.init_from is None else {"init_from": checkpoint_name(request.init_from)}
        began = "" if request.init_from is None or preset.variant == CONTINUED else CONTINUED
        parts = (
            PAPER if request.settings == PAPER else "",
            began,
            "tiny" if request.tiny else "",
            "" if trial is None else trial.name,
        )
        return RunSpec(
            recipe=f"train_{self.card.name.replace('-', '_')}",
            architecture=preset.architecture,
            variant=preset.variant,
            # Scores on a test split that was drawn here are none on the Hub's dataset.
            dataset=request.name.rpartition("/")[2] if "test" in splits.drawn else request.name,
            seed=request.seed,
            commit=version(),
            settings={**settings, **start, "rows": splits.folder.name, "tiny": request.tiny},
            score="test" if trial is None else trial.score,
            tag="-".join(part for part in parts if part),
            content="" if request.replace else splits.folder.name,
            output_dir=request.output_dir,
            results_dir=request.results_dir,
        )

    def _new(self, request: TrainingRequest) -> Preset:
        names = choose_names(self, self.card.title, request.architecture, request.variant)
        return self.preset(request.settings, *names)

    def _continued(self, request: TrainingRequest, checkpoint: str) -> Preset:
        saved = open_start(checkpoint, self.card.name, request.architecture, request.variant)
        name = saved.architecture.name
        variant = self.variant_of(saved.config)
        preset = self.preset(request.settings, name, variant or self.variants(name)[0])
        kept: dict[str, Any] = {
            group: {key: value for key, value in getattr(preset, group).items() if key in self.kept_with_checkpoint}
            for group in ("data", "run")
        }
        return replace(preset, variant=variant or CONTINUED, config={}, **kept)


def prepared(training: OwnTraining, request: TrainingRequest) -> OwnSplits:
    """Read, check and divide the user's data, and write it into the folder of the outputs.

    Raises:
        OSError: that folder cannot be written; see also `OwnTraining.read`.
        ValueError: see `OwnTraining.read` and `write_own_splits`.
    """
    folder = Path(request.output_dir) / f"train_{training.card.name.replace('-', '_')}"
    check_writable(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".reading-") as scratch:
        return write_own_splits(training.read(request, Path(scratch)), request.name, folder)
