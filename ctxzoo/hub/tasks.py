"""The tasks of which cards, results and the command line know."""

from __future__ import annotations

from ctxzoo.hub.task_facts import TaskFacts
from ctxzoo.hub.task_fill_mask import FILL_MASK
from ctxzoo.hub.task_question_answering import QUESTION_ANSWERING
from ctxzoo.hub.task_text_classification import TEXT_CLASSIFICATION
from ctxzoo.hub.task_token_classification import TOKEN_CLASSIFICATION
from ctxzoo.models import Architecture

TASKS = (QUESTION_ANSWERING, TEXT_CLASSIFICATION, TOKEN_CLASSIFICATION, FILL_MASK)


def task_of(architecture: Architecture, model_class: str) -> TaskFacts:
    """The task that a head of an architecture does.

    Args:
        architecture: of the model.
        model_class: name of the model's class, as in `architectures` of a config.json.

    Raises:
        ValueError: none of `TASKS`; the message names them.
    """
    heads = {auto: cls.__name__ for auto, cls in architecture.model_classes.items()}
    for task in TASKS:
        if heads.get(task.auto_model) == model_class:
            return task
    known = ", ".join(f"{task.title} ({task.auto_model})" for task in TASKS)
    raise ValueError(f"a {model_class} does no task that ctxzoo can score and describe; it knows {known}")
