"""Training of word vectors by PyTorch: its steps, rates, guards and what it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from ctxzoo.tasks.word_embeddings import task as word_prediction_task
from ctxzoo.tasks.word_embeddings import torch_trainer as torch_embedding_trainer
from ctxzoo.tasks.word_embeddings.data import SentenceBlock
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS
from ctxzoo.tasks.word_embeddings.task import WordPredictionTask
from ctxzoo.tasks.word_embeddings.torch_trainer import TorchEmbeddingTrainer
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress
from tests.support.tiny_corpus import tiny_corpus
from tests.support.tiny_tagger import tiny_tagger
from tests.support.torch_embedding_runs import SPECIAL, model_of, pairs_corpus, settings, trainer_of


class AfterSteps(lightning.Callback):
    """Calls a function with trainer and task after each step."""

    def __init__(self, act: Any) -> None:
        self.act = act

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.act(trainer, pl_module, batch)


def fit_with(trainer: TorchEmbeddingTrainer, act: Any, monkeypatch: pytest.MonkeyPatch) -> EmbeddingProgress:
    build = torch_embedding_trainer.build_trainer

    def built(*arguments: Any, **options: Any) -> lightning.Trainer:
        made = build(*arguments, **options)
        made.callbacks.insert(0, AfterSteps(act))
        return made

    monkeypatch.setattr(torch_embedding_trainer, "build_trainer", built)
    return trainer.fit()


@pytest.mark.parametrize("architecture", CUSTOMS)
def test_a_step_follows_the_summed_gradient_in_float64(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    """A batch of all sentences, where no row moves as far as it may not."""
    monkeypatch.setattr(word_prediction_task, "LONGEST_STEP", 1e9)
    model = model_of(architecture=architecture)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
        model.word_embedding.word_vectors.weight[:SPECIAL].zero_()
    start = {name: value.clone() for name, value in model.state_dict().items()}
    corpus = pairs_corpus(9)
    training = settings(architecture, epochs=1, learning_rate=1e-3, logit_learning_rate=2e-3)
    trainer = trainer_of(tmp_path, training, model, corpus, batch_size=10**6)
    order = np.random.default_rng([0, 0]).permutation(9)
    batch = trainer.data.batches[SentenceBlock(order, (0, 0, 1))]
    trainer.fit()

    expected = model_of(architecture=architecture).double()
    expected.load_state_dict(start)
    expected.sampled_loss(**batch, input_gradient=training.input_gradient).sum().backward()
    for name, parameter in expected.named_parameters():
        of_logits = any(part in word_prediction_task.LOGITS for part in name.split("."))
        moved = (model.get_parameter(name) - start[name]).double() / (2e-3 if of_logits else 1e-3)
        assert parameter.grad is not None
        assert parameter.grad.abs().max() > 0.05, name
        assert torch.allclose(moved, -parameter.grad, rtol=1e-3, atol=3e-3), name
    assert not model.word_embedding.word_vectors.weight[:SPECIAL].any()


@pytest.mark.parametrize(("schedule", "logit_rate"), [("constant", None), ("linear", None), ("linear", 0.4)])
def test_rates_follow_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schedule: str, logit_rate: float | None
) -> None:
    rates: list[tuple[float, ...]] = []
    words: list[int] = []

    def note(trainer: Any, task: WordPredictionTask, batch: Any) -> None:
        rates.append(tuple(group["lr"] for group in trainer.optimizers[0].param_groups))
        words.append(task.progress.words)

    trainer = trainer_of(tmp_path, settings(schedule=schedule, logit_learning_rate=logit_rate))
    reached = fit_with(trainer, note, monkeypatch)
    left = [1 - step / len(rates) if schedule == "linear" else 1 for step in range(len(rates))]
    assert len(rates) > 20
    assert [vectors for vectors, _ in rates] == pytest.approx([0.1 * one for one in left])
    assert [logits for _, logits in rates] == pytest.approx([(logit_rate or 0.1) * one for one in left])
    assert words == sorted(words)
    assert words[-1] == reached.words == reached.total_words == 3 * len(pairs_corpus().ids)


def test_it_learns_and_the_word_before_gets_the_largest_logit(tmp_path: Path) -> None:
    model = model_of()
    training = settings(epochs=25, subsampling=0.0, schedule="constant", random_window=False)
    reached = trainer_of(tmp_path, training, model).fit()
    assert len(reached.epoch_losses) == 25
    assert 3.5 * np.log(2) < reached.epoch_losses[0] < 4 * np.log(2)  # at the start log 2 for each of 4 words
    assert reached.epoch_losses[-1] < 0.8 * reached.epoch_losses[0]
    assert reached.seconds > 0
    # What predicts the second word of a pair are the first words that lead to it: these become alike.
    unit = torch.nn.functional.normalize(model.word_embedding.word_vectors.weight[SPECIAL : SPECIAL + 12].detach())
    nearest = (unit @ unit.T - 2 * torch.eye(12)).topk(2).indices
    same = (nearest % 4 == torch.arange(12).unsqueeze(1) % 4).float().mean()
    assert same > 0.9


def test_large_batches_stay_finite_where_the_sum_alone_would_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = pairs_corpus(600)
    training = settings("cbow", epochs=6, learning_rate=0.5, schedule="constant", subsampling=0.0)
    start = model_of(architecture="cbow")
    reached = trainer_of(tmp_path / "limited", training, start, corpus, batch_size=1000).fit()
    assert reached.epoch_losses[-1] < reached.epoch_losses[0] < 10
    monkeypatch.setattr(word_prediction_task, "LONGEST_STEP", 1e9)
    diverging = trainer_of(tmp_path / "sum", training, model_of(architecture="cbow"), corpus, batch_size=1000)
    with pytest.raises(FloatingPointError, match=r"knows nothing: at most \d.* at step .* or the batch size"):
        diverging.fit()


def test_sentences_of_one_word_make_no_step_and_no_error(tmp_path: Path) -> None:
    model = model_of()
    start = {name: value.clone() for name, value in model.state_dict().items()}
    corpus = tiny_corpus([[1], [2], [3]], 16)
    reached = trainer_of(tmp_path, settings(epochs=1), model, corpus, batch_size=1).fit()
    assert reached.words == 3
    assert np.isnan(reached.epoch_losses).all()
    assert all(torch.equal(start[name], value) for name, value in model.state_dict().items())


def test_a_loss_that_is_not_finite_names_step_and_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(trainer: Any, task: WordPredictionTask, batch: Any) -> None:
        if trainer.global_step == 3:
            task.model.output_vectors.data.fill_(float("inf"))

    with pytest.raises(
        FloatingPointError, match=r"the loss is (nan|inf) at step 3, with the learning rate 0\.0\d+; lower"
    ):
        fit_with(trainer_of(tmp_path), spoil, monkeypatch)


def test_weights_that_are_not_finite_after_the_last_step_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(trainer: Any, task: WordPredictionTask, batch: Any) -> None:
        if trainer.is_last_batch:
            task.model.word_embedding.position_logits.data[0] = float("nan")

    with pytest.raises(FloatingPointError, match=r"position_logits is not finite after step \d+, with the learning"):
        fit_with(trainer_of(tmp_path), spoil, monkeypatch)


def test_mixed_precision_is_close_and_keeps_weights_and_loss_in_float32(tmp_path: Path) -> None:
    losses = {}
    for precision in ("32-true", "bf16-mixed"):
        model = model_of()
        reached = trainer_of(tmp_path / precision, settings(epochs=6), model, precision=precision).fit()
        losses[precision] = reached.epoch_losses
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert losses["bf16-mixed"] != losses["32-true"]
    assert losses["bf16-mixed"] == pytest.approx(losses["32-true"], rel=0.02)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_gpu_learns_as_a_cpu_does(tmp_path: Path, precision: str) -> None:
    expected = trainer_of(tmp_path / "cpu").fit()
    model = model_of()
    reached = trainer_of(tmp_path / "gpu", model=model, accelerator="gpu", precision=precision).fit()
    assert reached.epoch_losses == pytest.approx(expected.epoch_losses, rel=0.02)
    assert model.output_vectors.device.type == "cpu"
    assert model.output_vectors.any()


def test_the_tasks_model_comes_from_a_plain_config() -> None:
    task = WordPredictionTask(model_of().config.to_diff_dict(), training=settings().to_dict())
    assert isinstance(task.model, AutoModelForMaskedLM._model_mapping[type(task.model.config)])
    assert task.model.base_model.sparse_gradients


def test_the_tasks_model_is_that_of_a_checkpoint(tmp_path: Path) -> None:
    model = model_of()
    with torch.no_grad():
        model.output_vectors.normal_()
    model.save_pretrained(tmp_path / "words")
    task = WordPredictionTask(pretrained=str(tmp_path / "words"), training=settings().to_dict())
    assert task.model.training
    assert task.model.base_model.sparse_gradients
    for name, value in model.state_dict().items():
        assert torch.equal(task.model.state_dict()[name], value), name
    with pytest.raises(ValueError, match="give either model_config or pretrained"):
        WordPredictionTask(training=settings().to_dict())
    tiny_tagger().save_pretrained(tmp_path / "tagger")
    with pytest.raises(ValueError, match="model type 'ctxzoo_bilstm_tagger', but WordEmbeddingConfig reads"):
        WordPredictionTask(pretrained=str(tmp_path / "tagger"), training=settings().to_dict())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; expected 1 or more words"),
        ({"precision": "16-mixed"}, "precision is '16-mixed'; expected 32-true or bf16-mixed"),
        ({"training": settings(shared_noise=True)}, "shared_noise=True saves nothing in batches"),
        ({"corpus": tiny_corpus([[0, 1]])}, "the model has 16 words, the corpus 2"),
    ],
)
def test_bad_options_are_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trainer_of(tmp_path, **options)


def test_a_users_trainer_predicts_the_nats_of_every_centre(tmp_path: Path) -> None:
    made = trainer_of(tmp_path, training=settings(subsampling=0.0))
    trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=False, enable_progress_bar=False)
    found: Any = trainer.predict(made.task, datamodule=made.data)
    centres = torch.cat([batch["centres"] for batch in found])
    assert sorted(centres.tolist()) == sorted((np.asarray(pairs_corpus().ids) + SPECIAL).tolist())
    losses = torch.cat([batch["loss"] for batch in found])
    assert losses.shape == centres.shape
    assert (losses > 0).all()
