"""Classification: losses and scores against numpy, labels that must agree, NaN by name, one and two processes."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.classification import CALIBRATION_BINS, ClassificationScores, label_fields
from ctxzoo.training.task import NonFiniteLossError
from ctxzoo.word_vectors.vocabulary import overwrite_word_vector_columns
from tests.support.subprocesses import check_finished, run_module
from tests.support.tiny_bert import save_tiny_bert, tiny_tokenizer
from tests.support.toy.configuration_toy import ToyConfig
from tests.support.toy_classifier import LABELS, registered_toy, toy_config, toy_data


@pytest.fixture(autouse=True, scope="module")
def _toy() -> Iterator[None]:
    with registered_toy():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def data(folder: Path) -> Any:
    return toy_data(folder)


def task_for(data: Any, seed: int = 0, **options: Any) -> SequenceClassificationTask:
    torch.manual_seed(seed)
    task = SequenceClassificationTask(model_config=toy_config(data), **options)
    with torch.no_grad():
        task.model.classifier.weight.mul_(4)  # spread its opinions
    return task


def trainer(folder: Path, **options: Any) -> lightning.Trainer:
    defaults: dict[str, Any] = {"accelerator": "cpu", "devices": 1, "max_steps": 2, "num_sanity_val_steps": 0}
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return lightning.Trainer(
        default_root_dir=folder,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **{**defaults, **quiet, **options},
    )


def logits_by_row(task: SequenceClassificationTask, data: Any, split: str) -> dict[int, tuple[np.ndarray, int]]:
    """Row -> logits of the text alone, and its label."""
    task.model.eval()
    found = {}
    for row, label in zip(data.rows(split).tolist(), data.labels(split).tolist(), strict=True):
        inputs = data.tokenizer([data.texts(split)[row]["text"]], return_tensors="pt")
        with torch.no_grad():
            found[row] = task.model(**inputs).logits[0].double().numpy(), label
    return found


def by_hand(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The scores with numpy, class by class and bin by bin."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    predicted, confidence = logits.argmax(axis=1), np.exp(log_probabilities).max(axis=1)
    right = predicted == labels
    f1 = []
    for label in sorted({*labels.tolist(), *predicted.tolist()}):
        true = ((predicted == label) & (labels == label)).sum()
        f1.append(2 * true / ((predicted == label).sum() + (labels == label).sum()))
    calibration_error = 0.0
    for place in range(15):
        low, high = place / 15, (place + 1) / 15
        inside = (confidence >= low) & ((confidence < high) | ((place == 14) & (confidence >= 1)))
        if inside.any():
            calibration_error += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return {
        "accuracy": 100 * right.mean(),
        "macro_f1": 100 * np.mean(f1),
        "calibration_error": 100 * calibration_error,
        "nll": -log_probabilities[np.arange(len(labels)), labels].mean(),
    }


def test_scores_of_a_split_are_those_computed_by_hand(data: Any, tmp_path: Path) -> None:
    task = task_for(data, label_smoothing=0.3)  # which is for training alone
    logged = trainer(tmp_path).validate(task, data, verbose=False)[0]
    rows = logits_by_row(task, data, "validation")
    assert len(rows) == 21  # five batches of four and one of one: no mean of batches
    expected = by_hand(np.array([x for x, _ in rows.values()]), np.array([label for _, label in rows.values()]))
    assert set(logged) == {f"validation/{name}" for name in expected}
    for name, value in expected.items():
        assert logged[f"validation/{name}"] == pytest.approx(value, rel=1e-4), name
    again = trainer(tmp_path).validate(task, data, verbose=False)[0]
    assert again == logged  # the scores of a pass do not run into the next


def test_the_loss_of_an_epoch_is_its_mean_over_all_texts(data: Any, tmp_path: Path) -> None:
    task = task_for(data, optimizer="sgd", learning_rate=1e-12)  # so that the model stays as it is
    rows = logits_by_row(task, data, "train")
    assert len(rows) % data.batch_size  # the batches are not all of a size
    runner = trainer(tmp_path, max_steps=-1, max_epochs=1)
    runner.fit(task, data)
    expected = by_hand(np.array([x for x, _ in rows.values()]), np.array([label for _, label in rows.values()]))
    assert runner.callback_metrics["train/epoch_loss"].item() == pytest.approx(expected["nll"], rel=1e-5)


@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
def test_scores_of_many_random_logits(scale: float) -> None:
    generator = np.random.default_rng(3)
    logits = scale * generator.normal(size=(500, 5)).astype(np.float32)
    labels = generator.choice(4, 500)  # nobody has the label 4, but some are given it
    scores = ClassificationScores(5)
    for part in np.array_split(np.arange(500), 7):
        scores.update(torch.from_numpy(logits[part]), torch.from_numpy(labels[part]))
    assert CALIBRATION_BINS == 15
    assert scores.compute() == pytest.approx(by_hand(logits.astype(np.float64), labels), rel=1e-4)


def test_classes_that_nobody_has_or_gets_do_not_count_in_macro_f1() -> None:
    scores = ClassificationScores(4)
    logits = torch.tensor([[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 2.0, 0, 0]])
    scores.update(logits, torch.tensor([0, 1, 0]))
    assert scores.compute()["macro_f1"] == pytest.approx(100 * 2 / 3)


def test_predictions_name_their_rows(data: Any, tmp_path: Path) -> None:
    task = task_for(data)
    rows = logits_by_row(task, data, "test")
    predicted = trainer(tmp_path).predict(task, data.split_dataloader("test"))
    assert sorted(int(row) for batch in predicted for row in batch["row"]) == sorted(rows)
    for batch in predicted:
        for row, logits in zip(batch["row"].tolist(), batch["logits"], strict=True):
            np.testing.assert_allclose(logits.numpy(), rows[row][0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_label_smoothing_moves_part_of_the_target_to_all_classes(data: Any, smoothing: float) -> None:
    task = task_for(data, label_smoothing=smoothing)
    task.model.eval()
    batch = next(iter(data.split_dataloader("train")))
    with torch.no_grad():
        log_probabilities = task.model(batch["input_ids"], batch["attention_mask"]).logits.log_softmax(dim=1)
    true = log_probabilities[torch.arange(len(batch["labels"])), batch["labels"]]
    expected = -((1 - smoothing) * true + smoothing * log_probabilities.mean(dim=1)).mean()
    assert task.compute_training_loss(batch).item() == pytest.approx(expected.item(), rel=1e-5)


def test_training_adds_the_model_s_own_loss_and_scores_do_not_see_it(data: Any) -> None:
    sizes = {"word_dim": 4, "position_dim": 0, "recurrent_size": 2, "attention_size": 3, "attention_heads": 2}
    config = TextBaselineConfig(
        encoder="self_attentive", overlap_penalty=0.5, **sizes, **data.model_sizes(), **label_fields(data.label_names)
    )
    task = SequenceClassificationTask(model_config=config.to_dict())
    task.model.eval()
    batch = next(iter(data.split_dataloader("train")))
    output = task.model(batch["input_ids"], batch["attention_mask"])
    classes = torch.nn.functional.cross_entropy(output.logits, batch["labels"])
    assert output.auxiliary_loss > 0.01
    torch.testing.assert_close(task.compute_training_loss(batch), classes + output.auxiliary_loss)
    scores = task.build_scores()
    task.update_scores(scores, batch, "validation")
    assert task.compute_scores(scores)["nll"] == pytest.approx(classes.item(), rel=1e-5)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_label_smoothing_out_of_range(smoothing: float) -> None:
    with pytest.raises(ValueError, match=rf"label_smoothing must be in \[0, 1\), got {smoothing}"):
        SequenceClassificationTask(model_config={}, label_smoothing=smoothing)


def test_training_lowers_the_loss_with_adam_at_the_paper_s_rate(data: Any, tmp_path: Path) -> None:
    task = task_for(data)
    runner = trainer(tmp_path)
    before = runner.validate(task, dataloaders=data.split_dataloader("train"), verbose=False)[0]["validation/nll"]
    training = trainer(tmp_path, max_steps=-1, max_epochs=12)
    training.fit(task, data)
    (optimizer,) = training.optimizers
    assert isinstance(optimizer, torch.optim.Adam)
    assert (optimizer.defaults["lr"], optimizer.defaults["betas"]) == (1e-3, (0.9, 0.999))
    after = runner.validate(task, dataloaders=data.split_dataloader("train"), verbose=False)[0]["validation/nll"]
    assert after < before - 0.05


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_the_training_by_name(data: Any, tmp_path: Path, value: float) -> None:
    class Spoil(lightning.Callback):
        def on_train_batch_start(self, trainer: Any, task: Any, batch: Any, batch_idx: int) -> None:
            if batch_idx == 1:
                self.rows = batch["row"].tolist()
                with torch.no_grad():
                    task.model.classifier.bias[0] = value

    spoil = Spoil()
    with pytest.raises(NonFiniteLossError, match=r"loss is nan at step 1 \(epoch 0\), learning rate \[0.25\]") as error:
        trainer(tmp_path, callbacks=[spoil], max_steps=3).fit(task_for(data, learning_rate=0.25), data)
    assert f"rows of the batch in the training split: {spoil.rows}" in str(error.value)
    assert len(spoil.rows) == 8


def test_logits_that_are_not_numbers_show_in_the_nll() -> None:
    scores = ClassificationScores(2)
    scores.update(torch.tensor([[0.5, 0.5]]), torch.tensor([0]))
    scores.update(torch.tensor([[math.nan, 0.5]]), torch.tensor([0]))
    assert math.isnan(scores.compute()["nll"])


def test_labels_of_model_and_data_must_agree(data: Any, tmp_path: Path) -> None:
    assert label_fields(["no", "yes"]) == {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    swapped = ToyConfig(**label_fields(["fair", "bad", "good"]), vocab_size=19).to_dict()
    task = SequenceClassificationTask(model_config=swapped)
    with pytest.raises(ValueError, match=r"labels are \['fair', 'bad', 'good'\], those of the data \['bad', 'fair'"):
        trainer(tmp_path).validate(task, data, verbose=False)
    assert data.label_names == LABELS


def test_a_pretrained_encoder_gets_the_labels_of_the_data(folder: Path, tmp_path: Path) -> None:
    data = toy_data(folder, tokenizer=tiny_tokenizer())
    encoder = str(save_tiny_bert(tmp_path / "bert"))
    task = SequenceClassificationTask(pretrained=encoder, label_names=data.label_names)
    assert (task.model.config.num_labels, task.model.config.id2label) == (3, dict(enumerate(LABELS)))
    assert task.model.config.label2id == {name: place for place, name in enumerate(LABELS)}
    runner = trainer(tmp_path)
    runner.fit(task, data)
    runner.save_checkpoint(tmp_path / "x.ckpt")

    resumed = SequenceClassificationTask(pretrained=encoder, label_names=data.label_names)
    longer = trainer(tmp_path, max_steps=3)
    longer.fit(resumed, data, ckpt_path=tmp_path / "x.ckpt", weights_only=True)
    assert longer.global_step == 3
    restored = SequenceClassificationTask.load_from_checkpoint(tmp_path / "x.ckpt")
    assert restored.model.config.id2label == task.model.config.id2label
    for name, value in task.state_dict().items():
        assert torch.equal(restored.state_dict()[name], value)


def test_a_head_for_other_labels_is_replaced_which_is_said_once(tmp_path: Path) -> None:
    encoder = str(save_tiny_bert(tmp_path / "bert"))
    first = SequenceClassificationTask(pretrained=encoder, label_names=["no", "yes"]).model
    first.save_pretrained(tmp_path / "yes")
    for labels in (LABELS, ["yes", "no"]):  # other labels; the same in another order
        with pytest.warns(UserWarning, match=r"is for the labels \['no', 'yes'\]; it is replaced") as told:
            model = SequenceClassificationTask(pretrained=str(tmp_path / "yes"), label_names=labels).model
        assert len([one for one in told if "is replaced" in str(one.message)]) == 1
        assert model.config.id2label == dict(enumerate(labels))
        assert model.classifier.weight.shape[0] == len(labels)
        assert not torch.equal(model.classifier.weight[:2], first.classifier.weight)
        for name, value in first.bert.state_dict().items():
            assert torch.equal(model.bert.state_dict()[name], value), name


def test_a_head_for_these_labels_is_kept(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    encoder = str(save_tiny_bert(tmp_path / "bert"))
    first = SequenceClassificationTask(pretrained=encoder, label_names=["no", "yes"]).model
    first.save_pretrained(tmp_path / "yes")
    again = SequenceClassificationTask(pretrained=str(tmp_path / "yes"), label_names=["no", "yes"]).model
    assert torch.equal(again.classifier.weight, first.classifier.weight)
    assert not [one for one in recwarn if "is replaced" in str(one.message)]


def test_batches_need_no_rows(data: Any, tmp_path: Path) -> None:
    kept = [{name: value for name, value in batch.items() if name != "row"} for batch in data.train_dataloader()]
    batches = torch.utils.data.DataLoader(kept, batch_size=None)
    task = SequenceClassificationTask(model_config=toy_config(data))
    trainer(tmp_path).fit(task, batches, batches)
    predictions = trainer(tmp_path).predict(task, batches)
    assert predictions is not None
    assert set(predictions[0]) == {"logits"}
    task.model.classifier.weight.data.fill_(float("nan"))
    with pytest.raises(NonFiniteLossError, match=r"learning rate \[.*\]; Lower the learning rate"):
        trainer(tmp_path).fit(task, batches)


def test_label_names_are_for_pretrained_encoders(data: Any) -> None:
    with pytest.raises(ValueError, match="label_names without pretrained"):
        SequenceClassificationTask(model_config=toy_config(data), label_names=LABELS)


def test_word_features_are_the_first_numbers_of_the_vectors() -> None:
    learned = ContextualizerConfig(vocab_size=5, word_dim=4, position_dim=0, rank=2, freeze_embeddings=False).to_dict()
    task = SequenceClassificationTask(model_config=learned)
    table = task.model.get_input_embeddings().weight
    before = table.detach().clone()
    features = torch.randn(table.size(0), 2)
    overwrite_word_vector_columns(task.model, features)
    assert torch.equal(table[:, :2], features)
    assert torch.equal(table[:, 2:], before[:, 2:])
    for wrong in (features[1:], torch.zeros(table.size(0), table.size(1) + 1), features[:, 0]):
        with pytest.raises(ValueError, match="do not fit the word table"):
            overwrite_word_vector_columns(task.model, wrong)


def test_a_word_table_that_is_not_saved_takes_no_features() -> None:
    frozen = ContextualizerConfig(vocab_size=5, word_dim=4, position_dim=0, rank=2).to_dict()
    with pytest.raises(ValueError, match="is not saved"):
        overwrite_word_vector_columns(SequenceClassificationTask(model_config=frozen).model, torch.zeros(5, 1))


def test_a_checkpoint_restores_the_task_with_weights_only(data: Any, tmp_path: Path) -> None:
    task = task_for(data, learning_rate=0.125, label_smoothing=0.1, warmup_steps=3)
    runner = trainer(tmp_path, max_steps=1)
    runner.fit(task, data)
    runner.save_checkpoint(tmp_path / "x.ckpt")
    json.dumps(dict(task.hparams))
    other = SequenceClassificationTask.load_from_checkpoint(tmp_path / "x.ckpt")
    assert (other.hparams["learning_rate"], other.hparams["label_smoothing"]) == (0.125, 0.1)
    assert other.model.config.id2label == task.model.config.id2label
    for name, value in task.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_mixed_precision_trains_with_and_without_clipping(data: Any, tmp_path: Path, clip: float | None) -> None:
    run = trainer(tmp_path, precision="bf16-mixed", gradient_clip_val=clip)
    run.fit(task_for(data, optimizer="adam"), data)
    assert run.global_step == 2
    assert bool(run.optimizers[0].defaults["fused"]) == (clip is None)


def test_mixed_precision_scores_in_float32(data: Any, tmp_path: Path) -> None:
    logged = trainer(tmp_path, precision="bf16-mixed").validate(task_for(data), data, verbose=False)[0]
    assert all(math.isfinite(value) for value in logged.values())


def run(data: Path, output: Path, **settings: Any) -> dict[str, float]:
    """Train in a program of its own; the last validation scores of its log."""
    options = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    check_finished(run_module("tests.support.toy_classifier", data, output, *options))
    with (output / "logs" / "csv" / "metrics.csv").open(newline="") as file:
        row = [row for row in csv.DictReader(file) if row.get("validation/accuracy")][-1]
    return {name: float(value) for name, value in row.items() if name.startswith("validation/")}


@pytest.mark.slow
def test_scores_of_two_processes_are_those_of_one(tmp_path: Path) -> None:
    # No step changes a weight, so that both score the same model; of the three batches one has two and one has one.
    settings = {"learning_rate": 1e-30, "eval_batch_size": 8}
    alone = run(tmp_path / "data", tmp_path / "one", **settings)
    both = run(tmp_path / "data", tmp_path / "two", devices=2, strategy="ddp", **settings)
    assert set(alone) == {f"validation/{name}" for name in ("accuracy", "macro_f1", "calibration_error", "nll")}
    assert both == pytest.approx(alone, rel=1e-5)
