"""The problems that cards, results and the command line know, by the name that heads say (`zoo_task`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line names problems before anything of them is needed
    from ctxzoo.hub.task_card import TaskCard
    from ctxzoo.models.modeling_base import ZooPreTrainedModel

# Name to the module and the name of its `Problem`, which has the card and the commands too.
PROBLEMS = {
    "question-answering": ("ctxzoo.tasks.question_answering.problem", "QUESTION_ANSWERING"),
    "text-classification": ("ctxzoo.tasks.text_classification.problem", "TEXT_CLASSIFICATION"),
    "token-classification": ("ctxzoo.tasks.token_classification.problem", "TOKEN_CLASSIFICATION"),
    "polyphonic-music": ("ctxzoo.tasks.polyphonic_music.problem", "POLYPHONIC_MUSIC"),
    "language-modelling": ("ctxzoo.tasks.language_modelling.problem", "LANGUAGE_MODELLING"),
    "session-recommendation": ("ctxzoo.tasks.sequences.problem", "SESSION_RECOMMENDATION"),
    "next-event": ("ctxzoo.tasks.sequences.problem", "NEXT_EVENT"),
    "regression": ("ctxzoo.tasks.regression.problem", "REGRESSION"),
    "vote-prediction": ("ctxzoo.tasks.vote_prediction.problem", "VOTE_PREDICTION"),
    "fill-mask": ("ctxzoo.tasks.word_embeddings.problem", "WORD_EMBEDDINGS"),
}


def get_card(name: str) -> TaskCard:
    """Return the `TaskCard` of the problem with this name.

    Raises:
        ValueError: none of `PROBLEMS`; the message names them.
    """
    card: TaskCard = get_problem(name).card
    return card


def get_problem(name: str) -> Any:
    """Return the `Problem` with this name, which is its `TaskCommands` too.

    Raises:
        ValueError: none of `PROBLEMS`; the message names them.
    """
    if name not in PROBLEMS:
        raise ValueError(f"unknown task {name!r}; ctxzoo knows {_list_problems()}")
    module, problem = PROBLEMS[name]
    return getattr(import_module(module), problem)


def get_train_names() -> dict[str, str]:
    """Return a dict from each problem name that `ctxzoo train` accepts to the problem's name in `zoo_task`."""
    shown = {get_problem(name).train_name or name: name for name in PROBLEMS}
    return {**shown, **{name: name for name in PROBLEMS}}


def get_card_of_head(model_class: type[ZooPreTrainedModel]) -> TaskCard:
    """Return the `TaskCard` of the problem that a model class with a head solves.

    Raises:
        ValueError: it names none, or one that is none of `PROBLEMS`; the message names them.
    """
    if model_class.zoo_task is None:
        raise ValueError(
            f"a {model_class.__name__} does no task that ctxzoo can score and describe; it knows {_list_problems()}"
        )
    return get_card(model_class.zoo_task)


def _list_problems() -> str:
    """Return the names of all tasks, joined by commas."""
    return ", ".join(PROBLEMS)
