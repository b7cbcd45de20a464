"""Which reader of the BiDAF family a training makes: the requested one, or that of the checkpoint it goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxzoo.tasks.question_answering.bidaf_checkpoint import BidafCheckpoint, bidaf_checkpoint

VARIANT = "learned_char7"
QUERY_TO_CONTEXT = "coattention"


@dataclass(frozen=True)
class BidafChoice:
    """A reader by name.

    Attributes:
        variant: one of `BidafConfig.variants`.
        levers: names of options in `LEVERS`, sorted.
        query_to_context: as in `BidafConfig`.
        start: the checkpoint that the training goes on from.
    """

    variant: str
    levers: tuple[str, ...]
    query_to_context: str
    start: BidafCheckpoint | None


def choose_bidaf(
    variant: str | None,
    levers: Sequence[str],
    query_to_context: str | None,
    *,
    init_from: str | None,
    word_vectors: str | None,
) -> BidafChoice:
    """Return the reader that the settings request; what they leave open is the default, or as the checkpoint is.

    Args:
        variant, levers, query_to_context: as requested; None, or no levers: left open.
        init_from: checkpoint folder or Hub id that the training goes on from, which is read once.
        word_vectors: file of word vectors.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: what is requested contradicts the checkpoint; see also `bidaf_checkpoint`.
    """
    if init_from is None:
        return BidafChoice(variant or VARIANT, tuple(sorted(levers)), query_to_context or QUERY_TO_CONTEXT, None)
    if word_vectors is not None:
        raise ValueError(
            f"word_vectors={word_vectors!r} beside init_from={init_from!r}: the checkpoint has its own vectors; leave "
            "one of the two out"
        )
    start = bidaf_checkpoint(init_from)
    requested = {"variant": variant, "levers": sorted(levers), "query_to_context": query_to_context}
    found = {"variant": start.variant, "levers": list(start.levers), "query_to_context": start.query_to_context}
    for name, value in requested.items():
        if value and value != found[name]:
            raise ValueError(
                f"{name}={value!r} beside init_from={init_from!r}: that checkpoint has {found[name]!r}; leave "
                "one of the two out"
            )
    return BidafChoice(start.variant, start.levers, start.query_to_context, start)
