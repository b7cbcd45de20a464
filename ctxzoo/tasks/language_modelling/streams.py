"""A split as one stream of words, cut into parallel streams, and these into windows that are read one after another.

As Zaremba, Sutskever and Vinyals (2014) and AWD-LSTM (Merity, Keskar and Socher 2018) do: B streams, contiguous parts
of the text, make a batch; a batch is a window of the next words of each, and the recurrent state of one window is the
start of the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ctxzoo.data.bucketing import ResumableSampler
from ctxzoo.data.formats import Rows
from ctxzoo.data.text_encoding import encode_texts
from ctxzoo.models.tokenization_word import WordTokenizer


@dataclass(frozen=True)
class TokenStream:
    """The words of a split, line after line, an end mark behind each.

    Attributes:
        tokens: (N,) ids.
        lines: (N,) the row of the line that each is of.
        end_id: of the end mark, which also stands before the first word, so that every word is predicted once.
        unknown_id: of the words outside the vocabulary.
    """

    tokens: npt.NDArray[np.int64]
    lines: Rows
    end_id: int
    unknown_id: int

    @classmethod
    def of_lines(cls, tokenizer: WordTokenizer, lines: list[str]) -> TokenStream:
        """Return the stream of lines, as a tokenizer of `LineVocabulary` reads them."""
        encoded = encode_texts(tokenizer, lines, None)
        tokens = np.insert(encoded.ids.astype(np.int64), encoded.pointers[1:], tokenizer.eos_token_id)
        numbers = np.repeat(np.arange(len(lines)), encoded.lengths() + 1)
        return cls(tokens, numbers, int(tokenizer.eos_token_id), int(tokenizer.unk_token_id))

    def __len__(self) -> int:
        return len(self.tokens)

    def words_before(self) -> npt.NDArray[np.int64]:
        """Return (N,) the id of the word before each."""
        return np.concatenate([[self.end_id], self.tokens[:-1]])


class StreamWindows(Dataset[dict[str, torch.Tensor]]):
    """A dataset of which `windows[k]` is the k-th batch, see `LanguageModellingDataModule`.

    Args:
        stream: of a split; its last words, fewer than there are parallel streams, are left out.
        streams: number of parallel streams, as many words of each as of any other.
        length: words of a window; the last may have fewer.
        part: the first of the streams that this dataset has, and the number of these; default: all.

    Raises:
        ValueError: more streams than words.
    """

    def __init__(self, stream: TokenStream, streams: int, length: int, part: tuple[int, int] | None = None) -> None:
        words = len(stream) // streams
        if not words:
            raise ValueError(f"{len(stream)} words make no {streams} streams; set batch_size to {len(stream)} or less")
        first, number = (0, streams) if part is None else part

        def parallel(values: npt.NDArray[np.int64]) -> torch.Tensor:
            rows = values[: words * streams].reshape(streams, words)[first : first + number]
            return torch.from_numpy(np.ascontiguousarray(rows))

        self.inputs, self.targets = parallel(stream.words_before()), parallel(stream.tokens)
        self.lines = parallel(stream.lines)
        self.unknown_id = stream.unknown_id
        self.length = length

    def __len__(self) -> int:
        return -(-self.targets.size(1) // self.length)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
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
        return iter(range(self.skip, len(self)))
