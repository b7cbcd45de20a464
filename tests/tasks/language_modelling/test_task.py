"""The task against an LSTM written out in float64, and its state from window to window."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
from ctxzoo.tasks.language_modelling.task import (
    CARRIED,
    LanguageModellingScores,
    LanguageModellingTask,
    compute_token_losses,
    evaluate,
    line_scores,
)
from ctxzoo.training.task import NonFiniteLossError

DRAWN = {"cell": "bibeta5", "kl_lambda": 1e-3}


@pytest.fixture(scope="module")
def data() -> LanguageModellingDataModule:
    module = LanguageModellingDataModule("sample", batch_size=8, bptt=20)
    module.setup()
    return module


def made(data: LanguageModellingDataModule, **changes: Any) -> LanguageModellingTask:
    torch.manual_seed(1)
    config = {"cell": "lstm", "hidden_size": 6, "word_dim": 5, "embedding_seed": None, "embedding_bound": 1.0}
    model = {"model_type": "ctxzoo_beta_lstm", "num_layers": 2, **config, **changes, **data.model_sizes()}
    task = LanguageModellingTask(model_config=model)
    with torch.no_grad():
        for weight in task.model.parameters():
            weight.mul_(3)  # so that words differ
    return task


def reference_nats(model: Any, tokens: np.ndarray, end_id: int) -> np.ndarray:
    """The nats of each token by a plain LSTM over the whole text in float64, independent of the package's layers."""
    weights = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    layers = []
    for layer in range(model.config.num_layers):
        of_layer = {name: value for name, value in weights.items() if f"l{layer}" in name}
        (inputs,) = (value for name, value in of_layer.items() if "weight_ih" in name)
        (recurrent,) = (value for name, value in of_layer.items() if "weight_hh" in name)
        (bias,) = (value for value in of_layer.values() if value.ndim == 1)
        layers.append((inputs, recurrent, bias))
    (table,) = (value for name, value in weights.items() if "embeddings" in name)
    states = [(np.zeros(6), np.zeros(6)) for _ in layers]
    nats = np.zeros(len(tokens))
    for step, word in enumerate([end_id, *tokens[:-1]]):
        x = table[word]
        for number, (inputs, recurrent, bias) in enumerate(layers):
            h, c = states[number]
            forget, take, give, new = np.split(inputs @ x + recurrent @ h + bias, 4)
            c = c / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-take))
            x = np.tanh(c) / (1 + np.exp(-give))
            states[number] = (x, c)
        logits = weights["lm_head.weight"] @ x + weights["lm_head.bias"]
        nats[step] = np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[tokens[step]]
    return nats


@pytest.mark.parametrize("size", [7, 256])
def test_perplexity_is_that_of_one_long_pass_in_float64(data: LanguageModellingDataModule, size: int) -> None:
    task = made(data)
    stream = data.stream("test")
    nats = reference_nats(task.model, stream.tokens, stream.end_id)
    scores = evaluate(
        task.model, "sample", tokenizer=data.tokenizer, batch_size=size, progress=False, accelerator="cpu"
    )
    assert scores["nll"] == pytest.approx(nats.mean(), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(nats.mean()), rel=5e-5)
    assert scores["unknown_words"] == 0.0
    lines = line_scores(task.model, data, "test", accelerator="cpu")
    assert [line.row for line in lines] == list(range(100))
    assert [line.tokens for line in lines] == [len(text.split()) + 1 for text in data.lines("test")]
    assert [line.nll for line in lines] == pytest.approx(np.bincount(stream.lines, nats).tolist(), rel=1e-4)


def test_the_state_is_carried_from_window_to_window_and_begins_anew(data: LanguageModellingDataModule) -> None:
    task = made(data).eval()
    batches = list(islice(data.train_dataloader(), 4))
    whole = task.model(input_ids=torch.cat([batch["input_ids"] for batch in batches], dim=1)).logits
    for _ in range(2):  # the second epoch is like the first
        logits = torch.cat([task._run_model(batch, "training").logits for batch in batches], dim=1)
        torch.testing.assert_close(logits, whole, rtol=1e-4, atol=1e-5)


