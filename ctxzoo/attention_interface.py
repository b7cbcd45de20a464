"""The attention of the encoders in stock models of transformers, such as BERT and GPT-2.

`use_attention(model, name)` gives every attention module of a model a mechanism of its own, as a submodule: its
parameters train, move and are saved with the model. `load_with_attention` loads such a checkpoint; the stock
`from_pretrained` alone gives a model that refuses to run, because the mechanism's parameters are not there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import nn
from transformers import AttentionInterface, AutoConfig, Cache, DynamicCache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin, DynamicLayer
from transformers.masking_utils import AttentionMaskInterface, bidirectional_mask_function, causal_mask_function

from ctxzoo.models.configuration_encoder import EncoderConfig
from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from ctxzoo.models.layers_encoder import Attention, DotAttention
from ctxzoo.models.layers_higher_order_encoder import HigherOrderAttention, build_higher_order_attention
from ctxzoo.models.layers_kernel_encoder import ImplicitKernelAttention, build_kernel_attention
from ctxzoo.models.layers_linear_encoder import EfficientAttention, build_linear_attention
from ctxzoo.models.old_names import convert_encoder_fields
from ctxzoo.models.ops_execution import refuse_jit_trace
from ctxzoo.models.ops_linear_encoder import LinearState


class _Kind(NamedTuple):
    """The parts of one attention mechanism that `use_attention` knows by name.

    Attributes:
        config_class: Configuration class of the encoder whose attention it is.
        build: Function from a configuration and the index of a layer to the attention module of that layer.
        defaults: Default values of fields of the encoder's configuration, by name.
        allowed: Values that the field `attention` may take; for kinds with a single one, its name in earlier versions.
    """

    config_class: type[EncoderConfig]
    build: Callable[[Any, int], Attention]
    defaults: Mapping[str, Any]
    allowed: tuple[str, ...]


# Features of linear attention, stored with a model; records without these fields are of models with DRAWN ones.
LEARNED = {"feature_map": "learned", "num_features": 0}
DRAWN = {"feature_map": "favor", "num_features": None}
# By name in transformers. Trained queries and keys are not normalised, which would change what they mean.
NAMES: Mapping[str, _Kind] = {
    "ctxzoo_implicit_kernel": _Kind(
        KernelEncoderConfig, build_kernel_attention, {"attention": "ika"}, ("ika", "ikan", "mikan", "rbf")
    ),
    "ctxzoo_efficient": _Kind(LinearEncoderConfig, build_linear_attention, {"qk_norm": False, **LEARNED}, ("esa",)),
    "ctxzoo_contextual": _Kind(HigherOrderEncoderConfig, build_higher_order_attention, {"qk_norm": False}, ("hsa",)),
}
READ = "_ctxzoo_read"  # of an attention module: what it reads in the call that runs
CACHE = "_ctxzoo_cache"  # of an attention module: the cache of the call that runs
RECORD = "ctxzoo_attention"  # of the config, which says what was put where, and of the modules that hold a mechanism
# Fields that follow from the model, and why.
OF_THE_MODEL: Mapping[str, str] = {
    "num_heads": "the heads stay those of the model",
    "hidden_size": "widths stay those of the model",
    "causal": "what is causal stays so",
    "attention_dropout": "its rate of dropout is that of the model",
}
# Arguments by which models have their attention compute something else than softmax(q.k / sqrt(d)).
OTHER_SCORES = ("position_bias", "softcap", "s_aux", "sinks", "indices", "block_indices")
# How far a pass may be from the stock one, relative to it, when both attend by dot products: single precision, or half.
CLOSE, CLOSE_IN_HALF = 1e-3, 5e-2

Stock = TypeVar("Stock", bound=PreTrainedModel)
Model = TypeVar("Model", bound=nn.Module)


class _Call(NamedTuple):
    """One call of an attention module, recorded in a trial pass."""

    module: nn.Module
    heads: int
    head_size: int
    causal: bool
    dropout: float


_trial_calls: list[_Call] | None = None  # of the trial pass that runs, if one does


def use_attention(model: Stock, name: str, **options: Any) -> Stock:
    """Replace the attention mechanism in all attention modules of a stock model, in place.

    Modules are found by passes over a few tokens, which also check that they attend by dot products as stock models
    of texts do: a model that does something else is refused, and left as it was. What the model does beside attention
    stays as it is, its weights too, and so do its rates of dropout. A module that is causal takes frequencies that are
    parameters where nothing else is asked for. Where the mechanism has no cache of keys, `use_cache` of the config
    becomes False.

    Args:
        model: An encoder or decoder of texts that dispatches through transformers' `AttentionInterface`.
        name: Name of the attention mechanism, one of `NAMES`.
        options: Fields of `KernelEncoderConfig`, `LinearEncoderConfig` or `HigherOrderEncoderConfig` that say what the
            mechanism is: `attention`, `feature_map`, `order_type`, `p_norm`, …

    Returns:
        The model, in the mode it was in, with new parameters under `….ctxzoo_attention`; make optimizers after this.

    Raises:
        ValueError: another name; an `attention` that the name does not stand for, or a field that follows from the
            model; a model without attention modules that can be reached, with cross-attention, with other scores than
            scaled dot products, or one that has such a mechanism already; dropout of weights, which
            `ctxzoo_efficient` has none of.
        StrictDataclassError: an option that cannot be.
        TypeError: an unknown option.
    """
    if name not in NAMES:
        raise ValueError(f"unknown attention {name!r}; known: {', '.join(NAMES)}")
    before = getattr(model.config, RECORD, None)
    if before is not None:
        raise ValueError(f"the model has {before['name']!r} already; load it anew to give it another attention")
    kind = NAMES[name]
    options = {**kind.defaults, **options}
    attention = options.get("attention", kind.allowed[0])
    if attention not in kind.allowed:
        raise ValueError(f"{name} stands for {', '.join(kind.allowed)}, got attention={attention!r}")
    # Configs with a single mechanism have no such field; its name is allowed for the sake of earlier versions.
    if len(kind.allowed) == 1:
        options.pop("attention", None)
    for field, reason in OF_THE_MODEL.items():
        if field in options:
            raise ValueError(f"{field}={options[field]}: {reason}; leave it out")
    names = {module: path for path, module in model.named_modules()}
    prefix = _get_base_model_prefix(model)
    modules = {}
    for call in _collect_attention_calls(model, name):
        fields = {
            **options,
            "num_heads": call.heads,
            "hidden_size": call.heads * call.head_size,
            "causal": call.causal,
        }
        # A density drawn for each position would take a causal module many times as long as fixed frequencies.
        if call.causal and attention in ("ika", "ikan"):
            fields.setdefault("kernel", "direct")
        if attention == "hsa" and fields["hidden_size"] != model.config.hidden_size:
            raise ValueError(
                f"{call.heads} heads of {call.head_size} in a model of width {model.config.hidden_size}: {name} makes "
                "keys of what a layer reads, and needs heads that are together as wide"
            )
        if attention == "esa" and call.dropout:
            raise ValueError(f"{type(model).__name__} cannot take {name}: {_format_dropout_error(call.dropout)}")
        # Paths without the prefix fit the base model and its heads; a module that is called twice stands here once.
        modules[names[call.module].removeprefix(prefix)] = fields
    if not modules:
        raise ValueError(f"{type(model).__name__} has no attention that transformers' AttentionInterface reaches")
    record = {"name": name, "modules": modules}
    _install_attention(model, record)
    model.set_attn_implementation(name)
    return model


def load_with_attention(model_class: type[Model], source: str, **options: Any) -> Model:
    """Return a model that `use_attention` changed, from its checkpoint folder or Hub id.

    Args:
        model_class: A class of transformers, such as `BertModel`; a head loads from a base model's checkpoint and the
            other way round, as in transformers. Or `SentenceTransformer`: its first part then has the attention.
        options: Further arguments of `from_pretrained`, or of `SentenceTransformer`.

    Raises:
        ValueError: the checkpoint was not made by `use_attention`, or lacks parameters of its mechanisms.
        OSError: see `from_pretrained`.
    """
    if issubclass(model_class, nn.Sequential):  # a SentenceTransformer, whose own loader makes stock models
        make: Any = model_class
        sentences = make(source, **options)
        stock = sentences[0].model
        changed = load_with_attention(type(stock), source, dtype=stock.dtype)
        sentences[0].model = changed.to(stock.device)
        return cast(Model, sentences)
    config = options.pop("config", None) or AutoConfig.from_pretrained(source)
    record = getattr(config, RECORD, None)
    if record is None:
        raise ValueError(f"{source!r} has no attention of ctxzoo; load it with {model_class.__name__}.from_pretrained")

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        model_class.__init__(self, *args, **kwargs)
        _install_attention(self, record)

    # Parameters must be there before the loader asks for them.
    body = {"__init__": construct, "__module__": model_class.__module__}
    with_attention: Any = type(model_class.__name__, (model_class,), body)
    model, info = with_attention.from_pretrained(source, config=config, output_loading_info=True, **options)
    missing = sorted(key for key in info["missing_keys"] if f".{RECORD}." in key)
    if missing:
        raise ValueError(f"{source!r} lacks parameters of its attention: {', '.join(missing[:3])}…")
    # The subclass was for loading alone: what asks for the type of the model must find the stock class.
    model.__class__ = model_class
    model.set_attn_implementation(record["name"])
    loaded: Model = model
    return loaded


class LinearStateLayer(CacheLayerMixin):
    """The cache of one layer with linear attention: sums over all keys so far, of the same size for every text.

    Attributes:
        state: Sums and their level, as `linear_attention` returns them; None before the first token.
        length: Number of tokens read.
    """

    is_compileable = False
    is_croppable = False

    def __init__(self, **kwargs: Any) -> None:
        """Start without a token."""
        super().__init__(**kwargs)
        self.state: LinearState | None = None
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Record that tokens have been read; the state is made by the attention."""
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Count the new tokens, and return their keys and values alone, which the attention adds to the state.

        Raises:
            ValueError: earlier tokens are not in the state.
        """
        if self.length and self.state is None:
            raise ValueError(
                f"{self.length} tokens were read, and left no state: the model's attention modules are not called with "
                "the cache, or are not of ctxzoo_efficient; use another cache, or use_cache=False"
            )
        self.lazy_initialization(key_states, value_states)
        self.length += key_states.size(-2)
        return key_states, value_states

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of tokens behind the new ones, and 0: masks are of all tokens."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Return the number of tokens read."""
        return self.length

    def get_max_length(self) -> int:
        """Return -1: there is no largest number of tokens."""
        return -1

    def reset(self) -> None:
        """Forget all tokens."""
        self.state, self.length, self.is_initialized = None, 0, False

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Select and order the texts of the batch, as beam search does."""
        self.batch_select_indices(beam_idx)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the texts of the batch with these indices."""
        if self.state is not None:
            self.state = LinearState(*(part[indices.to(part.device)] for part in self.state))

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each text of the batch."""
        if self.state is not None:
            self.state = LinearState(*(part.repeat_interleave(repeats, dim=0) for part in self.state))

    def crop(self, tokens_to_remove: int) -> None:
        """Refuse to take tokens away.

        Raises:
            ValueError: always, unless there is nothing to remove.
        """
        if tokens_to_remove:
            raise ValueError(
                f"crop({tokens_to_remove}): the state of linear attention is a sum over all tokens, of which none can "
                "be taken away; generate without an assistant or prompt lookup, or with use_cache=False"
            )


class LinearStateCache(Cache):
    """The cache of a decoder with `ctxzoo_efficient` attention: a state of fixed size for each layer.

    `generate` of such a model uses it by itself; for a loop of one's own, pass it as `past_key_values`.
    """

    def __init__(self) -> None:
        """Start without a token; layers are added as the model calls them."""
        super().__init__(layer_class_to_replicate=LinearStateLayer)


def attention_divergence(model: PreTrainedModel) -> torch.Tensor | None:
    """Return the KL divergence of drawn kernels from their priors in the last pass, in nats, summed over modules.

    Returns:
        (B,), which a loss may add, weighed by a `kl_lambda` of the caller's; None where nothing is drawn.
    """
    terms = [term for module in model.modules() if isinstance(module, _Mechanism) for term in module.divergences]
    return torch.stack(terms).sum(dim=0) if terms else None


class _Mechanism(nn.Module):
    """Our attention mechanism, held as a submodule by a stock model's attention module.

    Args:
        attention: Attention module of one layer.

    Attributes:
        divergences: Divergence from the prior in nats, (B,) for each call of the last pass; layers that share their
            weights are called several times.
        tried_training: Whether a training pass has already checked that no parameter is frozen by mistake.
    """

    def __init__(self, attention: Attention) -> None:
        """Store the attention; `divergences` collects its kernels' divergences in a pass."""
        super().__init__()
        self.attention = attention
        self.divergences: list[torch.Tensor] = []
        self.tried_training = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies, without the tensors of the last pass, which belong to a graph."""
        return {**self.__dict__, "divergences": []}

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        *,
        hidden_states: torch.Tensor,
        dropout: float,
        output_attentions: bool,
        cache: LinearStateLayer | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the output (B, h, queries, dv) and the weights; see `Attention.forward`.

        With a `cache` keys, values and mask are those of the new tokens; they are added to its state.
        """
        if isinstance(self.attention, EfficientAttention):
            if dropout:
                raise ValueError(_format_dropout_error(dropout))
        else:
            mechanism: Any = self.attention
            mechanism.dropout = dropout
        if isinstance(self.attention, HigherOrderAttention) and hidden_states.size(1) != key.size(2):
            raise ValueError(
                f"{key.size(2)} keys, but {hidden_states.size(1)} steps to make second keys of: a cache of keys alone "
                "does not serve (use_cache=False)"
            )
        options: dict[str, Any] = {} if cache is None else {"state": cache.state, "use_cache": True}
        output, aux = self.attention(
            query, key, value, mask, causal, hidden_states=hidden_states, output_attentions=output_attentions, **options
        )
        if cache is not None:
            cache.state = aux.state
        if aux.divergence is not None:
            self.divergences.append(aux.divergence)
        return output, aux.weights


