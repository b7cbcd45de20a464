"""The attention of the encoders in stock models of transformers: exact, trained, saved, loaded, or refused."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
import transformers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizerFast,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaModel,
    PreTrainedModel,
    StaticCache,
)

from ctxzoo import attention_divergence, load_with_attention, use_attention
from ctxzoo.attention_interface import NAMES, LinearStateCache, LinearStateLayer
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT

IDS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


SIZES = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
BERT = {**SIZES, "intermediate_size": 24, "max_position_embeddings": 32, "pad_token_id": 0}
GPT2 = {"vocab_size": 20, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
NO_END = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0}
UNDROPPED = {"attention_probs_dropout_prob": 0.0}
DISTILBERT = {"vocab_size": 20, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 32}


def maker(name: str, **fields: Any) -> Callable[..., Any]:
    """What makes a tiny stock model, always with the same weights, in evaluation, its attention far from uniform."""

    def make(**changes: Any) -> Any:
        torch.manual_seed(0)
        cls = getattr(transformers, name)
        return larger(cls(cls.config_class(**{**fields, **changes})))

    make.__name__ = name
    return make


bert = maker("BertModel", **BERT, **UNDROPPED)
gpt2 = maker("GPT2LMHeadModel", **GPT2, **NO_END, attn_pdrop=0.0)
albert = maker("AlbertModel", **BERT, **UNDROPPED, embedding_size=8)
ENCODERS = [
    bert,
    maker("DistilBertModel", **DISTILBERT, attention_dropout=0.0),
    maker("RobertaModel", **BERT, **UNDROPPED),
    maker("ElectraModel", **BERT, **UNDROPPED, embedding_size=8),
    albert,
    maker("XLMRobertaModel", **BERT, **UNDROPPED),
]
DECODERS = [
    gpt2,
    maker("GPTNeoXForCausalLM", **{**BERT, **NO_END}, rotary_pct=1.0),
    maker("LlamaForCausalLM", **{**BERT, **NO_END}),
    maker("Qwen3ForCausalLM", **{**BERT, **NO_END}, num_key_value_heads=1, head_dim=8),
]


def larger(model: PreTrainedModel) -> PreTrainedModel:
    """The model in evaluation, its attention far from uniform."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8)
    return model.eval()


def numbers(model: Any, ids: torch.Tensor = IDS, mask: torch.Tensor | None = MASK) -> torch.Tensor:
    """What a model gives at real positions."""
    found = model(ids, attention_mask=mask)[0]
    return found if mask is None else found[mask.bool()]


@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS])
def test_the_rbf_kernel_with_l2_importance_is_the_stock_attention(make: Any) -> None:
    stock = make()
    changed = use_attention(make(), "ctxzoo_implicit_kernel", attention="rbf")
    for mask in (MASK, None):
        torch.testing.assert_close(numbers(changed, mask=mask), numbers(stock, mask=mask), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [bert, gpt2])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_with_each_name_is_saved_and_loaded(make: Any, name: str, tmp_path: Path) -> None:
    stock = make()
    model = use_attention(make(), name)
    of_stock = stock.state_dict()
    assert all(torch.equal(model.state_dict()[key], x) for key, x in of_stock.items())
    own = [key for key in model.state_dict() if key not in of_stock]
    assert own
    assert all(".ctxzoo_attention." in key for key in own)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01 * torch.randn(parameter.shape))
    assert not torch.allclose(numbers(model), numbers(stock), atol=1e-3)
    model.save_pretrained(tmp_path)
    loaded = load_with_attention(type(model), str(tmp_path))
    assert type(loaded) is type(model)
    assert torch.equal(numbers(loaded), numbers(model))
    loaded.save_pretrained(tmp_path / "again")
    again = load_with_attention(type(model), str(tmp_path / "again"))
    assert torch.equal(numbers(again), numbers(model))


