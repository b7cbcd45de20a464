"""The benchmark of word vectors: same words for all sides, ratios, the table, and a quick run."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import word_embedding, word_embedding_whole
from benchmarks.reporting import read_rows
from benchmarks.tables import render_document
from benchmarks.word_embedding import COMPARISONS, write_first_sentences
from benchmarks.word_embedding_sides import DIM, KNOWN, TEXT, Runner, Side
from tests.benchmarks.worker_here import WorkerHere

pytest.importorskip("gensim")


def test_all_sides_read_the_same_known_words(tmp_path: Path) -> None:
    dataset, corpus = write_first_sentences(tmp_path / "text", 500, argparse.Namespace(quick=True, min_count=12))
    assert dataset == "sample"
    text, known = ((tmp_path / "text" / name).read_text().split() for name in (TEXT, KNOWN))
    assert 500 <= len(text) < 520
    assert 0 < len(known) < len(text)
    assert known == [word for word in text if text.count(word) >= 12]
    assert known == [corpus.words[row] for row in corpus.ids]

    given = (str(tmp_path / "text"), "12", "1")
    runner = Runner(Side("gensim", "gensim", "cbow"), *given)
    assert [word for sentence in runner.sentences for word in sentence] == known
    assert len(runner.sentences) == len(corpus)
    runner.time_round("training")
    from_memory, _ = runner.vectors
    from_file = Runner(Side("gensim, file", "gensim", "cbow", corpus_file=True), *given)
    from_file.time_round("training")
    assert sorted(from_file.vectors[0]) == sorted(from_memory) == sorted(corpus.words)


def test_every_comparison_has_both_ways_to_feed_gensim() -> None:
    for comparison in COMPARISONS:
        feeds = [side.corpus_file for side in comparison.sides if side.library == "gensim"]
        assert feeds == [False, True]
        assert len({side.label for side in comparison.sides}) == len(comparison.sides)


@pytest.mark.slow
def test_quick_run_writes_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_embedding, "Worker", WorkerHere)
    monkeypatch.delenv("CTXZOO_DATA", raising=False)
    # One side of ctxzoo: each that is compiled takes seconds.
    attention, *_, gensim, _ = COMPARISONS[0].sides
    monkeypatch.setattr(word_embedding, "COMPARISONS", (word_embedding.Comparison("cbow", (attention, gensim)),))
    told: list[tuple[str, str]] = []

    def process(side: Side, folder: Path, min_count: str, threads: int, cache: Path) -> float:
        told.append((side.label, cache.name))
        return 10.0 * len(told)

    monkeypatch.setattr(word_embedding, "measure_process_seconds", process)
    output = tmp_path / "word_embedding.csv"
    word_embedding.main(["--quick", "--output", str(output)])
    ours, peer = read_rows(output)
    assert (ours["side"], peer["side"], peer["ratio"]) == ("attention_cbow", "gensim CBOW", "1.0")
    assert float(ours["ratio"]) == pytest.approx(float(peer["seconds"]) / float(ours["seconds"]), rel=1e-3)
    assert float(ours["words_per_second"]) == pytest.approx(int(ours["words"]) / float(ours["seconds"]), rel=1e-3)
    assert ours["men3000"] == ""
    assert told == [(side.label, "kernels-1") for side in (attention, attention, gensim, gensim)]
    assert [(row["first_whole_seconds"], row["whole_seconds"]) for row in (ours, peer)] == [
        ("10.0", "20.0"),
        ("30.0", "40.0"),
    ]
    table = render_document("<!-- table: word_embedding -->\n<!-- /table: word_embedding -->\n", tmp_path)
    assert "\ncbow, 1 thread (20,0" in table
    assert "| gensim CBOW | " in table
    assert "; text of sample; [2 rows]" in table


ATTENTION, *_, BY_LINES, BY_FILE = COMPARISONS[0].sides


def whole_process(side: Side, folder: Path) -> tuple[Any, int]:
    """Return the vectors that the process of a side leaves, and how many words are known."""
    _, corpus = write_first_sentences(folder / "text", 500, argparse.Namespace(quick=True, min_count=12))
    given = [str(folder / "text" / TEXT), "12", "1", str(folder / "vectors.npy")]
    word_embedding_whole.main([f"--side={json.dumps(asdict(side))}", *given])
    return np.load(folder / "vectors.npy"), len(corpus.words)


@pytest.mark.parametrize("side", [BY_LINES, BY_FILE], ids=lambda side: side.label)
def test_a_whole_process_leaves_vectors_of_every_known_word(tmp_path: Path, side: Side) -> None:
    vectors, words = whole_process(side, tmp_path)
    assert vectors.shape == (words, DIM)


@pytest.mark.slow  # its loops are compiled
def test_a_whole_process_of_ours_leaves_the_vectors_of_a_round(tmp_path: Path) -> None:
    vectors, words = whole_process(ATTENTION, tmp_path)
    assert vectors.shape == (words, DIM)
    runner = Runner(ATTENTION, str(tmp_path / "text"), "12", "1")
    runner.time_round("training")
    assert (vectors == runner.vectors[1]).all()


@pytest.mark.slow
def test_the_second_process_of_a_side_reads_what_the_first_compiled(tmp_path: Path) -> None:
    write_first_sentences(tmp_path / "text", 500, argparse.Namespace(quick=True, min_count=12))
    cache = tmp_path / "cache"
    first, second = (
        word_embedding_whole.measure_process_seconds(ATTENTION, tmp_path / "text", "12", 1, cache) for _ in range(2)
    )
    assert [path.name.split("-")[0] for path in cache.iterdir()] == ["kernel"]  # no ids of the text
    assert second < first


def test_quick_needs_a_place_of_its_own(capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit):
        word_embedding.main(["--quick"])
    assert "give --output a file outside results/" in capsys.readouterr().err
