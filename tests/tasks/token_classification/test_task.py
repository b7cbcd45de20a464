"""Tagging: losses and scores against loops over words, padding left out, labels that must agree, learning."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import TokenClassificationTask
from ctxzoo.training.classification import label_fields
from tests.support.tiny_tagger import TAGS, tiny_tagger
from tests.tasks.text_classification.test_task import by_hand, trainer

SIZES: dict[str, Any] = {"word_dim": 8, "recurrent_size": 6, "projection_size": 7}


@pytest.fixture(scope="module")
def data() -> TokenClassificationDataModule:
    made = TokenClassificationDataModule("sample", batch_size=20, eval_batch_size=7)
    made.setup()
    return made


def task_for(data: TokenClassificationDataModule, **options: Any) -> TokenClassificationTask:
    torch.manual_seed(0)
    sizes = {**SIZES, **data.model_sizes(), **label_fields(data.label_names)}
    task = TokenClassificationTask(model_config=BilstmTaggerConfig(**sizes).to_dict(), **options)
    with torch.no_grad():
        task.model.classifier.weight.mul_(4)  # spread its opinions
    return task


def words_one_by_one(task: TokenClassificationTask, data: Any, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of all words, each sentence read alone."""
    task.model.eval()
    logits, labels = [], []
    for row in data.rows(split).tolist():
        sentence = data.texts(split)[row]
        inputs = data.tokenizer([sentence["tokens"]], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            logits += list(task.model(**inputs).logits[0].double().numpy())
        labels += sentence["labels"]
    return np.array(logits), np.array(labels)


def test_scores_of_a_split_are_those_of_its_words(data: Any, tmp_path: Path) -> None:
    task = task_for(data, label_smoothing=0.3)  # which is for training alone
    logged = trainer(tmp_path).validate(task, data, verbose=False)[0]
    expected = by_hand(*words_one_by_one(task, data, "validation"))
    assert set(logged) == {f"validation/{name}" for name in expected}
    for name, value in expected.items():
        assert logged[f"validation/{name}"] == pytest.approx(value, rel=1e-4), name


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_training_loss_is_the_mean_over_the_words_of_a_batch(data: Any, smoothing: float) -> None:
    task = task_for(data, label_smoothing=smoothing)
    task.model.eval()
    batch = next(iter(data.split_dataloader("test")))
    with torch.no_grad():
        log_probabilities = task.model(batch["input_ids"], batch["attention_mask"]).logits.log_softmax(dim=-1)
    losses = [
        -((1 - smoothing) * log_probabilities[row, place, tag] + smoothing * log_probabilities[row, place].mean())
        for row, tags in enumerate(batch["labels"].tolist())
        for place, tag in enumerate(tags)
        if tag != -100
    ]
    assert len(losses) == int(batch["attention_mask"].sum())
    assert task.compute_training_loss(batch).item() == pytest.approx(torch.stack(losses).mean().item(), rel=1e-5)
    if not smoothing:
        inputs = {name: value for name, value in batch.items() if name != "row"}
        assert task.compute_training_loss(batch).item() == pytest.approx(task.model(**inputs).loss.item(), rel=1e-5)


def test_tags_of_model_and_data_must_agree(data: Any, tmp_path: Path) -> None:
    task = task_for(data)
    other = TokenClassificationDataModule("sample", tag_column="upos", tokenizer=data.tokenizer)
    with pytest.raises(ValueError, match=r"model's labels are \[',', '.', 'CC', .*those of the data \['.', 'ADJ'"):
        trainer(tmp_path).validate(task, other, verbose=False)


def test_it_learns_tags_that_only_the_sentence_tells(tmp_path: Path) -> None:
    data = TokenClassificationDataModule("sample", batch_size=20)
    data.setup()
    lightning.seed_everything(0, verbose=False)
    task = task_for(data, optimizer="sgd", learning_rate=0.2, momentum=0.95)
    runner = trainer(tmp_path, max_steps=-1, max_epochs=4, gradient_clip_val=5.0)
    runner.fit(task, data)
    (optimizer,) = runner.optimizers
    assert isinstance(optimizer, torch.optim.SGD)
    assert (optimizer.defaults["lr"], optimizer.defaults["momentum"]) == (0.2, 0.95)
    scores = trainer(tmp_path).test(task, data, verbose=False)[0]
    # Unknown names and ambiguous words are a good part of the words.
    assert scores["test/accuracy"] > 99


def test_a_checkpoint_restores_the_task_with_weights_only(data: Any, tmp_path: Path) -> None:
    task = task_for(data, optimizer="sgd", momentum=0.95, learning_rate=0.125)
    runner = trainer(tmp_path, max_steps=1)
    runner.fit(task, data)
    runner.save_checkpoint(tmp_path / "x.ckpt")
    other = TokenClassificationTask.load_from_checkpoint(tmp_path / "x.ckpt")
    assert (other.hparams["momentum"], other.hparams["learning_rate"]) == (0.95, 0.125)
    for name, value in task.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


def test_a_head_for_other_tags_is_replaced_and_one_for_these_is_kept(tmp_path: Path) -> None:
    tagger = tiny_tagger()
    tagger.save_pretrained(tmp_path)
    with pytest.warns(
        UserWarning, match=r"is for the labels \['DT', 'NN', 'O', 'VB'\]; it is replaced .* \['O', 'NAME'\]"
    ):
        other = TokenClassificationTask(pretrained=str(tmp_path), label_names=["O", "NAME"]).model
    assert other.config.id2label == {0: "O", 1: "NAME"}
    assert other.classifier.out_features == 2
    for name, value in tagger.tagger.state_dict().items():
        assert torch.equal(other.tagger.state_dict()[name], value), name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = TokenClassificationTask(pretrained=str(tmp_path), label_names=TAGS).model
    assert torch.equal(same.classifier.weight, tagger.classifier.weight)
