"""Tags of spans, such as B-PER and O: their scheme, spans, and what follows what; sums and maxima over sequences."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch

from .ops_execution import disable_autocast, is_exporting

Scheme = Literal["IOB1", "IOB2", "BIOES", "BILOU"]
OUTSIDE = "O"
BIO = "BIO"  # IOB1 or IOB2, which the names of tags alone do not tell apart
# L(ast) and U(nit) of BILOU are E(nd) and S(ingle) of BIOES.
POSITIONS = {"O": 0, "B": 1, "I": 2, "E": 3, "L": 3, "S": 4, "U": 4}
_O, _B, _I, _E, _S = range(5)
_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)


def split_tag(tag: str) -> tuple[str, str]:
    """Return the position of a tag in its span, a key of `POSITIONS`, and the label of the span; "O" has none.

    Raises:
        ValueError: no tag of spans.
    """
    found = _TAG.fullmatch(tag)
    if tag != OUTSIDE and found is None:
        raise ValueError(f"{tag!r} is no tag of spans; expected O, or B-, I-, E-, S-, L- or U- before a label")
    return (OUTSIDE, "") if found is None else (found[1], found[2])


def recognise_scheme(tags: Iterable[str]) -> str | None:
    """Return the scheme that the names of tags have, "BIO", "BIOES" or "BILOU"; None: they are no tags of spans.

    Every tag but "O" must be a position and a label, as in B-PER. Without "O" both B- and I- must be there.
    """
    names = set(tags)
    if not all(tag == OUTSIDE or _TAG.fullmatch(tag) for tag in names):
        return None
    positions = {split_tag(tag)[0] for tag in names}
    if not positions & {"B", "I"} or not (OUTSIDE in positions or {"B", "I"} <= positions):
        return None
    schemes = {BIO: "OBI", "BIOES": "OBIES", "BILOU": "OBILU"}
    return next((name for name, letters in schemes.items() if positions <= set(letters)), None)


def choose_scheme(tags: Sequence[str], sentences: Iterable[Sequence[int]]) -> Scheme | None:
    """Return the scheme of tagged sentences; None: their tags are none of spans.

    BIO is IOB1, in which B- begins a span only behind another of its label, where more spans begin with I- than with
    B-, and else IOB2.

    Args:
        tags: Names of the tags.
        sentences: Tag numbers of the words of each sentence; negative ones stand for words without a tag.
    """
    scheme = recognise_scheme(tags)
    if scheme != BIO:
        return scheme  # type: ignore[return-value]
    parts = [split_tag(tag) for tag in tags]
    begins = {"B": 0, "I": 0}
    for sentence in sentences:
        before = ""
        for number in sentence:
            position, label = parts[number] if number >= 0 else (OUTSIDE, "")
            if position != OUTSIDE and (position == "B" or label != before):
                begins[position] += 1
            before = label
    return "IOB1" if begins["I"] > begins["B"] else "IOB2"


def find_spans(positions: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where spans begin and end, by the rules of CoNLL's evaluation, which read every sequence of tags.

    A span ends before B, S, O, another label and the end of the sentence, and behind E and S; what follows begins one.

    Args:
        positions: (B, n) `POSITIONS` of tags, 0 at padding.
        labels: (B, n) numbers of the labels of spans, any where the position is 0.

    Returns:
        (B, n) booleans, True at the first word of a span; (B, n) number of the last word of the span, where one begins.
    """
    outside = torch.nn.functional.pad
    before, following = outside(positions, (1, 0))[:, :-1], outside(positions, (0, 1))[:, 1:]
    inside = positions != _O
    same = labels[:, 1:] == labels[:, :-1]
    differs_before, differs_after = outside(~same, (1, 0)), outside(~same, (0, 1))
    is_whole = (before == _O) | (before == _E) | (before == _S)  # nothing is open when this word comes
    begins = inside & ((positions == _B) | (positions == _S) | is_whole | differs_before)
    closes = (following == _O) | (following == _B) | (following == _S)
    ends = inside & ((positions == _E) | (positions == _S) | closes | differs_after)
    places = torch.arange(positions.size(1), device=positions.device).expand_as(positions)
    last = torch.where(ends, places, positions.size(1)).flip(1).cummin(dim=1).values.flip(1)
    return begins, last


