"""The benchmark of rows that test and training share: what counts as alike, and scores without them."""

from __future__ import annotations

import datasets
import pytest

from benchmarks import shared_rows
from benchmarks.shared_rows import IMDB, MODELS, SESSIONS, TITLES, find_similar_sets, main
from tests.support.result_tables import make_run


def test_alike_by_what_both_have_of_what_either_has() -> None:
    trained = [["a", "b", "c"], [1, 2, 3, 4, 5]]
    tested = [["a", "b", "c", "d"], ["a", "b"], ["a"], [1, 2, 3, 9], [7], ["c", "b", "a"]]
    # 3 of 4, 2 of 3, 1 of 3, 3 of 6, none, all
    assert find_similar_sets(tested, trained) == [True, True, False, False, False, True]


def test_counts_and_scores_without_them(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    columns = {
        IMDB: ("text", ["Good  film", "bad film"], ["good film", "a dull film"]),
        TITLES: ("title", ["Rates rise again"], ["rates rise", "frogs sing"]),
        SESSIONS: ("items", [[1, 2, 3]], [[1, 2, 3], [7, 8], [9, 1]]),
    }

    def load(name: str, data_dir: str | None) -> dict[str, datasets.Dataset]:
        column, train, test = columns[name]
        return {split: datasets.Dataset.from_dict({column: rows}) for split, rows in (("train", train), ("test", test))}

    kept = {"test/predictions": [2.0, 1.0, 1.0], "test/recall_at_20": [2.0, 1.0, 0.0], "test/mrr_at_20": [1.0, 0.5, 0]}
    runs = [make_run(name, seed=1, dataset=SESSIONS, tag="wide", per_example=kept) for name in MODELS]
    kept = kept | {"test/recall_at_20": [2.0, 0.0, 0.0]}
    runs.append(make_run("hcrnn3_bi", seed=0, dataset=SESSIONS, tag="wide", per_example=kept))
    monkeypatch.setattr(shared_rows, "load_splits", load)
    monkeypatch.setattr(shared_rows, "read_results", lambda folder: runs)
    main(["--out", str(tmp_path / "a.csv")])
    shown = capsys.readouterr().out
    assert f"| `{IMDB}` | equal texts | 2 | 1 |" in shown
    assert f"| `{TITLES}` | titles that are alike | 2 | 1 |" in shown
    assert f"| `{SESSIONS}` | sessions that are alike | 3 | 1 |" in shown
    assert "| NARM | 75.00 | 50.00 | 37.50 | 25.00 |" in shown
    assert "| HCRNN-3 + Bi | 62.50 | 25.00 | 37.50 | 25.00 |" in shown
    assert "| HCRNN-3 + Bi, the published run | 50.00 | 0.00 | 37.50 | 25.00 |" in shown
