"""The problems that cards, results and the command line know, by the name that heads say (`zoo_task`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line names problems before anything of them is needed
    from ctxzoo.hub.task_card import TaskCard
    from ctxzoo.models.modeling_base import ZooPreTrainedModel
    from ctxzoo.tasks.commands import TaskCommands

# Name to the package with its public names, whose `card` has its CARD and `commands` its COMMANDS.
PROBLEMS = {
    "question-answering": "ctxzoo.tasks.question_answering",
    "text-classification": "ctxzoo.tasks.text_classification",
    "token-classification": "ctxzoo.tasks.token_classification",
    "polyphonic-music": "ctxzoo.tasks.polyphonic_music",
    "language-modelling": "ctxzoo.tasks.language_modelling",
    "session-recommendation": "ctxzoo.tasks.session_recommendation",
    "next-event": "ctxzoo.tasks.next_event",
    "regression": "ctxzoo.tasks.regression",
    "vote-prediction": "ctxzoo.tasks.vote_prediction",
    "fill-mask": "ctxzoo.tasks.word_embeddings",
}

# Of those whose trainings are experiments the `Problem`, which stands for both. (Until all of them have one.)
EXPERIMENTS = {
    "question-answering": ("ctxzoo.tasks.question_answering.problem", "QUESTION_ANSWERING"),
    "language-modelling": ("ctxzoo.tasks.language_modelling.problem", "LANGUAGE_MODELLING"),
    "token-classification": ("ctxzoo.tasks.token_classification.problem", "TOKEN_CLASSIFICATION"),
    "text-classification": ("ctxzoo.tasks.text_classification.problem", "TEXT_CLASSIFICATION"),
    "polyphonic-music": ("ctxzoo.tasks.polyphonic_music.problem", "POLYPHONIC_MUSIC"),
    "session-recommendation": ("ctxzoo.tasks.sequences.problem", "SESSION_RECOMMENDATION"),
    "next-event": ("ctxzoo.tasks.sequences.problem", "NEXT_EVENT"),
    "regression": ("ctxzoo.tasks.regression.problem", "REGRESSION"),
    "vote-prediction": ("ctxzoo.tasks.vote_prediction.problem", "VOTE_PREDICTION"),
}


def card_named(name: str) -> TaskCard:
    """The card of a problem.

    Raises:
        ValueError: none of `PROBLEMS`; the message names them.
    """
    package = _package(name)
    card: TaskCard = _problem(name).card if name in EXPERIMENTS else import_module(f"{package}.card").CARD
    return card


def commands_named(name: str) -> TaskCommands:
    """What the command line does with checkpoints of a problem.

    Raises:
        ValueError: none of `PROBLEMS`; the message names them.
    """
    package = _package(name)
    commands: TaskCommands = _problem(name) if name in EXPERIMENTS else import_module(f"{package}.commands").COMMANDS
    return commands


def card_of(model_class: type[ZooPreTrainedModel]) -> TaskCard:
    """The card of the problem that a head names.

    Raises:
        ValueError: it names none, or one that is none of `PROBLEMS`; the message names them.
    """
    if model_class.zoo_task is None:
        raise ValueError(
            f"a {model_class.__name__} does no task that ctxzoo can score and describe; it knows {_known()}"
        )
    return card_named(model_class.zoo_task)


def _package(name: str) -> str:
    if name not in PROBLEMS:
        raise ValueError(f"unknown task {name!r}; ctxzoo knows {_known()}")
    return PROBLEMS[name]


def _problem(name: str) -> Any:
    module, problem = EXPERIMENTS[name]
    return getattr(import_module(module), problem)


def _known() -> str:
    return ", ".join(PROBLEMS)
