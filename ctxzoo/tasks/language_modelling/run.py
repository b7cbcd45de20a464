"""One training of a language model from its start."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.settings import TrainingSettings
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks.language_modelling.card import CARD
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule, text_dataset
from ctxzoo.tasks.language_modelling.task import LanguageModellingTask
from ctxzoo.training.task import ZooTask


@dataclass(frozen=True, kw_only=True)
class LanguageModelRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = LanguageModellingDataModule
    task_class: ClassVar[type[ZooTask]] = LanguageModellingTask
    card: ClassVar[TaskCard] = CARD

    def build_data(self) -> LanguageModellingDataModule:
        return LanguageModellingDataModule(**{"init_from": self.pretrained, **self.data})

    def build_task(self, data: LanguageModellingDataModule, processes: int) -> LanguageModellingTask:
        return LanguageModellingTask(**self.start(data), **self.schedule(data, processes), **self.task)


ARCHITECTURE = "beta_lstm"
PRIOR = "_prior"  # behind the name of a cell
PRIOR_WEIGHT = 1e-3  # kl_lambda
# Units of a layer by which all cells have as many parameters as the LSTM: two layers, 200 numbers for a word, a softmax
# of its own over the 10,001 rows of the Penn Treebank's vocabulary.
HIDDEN_SIZES = MappingProxyType(
    {
        "lstm": 200,
        "coupled": 211,
        "g2": 200,
        "noisin": 200,
        "beta": 182,
        "bibeta3": 190,
        "bibeta5": 175,
        "kumaraswamy": 182,
    }
)
CELLS = (*HIDDEN_SIZES, f"bibeta5{PRIOR}")
TINY_SIZE = 6


@dataclass
class LanguageModelSettings(TrainingSettings):
    """Options of a recipe that trains language models; a recipe adds its own.

    The rate is that of stochastic gradient descent on a mean over words whose gradients are short (a norm of 0.25 at
    most): Adam stays for the first hundreds of steps where words are predicted by how often they occur.
    """

    epochs: int = reported(15, "at most")
    patience: int = reported(0, "epochs without better validation before it stops; 0: it never does")
    batch_size: int = reported(20, "parallel streams of the text")
    bptt: int = reported(35, "words of a window, over which gradients flow back")
    min_word_count: int = reported(1, "occurrences in the training text that a word needs")
    cutter: str = reported("whitespace", "whitespace, or english for its rules")
    optimizer: str = reported("sgd", "adadelta, adam, adamw or sgd")
    learning_rate: float = reported(20.0)
    momentum: float = reported(0.0, "of sgd")
    halve_after: int = reported(1, "epochs in a row without better validation after which the rate is halved; 0: never")
    weight_decay: float = reported(0.0)
    gradient_clip: float = reported(0.25)
    num_layers: int = reported(2)
    word_dim: int = reported(200, "numbers of a word's vector")
    embedding_bound: float = reported(1.0, "words' vectors start in U(-bound, bound)")
    hidden_size: int | None = reported(None, "units of a layer; default: the cell's, by which all are of one size")
    dropout: float = reported(0.2, "on the words")
    locked_dropout: float = reported(0.2, "behind each layer")
    weight_dropout: float = reported(0.0, "on recurrent weights")
    kl_lambda: float = reported(PRIOR_WEIGHT, "weight of the prior of the cells that have one")

    def __post_init__(self) -> None:
        if self.tiny:
            self.epochs, self.hidden_size, self.word_dim = 1, TINY_SIZE, TINY_SIZE


def language_model_run(
    settings: LanguageModelSettings,
    dataset: str,
    cell: str,
    *,
    seed: int,
    recipe: str,
    commit: str,
    tag: str = "",
) -> LanguageModelRun:
    """One training; `execute` runs it and returns its results, `metrics["test/perplexity"]` among them.

    Args:
        settings: of the recipe.
        dataset: see `text_dataset`.
        cell: one of `CELLS`.
        seed, recipe, commit: for the results file.
        tag: what tells the run's files from others with this cell on the same data.

    Raises:
        ValueError: an unknown cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cells: unknown cell {cell!r}; known: {', '.join(CELLS)}")
    data = text_dataset(dataset)
    name = cell.removesuffix(PRIOR)
    config = {
        "cell": name,
        "hidden_size": HIDDEN_SIZES[name] if settings.hidden_size is None else settings.hidden_size,
        "embedding_seed": None,  # vectors of words are trained
        "kl_lambda": settings.kl_lambda if cell.endswith(PRIOR) else 0.0,
        **{
            one: getattr(settings, one)
            for one in ("num_layers", "word_dim", "embedding_bound", "dropout", "locked_dropout", "weight_dropout")
        },
    }
    decisive = {
        **reported_settings(settings),
        "hidden_size": config["hidden_size"],
        "kl_lambda": config["kl_lambda"],
    }
    spec = settings.spec(
        recipe=recipe,
        architecture=ARCHITECTURE,
        variant=cell,
        dataset=data["dataset"],
        seed=seed,
        commit=commit,
        settings=decisive,
        tag=tag,
    )
    of_data = ("data_dir", "batch_size", "bptt", "min_word_count", "cutter")
    of_task = ("optimizer", "learning_rate", "weight_decay", "halve_after")
    return LanguageModelRun(
        spec=spec,
        config={"model_type": f"ctxzoo_{ARCHITECTURE}", **config},
        data={**data, **{one: getattr(settings, one) for one in of_data}, "seed": seed},
        task={
            **{one: getattr(settings, one) for one in of_task},
            "momentum": settings.momentum if settings.optimizer == "sgd" else None,
        },
        trainer=settings.trainer(
            seed, epochs=settings.epochs, patience=settings.patience, gradient_clip=settings.gradient_clip
        ),
    )
