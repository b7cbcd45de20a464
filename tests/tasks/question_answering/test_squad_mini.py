"""What the pages say of the small SQuAD sets: which rows they share, and that nothing trained on is scored."""

from __future__ import annotations

import os

import pytest

from ctxzoo.tasks.question_answering.reader import read_squad

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("CTXZOO_DATA" not in os.environ, reason="CTXZOO_DATA names no folder of datasets"),
]
SCORED = ("validation", "test")


def plain(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split())


@pytest.mark.parametrize("name", ["squad_v1_mini", "squad_v2_mini"])
def test_no_article_and_no_context_of_training_is_scored(name: str) -> None:
    splits = read_squad(f"ctxzoo-data/{name}").splits
    for column in ("title", "context"):
        trained = set(map(plain, splits["train"][column]))
        for split in SCORED:
            assert trained.isdisjoint(map(plain, splits[split][column])), (column, split)
    assert set(splits["validation"]["title"]).isdisjoint(splits["test"]["title"])


def test_the_answerable_rows_of_the_one_are_the_other() -> None:
    first, second = (read_squad(f"ctxzoo-data/squad_v{version}_mini").splits for version in (1, 2))
    for split in ("train", *SCORED):
        answerable = {row["id"] for row in second[split] if row["answers"]["text"]}
        assert answerable == set(first[split]["id"]), split
    assert len(first["train"]) == 29_313


@pytest.mark.parametrize(("config", "rows"), [("new_wiki", 7_938), ("reddit", 9_803)])
def test_squad_shifts_is_a_part_of_the_training_rows(config: str, rows: int) -> None:
    train = read_squad("ctxzoo-data/squad_v1_mini").splits["train"]
    of_source = {row["id"]: row["answers"] for row in train if row["source"] == config}
    (shifts,) = read_squad("ctxzoo-data/squadshifts", config=config).splits.values()
    assert len(shifts) == rows
    assert of_source == {row["id"]: row["answers"] for row in shifts}
    others = {row["context"] for row in train if row["source"] != config}
    assert others.isdisjoint(shifts["context"])
