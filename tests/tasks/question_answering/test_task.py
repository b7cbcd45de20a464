from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch

from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.task import NonFiniteLossError
from ctxzoo.word_vectors.vocabulary import set_word_vectors
from tests.references.squad_v2 import reference_squad_v2
from tests.support.tiny_squad import tiny_config, tiny_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def data(folder) -> SquadDataModule:
    """24 training, 12 validation and 12 test questions of SQuAD 2.0."""
    return set_up(tiny_data(folder / "v2", train=24, validation=12, test=12, eval_batch_size=5))


@pytest.fixture
def answerable(folder) -> SquadDataModule:
    """The same of SQuAD 1.1."""
    return set_up(tiny_data(folder / "v1", train=16, validation=12, test=4, eval_batch_size=5, answerable=True))


def set_up(data: SquadDataModule) -> SquadDataModule:
    data.prepare_data()
    data.setup()
    return data


def task_for(data: SquadDataModule, seed: int = 0, optimizer: dict[str, Any] | None = None, **changes: Any):
    torch.manual_seed(seed)
    task = QuestionAnsweringTask(model_config=tiny_config(data, **changes), **(optimizer or {}))
    # A new model gives all spans about the same probability: spread them.
    with torch.no_grad():
        for parameter in task.model.parameters():
            parameter.mul_(4)
    return task


def undecided_task(data: SquadDataModule) -> QuestionAnsweringTask:
    """A reader that refuses some questions of the validation split and answers others."""
    for seed in range(60):
        task = task_for(data, seed)
        with torch.no_grad():  # characters of the extra token, and of no word here: they move position 0 alone
            task.model.bidaf.char_cnn.embedding.weight[1] *= 20
        refused = [float(start[0] + end[0]) > best_span(start, end)[2] for _, start, end, _ in rows_of(task, data)]
        if 3 <= sum(refused) <= len(refused) - 3:
            return task
    raise AssertionError("no undecided reader among 60")


def trainer(folder: Path, **options: Any) -> lightning.Trainer:
    defaults: dict[str, Any] = {"accelerator": "cpu", "devices": 1, "max_steps": 2, "num_sanity_val_steps": 0}
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return lightning.Trainer(
        default_root_dir=folder,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **{**defaults, **quiet, **options},
    )


def logits(task: QuestionAnsweringTask, data: SquadDataModule, split: str) -> dict[str, Any]:
    """Question id -> row of the texts, start and end log-probabilities over its own words, labels."""
    found = {}
    for batch in data.split_dataloader(split):
        inputs = {name: value for name, value in batch.items() if name != "row"}
        with torch.no_grad():
            outputs = task.model.eval()(**inputs)
        for place, row in enumerate(batch["row"].tolist()):
            length = int(batch["attention_mask"][place].sum())
            start, end = (
                values[place, :length].double().log_softmax(0) for values in (outputs.start_logits, outputs.end_logits)
            )
            labels = int(batch["start_positions"][place]), int(batch["end_positions"][place])
            found[data.texts(split)[row]["id"]] = (row, start, end, labels)
    return found


def rows_of(task: QuestionAnsweringTask, data: SquadDataModule) -> list[Any]:
    return list(logits(task, data, "validation").values())


def best_span(start: torch.Tensor, end: torch.Tensor) -> tuple[int, int, float]:
    """First and last word of the most probable span of 15 words at most, and its log-probability."""
    spans = [(i, j) for i in range(1, len(start)) for j in range(i, min(i + 15, len(end)))]
    i, j = max(spans, key=lambda span: float(start[span[0]] + end[span[1]]))
    return i, j, float(start[i] + end[j])


def by_hand(task: QuestionAnsweringTask, data: SquadDataModule, split: str, threshold: float | None) -> dict[str, Any]:
    """The scores, with spans found one by one and the rules of SQuAD written out; None: "no answer" is never given."""
    prepared, texts = data.get_prepared_split(split), data.texts(split)
    predictions, references, losses = [], [], []
    for key, (row, start, end, labels) in logits(task, data, split).items():
        losses.append(-float(start[labels[0]] + end[labels[1]]))
        i, j, score = best_span(start, end)
        best, none = math.exp(score), math.exp(start[0] + end[0])
        offsets = prepared.contexts.offsets[prepared.contexts.pointers[prepared.context_of[row]] :]
        text = texts[row]["context"][offsets[i - 1, 0] : offsets[j - 1, 1]]
        score = none / (none + best) if threshold is not None else 0.0
        predictions.append({"id": key, "prediction_text": text, "no_answer_probability": score})
        references.append({"id": key, "answers": texts[row]["answers"]})
    scores = reference_squad_v2(predictions, references, 1.0 if threshold is None else threshold)
    says_none = {
        item["id"]: threshold is not None and item["no_answer_probability"] > threshold for item in predictions
    }
    right = [says_none[item["id"]] == (not item["answers"]["text"]) for item in references]
    return {**scores, "nll": sum(losses) / len(losses), "AvNA": 100 * sum(right) / len(right)}


