"""The recipe of word vectors' evaluations, in a process of its own, on small test sets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes.embedding_evaluation import Settings, main
from reports.tables_word_embedding import TABLES
from tests.support.recipe_process import recipe
from tests.support.result_tables import rows
from tests.support.word_vector_files import small_vectors, write_checkpoint, write_test_sets, write_vectors

NAME = "embedding_evaluation"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embeddings")
    write_test_sets(folder / "data")
    for seed in (0, 1):
        write_checkpoint(folder / f"seed{seed}", small_vectors(seed=seed))
    write_vectors(folder / "vectors.txt", small_vectors())
    return folder


def test_every_task_of_every_training_leaves_a_file(folder: Path) -> None:
    options = ("--vectors", "seed0", "seed1", "--seeds", "0", "1", "--data_dir", "data", "--threads", "1", "--tiny")
    run = recipe(folder, *options, name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    tasks = ("analogy", "pos_induction", "sentiment", "sentiment_means", "similarity")
    found = sorted(path.name for path in (folder / RESULTS_DIR / NAME).iterdir())
    assert found == [
        *(f"attention_cbow-b20-ptb_sample-test-seed{seed}-pos_tags.json" for seed in (0, 1)),
        *(f"attention_cbow-b20-seed{seed}-{task}.json" for seed in (0, 1) for task in tasks),
    ]
    results = read_results(folder / RESULTS_DIR)
    assert all("--vectors seed0 seed1" in one.command and one.wall_seconds >= 0 for one in results)
    assert "upos, 5 states" in run.stdout
    tagging = [one for one in results if one.settings["task"] == "pos_tagging"]
    assert [(one.architecture, one.seed) for one in tagging] == [("bilstm_tagger", 0), ("bilstm_tagger", 1)]
    assert all("word vectors" in one.data["fingerprint"] for one in tagging)
    of_trial = rows(TABLES["word-embedding-downstream"](results))["Attention CBOW"]
    assert of_trial["POS tagging"].startswith("not run yet")  # of a few batches
    whole = [replace(one, settings=one.settings | {"tiny": False}) for one in results]
    row = rows(TABLES["word-embedding-downstream"](whole))["Attention CBOW"]
    assert not any("not run yet" in cell for cell in row.values())
    assert row["trainings"] == "2"

    again = recipe(folder, *options, "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert "finished before" in again.stdout
    assert [one.created for one in read_results(folder / RESULTS_DIR)] == [one.created for one in results]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--vectors names nothing"),
        ({"vectors": ["vectors.txt"], "tasks": ["tagging"]}, "unknown task 'tagging'"),
        ({"vectors": ["seed0", "seed1"], "seeds": [0, 1, 2]}, "3 --seeds for 2 --vectors"),
        ({"vectors": ["seed0", "seed1"]}, "would both write attention_cbow-b20-seed0-pos_induction.json"),
        (
            {"vectors": ["seed0", "seed1"], "tasks": ["pos_tagging"]},
            "would both write attention_cbow-b20-ptb_sample-test-seed0-pos_tags.json",
        ),
        ({"vectors": ["vectors.txt", "nothing.txt"]}, "no such file of word vectors"),
    ],
)
def test_mistakes_stop_it_before_anything_is_evaluated(
    folder: Path, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
        main(Settings(data_dir="data", results_dir="others", **options))
    assert not (folder / "others").exists()
