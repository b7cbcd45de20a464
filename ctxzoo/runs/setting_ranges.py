"""What the settings of recipes may hold, by name, so that a wrong value ends a run before anything is read."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from typing import Any

from ctxzoo.runs.score_option import SCORED


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`.

    Attributes:
        low, high: ends; infinity: none.
        low_is_in, high_is_in: whether an end belongs to it.
    """

    low: float
    high: float = math.inf
    low_is_in: bool = True
    high_is_in: bool = True

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.low_is_in else value > self.low
        return math.isfinite(value) and above and (value <= self.high if self.high_is_in else value < self.high)

    def __str__(self) -> str:
        if math.isinf(self.low):
            return "a finite number"
        low = f"{self.low:g} or more" if self.low_is_in else f"more than {self.low:g}"
        if math.isinf(self.high):
            return low
        return f"{low}, and {'at most' if self.high_is_in else 'less than'} {self.high:g}"


COUNT, SIZE = Range(0), Range(1)
POSITIVE = Range(0, low_is_in=False)
SHARE = Range(0, 1, high_is_in=False)
SEED = Range(0, 2**32 - 1)

RANGES = {
    **dict.fromkeys(
        (
            *("at_least", "batch_size", "epochs", "eval_context_samples", "heads", "max_length", "min_count"),
            *(
                "min_word_count",
                "negative_samples",
                "ngram_order",
                "num_nodes",
                "pool_batches",
                "projection_size",
                "rank",
            ),
            *("recurrent_size", "restarts", "steps", "table", "test_words", "top", "window", "word2vec_epochs"),
            *("word_dim", "char_ngrams", "keep_words"),
        ),
        SIZE,
    ),
    **dict.fromkeys(
        (
            *("char_ngram_buckets", "classifier_size", "halve_after", "logit_rank", "ngram_buckets", "num_workers"),
            *("patience", "position_dim", "processes", "warmup_steps"),
            *("gradient_clip", "logit_learning_rate", "naive_bayes", "subsampling", "vectors_std", "weight_decay"),
        ),
        COUNT,
    ),
    **dict.fromkeys(("learning_rate", "embedding_bound"), POSITIVE),
    **dict.fromkeys(
        (
            *("classifier_dropout", "dropout", "embedding_dropout", "hidden_dropout", "pooled_dropout"),
            *("word_dropout", "dev_share", "ema_decay", "label_smoothing", "momentum"),
        ),
        SHARE,
    ),
    **dict.fromkeys(("seeds", "evaluation_seed"), SEED),
    "folds": Range(2),
    "logit_scale": Range(-math.inf),
}
# The number of threads; 0 stands for all of them where that is the default.
THREADS = "threads"
NAMES = {"score": SCORED}


def check_settings(settings: Any) -> None:
    """Check every number of a dataclass of settings, those in lists too, and every name that is one of a few.

    Raises:
        ValueError: a number is out of its range, or not finite, or a name is unknown; the message names the setting and
            what was expected.
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in NAMES and value not in NAMES[field.name]:
            raise ValueError(f"{field.name}={value!r}: expected one of {', '.join(NAMES[field.name])}")
        allowed = range_of(field)
        for number in value if isinstance(value, list) else [value]:
            if allowed is not None and is_number(number) and number not in allowed:
                raise ValueError(f"{field.name}={number}: expected {allowed}")


def range_of(field: Field[Any]) -> Range | None:
    """Of a setting; None of those that nobody has bounded."""
    if field.name == THREADS:
        return COUNT if field.default == 0 else SIZE
    return RANGES.get(field.name)


def is_number(value: Any) -> bool:
    """Whether it is an int or a float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
