"""Bills without a vote in the training: only their texts can say how a legislator votes on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.tasks.vote_prediction import evaluate, predict_votes
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.experiments import build_paper_experiment, get_dataset_arguments
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION
from ctxzoo.tasks.vote_prediction.task import VoteScores
from tests.tasks.vote_prediction.test_reader import as_sample

TEXTS = {"b1": "road bridge", "b2": "school road", "b3": "tax", "n1": "bridge tax", "n2": "school tax tax"}


@pytest.fixture
def votes(monkeypatch: pytest.MonkeyPatch) -> None:
    train = "Al b1 1, Bo b1 0, Al b2 0, Bo b2 1, Cy b2 1, Al b3 1, Cy b3 0"
    as_sample(monkeypatch, TEXTS, train=train, validation="Al n1 1, Cy n1 0", test="Bo n2 1, Cy n2 0")


def trained(architecture: str, variant: str, **fields: Any) -> tuple[Any, VoteDataModule]:
    """A model after a few steps on the training, in evaluation mode, and the data."""
    experiment = VOTE_PREDICTION.make_tiny(build_paper_experiment(architecture, variant)).copy_with(
        learning_rate=0.02, **fields
    )
    data = VOTE_PREDICTION.build_data_module(experiment)
    data.word_limits |= {"min_bills": 1, "max_fraction": 1.0}
    data.setup()
    torch.manual_seed(0)
    task: Any = VOTE_PREDICTION.build_module(experiment, data)
    optimizer = torch.optim.Adam(task.parameters(), lr=0.02)
    (batch,) = data.train_dataloader()
    losses = []
    for _ in range(30):
        losses.append(task.compute_training_loss(batch))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert sum(losses[-5:]) < sum(losses[:5])
    return task.model.eval(), data


@pytest.mark.usefixtures("votes")
@pytest.mark.parametrize(
    ("architecture", "variant", "fields"),
    [
        ("nipen", "pgm_vae", {"amortized_bills": True, "new_bill_rate": 0.5, "text_lambda": 1}),
        ("vote_baseline", "cdl", {}),
    ],
)
def test_they_have_no_id_and_no_known_votes_and_are_predicted(
    architecture: str, variant: str, fields: dict[str, Any]
) -> None:
    model, data = trained(architecture, variant, **fields)
    assert model.config.bill_names == ["b1", "b2", "b3"]
    for split, labels in (("validation", [[1, -1, 0]]), ("test", [[-1, 1, 0]])):
        (batch,) = data.split_dataloader(split)
        assert batch["bill_ids"].tolist() == [-1]
        assert batch["votes"].isnan().all()
        assert batch["labels"].nan_to_num(-1).tolist() == labels
    found = dict(predict_votes(model, TEXTS["n2"]))
    expected = VoteScores()
    expected.update(torch.logit(torch.tensor([found["Bo"], found["Cy"]])), torch.tensor([1.0, 0]))
    scores = evaluate(model, "sample", progress=False, accelerator="cpu")
    assert scores == pytest.approx(expected.compute(), rel=1e-4)


@pytest.mark.usefixtures("votes")
def test_a_model_of_known_bills_is_not_scored_on_them() -> None:
    model, _ = trained("nipen", "pgm_vae")
    with pytest.raises(ValueError, match="were not in the training of this NipenFor"):
        evaluate(model, "sample", progress=False, accelerator="cpu")


@pytest.mark.slow
@pytest.mark.data
def test_in_the_senate_those_of_validation_and_test_are_new() -> None:
    data = VoteDataModule(**get_dataset_arguments("roll_call_new_bills"))
    data.setup()
    assert len(data.known_bills or ()) == len(data.batches("train", training=True))
    for split, votes in (("validation", 83394), ("test", 85168)):
        bills = data.batches(split, training=False).bills
        assert (data.bill_ids[bills] == -1).all()
        assert np.isnan(data.observed[bills]).all()
        assert len(data.load_checked_data().splits[split].votes) == votes
        assert 0.9 * votes < int((~np.isnan(data.vote_matrix(split))).sum()) <= votes
