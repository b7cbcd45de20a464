from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.sample import sample_votes
from ctxzoo.tasks.vote_prediction.task import VoteScores
from tests.tasks.vote_prediction.test_reader import written


def test_batches_hold_every_bill_of_a_split_once() -> None:
    data = VoteDataModule("sample", batch_size=7, eval_batch_size=9)
    data.setup()
    for loader, split in ((data.train_dataloader(), "train"), (data.split_dataloader("test"), "test")):
        rows, votes = [], 0
        for batch in loader:
            rows += batch["row"].tolist()
            votes += int((~batch["labels"].isnan()).sum())
            assert torch.equal(batch["votes"].isnan(), torch.from_numpy(np.isnan(data.observed[batch["row"].numpy()])))
        assert sorted(rows) == sorted(set(rows))
        assert votes == len(sample_votes()[split])


def test_what_a_model_does_not_know(tmp_path: Path) -> None:
    table = written(
        tmp_path / "a.csv", "legislator,bill,vote,text\nAl,b1,1,road road\nBo,b1,0,road road\nCy,b2,1,sea\n"
    )
    data = VoteDataModule(table, legislator_names=["Bo", "Al"], known_bills=["b2"], words=["sea", "road"])
    data.setup()
    with collect_reading_notes() as notes:
        (batch,) = data.split_dataloader("train")
    assert notes.counts() == {"votes of legislators that the model does not know, left out": 1}
    assert batch["bill_ids"].tolist() == [-1]
    assert batch["bag_of_words"].tolist() == [[0, 2]]
    assert batch["labels"].tolist() == [[0, 1]]
    nobody = VoteDataModule(table, legislator_names=["Zoe"], known_bills=["b2"], words=["sea"])
    nobody.setup()
    with pytest.raises(TextFormatError, match="none of the 1 known legislators votes in it"):
        nobody.train_dataloader()
    with pytest.raises(ValueError, match="gives no 'test' rows"):
        data.vote_matrix("test")


def test_scores_count_each_known_vote() -> None:
    scores = VoteScores()
    scores.update(torch.tensor([[0.0, 2], [5, -1]]), torch.tensor([[float("nan"), 1], [0, 0]]))
    found = scores.compute()
    p = torch.tensor([2.0, 5, -1]).sigmoid()
    labels = torch.tensor([1.0, 0, 0])
    assert found["accuracy"] == pytest.approx(100 * 2 / 3)
    assert found["log_likelihood"] == pytest.approx((labels * p.log() + (1 - labels) * (1 - p).log()).mean().item())
    assert found["rmse"] == pytest.approx((p - labels).square().mean().sqrt().item())
    assert found["mae"] == pytest.approx((p - labels).abs().mean().item())


def test_votes_count_alike_in_batches_of_any_size() -> None:
    logits, labels = torch.linspace(-3, 4, 7), torch.tensor([1.0, 0, 0, 1, 1, 0, 1])
    whole, parts = VoteScores(), VoteScores()
    whole.update(logits, labels)
    for part in (slice(1), slice(1, 5), slice(5, 7)):
        parts.update(logits[part], labels[part])
    assert parts.compute() == pytest.approx(whole.compute())


def test_a_probability_of_one_half_counts_as_a_nay() -> None:
    for vote, accuracy in ((1.0, 0), (0.0, 100)):
        scores = VoteScores()
        scores.update(torch.zeros(1), torch.tensor([vote]))
        assert scores.compute()["accuracy"] == accuracy


def test_the_calibration_error_is_that_of_fifteen_bins() -> None:
    """With 14 bins the first three votes would be in one, with 16 the second would be with the third."""
    scores = VoteScores()
    for probabilities, votes in (([0.05, 0.065, 0.07, 0.9], [0.0, 1, 0, 1]), ([0.92, 0.95], [0.0, 1])):
        scores.update(torch.logit(torch.tensor(probabilities)), torch.tensor(votes))
    bins = (2 * (1 / 2 - 0.0575), 0.07 - 0, 2 * (0.91 - 1 / 2), 1 - 0.95)
    assert scores.compute()["calibration_error"] == pytest.approx(sum(bins) / 6, abs=1e-6)


def test_the_sample_repeats_itself_and_can_be_learned() -> None:
    assert sample_votes()["train"][:5] == sample_votes()["train"][:5]
    assert len(sample_votes()["train"]) > 1500
    with pytest.raises(ValueError, match="seed is -1"):
        sample_votes(-1)
    with pytest.raises(ValueError, match="expected 4 or more of each"):
        sample_votes(bills=3)