@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS])
@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_trained_and_padding_is_not_read(make: Any, name: str) -> None:
    model = use_attention(make(), name)
    changed = IDS.clone()
    changed[1, 3:] = 13
    torch.testing.assert_close(numbers(model, changed), numbers(model), rtol=1e-5, atol=1e-6)
    model.train()
    numbers(model).square().sum().backward()
    without = [key for key, x in model.named_parameters() if ".ctxzoo_attention." in key and x.grad is None]
    assert without == []
    copied = copy.deepcopy(model).eval()  # also behind a pass, whose tensors belong to a graph
    assert torch.equal(numbers(copied), numbers(model.eval()))


@pytest.mark.parametrize("make", DECODERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_decoder_does_not_read_ahead_and_generates(make: Any, name: str) -> None:
    """With `use_cache` as the model now has it; a cache, where there is one, changes nothing; nor does padding."""
    model = strengthened(use_attention(make(), name))
    changed = IDS.clone()
    changed[:, 3] = 13
    before, after = (model(ids).logits for ids in (IDS, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])
    options = {"max_new_tokens": 4, "do_sample": False}
    found = IDS[:1]
    for _ in range(4):
        found = torch.cat([found, model(found, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(model.generate(IDS[:1], attention_mask=MASK[:1], **options), found)
    padded, mask = (torch.cat([x.new_zeros(1, 2), x[:1]], dim=1) for x in (IDS, MASK))
    assert torch.equal(model.generate(padded, attention_mask=mask, **options)[:, 2:], found)
    assert model.config.use_cache is model.generation_config.use_cache is (name != "ctxzoo_contextual")


def strengthened(model: Any) -> Any:
    """The model with contextual attention, if it has it, that differs from the stock one."""
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith("strengths"):
                parameter.fill_(1.0)
    return model


@pytest.mark.parametrize(
    ("name", "options"), [("ctxzoo_implicit_kernel", {"attention": "mikan"}), ("ctxzoo_contextual", {})]
)
def test_a_decoder_without_a_cache_says_so_in_its_checkpoint(name: str, options: Any, tmp_path: Path) -> None:
    use_attention(gpt2(), name, **options).save_pretrained(tmp_path)
    loaded = load_with_attention(GPT2LMHeadModel, str(tmp_path))
    assert loaded.config.use_cache is loaded.generation_config.use_cache is False
    assert loaded.generate(IDS[:1], attention_mask=MASK[:1], max_new_tokens=3).shape == (1, 8)


def test_drawn_frequencies_refuse_a_cache_of_keys() -> None:
    model = use_attention(gpt2(), "ctxzoo_implicit_kernel", kernel="implicit")
    model.generate(IDS[:1], max_new_tokens=2, do_sample=False, use_cache=False)
    with pytest.raises(ValueError, match="1 queries and 6 keys: a causal summary takes both of each position"):
        model.generate(IDS[:1], max_new_tokens=2, do_sample=False, use_cache=True)


def test_second_keys_refuse_a_cache_of_keys() -> None:
    model = use_attention(gpt2(), "ctxzoo_contextual")
    with pytest.raises(ValueError, match="6 keys, but 1 steps to make second keys of: a cache of keys alone does not"):
        model.generate(IDS[:1], max_new_tokens=2, do_sample=False, use_cache=True)


@pytest.mark.parametrize("make", [bert, gpt2])
def test_contextual_attention_starts_as_the_stock_one(make: Any) -> None:
    """Its strengths start at 0, so that trained weights go on as they are."""
    stock = make()
    changed = use_attention(make(), "ctxzoo_contextual")
    torch.testing.assert_close(numbers(changed), numbers(stock), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(numbers(strengthened(changed)), numbers(stock), atol=1e-3)


@pytest.mark.parametrize("make", [bert, gpt2])
def test_many_random_features_come_near_the_stock_attention(make: Any) -> None:
    stock = make()
    errors = []
    for number in (16, 4096):
        changed = use_attention(make(), "ctxzoo_efficient", num_features=number)
        errors.append(((numbers(changed) - numbers(stock)).norm() / numbers(stock).norm()).item())
    assert errors[1] < 0.1
    assert errors[1] < errors[0] / 2


def leave_the_prior(model: Any) -> Any:
    """The model, its densities no longer at their prior."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("kernel.mean.weight"):
                weight.add_(0.1)
    return model


@pytest.fixture(scope="module")
def far_from_uniform() -> Any:
    """BERT, 128 wide, with weights four times as large as they start."""
    sizes = {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 1000}
    torch.manual_seed(0)
    model = BertModel(BertConfig(**{**BERT, **sizes}), add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name:
                weight.mul_(4)
    return model


@pytest.mark.parametrize("attention", ["ika", "mikan"])
def test_drawn_kernels_start_as_near_the_stock_attention_as_direct_ones(attention: str, far_from_uniform: Any) -> None:
    ids = torch.randint(5, 1000, (4, 24), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        stock = far_from_uniform(ids).last_hidden_state

    def distance(**options: Any) -> float:
        torch.manual_seed(3)
        model = use_attention(copy.deepcopy(far_from_uniform), "ctxzoo_implicit_kernel", p_norm=2.0, **options)
        with torch.no_grad():
            return float((model(ids).last_hidden_state - stock).norm() / stock.norm())

    distances = []
    for number in (64, 256, 1024):
        distances.append(distance(attention=attention, num_features=number))
        assert distances[-1] < 1.2 * distance(attention="ikan", kernel="direct", num_features=number)
    assert distances[0] > 1.2 * distances[1] > 1.4 * distances[2]
    assert distance(attention=attention, kernel_gate=True) < 1e-5


def test_the_divergence_is_that_of_the_last_pass() -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel", attention="mikan", num_features=8)
    assert attention_divergence(model) is None
    model(IDS, attention_mask=MASK)
    assert attention_divergence(model).tolist() == [0, 0]  # it starts at its prior
    leave_the_prior(model)(IDS, attention_mask=MASK)
    divergence = attention_divergence(model)
    assert divergence is not None
    assert divergence.shape == (2,)
    assert (divergence > 0).all()
    model(IDS[:1])
    torch.testing.assert_close(attention_divergence(model), divergence[:1])
    assert attention_divergence(use_attention(bert(), "ctxzoo_implicit_kernel", attention="rbf")) is None


def test_the_divergence_counts_each_call_of_layers_that_share_their_weights() -> None:
    def divergence(layers: int) -> Any:
        torch.manual_seed(0)
        model = use_attention(albert(num_hidden_layers=layers), "ctxzoo_implicit_kernel", attention="mikan")
        leave_the_prior(model)(IDS)
        return attention_divergence(model)

    one, two = divergence(1), divergence(2)
    assert (two > 1.1 * one).all()


@pytest.mark.parametrize("name", ["ctxzoo_implicit_kernel", "ctxzoo_contextual"])
def test_dropout_of_weights_stays_that_of_the_model(name: str) -> None:
    model = use_attention(bert(attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.0), name).train()
    assert not torch.allclose(numbers(model), numbers(model), atol=1e-3)
    assert torch.equal(numbers(model.eval()), numbers(model))


def test_dropout_of_weights_that_are_not_formed_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"it drops attention weights at a rate of 0\.5, and attention in linear time for"
    ):
        use_attention(bert(attention_probs_dropout_prob=0.5), "ctxzoo_efficient")
    model = use_attention(bert(), "ctxzoo_efficient").train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.25
    with pytest.raises(ValueError, match=r"it drops attention weights at a rate of 0\.25"):
        model(IDS)


OPT = {"ffn_dim": 24, "max_position_embeddings": 32, "word_embed_proj_dim": 16}
BART = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
BART = {**BART, "vocab_size": 20, "d_model": 16, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}
T5 = {"vocab_size": 20, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
VIT = {**SIZES, "intermediate_size": 24, "image_size": 32, "patch_size": 16}
REFUSED: Mapping[str, tuple[Callable[..., Any], str]] = {
    "BART": (maker("BartForConditionalGeneration", **BART), "has cross-attention, which these mechanisms are not for"),
    "T5": (maker("T5ForConditionalGeneration", **T5), "has cross-attention, which these mechanisms are not for"),
    "BERT as a decoder": (
        maker("BertLMHeadModel", **BERT, **UNDROPPED, is_decoder=True, add_cross_attention=True),
        "has cross-attention, which these mechanisms are not for",
    ),
    "T5's encoder": (
        maker("T5EncoderModel", **T5, is_encoder_decoder=False),
        "T5Attention has position_bias in its scores; expected q",
    ),
    "OPT": (maker("OPTForCausalLM", **SIZES, **OPT), "cannot take .*: OPTAttention scales scores by 1.0; expected 1 /"),
    "ViT": (maker("ViTModel", **VIT), "ViTModel reads pixel_values, expected a model that reads input_ids"),
    "Mistral": (maker("MistralForCausalLM", **BERT, num_key_value_heads=1), "no windows, no packed sequences"),
    "DeBERTa": (maker("DebertaV2Model", **BERT), "has no attention that transformers' AttentionInterface reaches"),
    "GPT-2 without a scale": (
        maker("GPT2LMHeadModel", **GPT2, **NO_END, scale_attn_weights=False),
        r"GPT2Attention scales scores by 1\.0; expected 1 / sqrt\(8\)",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("name", ["ctxzoo_implicit_kernel", "ctxzoo_contextual"])
def test_a_model_that_attends_otherwise_is_refused_and_left_alone(kind: str, name: str) -> None:
    make, message = REFUSED[kind]
    model = make().train()
    keys, config, modules = [*model.state_dict()], model.config.to_dict(), [*model.modules()]
    modes, implementation = [x.training for x in modules], model.config._attn_implementation
    modules[-1].eval()
    modes = [x.training for x in modules]
    with pytest.raises(ValueError, match=message):
        use_attention(model, name)
    assert [*model.state_dict()] == keys
    assert model.config.to_dict() == config
    assert model.config._attn_implementation == implementation
    assert [x.training for x in modules] == modes
    assert not any(x._forward_pre_hooks for x in modules)


def test_a_model_with_a_bias_of_its_own_in_the_scores_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in its call tells of it; its output does."""
    from transformers.models.bert import modeling_bert

    attend = transformers.AttentionInterface._global_mapping["sdpa"]

    def biased(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        nearer = -torch.arange(key.size(2)).float() + (0 if mask is None else torch.where(mask, 0.0, -1e9))
        return attend(module, query, key, value, nearer.expand(len(query), 1, query.size(2), -1), **options)

    monkeypatch.setitem(transformers.AttentionInterface._global_mapping, "sdpa", biased)
    assert modeling_bert.ALL_ATTENTION_FUNCTIONS["sdpa"] is biased
    with pytest.raises(ValueError, match=r"its output is off by \d+.\d%, so that its own does something else"):
        use_attention(bert(), "ctxzoo_implicit_kernel")


LORA = {"target_modules": "all-linear", "r": 2}
MECHANISMS: list[tuple[str, dict[str, Any]]] = [
    ("ctxzoo_implicit_kernel", {}),
    ("ctxzoo_implicit_kernel", {"attention": "mikan"}),
    ("ctxzoo_efficient", {}),
    ("ctxzoo_contextual", {}),
    ("ctxzoo_contextual", {"order_type": "trilinear"}),
]


@pytest.mark.parametrize("make", [maker("BertForSequenceClassification", **BERT, **UNDROPPED), gpt2])
@pytest.mark.parametrize(("name", "options"), MECHANISMS)
def test_lora_trains_every_adapter_and_says_what_it_freezes(make: Any, name: str, options: Any) -> None:
    model = use_attention(make(), name, **options)
    frozen = any("ctxzoo_attention" in key for key, _ in model.named_parameters())
    adapted = peft.get_peft_model(model, peft.LoraConfig(**LORA)).train()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            adapted(IDS, attention_mask=MASK).logits.square().sum().backward()
    trained = {key: x.grad for key, x in adapted.named_parameters() if x.requires_grad}
    assert trained
    assert [key for key, gradient in trained.items() if gradient is None] == []
    told = [str(each.message) for each in caught if "ctxzoo_attention are frozen" in str(each.message)]
    assert bool(told) is frozen
    assert all('modules_to_save=["ctxzoo_attention"]) trains and saves them' in each for each in told)


@pytest.mark.parametrize(("name", "options"), MECHANISMS)
def test_the_line_that_the_warning_names_trains_and_saves_them(name: str, options: Any, tmp_path: Path) -> None:
    use_attention(bert(), name, **options).save_pretrained(tmp_path / "base")
    lora = peft.LoraConfig(**LORA, modules_to_save=["ctxzoo_attention"])
    adapted = peft.get_peft_model(load_with_attention(BertModel, str(tmp_path / "base")), lora).train()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        numbers(adapted).square().sum().backward()
    own = [x for key, x in adapted.named_parameters() if "ctxzoo_attention.modules_to_save" in key]
    assert all(x.grad is not None for x in own)
    with torch.no_grad():
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape))
    adapted.eval().save_pretrained(tmp_path / "adapter")
    again = load_with_attention(BertModel, str(tmp_path / "base"))
    loaded = peft.PeftModel.from_pretrained(again, str(tmp_path / "adapter")).eval()
    torch.testing.assert_close(numbers(loaded), numbers(adapted))
    assert not torch.allclose(
        numbers(loaded), numbers(load_with_attention(BertModel, str(tmp_path / "base"))), atol=1e-2
    )
    if options.get("attention") == "mikan":
        assert (attention_divergence(loaded) > 0).all()


def test_a_sentence_transformer_is_saved_and_loaded(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "lamp", "shines", "at", "night"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "stock")
    bert().save_pretrained(tmp_path / "stock")
    part = Transformer(str(tmp_path / "stock"))
    sentences = SentenceTransformer(modules=[part, Pooling(16)], device="cpu")
    before = sentences.encode(["a lamp shines", "night"])
    use_attention(part.model, "ctxzoo_implicit_kernel")
    expected = sentences.encode(["a lamp shines", "night"])
    assert abs(expected - before).max() > 1e-3
    sentences.save(str(tmp_path / "saved"))
    loaded = load_with_attention(SentenceTransformer, str(tmp_path / "saved"), device="cpu")
    assert type(loaded) is SentenceTransformer
    assert (loaded.encode(["a lamp shines", "night"]) == expected).all()
    with pytest.raises(ValueError, match="has no attention of ctxzoo"):
        load_with_attention(SentenceTransformer, str(tmp_path / "stock"), device="cpu")


def test_heads_that_share_keys_are_groups() -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 24}
    config = LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0)
    torch.manual_seed(0)
    stock = larger(LlamaModel(config))
    changed = use_attention(copy.deepcopy(stock), "ctxzoo_implicit_kernel", attention="rbf")
    torch.testing.assert_close(numbers(changed), numbers(stock), rtol=1e-4, atol=1e-5)


def test_a_head_loads_from_a_base_model_and_the_other_way_round(tmp_path: Path) -> None:
    base = use_attention(bert(), "ctxzoo_implicit_kernel")
    base.save_pretrained(tmp_path / "base")
    head = load_with_attention(BertForSequenceClassification, str(tmp_path / "base")).eval()
    assert torch.equal(numbers(head.bert), numbers(base))
    assert head(IDS, labels=torch.tensor([0, 1])).loss.isfinite()
    head.save_pretrained(tmp_path / "head")
    assert torch.equal(numbers(load_with_attention(BertModel, str(tmp_path / "head"))), numbers(base))


def test_a_stock_load_refuses_to_run(tmp_path: Path) -> None:
    use_attention(bert(), "ctxzoo_implicit_kernel").save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["attn_implementation"] == "ctxzoo_implicit_kernel"
    model = BertModel.from_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"no attention of ctxzoo: .* ctxzoo\.load_with_attention\(model_class, folder\)"
    ):
        model(IDS)


def test_a_name_without_use_attention_refuses_to_run() -> None:
    model = bert()
    model.set_attn_implementation("ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match=r"parameters are made by ctxzoo\.use_attention\(model, name\)"):
        model(IDS)


def test_checkpoints_that_are_not_of_use_attention_are_refused(tmp_path: Path) -> None:
    bert().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"has no attention of ctxzoo; load it with BertModel\.from_pretrained"):
        load_with_attention(BertModel, str(tmp_path))


def test_a_checkpoint_that_lost_the_parameters_is_refused(tmp_path: Path) -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel")
    state = {key: x for key, x in model.state_dict().items() if "layer.1" not in key or ".ctxzoo_" not in key}
    model.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(ValueError, match=r"lacks parameters of its attention: encoder\.layer\.1\.attention\.self\.ctx"):
        load_with_attention(BertModel, str(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "ctxzoo_flash"}, "unknown attention 'ctxzoo_flash'; known: ctxzoo_implicit_kernel, ctxzoo_ef"),
        ({"name": "ctxzoo_efficient", "num_heads": 5}, "num_heads=5: the heads stay those of the model; leave it out"),
        ({"name": "ctxzoo_efficient", "attention": "ika"}, "ctxzoo_efficient stands for esa, got attention='ika'"),
        ({"attention_dropout": 0.5}, "attention_dropout=0.5: its rate of dropout is that of the model; leave it out"),
        ({"attention": "dot"}, "ctxzoo_implicit_kernel stands for ika, .*, got attention='dot'"),
        ({"p_norm": 0}, "p_norm must be above 0, got 0"),
        ({"num_feature": 8}, "no field 'num_feature' .* did you mean 'num_features'"),
    ],
    ids=str,
)
def test_mistakes_are_named_and_leave_the_model_alone(options: dict[str, Any], message: str) -> None:
    model = bert()
    before = numbers(model)
    with pytest.raises(Exception, match=message):
        use_attention(model, **{"name": "ctxzoo_implicit_kernel", **options})
    assert torch.equal(numbers(model), before)