def find_forbidden_transitions(tags: Sequence[str], scheme: Scheme) -> tuple[list[list[bool]], list[bool], list[bool]]:
    """Return what a scheme forbids: tag j behind tag i, at [i][j]; each tag at the beginning; each tag at the end.

    Raises:
        ValueError: a tag that the scheme does not have.
    """
    parts = [split_tag(tag) for tag in tags]
    letters = {"IOB1": "OBI", "IOB2": "OBI", "BIOES": "OBIES", "BILOU": "OBILU"}[scheme]
    odd = [tag for tag, (letter, _) in zip(tags, parts, strict=True) if letter not in letters]
    if odd:
        raise ValueError(f"{scheme} has no tag {odd[0]!r}; expected O or {', '.join(letters[1:])} before a label")
    known = [(POSITIONS[letter], label) for letter, label in parts]
    edge = (_O, "")
    between = [[_is_forbidden(one, other, scheme) for other in known] for one in known]
    return (
        between,
        [_is_forbidden(edge, one, scheme) for one in known],
        [_is_forbidden(one, edge, scheme) for one in known],
    )


def _is_forbidden(before: tuple[int, str], tag: tuple[int, str], scheme: Scheme) -> bool:
    """Return whether a scheme forbids a tag behind another; each is a position and a label."""
    is_same = before[1] == tag[1]
    if scheme == "IOB1":
        return tag[0] == _B and not (before[0] != _O and is_same)
    if scheme == "IOB2":
        return tag[0] == _I and not (before[0] != _O and is_same)
    is_open = before[0] in (_B, _I)
    continues = tag[0] in (_I, _E)
    return is_open != continues or (is_open and not is_same)


def compute_log_partition(
    scores: torch.Tensor, mask: torch.Tensor, between: torch.Tensor, begin: torch.Tensor, end: torch.Tensor
) -> torch.Tensor:
    """Return the logarithm of the sum of exp(score) over all sequences of tags of each sentence.

    Args:
        scores: (B, n, L) scores of the tags of each word.
        mask: Boolean (B, n), True at words, which come first.
        between, begin, end: Scores (L, L) of tag j behind tag i, at [i, j], (L,) of each tag at the beginning and (L,)
            at the end.

    Returns:
        (B,), 0 for a sentence without words.
    """
    wide_type = torch.promote_types(scores.dtype, torch.float32)
    scores, between, begin, end = (one.to(wide_type) for one in (scores, between, begin, end))
    state = begin + scores[:, 0]  # (B, L)
    highest = between.amax()
    # Exponentials of states alone, and a product: those of all pairs of tags would take L times as long.
    factors = (between - highest).exp()
    least = torch.finfo(wide_type).tiny
    for step in range(1, scores.size(1)):
        top = state.amax(dim=1, keepdim=True)
        with disable_autocast(scores.device):
            sums = (state - top).exp() @ factors
        following = sums.clamp(min=least).log() + (top + highest) + scores[:, step]
        state = torch.where(mask[:, step, None], following, state)
    return torch.logsumexp(state + end, dim=1) * mask[:, 0]


def compute_max_marginals(
    scores: torch.Tensor, mask: torch.Tensor, between: torch.Tensor, begin: torch.Tensor, end: torch.Tensor
) -> torch.Tensor:
    """Return the highest score of a sequence of tags that has tag t at word i; arguments as above.

    Returns:
        (B, n, L), `scores` at padding.
    """

    def step_forward(
        before: torch.Tensor, word: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the best score of what comes before a word, with the step to its tag, to that of the next."""
        return ((before + word[0]).unsqueeze(2) + between).amax(dim=1), before.clone()

    def step_backward(
        behind: torch.Tensor, word: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the best score of what follows a word to that of the word before; behind the last stands the end."""
        following = ((behind + word[0]).unsqueeze(1) + between).amax(dim=2)
        return torch.where(word[1].unsqueeze(1), following, end), behind.clone()

    steps, words = scores.transpose(0, 1), mask.transpose(0, 1)  # (n, B, L), (n, B)
    batch = scores.size(0), scores.size(2)
    before = _scan(step_forward, begin.expand(batch).clone(), steps, words)
    behind = _scan(step_backward, end.expand(batch).clone(), steps.flip(0), words.flip(0)).flip(0)
    return torch.where(mask.unsqueeze(-1), (before + steps + behind).transpose(0, 1), scores)


def _scan(function: Any, state: torch.Tensor, steps: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return what a function collects, (n, B, L), while it takes a state (B, L) through steps."""
    if is_exporting():  # a loop would fix the number of steps
        from torch._higher_order_ops.scan import scan

        collected: torch.Tensor = scan(function, state, (steps, words))[1]
        return collected
    rows = []
    for step, word in zip(steps, words, strict=True):
        state, row = function(state, (step, word))
        rows.append(row)
    return torch.stack(rows) if rows else torch.zeros_like(steps)
