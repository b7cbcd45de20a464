"""One training of a recommender from its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.tasks.sequences.card import SESSION_CARD
from ctxzoo.tasks.sequences.data import MAX_LENGTH, SESSION_DATASETS, SessionDataModule
from ctxzoo.tasks.sequences.evaluation import session_scores
from ctxzoo.tasks.sequences.run import NextItemRun
from ctxzoo.tasks.sequences.task import SessionRecommendationTask
from ctxzoo.training.task import ZooTask

VARIANTS = {"hcrnn": HcrnnConfig.variants, "session_baseline": SessionBaselineConfig.variants}  # by architecture
TINY_SIZE = 6


@dataclass(frozen=True, kw_only=True)
class SessionRun(NextItemRun):
    """All that decides one training; see `NextItemRun`."""

    data_class: ClassVar[Any] = SessionDataModule
    task_class: ClassVar[type[ZooTask]] = SessionRecommendationTask
    card: ClassVar[TaskCard] = SESSION_CARD

    def per_example(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, list[float]]:
        """Return of each session of a split that is scored what `SessionScore` has, but for its row."""
        names = ("predictions", "recall_at_20", "mrr_at_20")
        sessions = {split: session_scores(task.model, data, split) for split in splits}
        return {
            f"{split}/{name}": [getattr(session, name) for session in scores]
            for split, scores in sessions.items()
            for name in names
        }


@dataclass
class SessionSettings(TrainingSettings):
    """Options of a recipe that trains recommenders; a recipe adds its own.

    The defaults are those of HCRNN's authors, but for the batches: 16 whole sessions, every position of which is
    trained at once, in place of 512 prefixes drawn from all sessions.
    """

    epochs: int = reported(200, "at most")
    patience: int = reported(10, "epochs without better validation before it stops; 0: it never does")
    batch_size: int = reported(16, "sessions")
    max_length: int = reported(MAX_LENGTH, "items that a prediction sees at most")
    optimizer: str = reported("adam", "adam, adamw or sgd")
    learning_rate: float = reported(1e-3)
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(0.0)
    embedding_size: int = reported(100, "numbers of an item vector")
    hidden_size: int = reported(100, "units of the state")
    embedding_dropout: float = reported(0.25, "on item vectors")
    pooled_dropout: float = reported(0.5, "on what the scores are computed from")

    def __post_init__(self) -> None:
        if self.tiny:
            self.epochs, self.embedding_size, self.hidden_size = 1, TINY_SIZE, TINY_SIZE


def session_run(
    settings: SessionSettings,
    dataset: str,
    architecture: str,
    variant: str,
    *,
    seed: int,
    recipe: str,
    commit: str,
    fields: dict[str, Any] | None = None,
    tag: str = "",
) -> SessionRun:
    """One training; `execute` runs it and returns its results, `metrics["test/recall_at_20"]` among them.

    Args:
        settings: of the recipe.
        dataset: one of `SESSION_DATASETS`, or any other Hub id, folder or file.
        architecture, variant: of `VARIANTS`.
        seed, recipe, commit: for the results file.
        fields: of the model's config, beside those that all settings have.
        tag: what tells the run's files from others with this variant on the same data.

    Raises:
        ValueError: an unknown variant.
    """
    variants = VARIANTS[architecture]
    if variant not in variants:
        raise ValueError(f"models: unknown model {variant!r}; known: {', '.join(variants)}")
    sizes = ("embedding_size", "hidden_size", "embedding_dropout", "pooled_dropout")
    source = SESSION_DATASETS.get(dataset, dataset)
    spec = settings.spec(
        recipe=recipe,
        architecture=architecture,
        variant=variant,
        dataset=source,
        seed=seed,
        commit=commit,
        settings=reported_settings(settings),
        tag=tag,
    )
    data = {"dataset": source, "data_dir": settings.data_dir, "max_length": settings.max_length, "seed": seed}
    return SessionRun(
        spec=spec,
        config={
            "model_type": f"ctxzoo_{architecture}",
            **variants[variant],
            **{name: getattr(settings, name) for name in sizes},
            **(fields or {}),
        },
        data={**data, "batch_size": settings.batch_size},
        task={name: getattr(settings, name) for name in ("optimizer", "learning_rate", "weight_decay")},
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
        counts_unknown=False,
    )
