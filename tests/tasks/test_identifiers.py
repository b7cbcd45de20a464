"""An identifier is what the data of the training says: 10, numpy's 10 and "10" are the thing called "10", everywhere.

The names are numbers that are rows of the table as well, in another order, so that a row taken for a name shows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_session import NextItemOutput
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent
from ctxzoo.tasks.next_event import HistoryDataModule, draw_time_kernel, next_events, time_kernel
from ctxzoo.tasks.session_recommendation import SessionDataModule, draw_drift, drift_gates, recommend
from ctxzoo.tasks.vote_prediction import draw_votes, predict_votes
from ctxzoo.word_vectors.vectors import WordVectors

NAMES = ["100", "10", "20", "30", "40", "50", "60", "70", "80", "90", "1", "2", "3"]
HISTORY, ROWS = [10, 30, 2], [2, 4, 12]
TIMES = [0.0, 5.0, 6.0]


def sessions() -> HcrnnForNextItem:
    config = HcrnnConfig(num_items=len(NAMES), item_names=NAMES, embedding_size=4, hidden_size=4, num_topics=2)
    return spread(HcrnnForNextItem(config))


def events() -> TimeEncoderForNextEvent:
    sizes: dict[str, Any] = {"hidden_size": 8, "word_dim": 8, "num_heads": 2, "num_layers": 1}
    time: dict[str, Any] = {"position": "lste", "time_combine": "add", "behaviour_conditioned": True}
    config = TimeEncoderConfig(vocab_size=len(NAMES) + 1, event_names=NAMES, causal=True, **sizes, **time)
    return spread(TimeEncoderForNextEvent(config))


def votes() -> NipenForVotePrediction:
    config = NipenConfig(
        num_legislators=3,
        legislator_names=["10", "20", "0"],
        num_bills=len(NAMES),
        bill_names=NAMES,
        vocab_size=2,
        words=["road", "tax"],
        encoder_widths=[4],
    )
    return spread(NipenForVotePrediction(config))


def spread(model: Any) -> Any:
    """Return the model with weights that tell its inputs apart."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.data.normal_()
    return model.eval()


WORDS = WordVectors.from_tensor(NAMES, torch.eye(len(NAMES)) + torch.arange(13).outer(torch.arange(13)) / 99, "numbers")

# Every public function that takes names, with what it takes beside them; of each the answer is compared.
TAKES_MANY: dict[str, Callable[[Any], Any]] = {
    "recommend": lambda names: recommend(sessions(), names),
    "model.recommend": lambda names: sessions().recommend(names, 3, only_new=True),
    "model.encode_history": lambda names: sessions().encode_history(names),
    "drift_gates": lambda names: drift_gates(sessions(), names).tolist(),
    "next_events": lambda names: next_events(events(), names, TIMES),
    "model.next_events": lambda names: events().next_events(names, TIMES, 4),
    "event model.encode_history": lambda names: events().encode_history(names),
    "time_kernel": lambda names: [one.tolist() for one in time_kernel(events(), names, TIMES)],
    "SessionDataModule": lambda names: SessionDataModule("sample", item_names=names).names,
    "most_similar": lambda names: WORDS.most_similar(names, top=4),
    "HistoryDataModule": lambda names: HistoryDataModule("sample", event_names=names).names,
}
TAKES_ONE: dict[str, Callable[[Any], Any]] = {
    "predict_votes": lambda name: predict_votes(votes(), "a road", name),
    "WordVectors.lookup": lambda name: WORDS.lookup(name),
    "WordVectors.vector": lambda name: WORDS.vector(name).tolist(),
    "model.predict_votes": lambda name: votes().predict_votes("a road", name),
}
DRAWN: dict[str, Callable[[list[Any], Path], Any]] = {
    "draw_drift": lambda names, out: draw_drift(sessions(), names, out),
    "draw_time_kernel": lambda names, out: draw_time_kernel(events(), names, TIMES, out),
    "draw_votes": lambda names, out: draw_votes(votes(), "a road", out, bill=names[0]),
}


@pytest.mark.parametrize("door", TAKES_MANY)
def test_histories_are_of_names(door: str) -> None:
    ask = TAKES_MANY[door]
    expected = ask([str(name) for name in HISTORY])
    assert ask(HISTORY) == expected
    assert ask(np.array(HISTORY)) == expected
    assert ask([np.int64(10), "30", 2]) == expected
    assert expected != ask(["100", "20", "40"])  # what stands elsewhere is told apart


@pytest.mark.parametrize("door", TAKES_ONE)
def test_bills_and_words_are_named(door: str) -> None:
    ask = TAKES_ONE[door]
    expected = ask("10")
    assert ask(10) == ask(np.int64(10)) == expected
    assert ask("1") != expected  # the bill in row 10


@pytest.mark.parametrize("door", DRAWN)
def test_pictures_are_of_names(door: str, tmp_path: Path) -> None:
    drawn = []
    for number, names in enumerate((["10", "30", "2"], HISTORY, ["1", "20", "40"])):
        DRAWN[door](names, tmp_path / f"{number}.png")
        drawn.append((tmp_path / f"{number}.png").read_bytes())
    assert drawn[0] == drawn[1] != drawn[2]


def test_names_stand_in_their_rows() -> None:
    for model in (sessions(), events()):
        assert model.encode_history(HISTORY) == ROWS
        for unknown in (4, 0, 13, "010", -1):
            with pytest.raises(ValueError, match=f"does not know the (item|event) '{unknown}'"):
                model.encode_history([10, unknown])
    with pytest.raises(ValueError, match="does not know the bill '0'"):
        votes().predict_votes("", 0)


def test_without_names_things_are_called_by_their_ids() -> None:
    config = SessionBaselineConfig(num_items=4, embedding_size=3, hidden_size=3)
    model = SessionBaselineForNextItem(config)
    assert model.encode_history([4, "1"]) == [4, 1]
    assert {name for name, _ in model.recommend([4])} == {"1", "2", "3", "4"}
    with pytest.raises(ValueError, match=r"does not know the item '5': .* such as '1' or '4'"):
        model.recommend([5])


def test_a_perfect_model_recommends_the_next_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The items 1 to 40 of a DataModule stand in the order of text: 1, 10, 11, …, and 3 is not in row 3."""
    names = sorted(str(number) for number in range(1, 41))
    model = SessionBaselineForNextItem(SessionBaselineConfig(num_items=40, item_names=names))

    def next_number(input_ids: torch.Tensor, **_: Any) -> NextItemOutput:
        follower = int(names[int(input_ids[0, -1]) - 1]) % 40 + 1
        logits = torch.zeros(1, 41)
        logits[0, names.index(str(follower)) + 1] = 9
        return NextItemOutput(logits=logits)

    monkeypatch.setattr(model, "forward", next_number)
    for number in range(1, 40):
        for one in (number, np.int32(number), str(number)):
            assert recommend(model, [one], 1)[0][0] == str(number + 1)
