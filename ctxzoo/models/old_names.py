"""Names of earlier versions, and what they are called now: architectures, variants, fields of configurations, settings.

One table for all that was written with them: config.json files, results files and commands. Nothing of it travels with
a checkpoint.
"""

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any

logger = logging.getLogger(__name__)
_logged_types: set[str] = set()  # current model types that a warning has named
LAST = "in the version of 28 November 2026 (commit 5eb680cf)"  # in which the names below were last those of today

ENCODER = "context_encoder"  # one architecture, which is four now
KERNEL, LINEAR, HIGHER, TIME = "kernel_encoder", "linear_encoder", "higher_order_encoder", "time_encoder"

# Variant of the context encoder -> architecture and variant.
ENCODER_VARIANTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **{name: (KERNEL, name) for name in ("dot", "rbf", "ika", "ikan", "ikan_direct", "mikan")},
        "esa": (LINEAR, "favor"),
        **{name: (LINEAR, name) for name in ("favor", "learned", "elu", "hyperbolic", "relu", "trig")},
        "hsa": (HIGHER, "contextual"),
        "hsa-factorised": (HIGHER, "factorised"),
        **{name: (HIGHER, name) for name in ("contextual", "factorised", "trilinear", "volume")},
        **{name: (TIME, name) for name in ("none", "positional", "bochner", "bochner_untied", "bochner_sampled")},
        **{name: (TIME, name) for name in ("mercer", "time2vec", "lste", "lste_behaviour")},
    }
)
TIMES = ("lste", "bochner", "bochner_sampled", "mercer", "time2vec")  # values of `position` that read timestamps
CLASSES = {KERNEL: "KernelEncoder", LINEAR: "LinearEncoder", HIGHER: "HigherOrderEncoder", TIME: "TimeEncoder"}

# Fields of the context encoder that each of the four still has, under their own names.
_OF_ALL = frozenset(
    (
        *("vocab_size", "word_dim", "hidden_size", "num_layers", "num_heads", "inner_size", "position", "causal"),
        *("dropout", "hidden_dropout", "pad_token_id"),
    )
)
_OF_WORDS = _OF_ALL | {"input_size"}
KEPT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        KERNEL: _OF_WORDS
        | frozenset(
            (
                *("attention", "kernel", "p_norm", "num_features", "kernel_gate", "kl_lambda", "attention_dropout"),
                *("memory_length", "feature_names", "target_name", "num_context_rows"),
            )
        ),
        LINEAR: _OF_WORDS | frozenset(["feature_map", "p_norm", "num_features", "qk_norm"]),
        HIGHER: _OF_WORDS
        | frozenset(
            (
                *("order_type", "num_higher_heads", "max_exact_length", "pair_window", "distinct", "qk_norm"),
                *("attention_dropout", "memory_length"),
            )
        ),
        TIME: _OF_ALL
        | frozenset(
            (
                *("attention_dropout", "time_combine", "time_unit", "time_span", "time_reference", "time_transform"),
                *("time_size", "num_harmonics", "num_components", "num_frequencies", "behaviour_conditioned"),
                *("event_names", "max_history"),
            )
        ),
    }
)
# Fields that are gone, and that decided what a model computes -> the only values that there are now. Where a field
# decided nothing, any value is read.
ONLY: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        KERNEL: {
            "stationary": (False,),
            "magnitude_scale": ("derivation",),
            "magnitude_dropout": (0,),
            "prior_scale": (0.1,),
            "num_eval_samples": (1,),
        },
        LINEAR: {
            "importance": ("auto",),
            "orthogonal": (True,),
            "redraw_interval": (0,),
            "feature_eps": (1e-6,),
            "key_feature_eps": (0,),
            "attention_mode": ("linear",),
        },
        HIGHER: {},
        TIME: {"attention": ("dot",), "row_time_unit": (False,)},
    }
)
ONLY_IN_ALL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "position_dim": (0,),
        "freeze_embeddings": (False,),
        "embedding_bound": (0.1,),
        "wide_buckets": (0,),
        "num_targets": (1,),
        "noise_seed": (0,),
    }
)
# Of an architecture what decided something where another field had this value: field -> (architecture, other field, its
# value, the only value now).
ONLY_WHERE: Mapping[str, tuple[str, str, Any, Any]] = MappingProxyType(
    {
        "copula": (KERNEL, "attention", "mikan", "gaussian"),
        "factorised_features": (HIGHER, "order_type", "factorised", "elu"),
        "context": (HIGHER, "order_type", "contextual", "attention"),
        "value_order": (HIGHER, "order_type", "contextual", 1),
    }
)
# Values that are gone, by architecture and field.
NO_LONGER: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        KERNEL: {"attention": ("linear", "expsin"), "position": ("learned",)},
        LINEAR: {"position": ("learned",)},
        HIGHER: {"order_type": ("area", "context_aware"), "position": ("learned",)},
        TIME: {},
    }
)
DEFAULTS = {"attention": "dot", "order_type": "contextual"}
ORDERS = {"factorised": "factorised_order", "anova": "anova_order"}  # by order_type: one field `order` now
# All other fields that the context encoder had.
_FURTHER = frozenset(
    (
        *("embedding_seed", "wide_char_buckets", "wide_dropout", "deep_scale", "max_length"),
        *("magnitude_dropout_form", "copula_lambda", "kernel_period", "kernel_length", "chunk_size"),
        *("factorised_order", "anova_order", "context_width", "area_size", "tied_frequencies", "feature_offsets"),
        *("feature_scales", "target_offset", "target_scale"),
    )
)
ENCODER_FIELDS = frozenset().union(
    *KEPT.values(), *(set(only) for only in ONLY.values()), ONLY_IN_ALL, ONLY_WHERE, _FURTHER
)
# Settings of results files, options of commands, and arguments of LightningModules and DataModules.
SETTINGS: Mapping[str, str] = MappingProxyType(
    {"optimiser": "optimizer", "levers": "extensions", "cutter": "pre_tokenizer"}
)
# Parts of the setting `pipeline` of results files of linear baselines, the text of a scikit-learn object.
PIPELINE_PARTS: Mapping[str, str] = MappingProxyType(
    {"WordCutter(": "WordPreTokenizer(", "cutter='": "pre_tokenizer='"}
)
# Settings of results files that are constants now, with the value that they have in all of them.
CONSTANT_SETTINGS: Mapping[str, Any] = MappingProxyType({"freeze_embeddings": False, "embedding_bound": 0.1})


