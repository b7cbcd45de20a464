from __future__ import annotations

from typing import Any

import lightning
import pytest
import torch
from torch.utils.data import DataLoader

from ctxzoo.training.ema import ExponentialMovingAverage, ema_decay


@pytest.mark.parametrize(
    ("update", "decay"),
    [(0, 0.1), (1, 2 / 11), (8, 0.5), (90, 0.91), (8989, 8990 / 8999), (8990, 0.999), (10**6, 0.999)],
)
def test_ramp(update, decay):
    assert ema_decay(update, 0.999) == pytest.approx(decay, rel=1e-12)


@pytest.mark.parametrize("decay", [-0.1, 1.0, 2.0])
def test_a_decay_outside_0_to_1_is_refused(decay):
    with pytest.raises(ValueError, match=rf"decay must be in \[0, 1\), got {decay}"):
        ExponentialMovingAverage(decay)


class Line(lightning.LightningModule):
    """Two trained weights, a frozen one, a float and an integer buffer; the weights of every moment are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        self.frozen = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("count", torch.zeros(1, dtype=torch.long))
        self.trained: list[torch.Tensor] = []
        self.means: list[float] = []
        self.validated: list[torch.Tensor] = []
        self.around: list[torch.Tensor] = []

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        return ((self.weight - batch) ** 2).sum()

    def on_train_batch_end(self, *args: Any) -> None:
        self.trained.append(self.weight.detach().clone())

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.mean += 0.5
        self.count += 1
        self.means.append(self.mean.item())

    def validation_step(self, batch: torch.Tensor, batch_idx: int) -> None:
        self.validated.append(self.weight.detach().clone())

    def on_validation_start(self) -> None:
        self.around.append(self.weight.detach().clone())

    def on_validation_end(self) -> None:
        self.around.append(self.weight.detach().clone())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(folder: Any, model: Line, decay: float = 0.4, **options: Any) -> ExponentialMovingAverage:
    average = ExponentialMovingAverage(decay)
    trainer = lightning.Trainer(
        devices=1,
        callbacks=[average],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=folder,
        **{"accelerator": "cpu", "max_epochs": 2, **options},
    )
    values = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    trainer.fit(model, DataLoader(values, batch_size=None), DataLoader(torch.zeros(1), batch_size=None))
    return average


def averages(start: torch.Tensor, values: list[torch.Tensor], decay: float) -> list[torch.Tensor]:
    """The average after each update, by the definition."""
    result, mean = [], start.double()
    for update, value in enumerate(values):
        weight = min(decay, (1 + update) / (10 + update))
        mean = weight * mean + (1 - weight) * value.double()
        result.append(mean)
    return result


def test_average_is_that_of_the_definition_and_stands_in_for_validation_and_at_the_end(tmp_path):
    model = Line()
    start = model.weight.detach().clone()
    fit(tmp_path, model)
    expected = averages(start, model.trained, 0.4)
    assert len(expected) == 10
    for seen, update in zip(model.validated, (4, 9), strict=True):
        torch.testing.assert_close(seen.double(), expected[update], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(model.weight.detach().double(), expected[-1], rtol=1e-6, atol=1e-7)
    mean = averages(torch.zeros(1), [torch.tensor([value]) for value in model.means], 0.4)[-1]
    torch.testing.assert_close(model.mean.double(), mean, rtol=1e-6, atol=1e-7)
    assert model.count.item() == 10
    assert model.frozen.item() == 3.0


def test_validation_leaves_the_trained_weights_equal_to_the_bit(tmp_path):
    with_validation, without = Line(), Line()
    fit(tmp_path, with_validation)
    fit(tmp_path, without, limit_val_batches=0)
    assert all(torch.equal(one, other) for one, other in zip(with_validation.trained, without.trained, strict=True))
    # Around the validation the trained weights are in place again.
    before, after = with_validation.around[0], with_validation.around[1]
    assert torch.equal(after, with_validation.trained[4])
    assert torch.equal(before, after)
    assert not torch.equal(with_validation.validated[0], with_validation.trained[4])


def test_accumulated_batches_count_as_one_update(tmp_path):
    model = Line()
    start = model.weight.detach().clone()
    average = fit(tmp_path, model, accumulate_grad_batches=5, max_epochs=3)
    assert int(average._average_model.n_averaged) == 1 + 3
    expected = averages(start, model.trained[4::5], 0.4)[-1]
    torch.testing.assert_close(model.weight.detach().double(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_average_lives_on_the_device_of_the_model(tmp_path):
    average = fit(tmp_path, Line(), accelerator="gpu")
    assert {value.device.type for value in average._average_model.state_dict().values()} == {"cuda"}