def _attention_forward(
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
    """Compute attention with the module's mechanism; registered in transformers' `AttentionInterface`.

    Returns:
        (B, queries, h, dv), and the weights (B, h, queries, keys) where the mechanism has any.

    Raises:
        ValueError: a module without a mechanism; a mask that is no mask of keys, or scores that are not q.k / sqrt(d).
    """
    refuse_jit_trace(f"{type(module).__name__} with ctxzoo_attention")
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    heads, head_size = query.size(1), query.size(-1)
    others = [each for each in OTHER_SCORES if kwargs.get(each) is not None]
    if others:
        raise ValueError(f"{type(module).__name__} has {', '.join(others)} in its scores; expected q.k / sqrt(d) alone")
    if scaling is not None and not math.isclose(scaling, head_size**-0.5, rel_tol=1e-6):
        raise ValueError(f"{type(module).__name__} scales scores by {scaling}; expected 1 / sqrt({head_size})")
    if attention_mask is not None and attention_mask.dim() != 2:
        raise ValueError(
            f"a mask of shape {tuple(attention_mask.shape)}: these mechanisms take masks of keys, (batch, keys)"
        )
    if key.size(1) != heads:  # groups of queries share a key
        key, value = (x.repeat_interleave(heads // x.size(1), dim=1) for x in (key, value))
    if _trial_calls is not None:
        _trial_calls.append(_Call(module, heads, head_size, causal, dropout))
        # Of (B, h, queries, dv); models expect the heads behind the queries.
        return DotAttention()(query, key, value, attention_mask, causal)[0].transpose(1, 2), None
    mechanism = getattr(module, RECORD, None)
    if mechanism is None:
        raise ValueError(
            f"{type(module).__name__} has no attention of ctxzoo: its parameters are made by "
            "ctxzoo.use_attention(model, name), and loaded by ctxzoo.load_with_attention(model_class, folder)"
        )
    if module.training:
        _warn_about_frozen_parameters(module, mechanism)
    cache = _get_state_layer(module)
    if cache is not None and attention_mask is not None:
        attention_mask = attention_mask[:, -key.size(2) :]
    output, weights = mechanism(
        query,
        key,
        value,
        attention_mask,
        causal,
        hidden_states=vars(module)[READ],
        dropout=dropout,
        output_attentions=bool(kwargs.get("output_attentions", False)),
        cache=cache,
    )
    return output.transpose(1, 2), weights  # (B, queries, h, dv)


def _format_dropout_error(rate: float) -> str:
    """Return the message for a model that drops attention weights, which attention in linear time has not."""
    return (
        f"it drops attention weights at a rate of {rate}, and attention in linear time forms none; make the model with "
        "a rate of 0: from_pretrained(..., attention_probs_dropout_prob=0.0), or attn_pdrop, attention_dropout where "
        "its config calls it so"
    )


def _warn_about_frozen_parameters(module: nn.Module, mechanism: nn.Module) -> None:
    """Warn once if a mechanism's parameters are frozen while others of its module train, as with peft."""
    if not isinstance(mechanism, _Mechanism) or mechanism.tried_training:  # peft wraps what it saves
        return
    mechanism.tried_training = True
    frozen = any(not each.requires_grad for each in mechanism.parameters())
    if frozen and any(each.requires_grad for each in module.parameters()):
        warnings.warn(
            "parameters of ctxzoo_attention are frozen, as peft freezes all but its adapters; "
            'LoraConfig(..., modules_to_save=["ctxzoo_attention"]) trains and saves them',
            stacklevel=2,
        )


def _make_key_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor | None:
    """Return the mask of keys (B, keys); registered in transformers' `AttentionMaskInterface`.

    Returns:
        Boolean (B, keys), True where a key is real; None: all are.

    Raises:
        ValueError: a mask that depends on query and key in another way than causality, such as a window or packed
            texts, or a cache with room for keys to come.
    """
    causal = mask_function is causal_mask_function
    if not causal and mask_function is not bidirectional_mask_function:
        raise ValueError("these mechanisms see all keys, or all up to the query: no windows, no packed sequences")
    # Mechanisms count queries from the last key on, so that the last query must stand at the last key.
    if kv_offset or (causal and int(q_offset) + q_length != kv_length):
        raise ValueError(
            f"{kv_length} keys from {kv_offset} on for {q_length} queries from {int(q_offset)} on: these mechanisms "
            "need a cache that grows with what was read"
        )
    return attention_mask


def _install_attention(model: PreTrainedModel, record: Mapping[str, Any]) -> None:
    """Add mechanisms to a model's attention modules as `record` says, and store the record in its config."""
    prefix = _get_base_model_prefix(model)
    modules_by_path = dict(model.named_modules())
    mechanisms = []  # all are built before one is added, so that an error leaves the model as it was
    for index, (path, fields) in enumerate(record["modules"].items()):
        # A base model has the modules without the name that a head has for it.
        module = modules_by_path.get(prefix + path) or modules_by_path.get(path)
        if module is None:
            raise ValueError(f"{type(model).__name__} has no module {path!r}, in which the checkpoint has an attention")
        attention = NAMES[record["name"]].build(_build_encoder_config(record["name"], fields), index)
        mechanisms.append((module, _Mechanism(attention)))
    for module, mechanism in mechanisms:
        weight = next((each for each in module.parameters() if each.is_floating_point()), None)
        if weight is not None:
            # New modules are on the CPU in the default type.
            mechanism.to(device=weight.device, dtype=weight.dtype)
        mechanism.train(module.training)
        module.add_module(RECORD, mechanism)
        module.register_forward_pre_hook(_store_hidden_states_hook, with_kwargs=True)
        # Also after a pass that failed: the module must not keep the steps alive.
        module.register_forward_hook(_clear_hidden_states_hook, always_call=True)
    if record["name"] == "ctxzoo_efficient":
        model.base_model.register_forward_pre_hook(_keep_states_hook, with_kwargs=True)
    else:
        # A pass begins at the base model, where the divergences of the last one go.
        model.base_model.register_forward_pre_hook(_clear_divergences_hook)
    setattr(model.config, RECORD, {"name": record["name"], "modules": dict(record["modules"])})
    model.config.attn_implementation = record["name"]  # so that a stock model of the checkpoint refuses to run
    if any(_needs_more_than_kv_cache(mechanism.attention) for _, mechanism in mechanisms) and model.can_generate():
        model.config.use_cache = False
        if model.generation_config is not None:
            model.generation_config.use_cache = False


def _build_encoder_config(name: str, fields: Mapping[str, Any]) -> EncoderConfig:
    """Return the encoder config of a mechanism from its fields; those of earlier versions are converted.

    Raises:
        ValueError: a value of such a record that is no longer there.
    """
    if "attention" in fields:
        fields = {field: value for field, value in convert_encoder_fields(fields).items() if field != "model_type"}
    if name == "ctxzoo_efficient":
        fields = {**DRAWN, **fields}
    return NAMES[name].config_class(position="none", **fields)


def _needs_more_than_kv_cache(attention: Attention) -> bool:
    """Return whether generation needs more of earlier tokens than a cache of keys and values holds."""
    return isinstance(attention, HigherOrderAttention | ImplicitKernelAttention)


def _store_hidden_states_hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Store the hidden states (B, n, d) and the cache that an attention module gets, for its mechanism to read."""
    vars(module)[READ] = args[0] if args else kwargs.get("hidden_states")
    # Models have several names for it.
    vars(module)[CACHE] = next((each for each in (*args, *kwargs.values()) if isinstance(each, Cache)), None)


def _clear_hidden_states_hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
    """Drop what was stored for the call of an attention module."""
    vars(module).pop(READ, None)
    vars(module).pop(CACHE, None)


def _get_state_layer(module: Any) -> LinearStateLayer | None:
    """Return the layer of a `LinearStateCache` that an attention module reads in the call that runs, if it does."""
    cache = vars(module).get(CACHE)
    layers = getattr(cache, "layers", ())
    layer = layers[module.layer_idx] if layers else None
    return layer if isinstance(layer, LinearStateLayer) else None


def _keep_states_hook(base: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Make an empty `DynamicCache`, which `generate` makes for every model, one of states of fixed size."""
    cache = kwargs.get("past_key_values")
    if not isinstance(cache, DynamicCache) or cache.offloading or cache.get_seq_length():
        return
    if all(type(layer) is DynamicLayer for layer in cache.layers):
        cache.layers, cache.layer_class_to_replicate = [], LinearStateLayer


def _clear_divergences_hook(base: nn.Module, args: tuple[Any, ...]) -> None:
    """Empty the divergences of all mechanisms before a pass of the model `base`."""
    for module in base.modules():
        if isinstance(module, _Mechanism):
            module.divergences = []


def _collect_attention_calls(model: PreTrainedModel, name: str) -> list[_Call]:
    """Run the model on a few tokens, and return the calls of its attention modules, with their dropout in training.

    Raises:
        ValueError: the model cannot take these mechanisms: it has cross-attention or does not read token ids, its pass
            fails where it gives masks as they take them, or gives something else with scaled dot products.
    """
    kind = type(model).__name__
    configs = [getattr(module, "config", None) for module in model.modules()]
    if any(
        getattr(each, "is_encoder_decoder", False) or getattr(each, "add_cross_attention", False) for each in configs
    ):
        raise ValueError(f"{kind} has cross-attention, which these mechanisms are not for: a text attends to itself")
    if model.main_input_name != "input_ids":
        raise ValueError(f"{kind} reads {model.main_input_name}, expected a model that reads input_ids")
    base: Any = model.base_model
    try:
        with torch.no_grad(), _switch_to_eval_mode(model):
            inputs = _make_probe_inputs(model)
            stock_output = base(**inputs)[0]
            with _record_attention_calls(model, name) as calls:
                dot_product_output = base(**inputs)[0]
            modules = {call.module for call in calls}
            for module in modules:
                module.training = True  # alone, so that only the rates change that it hands over
            with _record_attention_calls(model, name) as calls:
                base(**inputs)
    except Exception as error:
        raise ValueError(f"{kind} cannot take {name}: {error}") from error
    real = inputs["attention_mask"].bool()  # (2, 5); what stands at padding does not count
    difference = ((dot_product_output - stock_output)[real].float().norm() / stock_output[real].float().norm()).item()
    if difference > (CLOSE if stock_output.dtype in (torch.float32, torch.float64) else CLOSE_IN_HALF):
        raise ValueError(
            f"{kind} cannot take {name}: with attention by softmax(q.k / sqrt(d)) its output is off by "
            f"{difference:.1%}, so that its own does something else"
        )
    return calls


@contextmanager
def _switch_to_eval_mode(model: nn.Module) -> Iterator[None]:
    """Put a model in evaluation mode within a block; afterwards each module has its former mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _record_attention_calls(model: PreTrainedModel, name: str) -> Iterator[list[_Call]]:
    """Record the calls of attention modules while the block runs; they attend by dot products then."""
    global _trial_calls
    implementation = model.config._attn_implementation
    model.set_attn_implementation(name)
    calls: list[_Call] = []
    _trial_calls = calls
    try:
        yield calls
    finally:
        _trial_calls = None
        model.set_attn_implementation(implementation)


def _make_probe_inputs(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Return two short texts of token ids (2, 5) with their mask, the second one padded, for a trial pass."""
    ids = torch.tensor([[7, 6, 5, 4, 3], [1, 2, 3, 0, 0]])  # (2, 5)
    words: Any = model.get_input_embeddings()
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    return {
        "input_ids": ids.clamp(max=words.num_embeddings - 1).to(model.device),
        "attention_mask": mask.to(model.device),
    }


def _get_base_model_prefix(model: PreTrainedModel) -> str:
    """Return the prefix of the base model's module names in a model with a head; empty for a base model."""
    # A base model has no attribute of that name. An empty prefix becomes " ", which no model has.
    return f"{model.base_model_prefix}." if hasattr(model, model.base_model_prefix or " ") else ""


for _name in NAMES:
    AttentionInterface.register(_name, _attention_forward)
    AttentionMaskInterface.register(_name, _make_key_mask)
