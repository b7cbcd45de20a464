"""The card of a model that `push_to_hub` uploads: what the model is and how it is loaded, with what the Hub reads."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template
from typing import Any

import transformers
from huggingface_hub import ModelCard, ModelCardData
from huggingface_hub.errors import EntryNotFoundError

HUB_TASKS = ("question-answering", "text-classification", "token-classification", "fill-mask")  # as the Hub calls them
STUB = "This model card has been automatically generated"  # in the card that transformers writes for any model
_TEXT = Template(
    """# $title

A `$class_name` of ctxzoo, architecture `$architecture`, which does $problem.
It has $trained trained parameters, $total in all.

## Use it

```python
$program
```

## Training, scores and limits

Not written yet. Say here what it was trained on, how it scores on which split, what it is not meant for, and
under which licence the weights are.
"""
)


def build_hub_card(model: Any, repo_id: str, *, tags: Sequence[str] = (), token: bool | str | None = None) -> Any:
    """Return the `ModelCard` for a model and its repository.

    A card that the repository has keeps its text and metadata, which ours fill up. That of transformers, which says
    nothing of the model, and one without text are replaced; a licence that they name stays.

    Args:
        model: Model of the zoo.
        repo_id: Name of the repository, `user/name`.
        tags: Tags beside those of the architecture.
        token: Token for the Hub; default: the one that is logged in.
    """
    try:
        card: Any = ModelCard.load(
            repo_id, token=token if isinstance(token, str) else None, ignore_metadata_errors=True
        )
    except EntryNotFoundError:
        card = ModelCard("---\n{}\n---\n")
    architecture = model.config.model_type.removeprefix("ctxzoo_")
    if STUB in card.text or not card.text.strip():
        data = ModelCardData(license=card.data.license)
        card = ModelCard(f"---\n{data.to_yaml()}\n---\n\n{_describe_model(model, architecture, repo_id)}")
    card.data.library_name = card.data.library_name or "transformers"
    card.data.pipeline_tag = card.data.pipeline_tag or (model.zoo_task if model.zoo_task in HUB_TASKS else None)
    known = (*(card.data.tags or ()), "ctxzoo", architecture, *(model.model_tags or ()), *tags)
    card.data.tags = list(dict.fromkeys(known))
    return card


def _describe_model(model: Any, architecture: str, repo_id: str) -> str:
    """Return the text of a new card."""
    class_name = type(model).__name__
    auto_name = next((auto for auto, cls in model.zoo_auto_map.items() if cls.endswith(f".{class_name}")), None)
    if auto_name is None:
        program = f'model = {class_name}.from_pretrained("{repo_id}")  # a class derived from one of ctxzoo: import it'
    else:
        name = auto_name if hasattr(transformers, auto_name) else class_name
        where = "transformers" if name == auto_name != class_name else "ctxzoo.models"
        program = f'import ctxzoo\nfrom {where} import {name}\n\nmodel = {name}.from_pretrained("{repo_id}")'
        if model.zoo_task is not None:
            program += f'\npipeline = ctxzoo.pipeline("{repo_id}")  # with its tokenizer, if it has one'
    return _TEXT.substitute(
        title=repo_id.rpartition("/")[2],
        class_name=class_name,
        architecture=architecture,
        problem=model.zoo_task or "nothing as yet, without a head",
        trained=f"{sum(x.numel() for x in model.parameters() if x.requires_grad):,}",
        total=f"{sum(x.numel() for x in model.parameters()):,}",
        program=program,
    )
