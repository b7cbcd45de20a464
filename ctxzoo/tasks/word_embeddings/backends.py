"""What trains word vectors: loops that Numba compiles, or PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress, check_at_least, check_precision
from ctxzoo.training.libraries import is_installed

CHECKPOINT = "last.safetensors"
INSTALL = "pip install numba"


class EmbeddingTrainer(Protocol):
    """Trains a model, whose weights it changes."""

    def fit(self, resume: bool = False) -> EmbeddingProgress:
        """Train to the end; with `resume` from the checkpoint, if there is one."""


class EmbeddingBackend(Protocol):
    """Makes trainers, all with the same settings."""

    @property
    def told(self) -> dict[str, Any]:
        """The settings that decide the result, as a results file reports them."""

    def trainer(
        self,
        model: WordEmbeddingForMaskedLM,
        corpus: Corpus,
        training: WordEmbeddingTraining,
        folder: Path,
        report: Callable[[EmbeddingProgress], None],
    ) -> EmbeddingTrainer:
        """Return the trainer of one training, whose checkpoints are in `folder`."""


@dataclass(frozen=True)
class NumbaBackend:
    """`HogwildTrainer` with so many threads.

    Raises:
        ValueError: no thread.
    """

    threads: int = 1

    def __post_init__(self) -> None:
        check_at_least(1, threads=self.threads)

    @property
    def told(self) -> dict[str, Any]:
        return {"threads": self.threads}

    def trainer(
        self,
        model: WordEmbeddingForMaskedLM,
        corpus: Corpus,
        training: WordEmbeddingTraining,
        folder: Path,
        report: Callable[[EmbeddingProgress], None],
    ) -> EmbeddingTrainer:
        from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer

        return HogwildTrainer(
            model, corpus, training, threads=self.threads, checkpoint=folder / CHECKPOINT, report=report
        )


@dataclass(frozen=True)
class TorchBackend:
    """`TorchEmbeddingTrainer` with these options.

    Raises:
        ValueError: an option out of range.
    """

    batch_size: int
    num_workers: int = 0
    accelerator: str = "auto"
    devices: str = "1"
    precision: str = "32-true"

    def __post_init__(self) -> None:
        check_at_least(1, batch_size=self.batch_size)
        check_at_least(0, num_workers=self.num_workers)
        check_precision(self.precision)

    @property
    def told(self) -> dict[str, Any]:
        names = ("batch_size", "devices", "precision")
        return {"backend": "torch", **{name: getattr(self, name) for name in names}}

    def trainer(
        self,
        model: WordEmbeddingForMaskedLM,
        corpus: Corpus,
        training: WordEmbeddingTraining,
        folder: Path,
        report: Callable[[EmbeddingProgress], None],
    ) -> EmbeddingTrainer:
        from ctxzoo.tasks.word_embeddings.torch_trainer import TorchEmbeddingTrainer

        return TorchEmbeddingTrainer(model, corpus, training, folder=folder, report=report, **vars(self))


def choose_backend_name(requested: str | None) -> str:
    """Return `requested`, or for None numba where it is installed, else torch with a notice.

    Raises:
        ValueError: an unknown name, or numba where it is not installed.
    """
    has_numba = is_installed("numba")
    if requested is None and not has_numba:
        print(f"numba is not installed: torch trains, which is slower on a CPU; {INSTALL}")
    name = requested or ("numba" if has_numba else "torch")
    if name not in ("numba", "torch"):
        raise ValueError(f"backend is {name!r}; expected numba or torch")
    if name == "numba" and not has_numba:
        raise ValueError(f"backend is 'numba', which is not installed: {INSTALL}, or take the backend torch")
    return name
