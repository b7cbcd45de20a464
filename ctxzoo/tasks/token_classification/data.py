"""Token classification for Lightning: from a corpus by name, a Hub id, a folder or the generated sample to batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoTokenizer

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.formats import Rows
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.text_encoding import EncodedTexts, TextBatches, encode_texts, find_frequent_words, pad_rows
from ctxzoo.data.word_encoder import WordEncoder, note_cut_texts, read_word_encoder
from ctxzoo.hub.saved_model import locate_checkpoint
from ctxzoo.models.ops_bilstm_tagger import Scheme, choose_scheme
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.models.tokenization_base import PAD_TOKEN, UNK_TOKEN
from ctxzoo.models.tokenization_features import find_word_features
from ctxzoo.models.tokenization_word import (
    PreTokenizerName,
    WordTokenizer,
    build_pre_tokenizer,
    build_word_tokenizer,
    pre_tokenize,
)
from ctxzoo.tasks.token_classification.raw_text import choose_cut_rule
from ctxzoo.tasks.token_classification.reader import TokenSplits, assign_rows_to_splits, group_sentences, read_tokens
from ctxzoo.tasks.token_classification.sources import TOKENS
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from ctxzoo.word_vectors.vocabulary import (
    SPECIAL_ROWS,
    FixedVectors,
    build_fixed_vectors,
    build_word_vector_table,
    has_vectors_of_most_words,
)

if TYPE_CHECKING:
    import datasets

LEAST_FEATURE_COUNT = 2  # in training, for a feature of words to have an id


class TokenBatches(TextBatches):
    """`TextBatches` with a label for each word: `labels` has shape (all ids,), in the order of `texts.ids`.

    Args:
        features: (words, F) ids of the features of different words, and (all ids,) the row of each word in it; None: no
            features.
        others: Arguments of `TextBatches`.
    """

    def __init__(self, *others: Any, features: tuple[torch.Tensor, npt.NDArray[np.int64]] | None = None) -> None:
        super().__init__(*others)
        self.features = features

    def __getitem__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        batch = super().__getitem__(numbers)
        if self.features is None:
            return batch
        table, word_of_id = self.features
        rows = pad_rows(word_of_id, self.texts.pointers, self.rows[np.asarray(numbers)], 0)
        return {**batch, "feature_ids": table[torch.from_numpy(rows)].long() * batch["attention_mask"].unsqueeze(-1)}

    def _get_labels(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the labels of rows, (B, n), with `IGNORED` behind shorter sentences."""
        return pad_rows(self.labels, self.texts.pointers, rows, IGNORED)


