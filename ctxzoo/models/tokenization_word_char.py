"""`WordCharTokenizer`: words, their characters, and features of words beside another text."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from .ops_bidaf_words import NUM_WORD_FEATURES, compute_word_features
from .ops_subwords import NO_SUBWORDS
from .tokenization_base import PAD_TOKEN, SUBWORDS, UNK_TOKEN, EncodingOptions, UnpaddedBatch, ZooTokenizer

# The forms of a word, tried from left to right:
#   abbreviations with dots (U.S., e.g.), words up to a clitic (do|n't, it|'s), clitics, numbers with inner marks and a
#   tail (1,234.5, 1990s), words of letters with combining marks, doubled quotes and dots as one sign, any other sign.
WORD_PATTERN = (
    r"(?:\p{L}\.){2,}"
    r"|\p{N}+(?:[.,:]\p{N}+)*[\p{L}\p{M}]*"
    r"|[\p{L}\p{M}]+?(?=n['’]t\b)"
    r"|n['’]t\b"
    r"|['’](?:s|S|re|RE|ve|VE|ll|LL|d|D|m|M)\b"
    r"|[\p{L}\p{M}\p{N}_]+"
    r"|``|''|\.\.\.+|--+"
    r"|[^\s]"
)


def build_word_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer that cuts text into words by `WORD_PATTERN`; offsets point into the text as given."""
    return pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="isolated")]
    )


UNKNOWN_CHARACTER = 1  # 0 is padding
QUESTION = "question_"  # prefix of the names of the question's inputs
CACHED_WORDS = 1_000_000


class _Words(NamedTuple):
    """A text cut into words: the words, and their offsets in the text."""

    words: list[str]
    offsets: list[tuple[int, int]]


