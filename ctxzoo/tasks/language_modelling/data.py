"""Language modelling for Lightning: from a Hub id, a folder, a file or the generated sample to windows of streams.

As Zaremba, Sutskever and Vinyals (2014) and AWD-LSTM (Merity, Keskar and Socher 2018) do: B streams, contiguous parts
of the text, make a batch; a batch is a window of the next words of each, and the recurrent state of one window is the
start of the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset
from transformers import AutoTokenizer

from ctxzoo.data.bucketing import ResumableLoader, ResumableSampler, build_resumable_loader, get_rank_and_world_size
from ctxzoo.data.checked_data import CheckedDataModule
from ctxzoo.data.files import hash_strings, refuse_missing_path
from ctxzoo.data.formats import Rows
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.data.text_encoding import encode_texts, find_frequent_words
from ctxzoo.data.training_stream import (
    SHUFFLE_BUFFER,
    BatchPlace,
    StreamPools,
    TrainingStream,
    build_stream_loader,
)
from ctxzoo.models.old_names import with_old_arguments
from ctxzoo.models.tokenization_word import PreTokenizerName, WordTokenizer, build_pre_tokenizer, build_word_tokenizer
from ctxzoo.tasks.language_modelling.reader import (
    END_MARK,
    TEXT,
    LineSplits,
    check_lines,
    group_equal_lines,
    read_lines,
)
from ctxzoo.tasks.language_modelling.stream import LineStreamReader

UNKNOWN_WORD = "<unk>"  # what texts whose rare words were replaced hold in their place


@dataclass(frozen=True, kw_only=True)
class LineVocabulary:
    """How lines are cut into words, and which of these get an id: the most frequent have the lowest.

    Attributes:
        min_word_count: Least number of occurrences in the training lines for a word to enter the vocabulary.
        lower_case, pre_tokenizer: Whether words are lower-cased, and the name of the pre-tokenizer, "whitespace" or
            "english", as in `build_word_tokenizer`.

    Raises:
        ValueError: min_word_count below 1.
    """

    min_word_count: int = 1
    lower_case: bool = True
    pre_tokenizer: PreTokenizerName = "whitespace"

    def __post_init__(self) -> None:
        if self.min_word_count < 1:
            raise ValueError(f"min_word_count is {self.min_word_count}; expected 1 or more")

    def build_tokenizer(self, lines: list[str]) -> WordTokenizer:
        """Return a tokenizer that knows the words of the training lines and the end mark, its `eos_token`.

        Other words are read as `unk_token`: `UNKNOWN_WORD` where the lines have it as a word, else "[UNK]".

        Args:
            lines: Texts of the training split, one line of text each.

        Raises:
            ValueError: no word is frequent enough; see also `build_word_tokenizer`.
        """
        words = find_frequent_words(
            build_pre_tokenizer(self.lower_case, self.pre_tokenizer), lines, self.min_word_count
        )
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(lines)} training lines; lower min_word_count"
            )
        is_marked = UNKNOWN_WORD in words
        unknown: dict[str, Any] = {"unk_token": UNKNOWN_WORD} if is_marked else {}
        return build_word_tokenizer(
            [END_MARK, *words],
            lower_case=self.lower_case,
            pre_tokenizer=self.pre_tokenizer,
            keep_unknown=not is_marked,
            eos_token=END_MARK,
            **unknown,
        )


def count_predictable_words(tokenizer: WordTokenizer) -> int:
    """Return how many words a model can predict: the vocabulary with the end mark, but without padding."""
    return len(tokenizer) - 1


@dataclass(frozen=True)
class TokenStream:
    """The words of a split, line after line, an end mark behind each.

    Attributes:
        tokens: (N,) ids of the N tokens of the split.
        lines: (N,) row of the line to which each of the N tokens belongs.
        end_id: Id of the end mark, which also serves as the context of the first word, so that every word is predicted
            once.
        unknown_id: Id of the token that stands for words outside the vocabulary.
    """

    tokens: npt.NDArray[np.int64]
    lines: Rows
    end_id: int
    unknown_id: int

    @classmethod
    def from_lines(cls, tokenizer: WordTokenizer, lines: list[str]) -> TokenStream:
        """Return the stream of lines, as a tokenizer of `LineVocabulary` reads them."""
        encoded = encode_texts(tokenizer, lines, None)
        tokens = np.insert(encoded.ids.astype(np.int64), encoded.pointers[1:], tokenizer.eos_token_id)
        numbers = np.repeat(np.arange(len(lines)), encoded.lengths() + 1)
        return cls(tokens, numbers, int(tokenizer.eos_token_id), int(tokenizer.unk_token_id))

    def __len__(self) -> int:
        return len(self.tokens)

    def previous_word_ids(self) -> npt.NDArray[np.int64]:
        """Return the id of the word before each word of the stream (N,)."""
        return np.concatenate([[self.end_id], self.tokens[:-1]])


class StreamWindows(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `windows[k]` is the k-th batch, see `LanguageModellingDataModule`.

    Args:
        stream: Token stream of a split; the last tokens that do not fill all parallel streams are dropped.
        streams: Number of parallel streams into which the text is divided, the batch dimension; all are equally long.
        length: Number of tokens in a window; the last window may be shorter.
        part: Range of streams in this dataset, as (first stream, number of streams); default: all streams.

    Raises:
        ValueError: more streams than words.
    """

    def __init__(self, stream: TokenStream, streams: int, length: int, part: tuple[int, int] | None = None) -> None:
        words = len(stream) // streams
        if not words:
            raise ValueError(f"{len(stream)} words make no {streams} streams; set batch_size to {len(stream)} or less")
        first, number = (0, streams) if part is None else part

        def split_into_streams(values: npt.NDArray[np.int64]) -> torch.Tensor:
            rows = values[: words * streams].reshape(streams, words)[first : first + number]
            return torch.from_numpy(np.ascontiguousarray(rows))

        self.inputs, self.targets = split_into_streams(stream.previous_word_ids()), split_into_streams(stream.tokens)
        self.lines = split_into_streams(stream.lines)
        self.unknown_id = stream.unknown_id
        self.length = length

    def __len__(self) -> int:
        return -(-self.targets.size(1) // self.length)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        """Return the window of this number as a batch: tensors of shape (streams, length), `begins` and `row`
        (streams,).
        """
        window = slice(number * self.length, (number + 1) * self.length)
        targets, lines = self.targets[:, window], self.lines[:, window]
        return {
            "input_ids": self.inputs[:, window],
            "targets": targets,
            "unknown": targets == self.unknown_id,
            "lines": lines,
            "row": lines[:, 0],
            "begins": torch.full((len(targets),), number == 0),
        }


class WindowSampler(ResumableSampler[int]):
    """Yields the numbers of the windows in their order, in every epoch the same."""

    def __init__(self, windows: StreamWindows) -> None:
        super().__init__()
        self.windows = windows

    def __len__(self) -> int:
        return len(self.windows)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers of the windows in order, from the one after the last that a resumed run has seen."""
        return iter(range(self.skip, len(self)))


class WindowPools(StreamPools):
    """Pools of lines in the order of the text, each cut into parallel streams as `StreamWindows` does.

    Every pool begins with the model's first state. The last words of a pool, fewer than there are streams, are left
    out.

    Args:
        stream: Lines on the disk.
        tokenizer: Tokenizer of the model.
        batch_size: Number of parallel streams in each process.
        bptt: Number of tokens in a window.
        shuffle_buffer: Number of lines in a pool, of whole blocks, about.
    """

    unit = "words"

    def __init__(
        self, stream: TrainingStream, tokenizer: WordTokenizer, *, batch_size: int, bptt: int, shuffle_buffer: int
    ) -> None:
        self.stream, self.tokenizer, self.batch_size, self.bptt = stream, tokenizer, batch_size, bptt
        number = len(stream.facts.sizes)
        pools = min(number, max(1, round(stream.facts.rows / shuffle_buffer)))
        self.blocks = [part.tolist() for part in np.array_split(np.arange(number), pools)]

    def list_sizes(self, epoch: int) -> list[int]:
        """Return how many words each pool has, the same in every epoch."""
        sizes = self.stream.facts.sizes
        return [sum(sizes[block] for block in blocks) for blocks in self.blocks]

    def count_batches(self, size: int, world_size: int) -> int:
        """Return how many windows a pool of so many words has; 0: fewer words than streams."""
        return -(-(size // (world_size * self.batch_size)) // self.bptt)

    def read_pool(self, place: BatchPlace) -> StreamWindows:
        """Return the windows of the streams of one process.

        Raises:
            ValueError: the tokenizer cuts the lines into other words than those that were counted.
        """
        lines, numbers = self.stream.read_blocks(self.blocks[place.pool])
        tokens = TokenStream.from_lines(self.tokenizer, lines.column(TEXT).to_pylist())
        expected = self.list_sizes(place.epoch)[place.pool]
        if len(tokens) != expected:
            raise ValueError(
                f"{self.stream.folder}: the tokenizer reads {len(tokens):,} words where {expected:,} were counted; the "
                "lines were written for another one: remove the folder to have them read again"
            )
        tokens = replace(tokens, lines=tokens.lines + numbers[0])
        part = (place.rank * self.batch_size, self.batch_size)
        return StreamWindows(tokens, place.world_size * self.batch_size, self.bptt, part)


@with_old_arguments
class LanguageModellingDataModule(CheckedDataModule[LineSplits]):
    """Lines of text as streams of words with an end mark behind each line; every word is predicted from all before it.

    The training cuts the text into `batch_size` parallel streams, contiguous parts of equal length, and reads windows
    of `bptt` words of all of them, in the order of the text and in every epoch the same; whoever trains carries the
    recurrent state from window to window. The last words, fewer than there are streams, are left out. Several processes
    have `batch_size` streams each.

    Any other loader gives the whole split as one stream, so that every word is scored once, in the context of all
    before it, whatever the batch size; among several processes each scores all of it.

    A batch is a dict of `input_ids` (B, n) and `targets` (B, n), the words and those behind them; `unknown` (B, n)
    bool, which targets are outside the vocabulary; `lines` (B, n), the rows of the targets' lines in `lines(split)`;
    `row` (B,), the first of them; and `begins` (B,) bool, whether the streams begin here. Numbers are int64.

    Args:
        dataset: Data to read: "sample" (generated text), or a Hub id, folder or file, as `read_lines` takes it.
        data_dir: Folder of datasets as `<namespace>/<name>`; default: the one that `get_data_folder` finds.
        text_column: Name of the text column, or several to join with spaces; default: the first usual name that is
            there, such as text.
        min_word_count, lower_case, pre_tokenizer: Least word count, lower-casing and pre-tokenizer of the vocabulary,
            fields of `LineVocabulary`.
        batch_size: Number B of parallel streams in training, the batch dimension.
        bptt: Tokens in a training window, over which gradients flow back (truncated backpropagation through time).
        eval_batch_size: Tokens in a window of validation and test loaders, which read one stream.
        seed: Seed, accepted for uniformity but without effect: windows follow the order of the text.
        num_workers: Number of worker processes that build batches; 0: the training process builds them.
        tokenizer: Tokenizer to use in place of one built from the training lines.
        init_from: Checkpoint, a folder or Hub id, whose tokenizer is used; None: a tokenizer is built from the training
            data.
        divide: Whether data with a single split "train" is split into train, validation and test, as by `ctxzoo train`.
        streaming, shuffle_buffer: Whether training lines stay on the disk, and how many are read together, as in
            `CheckedDataModule`; they are read in their order, see `WindowPools`.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a size below 1; both `tokenizer` and `init_from`; a tokenizer of another kind of model.
    """

    def __init__(
        self,
        dataset: str,
        *,
        data_dir: str | None = None,
        text_column: ColumnNames = None,
        min_word_count: int = 1,
        lower_case: bool = True,
        pre_tokenizer: PreTokenizerName = "whitespace",
        batch_size: int = 20,
        bptt: int = 35,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        tokenizer: WordTokenizer | None = None,
        init_from: str | None = None,
        divide: bool = True,
        streaming: bool = False,
        shuffle_buffer: int = SHUFFLE_BUFFER,
    ) -> None:
        super().__init__(dataset, data_dir, divide=divide, streaming=streaming, shuffle_buffer=shuffle_buffer)
        for name, size in (("batch_size", batch_size), ("bptt", bptt), ("eval_batch_size", eval_batch_size)):
            if size < 1:
                raise ValueError(f"{name} is {size}; expected 1 or more")
        if tokenizer is not None and init_from is not None:
            raise ValueError(f"both a tokenizer and init_from={init_from!r}; give one of them")
        if init_from is not None:
            refuse_missing_path(init_from, "checkpoint")
            tokenizer = AutoTokenizer.from_pretrained(init_from)
        if tokenizer is not None:
            _check_tokenizer(tokenizer)
        self.text_column = text_column
        self.vocabulary = LineVocabulary(
            min_word_count=min_word_count, lower_case=lower_case, pre_tokenizer=pre_tokenizer
        )
        self.batch_size = batch_size
        self.bptt = bptt
        self.eval_batch_size = eval_batch_size
        self.seed = seed
        self.num_workers = num_workers
        self._tokenizer = tokenizer
        self._streams: dict[str, TokenStream] = {}

    @property
    def tokenizer(self) -> WordTokenizer:
        """The tokenizer that belongs to this data; after `setup`."""
        assert self._tokenizer is not None, "call setup() first"
        return self._tokenizer

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that are there; after `setup`."""
        return tuple(self._streams)

    def model_sizes(self) -> dict[str, int]:
        """The fields of a model's config that follow from the data; `eos_token_id` ends what `generate` gives."""
        return {"vocab_size": self.tokenizer.num_ids, "eos_token_id": int(self.tokenizer.eos_token_id)}

    def lines(self, split: str) -> list[str]:
        """Return the lines of a split, to which `row` and `lines` of a batch refer."""
        self.stream(split)
        lines: list[str] = self.load_checked_data().splits[split][TEXT][:]
        return lines

    def stream(self, split: str) -> TokenStream:
        """Return the words of a split, after `setup`.

        Raises:
            ValueError: there is no such split.
        """
        return self.get_split(self._streams, split)

    def setup(self, stage: str | None = None) -> None:
        """Build the vocabulary and the stream of each split, on every process."""
        if self._streams:
            return
        splits = self.load_checked_data().splits
        if self._tokenizer is None:
            if "train" not in splits:
                raise ValueError(
                    f"dataset {self.dataset!r}: no train split to build a vocabulary from; add one (or set `tokenizer`)"
                )
            try:
                self._tokenizer = self.vocabulary.build_tokenizer(splits["train"][TEXT][:])
            except ValueError as error:
                raise ValueError(f"dataset {self.dataset!r}: {error}") from error
        self._streams = {
            name: TokenStream.from_lines(self._tokenizer, split[TEXT][:]) for name, split in splits.items()
        }

    def build_stream_reader(self) -> LineStreamReader:
        """Return how lines are read where they are streamed."""
        words = self.vocabulary
        pre_tokenizer = build_pre_tokenizer(words.lower_case, words.pre_tokenizer)
        settings: dict[str, Any] = {"lower_case": words.lower_case, "pre_tokenizer": words.pre_tokenizer}
        if self._tokenizer is not None:
            pre_tokenizer = self._tokenizer.backend_tokenizer
            settings = {"tokenizer": hash_strings([pre_tokenizer.to_str()])}
        return LineStreamReader(self.text_column, pre_tokenizer, settings)

    def check_whole_splits(self, splits: dict[str, Any]) -> LineSplits:
        """Check the sample of train, and validation and test."""
        return check_lines(splits, origin={name: f"{self.dataset}, {name}" for name in splits})

    def train_dataloader(self) -> ResumableLoader:
        if self.streaming:
            pools = WindowPools(
                self.training_stream,
                self.tokenizer,
                batch_size=self.batch_size,
                bptt=self.bptt,
                shuffle_buffer=self.shuffle_buffer,
            )
            return build_stream_loader(pools, self.num_workers)
        rank, world_size = get_rank_and_world_size()
        part = (rank * self.batch_size, self.batch_size)
        try:
            return self._build_loader(
                StreamWindows(self.stream("train"), world_size * self.batch_size, self.bptt, part)
            )
        except ValueError as error:
            raise ValueError(f"dataset {self.dataset!r}, split 'train': {error}") from error

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split as one stream; each of several processes reads all of it."""
        return self._build_loader(StreamWindows(self.stream(split), 1, self.eval_batch_size))

    def _build_loader(self, windows: StreamWindows) -> ResumableLoader:
        """Build a loader of windows in the order of the text that can go on in the middle of an epoch."""
        return build_resumable_loader(windows, WindowSampler(windows), self.num_workers)

    def read_dataset(self) -> LineSplits:
        """Read and check the lines of text of each split."""
        return read_lines(self.dataset, self.data_dir, self.text_column)

    def group_related_rows(self, checked: LineSplits) -> RowGroups:
        """Group the rows that must stay in one split."""
        return group_equal_lines(checked)


def _check_tokenizer(tokenizer: Any) -> None:
    """Raise an error for a tokenizer that `LineVocabulary` did not build."""
    if not isinstance(tokenizer, WordTokenizer) or tokenizer.eos_token_id is None or not tokenizer.keeps_unknown:
        raise ValueError(
            f"the tokenizer is a {type(tokenizer).__name__} with the end mark {tokenizer.eos_token!r} and the unknown "
            f"word {tokenizer.unk_token!r}; expected the WordTokenizer of a language model, which has both"
        )