def convert_config_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a config.json with current names in place of those of earlier versions.

    A warning names each replaced model type, once in a process.

    Args:
        content: Content of a config.json file, with its `model_type`.

    Raises:
        ValueError: a field has a value that is no longer there; the message names both.
    """
    if content.get("model_type") == "ctxzoo_lama" and "word_projection" in content:
        kept = {name: value for name, value in content.items() if name != "word_projection"}
        return kept if content["word_projection"] else {**kept, "projection_size": 0}
    if content.get("model_type") != f"ctxzoo_{ENCODER}":
        return dict(content)
    converted = convert_encoder_fields(content)
    if converted["model_type"] not in _logged_types:
        _logged_types.add(converted["model_type"])
        logger.warning("a config of ctxzoo_%s, an older name, is read as one of %s", ENCODER, converted["model_type"])
    return converted


def convert_encoder_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return config fields of the former "context encoder" as those of the architecture that replaced it.

    There are four such architectures; the fields returned contain the `model_type`.

    Raises:
        ValueError: see `convert_config_fields`.
    """
    architecture = choose_encoder(content)
    for name, value in content.items():
        if name in ENCODER_FIELDS:
            _check_removed_value(architecture, name, value, content)
    other_fields = {name: value for name, value in content.items() if name not in ENCODER_FIELDS and name != "auto_map"}
    encoder_fields = {name: value for name, value in content.items() if name in KEPT[architecture]}
    if architecture == HIGHER:
        order = content.get(ORDERS.get(content.get("order_type", DEFAULTS["order_type"]), ""))
        encoder_fields |= {} if order is None else {"order": order}
    if architecture == TIME and content.get("position") == "bochner" and content.get("tied_frequencies") is False:
        encoder_fields["position"] = "bochner_untied"
    if architecture == TIME:
        encoder_fields = {"causal": False, **encoder_fields}
    if architecture == LINEAR:
        encoder_fields = {"feature_map": "favor", "num_features": None, **encoder_fields}
    if architecture == KERNEL:
        encoder_fields |= _convert_row_scaling(content)
    heads = content.get("architectures")
    if isinstance(heads, list):
        other_fields["architectures"] = [str(head).replace("ContextEncoder", CLASSES[architecture]) for head in heads]
    return {**other_fields, **encoder_fields, "model_type": f"ctxzoo_{architecture}"}


