"""Language modelling for Lightning: from a Hub id, a folder, a file or the generated sample to windows of streams."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from ctxzoo.data.bucketing import ResumableLoader, rank_and_world_size, resumable_loader
from ctxzoo.data.checked_data import CheckedDataModule
from ctxzoo.data.files import refuse_missing_path
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.models.tokenization_word import Cutter, WordTokenizer
from ctxzoo.tasks.language_modelling.reader import LineSplits, line_groups, read_lines
from ctxzoo.tasks.language_modelling.sample import TEXT
from ctxzoo.tasks.language_modelling.streams import StreamWindows, TokenStream, WindowSampler
from ctxzoo.tasks.language_modelling.vocabulary import LineVocabulary

# Name to arguments of `LanguageModellingDataModule`.
TEXT_DATASETS: dict[str, dict[str, Any]] = {
    "ptb": {"dataset": "ctxzoo-data/ptb_text"},
    "sample": {"dataset": "sample"},
}


def text_dataset(name: str) -> dict[str, Any]:
    """Return the arguments for one of `TEXT_DATASETS`, or for any other Hub id, folder or file."""
    return TEXT_DATASETS.get(name, {"dataset": name})


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
        dataset: "sample" for generated text, or what `read_lines` reads: Hub id, folder or file.
        data_dir: folder of datasets as `<namespace>/<name>`; default: see `data_folder`.
        text_column: name of the column, or of several, read one after another; default one of the usual ones.
        min_word_count, lower_case, cutter: see `LineVocabulary`.
        batch_size: B, parallel streams of the training.
        bptt: words of a window of the training, over which gradients flow back.
        eval_batch_size: words of a window of any other loader.
        seed: of nothing; the order is that of the text.
        num_workers: processes that build batches; 0 builds them in the training process.
        tokenizer: use this one instead of building one from the training lines.
        init_from: use the tokenizer of this checkpoint folder or Hub id.
        divide: Whether training rows alone are divided, see `CheckedDataModule`.

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
        cutter: Cutter = "whitespace",
        batch_size: int = 20,
        bptt: int = 35,
        eval_batch_size: int = 256,
        seed: int = 0,
        num_workers: int = 0,
        tokenizer: WordTokenizer | None = None,
        init_from: str | None = None,
        divide: bool = True,
    ) -> None:
        super().__init__(dataset, data_dir, divide=divide)
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
        self.vocabulary = LineVocabulary(min_word_count=min_word_count, lower_case=lower_case, cutter=cutter)
        self.batch_size = batch_size
        self.bptt = bptt
        self.eval_batch_size = eval_batch_size
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
        lines: list[str] = self.loaded().splits[split][TEXT][:]
        return lines

    def stream(self, split: str) -> TokenStream:
        """Return the words of a split, after `setup`.

        Raises:
            ValueError: there is no such split.
        """
        return self.part(self._streams, split)

    def setup(self, stage: str | None = None) -> None:
        """Build the vocabulary and the stream of each split, on every process."""
        if self._streams:
            return
        splits = self.loaded().splits
        if self._tokenizer is None:
            if "train" not in splits:
                raise ValueError(
                    f"dataset {self.dataset!r}: no train split to build a vocabulary from; add one (or set `tokenizer`)"
                )
            try:
                self._tokenizer = self.vocabulary.build_tokenizer(splits["train"][TEXT][:])
            except ValueError as error:
                raise ValueError(f"dataset {self.dataset!r}: {error}") from error
        self._streams = {name: TokenStream.of_lines(self._tokenizer, split[TEXT][:]) for name, split in splits.items()}

    def train_dataloader(self) -> ResumableLoader:
        rank, world_size = rank_and_world_size()
        part = (rank * self.batch_size, self.batch_size)
        try:
            return self._loader(StreamWindows(self.stream("train"), world_size * self.batch_size, self.bptt, part))
        except ValueError as error:
            raise ValueError(f"dataset {self.dataset!r}, split 'train': {error}") from error

    def split_dataloader(self, split: str) -> ResumableLoader:
        """Return a loader of any split as one stream, which each of several processes reads whole."""
        return self._loader(StreamWindows(self.stream(split), 1, self.eval_batch_size))

    def _loader(self, windows: StreamWindows) -> ResumableLoader:
        return resumable_loader(windows, WindowSampler(windows), self.num_workers)

    def read(self) -> LineSplits:
        return read_lines(self.dataset, self.data_dir, self.text_column)

    def row_groups(self, checked: LineSplits) -> RowGroups:
        return line_groups(checked)


def _check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer that is not one of `LineVocabulary`."""
    if not isinstance(tokenizer, WordTokenizer) or tokenizer.eos_token_id is None or not tokenizer.keeps_unknown:
        raise ValueError(
            f"the tokenizer is a {type(tokenizer).__name__} with the end mark {tokenizer.eos_token!r} and the unknown "
            f"word {tokenizer.unk_token!r}; expected the WordTokenizer of a language model, which has both"
        )