def test_validation_scores_are_those_computed_by_hand(data, tmp_path):
    task = undecided_task(data)
    logged = trainer(tmp_path).validate(task, data, verbose=False)[0]
    expected = by_hand(task, data, "validation", 0.5)
    for name in ("exact", "f1", "total", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_total", "nll", "AvNA"):
        assert logged[f"validation/{name}"] == pytest.approx(expected[name], rel=1e-4), name
    forced = by_hand(task, data, "validation", None)
    assert logged["validation/span_exact"] == pytest.approx(forced["HasAns_exact"])
    assert logged["validation/span_f1"] == pytest.approx(forced["HasAns_f1"])
    unanswerable = [not answers["text"] for answers in data.texts("validation")["answers"]]
    assert logged["validation/always_no_answer"] == pytest.approx(100 * sum(unanswerable) / len(unanswerable))
    assert "validation/f1_at_threshold" not in logged


def test_the_tuned_threshold_is_the_best_and_is_used(data, tmp_path):
    task = undecided_task(data)
    runner = trainer(tmp_path)
    scores = {name.split("/")[1]: value for name, value in runner.validate(task, data, verbose=False)[0].items()}
    task.tune_threshold(scores)
    assert task.no_answer_threshold == scores["best_f1_thresh"] == task.model.config.no_answer_threshold
    again = runner.validate(task, data, verbose=False)[0]
    assert again["validation/f1_at_threshold"] == pytest.approx(scores["best_f1"], abs=1e-3)
    tested = runner.test(task, data, verbose=False)[0]
    expected = by_hand(task, data, "test", task.no_answer_threshold)
    assert tested["test/f1_at_threshold"] == pytest.approx(expected["f1"], abs=1e-3)
    assert tested["test/exact_at_threshold"] == pytest.approx(expected["exact"], abs=1e-3)
    assert tested["test/f1"] == pytest.approx(by_hand(task, data, "test", 0.5)["f1"], abs=1e-3)


def test_squad_1_never_refuses(answerable, tmp_path):
    task = task_for(answerable)
    logged = trainer(tmp_path).validate(task, answerable, verbose=False)[0]
    assert answerable.squad_version == task.model.config.squad_version == "1.1"
    expected = by_hand(task, answerable, "validation", None)
    for name in ("exact", "f1", "nll"):
        assert logged[f"validation/{name}"] == pytest.approx(expected[name], rel=1e-4)
    assert logged["validation/AvNA"] == 100
    assert logged["validation/span_f1"] == logged["validation/f1"]
    assert "validation/NoAns_total" not in logged
    task.tune_threshold({"best_f1_thresh": 0.3})
    assert task.no_answer_threshold is None


def test_scores_of_a_pass_do_not_run_into_the_next(data, tmp_path):
    task = task_for(data)
    runner = trainer(tmp_path)
    first = runner.validate(task, data, verbose=False)[0]
    assert runner.validate(task, data, verbose=False)[0] == first


def test_training_follows_a_validation(data, tmp_path):
    task = task_for(data)
    trainer(tmp_path).validate(task, data, verbose=False)
    trainer(tmp_path, max_steps=-1, max_epochs=1).fit(task, data)


def test_test_split_names_the_split_that_is_scored(data, tmp_path):
    task = task_for(data)
    task.test_split = "train"
    logged = trainer(tmp_path).test(task, dataloaders=None, datamodule=_Testing(data, "train"), verbose=False)[0]
    assert logged["test/f1"] == pytest.approx(by_hand(task, data, "train", 0.5)["f1"], abs=1e-3)
    assert logged["test/total"] == 24


class _Testing(SquadDataModule):
    """Gives another split to `Trainer.test`."""

    def __init__(self, data: SquadDataModule, split: str) -> None:
        self.__dict__.update(data.__dict__)
        self.split = split

    def test_dataloader(self) -> Any:
        return self.split_dataloader(self.split)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_the_training_by_name(data, tmp_path, value):
    task = task_for(data, optimizer={"optimizer": "adamw", "learning_rate": 0.25})

    class Spoil(lightning.Callback):
        def on_train_batch_start(self, trainer: Any, task: Any, batch: Any, batch_idx: int) -> None:
            if batch_idx == 1:
                self.ids = [data.texts("train")[row]["id"] for row in batch["row"].tolist()]
                with torch.no_grad():
                    task.model.start_from_flow.weight.fill_(value)

    spoil = Spoil()
    with pytest.raises(NonFiniteLossError, match=r"loss is (nan|inf) at step 1 \(epoch 0\).*\[0.25\]") as error:
        trainer(tmp_path, callbacks=[spoil], max_steps=3).fit(task, data)
    assert len(spoil.ids) == 8
    assert all(key in str(error.value) for key in spoil.ids)


class Modes(lightning.Callback):
    """Whether all of the model was in train mode in each training batch."""

    def __init__(self) -> None:
        self.training: list[bool] = []

    def on_train_batch_start(self, trainer: Any, task: Any, *args: Any) -> None:
        self.training.append(all(module.training for module in task.model.modules()))


def test_a_pretrained_reader_is_trained_in_train_mode_and_from_its_weights(data, tmp_path):
    task_for(data, seed=3).model.save_pretrained(tmp_path / "reader")
    task = QuestionAnsweringTask(pretrained=str(tmp_path / "reader"))
    saved = {name: value.clone() for name, value in task.model.state_dict().items()}
    assert all(torch.equal(value, saved[name]) for name, value in task_for(data, seed=3).model.state_dict().items())
    modes = Modes()
    trainer(tmp_path, callbacks=[modes], max_steps=-1, max_epochs=2).fit(task, data)  # a validation between
    assert modes.training == [True] * 6
    assert any(not torch.equal(value, saved[name]) for name, value in task.model.state_dict().items())


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_training_and_validation_run_in_each_precision_of_the_cpu(data, tmp_path, precision):
    task = task_for(data, dropout=0.2)
    runner = trainer(tmp_path, precision=precision, max_steps=-1, max_epochs=1, logger=False)
    runner.fit(task, data)
    assert math.isfinite(runner.callback_metrics["train/loss"])
    assert 0 <= runner.callback_metrics["validation/f1"] <= 100
    assert {parameter.dtype for parameter in task.parameters()} == {torch.float32}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "16-mixed"])
