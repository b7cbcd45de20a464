"""Training a model and opening any checkpoint of the zoo, whichever problem it solves.

No code of a checkpoint is run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.hub.saved_model import SavedModel, read_saved_model
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.tasks import PROBLEMS, get_card, get_card_of_head, get_problem, get_train_names

if TYPE_CHECKING:
    from ctxzoo.runs.own_data import Trained

# What `transformers.pipeline` is told, and a checkpoint of the zoo says by itself.
_SAID_BY_THE_CHECKPOINT = ("task", "model", "tokenizer")


def train(problem: str, data: str | Path, **options: Any) -> Trained:
    """Train a model on data of your own, as `ctxzoo train PROBLEM --data DATA` does, and print what is done and found.

    Args:
        problem: Name of the problem, as `ctxzoo train` spells it, such as "text-classification".
        data: Training data: a file, a folder or a Hub id.
        options: Options of the command by their names, such as epochs, architecture, text_column and output_dir;
            `ctxzoo train PROBLEM --help all` lists them.

    Returns:
        The folder of the checkpoint, which `pipeline` opens, as `checkpoint`, and the scores by split/name as
        `metrics`.

    Raises:
        OSError, ValueError: there is no such problem, data, option or value; the data is not as it should be.
        TrainingInterrupted: Ctrl-C; the same call with resume=True goes on.
    """
    from ctxzoo.runs.own_data import parse_train_command, train_on_user_data

    names = get_train_names()
    if problem not in names:
        raise ValueError(f"unknown problem {problem!r}; ctxzoo trains {', '.join(names)}")
    if not isinstance(data, (str, Path)):
        raise TypeError(f"data is a {type(data).__name__}; expected a file, a folder or a Hub id: write it into a file")
    chosen = get_problem(names[problem])
    words = [f"--{name}={_format_option_value(value)}" for name, value in {"data": data, **options}.items()]
    return train_on_user_data(chosen, parse_train_command(chosen, words))


def _format_option_value(value: Any) -> str:
    """Return an option's value as it is typed on the command line."""
    return str(value) if isinstance(value, (str, Path)) else json.dumps(value)


def pipeline(checkpoint: str | Path, **options: Any) -> Any:
    """Open a checkpoint of the zoo as the pipeline of its problem.

    The head says the problem. Text-classification, token-classification and fill-mask are pipelines of transformers,
    question-answering is the zoo's own; the other six are a `RowPipeline`, which answers inputs as `ctxzoo predict`
    does rows of a file: rows of numbers, sessions, histories of events, bills, pieces of music, beginnings of lines.
    Model, tokenizer and pipeline are classes of the installed package, so no `trust_remote_code` is needed: Python
    files beside the weights are not read.

    Args:
        checkpoint: Folder or Hub id with model and tokenizer.
        options: Options of the pipeline, such as device, batch_size and top_k.

    Returns:
        A pipeline; call it with an input, or with a list of inputs (of readers question=..., context=...).

    Raises:
        TypeError: a checkpoint that is no name; an option that the checkpoint itself says, or `trust_remote_code`.
        OSError: there is no such folder; the Hub does not have it or cannot be reached.
        ValueError: not a checkpoint of the zoo, or a damaged one (`CheckpointFolderError`); a base model, without a
            head; a problem of your own without a pipeline.
    """
    name = _get_checkpoint_name(checkpoint)
    for option in _SAID_BY_THE_CHECKPOINT:
        if option in options:
            raise TypeError(f"ctxzoo.pipeline takes no {option}: the checkpoint says it; leave it out")
    if "trust_remote_code" in options:
        raise TypeError("ctxzoo.pipeline takes no trust_remote_code: it never runs code of a checkpoint; leave it out")
    card, saved = open_checkpoint(name)
    return card.load_pipeline(saved, **options)


