"""The base of the tokenizers of words: the frame of a call, from its options to padded tensors."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer
from transformers import BatchEncoding, TokenizersBackend
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from .ops_subwords import MOST_SUBWORDS, NO_SUBWORDS

PAD_TOKEN = "[PAD]"  # id 0
UNK_TOKEN = "[UNK]"  # id 1 where unknown words have one
ENCODER_TOKENIZER = "encoder_tokenizer.json"  # beside tokenizer.json, where an encoder reads the words
SUBWORDS = "subword_ids"
_KEPT_WORDS = 1_000_000  # most words whose sub-words are remembered


@dataclass(frozen=True)
class EncodingOptions:
    """The options that a caller of a tokenizer requested; the names are those of transformers."""

    add_special_tokens: bool
    padding_strategy: PaddingStrategy
    truncation_strategy: TruncationStrategy
    max_length: int | None
    stride: int
    is_split_into_words: bool
    padding_side: str | None
    return_attention_mask: bool | None
    return_overflowing_tokens: bool
    return_special_tokens_mask: bool
    return_offsets_mapping: bool


@dataclass(frozen=True)
class UnpaddedBatch:
    """A batch of encoded texts before padding.

    Attributes:
        columns: Name of each column to a list with one entry per row.
        single: Whether the caller passed one text, whose entries are then returned bare where no tensors are asked for.
        encodings: Encodings of the tokenizers library, where their ids are those of the rows; otherwise empty.
    """

    columns: dict[str, list[Any]]
    single: bool
    encodings: Sequence[Any] = ()


class ZooTokenizer(TokenizersBackend):  # type: ignore[misc, unused-ignore]
    """The base of the tokenizers, which pad on the right and raise an error for every option that they do not have.

    A subclass defines `_list_unsupported_options`, the options that it refuses beside those refused for all, and
    `_encode_texts`.

    Built with the tokenizer of an encoder, it gives the encoder's sub-words of each word beside the ids: `subword_ids`,
    of each word `MOST_SUBWORDS` ids of that tokenizer plus 1, 0 where there are no more.

    Args:
        encoder_tokenizer: Tokenizer of an encoder, as the tokenizers library has it; None: there is no encoder.
        encoder_tokenizer_file: File of such a tokenizer, in the place of `encoder_tokenizer`.
    """

    vocab_files_names = {  # noqa: RUF012 (transformers declares it so)
        **TokenizersBackend.vocab_files_names,
        "encoder_tokenizer_file": ENCODER_TOKENIZER,
    }

    def __init__(
        self,
        *args: Any,
        encoder_tokenizer: Tokenizer | None = None,
        encoder_tokenizer_file: str | None = None,
        **kwargs: Any,
    ) -> None:
        if encoder_tokenizer is None and encoder_tokenizer_file is not None:
            encoder_tokenizer = Tokenizer.from_file(encoder_tokenizer_file)
        super().__init__(*args, **kwargs)
        self.encoder_tokenizer = encoder_tokenizer
        self._subwords: dict[tuple[str, bool], tuple[int, ...]] = {}
        if encoder_tokenizer is not None:
            encoder_tokenizer.no_truncation()
            encoder_tokenizer.no_padding()
            encoder_tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
            names: list[str] = self.model_input_names  # type: ignore[has-type]
            self.model_input_names = names if SUBWORDS in names else [*names, SUBWORDS]

    def cut_into_subwords(self, words: Sequence[str], after_blank: Sequence[bool]) -> list[tuple[int, ...]]:
        """Return the encoder's sub-words of each word, ids plus 1, filled up with 0; equal words share their tuple.

        Args:
            words: Words as written.
            after_blank: Whether there is a blank before each word in its text, which some encoders tell from none.
        """
        assert self.encoder_tokenizer is not None
        if len(self._subwords) > _KEPT_WORDS:
            self._subwords = {}
        keys = list(zip(words, after_blank, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._subwords]
        texts = [f" {word}" if blank else word for word, blank in new]
        for key, encoding in zip(
            new, self.encoder_tokenizer.encode_batch_fast(texts, add_special_tokens=False), strict=True
        ):
            ids = tuple(index + 1 for index in encoding.ids[:MOST_SUBWORDS])
            self._subwords[key] = (*ids, *NO_SUBWORDS[len(ids) :])
        return [self._subwords[key] for key in keys]

    def _save_pretrained(self, save_directory: Any, *args: Any, **options: Any) -> tuple[str, ...]:
        """Save the tokenizer as transformers does, and that of the encoder beside it."""
        files: tuple[str, ...] = super()._save_pretrained(save_directory, *args, **options)
        if self.encoder_tokenizer is None:
            return files
        prefix = options.get("filename_prefix")
        file = os.path.join(str(save_directory), f"{prefix}-{ENCODER_TOKENIZER}" if prefix else ENCODER_TOKENIZER)
        self.encoder_tokenizer.save(file)
        return (*files, file)

    def _list_unsupported_options(self, text_pair: Any, options: EncodingOptions) -> dict[str, Any]:
        """Return each option that this tokenizer does not support, with whether this call asks for it."""
        raise NotImplementedError(f"{type(self).__name__} must define _list_unsupported_options(text_pair, options)")

    def _encode_texts(self, text: Any, text_pair: Any, options: EncodingOptions) -> UnpaddedBatch:
        """Encode texts without padding them."""
        raise NotImplementedError(f"{type(self).__name__} must define _encode_texts(text, text_pair, options)")

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Encode texts, pad them and return a `BatchEncoding`, as `tokenizer(...)` does; see the class.

        Raises:
            TypeError: an unknown option, or something that is not text.
            ValueError: an option that this tokenizer does not have, or see the class's `_encode_texts`.
        """
        options = EncodingOptions(
            add_special_tokens=add_special_tokens,
            padding_strategy=padding_strategy,
            truncation_strategy=truncation_strategy,
            max_length=max_length,
            stride=stride,
            is_split_into_words=is_split_into_words,
            padding_side=padding_side,
            return_attention_mask=return_attention_mask,
            return_overflowing_tokens=return_overflowing_tokens,
            return_special_tokens_mask=return_special_tokens_mask,
            return_offsets_mapping=return_offsets_mapping,
        )
        self._refuse_options(
            {
                **self._list_unsupported_options(text_pair, options),
                "return_token_type_ids": return_token_type_ids,
                "return_length": return_length,
                f"truncation_side={self.truncation_side!r}": self.truncation_side != "right",
            }
        )
        if kwargs:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(map(repr, kwargs))}")
        encoded = self._encode_texts(text, text_pair, options)

        output = BatchEncoding(encoded.columns)
        if padding_strategy != PaddingStrategy.DO_NOT_PAD:
            output = self.pad(
                output,
                padding=padding_strategy,
                max_length=max_length,
                pad_to_multiple_of=pad_to_multiple_of,
                padding_side=padding_side,
                return_attention_mask=return_attention_mask,
                verbose=False,
            )
        if encoded.encodings:
            for encoding, row in zip(encoded.encodings, output["input_ids"], strict=True):
                # `word_ids()` and the like count places of the padded rows.
                encoding.truncate(min(len(encoding), len(row)))
                encoding.pad(len(row), pad_token=PAD_TOKEN)
        data = dict(output)
        # As in transformers: tensors of one text have the dimension of the batch, lists have not.
        if encoded.single and return_tensors is None:
            data = {name: value[0] for name, value in data.items()}
        output = BatchEncoding(data, list(encoded.encodings) or None).convert_to_tensors(return_tensors)
        if return_tensors == "pt" and SUBWORDS in output and output[SUBWORDS].dim() == 2:  # of texts without words
            output[SUBWORDS] = output["input_ids"].new_zeros(*output["input_ids"].shape, MOST_SUBWORDS)
        return output

    def _encode_with_backend(self, texts: Sequence[Any], name: str, is_split_into_words: bool = False) -> list[Any]:
        """Return the backend's encoding of each text; `name` names a text in an error.

        Raises:
            ValueError: half of a surrogate pair, which the backend cannot read.
        """
        try:
            encodings: list[Any] = self._tokenizer.encode_batch(
                texts, is_pretokenized=is_split_into_words, add_special_tokens=False
            )
        except (TypeError, UnicodeEncodeError):  # the backend does not say which text it was
            for number, text in enumerate(texts):
                joined = " ".join(text) if is_split_into_words else text
                if any("\ud800" <= character <= "\udfff" for character in joined):
                    raise ValueError(
                        f"{name} {number} holds half of a surrogate pair, which is no character: {joined[:60]!r}; "
                        "decode it with errors='replace'"
                    ) from None
            raise
        return encodings

    def _refuse_options(self, requested: dict[str, Any]) -> None:
        """Raise ValueError with the names of the options that were requested but do not exist."""
        names = ", ".join(name for name, value in requested.items() if value)
        if names:
            raise ValueError(f"{type(self).__name__} does not offer {names}; see its documentation")

    def _refuse_left_padding(self, padding_side: str | None) -> None:
        """Raise ValueError for padding on another side than the right."""
        side = padding_side or self.padding_side
        if side != "right":
            raise ValueError(f"padding_side={side!r}: the models read padding on the right only")