class WordCharTokenizer(ZooTokenizer):
    """Word ids, character ids and word features for models that read a question and a context apart.

    `tokenizer(question, context)` gives `input_ids`, `attention_mask` and, if it is built so, `char_ids` (words,
    max_word_length) and `word_features` (words, 12) of the **context**, and the same names after "question_" for the
    question. Both begin with one extra token of id 1, all of its characters 1 too, its features 0: position 0 of the
    context stands for "no answer". `offset_mapping`, on request, belongs to the context: (0, 0) for the extra token,
    then first character and the one after the last in the context as given. `tokenizer(text)` encodes one text without
    the extra token. Built with the tokenizer of an encoder, it gives `subword_ids` too, see `ZooTokenizer`; those
    of the extra token are 0.

    Text is cut by `WORD_PATTERN`. A word has the id of the first of these forms that is known: as written, lower case,
    capitalised, upper case; otherwise 1. Both doubled quotes are looked up as the plain one.

    Truncation cuts the context only (`max_length` counts the extra token); `return_overflowing_tokens` then gives
    windows that overlap by `stride` words, each with the extra token and with the question beside it. Word features are
    those of what is left after cutting. Padding is on the right; `padding="max_length"` sets the context's length, the
    question is padded to the longest of the batch.

    Build one with `build_word_char_tokenizer`.
    """

    model_input_names = [  # noqa: RUF012 (transformers declares it so)
        *("input_ids", "attention_mask", "char_ids", "word_features"),
        *("question_input_ids", "question_attention_mask", "question_char_ids", "question_word_features"),
    ]
    _cache: dict[str, tuple[int, tuple[int, ...]]] | None = None

    @property
    def char_vocab(self) -> dict[str, int] | None:
        """The id of each character; 0 is padding, 1 any other character. None: no characters."""
        vocabulary: dict[str, int] | None = self.init_kwargs.get("char_vocab")
        return vocabulary

    @property
    def max_word_length(self) -> int:
        """The number of characters to which words are cut."""
        return int(self.init_kwargs.get("max_word_length", 16))

    @property
    def word_features(self) -> bool:
        """Whether pairs come with word features."""
        return bool(self.init_kwargs.get("word_features", False))

    def look_up_word_id(self, word: str) -> int:
        """Return the row of the word table for a word as written; 1 if none of its forms is known."""
        if word in ("``", "''"):
            word = '"'
        for form in (word, word.lower(), word.capitalize(), word.upper()):
            index: int | None = self._tokenizer.token_to_id(form)
            if index is not None:
                return index
        unknown: int = self._tokenizer.token_to_id(UNK_TOKEN)
        return unknown

    def character_ids(self, word: str) -> tuple[int, ...]:
        """Return the ids of the first `max_word_length` characters, without padding; none without characters."""
        vocabulary = self.char_vocab
        if vocabulary is None:
            return ()
        return tuple(vocabulary.get(character, UNKNOWN_CHARACTER) for character in word[: self.max_word_length])

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the words of a text, and those of `pair` after them, as written."""
        texts = [text] if pair is None else [text, pair]
        return list(chain.from_iterable(cut.words for cut in self._split_into_words(texts, "text")))

    def pad(
        self,
        encoded_inputs: Any,
        padding: bool | str | PaddingStrategy = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Any = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Pad both texts of each encoding, with all that belongs to their words, and return a `BatchEncoding`.

        Other entries stay as they are.

        Args:
            encoded_inputs: One encoding, a batch of them, or a list of encodings (as a collator gets).
            padding: Padding of the contexts: True to the longest context, "max_length" to `max_length`, and in both
                cases questions to the longest question; False: none.

        Raises:
            ValueError: another side than right, or no input_ids.
        """
        self._refuse_left_padding(padding_side)
        # Lengths are rounded up to a multiple below, for each of the two texts by itself.
        strategy, _, max_length, _ = self._get_padding_truncation_strategies(
            padding=padding, max_length=max_length, pad_to_multiple_of=None, verbose=verbose
        )
        if isinstance(encoded_inputs, Mapping):
            columns = {name: _to_lists(value) for name, value in encoded_inputs.items()}
        else:
            names = list(encoded_inputs[0]) if encoded_inputs else []
            columns = {name: [_to_lists(example[name]) for example in encoded_inputs] for name in names}
        if "input_ids" not in columns:
            raise ValueError(f"pad needs input_ids, got only {sorted(columns)}")
        single = bool(columns["input_ids"]) and not isinstance(columns["input_ids"][0], (list, tuple))
        if single:
            columns = {name: [value] for name, value in columns.items()}
        for prefix in ("", QUESTION):
            if f"{prefix}input_ids" in columns:
                longest = max((len(row) for row in columns[f"{prefix}input_ids"]), default=0)
                if strategy == PaddingStrategy.MAX_LENGTH and not prefix and max_length is not None:
                    longest = max(longest, max_length)
                length = None if strategy == PaddingStrategy.DO_NOT_PAD else _round_up(longest, pad_to_multiple_of)
                self._pad_text(columns, prefix, length, return_attention_mask is not False)
        if single:
            columns = {name: value[0] for name, value in columns.items()}
        return BatchEncoding(columns, tensor_type=return_tensors)

    def _pad_text(self, columns: dict[str, Any], prefix: str, length: int | None, with_mask: bool) -> None:
        """Pad the entries of one text to `length` words, and add the mask if it is missing."""
        if with_mask and f"{prefix}attention_mask" not in columns:
            columns[f"{prefix}attention_mask"] = [[1] * len(row) for row in columns[f"{prefix}input_ids"]]
        if length is None:
            return
        fillers: dict[str, Any] = {
            "input_ids": self.pad_token_id,
            "attention_mask": 0,
            "char_ids": [0] * self.max_word_length,
            "word_features": [0.0] * NUM_WORD_FEATURES,
            SUBWORDS: NO_SUBWORDS,
        }
        if not prefix:
            fillers["offset_mapping"] = (0, 0)
        for name, filler in fillers.items():
            if prefix + name in columns:
                columns[prefix + name] = [[*row, *[filler] * (length - len(row))] for row in columns[prefix + name]]

    def _list_unsupported_options(self, text_pair: Any, options: EncodingOptions) -> dict[str, Any]:
        """Return the options that this tokenizer does not know, each with whether the call asks for it."""
        pair, truncation = text_pair is not None, options.truncation_strategy
        return {
            "is_split_into_words": options.is_split_into_words,
            "return_special_tokens_mask": options.return_special_tokens_mask,
            "add_special_tokens=False with a pair": pair and not options.add_special_tokens,
            'truncation="only_first" with a pair': pair and truncation == TruncationStrategy.ONLY_FIRST,
            'truncation="only_second" without a pair': not pair and truncation == TruncationStrategy.ONLY_SECOND,
        }

    def _encode_texts(self, text: Any, text_pair: Any, options: EncodingOptions) -> UnpaddedBatch:
        """Encode texts, or questions with their contexts, without padding them.

        Raises:
            TypeError: something that is not a string or a list of strings.
            ValueError: a question or context without words, padding on the left, a `max_length` without room for a
                word, or a `stride` that does not fit it.
        """
        self._refuse_left_padding(options.padding_side)
        pair, max_length, stride = text_pair is not None, options.max_length, options.stride
        batched = not isinstance(text, str)
        named_texts = {"question": text, "context": text_pair} if pair else {"text": text}
        split_texts = [
            self._split_into_words(_check_texts(value, name, batched), name) for name, value in named_texts.items()
        ]
        if pair:
            if len(split_texts[0]) != len(split_texts[1]):
                raise ValueError(f"{len(split_texts[0])} questions do not match {len(split_texts[1])} contexts")
            for name, texts in zip(named_texts, split_texts, strict=True):
                _refuse_empty_texts(name, texts)

        capacity = None
        if options.truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and max_length is not None:
            capacity = max_length - pair  # True counts as 1, the place of the extra token
            if capacity < 1:
                raise ValueError(f"max_length={max_length} leaves no word{' beside the extra token' if pair else ''}")
            if options.return_overflowing_tokens and not 0 <= stride < capacity:
                raise ValueError(
                    f"stride={stride} must be at least 0 and below {capacity}, the words in a window of "
                    f"max_length={max_length}"
                )
        overlap = stride if options.return_overflowing_tokens else None
        rows: list[dict[str, Any]] = []
        samples: list[int] = []
        for sample, main in enumerate(split_texts[-1]):
            for begin, end in _find_window_bounds(len(main.words), capacity, overlap):
                window = _Words(main.words[begin:end], main.offsets[begin:end])
                rows.append(
                    self._make_row(window, split_texts[0][sample] if pair else None, options.return_offsets_mapping)
                )
                samples.append(sample)

        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
        if options.return_attention_mask is False:
            columns = {name: value for name, value in columns.items() if not name.endswith("attention_mask")}
        if options.return_overflowing_tokens:
            columns["overflow_to_sample_mapping"] = samples
        return UnpaddedBatch(columns, single=not batched and not options.return_overflowing_tokens)

    def _make_row(self, main: _Words, question: _Words | None, with_offsets: bool) -> dict[str, Any]:
        """Return ids, character ids and features of one example: a context or only text, and a question if any."""
        row = self._make_inputs(main, question, "")
        if with_offsets:
            row["offset_mapping"] = main.offsets if question is None else [(0, 0), *main.offsets]
        if question is not None:
            # Features of the question compare it with this window, not with the whole context.
            row |= self._make_inputs(question, main, QUESTION)
        return row

    def _make_inputs(self, text: _Words, other: _Words | None, prefix: str) -> dict[str, Any]:
        """Return ids, mask, character ids, features and sub-words of one text; in a pair with an extra token in
        front.
        """
        entries = [self._look_up_word(word) for word in text.words]
        ids = [index for index, _ in entries]
        characters = [list(word) for _, word in entries]
        if other is not None:
            ids.insert(0, self.unk_token_id)
            characters.insert(0, [UNKNOWN_CHARACTER] * self.max_word_length)
        inputs: dict[str, Any] = {f"{prefix}input_ids": ids, f"{prefix}attention_mask": [1] * len(ids)}
        if self.char_vocab is not None:
            inputs[f"{prefix}char_ids"] = characters
        if self.word_features and other is not None:
            features = compute_word_features(text.words, other.words)
            inputs[f"{prefix}word_features"] = [[0.0] * NUM_WORD_FEATURES, *features]
        if self.encoder_tokenizer is not None:
            after_blank = [begin > end for (begin, _), (_, end) in zip(text.offsets[1:], text.offsets, strict=False)]
            subwords = self.cut_into_subwords(text.words, [False, *after_blank][: len(text.words)])
            inputs[f"{prefix}{SUBWORDS}"] = subwords if other is None else [NO_SUBWORDS, *subwords]
        return inputs

    def _look_up_word(self, word: str) -> tuple[int, tuple[int, ...]]:
        """Return the id and the padded character ids of a word; texts repeat their words, so these are kept."""
        if self._cache is None or len(self._cache) > CACHED_WORDS:
            self._cache = {}
        entry = self._cache.get(word)
        if entry is None:
            characters = self.character_ids(word)
            entry = self.look_up_word_id(word), characters + (0,) * (self.max_word_length - len(characters))
            self._cache[word] = entry
        return entry

    def _split_into_words(self, texts: list[str], name: str) -> list[_Words]:
        """Return the words of each text and where they stand; `name` is the argument that errors name."""
        # Otherwise "[UNK]" in a text would be taken for the token itself.
        self._tokenizer.encode_special_tokens = True
        encodings = self._encode_with_backend(texts, name)
        split_texts = []
        for text, encoding in zip(texts, encodings, strict=True):
            offsets = encoding.offsets
            split_texts.append(_Words([text[begin:end] for begin, end in offsets], offsets))
        return split_texts

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Add words to the vocabulary and return how many were new; a token must be one word."""
        known = self._tokenizer.get_vocab()
        for token in (str(token) for token in new_tokens if str(token) not in known):
            words = [word for word, _ in build_word_pre_tokenizer().pre_tokenize_str(token)]
            if words != [token]:
                raise ValueError(f"cannot add {token!r}: a text gives no such word, it is cut into {words}; add words")
        # New words change the ids of others: of their forms in other letters, too.
        self._cache = None
        added: int = super()._add_tokens(new_tokens, special_tokens)
        return added

    def _convert_token_to_id_with_added_voc(self, token: str) -> int:
        """Return the id of a word, also of its form in other letters."""
        return self.look_up_word_id(token)


def build_word_char_tokenizer(
    words: Sequence[str],
    *,
    characters: Sequence[str] | None,
    max_word_length: int = 16,
    word_features: bool = False,
    encoder_tokenizer: Tokenizer | None = None,
    **kwargs: Any,
) -> WordCharTokenizer:
    """Return a tokenizer with the given words.

    Args:
        words: Words of the vocabulary in the order of their ids; `words[0]` has id 2; ids 0 and 1 are "[PAD]" and
            "[UNK]".
        characters: Characters in the order of their ids; `characters[0]` has id 2; None: the tokenizer returns no
            characters.
        max_word_length: Number of characters to which words are cut.
        word_features: Whether encoded pairs have word features.
        encoder_tokenizer: Tokenizer of an encoder that reads the words; None: there is no encoder.
        kwargs: Arguments of the tokenizer class, for example `model_max_length`.

    Raises:
        ValueError: a word twice (the names of ids 0 and 1 count), a character twice or of another length than 1, or a
            max_word_length below 1.
    """
    if max_word_length < 1:
        raise ValueError(f"max_word_length must be at least 1, got {max_word_length}")
    vocabulary = _assign_ids([PAD_TOKEN, UNK_TOKEN], words, "word")
    char_vocab = None
    if characters is not None:
        for character in characters:
            if len(character) != 1:
                raise ValueError(f"characters must be single characters, got {character!r}")
        # The ids of padding and unknown have names that are never looked up: an empty string and two characters.
        char_vocab = {
            name: index for name, index in _assign_ids(["", "??"], characters, "character").items() if index > 1
        }
    backend = Tokenizer(WordLevel(vocabulary, unk_token=UNK_TOKEN))
    backend.pre_tokenizer = build_word_pre_tokenizer()
    names = ["input_ids", "attention_mask"]
    names += ["char_ids"] * (char_vocab is not None) + ["word_features"] * word_features
    names += [SUBWORDS] * (encoder_tokenizer is not None)
    return WordCharTokenizer(
        **{
            "tokenizer_object": backend,
            "pad_token": PAD_TOKEN,
            "unk_token": UNK_TOKEN,
            "split_special_tokens": True,
            "model_input_names": [*names, *(QUESTION + name for name in names)],
            "char_vocab": char_vocab,
            "max_word_length": max_word_length,
            "word_features": word_features,
            **({} if encoder_tokenizer is None else {"encoder_tokenizer": encoder_tokenizer}),
            **kwargs,
        }
    )


def _assign_ids(special_names: list[str], names: Sequence[str], kind: str) -> dict[str, int]:
    """Map each name to its id; `kind` is a noun for messages about a name that occurs twice."""
    numbers: dict[str, int] = {}
    for name in chain(special_names, names):
        if name in numbers:
            raise ValueError(f"{kind} {name!r} occurs twice (ids {numbers[name]} and {len(numbers)}); keep one")
        numbers[name] = len(numbers)
    return numbers


def _check_texts(value: Any, name: str, batched: bool) -> list[str]:
    """Return the questions or contexts of a call as a list of strings; `name` is the argument that errors name."""
    if isinstance(value, str) and not batched:
        return [value]
    if not batched or not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        expected = "a list of strings, like the questions" if batched else "a string, like the question"
        kind = type(value).__name__
        if isinstance(value, (list, tuple)):
            kind += f" of {', '.join(sorted({type(text).__name__ for text in value}))}"
        raise TypeError(
            f"{name} must be {expected if name == 'context' else 'a string or a list of strings'}, got {kind}"
        )
    if not value:
        raise ValueError(f"no {name} in the batch")
    return list(value)


def _refuse_empty_texts(name: str, texts: list[_Words]) -> None:
    """Raise ValueError for a text without words; `name` says what the texts are."""
    for number, text in enumerate(texts):
        if not text.words:
            raise ValueError(f"{name} {number} of the batch holds no words; leave this example out")


def _find_window_bounds(words: int, capacity: int | None, stride: int | None) -> list[tuple[int, int]]:
    """Return the bounds of each window of a text: first word, word after the last; one window without `stride`."""
    if capacity is None or words <= capacity:
        return [(0, words)]
    if stride is None:
        return [(0, capacity)]
    # The last window starts where more than `stride` words are left: it has a word that no other has.
    starts = range(0, words - stride, capacity - stride)
    return [(start, min(start + capacity, words)) for start in starts]


def _round_up(length: int, multiple: int | None) -> int:
    """Return `length`, rounded up to a multiple of `multiple`, if one is given."""
    return length if not multiple else -(-length // multiple) * multiple  # -(-a // b) rounds up


def _to_lists(value: Any) -> Any:
    """Return tensors and arrays, also those inside a list, as lists of numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)) and value and hasattr(value[0], "tolist"):
        return [row.tolist() for row in value]
    return value
