"""Text classification for Lightning: from a Hub id, a folder, a file or the generated sample to batches."""

from __future__ import annotations

import logging
import warnings

import datasets
import lightning
import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from transformers import AutoTokenizer, TokenizersBackend

from ctxzoo.data.bucketing import ResumableLoader, bucket_loader
from ctxzoo.data.formats import SPLITS, Rows
from ctxzoo.data.missing_path import refuse_missing_path
from ctxzoo.data.text_encoding import EncodedTexts, TextBatches, check_tokenizer, encode_texts
from ctxzoo.data.text_folds import DEV_SHARE, fold_rows, hold_out, hold_out_blocks
from ctxzoo.data.text_words import count_words, frequent_words_of_texts
from ctxzoo.models.tokenization_word import Cutter, WordTokenizer, build_word_tokenizer, word_cutter
from ctxzoo.tasks.text_classification.naive_bayes import naive_bayes_of_means
from ctxzoo.tasks.text_classification.reader import TextSplits, read_texts
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from ctxzoo.word_vectors.vocabulary import word_vector_table
from ctxzoo.word_vectors.word2vec import word2vec_table

logger = logging.getLogger(__name__)


class TextClassificationDataModule(lightning.LightningDataModule):
    """Texts with one label each in bucketed batches.

    Splits: `train`, `validation` and `test`. With `folds`, all splits of the dataset are joined in this order; fold
    `fold` is `test`, `dev_share` of the rest is `validation`, and what remains is `train`; both draws keep the part of
    every class. Without `folds` the dataset's own splits are read, and a missing `validation` is drawn from `train` in
    the same way. With a `dev_share` of 0 nothing is drawn, and `validation` may be missing. A class without rows in
    `train` gives a warning.

    With `min_words`, shorter texts are left out of every split before all this; rows count among the texts left.

    The vocabulary holds the words with `min_word_count` occurrences in the rows of `train`, so after those of
    `validation` are taken out, the most frequent first. With the `tokenizer` of another model there is none, nor what
    follows from one (`model_sizes`, vectors, `naive_bayes`): texts are that tokenizer's ids, special tokens included.

    A batch is a dict of `input_ids` (B, n), `attention_mask` (B, n), `labels` (B,) and `row` (B,), which counts in
    `texts(split)`; all int64. n is the longest of the batch, and 1 where no text has a known word; shorter texts are
    padded on the right.

    Args:
        dataset: "sample" for the generated corpus, or what `read_texts` reads: Hub id, folder, or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default `$CTXZOO_DATA`.
        text_column, label_column: names of columns; default the usual ones.
        folds: number of folds of the cross-validation; None reads the dataset's own splits.
        fold: which fold is `test`, 0..folds-1.
        fold_seed: of the folds and of the drawn validation rows.
        dev_share: of the rows that are not `test`; 0 or more, below 1.
        dev_block: rows of one class, neighbours in `train`, that `validation` is drawn in, so that what stands side by
            side there (reviews of one film) is on one side; 1: each row by itself. Not with `folds`.
        min_word_count: a word needs this many occurrences.
        min_words: texts with fewer words, known or not, are left out.
        lower_case, cutter, ngram_order, char_ngrams, ngram_buckets, char_ngram_buckets: as in `build_word_tokenizer`;
            `cutter` names the pre-tokenizer.
        max_length: known words, or tokens of a tokenizer that is not ours, to which texts are cut; None: no limit, or
            that of the given `WordTokenizer`. `truncated` counts those cut. A tokenizer that is built here, or
            comes from `init_from`, keeps it as its `model_max_length`, so that the model is used as it was trained.
        word_vectors: file of pretrained vectors for `vector_table`.
        vectors_std: standard deviation to which they are scaled, see `word_vector_table`; 0: as they are.
        word2vec_dim: width of vectors that `vector_table` trains by word2vec on the rows of `train` alone; 0: none.
        word2vec_epochs: of this training.
        batch_size, eval_batch_size: texts in a batch.
        seed: of the order of batches, of word2vec, and of the table's rows without a vector.
        num_workers: processes that build batches; 0 builds them in the training process.
        tokenizer: use this one instead of building one from the data: a `WordTokenizer`, or any fast tokenizer of
            Hugging Face; then `cutter` only counts the words for `min_words`.
        init_from: use the tokenizer of this checkpoint folder or Hub id.

    Raises:
        ValueError: an option out of range; both `tokenizer` and `init_from`, or both `word_vectors` and `word2vec_dim`;
            a tokenizer that is not fast, cannot pad, or does not go with the other options.
    """

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        text_column: str | None = None,
        label_column: str | None = None,
        folds: int | None = None,
        fold: int = 0,
        fold_seed: int = 0,
        dev_share: float = DEV_SHARE,
        dev_block: int = 1,
        min_word_count: int = 3,
        min_words: int = 0,
        lower_case: bool = True,
        cutter: Cutter = "whitespace",
        ngram_order: int = 1,
        char_ngrams: tuple[int, int] | None = None,
        ngram_buckets: int = 0,
        char_ngram_buckets: int = 0,
        max_length: int | None = None,
        word_vectors: str | None = None,
        vectors_std: float = 0.0,
        word2vec_dim: int = 0,
        word2vec_epochs: int = 5,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        tokenizer: TokenizersBackend | None = None,
        init_from: str | None = None,
    ) -> None:
        super().__init__()
        if folds is None and fold != 0:
            raise ValueError(f"fold={fold} without folds; give both")
        if not 0 <= dev_share < 1:
            raise ValueError(f"dev_share is {dev_share}; expected 0 or more, and less than 1")
        if dev_block < 1 or (dev_block > 1 and folds is not None):
            raise ValueError(f"dev_block is {dev_block}, folds {folds}; expected 1 or more rows, and 1 with folds")
        if min_word_count < 1:
            raise ValueError(f"min_word_count is {min_word_count}; expected 1 or more")
        if min_words < 0:
            raise ValueError(f"min_words is {min_words}; expected 0 (every text) or more")
        if max_length is not None and max_length < 1:
            raise ValueError(f"max_length is {max_length}; expected 1 or more words, or None")
        if tokenizer is not None and init_from is not None:
            raise ValueError(f"both a tokenizer and init_from={init_from!r}; give one of them")
        if word2vec_dim < 0 or word2vec_epochs < 1:
            raise ValueError(
                f"word2vec_dim is {word2vec_dim}, word2vec_epochs {word2vec_epochs}; expected a dim of 0 (no word2vec) "
                "or more, and 1 epoch or more"
            )
        if word2vec_dim and word_vectors is not None:
            raise ValueError(f"both word_vectors={word_vectors!r} and word2vec_dim={word2vec_dim}; give one of them")
        if vectors_std and word_vectors is None:
            raise ValueError(f"vectors_std={vectors_std} scales word vectors, and none are given; give both or neither")
        if tokenizer is not None:
            check_tokenizer(tokenizer, max_length)
            if word_vectors is not None or word2vec_dim:
                _of_words(tokenizer, f"word_vectors={word_vectors!r}, word2vec_dim={word2vec_dim}")
        self.dataset = dataset
        self.data_dir = data_dir
        self.text_column = text_column
        self.label_column = label_column
        self.folds = folds
        self.fold = fold
        self.fold_seed = fold_seed
        self.dev_share = dev_share
        self.dev_block = dev_block
        self.min_word_count = min_word_count
        self.min_words = min_words
        self.lower_case = lower_case
        self.cutter = cutter
        self.ngram_order = ngram_order
        self.char_ngrams = char_ngrams
        self.ngram_buckets = ngram_buckets
        self.char_ngram_buckets = char_ngram_buckets
        self.word_vectors = word_vectors
        self.vectors_std = vectors_std
        self.word2vec_dim = word2vec_dim
        self.word2vec_epochs = word2vec_epochs
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.seed = seed
        self.num_workers = num_workers
        self._tokenizer: TokenizersBackend | None = tokenizer
        self.max_length = max_length
        if init_from is not None:
            self._tokenizer = _tokenizer_of(init_from)
            if max_length is not None:
                self._tokenizer.model_max_length = max_length
        if max_length is None and isinstance(self._tokenizer, WordTokenizer):
            self.max_length = self._tokenizer.word_limit
        self._data: TextSplits | None = None
        self._texts: dict[str, datasets.Dataset] = {}
        self._rows: dict[str, Rows] = {}
        self._encoded: dict[str, EncodedTexts] = {}
        self._told: set[str] = set()
        self._vectors: WordVectors | None = None

    # -- what a recipe reads ----------------------------------------------------------------------------------------

    @property
    def tokenizer(self) -> TokenizersBackend:
        """The tokenizer that belongs to this data; after `setup`."""
        assert self._tokenizer is not None, "call setup() first"
        return self._tokenizer

    @property
    def label_names(self) -> list[str]:
        """The name of each label, in the order of their numbers."""
        return self._loaded().label_names

    @property
    def num_labels(self) -> int:
        """The number of labels, L."""
        return len(self.label_names)

    @property
    def fingerprint(self) -> str:
        """The content hashes of the dataset's own splits, as text."""
        return ", ".join(f"{name} {value[:16]}" for name, value in sorted(self._loaded().fingerprint.items()))

    def model_sizes(self) -> dict[str, int]:
        """The fields of a model's config that follow from the data."""
        sizes = {"vocab_size": _of_words(self.tokenizer, "model_sizes").num_ids, "num_labels": self.num_labels}
        dim = self._vectors.dim if self._vectors is not None else self.word2vec_dim
        if dim:
            sizes["word_dim"] = dim
        return sizes

    def vector_table(self) -> torch.Tensor | None:
        """Return (num_ids, dim) the vectors of `word_vectors` or by word2vec, or None without either.

        See `word_vector_table` and `word2vec_table`.
        """
        tokenizer = _of_words(self.tokenizer, "vector_table")
        if self.word2vec_dim:
            texts = self.texts("train").select(self.rows("train"))["text"][:]
            return word2vec_table(texts, tokenizer, dim=self.word2vec_dim, epochs=self.word2vec_epochs, seed=self.seed)
        if self._vectors is None:
            return None
        return word_vector_table(tokenizer, self._vectors, self.seed, self.vectors_std)

    def naive_bayes(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features (num_ids, F) of words and buckets and weights (L, F) of their means, by naive Bayes.

        Words with n-grams of words are one group, character n-grams with buckets of their own another; padding is 0.
        Counts are those of the rows of `train`; see `naive_bayes_of_means`.
        """
        tokenizer = _of_words(self.tokenizer, "naive_bayes")
        texts = self._encoded_texts("train")
        rows, labels = self.rows("train"), self.labels("train")
        ids = np.concatenate([texts.ids[texts.pointers[row] : texts.pointers[row + 1]] for row in rows])
        ends = np.concatenate([[0], np.cumsum(texts.lengths()[rows])])
        size = tokenizer.num_ids
        counts = sparse.csr_matrix((np.ones(len(ids)), ids, ends), shape=(len(rows), size))
        counts.sum_duplicates()
        end = size - tokenizer.char_ngram_buckets
        groups = [slice(1, end), *([slice(end, size)] if end < size else [])]
        features, weights = naive_bayes_of_means(counts, labels, self.num_labels, groups)
        return torch.from_numpy(features).float(), torch.from_numpy(weights).float()

    def vectors_name(self) -> str:
        """The name of the word vectors' file, one such as "word2vec.100d", or "learned"."""
        if self.word2vec_dim:
            return f"word2vec.{self.word2vec_dim}d"
        return self._vectors.name if self._vectors else "learned"

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._rows)

    def texts(self, split: str) -> datasets.Dataset:
        """Return the rows with `text` and `label` among which a split has its own, to which `row` of a batch refers."""
        self.rows(split)
        return self._texts[split]

    def rows(self, split: str) -> Rows:
        """Return the rows of `texts(split)` that belong to the split, ascending."""
        if split not in self._rows:
            raise ValueError(
                f"dataset {self.dataset!r} gives no {split!r} rows; it gives {sorted(self._rows)} (or set `split`)"
            )
        return self._rows[split]

    def labels(self, split: str) -> npt.NDArray[np.int64]:
        """Return the label of each of `rows(split)`."""
        return _labels(self.texts(split))[self.rows(split)]

    def truncated(self, split: str) -> int:
        """Count the texts of a split that are longer than `max_length`."""
        return int(self._encoded_texts(split).truncated[self.rows(split)].sum())

    # -- Lightning ---------------------------------------------------------------------------------------------------

    def prepare_data(self) -> None:
        """Read and check the dataset, once on each machine."""
        self._loaded()

    def setup(self, stage: str | None = None) -> None:
        """Choose the rows of each split and build the vocabulary, on every process."""
        if self._rows:
            return
        splits = self._long_enough(self._loaded().splits)
        if self.folds is not None:
            texts, rows = self._cross_validation(splits, self.folds)
        else:
            texts, rows = self._own_splits(splits)
        if self._tokenizer is None:
            if "train" not in rows:
                raise ValueError(
                    f"dataset {self.dataset!r} has no train split to build a vocabulary from; add one "
                    "(or set `tokenizer`)"
                )
            self._tokenizer = self._build_tokenizer(texts["train"], rows["train"])
        if self.word_vectors is not None:
            self._vectors = read_word_vectors(self.word_vectors, keep=self._words())
        self._texts, self._rows = texts, rows
        self._warn_of_new_classes()

    def train_dataloader(self) -> ResumableLoader:
        return self._loader("train", shuffle=True)

    def val_dataloader(self) -> ResumableLoader | list[ResumableLoader]:
        return self._loader("validation", shuffle=False) if "validation" in self.splits else []

    def test_dataloader(self) -> ResumableLoader:
        return self._loader("test", shuffle=False)

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split in evaluation order."""
        return self._loader(split, shuffle=False)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _loaded(self) -> TextSplits:
        if self._data is None:
            self._data = read_texts(self.dataset, self.data_dir, self.text_column, self.label_column)
        return self._data

    def _long_enough(self, splits: dict[str, datasets.Dataset]) -> dict[str, datasets.Dataset]:
        if self.min_words == 0:
            return splits
        if isinstance(self._tokenizer, WordTokenizer):
            backend = self._tokenizer.backend_tokenizer
        else:  # the pieces of other tokenizers are no words
            backend = word_cutter(self.lower_case, self.cutter)
        left = {}
        for name, texts in splits.items():
            long_enough = np.flatnonzero(count_words(backend, texts["text"][:]) >= self.min_words)
            if not len(long_enough):
                raise ValueError(
                    f"min_words={self.min_words} leaves none of the {len(texts)} {name!r} texts of {self.dataset!r}; "
                    "lower it"
                )
            left[name] = texts.select(long_enough)
        return left

    def _warn_of_new_classes(self) -> None:
        if "train" not in self._rows:
            return
        trained = set(self.labels("train").tolist())
        for split in self._rows:
            names = [self.label_names[label] for label in sorted(set(self.labels(split).tolist()) - trained)]
            if names:
                warnings.warn(
                    f"{self.dataset!r}: no training row has the class {', '.join(map(repr, names))}, which {split!r} "
                    "has; no model can learn it",
                    stacklevel=3,
                )

    def _cross_validation(
        self, splits: dict[str, datasets.Dataset], folds: int
    ) -> tuple[dict[str, datasets.Dataset], dict[str, Rows]]:
        joined = datasets.concatenate_datasets([splits[name] for name in SPLITS if name in splits])
        labels = _labels(joined)
        rest, test = fold_rows(labels, folds, self.fold, self.fold_seed)
        rows = {"train": rest, "test": test}
        if self.dev_share:
            rows["train"], rows["validation"] = hold_out(labels, rest, self.dev_share, self.fold_seed)
        return dict.fromkeys(rows, joined), rows

    def _own_splits(self, splits: dict[str, datasets.Dataset]) -> tuple[dict[str, datasets.Dataset], dict[str, Rows]]:
        texts = dict(splits)
        rows: dict[str, Rows] = {name: np.arange(len(split)) for name, split in splits.items()}
        if "train" in splits and "validation" not in splits and self.dev_share:
            texts["validation"] = splits["train"]
            of = _labels(splits["train"]), rows["train"], self.dev_share
            rows["train"], rows["validation"] = (
                hold_out(*of, self.fold_seed)
                if self.dev_block == 1
                else hold_out_blocks(*of, self.dev_block, self.fold_seed)
            )
        return texts, rows

    def _build_tokenizer(self, texts: datasets.Dataset, rows: Rows) -> WordTokenizer:
        backend = word_cutter(self.lower_case, self.cutter)
        words = frequent_words_of_texts(backend, texts.select(rows)["text"][:], self.min_word_count)
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(rows)} training texts of {self.dataset!r}; "
                "lower min_word_count"
            )
        return build_word_tokenizer(
            words,
            lower_case=self.lower_case,
            cutter=self.cutter,
            ngram_buckets=self.ngram_buckets,
            char_ngram_buckets=self.char_ngram_buckets,
            ngram_order=self.ngram_order,
            char_ngrams=self.char_ngrams,
            model_max_length=self.max_length,
        )

    def _words(self) -> list[str]:
        """Return the words of the tokenizer from id 1 on."""
        words: list[str] = self.tokenizer.convert_ids_to_tokens(range(1, len(self.tokenizer)))
        return words

    def _loader(self, split: str, *, shuffle: bool) -> ResumableLoader:
        self._tell_of_truncated(split)
        batches = TextBatches(
            self._encoded_texts(split), _labels(self.texts(split)), self.rows(split), self.tokenizer.pad_token_id
        )
        return bucket_loader(
            batches,
            batches.lengths(),
            self.batch_size if shuffle else self.eval_batch_size,
            shuffle=shuffle,
            seed=self.seed,
            num_workers=self.num_workers,
        )

    def _tell_of_truncated(self, split: str) -> None:
        if split not in self._told:
            self._told.add(split)
            if number := self.truncated(split):
                unit = "known words" if isinstance(self.tokenizer, WordTokenizer) else "tokens"
                logger.info("%d %r texts cut to max_length=%d %s", number, split, self.max_length, unit)

    def _encoded_texts(self, split: str) -> EncodedTexts:
        assert self._rows, "call setup() first"
        texts = self.texts(split)
        # The splits of a cross-validation share their texts, which are encoded once.
        source = next(name for name, other in self._texts.items() if other is texts)
        if source not in self._encoded:
            self._encoded[source] = encode_texts(self.tokenizer, texts["text"][:], self.max_length)
        return self._encoded[source]


def _labels(texts: datasets.Dataset) -> npt.NDArray[np.int64]:
    labels: npt.NDArray[np.int64] = texts.with_format("numpy", columns=["label"])[:]["label"]
    return labels


def _of_words(tokenizer: TokenizersBackend, requested: str) -> WordTokenizer:
    """Return the tokenizer if its ids are those of words; `requested` is what needs them."""
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            f"{requested}: a {type(tokenizer).__name__} has no vocabulary of words; give a WordTokenizer, or no "
            "tokenizer to build one from the data"
        )
    return tokenizer


def _tokenizer_of(checkpoint: str) -> WordTokenizer:
    refuse_missing_path(checkpoint, "checkpoint")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            f"init_from={checkpoint!r} holds a {type(tokenizer).__name__}; expected the WordTokenizer of a text "
            "classifier"
        )
    return tokenizer