def test_a_second_mechanism_is_refused() -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match="the model has 'ctxzoo_implicit_kernel' already; load it anew"):
        use_attention(model, "ctxzoo_implicit_kernel")


def test_masks_and_caches_that_are_others_are_refused() -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match=r"a mask of shape \(2, 1, 5, 5\): these mechanisms take masks of keys"):
        model(IDS, attention_mask=torch.ones(2, 1, 5, 5))
    decoder = use_attention(gpt2(), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match="need a cache that grows with what was read"):
        decoder(IDS, past_key_values=StaticCache(config=decoder.config, max_cache_len=9))
    packed = torch.tensor([[0, 1, 2, 0, 1]])
    with pytest.raises(ValueError, match="no windows, no packed sequences"):
        decoder(IDS[:1], position_ids=packed, use_cache=False)


def read_in_parts(model: Any, ids: torch.Tensor, mask: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """The logits of a text that is read in parts of these sizes, with a state between them."""
    cache, found, start = LinearStateCache(), [], 0
    for size in sizes:
        new = ids[:, start : start + size]
        start += size
        found.append(model(new, attention_mask=mask[:, :start], past_key_values=cache, use_cache=True).logits)
        assert cache.get_seq_length() == start
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("options", [{}, {"feature_map": "elu"}, {"state_decay": [0.6, 0.95]}], ids=str)
@pytest.mark.parametrize("make", DECODERS)
def test_a_state_of_fixed_size_stands_for_all_tokens(make: Any, options: Any) -> None:
    """Texts padded on the left, read in parts and then token by token, give what the whole texts give."""
    model = use_attention(make(), "ctxzoo_efficient", **options).double()
    ids = torch.randint(1, 20, (2, 12), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    with torch.no_grad():
        whole = model(ids, attention_mask=mask, use_cache=False).logits
        found = read_in_parts(model, ids, mask, (5, 3, 1, 1, 1, 1))
    torch.testing.assert_close(found[mask.bool()], whole[mask.bool()], rtol=1e-9, atol=1e-9)


def test_a_long_prefix_is_read_in_blocks_and_half_precision_keeps_wide_sums() -> None:
    make = DECODERS[2]
    ids = torch.randint(1, 20, (1, 300), generator=torch.Generator().manual_seed(3))
    model = use_attention(make(max_position_embeddings=64), "ctxzoo_efficient").bfloat16()
    cache = LinearStateCache()
    with torch.no_grad():
        whole = model(ids, use_cache=False).logits
        model(ids[:, :299], past_key_values=cache)
        last = model(ids[:, 299:], past_key_values=cache).logits
    assert {part.dtype for layer in cache.layers for part in layer.state} == {torch.float32}
    torch.testing.assert_close(last[:, 0], whole[:, -1], rtol=0.05, atol=0.05)


def test_generation_makes_the_state_by_itself_and_beams_reorder_it() -> None:
    model = use_attention(gpt2(), "ctxzoo_efficient")
    padded, mask = IDS.flip(1), MASK.flip(1)
    for options in ({}, {"num_beams": 3}, {"num_beams": 3, "num_return_sequences": 2}):
        settings = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, **options}
        found = model.generate(padded, return_dict_in_generate=True, **settings)
        assert torch.equal(found.sequences, model.generate(padded, use_cache=False, **settings))
        assert all(type(layer) is LinearStateLayer for layer in found.past_key_values.layers)
    sizes = {tuple(part.shape[1:]) for layer in found.past_key_values.layers for part in layer.state}
    assert sizes == {(2, 32, 9), (2,)}  # whatever was read


def test_a_state_cannot_be_cropped() -> None:
    model = use_attention(gpt2(), "ctxzoo_efficient")
    cache = LinearStateCache()
    model(IDS, past_key_values=cache)
    with pytest.raises(ValueError, match=r"crop\(-1\): .* is a sum over all tokens, of which none can be taken away"):
        cache.crop(-1)
    cache.reset()
    assert cache.get_seq_length() == 0
    stock = gpt2()
    stock(IDS, past_key_values=cache)
    with pytest.raises(ValueError, match="5 tokens were read, and left no state"):
        stock(IDS, past_key_values=cache)
    cache.reset()
    torch.testing.assert_close(model(IDS, past_key_values=cache).logits, model(IDS).logits)


def test_records_without_a_number_of_features_have_that_of_their_time(tmp_path: Path) -> None:
    model = use_attention(gpt2(), "ctxzoo_efficient", feature_map="favor", num_features=None)
    for fields in model.config.ctxzoo_attention["modules"].values():
        del fields["feature_map"], fields["num_features"]
    model.save_pretrained(tmp_path)
    assert torch.equal(numbers(load_with_attention(GPT2LMHeadModel, str(tmp_path))), numbers(model))


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    run_examples(REPOSITORY_ROOT / "docs" / "models" / "kernel_encoder.md", tmp_path)


def test_a_record_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Its fields were those of one configuration, whose `attention` was esa or hsa."""
    model = use_attention(bert(), "ctxzoo_contextual", order_type="anova", order=3)
    record = model.config.ctxzoo_attention
    of_old = {"attention": "hsa", "order_type": "anova", "anova_order": 3, "qk_norm": False}
    sizes = ("num_heads", "hidden_size", "causal")
    record["modules"] = {
        path: {**of_old, **{name: fields[name] for name in sizes}} for path, fields in record["modules"].items()
    }
    model.save_pretrained(tmp_path)
    again = load_with_attention(BertModel, str(tmp_path))
    ids = torch.tensor([[7, 8, 9]])
    assert torch.equal(again.eval()(ids).last_hidden_state, model.eval()(ids).last_hidden_state)
