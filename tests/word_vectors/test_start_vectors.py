from __future__ import annotations

import random
import sys
from pathlib import Path

import gensim
import pytest
import torch

from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.word_vectors.start_vectors import train_word2vec_table
from tests.tasks.text_classification.test_data import write

ANIMALS, TOOLS = ["cat", "dog", "cow", "hen"], ["saw", "axe", "nail", "drill"]


def corpus(seed: int = 0, texts: int = 400) -> list[str]:
    """Texts of animals or of tools, with words that no tokenizer here knows in between."""
    draw = random.Random(seed)
    return [
        " rare".join(f" {word}" for word in draw.choices(draw.choice([ANIMALS, TOOLS]), k=12)) for _ in range(texts)
    ]


@pytest.fixture
def tokenizer() -> WordTokenizer:
    return build_word_tokenizer([*ANIMALS, *TOOLS, "absent"], ngram_buckets=3, ngram_order=2)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The options of every training."""
    options: list[dict[str, object]] = []
    trained = gensim.models.Word2Vec

    def record(words: object, **given: object) -> object:
        options.append(given)
        return trained(words, **given)

    monkeypatch.setattr(gensim.models, "Word2Vec", record)
    return options


def test_words_that_stand_together_are_near(tokenizer: WordTokenizer, tmp_path: Path) -> None:
    table = train_word2vec_table(corpus(), tokenizer, dim=8, epochs=30, seed=0, cache=tmp_path)
    assert (table.shape, table.dtype) == ((tokenizer.num_ids, 8), torch.float32)
    assert not table[0].any()
    unit = torch.nn.functional.normalize(table[1:9], dim=1)
    near = unit @ unit.T
    related = (near[:4, :4].sum() + near[4:, 4:].sum() - 8) / 24
    assert related > near[:4, 4:].mean() + 0.5
    drawn = table[9:]  # a word that does not occur, and three buckets
    assert len({tuple(row.tolist()) for row in drawn}) == 4
    assert 0.4 < float(drawn.std() / table[1:9].std()) < 2


def test_the_same_arguments_give_the_same_bits(tokenizer: WordTokenizer, tmp_path: Path) -> None:
    def table(folder: str, seed: int = 3) -> torch.Tensor:
        return train_word2vec_table(corpus(), tokenizer, dim=5, epochs=2, seed=seed, cache=tmp_path / folder)

    assert torch.equal(table("one"), table("two"))
    assert not torch.equal(table("one"), table("one", seed=4))


def test_unknown_words_are_removed_and_the_cache_is_read(
    tokenizer: WordTokenizer, tmp_path: Path, trainings: list[dict[str, object]]
) -> None:
    texts = corpus()
    first = train_word2vec_table(texts, tokenizer, dim=5, epochs=2, seed=0, cache=tmp_path)
    assert torch.equal(first, train_word2vec_table(texts, tokenizer, dim=5, epochs=2, seed=0, cache=tmp_path))
    assert len(trainings) == 1
    without = [text.replace(" rare", "") for text in texts]
    assert torch.equal(first, train_word2vec_table(without, tokenizer, dim=5, epochs=2, seed=0, cache=tmp_path))
    train_word2vec_table(texts, tokenizer, dim=5, epochs=3, seed=0, cache=tmp_path)
    assert [options["epochs"] for options in trainings] == [2, 2, 3]


def test_texts_without_a_known_word(tokenizer: WordTokenizer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no text has a known word to train word2vec on"):
        train_word2vec_table(["rare", ""], tokenizer, dim=5, epochs=2, seed=0, cache=tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_gensim(tokenizer: WordTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ImportError, match=r"word2vec needs gensim: pip install gensim"):
        train_word2vec_table(corpus(), tokenizer, dim=5, epochs=2, seed=0)


def test_the_data_module_trains_on_the_training_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: None, trainings: list[dict[str, object]]
) -> None:
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))

    def table(folder: str, test_seed: int, **options: int) -> torch.Tensor:
        write(tmp_path / folder, "train", corpus())
        write(tmp_path / folder, "test", corpus(test_seed))
        data = TextClassificationDataModule.from_options(str(tmp_path / folder), word2vec_dim=6, **options)
        data.setup()
        assert (data.model_sizes()["word_dim"], data.get_vectors_name()) == (6, "word2vec.6d")
        found = data.build_vector_table()
        assert found is not None
        assert found.shape == (data.model_sizes()["vocab_size"], 6)
        return found

    first = table("one", 1)
    assert torch.equal(first, table("two", 2))
    assert len(trainings) == 1
    assert not torch.equal(first, table("one", 1, fold_seed=1))  # other rows are held out of train


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word2vec_dim": -1}, "word2vec_dim is -1"),
        ({"word2vec_dim": 5, "word2vec_epochs": 0}, "word2vec_epochs 0"),
        ({"word2vec_dim": 5, "word_vectors": "v.txt"}, "both word_vectors='v.txt' and word2vec_dim=5"),
    ],
)
def test_options_that_cannot_be(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextClassificationDataModule.from_options("sample", **options)