def test_training_and_validation_run_in_each_precision_of_the_gpu(data, tmp_path, precision):
    runner = trainer(tmp_path, accelerator="gpu", precision=precision, max_steps=-1, max_epochs=1)
    runner.fit(task_for(data), data)
    assert math.isfinite(runner.callback_metrics["train/loss"])


def test_a_checkpoint_restores_the_task_with_weights_only(data, tmp_path):
    task = task_for(data, optimizer={"learning_rate": 0.125})
    runner = trainer(tmp_path, max_steps=1)
    runner.fit(task, data)
    runner.save_checkpoint(tmp_path / "x.ckpt")
    json.dumps(dict(task.hparams))  # nothing but JSON types
    other = QuestionAnsweringTask.load_from_checkpoint(tmp_path / "x.ckpt")
    assert other.hparams["learning_rate"] == 0.125
    fresh = task_for(data, seed=9)
    fresh.load_weights(tmp_path / "x.ckpt")
    for name, value in task.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)
        assert torch.equal(fresh.state_dict()[name], value)


def test_word_vectors_are_put_in_place_and_must_fit(data):
    task = task_for(data)
    table = torch.randn(task.model.config.vocab_size, 8)
    set_word_vectors(task.model, None)
    set_word_vectors(task.model, table)
    assert torch.equal(task.model.get_input_embeddings().weight, table)
    with pytest.raises(ValueError, match=r"\(3, 8\) do not fit the word table \(\d+, 8\)"):
        set_word_vectors(task.model, torch.zeros(3, 8))


@pytest.mark.parametrize("both", [True, False])
def test_exactly_one_source_of_a_model(data, both):
    config = tiny_config(data) if both else None
    with pytest.raises(ValueError, match="give either model_config or pretrained"):
        QuestionAnsweringTask(model_config=config, pretrained="x" if both else None)


def test_batches_of_another_loader_are_scored_by_their_loss(data, tmp_path):
    """They come without the texts of answers; so do those of a DataModule of one's own."""
    batches = torch.utils.data.DataLoader(
        [{name: x for name, x in batch.items() if name != "row"} for batch in data.val_dataloader()], batch_size=None
    )

    class Other(lightning.LightningDataModule):
        def val_dataloader(self) -> Any:
            return batches

    task = task_for(data)
    expected = trainer(tmp_path).validate(task, data, verbose=False)[0]["validation/nll"]
    for source in (batches, Other()):
        logged = trainer(tmp_path).validate(task, source, verbose=False)[0]
        assert logged == {"validation/nll": pytest.approx(expected, rel=1e-6)}
    predicted = trainer(tmp_path).predict(task, batches)
    assert [set(one) for one in predicted] == [{"spans"}] * len(batches)
    trainer(tmp_path).fit(task, batches, batches)
    task.model.start_from_flow.weight.data.fill_(float("nan"))
    with pytest.raises(NonFiniteLossError, match=r"learning rate \[.*\]; Lower the learning rate"):
        trainer(tmp_path).fit(task, batches)
    with pytest.raises(NonFiniteLossError, match=r"questions of the batch: \[\d+, \d+"):  # rows of nobody knows what
        trainer(tmp_path).fit(task, torch.utils.data.DataLoader(list(data.train_dataloader()), batch_size=None))
