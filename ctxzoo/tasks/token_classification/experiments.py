"""The trainings of taggers: what may be set, the paper's settings, the usual ones, and what a search tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import ClassifierOptimizer, DataArgs, Experiment, ModelArgs, TrainerArgs, VectorStart
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, SIZE, number_field
from ctxzoo.word_vectors.source import strip_known_suffixes

PROBLEM, ARCHITECTURE = "token-classification", "bilstm_tagger"
LEARNED = "learned"  # what results say of word vectors that are drawn
RANDOM_VECTORS = "random_vectors"  # name of their row
WORD_VECTORS = "small"  # the table that comes with ctxzoo, of English
VECTOR_WORDS = 40_000  # of given vectors, as many as the small table has and a few more
TINY = {"word_dim": 8, "recurrent_size": 6, "projection_size": 6, "hidden_size": 10, "inner_size": 8}
# Corpora: name to values of `TagData`, with the treebank's own tags.
TOKEN_DATASETS: Mapping[str, Mapping[str, str]] = {
    "ptb_sample": {"dataset": "ctxzoo-data/ptb_sample", "tag_column": "pos_tags"},
    "ud_english_ewt": {"dataset": "ctxzoo-data/ud_english_ewt", "tag_column": "xpos"},
    "brown_pos": {"dataset": "ctxzoo-data/brown_pos", "tag_column": "pos_tags"},
    "conll2000_pos": {"dataset": "ctxzoo-data/conll2000_pos", "tag_column": "pos_tags"},
    "sample": {"dataset": "sample", "tag_column": "pos_tags"},
}


@dataclass(frozen=True, kw_only=True)
class TagData(DataArgs):
    """What is trained on; null: as the tokenizer of the checkpoint has it.

    Args:
        tag_column: Name of the column of tags, in CoNLL-U files upos or xpos; null: the first usual name that is there,
            such as pos_tags.
        min_word_count: Least number of occurrences in training for a word without a given vector to enter the
            vocabulary.
        lower_case: Whether words are lower-cased.
        fold_digits: Whether every digit of a word is replaced by 0.
        pre_tokenizer: Rule by which running text is cut: whitespace, english, treebank, words, signs, unspaced or
            characters; null: the one that gives most words of the training sentences.
        features: Whether words have features such as ends and shapes, which the model reads; bilstm_tagger only.
    """

    tag_column: str | None = None
    min_word_count: int | None = number_field(None, SIZE)
    lower_case: bool | None = None
    fold_digits: bool | None = None
    pre_tokenizer: Literal["whitespace", "english", "treebank", "signs", "unspaced", "words", "characters"] | None = (
        None
    )
    features: bool | None = None

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        return "" if self.rows or self.tag_column is None else self.tag_column


@dataclass(frozen=True, kw_only=True)
class TagModel(ModelArgs):
    """What is trained.

    Args:
        word_dim: Dimension of the word embeddings, if no word vectors are given.
        recurrent_size: Units of each LSTM direction; bilstm_tagger only.
        projection_size: Units of the tanh layer above the LSTM; bilstm_tagger only.
        embedding_dropout: Dropout rate on the word embeddings; bilstm_tagger only.
        hidden_dropout: Dropout rate on LSTM states and tanh layer; in encoders on what each block adds to the residual
            stream.
        feature_dim: Dimension of the vectors of features, whose sum stands beside the word's; bilstm_tagger only.
        feature_dropout: Rate at which single features are left out of the linear (wide) part in training; bilstm_tagger
            only.
        wide_window: Number of words on each side whose features and given vectors a linear (wide) part reads beside
            the network, which is fitted before it below a CRF; null: no such part; bilstm_tagger only.
        wide_dropout: Rate at which the linear (wide) part is left out of a sentence's scores in training; bilstm_tagger
            only.
        crf: Whether a CRF of the tags stands above the scores of words and, where tags are those of spans, predictions
            keep their scheme; null: where a user's tags are those of spans, unless labels are smoothed; bilstm_tagger
            only.
        hidden_size: Width of the layers; Transformer encoders only.
        num_heads: Number of attention heads in each layer; Transformer encoders only.
        num_layers: Number of layers; Transformer encoders only.
        inner_size: Units of the hidden layer in each block's feed-forward network; Transformer encoders only.
        dropout: Dropout rate on the word embeddings; Transformer encoders only.
        attention_dropout: Dropout rate on the attention weights; Transformer encoders only.
    """

    word_dim: int | None = number_field(None, SIZE)
    recurrent_size: int | None = number_field(None, SIZE)
    projection_size: int | None = number_field(None, SIZE)
    embedding_dropout: float | None = number_field(None, FRACTION)
    hidden_dropout: float | None = number_field(None, FRACTION)
    feature_dim: int | None = number_field(None, COUNT)
    feature_dropout: float | None = number_field(None, FRACTION)
    wide_window: int | None = number_field(None, COUNT)
    wide_dropout: float | None = number_field(None, FRACTION)
    crf: bool | None = None
    hidden_size: int | None = number_field(None, SIZE)
    num_heads: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    inner_size: int | None = number_field(None, SIZE)
    dropout: float | None = number_field(None, FRACTION)
    attention_dropout: float | None = number_field(None, FRACTION)


@dataclass(frozen=True, kw_only=True)
class TagStart(VectorStart):
    """What a training begins with.

    Args:
        word_vectors: Word vectors that the embedding table starts from: a file, checkpoint folder or Hub id; null:
            random vectors.
        vector_words: Number of words of the given vectors, the first ones, that the model knows beside those of the
            training sentences, with vectors kept as int8; 0: all, with vectors of floats.
    """

    vector_words: int = number_field(0, COUNT)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        drawn = LEARNED if self.init_from is None and self.encoder is None else None
        vectors = drawn if self.word_vectors is None else strip_known_suffixes(Path(self.word_vectors))
        return {**super().get_reported_values(), "word_vectors": vectors}


def build_paper_experiment(architecture: str = ARCHITECTURE, variant: str = ARCHITECTURE) -> Experiment:
    """Return the settings of Ling et al. (2015), or those of docs/models/bilstm_tagger.md where it is silent.

    Raises:
        ValueError: another architecture than theirs.
    """
    if architecture != ARCHITECTURE:
        raise ValueError(
            f"there are no settings of a paper for {architecture} on tags, only for {ARCHITECTURE}; try "
            "--settings default"
        )
    sizes: dict[str, Any] = {"word_dim": 50, "recurrent_size": 50, "projection_size": 50}
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=TagData(batch_size=100, min_word_count=2, lower_case=True, fold_digits=True),
        model=TagModel(architecture=architecture, variant=variant, **sizes, embedding_dropout=0.0, hidden_dropout=0.0),
        optimizer=ClassifierOptimizer(optimizer="sgd", learning_rate=0.2, momentum=0.95),
        trainer=TrainerArgs(epochs=50, patience=10, gradient_clip=5.0),
        start=TagStart(),
    )


def get_tag_dataset(name: str, tag_column: str | None = None) -> dict[str, str]:
    """Return values of `TagData` for one of `TOKEN_DATASETS`, or for any other Hub id or folder.

    Args:
        name: Short name of a known corpus, or any other Hub id, folder or file.
        tag_column: Name of the tag column, such as upos, to use in place of the corpus's usual one.

    Raises:
        ValueError: a corpus that is not one of `TOKEN_DATASETS`, without tags.
    """
    known_dataset = TOKEN_DATASETS.get(name)
    if known_dataset is None and tag_column is None:
        raise ValueError(f"{name!r} is none of {', '.join(TOKEN_DATASETS)}; name its column of tags too")
    return {**(known_dataset or {"dataset": name}), **({} if tag_column is None else {"tag_column": tag_column})}


def set_corpus(experiment: Experiment, name: str, vectors: str | None = None) -> Experiment:
    """Return the experiment on a corpus, with a model that starts from word vectors, by which its row is named.

    Args:
        experiment: Experiment with the settings that all trainings share; its `tag_column` overrides the corpus's usual
            one.
        name: Short name of a corpus, a key of `TOKEN_DATASETS`, or any other Hub id, folder or file.
        vectors: Pretrained word vectors: a file, checkpoint folder or Hub id; None: random vectors.

    Raises:
        ValueError: see `get_tag_dataset`.
    """
    data: Any = experiment.data
    row = RANDOM_VECTORS if vectors is None else strip_known_suffixes(Path(vectors))
    return experiment.copy_with(**get_tag_dataset(name, data.tag_column), word_vectors=vectors, row=row)


_ENCODER: Mapping[str, Any] = {
    **{"word_dim": 100, "hidden_size": 100, "num_heads": 5, "num_layers": 2, "inner_size": 200, "dropout": 0.3},
    "hidden_dropout": 0.1,
}
# Fields of each architecture's config beside those of its variants.
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "bilstm_tagger": {
        **{"word_dim": 100, "recurrent_size": 100, "projection_size": 100, "embedding_dropout": 0.5},
        **{"hidden_dropout": 0.5, "feature_dim": 50, "feature_dropout": 0.3, "wide_window": 2, "wide_dropout": 0.6},
    },
    "kernel_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, "attention_dropout": 0.1},
}


def get_variants(architecture: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the variants of an architecture and their fields; one without any is its own."""
    return ARCHITECTURES[architecture].config_class.variants or {architecture: {}}


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Those of the tagger are chosen on chunks and names of few sentences (docs/models/bilstm_tagger.md); encoders have
    the optimizer of text classification, and no table has chosen their settings.
    """
    is_tagger = architecture == ARCHITECTURE
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=TagData(
            batch_size=16,
            min_word_count=2,
            lower_case=is_tagger,
            fold_digits=True,
            features=True if is_tagger else None,
        ),
        model=TagModel(architecture=architecture, variant=variant, **CONFIGS[architecture]),
        optimizer=ClassifierOptimizer(
            optimizer="adamw",
            learning_rate=1e-2 if is_tagger else 2e-3,
            weight_decay=0.01,
            label_smoothing=0.0 if is_tagger else 0.1,
            warmup=0.1,
            decay=True,
        ),
        trainer=TrainerArgs(epochs=15, patience=0 if is_tagger else 4, ema_decay=0.999, gradient_clip=5.0),
        start=TagStart(word_vectors=WORD_VECTORS, vector_words=VECTOR_WORDS) if is_tagger else TagStart(),
    )


SEARCH_SPACE: Space = {
    "batch_size": (8, 16, 32),
    "epochs": Between(8, 30),
    "embedding_dropout": Between(0.1, 0.5),
    "hidden_dropout": Between(0.1, 0.5),
    "word_dim": (50, 100, 200),
    "recurrent_size": (50, 100, 200),
    "projection_size": (50, 100, 200),
    "hidden_size": (50, 100, 200),
    "num_layers": (1, 2, 3),
    "weight_decay": Between(0.0, 0.1),
    "label_smoothing": Between(0.0, 0.2),
    "min_word_count": (1, 2),
    "lower_case": (False, True),
}
