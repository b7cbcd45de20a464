"""The recipe of the figures of attention CBOW, on tiny checkpoints and made-up results."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import write_result_file
from reports.word_embedding_figures import Settings, main
from tests.support.result_tables import make_run
from tests.support.tiny_word_embedding import write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    write_tiny(folder / "first")
    write_tiny(folder / "second" / "checkpoint")
    for architecture, window, name, median in (
        ("attention_cbow", 2, "", 50.0),
        ("attention_cbow", 20, "", 54.0),
        ("cbow", 20, "", 48.5),
        ("cbow", 20, "exact", 99.0),
    ):
        for seed in (0, 1):
            told = {"task": "pos_induction", "architecture": architecture, "window": window, "name": name}
            run = replace(
                make_run(architecture, seed),
                recipe="embedding_evaluation",
                settings=told,
                metrics={"all/pos_tags/v_measure_median": median + seed},
            )
            write_result_file(run, folder / "results" / f"{architecture}-{window}-{name}-{seed}.json")
    return folder


def drawn(folder: Path, out: str, **options: Any) -> dict[str, list[dict[str, str]]]:
    main(Settings(results_dir=str(folder / "results"), figures_dir=str(folder / out), **options))
    rows = {}
    for file in (folder / out).glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            rows[file.stem] = list(csv.DictReader(opened))
    return rows


def test_every_figure_is_made(folder: Path) -> None:
    checkpoints = [str(folder / "first"), str(folder / "second" / "checkpoint")]
    rows = drawn(folder, "all", checkpoints=checkpoints, sentence="the mill stands in the town", centres=["mill"])
    assert sorted(file.stem for file in (folder / "all").glob("*.png")) == [
        "positions",
        "windows",
        "words-first",
        "words-second",
    ]
    words = [row for row in rows["words"] if row["checkpoint"] == "second"]
    assert [(row["predicted"], row["place"], row["word"], row["position"]) for row in words] == [
        ("mill", "1", "the", "-1"),
        ("mill", "1", "stands", "1"),
        ("mill", "1", "in", "2"),
    ]
    assert sum(float(row["weight"]) for row in words) == pytest.approx(1, abs=1e-5)
    positions = [row for row in rows["positions"] if row["checkpoint"] == "first"]
    assert [row["position"] for row in positions] == ["-2", "-1", "1", "2"]
    assert sum(float(row["share"]) for row in positions) == pytest.approx(1, abs=1e-5)
    assert rows["windows"] == [  # unnamed runs alone
        {"model": "CBOW", "window": "20", "V-measures": "48.50 49.50"},
        {"model": "Attention CBOW", "window": "2", "V-measures": "50.00 51.00"},
        {"model": "Attention CBOW", "window": "20", "V-measures": "54.00 55.00"},
    ]


def test_every_word_is_a_centre_without_a_choice(folder: Path) -> None:
    checkpoint = str(folder / "first")
    rows = drawn(folder, "one", only=["words"], checkpoints=[checkpoint], sentence="the mill stands")
    assert [row["predicted"] for row in rows["words"]] == ["the", "the", "mill", "mill", "stands", "stands"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--checkpoints names nothing"),
        ({"only": ["curve"]}, "only: unknown 'curve'; known: words, positions, windows"),
        ({"only": ["words"], "checkpoints": ["first"], "centres": ["barn"]}, "'barn' not among the words"),
        ({"only": ["words"], "checkpoints": ["first"], "sentence": "nobody knows"}, "knows 0 words"),
        ({"only": ["positions"], "checkpoints": ["first", "first"]}, "both called first"),
        ({"only": ["positions"], "checkpoints": ["nowhere"]}, "nowhere: no checkpoint folder"),
        ({"only": ["windows"], "results_dir": "empty"}, "no POS induction in empty/embedding_evaluation"),
    ],
)
def test_what_is_missing_is_told(
    folder: Path, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir(exist_ok=True)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        main(Settings(**{"figures_dir": "others", "results_dir": "results", **options}))
    assert not list((folder / "others").glob("*.csv"))
