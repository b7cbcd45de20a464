"""Text classification for Lightning: from a Hub id, a folder, a file or the generated sample to batches."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, TokenizersBackend

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.formats import Rows
from ctxzoo.data.own_splits import RowGroups, count_label_rows
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.data.text_encoding import EncodedTexts, TextBatches, are_without_blanks, check_tokenizer, encode_texts
from ctxzoo.data.training_stream import SHUFFLE_BUFFER, refuse_settings_of_whole_data
from ctxzoo.data.word_encoder import note_cut_texts, read_word_encoder
from ctxzoo.hub.saved_model import locate_checkpoint
from ctxzoo.models.old_names import convert_settings
from ctxzoo.models.tokenization_word import WordTokenizer, build_pre_tokenizer
from ctxzoo.tasks.text_classification.known_words import TextVocabulary
from ctxzoo.tasks.text_classification.label_sets import parse_class_weights
from ctxzoo.tasks.text_classification.naive_bayes import count_ids, fit_naive_bayes_of_texts
from ctxzoo.tasks.text_classification.reader import TextSplits, build_labelled_texts, check_texts, read_texts
from ctxzoo.tasks.text_classification.splitting import (
    SplitTexts,
    TextSplitting,
    draw_rows_of_every_label,
    get_labels,
    group_equal_texts,
)
from ctxzoo.tasks.text_classification.stream import TextStreamReader
from ctxzoo.tasks.text_classification.wide_start import (
    C_VALUES,
    PooledWords,
    WideChoice,
    WideStart,
    fit_wide_part,
)
from ctxzoo.word_vectors.start_vectors import StartVectors
from ctxzoo.word_vectors.vectors import WordVectors
from ctxzoo.word_vectors.vocabulary import FixedVectors, build_fixed_vectors, has_vectors_of_most_words

logger = logging.getLogger(__name__)


class TextClassificationDataModule(BucketedDataModule[TextSplits]):
    """Texts with one label each, or with several, in bucketed batches.

    Splits: `train`, `validation` and `test`, see `TextSplitting`; training rows alone are divided (`divide`).
    A class without rows in `train` gives a warning.

    The vocabulary is that of the rows of `train`, so after those of `validation` are taken out. With the `tokenizer` of
    another model there is none, nor what follows from one (`model_sizes`, vectors, `fit_naive_bayes`): texts are that
    tokenizer's ids, special tokens included.

    A batch is a dict of `input_ids` (B, n), `attention_mask` (B, n), `labels` (B,) and `row` (B,), which counts in
    `texts(split)`, and with an encoder `subword_ids` (B, n, s); all int64. n is the longest of the batch, and 1 where
    no text has a known word; shorter texts are padded on the right. Where texts have several labels
    (`has_several_labels`), `labels` are 0 and 1, (B, L), int8.

    Args:
        dataset: Data to read: "sample" (generated texts), or a Hub id, folder or file, as `read_texts` takes it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        text_column, label_column: Names of the text column (or of several to join) and of the label column; default:
            the first usual names that are there.
        splitting: Division of the rows into train, validation and test; default: the dataset's own splits.
        vocabulary: Settings of the vocabulary: pre-tokenizer, least word count, n-grams; if a tokenizer is given, only
            the pre-tokenizer counts, for `min_words`.
        start_vectors: Settings of the initial word embeddings that `build_vector_table` returns: a file of vectors, or
            word2vec.
        wide: Whether n-grams feed the linear (wide) part of the classifier, which starts from the SVMs of
            `fit_wide_part`.
        wide_rows: Largest number of randomly drawn rows that `fit_wide_part` is fitted to, at least one of each label;
            None: all.
        wide_cost: Inverse regularization strength C of the linear SVMs of `fit_wide_part`; None: the best of a few
            values on held-out training rows.
        max_length: Largest number of known words (or tokens, for other tokenizers) of a text, beyond which it is
            truncated; None: no limit, or that of the given tokenizer. The tokenizer keeps it as `model_max_length`.
        batch_size, eval_batch_size: Number of texts in a batch, in training and in evaluation.
        seed: Seed of the order of batches, of word2vec, and of random embeddings of words without a vector.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        tokenizer: Tokenizer to use in place of one built from the training texts: a `WordTokenizer`, or any fast
            tokenizer of Hugging Face.
        init_from: Checkpoint, a folder or Hub id, whose tokenizer is used; None: a tokenizer is built from the training
            data.
        encoder: Encoder that reads the words, a folder or Hub id; the vocabulary then keeps unknown words as one id.
            None: there is none.
        known_labels: Label names of the model to be scored, in its order, as in `read_texts`; None: those of the data.
        divide: Whether data with a single split "train" is split into train, validation and test, unless `splitting`
            says how.
        label_separator: Sign between several labels in one cell, as in `read_texts`; None: a cell is one label.
        label_columns: Names of columns of 0 and 1, one for each label; None: there is one column of labels.
        several_labels: Whether the model to be scored gives a text several labels; None: as the data say.
        class_weights: Weights of the labels in `fit_wide_part`, as in `parse_class_weights`; None: 1.
        objective: Name of the score by which `fit_wide_part` chooses C; None: accuracy, or micro_f1 of several labels.
        streaming, shuffle_buffer: Whether training texts stay on the disk, and how many are read together, as in
            `CheckedDataModule`; vocabulary, word2vec and what is linear then follow from the sample.

    Raises:
        ValueError: max_length below 1; a wide_cost that is not above 0; both `tokenizer` and `init_from`; a tokenizer
            that is not fast, cannot pad, or does not go with the other options.
    """

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        text_column: ColumnNames = None,
        label_column: str | None = None,
        splitting: TextSplitting | None = None,
        vocabulary: TextVocabulary | None = None,
        start_vectors: StartVectors | None = None,
        wide: bool = False,
        wide_rows: int | None = None,
        wide_cost: float | None = None,
        max_length: int | None = None,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        tokenizer: TokenizersBackend | None = None,
        init_from: str | None = None,
        encoder: str | None = None,
        known_labels: Sequence[str] | None = None,
        divide: bool = True,
        label_separator: str | None = None,
        label_columns: Sequence[str] | None = None,
        several_labels: bool | None = None,
        class_weights: Sequence[str] | None = None,
        objective: str | None = None,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        self.splitting = splitting or TextSplitting()
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            divide=divide and not self.splitting.overrides_division,
            streaming=streaming,
            shuffle_buffer=shuffle_buffer,
        )
        self.text_column = text_column
        self.label_column = label_column
        self.known_labels, self.several_labels = known_labels, several_labels
        self.label_separator, self.label_columns = label_separator, label_columns
        self.class_weights, self.objective = class_weights, objective
        self.vocabulary = vocabulary or TextVocabulary()
        self.start_vectors = start_vectors or StartVectors()
        self.wide = wide
        self.wide_rows, self.wide_cost = wide_rows, wide_cost
        self.max_length = max_length
        if max_length is not None and max_length < 1:
            raise ValueError(f"max_length is {max_length}; expected 1 or more words, or None")
        if wide_cost is not None and not wide_cost > 0:
            raise ValueError(f"wide_cost is {wide_cost}; expected a number above 0, or None")
        if tokenizer is not None and init_from is not None:
            raise ValueError(f"both a tokenizer and init_from={init_from!r}; give one of them")
        if encoder is not None and (tokenizer is not None or init_from is not None or self.start_vectors.has_vectors):
            raise ValueError(
                f"encoder={encoder!r} beside a tokenizer, a checkpoint or word vectors; choose one of them"
            )
        self.encoder = None if encoder is None else read_word_encoder(encoder)
        if tokenizer is not None:
            check_tokenizer(tokenizer, max_length)
            vectors = self.start_vectors
            if vectors.has_vectors:
                _require_word_tokenizer(
                    tokenizer, f"word_vectors={vectors.word_vectors!r}, word2vec_dim={vectors.word2vec_dim}"
                )
        self._tokenizer: TokenizersBackend | None = tokenizer
        if init_from is not None:
            self._tokenizer = _load_word_tokenizer(init_from)
            if max_length is not None:
                self._tokenizer.model_max_length = max_length
        if max_length is None and isinstance(self._tokenizer, WordTokenizer):
            self.max_length = self._tokenizer.word_limit
        self._split: SplitTexts | None = None
        self._encoded: dict[str, EncodedTexts] = {}
        self._told: set[str] = set()
        self._vectors: WordVectors | None = None
        self._wide_choice: WideChoice | None = None
        self._num_trained_words = 0

    @classmethod
    def from_options(cls, dataset: str, **options: Any) -> TextClassificationDataModule:
        """Build it from options side by side, as command lines and results files have them.

        Args:
            dataset: Data to read: "sample" (generated texts), or a Hub id, folder or file.
            options: Arguments of the class, in which the fields of `splitting`, `vocabulary` and `start_vectors` are
                given by their own names.

        Raises:
            TypeError: an option that none of them has.
            ValueError: as in the class and in these.
        """
        options = convert_settings(options)
        parts = {
            part: kind(**{one.name: options.pop(one.name) for one in fields(kind) if one.name in options})
            for part, kind in _PARTS.items()
        }
        return cls(dataset, **parts, **options)

    # -- what a recipe reads ----------------------------------------------------------------------------------------

    @property
    def tokenizer(self) -> TokenizersBackend:
        """The tokenizer that belongs to this data; after `setup`."""
        assert self._tokenizer is not None, "call setup() first"
        return self._tokenizer

    @property
    def label_names(self) -> list[str]:
        """The name of each label, in the order of their numbers."""
        return self.load_checked_data().label_names

    @property
    def has_several_labels(self) -> bool:
        """Whether a text may have several labels, or none."""
        return self.load_checked_data().has_several_labels

    def compute_class_weights(self) -> list[float] | None:
        """Return the weight of each label that `class_weights` asks for, from the rows of `train`; None: all 1."""
        if self.class_weights is None:
            return None
        return parse_class_weights(self.class_weights, self.label_names, self.labels("train"))

    @property
    def num_labels(self) -> int:
        """The number of labels, L."""
        return len(self.label_names)

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the data."""
        tokenizer = _require_word_tokenizer(self.tokenizer, "model_sizes")
        sizes: dict[str, Any] = {"vocab_size": tokenizer.num_ids, "num_labels": self.num_labels}
        if self.wide:
            sizes["wide_buckets"] = tokenizer.ngram_buckets + tokenizer.char_ngram_buckets
            sizes["wide_char_buckets"] = tokenizer.char_ngram_buckets
        dim = self._vectors.dim if self._vectors is not None else self.start_vectors.word2vec_dim
        if dim:
            sizes["word_dim"] = dim
        if self.has_fixed_vectors:
            sizes["trained_words"] = self._num_trained_words
        if self.encoder is not None:
            sizes |= {"word_dim": self.encoder.width, "encoder_config": self.encoder.config}
        return sizes

    @property
    def has_fixed_vectors(self) -> bool:
        """Whether the model knows words of given vectors beside those of the training texts; after `setup`."""
        return self._vectors is not None and self.start_vectors.vector_words > 0

    def build_fixed_vectors(self) -> FixedVectors:
        """Return the given vectors of all words, where `has_fixed_vectors`; they are rounded to int8."""
        tokenizer = _require_word_tokenizer(self.tokenizer, "build_fixed_vectors")
        assert self._vectors is not None, "there are no given vectors"
        return build_fixed_vectors(
            tokenizer, self._vectors, self._num_trained_words, self.seed, self.start_vectors.vectors_std
        )

    def build_vector_table(self) -> torch.Tensor | None:
        """Return the vectors (num_ids, dim) that the table of words starts from, or None; see `StartVectors`.

        With `wide` the table has no rows for n-grams.
        """
        tokenizer = _require_word_tokenizer(self.tokenizer, "build_vector_table")
        if not self.start_vectors.has_vectors:
            return None
        table = self.start_vectors.build_embedding_table(
            tokenizer, self._vectors, self._select_training_texts(), self.seed
        )
        return table[: len(tokenizer)] if self.wide and table is not None else table

    def fit_naive_bayes(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features (num_ids, F) and their weights (L, F), fitted to `train`, see `fit_naive_bayes_of_texts`."""
        tokenizer = _require_word_tokenizer(self.tokenizer, "fit_naive_bayes")
        rows, labels = self.rows("train"), self.labels("train")
        return fit_naive_bayes_of_texts(self._encode_texts("train"), rows, labels, self.num_labels, tokenizer)

    def fit_wide_part(
        self,
        splits: Sequence[str],
        group_starts: Sequence[int],
        report_progress: Callable[[int, int], None] = lambda done, total: None,
        words: PooledWords | None = None,
    ) -> WideStart:
        """Return the linear classifier of the TF-IDF of ids over these splits from which a wide part starts.

        The first fit chooses C and the scale of the scores on folds; later ones, to other splits of this data, keep
        what it chose.

        Args:
            splits: Names of the splits whose rows the classifier is fitted to.
            group_starts: First id of each group of features that is scaled to length 1 separately, `wide_group_starts`
                of the model's config.
            report_progress: Function called with the number of fits that are done and their total, for a progress
                display.
            words: Word vectors whose mean is read too; None: the TF-IDF alone.
        """
        tokenizer = _require_word_tokenizer(self.tokenizer, "fit_wide_part")
        parts = [(self._encode_texts(split), self.rows(split)) for split in splits]
        labels = np.concatenate([self.labels(split) for split in splits])
        costs = C_VALUES if self.wide_cost is None else (self.wide_cost,)
        counts = count_ids(parts, tokenizer.num_ids)
        if tokenizer.keeps_unknown:  # words that are not in the vocabulary are no feature
            counts.data[counts.indices == tokenizer.unk_token_id] = 0
            counts.eliminate_zeros()
        if self.wide_rows is not None and len(labels) > self.wide_rows:
            rows = draw_rows_of_every_label(labels, self.wide_rows, self.seed)
            counts, labels = counts[rows], labels[rows]
        weights = self.compute_class_weights()
        start = fit_wide_part(
            counts,
            labels,
            self.num_labels,
            group_starts,
            self.seed,
            costs,
            report_progress,
            words,
            class_weights=None if weights is None else np.array(weights),
            objective=self.objective,
            choice=self._wide_choice,
        )
        self._wide_choice = start.choice
        return start

    def get_vectors_name(self) -> str:
        """The name of the word vectors' file, one such as "word2vec.100d", or "learned"."""
        if self.start_vectors.word2vec_dim:
            return f"word2vec.{self.start_vectors.word2vec_dim}d"
        return self._vectors.name if self._vectors else "learned"

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._get_rows_by_split())

    def texts(self, split: str) -> datasets.Dataset:
        """Return the rows with `text` and `label` among which a split has its own, to which `row` of a batch refers."""
        self.rows(split)
        return self._require_split_texts().texts[split]

    def rows(self, split: str) -> Rows:
        """Return the rows of `texts(split)` that belong to the split, ascending."""
        return self.get_split(self._get_rows_by_split(), split)

    def labels(self, split: str) -> npt.NDArray[np.int64]:
        """Return the label of each of `rows(split)`, or 0 and 1 (rows, L) where a text may have several."""
        return get_labels(self.texts(split))[self.rows(split)]

    def count_truncated(self, split: str) -> int:
        """Count the texts of a split that are longer than `max_length`."""
        return int(self._encode_texts(split).truncated[self.rows(split)].sum())

    # -- Lightning ---------------------------------------------------------------------------------------------------

    def setup(self, stage: str | None = None) -> None:
        """Choose the rows of each split and build the vocabulary, on every process."""
        if self._split is not None:
            return
        try:
            split = self._choose_splitting().split(
                self.splitting.drop_short_texts(self.load_checked_data().splits, self._build_pre_tokenizer())
            )
            if self._tokenizer is None:
                if "train" not in split.rows:
                    raise ValueError("no train split to build a vocabulary from; add one (or set `tokenizer`)")
                texts = split.texts["train"].select(split.rows["train"])["text"][:]
                self._tokenizer = self._build_tokenizer(texts)
        except ValueError as error:
            raise ValueError(f"dataset {self.dataset!r}: {error}") from error
        if self.start_vectors.word_vectors is not None and not self.start_vectors.vector_words:
            self._vectors = self.start_vectors.read(self._list_vocabulary())
        self._split = split
        self._warn_of_untrained_classes()

    def batches(self, split: str, *, training: bool) -> TextBatches:
        self._log_truncated(split)
        labels, rows = get_labels(self.texts(split)), self.rows(split)
        return TextBatches(self._encode_texts(split), labels, rows, self.tokenizer.pad_token_id)

    # -- inside --------------------------------------------------------------------------------------------------------

    def read_dataset(self) -> TextSplits:
        return read_texts(
            self.dataset,
            self.data_dir,
            self.text_column,
            self.label_column,
            self.known_labels,
            label_separator=self.label_separator,
            label_columns=self.label_columns,
            several_labels=self.several_labels,
        )

    def build_stream_reader(self) -> TextStreamReader:
        """Return how texts are read where they are streamed.

        Raises:
            ValueError: settings that need all texts at once.
        """
        whole = {"folds": None, "dev_block": 1, "min_words": 0, "train_rows": None}
        refuse_settings_of_whole_data(self.splitting, whole, "texts")
        return TextStreamReader(
            text_column=self.text_column,
            label_column=self.label_column,
            label_separator=self.label_separator,
            label_columns=self.label_columns,
        )

    def check_whole_splits(self, splits: dict[str, datasets.Dataset]) -> TextSplits:
        """Check the sample of train, and validation and test."""
        return check_texts(splits, origin={name: f"{self.dataset}, {name}" for name in splits})

    def build_stream_batches(self, rows: pa.Table) -> tuple[TextBatches, Rows]:
        """Return streamed texts as batches."""
        texts = encode_texts(self.tokenizer, rows.column("text").to_pylist(), self.max_length)
        labels = get_labels(build_labelled_texts(rows, self.label_names))
        kept = np.arange(len(rows))
        return TextBatches(texts, labels, kept, self.tokenizer.pad_token_id), kept

    def group_related_rows(self, checked: TextSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_equal_texts(checked)

    def _choose_splitting(self) -> TextSplitting:
        """Return how splits that are missing are drawn: from too few rows to be divided, none."""
        too_few = self.divide and list(self.load_checked_data().splits) == ["train"]
        return replace(self.splitting, dev_share=0.0) if too_few else self.splitting

    def _require_split_texts(self) -> SplitTexts:
        assert self._split is not None, "call setup() first"
        return self._split

    def _get_rows_by_split(self) -> dict[str, Rows]:
        return {} if self._split is None else self._split.rows

    def _select_training_texts(self) -> list[str]:
        texts: list[str] = self.texts("train").select(self.rows("train"))["text"][:]
        return texts

    def _build_pre_tokenizer(self) -> Tokenizer:
        if isinstance(self._tokenizer, WordTokenizer):
            backend: Tokenizer = self._tokenizer.backend_tokenizer
            return backend
        # The pieces of other tokenizers are no words.
        return build_pre_tokenizer(self.vocabulary.lower_case, self.vocabulary.pre_tokenizer)

    def _build_tokenizer(self, texts: list[str]) -> WordTokenizer:
        if self.vocabulary.pre_tokenizer == "english" and are_without_blanks(texts):
            record_note(self.dataset, "texts in a script without blanks, whose characters are the words", len(texts))
            self.vocabulary = replace(self.vocabulary, pre_tokenizer="unspaced")
        """Return a tokenizer of the words of the training texts and, after these, of words that given vectors have."""
        words = self.vocabulary.find_words(texts)
        self._num_trained_words = 1 + len(words)
        if not self.start_vectors.vector_words:
            return self.vocabulary.build_tokenizer(words, self.max_length, self._get_encoder_tokenizer())
        vectors = self.start_vectors.read(words)
        assert vectors is not None
        if not has_vectors_of_most_words(vectors, words, self.dataset):
            return self.vocabulary.build_tokenizer(words, self.max_length)
        self._vectors = vectors
        further = self.vocabulary.select_further_words(vectors.words, words)
        return self.vocabulary.build_tokenizer([*words, *further], self.max_length)

    def _get_encoder_tokenizer(self) -> Tokenizer | None:
        return None if self.encoder is None else self.encoder.tokenizer

    def _warn_of_untrained_classes(self) -> None:
        if "train" not in self.splits:
            return
        counts = {split: count_label_rows(self.labels(split), self.num_labels) for split in self.splits}
        for split in self.splits:
            names = [
                name
                for name, trained, own in zip(self.label_names, counts["train"], counts[split], strict=True)
                if own and not trained
            ]
            if names:
                warnings.warn(
                    f"{self.dataset!r}: no training row has the class {', '.join(map(repr, names))}, which {split!r} "
                    "has; no model can learn it",
                    stacklevel=3,
                )

    def _list_vocabulary(self) -> list[str]:
        """Return the words of the tokenizer from id 1 on."""
        words: list[str] = self.tokenizer.convert_ids_to_tokens(range(1, len(self.tokenizer)))
        return words

    def _log_truncated(self, split: str) -> None:
        if split not in self._told:
            self._told.add(split)
            if number := self.count_truncated(split):
                unit = "known words" if isinstance(self.tokenizer, WordTokenizer) else "tokens"
                logger.info("%d %r texts cut to max_length=%d %s", number, split, self.max_length, unit)

    def _encode_texts(self, split: str) -> EncodedTexts:
        texts = self.texts(split)
        # The splits of a cross-validation share their texts, which are encoded once.
        source = next(name for name, other in self._require_split_texts().texts.items() if other is texts)
        if source not in self._encoded:
            self._encoded[source] = encode_texts(self.tokenizer, texts["text"][:], self.max_length)
            note_cut_texts(f"{self.dataset}, {source}", self._encoded[source], self.encoder)
        return self._encoded[source]


_PARTS: dict[str, Any] = {
    "splitting": TextSplitting,
    "vocabulary": TextVocabulary,
    "start_vectors": StartVectors,
}


def _require_word_tokenizer(tokenizer: TokenizersBackend, needed_by: str) -> WordTokenizer:
    """Return the tokenizer if its ids are those of words; `needed_by` is what needs them."""
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            f"{needed_by}: a {type(tokenizer).__name__} has no vocabulary of words; give a WordTokenizer, or no "
            "tokenizer to build one from the data"
        )
    return tokenizer


def _load_word_tokenizer(checkpoint: str) -> WordTokenizer:
    tokenizer = AutoTokenizer.from_pretrained(locate_checkpoint(checkpoint))
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            f"init_from={checkpoint!r} holds a {type(tokenizer).__name__}; expected the WordTokenizer of a text "
            "classifier"
        )
    return tokenizer
