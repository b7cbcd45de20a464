"""What came of a vote, and what others computed from votes, are no inputs of a model."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch

from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.sources import resolve_dataset
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.ops_vote_text import OUTCOME_WORDS, remove_outcomes, split_into_words
from ctxzoo.tasks.vote_prediction.data import VoteDataModule, build_vocabulary
from ctxzoo.tasks.vote_prediction.experiments import build_paper_experiment
from ctxzoo.tasks.vote_prediction.problem import VOTE_PREDICTION
from ctxzoo.tasks.vote_prediction.reader import BILL_COLUMNS, LEGISLATOR_COLUMNS
from tests.tasks.vote_prediction.test_reader import ROWS, as_sample, chamber, written

pytestmark = pytest.mark.usefixtures("own_cache")

OUTCOMES = (
    "yea_count",
    "nay_count",
    "vote_result",
    "nominate_mid_1",
    "nominate_spread_1",
    "nominate_dim1",
    "num_votes",
)


def read(folder: str) -> VoteDataModule:
    data = VoteDataModule(folder, min_bills=1, max_fraction=1.0, divide=False)
    data.setup()
    return data


def assert_same(one: VoteDataModule, other: VoteDataModule) -> None:
    assert one.model_sizes() == other.model_sizes()
    assert one.fingerprint == other.fingerprint
    for split in one.splits:
        (first,), (second,) = (list(data.split_dataloader(split)) for data in (one, other))
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)


def test_no_column_of_outcomes_is_read(tmp_path: Path) -> None:
    assert not set(OUTCOMES) & {*BILL_COLUMNS, *LEGISLATOR_COLUMNS}
    plain = read(chamber(tmp_path / "a"))
    of_bills = {"yea_count": [99, 0], "vote_result": ["Rejected", "Passed"], "nominate_mid_1": [9.0, 9.0]}
    of_legislators = {"nominate_dim1": [-0.9, None], "num_votes": [7, 900]}
    assert_same(plain, read(chamber(tmp_path / "other", of_legislators, **of_bills)))


def test_no_further_column_of_a_long_table_is_read(tmp_path: Path) -> None:
    named, *votes = ROWS.splitlines()
    results = ("Passed,9,0.5", "Rejected,0,-1", "Passed,7,")
    further = [f"{vote},{result}" for vote, result in zip(votes, results, strict=True)]
    other = "\n".join([f"{named},vote_result,yea_count,nominate_dim1", *further])
    assert_same(read(written(tmp_path / "a.csv", ROWS)), read(written(tmp_path / "b.csv", other)))


def test_other_splits_are_no_inputs(tmp_path: Path) -> None:
    """The votes that a model reads of a bill are those of the training, whichever split is scored."""
    data = read(chamber(tmp_path / "a"))
    (batch,) = data.split_dataloader("test")
    assert batch["votes"].tolist()[0][0] == 1
    assert batch["votes"].isnan().tolist() == [[False, True]]
    assert batch["labels"].isnan().tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("architecture", "variant"),
    [("nipen", "pgm_sdae"), ("vote_baseline", "ideal_point_network"), ("vote_baseline", "trust_svd")],
)
def test_a_model_starts_from_votes_of_the_training_alone(
    monkeypatch: pytest.MonkeyPatch, architecture: str, variant: str
) -> None:
    """Neither how others vote nor who votes on what tells its points, its trust or what it knows to be observed."""
    train = "Al b1 1, Bo b1 0, Al b2 0, Bo b2 1, Bo b3 1, Cy b3 0"
    experiment = VOTE_PREDICTION.make_tiny(build_paper_experiment(architecture, variant))

    def start(**splits: str) -> dict[str, torch.Tensor]:
        as_sample(monkeypatch, **splits)
        data = VOTE_PREDICTION.build_data_module(experiment)
        data.setup()
        torch.manual_seed(0)
        return VOTE_PREDICTION.build_module(experiment, data).model.state_dict()

    first = start(train=train, test="Al b3 1, Cy b1 0")
    (mask,) = (value for name, value in first.items() if name.endswith("mask"))
    assert mask.tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    for test, validation in (("Al b3 0, Cy b1 1", "Cy b2 1"), ("Cy b2 1", "Al b3 1")):
        for name, value in start(train=train, test=test, validation=validation).items():
            assert torch.equal(value, first[name]), name
    other = start(train=f"{train}, Cy b1 1", test="Al b3 1")
    assert any(not torch.equal(value, first[name]) for name, value in other.items())


def test_words_that_tell_how_a_vote_ended_are_left_out() -> None:
    texts = ["(SENATE AGREED TO the road amendment)", "road amendment REJECTED", "not having voted in the affirmative"]
    found = build_vocabulary(texts, min_bills=1, max_fraction=1.0)
    assert not set(found) & OUTCOME_WORDS
    assert {"road", "amendment"} <= set(found)
    assert split_into_words("(SENATE AGREED, 5-4)") == ["senate", "agreed"]


TOLD = (
    "A bill to build roads (as of 1997). (THREE-FIFTHS OF THOSE SENATORS DULY CHOSEN AND SWORN NOT HAVING VOTED IN THE "
    "AFFIRMATIVE, SENATE REJECTED S. 24(B) ON ROADS.) Further"
)


def test_a_sentence_that_tells_how_a_vote_ended_is_cut_as_a_whole() -> None:
    assert remove_outcomes(TOLD) == "A bill to build roads (as of 1997).  Further"
    assert (
        remove_outcomes("(Passed) roads (a (b) Rejected) and (c) bridges (tabled") == " roads  and (c) bridges (tabled"
    )
    assert remove_outcomes("no) bracket (at (all)") == "no) bracket (at (all)"
    assert remove_outcomes("To label meat as passed") == "To label meat as passed"


def test_training_and_prediction_cut_alike(tmp_path: Path) -> None:
    rows = "".join(f'Al,b{n},1,"{TOLD}"\nBo,b{n},0,"{TOLD}"\n' for n in range(5))
    file = written(tmp_path / "a.csv", f"legislator,bill,vote,text\n{rows}")
    with collect_reading_notes() as notes:
        data = read(file)
    assert set(data.words or ()) == {"build", "roads"}
    assert list(notes.counts().values()) == [5]
    earlier = VoteDataModule(file, min_bills=1, max_fraction=1.0, cut_outcomes=False, divide=False)
    earlier.setup()
    assert {"duly", "chosen", "sworn"} <= set(earlier.words or ())
    for one in (data, earlier):
        config = NipenConfig(amortized_bills=True, encoder_widths=[4, 3], num_topics=2, **one.model_sizes())
        model: Any = NipenForVotePrediction(config)
        assert torch.equal(model.bags_of_words([TOLD])[0], torch.from_numpy(one.bags.toarray()[0]))


@pytest.mark.data
def test_outcomes_of_the_senate_change_nothing(tmp_path: Path) -> None:
    """The tables of roll_call without any outcome give the same inputs."""
    source = Path(resolve_dataset("ctxzoo-data/roll_call"))
    folder = tmp_path / "without_outcomes"
    shutil.copytree(source, folder)
    for name in ("bills", "legislators"):
        table = datasets.Dataset.from_parquet(str(source / name / "train.parquet"), cache_dir=str(tmp_path / "cache"))
        kept = [column for column in table.column_names if column in (*BILL_COLUMNS, *LEGISLATOR_COLUMNS)]
        assert set(table.column_names) & set(OUTCOMES)
        (folder / name / "train.parquet").unlink()
        table.select_columns(kept).to_parquet(folder / name / "train.parquet")
    one, other = (VoteDataModule(str(where)) for where in (source, folder))
    for data in (one, other):
        data.setup()
    assert one.model_sizes() == other.model_sizes()
    assert one.fingerprint == other.fingerprint
    assert (one.bags != other.bags).nnz == 0
    assert np.array_equal(one.observed, other.observed, equal_nan=True)
    assert len(one.legislator_names or ()) == 244
    assert len(one.known_bills or ()) == 7554
    sizes = [int((~np.isnan(one.vote_matrix(split))).sum()) for split in ("train", "validation", "test")]
    assert sizes == [583872, 72733, 72477]
    assert not set(one.words or ()) & OUTCOME_WORDS


@pytest.mark.data
def test_texts_of_the_senate_tell_how_votes_ended() -> None:
    """docs/models/nipen.md has these counts."""
    data = read("ctxzoo-data/roll_call")
    texts = data.load_checked_data().texts
    told = re.compile(r"SENATE (AGREED|REJECTED|TABLED|PASSED|FAILED|CONFIRMED)\b")
    assert (sum(bool(told.search(text)) for text in texts), len(texts)) == (603, 7554)
    rates = [
        np.nanmean(data.observed[bill]) for bill, text in enumerate(texts) if "confirmed" in split_into_words(text)
    ]
    assert (sum(rate > 0.5 for rate in rates), len(rates)) == (43, 44)
