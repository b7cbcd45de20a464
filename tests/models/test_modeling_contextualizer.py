"""The Contextualizer against its equations: `tests/references/contextualizer.py`, in float64."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch.nn import functional as F

from ctxzoo.models import layers_contextualizer
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.layers_text_input import seeded_uniform
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification, ContextualizerModel
from tests.references.contextualizer import contexts_of, tokenwise_of

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 5, "position_dim": 4, "rank": 3, "num_steps": 3}
TEXTS = ([3, 7, 3, 9, 1, 12], [5], [8, 2, 19])


def config(**changes: Any) -> ContextualizerConfig:
    return ContextualizerConfig(**{**SIZES, **changes})


def model_of(settings: ContextualizerConfig, seed: int = 0) -> ContextualizerModel:
    torch.manual_seed(seed)
    model = ContextualizerModel(settings).double().eval()
    with torch.no_grad():  # far from linear
        for factors in (model.steps.token_factors, model.steps.context_factors, model.steps.feature_factors):
            factors.mul_(2)
    return model


def classifier_of(settings: ContextualizerConfig, seed: int = 0) -> ContextualizerForSequenceClassification:
    torch.manual_seed(seed)
    return ContextualizerForSequenceClassification(settings).double().eval()


def batch_of(texts: Any = TEXTS) -> dict[str, torch.Tensor]:
    width = max(len(text) for text in texts)
    ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


# -- equations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("start", ["ones", "learned", "random"])
def test_every_step_equals_the_third_order_form(recurrent: bool, start: str) -> None:
    settings = config(recurrent=recurrent, initial_context=start)
    model = model_of(settings)
    weights = model.state_dict()
    first = torch.ones(9)
    if start == "learned":
        model.start.learned.data.uniform_(-1, 1)
        first = model.start.learned.data
    elif start == "random":
        first = model.start.drawn[0]
    with torch.no_grad():
        output = model(**batch_of(), output_attentions=True, output_hidden_states=True)
    for row, text in enumerate(TEXTS):
        contexts, maps = contexts_of(settings, weights, text, first)
        close(output.context_history[row], torch.stack(contexts))
        close(output.context[row], contexts[-1])
        for step in range(3):
            close(output.attentions[step][row, : len(text)], maps[step])
            assert output.attentions[step][row, len(text) :].abs().sum() == 0


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("num_steps", [1, 3])
def test_gradients_of_factors_and_words(recurrent: bool, num_steps: int) -> None:
    settings = config(recurrent=recurrent, num_steps=num_steps, freeze_embeddings=False, initial_context="learned")
    model = model_of(settings)
    names = [name for name, _ in model.named_parameters()]
    values = tuple(value.detach().clone().requires_grad_() for value in model.parameters())

    def run(*given: torch.Tensor) -> torch.Tensor:
        parameters = dict(zip(names, given, strict=True))
        out: torch.Tensor = torch.func.functional_call(model, parameters, (), batch_of()).context
        return out

    assert torch.autograd.gradcheck(run, values, fast_mode=True)


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("values", ["previous", "tokens"])
@pytest.mark.parametrize("block", [2**24, 150, 1])
def test_tokenwise_equals_the_reference_in_blocks_of_any_size(
    recurrent: bool, values: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers_contextualizer, "_BLOCK", block)
    settings = config(variant="tokenwise", tokenwise_values=values, recurrent=recurrent, freeze_embeddings=False)
    model = model_of(settings)
    output = model(**batch_of(), output_attentions=True, output_hidden_states=True)
    weights = {name: value.detach() for name, value in model.state_dict().items()}
    for row, text in enumerate(TEXTS):
        states = tokenwise_of(settings, weights, text)
        for step in range(3):
            close(output.hidden_states[step + 1][row, : len(text)].detach(), states[step])
            assert output.hidden_states[step + 1][row, len(text) :].abs().sum() == 0
        close(output.context[row].detach(), states[-1].mean(dim=0))
        # The weights say what each token adds to the mean of the first step.
        tokens = output.hidden_states[0][row]
        close((output.attentions[0][row] * tokens).sum(dim=0).detach(), states[0].mean(dim=0))
    gradients = torch.autograd.grad(output.context.square().sum(), list(model.parameters()))
    monkeypatch.setattr(layers_contextualizer, "_BLOCK", 2**24)
    whole = torch.autograd.grad(model(**batch_of()).context.square().sum(), list(model.parameters()))
    for one, other in zip(gradients, whole, strict=True):
        close(one, other)


def test_a_token_alone_is_its_own_context() -> None:
    for variant in ("contextualizer", "tokenwise"):
        model = model_of(config(variant=variant))
        output = model(**batch_of([[5], [7]]), output_hidden_states=True)
        close(output.context, output.hidden_states[0][:, 0])


def test_one_recurrent_step_is_one_regular_step_and_equal_factors_make_it_recurrent() -> None:
    recurrent = model_of(config())
    regular = model_of(config(recurrent=False))
    with torch.no_grad():
        for name in ("token_factors", "context_factors", "feature_factors"):
            getattr(regular.steps, name).copy_(getattr(recurrent.steps, name).expand(3, -1, -1))
        regular.start.drawn.copy_(recurrent.start.drawn)
        close(regular(**batch_of()).context, recurrent(**batch_of()).context)  # U x hoisted, and not
        one, other = model_of(config(num_steps=1)), model_of(config(num_steps=1, recurrent=False))
        assert torch.equal(one(**batch_of()).context, other(**batch_of()).context)


# -- order and padding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["contextualizer", "tokenwise"])
def test_order_counts_only_with_positions(variant: str) -> None:
    text, order = [3, 7, 4, 9], [2, 0, 3, 1]
    shuffled = [text[place] for place in order]
    without = model_of(config(position_dim=0, variant=variant))
    first, second = without(**batch_of([text])), without(**batch_of([shuffled]))
    close(first.context, second.context)
    if variant == "tokenwise":  # equivariant
        close(first.last_hidden_state[:, order], second.last_hidden_state)
    model = model_of(config(variant=variant))
    assert (model(**batch_of([text])).context - model(**batch_of([shuffled])).context).abs().max() > 1e-3


def test_positions_count_the_words() -> None:
    """Padding in front or inside changes nothing."""
    model = model_of(config())
    ids, mask = torch.tensor([[0, 3, 0, 7, 4]]), torch.tensor([[0, 1, 0, 1, 1]])
    close(model(ids, attention_mask=mask).context, model(torch.tensor([[3, 7, 4]])).context)


@pytest.mark.parametrize("variant", ["contextualizer", "tokenwise"])
def test_a_document_without_words_has_the_context_zero(variant: str) -> None:
    model = classifier_of(config(variant=variant, num_labels=4))
    ids = torch.tensor([[3, 4], [0, 0]])
    for document in (ids, ids[1:], ids[1:, :0]):
        output = model(
            document, attention_mask=(document > 0).long(), output_hidden_states=True, output_attentions=True
        )
        assert torch.equal(output.logits[-1], model.classifier.bias)
        assert torch.equal(output.context_history[-1], torch.zeros(3, 9, dtype=torch.float64))
        assert not any(bool(a[-1].any()) for a in output.attentions)
    loss = model.train()(ids, attention_mask=(ids > 0).long(), labels=torch.tensor([0, 1])).loss
    loss.backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("changes", [{}, {"eval_context_samples": 2}, {"variant": "tokenwise"}])
def test_token_weights_are_shares_of_the_words(changes: dict[str, Any]) -> None:
    model = classifier_of(config(**changes))
    batch = batch_of()
    weights = model.token_weights(**batch).detach()
    assert weights.shape == (3, 3, 6)
    close(weights.sum(dim=-1), torch.ones(3, 3, dtype=torch.float64))
    assert weights[~batch["attention_mask"].bool().unsqueeze(1).expand_as(weights)].abs().max() == 0
    attentions = model(**batch, output_attentions=True).attentions
    close(weights[:, 1], attentions[1].mean(dim=-1).detach())


def test_word_vectors_in_place_of_ids() -> None:
    model = model_of(config())
    batch = batch_of()
    words = model.embeddings.words(batch["input_ids"])
    expected = model(**batch, output_hidden_states=True)
    mask = batch["attention_mask"]
    close(model(inputs_embeds=words, attention_mask=mask).context, expected.context)
    close(model(inputs_embeds=expected.hidden_states[0], attention_mask=mask).context, expected.context)


# -- starts --------------------------------------------------------------------------------------------------------


def test_training_draws_a_start_for_each_document() -> None:
    model = model_of(config(num_steps=1)).train()
    batch = batch_of([[3, 7, 9], [3, 7, 9]])
    torch.manual_seed(1)
    first, second = model(**batch).context, model(**batch).context
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, second)


def test_a_fixed_start_is_saved_and_leaves_the_global_generator_alone(tmp_path: Path) -> None:
    model = classifier_of(config())
    state = torch.random.get_rng_state()
    expected = model(**batch_of()).logits
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(model(**batch_of()).logits, expected)
    assert len(set(model.contextualizer.start.drawn[0].tolist())) == 9
    model.save_pretrained(tmp_path)
    loaded = ContextualizerForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(loaded.contextualizer.start.drawn, model.contextualizer.start.drawn)
    assert torch.equal(loaded(**batch_of()).logits, expected)


def test_a_redrawn_start_differs_from_time_to_time() -> None:
    model = model_of(config(eval_context="redraw", num_steps=1))
    assert not torch.equal(model(**batch_of()).context, model(**batch_of()).context)
    assert "start.drawn" not in model.state_dict()


def test_several_starts_give_the_mean_of_their_probabilities() -> None:
    settings = config(eval_context_samples=3, num_labels=4)
    model = classifier_of(settings)
    drawn = model.contextualizer.start.drawn.clone()
    alone = []
    for start in drawn:
        model.contextualizer.start.drawn = start.expand(3, -1)
        alone.append(model(**batch_of()).logits.softmax(dim=-1))
    model.contextualizer.start.drawn = drawn
    output = model(**batch_of(), labels=torch.tensor([1, 0, 3]))
    mean = torch.stack(alone).mean(dim=0)
    close(output.logits.exp(), mean)
    close(output.loss, -(mean[0, 1].log() + mean[1, 0].log() + mean[2, 3].log()) / 3)
    assert (alone[0] - alone[1]).abs().max() > 1e-4


def test_concatenated_steps_reach_the_classifier() -> None:
    model = classifier_of(config(concatenate_steps=True))
    output = model(**batch_of(), output_hidden_states=True)
    wanted = F.linear(output.context_history.flatten(1), model.classifier.weight, model.classifier.bias)
    close(output.logits, wanted)


# -- word vectors --------------------------------------------------------------------------------------------------


def test_frozen_vectors_follow_from_the_seed_and_are_not_saved(tmp_path: Path) -> None:
    model = ContextualizerForSequenceClassification(config(embedding_seed=7, embedding_bound=0.5))
    table = model.contextualizer.embeddings.words.weight
    assert torch.equal(table[1:], 0.5 * seeded_uniform(20, 5, 7)[1:])
    assert torch.equal(table[0], torch.zeros(5))
    assert not table.requires_grad
    model.save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        saved = set(file.keys())
    assert saved == set(model.state_dict()) - {"contextualizer.embeddings.words.weight"}
    loaded, info = ContextualizerForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert torch.equal(loaded.contextualizer.embeddings.words.weight, table)
    assert not loaded.contextualizer.embeddings.words.weight.requires_grad
    base = ContextualizerModel.from_pretrained(tmp_path)
    assert torch.equal(base.embeddings.words.weight, table)
    base.save_pretrained(tmp_path / "base")
    again = ContextualizerForSequenceClassification.from_pretrained(
        tmp_path / "base"
    ).contextualizer.embeddings.words.weight
    assert torch.equal(again, table)


@pytest.mark.parametrize("changes", [{"embedding_seed": None}, {"freeze_embeddings": False}])
def test_other_vectors_are_saved(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = ContextualizerModel(config(**changes))
    assert model.embeddings.words.weight.requires_grad == (not model.config.freeze_embeddings)
    assert 0.5 < float(model.embeddings.words.weight.detach().abs().max()) <= 1
    with torch.no_grad():
        model.embeddings.words.weight.mul_(3)
    model.save_pretrained(tmp_path)
    assert torch.equal(
        ContextualizerModel.from_pretrained(tmp_path).embeddings.words.weight, model.embeddings.words.weight
    )


def test_frozen_vectors_do_not_change_in_training() -> None:
    model = ContextualizerForSequenceClassification(config())
    before = model.contextualizer.embeddings.words.weight.clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        model(**batch_of(), labels=torch.tensor([0, 1, 0])).loss.backward()
        optimizer.step()
    assert torch.equal(model.contextualizer.embeddings.words.weight, before)
    assert model.contextualizer.embeddings.words.weight.grad is None


def test_vectors_that_follow_from_a_seed_cannot_be_replaced() -> None:
    model = ContextualizerForSequenceClassification(config(embedding_seed=4))
    for change in (
        lambda: model.resize_token_embeddings(30),
        lambda: model.set_input_embeddings(torch.nn.Embedding(3, 5)),
    ):
        with pytest.raises(ValueError, match="embedding_seed=4 and are not saved"):
            change()
    other = ContextualizerForSequenceClassification(config(embedding_seed=None))
    other.resize_token_embeddings(30)
    assert other.get_input_embeddings().weight.shape == (30, 5)


def test_word_dropout_leaves_whole_words_out() -> None:
    model = model_of(config(word_dropout=0.5, initial_context="ones", rank=1, num_steps=1)).train()
    with torch.no_grad():
        model.steps.feature_factors.zero_()  # the context is the mean of what is left
    text = list(range(1, 11))
    torch.manual_seed(0)
    left = []
    for _ in range(200):
        output = model(**batch_of([text]), output_hidden_states=True)
        kept = output.hidden_states[0][0].abs().sum(dim=-1) > 0
        left.append(kept)
        close(output.context[0] * kept.sum().clamp(min=1), output.hidden_states[0][0].sum(dim=0))
    share = torch.stack(left).double().mean(dim=0)
    assert abs(float(share.mean()) - 0.5) < 0.04
    assert float((share - 0.5).abs().max()) < 0.13
    model.eval()
    assert bool((model(**batch_of([text]), output_hidden_states=True).hidden_states[0][0].abs().sum(dim=-1) > 0).all())


# -- sizes, numbers, configuration ---------------------------------------------------------------------------------

PAPER = [
    ("recurrent", {}, 157_042),
    ("recurrent", {"num_steps": 20}, 157_042),
    ("learned_start", {}, 157_562),
    ("regular", {}, 781_042),
    ("regular", {"num_steps": 10}, 1_561_042),
    ("regular", {"num_steps": 20}, 3_121_042),
]


@pytest.mark.parametrize(("variant", "changes", "expected"), PAPER)
def test_parameter_counts_of_the_paper(variant: str, changes: dict[str, Any], expected: int) -> None:
    with torch.device("meta"):
        model = ContextualizerForSequenceClassification(
            ContextualizerConfig.of_variant(variant, vocab_size=50, **changes)
        )
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == expected


@pytest.mark.parametrize("words", [5674, 1763])
def test_parameter_count_with_learned_vectors(words: int) -> None:
    with torch.device("meta"):
        settings = ContextualizerConfig.of_variant("learned_embeddings", vocab_size=words + 1)
        model = ContextualizerForSequenceClassification(settings)
    padding = 250  # a row that is never trained
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) - padding == 250 * words + 81_542


def test_bfloat16_is_close() -> None:
    settings = config(num_labels=3)
    model = classifier_of(settings).float()
    expected = model(**batch_of()).logits
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(model(**batch_of()).logits.float(), expected, rtol=0.05, atol=0.05)
    torch.testing.assert_close(model.bfloat16()(**batch_of()).logits.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position_dim": 3}, "position_dim must be even .* got 3"),
        ({"position_dim": -2}, "got -2"),
        ({"num_steps": 0}, "num_steps must be at least 1, got 0"),
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"initial_context": "zeros"}, "zeros"),
        ({"eval_context": "often"}, "often"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"word_dropout": -0.1}, "word_dropout .* got -0.1"),
        ({"eval_context_samples": 2, "initial_context": "ones"}, "eval_context_samples=2 needs .* got 'ones'"),
        ({"eval_context_samples": 2, "variant": "tokenwise"}, "got 'random' and 'tokenwise'"),
        ({"embedding_bound": 0.0}, "embedding_bound must be above 0, got 0.0"),
        ({"word_dims": 5}, "did you mean 'word_dim'"),
    ],
)
def test_bad_configurations_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        config(**changes)


def test_an_unknown_variant_is_named() -> None:
    with pytest.raises(ValueError, match="'plain'; known: recurrent, regular"):
        ContextualizerConfig.of_variant("plain", vocab_size=5)


def test_a_checkpoint_with_another_start_names_the_vector(tmp_path: Path) -> None:
    ContextualizerForSequenceClassification(config(initial_context="learned")).save_pretrained(tmp_path)
    ones = config(initial_context="ones")
    _, info = ContextualizerForSequenceClassification.from_pretrained(tmp_path, config=ones, output_loading_info=True)
    assert info["unexpected_keys"] == {"contextualizer.start.learned"}
    ContextualizerForSequenceClassification(ones).save_pretrained(tmp_path / "ones")
    learned = config(initial_context="learned")
    _, info = ContextualizerForSequenceClassification.from_pretrained(
        tmp_path / "ones", config=learned, output_loading_info=True
    )
    assert info["missing_keys"] == {"contextualizer.start.learned"}


# -- a task that needs order ---------------------------------------------------------------------------------------


def a_before_b(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of 8 words in which A (1) and B (2) occur once each: is A in front?"""
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(rows):
        text = [draw.randrange(3, 20) for _ in range(8)]
        first, second = sorted(draw.sample(range(8), 2))
        label = draw.randrange(2)
        text[first], text[second] = (1, 2) if label else (2, 1)
        texts.append(text)
        labels.append(label)
    return torch.tensor(texts), torch.tensor(labels)


