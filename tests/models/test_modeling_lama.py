"""LAMA against its equations: word by word and head by head, in float64."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from transformers.utils.generic import ModelOutput

from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_lama import LamaForSequenceClassification, LamaModel, LowRankAttention
from tests.references.lama import reference_low_rank_attention

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 6, "recurrent_size": 3, "num_heads": 4, "classifier_size": 5}
TEXTS = ([3, 7, 3, 9, 1, 12], [5], [8, 2, 19])
CONTEXTS = ("learned", "mean_embedding", "mean_hidden")


def model_of(**changes: Any) -> LamaModel:
    torch.manual_seed(0)
    model: LamaModel = LamaModel(LamaConfig(**{**SIZES, "embedding_bound": 1.0, **changes}))
    return model.double().eval()


def batch_of(texts: Any) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(1, *(len(text) for text in texts))
    ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts])
    return ids, (ids > 0).long()


def read(model: LamaModel, texts: Any = TEXTS) -> ModelOutput:
    with torch.no_grad():
        return model(*batch_of(texts), output_attentions=True, output_hidden_states=True)


def attention_of(heads: int, rank: int = 1, *, l2: bool = True, scale: float = 1.0) -> Any:
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = LowRankAttention(6, heads, rank, l2_normalize=l2, logit_scale=scale).double()
    return layer


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


# Logits above a bound are scaled another way.
@pytest.mark.parametrize("scale", [1.7, 50.0])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("l2", [True, False])
def test_weights_equal_loops_over_words_and_heads(rank: int, l2: bool, scale: float) -> None:
    layer = attention_of(4, rank, l2=l2, scale=scale)
    words, context = torch.randn(3, 5, 6, dtype=torch.float64), torch.randn(3, 6, dtype=torch.float64)
    words[2, 1] = 0.0  # all logits of a word may be 0, which has no direction
    mask = torch.arange(5) < torch.tensor([[5], [1], [3]])
    factors = (layer.context_factors.detach(), layer.word_factors.detach())
    options: Any = {"rank": rank, "l2_normalize": l2, "logit_scale": scale}
    close(
        layer(words, context, mask)[1].detach(), reference_low_rank_attention(words, context, *factors, mask, **options)
    )
    shared = context[:1].expand(3, 6)  # one context for all
    expected = reference_low_rank_attention(words, shared, *factors, mask, **options)
    sums, weights = layer(words, context[0], mask)
    close(weights.detach(), expected)
    close(sums.detach(), expected @ words)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("projection_size", [None, 2, 0])
def test_documents_written_out(context: str, projection_size: int | None) -> None:
    model = model_of(context=context, projection_size=projection_size)
    output = read(model)
    gru = nn.GRU(6, 3, batch_first=True, bidirectional=True).double()
    gru.load_state_dict(model.rnn.rnn.state_dict())
    for row, text in enumerate(TEXTS):
        x = model.embeddings.words.weight[text].detach()
        h = gru(x.unsqueeze(0))[0][0].detach()
        u = h
        if model.word_projection is not None:
            u = torch.tanh(h @ model.word_projection.weight.T + model.word_projection.bias).detach()
        if context == "learned":
            c = model.learned_context.vector.detach()
        else:
            c = (x if context == "mean_embedding" else h).mean(dim=0)
        weights = reference_low_rank_attention(
            u.unsqueeze(0),
            c.unsqueeze(0),
            model.attention.context_factors.detach(),
            model.attention.word_factors.detach(),
            torch.ones(1, len(text), dtype=torch.bool),
        )[0]
        close(output.attentions[0][row, :, : len(text)], weights)
        close(output.pooler_output[row], (weights @ h).flatten())


@pytest.mark.parametrize("l2", [True, False])
@pytest.mark.parametrize("context", CONTEXTS)
def test_gradients(context: str, l2: bool) -> None:
    model = model_of(context=context, logit_scale=2.0, l2_normalize=l2)
    names = [name for name, _ in model.named_parameters() if not name.startswith("embeddings")]
    x = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])

    def run(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        arguments = {"inputs_embeds": x, "attention_mask": mask}
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (), arguments).pooler_output

    values = [model.get_parameter(name).detach().clone().requires_grad_() for name in names]
    assert torch.autograd.gradcheck(run, (x, *values), fast_mode=True)


@pytest.mark.parametrize("scale", [0.5, 1.0, 5.0])
def test_weights_sum_to_one_over_words_and_stay_within_a_factor(scale: float) -> None:
    model = model_of(logit_scale=scale)
    weights = read(model, (*TEXTS, [])).attentions[0]
    close(weights.sum(dim=2), torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64).unsqueeze(1).expand(4, 4))
    for row, text in enumerate(TEXTS):
        real = weights[row, :, : len(text)]
        assert (weights[row, :, len(text) :] == 0).all()
        assert (real.amax(dim=1) / real.amin(dim=1) <= math.exp(2 * scale) + 1e-12).all()
    # The bound is reached by opposite words, so it is no looser than the equations.
    layer = attention_of(2, scale=scale)
    with torch.no_grad():
        layer.context_factors.fill_(1.0)
        layer.word_factors.zero_()
        layer.word_factors[0, 0] = layer.word_factors[1, 1] = 1.0
    words = torch.zeros(1, 2, 6, dtype=torch.float64)
    words[0, 0, 0], words[0, 1, 0] = 1.0, -1.0
    opposite = layer(words, torch.ones(6, dtype=torch.float64), torch.ones(1, 2, dtype=torch.bool))[1][0, 0]
    close((opposite[0] / opposite[1]).detach(), torch.tensor(math.exp(2 * scale), dtype=torch.float64))


def test_one_head_is_never_trained_unless_l2_is_off() -> None:
    def gradients(l2: bool) -> list[float]:
        model = model_of(num_heads=1, l2_normalize=l2)
        model(*batch_of(TEXTS)).pooler_output.square().sum().backward()
        attention = model.attention
        values = (attention.context_factors, attention.word_factors, model.learned_context.vector)
        return [float(value.grad.abs().max()) for value in values]

    with pytest.warns(UserWarning, match="num_heads=1 with l2_normalize=True: the attention never learns") as caught:
        assert max(gradients(l2=True)) < 1e-14  # 0 but for rounding
    assert len([one for one in caught if "num_heads" in str(one.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert min(gradients(l2=False)) > 1e-6


def test_rank_one_heads_are_bilinear_forms() -> None:
    layer = attention_of(3, l2=False)
    words, context = torch.randn(2, 4, 6, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    words[:, 0] = 0.0  # its logit is 0
    weights = layer(words, context, torch.ones(2, 4, dtype=torch.bool))[1]
    for head in range(3):
        matrix = torch.outer(layer.context_factors[:, head], layer.word_factors[:, head])  # W_i
        logits = torch.log(weights[:, head] / weights[:, head, :1])
        close(torch.atanh(logits).detach(), (words @ (context @ matrix)).detach())


@pytest.mark.parametrize("shared", [True, False])
def test_closed_form_has_the_gradients_of_autograd(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(fused: bool) -> list[torch.Tensor]:
        monkeypatch.setattr(LowRankAttention, "_can_fuse", lambda *_: fused)
        layer, projection = attention_of(4, rank=3, scale=1.7), nn.Linear(6, 6).double()
        states, context = (torch.randn(3, 5, 6).double().requires_grad_() for _ in range(2))
        mask = torch.arange(5) < torch.tensor([[5], [0], [3]])
        one = context[0, 0] if shared else context[:, 0]
        sums, weights = layer(states, one, mask, projection)
        # The weights themselves may be trained, beside the sums.
        (sums.square().sum() + (weights * torch.arange(5)).square().sum()).backward()
        return [value.grad for value in (states, context, *layer.parameters(), *projection.parameters())]

    for found, wanted in zip(run(fused=True), run(fused=False), strict=True):
        close(found, wanted)


def test_one_word_gives_its_state_to_every_head_and_equal_states_give_themselves() -> None:
    model = model_of()
    output = read(model)
    summed = output.pooler_output[1].unflatten(0, (4, 6))
    for head in summed:
        close(head, output.last_hidden_state[1, 0])
    constant = torch.linspace(-1, 1, 6, dtype=torch.float64).expand(1, 5, 6)
    sums, _ = model.attention(constant, torch.randn(6).double(), torch.ones(1, 5).bool())
    close(sums.detach(), constant[:, :4])


def test_permuted_heads_permute_weights_and_sums_and_nothing_else() -> None:
    model, order = model_of(rank=2), [2, 0, 3, 1]
    before = read(model)
    with torch.no_grad():
        for factors in (model.attention.context_factors, model.attention.word_factors):
            factors.copy_(factors.unflatten(1, (4, 2))[:, order].flatten(1))
    after = read(model)
    close(after.attentions[0], before.attentions[0][:, order])
    close(after.pooler_output, before.pooler_output.unflatten(1, (4, 6))[:, order].flatten(1))
    close(after.last_hidden_state, before.last_hidden_state)


def test_the_mean_of_the_words_is_the_context_and_reaches_the_table() -> None:
    model = model_of(context="mean_embedding")
    given: list[torch.Tensor] = []
    model.attention.register_forward_pre_hook(lambda module, inputs: given.append(inputs[1]))
    output = model(*batch_of(TEXTS), output_attentions=True)
    for row, text in enumerate(TEXTS):
        close(given[0][row].detach(), model.embeddings.words.weight[text].mean(dim=0).detach())
    # Through the context alone: states and their projection are held fixed.
    context = model.embeddings.words.weight[torch.tensor(TEXTS[0])].mean(dim=0)
    states = output.last_hidden_state[:1].detach()
    sums, _ = model.attention(states, context, torch.ones(1, 6, dtype=torch.bool), model.word_projection)
    gradient = torch.autograd.grad(sums.square().sum(), model.embeddings.words.weight)[0]
    assert gradient[TEXTS[0]].abs().amin(dim=1).min() > 0
    assert model.learned_context is None


def test_a_learned_context_is_one_vector_that_is_trained_and_saved(tmp_path: Any) -> None:
    model = model_of()
    model(*batch_of(TEXTS)).pooler_output.square().sum().backward()
    assert model.learned_context.vector.grad.abs().min() > 0
    model.save_pretrained(tmp_path)
    again = LamaModel.from_pretrained(tmp_path)
    close(again.learned_context.vector.detach().double(), model.learned_context.vector.detach())
    one, other = read(model, ([3, 7],)), read(model, ([3, 7], [9, 1]))
    close(one.attentions[0][0], other.attentions[0][0])


def test_a_map_is_made_only_where_the_mean_has_another_width() -> None:
    assert model_of(context="mean_embedding").context_map is None
    model = model_of(context="mean_embedding", word_dim=4)
    assert model.context_map.weight.shape == (6, 4)
    assert model.context_map.bias is None
    assert model_of(word_dim=4).context_map is None


def test_mean_and_maximum_stand_behind_the_heads() -> None:
    plain, model = model_of(), model_of(append_pooled=True)
    output = read(model)
    close(output.pooler_output[:, :24], read(plain).pooler_output)
    for row, text in enumerate(TEXTS):
        states = output.last_hidden_state[row, : len(text)]
        close(output.pooler_output[row, 24:30], states.mean(dim=0))
        close(output.pooler_output[row, 30:], states.amax(dim=0))
    assert model.config.document_vector_size == 36


def test_ngrams_count_in_the_mean_alone() -> None:
    model = model_of(linear_mean=True, ngram_buckets=5)  # ids from 15 on
    plain = model_of(vocab_size=15)
    with torch.no_grad():
        for name, value in plain.named_parameters():
            value.copy_(model.get_parameter(name)[:15] if name.startswith("embeddings") else model.get_parameter(name))
    texts = ([3, 7, 9, 15, 17], [5, 19, 16, 15, 18, 19], [8, 2], [16])
    output, words = read(model, texts), read(plain, ([3, 7, 9], [5], [8, 2], []))
    close(output.pooler_output[:, :24], words.pooler_output)
    close(output.attentions[0][:, :, :3], words.attentions[0])
    close(output.last_hidden_state[:, :3], words.last_hidden_state)
    assert (output.attentions[0].shape, output.last_hidden_state.shape) == ((4, 4, 6), (4, 6, 6))
    assert output.attentions[0][:, :, 3:].abs().sum() == output.last_hidden_state[:, 3:].abs().sum() == 0
    for row, text in enumerate(texts):
        close(output.pooler_output[row, 24:], model.embeddings.words.weight[text].mean(dim=0).detach())
    with pytest.raises(ValueError, match="inputs_embeds with ngram_buckets=5"):
        model(inputs_embeds=torch.randn(1, 2, 6, dtype=torch.float64))


@pytest.mark.parametrize("classifier_size", [0, 5])
def test_a_linear_start(classifier_size: int) -> None:
    torch.manual_seed(0)
    config = LamaConfig(**{**SIZES, "classifier_size": classifier_size}, linear_mean=True, num_labels=3)
    model = LamaForSequenceClassification(config).double().eval()
    weights = torch.randn(3, 2, dtype=torch.float64)
    model.init_from_linear_classifier(weights)
    logits = model(*batch_of(TEXTS)).logits.detach()
    for row, text in enumerate(TEXTS):
        close(logits[row], weights @ model.lama.embeddings.words.weight[text, :2].mean(dim=0).detach())
    with pytest.raises(ValueError, match=r"weights of shape \(3, 7\): expected \(3, F\) with F at most 6"):
        model.init_from_linear_classifier(torch.zeros(3, 7))
    with pytest.raises(ValueError, match="a linear start needs linear_mean=True"):
        LamaForSequenceClassification(LamaConfig(**SIZES)).init_from_linear_classifier(weights)


def test_a_document_without_words_is_scored_by_the_biases_alone() -> None:
    torch.manual_seed(0)
    model = LamaForSequenceClassification(LamaConfig(**SIZES, num_labels=3, context="mean_embedding")).double().eval()
    nn.init.normal_(model.classifier.hidden.bias)
    ids, mask = batch_of((TEXTS[0], []))
    output = model(ids, mask, labels=torch.tensor([0, 2]))
    hidden = torch.relu(model.classifier.hidden.bias)
    close(output.logits[1], model.classifier.output(hidden))
    output.loss.backward()
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)


def test_a_text_without_any_id_is_read() -> None:
    ids = torch.zeros(2, 0, dtype=torch.long)
    for context in CONTEXTS:
        output = model_of(context=context, append_pooled=True)(ids, output_attentions=True)
        assert output.pooler_output.tolist() == [[0.0] * 36] * 2
        assert output.attentions[0].sum() == 0


@pytest.mark.parametrize(
    ("part", "changes", "expected"),
    [
        ("rnn", {}, 45_600),
        ("word_projection", {}, 10_100),
        ("word_projection", {"projection_size": 16}, 1_616),
        ("attention", {}, 3_000),
        ("attention", {"projection_size": 16}, 1_740),
        ("attention", {"num_heads": 30}, 6_000),
        ("attention", {"rank": 2}, 6_000),
        ("learned_context", {}, 100),
        ("classifier", {}, 769_538),
        ("classifier", {"append_pooled": True}, 769_538 + 2 * 100 * 512),
    ],
)
def test_parameter_counts(part: str, changes: dict[str, Any], expected: int) -> None:
    model = LamaForSequenceClassification(LamaConfig.of_variant("lama", vocab_size=11, **changes))
    module = model.classifier if part == "classifier" else getattr(model.lama, part)
    assert sum(p.numel() for p in module.parameters()) == expected


def test_parameters_of_the_whole_models() -> None:
    def count(name: str, **changes: Any) -> int:
        model = LamaForSequenceClassification(LamaConfig.of_variant(name, vocab_size=11, **changes))
        return sum(p.numel() for p in model.parameters())

    words = 11 * 100
    assert count("lama") == words + 45_600 + 10_100 + 3_000 + 100 + 769_538
    assert count("lama_ctx") == words + 45_600 + 10_100 + 3_000 + 769_538
    assert count("lama_ctx", projection_size=0, num_labels=8) == words + 45_600 + 3_000 + 769_538 + 6 * 513


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 0}, "num_heads must be at least 1, got 0"),
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"recurrent_size": 0}, "recurrent_size must be at least 1, got 0"),
        ({"classifier_size": -1}, "classifier_size must be 0 \\(linear\\) or more, got -1"),
        ({"classifier_dropout": 1.0}, "classifier_dropout must be at least 0 and below 1, got 1.0"),
        ({"ngram_buckets": 3}, "ngram_buckets=3 needs linear_mean=True"),
        ({"ngram_buckets": 10_000, "linear_mean": True}, "below vocab_size = 10000, got 10000"),
        ({"logit_scale": 0}, "logit_scale must be above 0, got 0"),
        ({"context": "mean"}, "mean"),
        ({"projection_size": -1}, "projection_size must be 0 or above, got -1"),
    ],
)
def test_config_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        LamaConfig(**changes)


def test_variants() -> None:
    assert LamaConfig.of_variant("lama_ctx", vocab_size=10).context == "mean_embedding"
    assert LamaConfig.of_variant("lama", vocab_size=10, word_dim=300).word_dim == 300
    with pytest.raises(ValueError, match="unknown LamaConfig variant 'ctx'; known: lama, lama_ctx"):
        LamaConfig.of_variant("ctx", vocab_size=10)


def test_word_projection_starts_as_the_paper_says() -> None:
    torch.manual_seed(0)
    projection = LamaModel(LamaConfig.of_variant("lama", vocab_size=5)).word_projection
    assert float(projection.weight.detach().std()) == pytest.approx(0.1, rel=0.03)
    assert float(projection.bias.detach().std()) == pytest.approx(0.1, rel=0.3)