def build_app(checkpoint: str | Path, **options: Any) -> Any:
    """Build the page on which a checkpoint is tried in a browser, as `ctxzoo app` serves it.

    Args:
        checkpoint: Folder or Hub id with model and tokenizer.
        options: Options of the pipeline that answers, such as device.

    Returns:
        A `gradio.Blocks`, which `ctxzoo.app.server.serve_page` serves.

    Raises:
        ImportError: gradio is missing; the message says how to install it.
        OSError, ValueError: see `pipeline`; a problem without a page.
    """
    from ctxzoo.app.server import prepare_gradio
    from ctxzoo.hub.card import make_card_example

    prepare_gradio()
    name = _get_checkpoint_name(checkpoint)
    card, saved = open_checkpoint(name)
    problem = get_problem(card.name)
    opened = card.load_pipeline(saved, **options)
    dataset = saved.read_dataset_name()
    example = make_card_example(card, dataset, model=opened.model, tokenizer=opened.tokenizer, example=None)
    from ctxzoo.app.frame import build_blocks, get_title

    return build_blocks(get_title(name), card, opened, lambda: problem.build_page(opened, example))


def explain(
    checkpoint: str | Path | ZooPreTrainedModel, texts: str | Sequence[str], *, tokenizer: Any = None
) -> list[Any]:
    """Compute how much each word of texts adds to the score of each label of a classifier.

    Args:
        checkpoint: Folder or Hub id with model and tokenizer, or a model, in evaluation mode.
        texts: A text, or a list of texts.
        tokenizer: Tokenizer of a model; default: the one of the checkpoint.

    Returns:
        For each text an `Explanation` of `ctxzoo.tasks.text_classification`: the probability of every label, the words
        that were read, what each adds to each label's logit (`contributions`), and, apart from that, the `attention`
        of each head or step where the model has some. A notebook shows it as text in two colours.

    Raises:
        TypeError: a checkpoint that is neither a name nor a model of the zoo.
        OSError: there is no such folder; the Hub does not have it or cannot be reached.
        ValueError: not a checkpoint of the zoo, or one of a problem without explanations; a model that is in training
            mode, or comes without its tokenizer; a text of blanks.
    """
    model: Any = checkpoint
    if isinstance(checkpoint, ZooPreTrainedModel):
        if tokenizer is None:
            raise ValueError(f"a {type(checkpoint).__name__} was given without its tokenizer; give tokenizer=... too")
        card = _check_can_explain(get_card_of_head(type(checkpoint)), f"a {type(checkpoint).__name__}")
    else:
        name = _get_checkpoint_name(checkpoint)
        card, saved = open_checkpoint(name)
        card = _check_can_explain(card, repr(name))
        model, own_tokenizer = saved.load()
        tokenizer = own_tokenizer if tokenizer is None else tokenizer
    return card.explain(model, tokenizer, [texts] if isinstance(texts, str) else texts)


def open_checkpoint(checkpoint: str) -> tuple[TaskCard, SavedModel]:
    """Open a checkpoint folder or Hub id; return its problem's `TaskCard` and the saved model.

    The weights are checked, but not read.

    Raises:
        CheckpointFolderError, OSError: see `read_saved_model` and `SavedModel.folder`.
        ValueError: a base model, or a head of a problem that is not known here.
    """
    saved = read_saved_model(checkpoint)
    _ = saved.folder  # its files are checked now
    try:
        return get_card_of_head(saved.model_class), saved
    except ValueError as error:
        raise ValueError(f"{checkpoint!r}: {error}") from error


def _check_can_explain(card: TaskCard, checkpoint_name: str) -> TaskCard:
    """Return the card of a problem whose models tell which words decided.

    Raises:
        ValueError: they do not.
    """
    if not card.can_explain():
        able = ", ".join(problem for problem in PROBLEMS if get_card(problem).can_explain())
        raise ValueError(
            f"{checkpoint_name} does {card.name}, which is not explained by words; expected a model of {able}"
        )
    return card


def _get_checkpoint_name(checkpoint: object) -> str:
    """Return the folder or Hub id as text; raise TypeError for anything else."""
    if not isinstance(checkpoint, (str, Path)):
        raise TypeError(f"checkpoint is a {type(checkpoint).__name__}; expected a folder or a Hub id")
    return str(checkpoint)
