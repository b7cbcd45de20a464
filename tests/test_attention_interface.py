"""The attention of the ContextEncoder in stock models of transformers: exact, trained, saved, loaded, or refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaModel,
    PreTrainedModel,
    StaticCache,
)

from ctxzoo import attention_divergence, load_with_attention, use_attention
from ctxzoo.attention_interface import NAMES
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT

IDS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def bert(cls: Any = BertModel, **fields: Any) -> Any:
    torch.manual_seed(0)
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return larger(cls(BertConfig(**sizes, intermediate_size=24, max_position_embeddings=32, **fields)))


def gpt2(**fields: Any) -> Any:
    torch.manual_seed(0)
    ids = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0}
    config = GPT2Config(vocab_size=20, n_embd=16, n_layer=2, n_head=2, n_positions=32, **{**ids, **fields})
    return larger(GPT2LMHeadModel(config))


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


@pytest.mark.parametrize("make", [bert, gpt2])
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


@pytest.mark.parametrize("make", [bert, gpt2])
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


@pytest.mark.parametrize("name", NAMES)
def test_a_decoder_does_not_read_ahead_and_generates(name: str) -> None:
    model = use_attention(gpt2(), name)
    changed = IDS.clone()
    changed[:, 3] = 13
    before, after = (model(ids).logits for ids in (IDS, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])
    options = {"max_new_tokens": 6, "do_sample": False}
    found = IDS[:1]
    for _ in range(6):
        found = torch.cat([found, model(found).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(model.generate(IDS[:1], **options, use_cache=False), found)


@pytest.mark.parametrize("name", ["ctxzoo_implicit_kernel", "ctxzoo_efficient"])
def test_what_follows_from_keys_alone_generates_with_a_cache(name: str) -> None:
    model = use_attention(gpt2(), name)
    options = {"max_new_tokens": 6, "do_sample": False}
    whole, cached = (model.generate(IDS[:1], **options, use_cache=use) for use in (False, True))
    assert torch.equal(whole, cached)


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
    with torch.no_grad():
        for key, parameter in changed.named_parameters():
            if key.endswith("strengths"):
                parameter.fill_(1.0)
    assert not torch.allclose(numbers(changed), numbers(stock), atol=1e-3)


@pytest.mark.parametrize("make", [bert, gpt2])
def test_many_random_features_come_near_the_stock_attention(make: Any) -> None:
    stock = make()
    errors = []
    for number in (16, 4096):
        changed = use_attention(make(), "ctxzoo_efficient", num_features=number)
        errors.append(((numbers(changed) - numbers(stock)).norm() / numbers(stock).norm()).item())
    assert errors[1] < 0.1
    assert errors[1] < errors[0] / 2


def test_the_divergence_is_that_of_the_last_pass() -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel", attention="mikan", num_features=8)
    assert attention_divergence(model) is None
    model(IDS, attention_mask=MASK)
    divergence = attention_divergence(model)
    assert divergence is not None
    assert divergence.shape == (2,)
    assert (divergence > 0).all()
    model(IDS[:1])
    torch.testing.assert_close(attention_divergence(model), divergence[:1])
    assert attention_divergence(use_attention(bert(), "ctxzoo_implicit_kernel", attention="rbf")) is None


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
        ({"name": "ctxzoo_efficient", "redraw_interval": 5}, "redraw_interval=5: a stock model does not count its"),
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


def test_masks_and_scales_that_are_others_are_refused() -> None:
    model = use_attention(bert(), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match=r"a mask of shape \(2, 1, 5, 5\): these mechanisms take masks of keys"):
        model(IDS, attention_mask=torch.ones(2, 1, 5, 5))
    unscaled = use_attention(gpt2(scale_attn_weights=False), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match=r"GPT2Attention scales scores by 1\.0; expected 1 / sqrt\(8\)"):
        unscaled(IDS)
    decoder = use_attention(gpt2(), "ctxzoo_implicit_kernel")
    with pytest.raises(ValueError, match="need a cache that grows with what was read"):
        decoder(IDS, past_key_values=StaticCache(config=decoder.config, max_cache_len=9))
    packed = torch.tensor([[0, 1, 2, 0, 1]])
    with pytest.raises(ValueError, match="no windows, no packed sequences"):
        decoder(IDS[:1], position_ids=packed, use_cache=False)


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    run_examples(REPOSITORY_ROOT / "docs" / "attention_kernels.md", tmp_path)
