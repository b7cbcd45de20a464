"""Sequences divided by time or by leaving the last out, and without what is rare."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import numpy as np
import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.sequences.baselines import build_markov_scorer, score_baseline
from ctxzoo.tasks.sequences.data import HistoryDataModule, SessionDataModule
from ctxzoo.tasks.sequences.kinds import SESSIONS
from ctxzoo.tasks.sequences.splitting import divide_sequences, drop_rare
from ctxzoo.tasks.sequences.task import SessionScores


def rows_of(*lists: str, times: list[list[float]] | None = None) -> datasets.Dataset:
    content = {"session_id": [str(n) for n in range(len(lists))], "items": [list(one) for one in lists]}
    return datasets.Dataset.from_dict(content if times is None else {**content, "timestamps": times})


def listed(rows: datasets.Dataset) -> list[tuple[str, str, int]]:
    columns = (rows[name] for name in ("session_id", "items", "first_target"))
    return [(name, "".join(items), first) for name, items, first in zip(*columns, strict=True)]


def test_the_last_items_are_left_out() -> None:
    with collect_reading_notes() as notes:
        parts, how = divide_sequences(SESSIONS, rows_of("abcd", "xy", "abc"), "data", "leave_one_out")
    assert how == "of each session the last item is for test and the one before it for validation"
    assert listed(parts["train"]) == [("0", "ab", 1), ("1", "xy", 1), ("2", "a", 1)]
    assert listed(parts["validation"]) == [("0", "abc", 2), ("2", "ab", 1)]
    assert listed(parts["test"]) == [("0", "abcd", 3), ("2", "abc", 2)]
    assert any("1 session of fewer than 3 items, all in train" in line for line in notes.format_new_lines())


def test_nothing_is_trained_on_that_comes_after_what_is_predicted() -> None:
    draws = np.random.default_rng(0)
    times = [sorted(draws.uniform(0, 100, size=size).tolist()) for size in draws.integers(1, 12, size=40)]
    lists = ["".join(draws.choice(list("abcdef"), size=len(one))) for one in times]
    parts, _ = divide_sequences(SESSIONS, rows_of(*lists, times=times), "data", "time")
    times_of, items_of = (dict(zip(map(str, range(40)), values, strict=True)) for values in (times, lists))
    found: dict[str, list[float]] = {}
    for part, rows in parts.items():
        for name, items, first in listed(rows):
            assert items_of[name].startswith(items)  # what came before is read
            found.setdefault(part, []).extend(times_of[name][0 if part == "train" else first : len(items)])
    assert max(found["train"]) < min(found["validation"]) <= max(found["validation"]) < min(found["test"])
    assert len(found["train"]) == pytest.approx(0.8 * sum(map(len, lists)), abs=1)


def test_rare_items_and_short_sessions_go_until_all_fits() -> None:
    """c goes as rare, then the session that it made long enough, then b, which stood there."""
    with collect_reading_notes() as notes:
        left = drop_rare(SESSIONS, rows_of("aad", "cb", "aab", "dda"), "data", 2, 2)
    assert list(map("".join, left["items"])) == ["aad", "aa", "dda"]
    assert left["session_id"][:] == ["0", "2", "3"]
    said = " ".join(notes.format_new_lines())
    assert "2 items with fewer than 2 occurrences in sessions that are kept, left out" in said
    assert "1 session of fewer than 2 of the items that are kept, left out" in said
    with pytest.raises(TextFormatError, match="of 1 session none is left with 4 or more items that"):
        drop_rare(SESSIONS, rows_of("aab"), "data", 2, 4)


@pytest.mark.parametrize(
    ("rows", "split", "message"),
    [
        (rows_of("abc"), "time", "split='time', but there are no times"),
        (rows_of("ab", "cd"), "leave_one_out", "leaves nothing for validation; expected sessions of 3 or more items"),
        (rows_of("abc", times=[[1, 1, 1]]), "time", "leaves nothing for train"),
    ],
)
def test_what_cannot_be_divided(rows: datasets.Dataset, split: str, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        divide_sequences(SESSIONS, rows, "data", split)


def write(folder: Path, first_targets: list[int], **further: list[list[float]]) -> Path:
    for name, first in (("train", [1, 1]), ("test", first_targets)):
        items = {"items" if not further else "events": [list("abcde"), list("bcdea")]}
        datasets.Dataset.from_dict({**items, **further, "first_target": first}).to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("max_length", [2, 3, 50])
def test_only_targets_are_predicted_and_they_see_all_they_can(tmp_path: Path, max_length: int) -> None:
    data = SessionDataModule(str(write(tmp_path, [4, 1])), max_length=max_length, eval_batch_size=9)
    data.setup()
    assert (data.targets["test"], data.unknown_targets["test"]) == (1 + 4, 0)
    labels: list[tuple[int, int]] = []
    for batch in data.split_dataloader("test"):
        for ids, of_row in zip(batch["input_ids"].tolist(), batch["labels"].tolist(), strict=True):
            labels += [(step + 1, label) for step, label in enumerate(of_row) if label > 0]
            if [label for label in of_row if label > 0] == [5] and ids[0] != 2:
                assert sum(one > 0 for one in ids) == min(4, max_length)  # e after as many as fit
    assert sorted(label for _, label in labels) == [1, 3, 4, 5, 5]
    scores = score_baseline(
        build_markov_scorer(data.get_ids("train"), 5),
        data.get_ids("test"),
        SessionScores(),
        None,
        data.get_first_targets("test"),
    )
    assert scores["recall_at_10"] == 100


def test_histories_have_first_targets_too(tmp_path: Path) -> None:
    times = [[1.0, 2, 3, 4, 5], [1.0, 1, 2, 2, 9]]
    data = HistoryDataModule(str(write(tmp_path, [3, 5], timestamps=times)), eval_batch_size=9)
    data.setup()
    assert (data.targets["test"], data.unknown_targets["test"]) == (2, 0)
    (batch,) = data.split_dataloader("test")
    assert batch["labels"].tolist() == [[-100, -100, -100, 4, 5]]


@pytest.mark.parametrize(
    ("first", "message"), [([0, 1], "first_target is 0 in a sequence of 5"), ([6, 1], "is 6 in a")]
)
def test_a_first_target_that_cannot_be(tmp_path: Path, first: list[int], message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        SessionDataModule(str(write(tmp_path, first))).setup()


@pytest.mark.parametrize("split", ["time", "leave_one_out"])
def test_from_events_to_a_card_that_says_how_they_were_divided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, split: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{user},{(user + step) % 20:02},{10 * step + user % 7}" for user in range(40) for step in range(6)]
    Path("walks.csv").write_text("\n".join(["user,item,time", *lines, "99,rare,1"]) + "\n")
    command = ["train", "session-recommendation", "--data", "walks.csv", "--split", split, "--at", "1", "3"]
    options = ["--min_item_count", "2", "--min_session_length", "3", "--variant", "hcrnn1", "--tiny"]
    assert main([*command, *options]) == 0
    said = capsys.readouterr()
    assert "1 item with fewer than 2 occurrences in sessions that are kept, left out" in said.out + said.err
    (file,) = Path("runs/results").rglob("hcrnn1*.json")
    result = json.loads(file.read_text())
    assert (result["settings"]["split"], result["settings"]["min_item_count"]) == (split, 2)
    metrics = result["metrics"]
    assert {f"test/{name}_at_{k}" for name in ("recall", "mrr", "ndcg") for k in (1, 3, 10, 20)} <= set(metrics)
    assert metrics["test/targets"] == (40 if split == "leave_one_out" else metrics["test/targets"])
    (checkpoint,) = Path("runs").rglob("checkpoint")
    card = " ".join((checkpoint / "README.md").read_text().split())
    assert ("divided by time" if split == "time" else "divided by leaving out") in card
    assert "items that stand there fewer than 2 times, and sessions of fewer than 3" in card
    (rows,) = Path("runs").rglob("data-*")
    scores = ["evaluate", str(checkpoint), "--dataset", str(rows), "--at", "3", "--output", "scores.json"]
    assert main(scores) == 0
    again = json.loads(Path("scores.json").read_text())["metrics"]
    for name in ("recall_at_3", "ndcg_at_10", "targets"):
        assert again[name] == pytest.approx(metrics[f"test/{name}"], rel=1e-5), name
    assert main([*command, "--test", "walks.csv"]) == 2
    assert "has the splits test, train already" in capsys.readouterr().err
