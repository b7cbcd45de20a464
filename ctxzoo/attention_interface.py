"""The attention of the ContextEncoder in stock models of transformers, such as BERT and GPT-2.

`use_attention(model, name)` gives every attention module of a model a mechanism of its own, as a submodule: its
parameters train, move and are saved with the model. `load_with_attention` loads such a checkpoint; the stock
`from_pretrained` alone gives a model that refuses to run, because the mechanism's parameters are not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import AttentionInterface, AutoConfig, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, bidirectional_mask_function, causal_mask_function

from ctxzoo.models.configuration_context_encoder import ContextEncoderConfig
from ctxzoo.models.layers_context_encoder_attention import Attention
from ctxzoo.models.layers_context_encoder_build import build_attention
from ctxzoo.models.layers_context_encoder_triples import HigherOrderAttention

# Name in transformers -> the fields of a `ContextEncoderConfig` that it stands for where nothing else is asked for, and
# the kinds of attention that it may be. Trained queries and keys are not normalised, which would change what they mean.
NAMES: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "ctxzoo_implicit_kernel": ({"attention": "ika"}, ("ika", "ikan", "mikan", "rbf", "linear", "expsin")),
    "ctxzoo_efficient": ({"attention": "esa", "qk_norm": False}, ("esa",)),
    "ctxzoo_contextual": ({"attention": "hsa", "qk_norm": False}, ("hsa",)),
}
RECORD = "ctxzoo_attention"  # of the config, which says what was put where, and of the modules that hold a mechanism

Model = TypeVar("Model", bound=PreTrainedModel)
_seen: list[tuple[nn.Module, int, int, bool]] | None = None  # attention modules that a trial pass meets


def use_attention(model: Model, name: str, **options: Any) -> Model:
    """Give the attention modules of a model another mechanism, in place.

    Modules are found by a pass over a few tokens. What the model does beside attention stays as it is, its weights too,
    and so do its rates of dropout. A module that is causal takes frequencies that are parameters where nothing else is
    asked for.

    Args:
        model: any that dispatches through transformers' `AttentionInterface`.
        name: one of `NAMES`.
        options: fields of `ContextEncoderConfig` that say what the mechanism is: `attention`, `kernel`, `p_norm`, …

    Returns:
        The model, in the mode it was in, with new parameters under `….ctxzoo_attention`; make optimisers after this.

    Raises:
        ValueError: another name; an `attention` that the name does not stand for; a model without attention modules
            that can be reached, or one that has such a mechanism already.
        StrictDataclassError: an option that cannot be.
        TypeError: an unknown option.
    """
    if name not in NAMES:
        raise ValueError(f"unknown attention {name!r}; known: {', '.join(NAMES)}")
    before = getattr(model.config, RECORD, None)
    if before is not None:
        raise ValueError(f"the model has {before['name']!r} already; load it anew to give it another attention")
    defaults, allowed = NAMES[name]
    options = {**defaults, **options}
    kind = options["attention"]
    if kind not in allowed:
        raise ValueError(f"{name} stands for {', '.join(allowed)}, got attention={kind!r}")
    if options.get("redraw_interval"):
        raise ValueError(
            f"redraw_interval={options['redraw_interval']}: a stock model does not count its passes; set 0"
        )
    names = {module: path for path, module in model.named_modules()}
    prefix = _base_prefix(model)
    modules = {}
    with _trial(model, name) as seen:
        model(**_few_tokens(model))
    for module, heads, head_size, causal in seen:
        fields = {**options, "num_heads": heads, "hidden_size": heads * head_size, "causal": causal}
        if causal and kind in ("ika", "ikan"):
            fields.setdefault("kernel", "direct")
        if kind == "hsa" and fields["hidden_size"] != model.config.hidden_size:
            raise ValueError(
                f"{heads} heads of {head_size} in a model of width {model.config.hidden_size}: {name} makes keys "
                "of what a layer reads, and needs heads that are together as wide"
            )
        modules[names[module].removeprefix(prefix)] = fields
    if not modules:
        raise ValueError(f"{type(model).__name__} has no attention that transformers' AttentionInterface reaches")
    record = {"name": name, "modules": modules}
    _install(model, record)
    model.set_attn_implementation(name)
    return model


def load_with_attention(model_class: type[Model], source: str, **options: Any) -> Model:
    """Return a model that `use_attention` changed, from its checkpoint folder or Hub id.

    Args:
        model_class: a class of transformers, such as `BertModel`; a head loads from a base model's checkpoint and the
            other way round, as in transformers.
        options: of `from_pretrained`.

    Raises:
        ValueError: the checkpoint was not made by `use_attention`, or lacks parameters of its mechanisms.
        OSError: see `from_pretrained`.
    """
    config = options.pop("config", None) or AutoConfig.from_pretrained(source)
    record = getattr(config, RECORD, None)
    if record is None:
        raise ValueError(f"{source!r} has no attention of ctxzoo; load it with {model_class.__name__}.from_pretrained")

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        model_class.__init__(self, *args, **kwargs)
        _install(self, record)

    # Parameters must be there before the loader asks for them.
    body = {"__init__": construct, "__module__": model_class.__module__}
    with_attention: Any = type(model_class.__name__, (model_class,), body)
    model, info = with_attention.from_pretrained(source, config=config, output_loading_info=True, **options)
    missing = sorted(key for key in info["missing_keys"] if f".{RECORD}." in key)
    if missing:
        raise ValueError(f"{source!r} lacks parameters of its attention: {', '.join(missing[:3])}…")
    model.__class__ = model_class
    model.set_attn_implementation(record["name"])
    loaded: Model = model
    return loaded


def attention_divergence(model: PreTrainedModel) -> torch.Tensor | None:
    """Return the divergence of drawn kernels from their priors in the last pass, in nats, the sum over modules.

    Returns:
        (B,), which a loss may add, weighed by a `kl_lambda` of the caller's; None where nothing is drawn.
    """
    terms = [module.divergence for module in model.modules() if isinstance(module, _Mechanism)]
    known = [term for term in terms if term is not None]
    return torch.stack(known).sum(dim=0) if known else None


class _Mechanism(nn.Module):
    """The mechanism of one attention module, and what its module read last.

    Args:
        attention: the mechanism.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        self.divergence: torch.Tensor | None = None
        self.hidden_states: torch.Tensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies take along: nothing of the last pass, whose tensors belong to a graph."""
        return {**self.__dict__, "divergence": None, "hidden_states": None}


def _attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend as a function of transformers' `AttentionInterface` does.

    Returns:
        (B, queries, h, dv), and the weights (B, h, queries, keys) where the mechanism has any.

    Raises:
        ValueError: a module without a mechanism; a mask that is no mask of keys, or a scale other than 1 / sqrt(d).
    """
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    heads, head_size = query.size(1), query.size(-1)
    if _seen is not None:
        _seen.append((module, heads, head_size, causal))
        return torch.zeros_like(query).transpose(1, 2), None
    mechanism = getattr(module, RECORD, None)
    if mechanism is None:
        raise ValueError(
            f"{type(module).__name__} has no attention of ctxzoo: its parameters are made by "
            "ctxzoo.use_attention(model, name), and loaded by ctxzoo.load_with_attention(model_class, folder)"
        )
    if scaling is not None and not math.isclose(scaling, head_size**-0.5, rel_tol=1e-6):
        raise ValueError(f"{type(module).__name__} scales scores by {scaling}; expected 1 / sqrt({head_size})")
    if attention_mask is not None and attention_mask.dim() != 2:
        raise ValueError(
            f"a mask of shape {tuple(attention_mask.shape)}: these mechanisms take masks of keys, (batch, keys)"
        )
    if key.size(1) != heads:  # groups of queries share a key
        key, value = (x.repeat_interleave(heads // x.size(1), dim=1) for x in (key, value))
    hidden_states = mechanism.hidden_states
    if isinstance(mechanism.attention, HigherOrderAttention) and hidden_states.size(1) != key.size(2):
        raise ValueError(
            f"{key.size(2)} keys, but {hidden_states.size(1)} steps to make second keys of: a cache of keys alone does "
            "not serve (use_cache=False)"
        )
    if hasattr(mechanism.attention, "dropout"):
        mechanism.attention.dropout = dropout
    output, aux = mechanism.attention(
        query,
        key,
        value,
        attention_mask,
        causal,
        hidden_states=hidden_states,
        output_attentions=bool(kwargs.get("output_attentions", False)),
    )
    mechanism.divergence, mechanism.hidden_states = aux.divergence, None
    return output.transpose(1, 2), aux.weights


def _key_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor | None:
    """Return the mask of keys, as a function of transformers' `AttentionMaskInterface` does.

    Returns:
        Boolean (B, keys), True where a key is real; None: all are.

    Raises:
        ValueError: a mask that depends on query and key in another way than causality, such as a window or packed
            texts, or a cache with room for keys to come.
    """
    causal = mask_function is causal_mask_function
    if not causal and mask_function is not bidirectional_mask_function:
        raise ValueError("these mechanisms see all keys, or all up to the query: no windows, no packed sequences")
    if kv_offset or (causal and int(q_offset) + q_length != kv_length):
        raise ValueError(
            f"{kv_length} keys from {kv_offset} on for {q_length} queries from {int(q_offset)} on: these mechanisms "
            "need a cache that grows with what was read"
        )
    return attention_mask


def _install(model: PreTrainedModel, record: Mapping[str, Any]) -> None:
    """Add mechanisms to the attention modules of a model, and the record to its config."""
    prefix = _base_prefix(model)
    ours = dict(model.named_modules())
    for index, (path, fields) in enumerate(record["modules"].items()):
        # A base model has the modules without the name that a head has for it.
        module = ours.get(prefix + path) or ours.get(path)
        if module is None:
            raise ValueError(f"{type(model).__name__} has no module {path!r}, in which the checkpoint has an attention")
        attention = build_attention(ContextEncoderConfig(position="none", **fields), index)
        weight = next((each for each in module.parameters() if each.is_floating_point()), None)
        mechanism = _Mechanism(attention)
        if weight is not None:
            mechanism.to(device=weight.device, dtype=weight.dtype)
        mechanism.train(module.training)
        module.add_module(RECORD, mechanism)
        module.register_forward_pre_hook(_keep_hidden_states, with_kwargs=True)
    setattr(model.config, RECORD, {"name": record["name"], "modules": dict(record["modules"])})
    model.config.attn_implementation = record["name"]  # so that a stock model of the checkpoint refuses to run


def _keep_hidden_states(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    hidden_states = args[0] if args else kwargs.get("hidden_states")
    module.get_submodule(RECORD).hidden_states = hidden_states


@contextmanager
def _trial(model: PreTrainedModel, name: str) -> Iterator[list[tuple[nn.Module, int, int, bool]]]:
    """Collect the attention modules of a pass, in evaluation, and leave the model as it was."""
    global _seen
    implementation, training = model.config._attn_implementation, model.training
    model.set_attn_implementation(name)
    model.eval()
    found: list[tuple[nn.Module, int, int, bool]] = []
    _seen = found
    try:
        with torch.no_grad():
            yield found
    finally:
        _seen = None
        model.train(training)
        model.set_attn_implementation(implementation)


def _few_tokens(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Return the inputs by which transformers tries models of texts, with ids that this one knows."""
    words = model.get_input_embeddings().num_embeddings
    inputs: dict[str, torch.Tensor] = model.dummy_inputs
    return {name: x.clamp(max=words - 1).to(model.device) for name, x in inputs.items()}


def _base_prefix(model: PreTrainedModel) -> str:
    """Return what stands before the names of the base model's modules in those of a head; nothing for a base model."""
    return f"{model.base_model_prefix}." if hasattr(model, model.base_model_prefix or " ") else ""


for _name in NAMES:
    AttentionInterface.register(_name, _attend)
    AttentionMaskInterface.register(_name, _key_mask)