class TokenClassificationDataModule(BucketedDataModule[TokenSplits]):
    """Sentences with one tag for each word in bucketed batches.

    Splits: `train`, `validation` and `test`; training rows alone are divided (`divide`); other splits that the
    dataset lacks are cut out of `train`, see `assign_rows_to_splits`.

    Sentences come as words; they are not cut further. The vocabulary holds the words with `min_word_count` occurrences
    in `train`, the most frequent first; with `word_vectors` also the rarer ones that have a vector, and then all other
    words of the vectors, in their order, so that a tagger knows more words than it was trained on. All other words are
    "[UNK]", whose vector the rare words of `train` train.

    The tokenizer cuts running text as the words of `train` are cut, by the rule of `choose_cut_rule`, which is noted.

    A batch is a dict of `input_ids` (B, n), `attention_mask` (B, n), `labels` (B, n), -100 at padding, and `row` (B,),
    which counts in `texts(split)`, with features `feature_ids` (B, n, F), with an encoder `subword_ids` (B, n, s); all
    int64. n is the longest of the batch; shorter sentences are padded on the right.

    Args:
        dataset: Data to read: "sample" (generated sentences), or a Hub id, folder or file, as `read_tokens` takes it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        tag_column: Name of the column of tags; default: the first usual name that is there, such as pos_tags.
        min_word_count: Least number of occurrences in training for a word to enter the vocabulary, unless it has a
            given vector.
        lower_case, fold_digits: Whether words are lower-cased, and whether every digit becomes 0, as in
            `build_word_tokenizer`; they should match the word vectors.
        pre_tokenizer: Rule by which the tokenizer cuts running text, see `build_pre_tokenizer`; None: the one that
            gives most words of the training sentences.
        features: Whether words have features that occur twice in training, see `list_word_features`.
        word_vectors: Pretrained word vectors that initialize the embeddings, as `read_word_vectors` takes them; None:
            random vectors.
        vector_words: Number of first words of the given vectors that the model knows beside those of the training
            sentences, with vectors that are kept as int8, for `build_fixed_vectors`; where most training words have no
            vector, none are taken. 0: all words, with vectors of floats, for `build_vector_table`.
        batch_size, eval_batch_size: Number of sentences in a batch, in training and in evaluation.
        seed: Seed of the order of batches, and of random embeddings of words without a vector.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        tokenizer: Tokenizer to use in place of one built from the training data.
        init_from: Checkpoint, a folder or Hub id, whose tokenizer is used; None: a tokenizer is built from the training
            data.
        encoder: Encoder that reads the words, a folder or Hub id; None: there is none.
        known_labels: Tag names of the model to be scored, in its order, as in `read_tokens`; None: those of the data.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`;
            if not, only data of ten or more files is, by `assign_rows_to_splits`.

    Raises:
        ValueError: min_word_count below 1; a tokenizer that removes words, or one beside word_vectors; both `tokenizer`
            and `init_from`.
    """

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        tag_column: str | None = None,
        min_word_count: int = 2,
        lower_case: bool = True,
        fold_digits: bool = True,
        pre_tokenizer: PreTokenizerName | None = None,
        features: bool = False,
        word_vectors: str | None = None,
        vector_words: int = 0,
        batch_size: int = 100,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        tokenizer: WordTokenizer | None = None,
        init_from: str | None = None,
        encoder: str | None = None,
        known_labels: Sequence[str] | None = None,
        divide: bool = True,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide,
        )
        self.known_labels = known_labels
        if min_word_count < 1:
            raise ValueError(f"min_word_count is {min_word_count}; expected 1 or more")
        if tokenizer is not None and init_from is not None:
            raise ValueError(f"both a tokenizer and init_from={init_from!r}; give one of them")
        if init_from is not None:
            tokenizer = AutoTokenizer.from_pretrained(locate_checkpoint(init_from))
        if encoder is not None and (tokenizer is not None or word_vectors is not None):
            raise ValueError(
                f"encoder={encoder!r} beside a tokenizer, a checkpoint or word vectors; choose one of them"
            )
        self.encoder = None if encoder is None else read_word_encoder(encoder)
        if tokenizer is not None and word_vectors is not None:
            raise ValueError(f"both a tokenizer and word_vectors={word_vectors!r}; give one of them")
        if tokenizer is not None and not (isinstance(tokenizer, WordTokenizer) and tokenizer.keeps_unknown):
            raise ValueError(
                f"the tokenizer, a {type(tokenizer).__name__}, does not give each word one id; expected a "
                "WordTokenizer built with keep_unknown=True"
            )
        self.tag_column = tag_column
        self.min_word_count = min_word_count
        self.lower_case = lower_case
        self.fold_digits = fold_digits
        self.pre_tokenizer = pre_tokenizer
        self.features = features
        self.word_vectors, self.vector_words = word_vectors, vector_words
        self._tokenizer = tokenizer
        self._rows: dict[str, tuple[str, Rows]] = {}
        self._encoded: dict[str, EncodedTexts] = {}
        self._vectors: WordVectors | None = None
        self._num_trained_words = 0

    # -- what a recipe reads ----------------------------------------------------------------------------------------

    @property
    def tokenizer(self) -> WordTokenizer:
        """The tokenizer that belongs to this data; after `setup`."""
        assert self._tokenizer is not None, "call setup() first"
        return self._tokenizer

    @property
    def label_names(self) -> list[str]:
        """The tag of each label, in the order of their numbers."""
        return self.load_checked_data().label_names

    @property
    def scheme(self) -> Scheme | None:
        """The scheme of spans that the tags of the training sentences have; None: they are none of spans."""
        return choose_scheme(self.label_names, self.texts("train").select(self.rows("train"))["labels"][:])

    def content_hashes(self) -> dict[str, str]:
        hashes = super().content_hashes()
        if self._vectors is None or self.has_fixed_vectors:
            return hashes
        return {**hashes, "word vectors": self._vectors.fingerprint}

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the data."""
        sizes: dict[str, Any] = {"vocab_size": self.tokenizer.num_ids, "num_labels": len(self.label_names)}
        if self.encoder is not None:
            sizes |= {"word_dim": self.encoder.width, "encoder_config": self.encoder.config}
        if self.tokenizer.num_feature_ids:
            sizes["num_features"] = self.tokenizer.num_feature_ids
        if self.has_fixed_vectors:
            sizes["trained_words"] = self._num_trained_words
        return sizes if self._vectors is None else {**sizes, "word_dim": self._vectors.dim}

    @property
    def has_fixed_vectors(self) -> bool:
        """Whether given vectors are kept as int8, which training adds to; after `setup`."""
        return self._vectors is not None and self.vector_words > 0

    def build_fixed_vectors(self) -> FixedVectors:
        """Return the given vectors of all words, where `has_fixed_vectors`; they are rounded to int8."""
        assert self._vectors is not None, "there are no given vectors"
        return build_fixed_vectors(self.tokenizer, self._vectors, self._num_trained_words, self.seed)

    def build_vector_table(self) -> torch.Tensor | None:
        """Return (num_ids, dim) the vectors of `word_vectors`, or None without them; see `build_word_vector_table`."""
        return None if self._vectors is None else build_word_vector_table(self.tokenizer, self._vectors, self.seed)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._rows)

    def texts(self, split: str) -> datasets.Dataset:
        """Return the sentences (`tokens`, `labels`) that hold those of a split, to which `row` of a batch refers."""
        return self.load_checked_data().splits[self._get_source_and_rows(split)[0]]

    def rows(self, split: str) -> Rows:
        """Return the rows of `texts(split)` that belong to the split, ascending."""
        return self._get_source_and_rows(split)[1]

    # -- Lightning ---------------------------------------------------------------------------------------------------

    def setup(self, stage: str | None = None) -> None:
        """Choose the rows of each split and build the vocabulary, on every process."""
        if self._rows:
            return
        try:
            rows = assign_rows_to_splits(self.load_checked_data().splits)
        except ValueError as error:
            raise ValueError(f"dataset {self.dataset!r}: {error}") from error
        if self.word_vectors is not None and not self.vector_words:
            self._vectors = read_word_vectors(self.word_vectors)
        if self._tokenizer is None:
            if "train" not in rows:
                raise ValueError(
                    f"dataset {self.dataset!r} has no train split to build a vocabulary from; add one "
                    "(or set `tokenizer`)"
                )
            source, in_source = rows["train"]
            self._tokenizer = self._build_tokenizer(
                self.load_checked_data().splits[source].select(in_source)[TOKENS][:]
            )
        self._rows = rows

    def batches(self, split: str, *, training: bool) -> TokenBatches:
        source, rows = self._get_source_and_rows(split)
        labels = (
            self.load_checked_data()
            .splits[source]
            .with_format("arrow")[:]["labels"]
            .combine_chunks()
            .flatten()
            .to_numpy()
        )
        encoded = self._encode_sentences(source)
        features = self._look_up_features(source) if self.tokenizer.num_feature_ids else None
        return TokenBatches(encoded, labels, rows, self.tokenizer.pad_token_id, features=features)

    # -- inside --------------------------------------------------------------------------------------------------------

    def read_dataset(self) -> TokenSplits:
        return read_tokens(self.dataset, self.data_dir, self.tag_column, self.known_labels)

    def group_related_rows(self, checked: TokenSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_sentences(checked)

    def _get_source_and_rows(self, split: str) -> tuple[str, Rows]:
        return self.get_split(self._rows, split)

    def _build_tokenizer(self, sentences: list[list[str]]) -> WordTokenizer:
        texts = [" ".join(words) for words in sentences]

        pre_tokenizer = build_pre_tokenizer(self.lower_case, fold_digits=self.fold_digits)
        words = dict.fromkeys(find_frequent_words(pre_tokenizer, texts, self.min_word_count))
        for special in (PAD_TOKEN, UNK_TOKEN):
            words.pop(special, None)
        self._num_trained_words = SPECIAL_ROWS + len(words)
        all_words = find_frequent_words(pre_tokenizer, texts, 1)
        if self.word_vectors is not None and self.vector_words:
            vectors = read_word_vectors(self.word_vectors, keep=all_words, limit=self.vector_words)
            self._vectors = vectors if has_vectors_of_most_words(vectors, all_words, self.dataset) else None
        if self._vectors is not None:
            vectors = self._vectors
            words |= dict.fromkeys(word for word in all_words if vectors.lookup(word) is not None)
            words |= dict.fromkeys(word for word in vectors.words if pre_tokenize(pre_tokenizer, word) == [word])
        for special in (PAD_TOKEN, UNK_TOKEN):
            words.pop(special, None)
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(sentences)} training sentences of "
                f"{self.dataset!r}; lower min_word_count"
            )
        rule = choose_cut_rule(sentences, self.pre_tokenizer)
        record_note(self.dataset, f"training words tried; {rule.describe()}", rule.words)
        return build_word_tokenizer(
            list(words),
            lower_case=self.lower_case,
            fold_digits=self.fold_digits,
            keep_unknown=True,
            **({} if self.encoder is None else _get_encoder_options(self.encoder)),
            pre_tokenizer=rule.name,
            exceptions=rule.exceptions,
            features=find_word_features(sentences, LEAST_FEATURE_COUNT) if self.features else (),
        )

    def _look_up_features(self, source: str) -> tuple[torch.Tensor, npt.NDArray[np.int64]]:
        """Return the features (words, F) of the different words of a split, and the row of each of all its words."""
        number: dict[str, int] = {}
        sentences = self.load_checked_data().splits[source][TOKENS][:]
        rows = np.array([number.setdefault(word, len(number)) for words in sentences for word in words], np.int64)
        return torch.tensor([self.tokenizer.look_up_feature_ids(word) for word in number], dtype=torch.int32), rows

    def _encode_sentences(self, source: str) -> EncodedTexts:
        """Return the sentences of a split of the dataset; those of splits that were cut out of it are encoded once."""
        if source not in self._encoded:
            sentences = self.load_checked_data().splits[source][TOKENS][:]
            encoded = encode_texts(self.tokenizer, sentences, None, is_split_into_words=True)
            wrong = np.flatnonzero(encoded.lengths() != np.array([len(words) for words in sentences]))
            if len(wrong):
                row = int(wrong[0])
                raise ValueError(
                    f"dataset {self.dataset!r}, split {source!r}, row {row}: the tokenizer makes "
                    f"{encoded.lengths()[row]} ids of {len(sentences[row])} words: {' '.join(sentences[row])[:80]!r}; "
                    "give one that cuts at white space alone"
                )
            note_cut_texts(f"{self.dataset}, {source}", encoded, self.encoder)
            self._encoded[source] = encoded
        return self._encoded[source]


def _get_encoder_options(encoder: WordEncoder) -> dict[str, Any]:
    """Return the options of a tokenizer whose words an encoder reads, as in training: lists, so with blanks between."""
    return {"encoder_tokenizer": encoder.tokenizer, "blanks_between_words": True}
