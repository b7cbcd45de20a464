"""transformers' Trainer takes every head as it takes a stock model: it trains, stops, goes on, evaluates and saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import EvalPrediction, Trainer, TrainingArguments

from tests.suite.marks import costly, needs_loss
from tests.suite.subjects import Subject


def _trainer(subject: Subject, model: Any, folder: Path, **options: Any) -> Trainer:
    batch = subject.batch(labels=True)
    rows = [{name: x[row] for name, x in batch.items()} for row in range(len(next(iter(batch.values()))))]
    metrics = options.pop("compute_metrics", None)
    settings = {
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "per_device_train_batch_size": 1,
        "per_device_eval_batch_size": 2,
        "gradient_accumulation_steps": 2,
        "learning_rate": 0.01,
        "max_steps": 4,
        "save_steps": 2,
        **options,
    }
    arguments = TrainingArguments(str(folder), **settings)
    return Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, compute_metrics=metrics)


class TrainerChecks:
    @needs_loss
    @costly
    def test_transformers_trainer_goes_on_bit_for_bit(self, subject: Subject, tmp_path: Path) -> None:
        whole = subject.model()
        before = {name: x.clone() for name, x in whole.state_dict().items()}
        _trainer(subject, whole, tmp_path / "a").train()
        state = whole.state_dict()
        assert any(not torch.equal(before[name], x) for name, x in state.items())
        saved = subject.model_class.from_pretrained(tmp_path / "a" / "checkpoint-4").state_dict()
        assert all(torch.equal(saved[name], x) for name, x in state.items())
        resumed = subject.model()
        _trainer(subject, resumed, tmp_path / "b").train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-2"))
        assert all(torch.equal(resumed.state_dict()[name], x) for name, x in state.items())

    @needs_loss
    @costly
    def test_transformers_trainer_evaluates_row_by_row(self, subject: Subject, tmp_path: Path) -> None:
        """Metrics get what the head predicts for each row, as it is outside of the Trainer, and the labels."""
        seen: list[EvalPrediction] = []
        model, batch = subject.model(), subject.batch(labels=True)
        trainer = _trainer(subject, model, tmp_path, compute_metrics=lambda scored: seen.append(scored) or {"n": 1})
        assert trainer.evaluate()["eval_n"] == 1
        predictions = seen[0].predictions if isinstance(seen[0].predictions, tuple) else (seen[0].predictions,)
        labels = seen[0].label_ids if isinstance(seen[0].label_ids, tuple) else (seen[0].label_ids,)
        ignored = getattr(model.config, "keys_to_ignore_at_inference", [])
        with torch.no_grad():
            output = {name: x for name, x in model(**batch).items() if name not in ("loss", *ignored)}
        assert len(predictions) == len(output)
        for found, (name, x) in zip(predictions, output.items(), strict=True):
            assert found.shape == x.shape, name
            np.testing.assert_allclose(found, x.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
        given = [x for name, x in batch.items() if name not in subject.batch()]
        assert len(labels) == len(given) > 0
        assert all(np.array_equal(found, x.numpy()) for found, x in zip(labels, given, strict=True))
