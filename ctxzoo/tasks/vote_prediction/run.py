"""One training of a model of votes from its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import torch

from ctxzoo.hub.saved_model import read_saved_model
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks.vote_prediction.card import CARD
from ctxzoo.tasks.vote_prediction.data import VoteDataModule, names_of_model, vote_dataset
from ctxzoo.tasks.vote_prediction.task import VotePredictionTask
from ctxzoo.tasks.vote_prediction.vocabulary import MAX_WORDS
from ctxzoo.training.task import ZooTask

VARIANTS = {"nipen": NipenConfig.variants, "vote_baseline": VoteBaselineConfig.variants}  # by architecture
SCHEDULE: Mapping[str, Any] = MappingProxyType({"epochs": 30, "learning_rate": 4e-2})
TINY: dict[str, dict[str, Any]] = {
    "nipen": {"num_topics": 3, "encoder_widths": [8, 6]},
    "vote_baseline": {"factors": 2, "hidden_widths": [8, 6]},
}


@dataclass(frozen=True, kw_only=True)
class VoteRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = VoteDataModule
    task_class: ClassVar[type[ZooTask]] = VotePredictionTask
    card: ClassVar[TaskCard] = CARD

    def build_data(self) -> VoteDataModule:
        if self.pretrained is None:
            return VoteDataModule(**self.data)
        # Rows of the checkpoint's tables are legislators, bills and words by name, whoever votes in these data.
        return VoteDataModule(**{**self.data, **names_of_model(read_saved_model(self.pretrained).config)})

    def build_task(self, data: VoteDataModule, processes: int) -> VotePredictionTask:
        task = VotePredictionTask(**self.start(data), **self.schedule(data, processes), **self.task)
        if self.pretrained is None:
            task.model.set_observed(torch.from_numpy(data.observed[data.bill_ids >= 0]))
        return task


@dataclass
class VoteSettings(TrainingSettings):
    """Options of a recipe that trains models of votes; a recipe adds its own."""

    epochs: int | None = reported(None, "at most; default: those chosen for the model")
    patience: int = reported(0, "epochs without better validation before it stops; 0: it never does")
    decay: bool = reported(True, "whether the learning rate falls linearly, to zero after the last epoch")
    batch_size: int = reported(256, "bills")
    optimizer: str = reported("adam", "adam, adamw or sgd")
    learning_rate: float | None = reported(None, "default: the one chosen for the model")
    text_learning_rate: float = reported(1e-3, "of what reads texts")
    gradient_clip: float = reported(0.0)
    max_words: int = reported(MAX_WORDS, "of texts: those that stand in most bills", only_if_changed=True)
    # False, as the published results have it.
    cut_outcomes: bool = reported(False, "cut out what tells in brackets how a vote ended", only_if_changed=True)

    def scheduled(self, chosen: Mapping[str, Any]) -> VoteSettings:
        """Return the settings with `chosen` epochs and learning rate, where they say none."""
        return replace(self, **{name: value for name, value in chosen.items() if getattr(self, name) is None})


def vote_run(
    settings: VoteSettings,
    dataset: str,
    architecture: str,
    variant: str,
    *,
    seed: int,
    recipe: str,
    commit: str,
    fields: dict[str, Any] | None = None,
    name: str = "",
    tag: str = "",
) -> VoteRun:
    """One training; `execute` runs it and returns its results, `metrics["test/log_likelihood"]` among them.

    Args:
        settings: of the recipe; with the epochs and learning rate of `SCHEDULE` where they say none.
        dataset: one of `VOTE_DATASETS`, or any other Hub id, folder or file.
        architecture, variant: of `VARIANTS`.
        seed, recipe, commit: for the results file.
        fields: of the model's config, beside those of the variant.
        name: of the variant in results; default: `variant`.
        tag: what tells the run's files from others with this variant on the same data.

    Raises:
        ValueError: an unknown variant.
    """
    variants = VARIANTS[architecture]
    if variant not in variants:
        raise ValueError(f"models: unknown model {variant!r}; known: {', '.join(variants)}")
    settings = settings.scheduled(SCHEDULE)
    of_texts = {"max_words": settings.max_words, "cut_outcomes": settings.cut_outcomes}
    data = {**vote_dataset(dataset), "data_dir": settings.data_dir, "seed": seed, **of_texts}
    config = {**variants[variant], **(fields or {}), **(TINY[architecture] if settings.tiny else {})}
    spec = settings.spec(
        recipe=recipe,
        architecture=architecture,
        variant=name or variant,
        dataset=data["dataset"],
        seed=seed,
        commit=commit,
        settings={**reported_settings(settings), "configuration": data["configuration"], **config},
        tag="-".join(part for part in (data["configuration"], tag) if part),
    )
    return VoteRun(
        spec=spec,
        config={"model_type": f"ctxzoo_{architecture}", **config},
        data={**data, "batch_size": settings.batch_size},
        decay=settings.decay,
        task={name: getattr(settings, name) for name in ("optimizer", "learning_rate", "text_learning_rate")},
        trainer=settings.trainer(
            seed,
            epochs=1 if settings.tiny else settings.epochs,
            patience=settings.patience,
            gradient_clip=settings.gradient_clip,
        ),
    )
