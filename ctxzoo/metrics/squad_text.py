"""How SQuAD compares an answer with the annotated ones: normalisation, exact match and token F1 (pure functions).

Rules: Rajpurkar et al. 2016 (arXiv:1606.05250, section 6.1) and 2018 (arXiv:1806.03822), as in the evaluation script
of SQuAD 2.0.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

# Only ASCII punctuation goes; dashes and quotation marks outside ASCII stay and still bound an article.
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@lru_cache(maxsize=1 << 16)
def normalise_answer(text: str) -> str:
    """Return ``text`` in lower case, without ASCII punctuation and English articles, words joined by single spaces.

    Punctuation goes before the articles do, so ``"a-b"`` becomes ``"ab"`` and keeps its letter ``a``.
    """
    without_punctuation = text.lower().translate(_DELETE_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", without_punctuation).split())


def exact_match(prediction: str, gold: str) -> float:
    """Return 1.0 if both texts are equal after normalisation, else 0.0."""
    return float(normalise_answer(prediction) == normalise_answer(gold))


def token_f1(prediction: str, gold: str) -> float:
    """Return the F1 score, 0 to 1, of the words that a prediction and a gold answer share after normalisation.

    Where one of the two has no words left, the score is 1.0 if the other has none either, else 0.0.
    """
    prediction_words = normalise_answer(prediction).split()
    gold_words = normalise_answer(gold).split()
    if not prediction_words or not gold_words:
        return float(prediction_words == gold_words)
    shared = (Counter(prediction_words) & Counter(gold_words)).total()
    if shared == 0:
        return 0.0
    precision = shared / len(prediction_words)
    recall = shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def compute_exact_match_and_f1(prediction: str, golds: Sequence[str]) -> tuple[float, float]:
    """Return the best exact match and the best F1 (each 0 to 1) of ``prediction`` over the annotated answers.

    Answers that normalise to nothing do not count; where none is left (an unanswerable question), the one right answer
    is the empty string. The two maxima may come from different annotators.
    """
    if isinstance(golds, str):
        raise TypeError(f"golds must be a sequence of answer texts, got the single text {golds!r}: pass [{golds!r}]")
    kept = [gold for gold in golds if normalise_answer(gold)] or [""]
    return max(exact_match(prediction, gold) for gold in kept), max(token_f1(prediction, gold) for gold in kept)
