"""Batches of rows are answered as `ctxzoo predict` answers files, by one process and by workers of a cluster."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet
import pytest

from ctxzoo import BatchPredictor
from ctxzoo.cli.main import main
from tests.hub.test_row_pipeline import INPUTS
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoints import write_lama
from tests.support.tiny_rows import WRITERS

PUBLISHED = REPOSITORY_ROOT / "model_cards"
WORDS = ["the", "film", "was", "good", "bad", "plot", "of", "and", "not", "oil", "shares"]


def predict(checkpoint: Path, rows: Sequence[Mapping[str, Any]], folder: Path, *options: str) -> list[dict[str, Any]]:
    """What `ctxzoo predict` writes for a file of the rows."""
    source, target = folder / "rows.jsonl", folder / "out.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main(["predict", str(checkpoint), "--file", str(source), "--output", str(target), *options]) == 0
    return [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]


def draw_texts(number: int) -> list[dict[str, Any]]:
    draws = np.random.default_rng(0)
    return [{"id": row, "text": " ".join(draws.choice(WORDS, draws.integers(1, 40)))} for row in range(number)]


@pytest.mark.parametrize("problem", WRITERS)
def test_each_problem_answers_a_batch_as_a_file(problem: str, tmp_path: Path) -> None:
    checkpoint, (_, rows) = WRITERS[problem](tmp_path / "checkpoint"), INPUTS[problem]
    answered = BatchPredictor(checkpoint)({name: [row[name] for row in rows] for name in rows[0]})
    assert [dict(zip(answered, values, strict=True)) for values in zip(*answered.values(), strict=True)] == predict(
        checkpoint, rows, tmp_path
    )


def test_a_dataset_is_mapped_in_batches_of_any_size(tmp_path: Path) -> None:
    rows = draw_texts(50)
    predictor = BatchPredictor(PUBLISHED / "contextualizer-mr", unsure=0.9)
    mapped = datasets.Dataset.from_list(rows).map(predictor, batched=True, batch_size=7)
    assert list(mapped) == predict(PUBLISHED / "contextualizer-mr", rows, tmp_path, "--threads", "1", "--unsure", "0.9")


def test_several_rows_may_make_one_thing(tmp_path: Path) -> None:
    checkpoint = WRITERS["session-recommendation"](tmp_path / "checkpoint")
    batch = {"who": np.array(["a", "b", "a"]), "item": ["cup", "tea", "tea"], "time": np.array([2, 1, 1])}
    answered = BatchPredictor(checkpoint, user_column="who", top=2)(batch)
    assert [len(values) for values in answered.values()] == [2] * len(answered)
    assert [len(ranked) for ranked in answered["predicted"]] == [2, 2]


def test_bad_rows_are_errors_or_left_out_and_counted(tmp_path: Path) -> None:
    checkpoint = write_lama(tmp_path / "checkpoint")
    batch = {"id": [1, 2], "text": ["the lamp", None]}
    with pytest.raises(ValueError, match="text"):
        BatchPredictor(checkpoint)(batch)
    with pytest.warns(UserWarning, match="1 "):
        assert BatchPredictor(checkpoint, skip_bad=True)(batch)["id"] == [1]
    with pytest.raises(TypeError, match="has no option 'top'; it has text_column, unsure"):
        BatchPredictor(checkpoint, top=3)


class DyingPredictor(BatchPredictor):
    """A predictor whose process is killed at the first batch, once for all workers."""

    def __init__(self, checkpoint: Path, died: Path) -> None:
        super().__init__(checkpoint)
        self.died = died

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        if not self.died.exists():
            self.died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


@pytest.mark.slow
def test_two_workers_of_a_cluster_answer_every_row_once_though_one_is_killed(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    rows, died = draw_texts(400), tmp_path / "died"
    # Workers hold a core each, and reading needs one too.
    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False)
    try:
        source = ray.data.from_items(rows).repartition(8)
        answered = source.map_batches(
            DyingPredictor,
            fn_constructor_args=(PUBLISHED / "contextualizer-mr", died),
            batch_size=25,
            compute=ray.data.ActorPoolStrategy(size=2),
        )
        answered.write_parquet(str(tmp_path / "answers"))
    finally:
        ray.shutdown()
    assert died.exists()
    found = sorted(pyarrow.parquet.read_table(tmp_path / "answers").to_pylist(), key=lambda row: row["id"])
    assert found == predict(PUBLISHED / "contextualizer-mr", rows, tmp_path, "--threads", "1")
