"""The figures' recipe, on what the recipe of documents leaves on the generated sample."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.support.recipe_process import recipe

pytestmark = pytest.mark.slow  # three trainings before the first figure

ALL = ("weights", "heads", "parameters", "words")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    options = ("--dataset", "sample", "--epochs", "2", "--recurrent_size", "6", "--tensorboard", "false")
    options += ("--processes", "1", "--progress", "false", "--no_word2vec")
    for more in (("--model", "lama", "san"), ("--model", "lama", "--heads", "3", "--name", "m3")):
        run = recipe(folder, *options, *more, name="document_lama")
        assert run.returncode == 0, run.stdout + run.stderr
    return folder


def figures(folder: Path, *arguments: str) -> tuple[int, str]:
    names = ("--dataset", "sample", "--table_dataset", "sample", "--run_dataset", "sample")
    run = recipe(folder, *names, *arguments, name="lama_figures")
    return run.returncode, run.stdout + run.stderr


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "runs" / "lama_figures" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_figure_is_made(trained: Path) -> None:
    status, printed = figures(trained, "--words", "sturdy", "flimsy", "--at_least", "5")
    assert status == 0, printed
    folder = trained / "runs" / "lama_figures"
    assert {file.stem for file in folder.glob("*.png")} == set(ALL) - {"words"}
    made = json.loads((folder / "figures.json").read_text())
    assert set(made) == set(ALL)
    assert all({"command", "commit", "created"} <= set(one) for one in made.values())

    assert {(row["word"], row["label"]) for row in rows(trained, "weights")} == {
        (word, label) for word in ("sturdy", "flimsy") for label in ("negative", "positive")
    }
    assert [(row["model"], row["heads"]) for row in rows(trained, "heads")] == [("lama", "3"), ("lama", "15")]
    counts = rows(trained, "parameters")
    assert [int(row["LAMA"]) for row in counts] == [200 * heads for heads in range(1, 41)]
    assert (counts[29]["SAN"], counts[15]["Transformer encoder"]) == ("45500", "4198400")
    table = rows(trained, "words")
    assert {row["label"] for row in table} == {"negative", "positive"}
    assert all(int(row["occurrences"]) >= 5 for row in table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "figure2"), "error: only: unknown 'figure2'; known: weights, heads, parameters, words"),
        (("--only", "weights", "--words", "zebra"), r"error: words: ['zebra'] are not in the vocabulary"),
        (
            ("--only", "words", "--table_dataset", "reuters8"),
            "error: no checkpoint in runs/document_lama/lama-reuters8",
        ),
        (("--only", "heads", "--run_dataset", "imdb"), "error: no results of document_lama on stanfordnlp/imdb"),
    ],
)
def test_what_is_missing_is_told(trained: Path, arguments: tuple[str, ...], message: str) -> None:
    status, printed = figures(trained, *arguments)
    assert status == 1
    assert message in printed
