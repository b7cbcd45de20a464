"""Trainings whose rows stay on the disk: resumed, by a worker, by two processes, and what cannot be streamed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ctxzoo.data.training_stream import BatchPlace
from ctxzoo.tasks import get_problem
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule, StreamWindows, TokenStream, WindowPools
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.sequences.data import HistoryDataModule, SessionDataModule
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from tests.support.own_trainings import ALL_PROBLEMS, own_experiment
from tests.support.streamed_runs import BLOCK, train, use_small_blocks, write_texts
from tests.support.subprocesses import check_finished, run_module
from tests.support.training_runs import differences, result

pytestmark = pytest.mark.usefixtures("own_cache", "small_blocks")


@pytest.fixture
def small_blocks(monkeypatch):
    from ctxzoo.data import stream_pass

    monkeypatch.setattr(stream_pass, "write_stream", stream_pass.write_stream)
    monkeypatch.setattr(stream_pass, "CHUNK", stream_pass.CHUNK)
    use_small_blocks()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts", 300)


def write_sessions(folder: Path, rows: int = 200) -> Path:
    folder.mkdir()
    generator = np.random.default_rng(1)
    sessions = [
        [f"i{(start + step) % 30}" for step in range(length)]
        for start, length in zip(generator.integers(0, 30, rows), generator.integers(1, 12, rows), strict=True)
    ]
    pq.write_table(pa.table({"items": sessions}), folder / "train-0.parquet")
    return folder


def write_questions(folder: Path, rows: int = 200) -> Path:
    folder.mkdir()
    generator = np.random.default_rng(2)
    questions = []
    for row in range(rows):
        words = [f"w{word}" for word in generator.integers(0, 50, 600 if row == 7 else 8)]
        start = len(words[0]) + 1
        answers = {"text": [words[1]], "answer_start": [start]} if row % 5 else {"text": [], "answer_start": []}
        one = {"id": str(row), "title": "", "context": " ".join(words), "question": f"behind {words[0]}?"}
        questions.append({**one, "answers": answers})
    pq.write_table(pa.Table.from_pylist(questions), folder / "train-0.parquet")
    return folder


WRITERS = {
    "language-modelling": write_texts,
    "text-classification": write_texts,
    "session-recommendation": write_sessions,
    "question-answering": write_questions,
}


@pytest.mark.parametrize(
    "problem", [pytest.param(name, marks=[pytest.mark.slow] * (name != "language-modelling")) for name in WRITERS]
)
def test_a_stopped_training_goes_on_as_one_that_was_not_to_the_bit(tmp_path, problem):
    """It stops in the middle of a pool, of the first epoch and of the second."""
    rows = WRITERS[problem](tmp_path / "rows", 300)
    whole = train(problem, rows, tmp_path / "whole")
    steps = whole.global_step
    assert steps % 2 == 0
    for stop in (steps // 4, steps // 2 + 3, None):
        run = train(problem, rows, tmp_path / "parts", **({} if stop is None else {"max_steps": stop}))
        assert run.global_step == (stop or steps)
    found, expected = result(tmp_path / "parts"), result(tmp_path / "whole")
    for name in ("state_dict", "current_model_state", "averaging_state", "optimizer_states", "global_step"):
        assert differences(found[name], expected[name]) == []


def test_max_steps_ends_within_an_epoch_with_a_validation_by_which_the_best_is_kept(texts, tmp_path):
    run = train("text-classification", texts, tmp_path / "run", max_steps=5)
    assert run.global_step == 5
    assert torch.load(tmp_path / "run" / "lightning" / "best.ckpt", weights_only=True)["global_step"] == 5
    assert (tmp_path / "run" / "logs" / "csv" / "metrics.csv").read_text().count("validation/accuracy") == 1


@pytest.mark.slow
def test_a_worker_gives_the_batches_that_the_training_process_reads(texts, tmp_path):
    train("text-classification", texts, tmp_path / "alone")
    train("text-classification", texts, tmp_path / "worker", num_workers=1)
    assert differences(result(tmp_path / "worker"), result(tmp_path / "alone")) == []


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["text-classification", "language-modelling"])
def test_two_processes_take_as_many_steps_and_go_on(texts, tmp_path, problem):
    """303 rows are no multiple of two processes' batches."""

    def run(output: Path, **settings: Any) -> dict[str, Any]:
        options = [
            f"{name}={json.dumps(value)}" for name, value in {"devices": 2, "strategy": "ddp", **settings}.items()
        ]
        check_finished(run_module("tests.support.streamed_runs", problem, texts, output, *options))
        return result(output)

    whole = run(tmp_path / "whole", epochs=2)
    run(tmp_path / "parts", epochs=2, max_steps=whole["global_step"] // 2 + 1)
    parts = run(tmp_path / "parts", epochs=2)
    for name in ("state_dict", "current_model_state", "optimizer_states", "global_step"):
        assert differences(parts[name], whole[name]) == []


@pytest.mark.parametrize("problem", ALL_PROBLEMS, ids=[one.name for one in ALL_PROBLEMS])
def test_a_problem_streams_or_refuses_to(problem):
    experiment = own_experiment(problem, "data", streaming=True)
    streams = {"text-classification", "question-answering", "language-modelling"} | {
        "session-recommendation",
        "next-event",
    }
    assert problem.streams == (problem.name in streams)
    if problem.streams:
        problem.check(experiment)
    else:
        with pytest.raises(ValueError, match=f"streaming=True: {problem.title} reads all rows at once; leave it out"):
            problem.check(experiment)


def test_settings_that_need_all_rows_are_refused(texts, tmp_path):
    with pytest.raises(ValueError, match="folds=3 needs all texts in memory"):
        TextClassificationDataModule.from_options(str(texts), folds=3, streaming=True).setup()
    with pytest.raises(ValueError, match="train_source='wiki' needs all questions in memory"):
        SquadDataModule(str(texts), train_source="wiki", streaming=True).setup()
    sessions = get_problem("session-recommendation")
    experiment = own_experiment(sessions, str(texts), streaming=True, min_item_count=2)
    with pytest.raises(ValueError, match="min_item_count=2 needs all sessions in memory"):
        sessions.check(experiment)
    with pytest.raises(ValueError, match=r"no column 'items'; .*group a file of events by user first"):
        SessionDataModule(str(texts), streaming=True).setup()


def test_streamed_windows_are_those_of_the_same_lines_in_memory(texts):
    """Every word is predicted, but for those that do not fill the streams of a pool."""
    data = LanguageModellingDataModule(str(texts), streaming=True, shuffle_buffer=3 * BLOCK, batch_size=4, bptt=5)
    data.setup()
    stream = data.training_stream
    pools = WindowPools(stream, data.tokenizer, batch_size=4, bptt=5, shuffle_buffer=3 * BLOCK)
    batches = list(data.train_dataloader())
    assert len(batches) == sum(pools.count_batches(size, 1) for size in pools.list_sizes(0))
    place = 0
    for pool, blocks in enumerate(pools.blocks):
        lines, numbers = stream.read_blocks(blocks)
        tokens = TokenStream.from_lines(data.tokenizer, lines.column("text").to_pylist())
        assert len(tokens) == pools.list_sizes(0)[pool]
        windows = StreamWindows(tokens, 4, 5)
        for number in range(len(windows)):
            for name in ("input_ids", "targets", "begins"):
                assert torch.equal(batches[place][name], windows[number][name])
            assert torch.equal(batches[place]["lines"], windows[number]["lines"] + numbers[0])
            place += 1
    assert place == len(batches)


def test_lines_that_were_counted_for_another_tokenizer_are_refused(texts, tmp_path):
    data = LanguageModellingDataModule(str(texts), streaming=True)
    data.setup()
    other = LanguageModellingDataModule(str(data.training_stream.folder), streaming=True, pre_tokenizer="characters")
    other.setup()
    with pytest.raises(ValueError, match=r"the tokenizer reads .* words where .* were counted"):
        next(iter(other.train_dataloader()))


def test_texts_of_an_epoch_have_the_ids_and_labels_of_their_rows(texts):
    data = TextClassificationDataModule(str(texts), streaming=True, shuffle_buffer=3 * BLOCK, batch_size=8)
    data.setup()
    table, _ = data.training_stream.read_blocks(range(len(data.training_stream.facts.sizes)))
    rows = table.to_pylist()
    seen = []
    for batch in data.train_dataloader():
        seen += batch["row"].tolist()
        of_batch = (batch[name] for name in ("row", "input_ids", "attention_mask", "labels"))
        for row, ids, mask, label in zip(*of_batch, strict=True):
            assert ids[mask.bool()].tolist() == data.tokenizer(rows[row]["text"])["input_ids"]
            assert data.label_names[label] == rows[row]["label"]
    assert sorted(seen) == list(range(len(rows)))


def test_sessions_of_a_stream_are_pieces_of_all_items_and_their_counts(tmp_path):
    data = SessionDataModule(str(write_sessions(tmp_path / "sessions")), streaming=True, max_length=4, batch_size=8)
    data.setup()
    table, _ = data.training_stream.read_blocks(range(len(data.training_stream.facts.sizes)))
    pieces = table.column("items").to_pylist()
    assert max(map(len, pieces)) == 5
    counts = [sum(piece.count(name) for piece in pieces) for name in data.names]
    assert data.counts.tolist() == counts
    assert data.names == sorted({name for piece in pieces for name in piece})
    predicted = sum(int((batch["labels"] >= 0).sum()) for batch in data.train_dataloader())
    assert predicted == sum(len(piece) - 1 for piece in pieces)


def test_a_model_that_knows_some_items_leaves_the_others_out(tmp_path):
    names = [f"i{number}" for number in range(20)]
    data = SessionDataModule(str(write_sessions(tmp_path / "sessions")), streaming=True, batch_size=8, item_names=names)
    data.setup()
    facts = data.training_stream.facts
    assert data.left_out["train"] == sum(count for name, count in facts.names.items() if name not in names)
    assert all(int(batch["input_ids"].max()) <= 20 for batch in data.train_dataloader())
    strange = SessionDataModule(data.dataset, streaming=True, batch_size=8, item_names=["x", "y"])
    strange.setup()
    with pytest.raises(ValueError, match=r"can be trained on, too few for .* batches"):
        next(iter(strange.train_dataloader()))


def test_questions_of_a_stream_are_read_as_in_memory_without_those_that_are_too_long(tmp_path):
    data = SquadDataModule(str(write_questions(tmp_path / "questions")), streaming=True, batch_size=8, min_word_count=1)
    data.setup()
    assert data.squad_version == "2.0"
    facts = data.training_stream.facts
    table, _ = data.training_stream.read_blocks(range(len(facts.sizes)))
    rows = table.to_pylist()
    assert "7" not in [row["id"] for row in rows]
    assert (facts.longest, data.count_trained_positions()) == (8, 9)
    seen = []
    for batch in data.train_dataloader():
        seen += batch["row"].tolist()
        of_batch = (batch[name] for name in ("row", "input_ids", "start_positions", "end_positions"))
        for row, ids, start, end in zip(*of_batch, strict=True):
            words = ["", *rows[row]["context"].split()]
            answer = rows[row]["answers"]["text"]
            assert " ".join(words[start : end + 1]) == (answer[0] if answer else "")
            assert ids[1:9].tolist() == [data.tokenizer.look_up_word_id(word) for word in words[1:]]
    assert sorted(seen) == list(range(len(rows)))


def test_what_was_read_is_found_again_and_told_again(texts):
    from ctxzoo.data.reading_notes import collect_reading_notes

    told = []
    for _ in range(2):
        with collect_reading_notes() as notes:
            data = TextClassificationDataModule(str(texts), streaming=True)
            data.setup()
        told.append((notes.noted, data.training_stream.folder, data.fingerprint))
    assert told[0] == told[1]
    write_texts(texts, 320)
    data = TextClassificationDataModule(str(texts), streaming=True)
    data.setup()
    assert data.training_stream.folder != told[0][1]


def test_a_pool_is_the_same_whichever_batch_is_read_first(texts):
    data = TextClassificationDataModule(str(texts), streaming=True, shuffle_buffer=3 * BLOCK, batch_size=8)
    data.setup()
    batches = data.train_dataloader().dataset
    one = batches[BatchPlace(1, 1, 2, 0, 1)]["input_ids"]
    batches[BatchPlace(0, 0, 0, 0, 1)]
    assert torch.equal(batches[BatchPlace(1, 1, 2, 0, 1)]["input_ids"], one)


def test_histories_have_times_and_texts_may_have_several_labels(tmp_path):
    histories = tmp_path / "histories"
    histories.mkdir()
    rows = [{"events": [f"e{row % 4}", "e1", f"e{row}"], "timestamps": [0.0, 1.5, 3.0 + row]} for row in range(60)]
    pq.write_table(pa.Table.from_pylist(rows), histories / "train-0.parquet")
    data = HistoryDataModule(str(histories), streaming=True, batch_size=8)
    data.setup()
    times = [time for batch in data.train_dataloader() for time in batch["timestamps"][:, 2].tolist()]
    table, _ = data.training_stream.read_blocks(range(len(data.training_stream.facts.sizes)))
    assert sorted(times) == sorted(row[2] for row in table.column("timestamps").to_pylist())
    sets = tmp_path / "sets"
    sets.mkdir()
    rows = [{"text": f"text {row}", "labels": [["a"], ["b", "a"], []][row % 3]} for row in range(120)]
    pq.write_table(pa.Table.from_pylist(rows), sets / "train-0.parquet")
    texts = TextClassificationDataModule(str(sets), streaming=True, batch_size=8)
    texts.setup()
    assert (texts.label_names, texts.has_several_labels) == (["a", "b"], True)
    table, _ = texts.training_stream.read_blocks(range(len(texts.training_stream.facts.sizes)))
    expected = [sorted(row) for row in table.column("label").to_pylist()]
    for batch in texts.train_dataloader():
        for row, marks in zip(batch["row"].tolist(), batch["labels"].tolist(), strict=True):
            assert [name for name, mark in zip("ab", marks, strict=True) if mark] == expected[row]


def test_a_dataset_that_the_library_reads_is_streamed(texts, tmp_path):
    """Such as one of the Hub: here a folder whose README.md names its files."""
    named = tmp_path / "named"
    shutil.copytree(texts, named / "parts")
    config = "configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: parts/*.parquet\n"
    (named / "README.md").write_text(f"---\n{config}---\n")
    data, other = (TextClassificationDataModule(str(folder), streaming=True) for folder in (named, texts))
    data.setup()
    other.setup()
    assert data.fingerprint == other.fingerprint