def test_no_gradient_flows_into_the_window_before(data: LanguageModellingDataModule) -> None:
    task = made(data)
    first, second, *_ = data.train_dataloader()
    task.compute_training_loss(first)
    task.compute_training_loss(second).backward()
    words = {name: value.grad for name, value in task.model.named_parameters() if "embeddings" in name}
    (gradient,) = words.values()
    read = set(second["input_ids"].flatten().tolist())
    assert {row for row in range(len(gradient)) if gradient[row].any()} <= read


def test_scoring_leaves_the_state_of_the_training_alone(data: LanguageModellingDataModule) -> None:
    task = made(data)
    first, *_ = data.train_dataloader()
    task.compute_training_loss(first)
    before = task._carried["training"]
    for batch in data.split_dataloader("validation"):
        task.validation_step(batch, 0)
    assert task._carried["training"] is before


def test_a_checkpoint_holds_the_state(data: LanguageModellingDataModule) -> None:
    first, second, *_ = data.train_dataloader()
    one, other = made(data).eval(), made(data).eval()
    with pytest.raises(ValueError, match="a window in the middle of its streams came first"):
        other.compute_training_loss(second)
    one.compute_training_loss(first)
    checkpoint: dict[str, Any] = {}
    one.on_save_checkpoint(checkpoint)
    assert not any(state.requires_grad for layer in checkpoint[CARRIED] for state in layer)
    other.on_load_checkpoint(checkpoint)
    assert torch.equal(one.compute_training_loss(second), other.compute_training_loss(second))


def test_a_prior_adds_its_divergence(data: LanguageModellingDataModule) -> None:
    first, *_ = data.train_dataloader()
    plain, with_prior = made(data, cell="bibeta5").eval(), made(data, **DRAWN).eval()
    divergence = with_prior.model(input_ids=first["input_ids"]).kl.mean()
    assert divergence.item() > 0
    expected = plain.compute_training_loss(first) + 1e-3 * divergence
    torch.testing.assert_close(with_prior.compute_training_loss(first), expected)


def test_scores_are_means_over_tokens_and_not_over_windows() -> None:
    scores = LanguageModellingScores()
    scores.update(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, False, False]]))
    scores.update(torch.tensor([[6.0]]), torch.tensor([[False]]))
    assert scores.compute() == pytest.approx({"perplexity": math.exp(3.0), "nll": 3.0, "unknown_words": 25.0})
    scores.update(torch.tensor([[math.nan]]), torch.tensor([[False]]))
    assert math.isnan(scores.compute()["perplexity"])  # and not the mean of the others


def test_a_lower_perplexity_is_better() -> None:
    assert LanguageModellingTask.is_lower_better(LanguageModellingTask.monitor)


def test_a_loss_that_is_not_finite_names_the_lines(data: LanguageModellingDataModule) -> None:
    task = made(data)
    task.trainer = type("Trainer", (), {"optimizers": [], "global_step": 0, "current_epoch": 0})()
    first, *_ = data.train_dataloader()
    with pytest.raises(NonFiniteLossError, match=r"lines of the training split at which the windows begin: \[0, "):
        task._refuse_non_finite_loss(torch.tensor(math.nan), first)


def test_a_kernel_encoder_reads_streams_with_a_memory_of_bounded_length(data: LanguageModellingDataModule) -> None:
    torch.manual_seed(1)
    sizes = {"hidden_size": 8, "num_heads": 2, "num_layers": 2, "word_dim": 8, "num_features": 4, "causal": True}
    config = {"model_type": "ctxzoo_kernel_encoder", "attention": "mikan", "memory_length": 30, "position": "rotary"}
    task = LanguageModellingTask(model_config={**config, **sizes, **data.model_sizes()}).eval()
    windows = list(data.train_dataloader())[:4]
    for batch in windows:
        loss = task.compute_training_loss(batch)
    carried = task._carried["training"]
    assert int(carried[0][0][0]) == 80  # words that were read
    assert {layer[0].size(2) for layer in carried[1:]} == {30}  # keys that are kept
    output = task._run_model(windows[0], "training")
    plain = compute_token_losses(output.logits, windows[0]["targets"]).mean()
    weighed = task.compute_training_loss(windows[0])
    torch.testing.assert_close(weighed - plain, 0.1 * output.kl.sum() / windows[0]["targets"].numel())
    assert loss.isfinite()
