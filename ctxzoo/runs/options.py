"""Options of recipes: which decide a result, what each may hold, and how an error names them."""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import MISSING, Field, field, fields
from typing import Any

from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SEED, SIZE, Range

REPORTED = "reported"  # key of a field's metadata; `_Parser` of runs/recipe.py keeps it from argparse
_IF_CHANGED = "if changed"
SCORED = ("test", "validation")
_HELP = "split to score at the end; validation: to choose settings, test is then neither scored nor shown"
_ASIDE = re.compile(r" \(or set `(\w+)`([^)]*)\)")


def reported(default: Any, help: str | None = None, *, only_if_changed: bool = False) -> Any:
    """Return a field of a dataclass of settings that decides the result of a run.

    Results files report it, and `--resume` takes a finished run only with the value that is asked for.

    Args:
        default, help: of the option.
        only_if_changed: report it unless it has its default. For options that came later: results from before them
            are still those of the same settings.
    """
    texts = {} if help is None else {"help": help}
    return field(default=default, metadata={**texts, REPORTED: _IF_CHANGED if only_if_changed else True})


def reported_settings(settings: Any) -> dict[str, Any]:
    """Return name and value of each field that decides a result, as a results file reports them.

    Args:
        settings: a dataclass, some of whose fields are made by `reported`.
    """
    return {one.name: getattr(settings, one.name) for one in fields(settings) if _is_reported(one, settings)}


def _is_reported(one: Field[Any], settings: Any) -> bool:
    rule = one.metadata.get(REPORTED)
    if rule == _IF_CHANGED:
        assert one.default is not MISSING
        return bool(getattr(settings, one.name) != one.default)
    return rule is True


def score_option() -> str:
    """Return a field of a dataclass of settings; `check_settings` knows its values by its name, `score`."""
    value: str = field(default=SCORED[0], metadata={"help": _HELP})
    return value


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
                "rank",
                "samples",
            ),
            *("recurrent_size", "restarts", "steps", "table", "test_words", "top", "window", "word2vec_epochs"),
            *("word_dim", "char_ngrams", "keep_words", "hidden_size", "num_layers"),
            *("max_words", "lengths", "test_size", "width", "num_features", "num_heads", "inner_size"),
        ),
        SIZE,
    ),
    **dict.fromkeys(
        (
            *("char_ngram_buckets", "classifier_size", "halve_after", "logit_rank", "ngram_buckets", "num_workers"),
            *("patience", "position_dim", "processes", "warmup_steps"),
            *("gradient_clip", "logit_learning_rate", "naive_bayes", "subsampling", "vectors_std", "weight_decay"),
            *("deep_scale", "kl_lambda", "min_overlap", "questions"),
        ),
        COUNT,
    ),
    **dict.fromkeys(("learning_rate", "embedding_bound", "p_norm"), POSITIVE),
    **dict.fromkeys(
        (
            *("classifier_dropout", "dropout", "embedding_dropout", "hidden_dropout", "pooled_dropout"),
            *("word_dropout", "dev_share", "ema_decay", "label_smoothing", "momentum"),
            *("locked_dropout", "weight_dropout", "attention_dropout"),
        ),
        FRACTION,
    ),
    **dict.fromkeys(("seed", "seeds", "evaluation_seed"), SEED),
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
    for one in fields(settings):
        value = getattr(settings, one.name)
        if one.name in NAMES and value not in NAMES[one.name]:
            raise ValueError(f"{one.name}={value!r}: expected one of {', '.join(NAMES[one.name])}")
        allowed = range_of(one)
        for number in value if isinstance(value, list) else [value]:
            if allowed is not None and is_number(number) and number not in allowed:
                raise ValueError(f"{one.name}={number}: expected {allowed}")


def range_of(field: Field[Any]) -> Range | None:
    """Return the range of a setting, or None where it has no bounds."""
    if field.name == THREADS:
        return COUNT if field.default == 0 else SIZE
    return RANGES.get(field.name)


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def advice_for(message: str, options: Container[str]) -> str:
    """Return a message whose asides, "(or set `name` …)", name arguments, for a command that has these options.

    `name` becomes `--name`, or `--names` where the option takes several, and `to True` becomes `to yes`; where there is
    no such option the aside is left out.
    """

    def told(aside: re.Match[str]) -> str:
        option = next((name for name in (aside[1], f"{aside[1]}s") if name in options), None)
        rest = re.sub(r"`(\w+)`", r"--\1", aside[2]).replace(" to True", " to yes")
        return "" if option is None else f" (or set --{option}{rest})"

    return _ASIDE.sub(told, message)
