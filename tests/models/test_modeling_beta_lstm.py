"""The heads of the Beta-LSTM: losses, streams, draws, generation, and what a configuration refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch.distributions import Bernoulli, Gamma, kl_divergence

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import (
    BetaLstmForCausalLM,
    BetaLstmForSequenceClassification,
    BetaLstmForTokenClassification,
    BetaLstmModel,
)

KEYS = 6


def music(seed: int = 0, **changes: Any) -> BetaLstmForTokenClassification:
    config = BetaLstmConfig(**{"input_size": KEYS, "num_labels": KEYS, "hidden_size": 5, **changes})
    torch.manual_seed(seed)
    return BetaLstmForTokenClassification(config).double().eval()


def words(head: type[Any], **changes: Any) -> Any:
    config = BetaLstmConfig(**{"vocab_size": 30, "word_dim": 4, "hidden_size": 5, **changes})
    torch.manual_seed(0)
    return head(config).double().eval()


def rolls(lengths: tuple[int, ...] = (7, 3, 1)) -> dict[str, torch.Tensor]:
    """Random rolls, what sounds one step later, and the mask."""
    generator = torch.Generator().manual_seed(1)
    whole = torch.randint(0, 2, (len(lengths), max(lengths) + 1, KEYS), generator=generator).double()
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
    return {"inputs_embeds": whole[:, :-1], "labels": whole[:, 1:], "attention_mask": mask}


def test_the_loss_of_music_is_nats_a_step() -> None:
    model, batch = music(), rolls()
    output = model(**batch)
    real = batch["attention_mask"].bool()
    expected = -Bernoulli(logits=output.logits[real]).log_prob(batch["labels"][real]).sum() / real.sum()
    torch.testing.assert_close(output.loss, expected)
    assert output.kl is None


def test_the_prior_is_added_with_its_weight() -> None:
    batch = rolls()
    plain, with_prior = music()(**batch), music(kl_lambda=0.3, kl_gamma_prior=2)(**batch, output_gate_statistics=True)
    real = batch["attention_mask"].bool()
    summed = torch.zeros((), dtype=torch.float64)
    for layer in with_prior.gate_statistics:
        summed += kl_divergence(Gamma(layer.shapes[real], 1.0), Gamma(torch.tensor(2.0).double(), 1.0)).sum()
    torch.testing.assert_close(with_prior.kl.sum(), summed)
    torch.testing.assert_close(with_prior.loss, plain.loss + 0.3 * summed / real.sum())


def test_the_prior_of_a_classifier_is_a_mean_over_texts() -> None:
    batch: dict[str, Any] = {
        "input_ids": torch.randint(1, 30, (3, 6), generator=torch.Generator().manual_seed(1)),
        "attention_mask": torch.arange(6) < torch.tensor([[6], [2], [4]]),
        "labels": torch.tensor([0, 1, 1]),
    }
    plain = words(BetaLstmForSequenceClassification)(**batch)
    model = words(BetaLstmForSequenceClassification, kl_lambda=0.1)
    output = model(**batch)
    kl = model.encoder(batch["input_ids"], attention_mask=batch["attention_mask"]).kl
    assert (kl[batch["attention_mask"]] > 0).all()
    torch.testing.assert_close(output.auxiliary_loss, 0.1 * kl.sum() / 3)
    torch.testing.assert_close(output.loss, plain.loss + output.auxiliary_loss)


def test_a_piece_without_targets_costs_nothing() -> None:
    model = music(kl_lambda=1.0).train()
    for batch in (
        {"inputs_embeds": torch.zeros(1, 0, KEYS).double(), "labels": torch.zeros(1, 0, KEYS).double()},
        {**rolls((2,)), "attention_mask": torch.zeros(1, 2)},
    ):
        output = model(**batch)
        assert output.loss.item() == 0
        output.loss.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is None or not parameter.grad.any(), name


def test_a_certain_and_right_prediction_costs_no_infinity() -> None:
    model, batch = music().float(), rolls((3,))
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.fill_(200.0)
    batch = {name: x.float() for name, x in batch.items()}
    expected = 200.0 * (1 - batch["labels"]).sum() / 3
    torch.testing.assert_close(model(**batch).loss, expected)


def test_a_language_model_predicts_the_next_word() -> None:
    model = words(BetaLstmForCausalLM)
    ids = torch.randint(1, 30, (3, 6), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
    labels = ids.masked_fill(ids == ids[0, 2], -100)
    output = model(input_ids=ids, attention_mask=mask, labels=labels)
    losses = []
    for row, length in enumerate((6, 1, 4)):
        for step in range(length - 1):
            if labels[row, step + 1] != -100:
                losses.append(-output.logits[row, step].log_softmax(dim=0)[ids[row, step + 1]])
    torch.testing.assert_close(output.loss, torch.stack(losses).mean())


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_vector_of_a_text_is_its_last_state(bidirectional: bool) -> None:
    model = words(BetaLstmModel, bidirectional=bidirectional, num_layers=1)
    ids = torch.randint(1, 30, (3, 6), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [2], [0]])
    output = model(ids, attention_mask=mask, use_cache=True)
    hidden = torch.cat([hidden for hidden, _ in output.state], dim=1)
    torch.testing.assert_close(output.pooler_output, hidden)
    assert not output.pooler_output[2].any()


def test_property_10_a_piece_may_be_read_in_halves() -> None:
    model, batch = music(), rolls((7,))
    whole = model(inputs_embeds=batch["inputs_embeds"], use_cache=True)
    first = model(inputs_embeds=batch["inputs_embeds"][:, :3], use_cache=True)
    second = model(inputs_embeds=batch["inputs_embeds"][:, 3:], state=first.state, use_cache=True)
    torch.testing.assert_close(torch.cat([first.logits, second.logits], dim=1), whole.logits)
    for found, expected in zip(second.state, whole.state, strict=True):
        assert len(found) == 2
        torch.testing.assert_close(found, expected)
    assert first.state[0][0].shape == (1, 5)
    assert model(**batch).state is None


@pytest.mark.parametrize("cell", ["bibeta5", "kumaraswamy"])
def test_sampled_probabilities_are_a_mean_over_draws(cell: str) -> None:
    model, batch = music(cell=cell), rolls()
    del batch["labels"]
    found = model.sampled_probabilities(3, torch.Generator().manual_seed(2), **batch)
    generator, draws = torch.Generator().manual_seed(2), []
    for _ in range(3):
        with model.encoder.rnn.gate_sampling_mode("sample", generator):
            draws.append(model(**batch).logits.sigmoid())
    torch.testing.assert_close(found, torch.stack(draws).mean(dim=0))
    assert not torch.allclose(draws[0], draws[1])
    assert model.encoder.rnn.gate_sampling == "auto"
    many = model.sampled_probabilities(300, torch.Generator().manual_seed(2), **batch)
    torch.testing.assert_close(many, model(**batch).logits.sigmoid(), rtol=0, atol=0.03)
    classifier = words(BetaLstmForSequenceClassification)
    probabilities = classifier.sampled_probabilities(2, input_ids=torch.ones(2, 3).long())
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(2).double())
    with pytest.raises(ValueError, match="num_samples must be at least 1, got 0"):
        model.sampled_probabilities(0, **batch)


def test_generation_streams_with_the_state() -> None:
    model = words(BetaLstmForCausalLM)
    prompt = torch.tensor([[3, 7, 11], [4, 4, 9]])
    found = model.generate(prompt, max_new_tokens=5, do_sample=False)
    expected = prompt
    for _ in range(5):
        following = model(expected).logits[:, -1].argmax(dim=1)
        expected = torch.cat([expected, following.unsqueeze(1)], dim=1)
    assert torch.equal(found, expected)
    assert torch.equal(model.generate(prompt, max_new_tokens=5, do_sample=False, use_cache=False), expected)
    lengths: list[int] = []
    model.encoder.register_forward_pre_hook(
        lambda module, given, named: lengths.append((given[0] if given else named["input_ids"]).size(1)),
        with_kwargs=True,
    )
    model.generate(prompt, max_new_tokens=3, do_sample=False)
    assert lengths == [3, 1, 1]


def test_generation_searches_with_beams() -> None:
    model = words(BetaLstmForCausalLM)
    prompt = torch.tensor([[3, 7, 11], [4, 4, 9]])
    found = model.generate(prompt, max_new_tokens=4, do_sample=False, num_beams=3)
    without = model.generate(prompt, max_new_tokens=4, do_sample=False, num_beams=3, use_cache=False)
    assert torch.equal(found, without)


def test_generation_refuses_padding() -> None:
    model = words(BetaLstmForCausalLM)
    with pytest.raises(ValueError, match="needs prompts of one length, without padding"):
        model.generate(torch.tensor([[3, 7, 0]]), attention_mask=torch.tensor([[1, 1, 0]]), max_new_tokens=2)


def test_steps_that_are_no_text_are_checked() -> None:
    model, batch = music(), rolls()
    x = batch["inputs_embeds"]
    for arguments, message in (
        ({"input_ids": torch.ones(1, 2).long()}, "the model reads no words .* pass inputs_embeds"),
        ({}, "pass inputs_embeds"),
        ({"inputs_embeds": x[..., 1:]}, r"inputs_embeds of shape \(3, 7, 5\) .* expected \(batch, steps, 6\) floats"),
        ({"inputs_embeds": x.long()}, "type torch.int64"),
        ({"inputs_embeds": x[:0]}, "is an empty batch"),
        ({"inputs_embeds": x, "attention_mask": torch.ones(3, 6)}, "attention_mask of shape .* does not fit"),
        ({"inputs_embeds": x, "attention_mask": torch.arange(7).expand(3, 7) % 2}, "after padding"),
        ({"inputs_embeds": x, "state": ((torch.zeros(3, 4), torch.zeros(3, 4)),)}, "h_0 has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            model(**arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size is 0: a language model needs words"),
        ({"bidirectional": True}, "must not read the words that it predicts"),
    ],
)
def test_a_language_model_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        words(BetaLstmForCausalLM, **changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cell": "gru"}, "cell"),
        ({"hidden_size": 0}, "hidden_size must be at least 1, got 0"),
        ({"input_size": 0}, "input_size must be at least 1, got 0"),
        ({"gate_eps": 0.0}, "gate_eps must be above 0 and below 1, got 0.0"),
        ({"kl_lambda": -1.0}, r"kl_lambda must be 0 \(no prior\) or above, got -1.0"),
        ({"kl_lambda": 1.0, "cell": "lstm"}, "kl_lambda=1.0 with cell='lstm', which has no Gamma variables"),
        ({"kl_gamma_prior": 0.0}, "kl_gamma_prior must be above 0, got 0.0"),
        ({"kl_gamma_prior": [0.5, 0.5]}, "kl_gamma_prior has 2 shapes, but cell 'bibeta5' has 5"),
        ({"kl_gamma_prior": [0.5, 0.5, 0.5, 0.5, -1.0]}, "kl_gamma_prior must be above 0, got"),
        ({"weight_dropout": 1.0}, "weight_dropout must be at least 0 and below 1, got 1.0"),
        ({"wide_buckets": 3}, "wide_buckets must be at least 0 and below vocab_size = 0, got 3"),
    ],
)
def test_configurations_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, StrictDataclassError), match=message):
        BetaLstmConfig(**fields)


def test_padding_is_a_word_only_where_there_are_words(tmp_path: Path) -> None:
    for config, padding in ((BetaLstmConfig(), None), (BetaLstmConfig(vocab_size=30), 0)):
        config.save_pretrained(tmp_path)
        for each in (config, BetaLstmConfig.from_pretrained(tmp_path)):
            assert each.pad_token_id == padding


@pytest.mark.parametrize("variant", BetaLstmConfig.variants)
def test_variants_for_music_have_about_as_many_parameters(variant: str) -> None:
    config = BetaLstmConfig.of_variant(variant, num_labels=88)
    with torch.device("meta"):
        model = BetaLstmForTokenClassification(config)
    assert model.num_parameters() == pytest.approx(567_000, abs=3000)
    assert config.cell == variant