def accuracy_of_order(position_dim: int) -> float:
    torch.manual_seed(0)
    settings = ContextualizerConfig(
        vocab_size=20, word_dim=24, position_dim=position_dim, rank=24, num_steps=2, initial_context="learned",
        freeze_embeddings=False,
    )  # fmt: skip
    model = ContextualizerForSequenceClassification(settings)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ids, labels = a_before_b(1024, seed=1)
    for step in range(400):
        rows = slice(step * 64 % 1024, step * 64 % 1024 + 64)
        optimizer.zero_grad()
        model(ids[rows], labels=labels[rows]).loss.backward()
        optimizer.step()
    ids, labels = a_before_b(500, seed=2)
    with torch.no_grad():
        return float((model.eval()(ids).logits.argmax(dim=-1) == labels).double().mean())


@pytest.mark.slow
def test_order_is_learnt_with_positions_and_not_without() -> None:
    assert accuracy_of_order(position_dim=8) > 0.95
    assert accuracy_of_order(position_dim=0) < 0.6


@pytest.mark.parametrize(
    "changes", [{}, {"recurrent": False, "concatenate_steps": True}, {"variant": "tokenwise"}], ids=str
)
def test_a_linear_start_reads_the_mean_of_the_words_and_goes_on_from_there(changes: dict[str, Any]) -> None:
    model = classifier_of(config(freeze_embeddings=False, num_labels=3, **changes))
    weights = torch.randn(3, 2, dtype=torch.float64)
    model.init_from_linear_classifier(weights)
    table = model.get_input_embeddings().weight
    means = torch.stack([table[text, :2].mean(dim=0) for text in TEXTS])
    close(model(**batch_of()).logits, means @ weights.T)
    model(**batch_of(), labels=torch.tensor([0, 1, 2])).loss.backward()
    factors = model.contextualizer.steps.feature_factors
    assert (factors.grad.abs().sum(dim=(1, 2)) > 0).any()


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 10)])
def test_a_linear_start_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(2, F\) with F at most 9"):
        classifier_of(config()).init_from_linear_classifier(torch.zeros(shape))
