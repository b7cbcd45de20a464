"""SQuAD for Lightning: from a Hub id, a folder, JSON files or the generated sample to batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from transformers import AutoTokenizer

from ctxzoo.data.bucketed_data import BucketedDataModule
from ctxzoo.data.bucketing import POOL_BATCHES, ResumableLoader
from ctxzoo.data.formats import Rows
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.data.text_encoding import EncodedTexts
from ctxzoo.data.training_stream import SHUFFLE_BUFFER, refuse_settings_of_whole_data
from ctxzoo.data.word_encoder import note_cut_texts, read_word_encoder
from ctxzoo.hub.saved_model import locate_checkpoint
from ctxzoo.models.ops_answer import AnswerSpans, no_answer_score
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer
from ctxzoo.tasks.question_answering.batches import (
    EVALUATION_LIMITS,
    TRAINING_LIMITS,
    SquadBatches,
    TypeTables,
    build_type_tables,
    select_rows_within,
)
from ctxzoo.tasks.question_answering.preparation import PreparedSplit, PreparedSquad, prepare_questions, prepare_squad
from ctxzoo.tasks.question_answering.reader import SquadSplits, check_squad, group_questions, read_squad
from ctxzoo.tasks.question_answering.stream import QuestionStreamReader
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from ctxzoo.word_vectors.vocabulary import (
    SPECIAL_ROWS,
    add_special_token_rows,
    select_frequent_characters,
    select_frequent_words,
)

LEFT_OUT = "left_out"  # the name of the split of `left_out_source`
HELD_OUT_FRACTION = 0.05  # of the training contexts, where a dataset has no test split of its own


class SquadDataModule(BucketedDataModule[SquadSplits]):
    """SQuAD 1.1 or 2.0 in bucketed batches.

    Splits: `train`, `validation` and `test`. Where the dataset has no test split (the Hub's SQuAD), its validation
    split is what is reported, so it becomes `test`, and 5 % of the training contexts are held out as `validation`, for
    choosing the best epoch and the no-answer threshold. Training rows alone are divided (`divide`).

    Args:
        dataset: Data to read: a Hub id, folder or SQuAD JSON file, or "sample" (generated questions).
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        squad_version: Version of SQuAD: "1.1", "2.0" (questions may lack an answer), or "auto" (found from the data).
        fix_answer_start: Whether an answer that is not at its stated offset is moved to its nearest occurrence, and
            counted.
        word_vectors: File of pretrained word vectors, which are not trained further; None: vectors are learned.
        vector_limit: Number of rows read from the file of word vectors, in addition to the dataset's own words.
        word_embedding_size: Dimension of learned word vectors.
        min_word_count: Least number of occurrences in training for a word to get a learned vector.
        characters: Whether batches contain character ids, `char_ids`.
        min_char_count: Least number of occurrences in training for a character to get an id.
        max_word_length: Largest number L of characters of a word that are read.
        word_features: Whether batches contain word features such as exact matches and word shape, for BiDAF's option
            `word_features`.
        batch_size, eval_batch_size: Number of questions in a batch, in training and in evaluation.
        train_source: Value of the column `source` that training rows must have; None: all rows.
        left_out_source: Value of the column `source` whose rows are excluded from training and form the split
            `left_out`, to score on an unseen kind of text; the vocabulary counts them.
        pool_batches: Number of training batches whose rows are sorted by length together; 1: random batches.
        seed: Seed of the order of batches and of the random held-out validation rows.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        cache_dir: Folder in which the prepared data is cached; None: the default cache folder.
        tokenizer: Tokenizer to use in place of one built from the training data.
        init_from: Checkpoint, a folder or Hub id, whose tokenizer is used; None: a tokenizer is built from the training
            data.
        encoder: Encoder that reads the words, a folder or Hub id; None: there is none.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`.
        streaming, shuffle_buffer: Whether training questions stay on the disk, and how many are read together, as in
            `CheckedDataModule`; the vocabulary is then that of the sample.

    Raises:
        ValueError: an encoder beside a tokenizer, a checkpoint or word vectors.
    """

    def __init__(
        self,
        dataset: str = "rajpurkar/squad_v2",
        *,
        data_dir: str | None = None,
        squad_version: Literal["1.1", "2.0", "auto"] = "auto",
        fix_answer_start: bool = False,
        word_vectors: str | None = None,
        vector_limit: int = 400_000,
        word_embedding_size: int = 100,
        min_word_count: int = 2,
        characters: bool = True,
        min_char_count: int = 5,
        max_word_length: int = 16,
        word_features: bool = False,
        batch_size: int = 64,
        eval_batch_size: int = 128,
        train_source: str | None = None,
        left_out_source: str | None = None,
        pool_batches: int = POOL_BATCHES,
        seed: int = 224,
        num_workers: int = 0,
        cache_dir: str | None = None,
        tokenizer: WordCharTokenizer | None = None,
        init_from: str | None = None,
        encoder: str | None = None,
        divide: bool = True,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        super().__init__(
            dataset,
            data_dir,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            seed=seed,
            num_workers=num_workers,
            pool_batches=pool_batches,
            divide=divide,
            streaming=streaming,
            shuffle_buffer=shuffle_buffer,
        )
        self.requested_version = squad_version
        self.fix_answer_start = fix_answer_start
        self.word_vectors = word_vectors
        self.vector_limit = vector_limit
        self.learned_embedding_size = word_embedding_size
        self.min_word_count = min_word_count
        self.characters = characters
        self.min_char_count = min_char_count
        self.max_word_length = max_word_length
        self.word_features = word_features
        self.train_source = train_source
        self.left_out_source = left_out_source
        self.cache_dir = Path(cache_dir) if cache_dir else None
        if encoder is not None and (tokenizer is not None or init_from is not None or word_vectors is not None):
            raise ValueError(
                f"encoder={encoder!r} beside a tokenizer, a checkpoint or word vectors; choose one of them"
            )
        self.encoder = None if encoder is None else read_word_encoder(encoder)
        if init_from is not None:
            tokenizer = AutoTokenizer.from_pretrained(locate_checkpoint(init_from))
        self._tokenizer = tokenizer
        self._prepared: PreparedSquad | None = None
        self._tables: TypeTables | None = None
        self._vectors: WordVectors | None = None
        self._rows: dict[str, Rows] = {}

    # -- what a recipe reads ----------------------------------------------------------------------------------------

    @property
    def tokenizer(self) -> WordCharTokenizer:
        """The tokenizer that belongs to this data; after `setup`."""
        assert self._tokenizer is not None, "call setup() first"
        return self._tokenizer

    @property
    def squad_version(self) -> Literal["1.1", "2.0"]:
        """The version 1.1 or 2.0, as requested or as found."""
        return self.load_checked_data().squad_version

    def model_sizes(self) -> dict[str, Any]:
        """The fields of a model's config that follow from the data."""
        vectors, char_vocab = self._vectors, self.tokenizer.char_vocab
        sizes: dict[str, Any] = {"trained_positions": self.count_trained_positions()} if "train" in self._rows else {}
        width = vectors.dim if vectors else self.learned_embedding_size
        if self.encoder is not None:
            width, sizes = self.encoder.width, {**sizes, "encoder_config": self.encoder.config}
        return {
            **sizes,
            "vocab_size": len(self.tokenizer),
            "word_embedding_size": width,
            "train_word_embeddings": vectors is None,
            "char_vocab_size": SPECIAL_ROWS + len(char_vocab) if char_vocab is not None else 0,
        }

    def count_trained_positions(self) -> int:
        """The number of positions that training reads: words of its longest context or question and the extra token."""
        if self.streaming:
            return 1 + self.training_stream.facts.longest
        split, rows = self.get_prepared_split("train"), self.rows("train")
        contexts, questions = split.contexts.lengths()[split.context_of[rows]], split.questions.lengths()[rows]
        return 1 + int(max(contexts.max(), questions.max()))

    def build_vector_table(self) -> torch.Tensor | None:
        """Return the pretrained vectors (vocab_size, dim), or None when they are learned."""
        return add_special_token_rows(self._vectors) if self._vectors else None

    def get_vectors_name(self) -> str:
        """The name of the word vectors' file, or "learned"."""
        return self._vectors.name if self._vectors else "learned"

    def texts(self, split: str) -> datasets.Dataset:
        """Return the rows of a split with their texts, to which `row` of a batch refers."""
        return self.load_checked_data().splits[self._find_source_split(split)]

    def get_prepared_split(self, split: str) -> PreparedSplit:
        """Return the words of a split as arrays; `row` of a batch is a row of them."""
        assert self._prepared is not None, "call setup() first"
        return self._prepared.splits[self._find_source_split(split)]

    def count_word_id_occurrences(self, split: str) -> npt.NDArray[np.int64]:
        """Count how often the questions and distinct contexts of a split read each row of the word table."""
        assert self._prepared is not None, "call setup() first"
        assert self._tables is not None, "call setup() first"
        counts = self._prepared.counts[self._find_source_split(split)]
        words = self._tables.word_ids[: len(counts)]
        return np.bincount(words, weights=counts, minlength=len(self.tokenizer)).astype(np.int64)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._rows)

    def rows(self, split: str) -> Rows:
        """Return the rows that a split reads, after the training filter."""
        return self._rows[split]

    def format_answers(
        self, split: str, rows: torch.Tensor, spans: AnswerSpans, may_refuse: bool
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Convert predicted spans of rows to the predictions and references that `SquadV2` takes.

        The text is always that of the best span; the no-answer score says whether it counts (`may_refuse=False`, SQuAD
        1.1: it always does).

        Args:
            split: Name of the split to which `rows` refer.
            rows: (B,) row of each example of the batch in the split.
            spans: Predicted answer spans of the batch, as positions that count the extra token in front.
            may_refuse: Whether the model may answer that there is no answer, as in SQuAD 2.0.
        """
        prepared_split, texts = self.get_prepared_split(split), self.texts(split)
        scores = no_answer_score(spans).tolist() if may_refuse else [0.0] * len(rows)
        predictions, references = [], []
        for row, start, end, score in zip(
            rows.tolist(), spans.starts.tolist(), spans.ends.tolist(), scores, strict=True
        ):
            text = prepared_split.context_of[row]
            offsets = prepared_split.contexts.offsets[prepared_split.contexts.pointers[text] :]
            example = texts[row]
            answer = example["context"][offsets[start - 1, 0] : offsets[end - 1, 1]] if start > 0 else ""
            predictions.append({"id": example["id"], "prediction_text": answer, "no_answer_probability": score})
            references.append({"id": example["id"], "answers": example["answers"]})
        return predictions, references

    # -- Lightning ---------------------------------------------------------------------------------------------------

    def prepare_data(self) -> None:
        """Read and check the data and split it into words, once on each machine."""
        self._prepare_splits()

    def setup(self, stage: str | None = None) -> None:
        """Open the prepared data and build the vocabulary, on every process."""
        if self._tables is not None:
            return
        self._prepare_splits()
        assert self._prepared is not None
        if self._tokenizer is None:
            self._tokenizer = self._build_tokenizer(self._prepared)
        self._tables = build_type_tables(self._prepared.words, self._tokenizer)
        self._rows = self._choose_rows(self._prepared)
        for name, split in self._prepared.splits.items():
            for kind, texts in (("contexts", split.contexts), ("questions", split.questions)):
                nothing = np.zeros(len(texts.pointers) - 1, np.bool_)
                # The first half of the table is that of words without a blank before them.
                words = EncodedTexts(texts.types, texts.pointers, nothing, texts.types, self._tables.subword_ids)
                note_cut_texts(f"{self.dataset}, {kind} of {name}", words, self.encoder)

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split in evaluation order with evaluation limits, whatever the dataset calls it."""
        if split not in self._rows:
            self._rows[split] = np.arange(len(self.get_prepared_split(split)))
        return super().split_dataloader(split)

    def batches(self, split: str, *, training: bool) -> SquadBatches:
        """Return the questions of a split to batch, cut to the lengths of training or of evaluation."""
        assert self._tables is not None, "call setup() first"
        if split not in self._rows:
            raise ValueError(
                f"dataset {self.dataset!r} gives no {split!r} rows; it has {sorted(self.load_checked_data().splits)}"
            )
        limits = TRAINING_LIMITS if training else EVALUATION_LIMITS
        return SquadBatches(self.get_prepared_split(split), self._tables, self._rows[split], limits)

    # -- inside --------------------------------------------------------------------------------------------------------

    def read_dataset(self) -> SquadSplits:
        """Read and check the questions of each split."""
        return read_squad(
            self.dataset,
            data_dir=self.data_dir,
            squad_version=self.requested_version,
            fix_answer_start=self.fix_answer_start,
        )

    def build_stream_reader(self) -> QuestionStreamReader:
        """Return how questions are read where they are streamed.

        Raises:
            ValueError: settings that need all questions at once.
        """
        refuse_settings_of_whole_data(self, {"train_source": None, "left_out_source": None}, "questions")
        return QuestionStreamReader(fix_answer_start=self.fix_answer_start)

    def check_whole_splits(self, splits: dict[str, datasets.Dataset]) -> SquadSplits:
        """Check the sample of train, and validation and test."""
        return check_squad(
            splits,
            squad_version=self.requested_version,
            origin={name: f"{self.dataset}, {name}" for name in splits},
        )

    def build_stream_batches(self, rows: pa.Table) -> tuple[SquadBatches, Rows]:
        """Return streamed questions as batches."""
        words, split = prepare_questions(datasets.Dataset(datasets.table.InMemoryTable(rows)))
        kept = np.arange(len(split))
        return SquadBatches(split, build_type_tables(words, self.tokenizer), kept, TRAINING_LIMITS), kept

    def group_related_rows(self, checked: SquadSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_questions(checked)

    def _prepare_splits(self) -> None:
        """Split the texts of all splits into words once and keep them for later calls."""
        if self._prepared is None:
            data = self.load_checked_data()
            prints = data.fingerprint
            if prints.keys() != data.splits.keys():  # divided rows have the hashes of their source
                prints = {name: dataset_fingerprint(split) for name, split in data.splits.items()}
            self._prepared = prepare_squad(data.splits, prints, self.cache_dir)

    def _find_source_split(self, split: str) -> str:
        """Return the name of the dataset's own split that `split` reads."""
        names = self.load_checked_data().splits
        if split == LEFT_OUT and self.left_out_source is not None:
            return "train"
        if "test" not in names and "train" in names:
            return {"validation": "train", "test": "validation"}.get(split, split)
        if split not in names:
            raise ValueError(
                f"dataset {self.dataset!r} has no split {split!r}; it has {sorted(names)} (or set `split`)"
            )
        return split

    def _choose_rows(self, squad: PreparedSquad) -> dict[str, Rows]:
        """Return for each split the numbers of the rows to use; a test split is the validation split where none is
        given, and then a part of train is held out to validate on.
        """
        if "train" not in squad.splits:
            return {}
        train = squad.splits["train"]
        rows = select_rows_within(train, TRAINING_LIMITS)
        rows_by_split = {"train": rows}
        if "test" in squad.splits:
            rows_by_split["test"] = np.arange(len(squad.splits["test"]))
            if "validation" in squad.splits:
                rows_by_split["validation"] = np.arange(len(squad.splits["validation"]))
        elif "validation" in squad.splits:
            contexts = len(train.contexts.pointers) - 1
            held_out = np.random.default_rng(self.seed).permutation(contexts)[
                : max(1, round(contexts * HELD_OUT_FRACTION))
            ]
            is_held_out = np.isin(train.context_of, held_out)
            rows_by_split["train"] = rows[~is_held_out[rows]]
            rows_by_split["validation"] = np.flatnonzero(is_held_out)
            rows_by_split["test"] = np.arange(len(squad.splits["validation"]))
        if self.train_source is not None:
            is_of_source = self._mark_rows_of_source("train_source", self.train_source)
            rows_by_split["train"] = rows_by_split["train"][is_of_source[rows_by_split["train"]]]
        if self.left_out_source is not None:
            is_left_out = self._mark_rows_of_source("left_out_source", self.left_out_source)
            rows_by_split = {
                name: self._drop_left_out_rows(rows, name, is_left_out) for name, rows in rows_by_split.items()
            }
            rows_by_split[LEFT_OUT] = np.flatnonzero(is_left_out)
        if not len(rows_by_split["train"]):
            raise ValueError(f"no training question of {self.dataset!r} is within the limits {TRAINING_LIMITS}")
        return rows_by_split

    def _mark_rows_of_source(self, option: str, source: str) -> npt.NDArray[np.bool_]:
        """Return whether each row (rows,) of the dataset's training split has this value in its column `source`."""
        texts = self.texts("train")
        if "source" not in texts.column_names:
            raise ValueError(f"{option}={source!r}: {self.dataset!r} has no column 'source'")
        sources = np.array(texts["source"])
        is_of_source: npt.NDArray[np.bool_] = sources == source
        if not is_of_source.any():
            raise ValueError(f"{option}={source!r} is none of {sorted(set(sources.tolist()))}")
        return is_of_source

    def _drop_left_out_rows(self, rows: Rows, split: str, is_left_out: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows of a split without those left out, where it reads the dataset's training split."""
        return rows[~is_left_out[rows]] if self._find_source_split(split) == "train" else rows

    def _build_tokenizer(self, squad: PreparedSquad) -> WordCharTokenizer:
        """Build the tokenizer from the words of train, or from those of the given word vectors."""
        if "train" not in squad.counts:
            raise ValueError(
                f"dataset {self.dataset!r} has no train split to build a vocabulary from; add one, such as a JSON file "
                "with 'train' in its name (or set `tokenizer`)"
            )
        counts = squad.counts["train"]
        if self.word_vectors is not None:
            self._vectors = read_word_vectors(self.word_vectors, keep=squad.words, limit=self.vector_limit)
            words = self._vectors.words
        else:
            words = select_frequent_words(squad.words, counts, self.min_word_count)
        characters = select_frequent_characters(squad.words, counts, self.min_char_count) if self.characters else None
        return build_word_char_tokenizer(
            words,
            characters=characters,
            max_word_length=self.max_word_length,
            word_features=self.word_features,
            encoder_tokenizer=None if self.encoder is None else self.encoder.tokenizer,
        )
