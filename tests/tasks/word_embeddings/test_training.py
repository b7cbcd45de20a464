"""What `ctxzoo train word-embeddings` makes of a request: lines, settings, runs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import build_pre_tokenizer
from ctxzoo.results.result import TRIALS, read_results
from ctxzoo.runs.own_data import OwnArgs, prepare_user_splits, set_user_rows
from ctxzoo.tasks.word_embeddings.corpus import load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.problem import WORD_EMBEDDINGS, WordEmbeddings
from ctxzoo.tasks.word_embeddings.run import (
    build_model,
    build_training_settings,
    load_experiment_corpus,
    write_and_describe_vectors,
)
from ctxzoo.tasks.word_embeddings.sample import sample_corpus
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, WordEmbeddingTraining
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.own_trainings import own_experiment


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text("\n".join(sample_corpus(1, 300)) + "\n", encoding="utf-8")
    return tmp_path


def read(data: str, scratch: Path, **columns: Any) -> Any:
    scratch.mkdir()
    return WORD_EMBEDDINGS.read_user_data(own_experiment(WORD_EMBEDDINGS, data, **columns), {}, scratch)


def test_lines_are_rows_packed_or_not_and_blank_ones_are_left_out(folder: Path) -> None:
    content = b"one line\n\n  \nanother line\nONE  line\n"
    (folder / "a.txt").write_bytes(content)
    with gzip.open(folder / "a.txt.gz", "wb") as file:
        file.write(content)
    with collect_reading_notes() as notes:
        plain, packed = read("a.txt", folder / "x"), read("a.txt.gz", folder / "y")
    told = "blank lines, left out"
    assert notes.noted == {("a.txt", told): 2, ("a.txt.gz", told): 2}
    assert (
        plain.splits["train"]["text"][:]
        == packed.splits["train"]["text"][:]
        == ["one line", "another line", "ONE  line"]
    )
    assert plain.groups["train"].tolist() == [0, 1, 0]


def test_blank_lines_of_each_split_are_counted(folder: Path) -> None:
    (folder / "own").mkdir()
    for name, texts in {"train": ["one line", "", "two\n\nthree"], "test": ["four", " "]}.items():
        datasets.Dataset.from_dict({"text": texts}).to_parquet(folder / "own" / f"{name}.parquet")
    with collect_reading_notes() as notes:
        assert len(read("own", folder / "x").splits["train"]) == 3
    told = "blank lines, left out"
    assert notes.noted == {("own, split 'train'", told): 2, ("own, split 'test'", told): 1}


def test_a_text_without_line_ends_is_cut_into_lines(folder: Path) -> None:
    """As text8, whose 100 MB are one line."""
    words = " ".join(sample_corpus(1, 300)).split()
    words = [*words * (12_345 // len(words)), "last"]
    (folder / "text8").write_text(" " + " ".join(words))
    with collect_reading_notes() as notes:
        rows = read("text8", folder / "x").splits["train"]["text"]
    assert " ".join(rows).split() == words
    assert [len(row.split()) for row in rows[1:-1]] == [1000] * (len(rows) - 2)
    assert notes.counts() == {"lines of up to 1,000 words, cut from longer ones": len(rows)}
    assert all(prepare_user_splits(WORD_EMBEDDINGS, own_experiment(WORD_EMBEDDINGS, "text8"), OwnArgs()).sizes.values())


def test_columns_of_a_dataset_and_of_a_file_that_has_none(folder: Path) -> None:
    (folder / "mails").mkdir()
    (folder / "mails" / "train.csv").write_text("body,subject\none line,first\n,second\n")
    both = read(str(folder / "mails"), folder / "x", text_column=("subject", "body"))
    assert both.splits["train"]["text"][:] == ["first", "one line", "second"]
    with pytest.raises(ValueError, match=r"text\.txt is running text, .* no column body"):
        read("text.txt", folder / "y", text_column=("body",))


@pytest.mark.parametrize("settings", ["default", "paper"])
@pytest.mark.parametrize("variant", CUSTOMS)
def test_every_setting_makes_a_training(settings: str, variant: str) -> None:
    experiment = WORD_EMBEDDINGS.get_settings(settings, "word_embedding", variant)
    told = build_training_settings(experiment)
    assert {name: getattr(told, name) for name in CUSTOMS[variant]._fields} == CUSTOMS[variant]._asdict()
    searched = {"learning_rate", "epochs", "window", "word_dim", "negative_samples", "subsampling"}
    assert set(WORD_EMBEDDINGS.build_search_space(experiment)) == searched


def test_settings_of_the_paper_are_those_of_its_recipe() -> None:
    told = WORD_EMBEDDINGS.get_settings("paper", "word_embedding", "attention_cbow").settings()
    names = ("word_dim", "window", "min_count", "epochs", "negative_samples", "learning_rate")
    assert [told[name] for name in names] == [50, 20, 10, 2, 10, 0.05]


def test_a_corpus_of_given_words_has_their_order_and_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("b a b x\na b\n", encoding="utf-8")
    source = CorpusSource(str(tmp_path / "a.txt"))
    corpus = load_corpus(source, build_pre_tokenizer(True), words=["a", "never", "b"], cache=tmp_path)
    assert corpus.words == ["a", "never", "b"]
    assert corpus.counts.tolist() == [2, 0, 3]
    assert corpus.ids.tolist() == [2, 0, 2, 0, 2]
    with pytest.raises(ValueError, match=r"no word of the corpus .* is one of the 1 given words"):
        load_corpus(source, build_pre_tokenizer(True), words=["z"], cache=tmp_path)


@pytest.mark.parametrize(("epoch", "seconds", "over"), [(0, 99.0, False), (1, 29.0, False), (1, 30.0, True)])
def test_minutes_end_a_training_after_a_pass(epoch: int, seconds: float, over: bool) -> None:
    told = {"epochs": 9, "negative_samples": 1, "subsampling": 0.0, **CUSTOMS["cbow"]._asdict()}
    training = WordEmbeddingTraining(**told, max_minutes=0.5)
    assert training.is_out_of_time(epoch, seconds) is over
    assert not WordEmbeddingTraining(**told).is_out_of_time(epoch, seconds)
    assert "max_minutes" not in training.to_dict()


def test_written_vectors_and_their_neighbours(tmp_path: Path) -> None:
    words = [f"word{'x' * rank}" if rank % 2 else f"{rank}" for rank in range(80)]
    vectors = WordVectors.from_tensor(words, torch.randn(80, 4, generator=torch.Generator().manual_seed(0)), "drawn")
    where, heading, *lines = write_and_describe_vectors(vectors, tmp_path / "vectors.txt")
    assert where.startswith(f"vectors    {tmp_path / 'vectors.txt'} (text of word2vec, 80 words of 4 numbers, 0.0 MB)")
    found = ctxzoo.load_word_vectors(tmp_path / "vectors.txt")
    assert torch.equal(found.vectors, vectors.vectors)
    assert heading == f"nearest neighbours of {len(lines)} of the words, by cosine:"
    one, near = lines[0].strip().split(": ")
    cosines = torch.nn.functional.cosine_similarity(vectors.vectors, vectors.vector(one), dim=1)
    best = [row for row in cosines.argsort(descending=True).tolist() if words[row] != one][:5]
    assert near == ", ".join(f"{words[row]} {cosines[row]:.2f}" for row in best)
    few = WordVectors.from_tensor(["a", "b"], torch.eye(2), "few")
    assert len(list(write_and_describe_vectors(few, tmp_path / "few.txt"))) == 1


@pytest.mark.slow
def test_vectors_are_trained_and_go_on_with_their_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "word-embeddings", "--data", "text.txt", "--min_count", "2", "--variant", "cbow"]
    assert main([*command, "--epochs", "2"]) == 0
    said = capsys.readouterr().out
    assert "text.txt: 300 lines: " in said
    assert "perplexity" in said
    (checkpoint,) = Path("runs").rglob("checkpoint")
    first = ctxzoo.load_word_vectors(checkpoint)
    written = ctxzoo.load_word_vectors(checkpoint.parent / "vectors.txt")
    assert written.words == first.words
    assert torch.equal(written.vectors, first.vectors)
    assert f"(text of word2vec, {len(first):,} words of {first.dim} numbers" in said
    assert "nearest neighbours of" in said
    lines = [line.replace("cat", "lynx") for line in sample_corpus(2, 200)]
    Path("more.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["train", "fill-mask", "--data", "more.txt", "--epochs", "1", "--init_from", str(checkpoint)]) == 0
    (continued,) = Path("runs").rglob("*-continued-*/checkpoint")
    second = ctxzoo.load_word_vectors(continued)
    assert second.words == first.words
    moved = np.abs(second.vectors.numpy() - first.vectors.numpy()).sum(axis=1)
    assert moved[first.words.index("dog")] > 0
    assert moved[first.words.index("cat")] == 0  # not in the new text, so neither centre nor context nor noise
    assert "lynx" not in second.words


@pytest.mark.slow
def test_a_search_keeps_the_lowest_perplexity(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {"learning_rate": (0.05, 1e-5)}
    monkeypatch.setattr(WordEmbeddings, "build_search_space", lambda *_: space)
    command = ["train", "word-embeddings", "--data", "text.txt", "--min_count", "2", "--variant", "cbow", "--tune", "9"]
    assert main(command) == 0
    trials = read_results(Path("runs/results") / TRIALS)
    assert sorted(trial.settings["learning_rate"] for trial in trials) == [1e-5, 0.05]
    (tuned,) = read_results("runs/results")
    assert tuned.settings["learning_rate"] == 0.05
    lowest = min(trial.metrics["validation/perplexity"] for trial in trials)
    assert tuned.metrics["validation/perplexity"] == lowest
    assert "test/perplexity" in tuned.metrics


def test_the_seed_of_a_training_decides_the_weights_it_starts_from(folder: Path) -> None:
    experiment = own_experiment(WORD_EMBEDDINGS, "text.txt", seed=3)
    experiment = set_user_rows(experiment, prepare_user_splits(WORD_EMBEDDINGS, experiment, OwnArgs()))
    model = build_model(experiment, load_experiment_corpus(experiment))
    torch.manual_seed(3)
    expected = WordEmbeddingForMaskedLM(model.config)
    assert all(map(torch.equal, model.state_dict().values(), expected.state_dict().values()))
    assert build_training_settings(experiment).seed == 3
