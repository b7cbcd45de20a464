"""POS induction: what stands for a word, how vectors are scaled, what restarts are summed up to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ctxzoo.tasks.word_embeddings import pos_induction
from ctxzoo.tasks.word_embeddings.pos_induction import (
    PosInduction,
    Restart,
    TaggedSentences,
    induce_pos,
    read_tagged_sentences,
)
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.word_vector_files import NOUNS, SIGNS, VERBS, WORDS, write_test_sets


def clustered(fold_digits: bool = False) -> WordVectors:
    """Words of one tag lie together."""
    means = {**dict.fromkeys(NOUNS, 0), **dict.fromkeys(VERBS, 1), ".": 2, ",": 2, "the": 3, "a": 3, "0": 4}
    noise = torch.randn(len(WORDS), 5, generator=torch.Generator().manual_seed(0))
    vectors = 8 * torch.eye(5)[[means[word] for word in WORDS]] + 0.05 * noise
    return WordVectors(list(WORDS), vectors, "clustered", "00", fold_digits)


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> TaggedSentences:
    data_dir = write_test_sets(tmp_path_factory.mktemp("sets"))
    return read_tagged_sentences(["upos", "pos_tags"], data_dir=str(data_dir))[0]


def test_all_splits_are_read(sentences: TaggedSentences) -> None:
    assert len(sentences.words) == 40
    assert sentences.words[0][0] == "The"
    assert set(sentences.tags["upos"][0]) == {"DET", "NOUN", "VERB", "NUM", "PUNCT"} - {"PUNCT"} | {"."}


def test_states_that_are_the_tags_by_another_name_score_100(sentences: TaggedSentences) -> None:
    found = induce_pos(clustered(fold_digits=True), sentences, "upos", restarts=8, threads=2)
    assert (found.states, found.coverage) == (5, 100.0)
    assert found.best_restart.v_measure == pytest.approx(100)
    assert found.v_measure_range[1] == pytest.approx(100)


def test_threads_do_not_change_the_numbers_and_seeds_follow_each_other(sentences: TaggedSentences) -> None:
    vectors = clustered()
    one = induce_pos(vectors, sentences, "pos_tags", states=4, restarts=3, seed=5, threads=1)
    several = induce_pos(vectors, sentences, "pos_tags", states=4, restarts=3, seed=5, threads=3)
    assert one == several
    later = induce_pos(vectors, sentences, "pos_tags", states=4, restarts=1, seed=7)
    assert later.restarts[0] == one.restarts[2]


def test_vectors_are_scaled_over_tokens_and_the_mean_stands_for_unknown_words() -> None:
    vectors = WordVectors(["a", "b", "unused"], torch.tensor([[1.0, 0.0], [0.0, 3.0], [5.0, 0.0]]), "v", "00")
    sequences, coverage = pos_induction._build_vector_sequences(vectors, [["A", "a", "x"], [], ["b"]])
    assert coverage == 75
    assert sequences.lengths == [3, 0, 1]
    tokens = np.array([[1, 0], [1, 0], [2, 1], [0, 3]])  # the mean is that of all words, used or not
    np.testing.assert_allclose(sequences.vectors[sequences.words], tokens / tokens.std())


def test_digits_are_folded_where_the_vectors_say_so(sentences: TaggedSentences) -> None:
    assert induce_pos(clustered(), sentences, "upos", restarts=1).coverage == pytest.approx(100 * 5 / 6)
    assert induce_pos(clustered(fold_digits=True), sentences, "upos", restarts=1).coverage == 100


def test_summary_of_restarts() -> None:
    restarts = tuple(
        Restart(likelihood, v, 5) for likelihood, v in ((-10.0, 50.0), (-8.0, 40.0), (-9.0, 60.0), (-11.0, 70.0))
    )
    found = PosInduction(restarts, 12, 99.0)
    assert found.best_restart.v_measure == 40
    assert (found.median_v_measure, found.v_measure_range) == (55.0, (40.0, 70.0))


def test_bad_input_is_named(sentences: TaggedSentences, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no tags 'xpos'; there are upos, pos_tags"):
        induce_pos(clustered(), sentences, "xpos")
    with pytest.raises(ValueError, match="restarts is 0"):
        induce_pos(clustered(), sentences, "upos", restarts=0)
    strange = WordVectors(["zebra"], torch.ones(1, 2), "strange", "00")
    with pytest.raises(ValueError, match="strange has a vector for none of the 240 tokens"):
        induce_pos(strange, sentences, "upos")
    equal = WordVectors(list(SIGNS), torch.ones(len(SIGNS), 2), "equal", "00")
    with pytest.raises(ValueError, match="all equal"):
        induce_pos(equal, sentences, "upos")
    write_test_sets(tmp_path)
    with pytest.raises(ValueError, match=r"has the columns .*, expected 'xpos'"):
        read_tagged_sentences(["xpos"], data_dir=str(tmp_path))


def test_a_sentence_with_too_few_tags_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "tagged"
    folder.mkdir()
    (folder / "train.jsonl").write_text(
        '{"tokens": ["a", "b"], "upos": ["X", "Y"]}\n{"tokens": ["a", "b"], "upos": ["X"]}\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="sentence 1: 2 words, but 1 'upos'"):
        read_tagged_sentences(["upos"], str(folder))
