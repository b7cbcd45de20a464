"""Objective and scores of sessions, with ties as they are requested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch.nn import functional as F

from ctxzoo.cli.main import main
from ctxzoo.metrics.next_item import Ties
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.layers_hcrnn import LEAST_DRIFT
from ctxzoo.tasks.sequences.data import SessionDataModule
from ctxzoo.tasks.sequences.task import (
    NextEventTask,
    SessionRecommendationTask,
    SessionScores,
    evaluate_sessions,
    session_scores,
)
from ctxzoo.training.scoring import score_splits

TIES: tuple[Ties, ...] = ("pessimistic", "optimistic")


@pytest.fixture(scope="module")
def data() -> SessionDataModule:
    module = SessionDataModule("sample", batch_size=8, eval_batch_size=8)
    module.setup()
    return module


def task_of(data: SessionDataModule, **options: Any) -> SessionRecommendationTask:
    torch.manual_seed(0)
    sizes = {"embedding_size": 6, "hidden_size": 6, "num_topics": 3}
    return SessionRecommendationTask(HcrnnConfig(**sizes, **data.model_sizes()).to_dict(), **options)


def test_scores_are_those_of_one_prefix_after_the_other(data: SessionDataModule) -> None:
    task = task_of(data)
    model = task.model.eval()
    scores = score_splits(task, data, ("test",), accelerator="cpu", progress=False)["test"]
    ranks, nats = [], []
    with torch.no_grad():
        for session in data.sequences("test"):
            for step in range(1, len(session)):
                logits = model(torch.from_numpy(session[None, :step])).logits[0]
                ranks.append(int((logits >= logits[session[step]]).sum()))
                nats.append(F.cross_entropy(logits, torch.tensor(session[step])))
    found = torch.tensor(ranks)
    assert scores["recall_at_20"] == pytest.approx(100 * (found <= 20).double().mean().item())
    assert scores["mrr_at_10"] == pytest.approx(100 * ((found <= 10) / found).double().mean().item(), rel=1e-5)
    assert scores["nll"] == pytest.approx(torch.stack(nats).mean().item(), rel=1e-5)


def test_sessions_sum_up_to_the_scores_of_the_split(data: SessionDataModule) -> None:
    task = task_of(data)
    whole = score_splits(task, data, ("test",), accelerator="cpu", progress=False)["test"]
    sessions = session_scores(task.model, data, accelerator="cpu")
    assert [session.row for session in sessions] == list(range(len(data.sequences("test"))))
    assert [session.predictions for session in sessions] == [len(items) - 1 for items in data.sequences("test")]
    predictions = sum(session.predictions for session in sessions)
    recall = sum(session.recall_at_20 for session in sessions) / predictions
    rank = sum(session.mrr_at_20 for session in sessions) / predictions
    assert 0 < rank < recall < 1
    assert (100 * recall, 100 * rank) == pytest.approx((whole["recall_at_20"], whole["mrr_at_20"]))


def test_the_objective_is_the_sum_over_a_session_and_the_mean_over_sessions(data: SessionDataModule) -> None:
    task = task_of(data)
    model = task.model.eval()  # topics are not drawn
    sessions = list(data.sequences("train"))[:3]
    assert len({len(items) for items in sessions}) > 1
    ids = torch.zeros(3, max(map(len, sessions)), dtype=torch.int64)
    for row, items in enumerate(sessions):
        ids[row, : len(items)] = torch.from_numpy(items)
    total = 0.0
    for items in sessions:
        for step in range(1, len(items)):
            prefix = torch.from_numpy(items[None, :step])
            total += float(model(prefix, labels=torch.tensor([items[step]])).loss.detach())
    inputs, labels = ids[:, :-1].clone(), ids[:, 1:].clone()
    inputs[labels == 0] = 0
    batch = {"input_ids": inputs, "labels": labels.masked_fill(labels == 0, -100)}
    assert float(task.compute_training_loss(batch)) == pytest.approx(total / 3, rel=1e-5)


@pytest.fixture
def undecided(data: SessionDataModule) -> SessionRecommendationTask:
    """Its model gives every item the same score."""
    task = task_of(data)
    with torch.no_grad():
        task.model.head.bilinear.weight.zero_()
    return task


def test_ties_count_as_requested(undecided: SessionRecommendationTask) -> None:
    model = undecided.model
    scores = {ties: evaluate_sessions(model, "sample", ties=ties, progress=False, accelerator="cpu") for ties in TIES}
    assert scores["pessimistic"]["recall_at_20"] == 0
    assert scores["optimistic"]["mrr_at_20"] == pytest.approx(100)


def test_ties_are_pessimistic_unless_requested_otherwise(
    undecided: SessionRecommendationTask, data: SessionDataModule
) -> None:
    model = undecided.model
    assert evaluate_sessions(model, "sample", progress=False, accelerator="cpu")["recall_at_20"] == 0
    assert all(session.recall_at_20 == 0 for session in session_scores(model, data, accelerator="cpu"))
    scores = score_splits(undecided, data, ("test",), accelerator="cpu", progress=False)["test"]
    assert scores["recall_at_20"] == 0


def test_the_command_counts_ties_as_requested(undecided: SessionRecommendationTask, tmp_path: Path) -> None:
    undecided.model.save_pretrained(tmp_path)
    command = ["evaluate", str(tmp_path), "--dataset", "sample", "--output", str(tmp_path / "scores.json")]
    for options, expected in (([], 0), (["--ties", "optimistic"], 100)):
        assert main([*command, *options]) == 0
        told = json.loads((tmp_path / "scores.json").read_text())
        assert told["metrics"]["mrr_at_20"] == pytest.approx(expected)


def test_parameters_are_put_back_behind_every_step(data: SessionDataModule, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(data, optimizer="sgd", learning_rate=0.5)
    drift = task.model.hcrnn.cell.drift
    drift.data.fill_(LEAST_DRIFT)
    calls = []
    project = task.model.project_parameters
    monkeypatch.setattr(task.model, "project_parameters", lambda: (calls.append(bool((drift < 0).any())), project()))
    options: Any = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    lightning.Trainer(max_steps=6, accelerator="cpu", enable_model_summary=False, **options).fit(
        task, train_dataloaders=data.train_dataloader()
    )
    assert len(calls) == 6
    assert any(calls)  # a step had moved them below 0
    assert (drift > 0).all()


def test_errors_name_the_rows() -> None:
    task = SessionRecommendationTask(HcrnnConfig(num_items=3, num_topics=2).to_dict())
    assert task.describe_examples([4, 7]) == "sessions of the batch in the training split: [4, 7]"
    events = NextEventTask(TimeEncoderConfig(vocab_size=4, causal=True).to_dict())
    assert events.describe_examples([4, 7]) == "histories of the batch in the training split: [4, 7]"
    with pytest.raises(ValueError, match="ties='lucky'"):
        SessionScores("lucky")  # type: ignore[arg-type]
