"""What a model does not know it cannot name: as a target it is a miss, of what it reads it is left out; both are told.

The models are perfect: behind number i they expect i + 1, so that every known target is a hit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ctxzoo.cli.main import main
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent
from ctxzoo.tasks import next_event, session_recommendation
from ctxzoo.tasks.sequences.card import SESSION_CARD
from ctxzoo.tasks.sequences.task import add_unknown_targets
from tests.support.baselines import result_of

NAMES = [str(number) for number in range(1, 31)]
SIZES: dict[str, Any] = {"hidden_size": 8, "word_dim": 8, "num_heads": 1, "num_layers": 1, "causal": True}


def sessions(**fields: Any) -> SessionBaselineForNextItem:
    torch.manual_seed(0)
    return SessionBaselineForNextItem(SessionBaselineConfig(num_items=30, item_names=NAMES, embedding_size=8, **fields))


def events(**fields: Any) -> TimeEncoderForNextEvent:
    torch.manual_seed(0)
    config = TimeEncoderConfig(vocab_size=31, event_names=NAMES, position="mercer", **SIZES, **fields)
    return TimeEncoderForNextEvent(config)


PROBLEMS: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, float]]]] = {
    "session": (sessions, session_recommendation.evaluate),
    "event": (events, next_event.evaluate),
}


def perfect(input_ids: torch.Tensor, **_: Any) -> SimpleNamespace:
    return SimpleNamespace(logits=10.0 * torch.nn.functional.one_hot(input_ids % 30 + 1, 31))


def written(path: Path, rows: Sequence[Sequence[str]]) -> str:
    lines = [f"{user},{item},{time}" for user, row in enumerate(rows) for time, item in enumerate(row)]
    path.write_text("user,item,time\n" + "\n".join(lines) + "\n")
    return str(path)


ROWS = [
    *[["1", "new", "2", "new", "new", "3", "4", "new", "5"]] * 4,  # four of eight targets are unknown
    ["new", "7", "8"],  # nothing known is before 7
    ["new", "new"],  # and here there is nothing at all
    ["9"],  # without a target
]
TARGETS, UNKNOWN = 35, 18  # 4 * 8 + 2 + 1; 4 * 4 + 1 + 1


@pytest.mark.parametrize("problem", PROBLEMS)
def test_unknown_targets_are_misses(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, evaluate = PROBLEMS[problem]
    model = build()
    monkeypatch.setattr(model, "forward", perfect)
    with collect_reading_notes() as notes:
        scores = evaluate(model, written(tmp_path / "a.csv", ROWS), "train", accelerator="cpu", progress=False)
    assert (scores["targets"], scores["unknown_targets"]) == (TARGETS, UNKNOWN)
    for name in ("recall_at_20", "mrr_at_20"):
        assert scores[f"{name}_known"] == pytest.approx(100)
        assert scores[name] == pytest.approx(100 * (TARGETS - UNKNOWN) / TARGETS)
    assert [number for (_, what), number in notes.noted.items() if "does not know" in what] == [19]
    assert [number for (_, what), number in notes.noted.items() if "nothing is predicted" in what] == [1]
    known = evaluate(model, written(tmp_path / "b.csv", [["1", "2", "3"]]), "train", accelerator="cpu", progress=False)
    assert (known["recall_at_20"], known["targets"], known["unknown_targets"]) == (pytest.approx(100), 2, 0)
    assert not [name for name in known if name.endswith("_known")]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_command_shows_both_numbers(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PROBLEMS[problem][0]().save_pretrained(tmp_path / "checkpoint")
    command = ["evaluate", str(tmp_path / "checkpoint"), "--dataset", written(tmp_path / "a.csv", ROWS), "--split"]
    assert main([*command, "train", "--output", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr()
    assert f"known {problem if problem == 'event' else 'item'}s alone" in printed.out
    assert [line.split()[-1] for line in printed.out.splitlines() if "targets" in line] == [str(TARGETS), str(UNKNOWN)]
    assert "19 " in printed.err
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["metrics"]["unknown_targets"] == UNKNOWN
    assert 19 in told["reading"]["counts"].values()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_predict_counts_what_it_leaves_out(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PROBLEMS[problem][0]().save_pretrained(tmp_path / "model")
    everything = [[str(number) for number in range(1, 31)]]
    file, out = written(tmp_path / "a.csv", [*ROWS, *everything]), tmp_path / "out.json"
    command = ["predict", str(tmp_path / "model"), "--file", file, "--output", str(out), "--top", "25"]
    assert main([*command, "--only_new", "yes"] if problem == "session" else command) == 0
    told, said = json.loads(out.read_text()), capsys.readouterr().err
    assert sum(row["left_out"] for row in told) == 19
    assert "19 items" in said or "19 events" in said
    assert "1 session without" in said or "1 history without" in said
    answers = [len(row["recommended" if problem == "session" else "next"]) for row in told]
    assert answers == ([25] * 5 + [0, 25, 0] if problem == "session" else [25] * 5 + [0, 25, 25])


def test_published_protocol_leaves_them_out() -> None:
    assert add_unknown_targets({"recall_at_20": 50.0, "nll": 2.0}, 10, 5, are_misses=False) == {
        "recall_at_20": 50.0,
        "nll": 2.0,
        "targets": 10,
        "unknown_targets": 5,
    }
    counted = add_unknown_targets({"recall_at_20": 50.0, "nll": 2.0}, 10, 5)
    assert (counted["recall_at_20"], counted["recall_at_20_known"], counted["nll"]) == (25.0, 50.0, 2.0)


def test_cards_tell_of_them() -> None:
    def sentences(**metrics: float) -> list[str]:
        result: Any = SimpleNamespace(settings={}, split="test", metrics={f"test/{n}": v for n, v in metrics.items()})
        return list(SESSION_CARD.describe_data(result))

    counts = {"targets": 10, "unknown_targets": 5, "recall_at_20": 50.0}
    (told,) = sentences(**counts)
    assert told.startswith("5 of the 10 items to predict in test are not in the training")
    assert told.endswith("they are left out of the scores.")
    (told,) = sentences(**counts, recall_at_20_known=50.0)
    assert told.endswith("they are misses.")
    assert sentences(unknown_targets=0) == []


def test_what_is_recommended_follows_from_the_last_things_alone() -> None:
    long = [str(1 + 7 * place % 20) for place in range(40)]
    times = [float(place * place) for place in range(40)]
    recommender, predictor = sessions(max_history=5), events(max_history=5)
    assert recommender.recommend(long) == recommender.recommend(long[-5:])
    assert predictor.next_events(long, times) == predictor.next_events(long[-5:], times[-5:])
    assert recommender.recommend(long) != sessions().recommend(long)
    assert predictor.next_events(long, times) != events().next_events(long, times)
    read = recommender.recommend(long, only_new=True)
    assert not {name for name, _ in read} & set(long)  # those before the last five as well


@pytest.mark.parametrize("problem", PROBLEMS)
def test_scores_are_of_as_many_steps_as_the_training_saw(problem: str, tmp_path: Path) -> None:
    build, evaluate = PROBLEMS[problem]
    model, file = build(max_history=3), written(tmp_path / "a.csv", [[str(1 + 7 * n % 30) for n in range(25)]] * 2)
    how: dict[str, Any] = {"accelerator": "cpu", "progress": False}
    assert evaluate(model, file, "train", **how) == evaluate(model, file, "train", max_length=3, **how)
    assert evaluate(model, file, "train", **how) != evaluate(model, file, "train", max_length=20, **how)


def test_fewer_things_than_ten_are_all_recommended() -> None:
    model = SessionBaselineForNextItem(SessionBaselineConfig(num_items=6, embedding_size=8, hidden_size=8))
    assert len(model.recommend(["1"])) == 6
    assert len(model.recommend(["1", "2"], only_new=True)) == 4
    with pytest.raises(ValueError, match=r"k=7: expected 1 to 6"):
        model.recommend(["1"], 7)
    with pytest.raises(ValueError, match="the history has all 6 items"):
        model.recommend(list("123456"), only_new=True)
    assert len(TimeEncoderForNextEvent(TimeEncoderConfig(vocab_size=4, **SIZES)).next_events(["1"], [0.0])) == 3


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_checkpoint_goes_on_with_its_own_rows(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other data has other names: they are in the rows that the model has for them, and those without one are told."""
    monkeypatch.chdir(tmp_path)
    PROBLEMS[problem][0]().save_pretrained("old")
    rows = [[str(20 + (user + place) % 9) for place in range(4)] + ["gold"] for user in range(20)]
    name = "session-recommendation" if problem == "session" else "next-event"
    command = ["train", name, "--data", written(tmp_path / "new.csv", rows), "--init_from", "old", "--tiny"]
    assert main([*command, "--max_length", "2"]) == 0
    (file,) = Path("runs").rglob("checkpoint/config.json")
    config = json.loads(file.read_text())
    assert config["item_names" if problem == "session" else "event_names"] == NAMES
    assert config["max_history"] == 2
    counted = result_of("markov")  # it counts what the checkpoint knows
    assert counted.settings["init_from"] == "old"
    assert counted.metrics["test/unknown_targets"] == 2
    (result,) = Path("runs/results").rglob("continued-*.json")
    told = json.loads(result.read_text())
    assert told["metrics"]["test/unknown_targets"] == 2  # of two sessions "gold"
    assert sum(number for what, number in told["reading"].items() if "does not know" in what) == 20
