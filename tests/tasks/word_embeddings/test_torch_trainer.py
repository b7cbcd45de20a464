"""Word vectors by PyTorch: a run that was stopped and resumed, two processes, and several models in one program."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.tasks.word_embeddings import torch_trainer as torch_embedding_trainer
from ctxzoo.tasks.word_embeddings.data import SentenceSampler
from ctxzoo.tasks.word_embeddings.sparse_sgd import RowLimitedSGD
from ctxzoo.tasks.word_embeddings.task import LONGEST_STEP
from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.trainer import LAST
from tests.support.subprocesses import check_finished, run_module
from tests.support.torch_embedding_runs import model_of, settings, trainer_of, trainer_of_many_words


@pytest.fixture(autouse=True)
def frequent_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_embedding_trainer, "CHECKPOINT_STEPS", 4)


def outcome(folder: Path, resume: bool = False, **options: Any) -> dict[str, Any]:
    """Weights and losses of a training."""
    trainer = trainer_of(folder, **options)
    reached = trainer.fit(resume=resume)
    told = {"losses": reached.epoch_losses, "words": reached.words, "epoch": reached.epoch}
    return {**trainer.model.state_dict(), **told}


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    assert one.keys() == other.keys()
    return [
        name
        for name, value in one.items()
        if not (torch.equal(value, other[name]) if isinstance(value, torch.Tensor) else value == other[name])
    ]


def stop_at(step: int, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `act` when so many steps are done."""
    step_once = RowLimitedSGD.step
    done = [0]

    def counted(self: RowLimitedSGD, closure: Any = None) -> Any:
        loss = step_once(self, closure)
        done[0] += 1
        if done[0] == step:
            act()
        return loss

    monkeypatch.setattr(RowLimitedSGD, "step", counted)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcome(tmp_path_factory.mktemp("whole"))


def test_one_seed_gives_the_same_weights(whole: dict[str, Any], tmp_path: Path) -> None:
    assert differing(outcome(tmp_path / "again"), whole) == []
    other = outcome(tmp_path / "other", training=settings(seed=1))
    assert "output_vectors" in differing(other, whole)


@pytest.mark.parametrize("step", [3, 7, 24, 30])
def test_a_run_that_fails_is_resumed_exactly(
    whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    def fail() -> None:
        raise RuntimeError("here")

    with monkeypatch.context() as patch:
        stop_at(step, fail, patch)
        with pytest.raises(RuntimeError, match="here"):
            outcome(tmp_path)
    assert differing(outcome(tmp_path, resume=True), whole) == []


@pytest.mark.parametrize("step", [1, 6, 27])
def test_ctrl_c_leaves_a_checkpoint_of_that_step(
    whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    with monkeypatch.context() as patch:
        stop_at(step, lambda: os.kill(os.getpid(), signal.SIGINT), patch)
        with pytest.raises(TrainingInterrupted, match=f"stopped after step {step}; resuming goes on"):
            outcome(tmp_path)
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == step
    assert differing(outcome(tmp_path, resume=True), whole) == []


def test_a_finished_run_that_is_resumed_stays_as_it_is(whole: dict[str, Any], tmp_path: Path) -> None:
    outcome(tmp_path)
    assert differing(outcome(tmp_path, resume=True), whole) == []


def test_without_resume_it_starts_anew(whole: dict[str, Any], tmp_path: Path) -> None:
    outcome(tmp_path, training=settings(seed=5))
    assert differing(outcome(tmp_path), whole) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"training": settings(learning_rate=0.3)}, r"learning_rate=0\.1, not 0\.3; resume with the same settings"),
        ({"batch_size": 50}, "batch_size=40, not 50"),
        ({"model": model_of(word_dim=9)}, "word_dim=8, not 9"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    outcome(tmp_path)
    with pytest.raises(ValueError, match=f"the checkpoint is of a training with {message}"):
        outcome(tmp_path, resume=True, **options)


def test_workers_build_the_same_batches(whole: dict[str, Any], tmp_path: Path) -> None:
    assert differing(outcome(tmp_path, num_workers=1), whole) == []


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes read and ended with."""
    folder = tmp_path_factory.mktemp("together")
    check_finished(run_module("tests.support.torch_embedding_runs", folder, 2))
    return [torch.load(folder / f"process{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.slow
def test_two_processes_read_sentences_of_their_own(together: list[dict[str, Any]], tmp_path: Path) -> None:
    data = trainer_of_many_words(tmp_path).data
    steps = len(SentenceSampler(120, data.block_size, seed=0, world_size=2))
    for epoch in range(2):
        blocks = [one["read"][epoch * steps : (epoch + 1) * steps] for one in together]
        seen = [{sentence for block in of_process for sentence in block} for of_process in blocks]
        assert not seen[0] & seen[1]
        assert sum(len(block) for of_process in blocks for block in of_process) == len(seen[0] | seen[1])
        assert 120 - 2 * data.block_size < len(seen[0] | seen[1]) <= 120
    assert [len(one["read"]) for one in together] == [2 * steps] * 2


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one_that_reads_both_batches_at_once(
    together: list[dict[str, Any]], tmp_path: Path
) -> None:
    """That one computes in float64."""
    assert differing(together[0]["weights"], together[1]["weights"]) == []
    assert together[0]["losses"] == together[1]["losses"]

    trainer = trainer_of_many_words(tmp_path)
    model, data, training = trainer.model.double(), trainer.data, settings(epochs=2)
    samplers = [SentenceSampler(120, data.block_size, seed=0, rank=rank, world_size=2) for rank in range(2)]
    optimizer = RowLimitedSGD(model.parameters(), lr=0.0, longest_step=LONGEST_STEP)
    pairs: list[tuple[Any, ...]] = []
    for epoch in range(2):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        pairs += zip(*samplers, strict=True)
    for step, pair in enumerate(pairs):
        optimizer.param_groups[0]["lr"] = training.learning_rate_at(step / len(pairs))
        optimizer.zero_grad()
        first, second = (data.batches[block] for block in pair)
        model.sampled_loss(**{name: torch.cat([first[name], second[name]]) for name in first}).sum().backward()
        optimizer.step()
    for name, value in model.state_dict().items():
        assert torch.allclose(together[0]["weights"][name].double(), value, atol=1e-6), name


@pytest.mark.slow
def test_processes_send_the_rows_that_a_step_reads(together: list[dict[str, Any]]) -> None:
    table = together[0]["weights"]["output_vectors"]
    # Of 40 words, their contexts and 3 noise words each, however often they occur.
    assert max(max(of_process["sent"]) for of_process in together) < table.numel() / 8