def choose_encoder(content: Mapping[str, Any]) -> str:
    """Return which of four architectures replaced the former "context encoder" for the fields of a configuration."""
    by_attention = {"esa": LINEAR, "hsa": HIGHER}
    if content.get("attention") in by_attention:
        return by_attention[content["attention"]]
    is_of_events = content.get("event_names") or "ContextEncoderForNextEvent" in (content.get("architectures") or ())
    return TIME if is_of_events or content.get("position") in TIMES else KERNEL


def _check_removed_value(architecture: str, name: str, value: Any, content: Mapping[str, Any]) -> None:
    """Raise ValueError if a field that no longer exists had a value that current models cannot reproduce."""
    expected = ONLY_IN_ALL.get(name) or ONLY[architecture].get(name)
    if name in ONLY_WHERE:
        owner, field, where, only = ONLY_WHERE[name]
        expected = (only,) if (architecture, content.get(field, DEFAULTS[field])) == (owner, where) else None
    is_removed = value in NO_LONGER[architecture].get(name, ())
    if is_removed or (expected is not None and value not in expected):
        what = "" if expected is None else f"; {expected[0]!r} is the only one now"
        raise ValueError(
            f"{name}={value!r} of a {ENCODER} was last there {LAST}{what}: load it with that version of ctxzoo"
        )


def _convert_row_scaling(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the offsets and scales of a regression as `RowScaling` takes them; nothing where there are none."""
    names = ("feature_offsets", "feature_scales", "target_offset", "target_scale")
    if all(content.get(name) in (None, default) for name, default in zip(names, (None, None, 0, 1), strict=True)):
        return {}
    size = content.get("input_size", 1)
    offsets = content.get("feature_offsets") or [0.0] * size
    scales = content.get("feature_scales") or [1.0] * size
    pair = [[*offsets, content.get("target_offset", 0.0)], [*scales, content.get("target_scale", 1.0)]]
    return {"row_scaling": pair}


def convert_architecture_name(
    name: str, variant: str | None, is_known: Callable[[str], bool]
) -> tuple[str, str | None]:
    """Return the current names of an architecture and of its variant.

    Args:
        name: Name of an architecture, of the present or an earlier version.
        variant: Name of the architecture's variant; None: none was named.
        is_known: Function from the name of an architecture to whether it may be chosen.
    """
    if name != ENCODER:
        return name, variant
    if variant is None:
        return next((new_name for new_name in CLASSES if is_known(new_name)), name), None
    return ENCODER_VARIANTS.get(variant, (name, variant))


def convert_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with current names in place of those of earlier versions."""
    return {SETTINGS.get(name, name): value for name, value in settings.items()}


def with_old_arguments(class_: type[Any]) -> type[Any]:
    """Let a class be called with arguments by their names of earlier versions too, those of `SETTINGS`."""
    init = class_.__init__

    @wraps(init)
    def init_with_old_arguments(self: Any, *args: Any, **kwargs: Any) -> None:
        """Call the original `__init__` with former names of arguments replaced by current ones."""
        init(self, *args, **convert_settings(kwargs))

    class_.__init__ = init_with_old_arguments
    return class_


def convert_result(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a results file with current names in place of those of earlier versions."""
    settings = convert_settings(content.get("settings") or {})
    if isinstance(settings.get("pipeline"), str):
        for old, new in PIPELINE_PARTS.items():
            settings["pipeline"] = settings["pipeline"].replace(old, new)
    if content.get("recipe") == "default_text_classifier":
        settings = {**_infer_text_settings(content), **settings}
    if content.get("architecture") != ENCODER:
        return {**content, "settings": settings}
    architecture = ENCODER_VARIANTS.get(str(content.get("variant")), (choose_encoder(settings),))[0]
    removed_names = {name for name, value in CONSTANT_SETTINGS.items() if settings.get(name, value) == value}
    removed_names |= {LINEAR: {"attention", "attention_dropout"}, HIGHER: {"attention"}}.get(architecture, set())
    return {
        **content,
        "architecture": architecture,
        "settings": {name: value for name, value in settings.items() if name not in removed_names},
    }


def _infer_text_settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that older results of text classification lack, inferred from variant and dataset."""
    row_settings = {"zeroed": ["classifier.weight", "classifier.bias"], "deep_scale": 0.25}
    data_settings = {"text_column": "title"} if str(content.get("dataset")).endswith("news_aggregator") else {}
    return {**(row_settings if content.get("variant") == "wide" else {}), **data_settings}
