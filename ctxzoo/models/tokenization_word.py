"""`WordTokenizer`: words of a text, unknown ones removed or kept as one id, and n-grams hashed into buckets."""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product, repeat
from typing import Any, Generic, Literal, get_args

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers.tokenization_utils_base import LARGE_INTEGER, TruncationStrategy
from transformers.utils import PaddingStrategy

from .ops_ngrams import MOST_KEPT, KeptValues, NgramIds, Value, generate_character_ngrams
from .ops_subwords import NO_SUBWORDS
from .tokenization_base import PAD_TOKEN, SUBWORDS, UNK_TOKEN, EncodingOptions, UnpaddedBatch, ZooTokenizer
from .tokenization_features import NUM_FEATURES, list_word_features

MASK_TOKEN = "[MASK]"  # id 1 where there is one: stands for a word to be predicted
PreTokenizerName = Literal["whitespace", "english", "treebank", "signs", "unspaced", "words", "characters"]
NO_OFFSETS = (0, 0)  # offsets of padding and of n-grams, which stand for no single position of the text

# Reviews are published with line breaks as HTML or as a backslash and an n, and with backslashes before quotes.
LINE_BREAK = r"""<br ?/?>|\\n|\\(?=")"""

_BREAK_WITH_BLANK = "<br /?>"  # those of them that are more than one piece between blanks
_BLANKS_OF_PYTHON = "\x1c\x1d\x1e\x1f"  # at which `str.split` cuts and pre-tokenizers do not

_ALNUM = r"[\p{L}\p{M}\p{N}]"
_END = rf"(?!{_ALNUM})"
_APOSTROPHE = "['’]"
_ENDING = rf"{_APOSTROPHE}(?i:s|ll|ve|re|d|m){_END}"  # it|'s, I|'ll, we|'ve, they|'re, I|'d, I|'m
_NOT = rf"(?i:n{_APOSTROPHE}t){_END}"  # do|n't
# What may stand inside a word, between letters or digits: o'clock, AT&T, U.S.A, 3.5, 1,000, 10:30, 9/10, covid-19.
_INSIDE = "|".join(
    [
        rf"(?!{_ENDING}){_APOSTROPHE}",
        r"[&_@*#$]",
        r"(?<![\p{L}\p{M}]{2})\.",  # after two letters it ends a sentence whose space is missing
        r"(?<=\p{N})[,:/](?=\p{N})",
        r"(?<=\p{L})-(?=\p{N})",
    ]
)
_URL = r"""(?:https?://|www\.)[^\s<>"()]*[\p{L}\p{N}/]"""
# The first that fits is taken, and white space, which none fits, is left out. A word must come out whole when it is
# cut by itself: vocabularies are checked by that.
_CONTRACTIONS = "|".join(
    [
        rf"(?i:can(?=not{_END})|gon(?=na{_END})|got(?=ta{_END}))",
        # Without the apostrophe: do|nt.
        r"(?i:ai|are|ca|could|did|does|do|had|has|have|is|should|was|were|wo|would)" + rf"(?=(?i:nt){_END})",
        r"(?:\p{L}\.)+(?![\p{L}\p{M}\p{N}.])",  # U.S., e.g., initials
        r"(?i:mr|mrs|ms|dr|st|jr|sr|vs|mt|prof|inc|ltd|corp|co)\.(?![\p{L}\p{M}\p{N}.])",
    ]
)
_SIGNS = "|".join(
    [
        _ENDING,
        rf"[:;=]{_APOSTROPHE}?-?[()\[\]dDpPoO3/\\|]{_END}",  # :-)
        r"\.{2,}|-{2,}",
        r"\S",
    ]
)
WORD = "|".join([_URL, _CONTRACTIONS, rf"{_ALNUM}(?:(?!{_NOT}){_ALNUM}|(?:{_INSIDE})(?={_ALNUM}))*", _SIGNS])
# As the Penn Treebank: hyphens, slashes and other single signs stay inside of words, its quotes are one sign.
_TREEBANK = "|".join(
    [
        _URL,
        _CONTRACTIONS,
        rf"{_ALNUM}(?:(?!{_NOT}){_ALNUM}|(?:(?!{_ENDING})[-/.,:&_@*#$+'’])(?={_ALNUM}))*",
        "``|''",
        _SIGNS,
    ]
)
_WORDS = rf"{_URL}|{_ALNUM}(?:{_ALNUM}|[-/.,:&_@*#$+'’](?={_ALNUM}))*|``|''|\.{{2,}}|-{{2,}}|\S"  # without contractions
_SIGNS_ALONE = r"[\p{L}\p{M}\p{N}_]+|\S"  # as BERT cuts text
_CHARACTER = r"\S\p{M}*"
_NO_BLANKS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_UNSPACED_SCRIPTS = rf"{_NO_BLANKS}[\p{{M}}ー]*|" + WORD.replace(_ALNUM, rf"(?!{_NO_BLANKS}){_ALNUM}")


class WordTokenizer(ZooTokenizer):
    """Word ids for classifiers of texts and of words, padded on the right.

    A text is lower-cased and its digits become 0, if the tokenizer is built so, and it is cut at whitespace or by the
    rules for English of `build_english_pre_tokenizer`, which tokenizer.json holds. **Words that are not in the
    vocabulary are removed**: a model's positions and `max_length` count the words that remain. The text "[PAD]" is no
    exception. A text without a known word gives no ids; in a padded batch its attention mask is 0 throughout. With a
    mask token, "[MASK]" (in capitals, wherever it stands) gives its id.

    Built with `keep_unknown`, for taggers, nothing is removed: words that are not in the vocabulary have the id of
    "[UNK]". Then `word_ids()` and the like of the output tell, as those of other fast tokenizers, which word of a list
    (`is_split_into_words`) an id is of; entries of a list are not cut further, whatever the pre-tokenizer. Built with
    `features` it also gives `feature_ids`, for each word the ids of its `list_word_features`, 0 for those that are not
    among them, and 0 at padding.

    Built with the tokenizer of an encoder, it gives `subword_ids` too, see `ZooTokenizer`; those of n-grams are 0.

    `return_overflowing_tokens` adds, as in slow Hugging Face tokenizers, `overflowing_tokens`, the ids of the known
    words that truncation cut off (and of `stride` words before them), and `num_truncated_tokens`, how many it cut off.

    With `ngram_buckets` the ids of a text are followed by those of its n-grams: for each order from 2 to `ngram_order`
    the n-grams of its words, from left to right, and then, with `char_ngrams`, the character n-grams of each word.
    N-gram g has the id `1 + words + hash_ngram(g) % ngram_buckets`; every occurrence gives an id. With
    `char_ngram_buckets` character n-grams do not share these ids: theirs follow, as many as it says. As in fastText,
    words that are removed have their part in n-grams, so a text of new words is not without ids. N-grams come on top of
    `max_length`, up to the last word that it leaves, and their offsets are (0, 0).

    `offset_mapping`, on request: first character and the one after the last of each remaining word in the text as given
    (with `is_split_into_words`: in its entry of the list).

    Build one with `build_word_tokenizer`.
    """

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012 (transformers declares it so)
    _kept_cuts: "_KeptCuts | None" = None
    _id_of_feature: dict[str, int] | None = None
    _feature_ids_of_word: dict[str, list[int]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the cuts and features that are kept."""
        return {**self.__dict__, "_kept_cuts": None, "_id_of_feature": None, "_feature_ids_of_word": None}

    @property
    def lower_case(self) -> bool:
        """Whether text is lower-cased before it is looked up."""
        normalizer = self._tokenizer.normalizer
        # A backend does not tell its steps by name, but what they do.
        return normalizer is not None and normalizer.normalize_str("A") == "a"

    @property
    def fold_digits(self) -> bool:
        """Whether digits become 0 before text is looked up."""
        normalizer = self._tokenizer.normalizer
        return normalizer is not None and normalizer.normalize_str("1") == "0"

    @property
    def keeps_unknown(self) -> bool:
        """Whether words outside the vocabulary have an id; otherwise they are removed."""
        return self.unk_token is not None

    @property
    def ngram_buckets(self) -> int:
        """The number of ids that n-grams share; 0: no n-grams."""
        return int(self.init_kwargs.get("ngram_buckets", 0))

    @property
    def char_ngram_buckets(self) -> int:
        """The number of ids for character n-grams alone; 0: they share those of the other n-grams."""
        return int(self.init_kwargs.get("char_ngram_buckets", 0))

    @property
    def ngram_order(self) -> int:
        """The number of words in the longest n-gram."""
        return int(self.init_kwargs.get("ngram_order", 1))

    @property
    def char_ngrams(self) -> tuple[int, int] | None:
        """The fewest and most characters of a character n-gram, boundary marks counted; None: no character n-grams."""
        bounds = self.init_kwargs.get("char_ngrams")
        return None if bounds is None else (int(bounds[0]), int(bounds[1]))

    @property
    def num_ids(self) -> int:
        """The number of rows of the table that a model needs: padding, words, buckets."""
        return len(self) + self._num_buckets

    @property
    def num_feature_ids(self) -> int:
        """The number of ids of features of words, 0 for padding and unknown ones among them; 0: no features."""
        features = self.init_kwargs.get("features")
        return 1 + len(features) if features else 0

    @property
    def word_limit(self) -> int | None:
        """The largest number of known words of a text with `truncation=True`, `model_max_length`; None: no limit."""
        # "No limit" is a huge number in transformers.
        return self.model_max_length if self.model_max_length <= LARGE_INTEGER else None

    @property
    def _num_buckets(self) -> int:
        return self.ngram_buckets + self.char_ngram_buckets

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the words of a text that are in the vocabulary, as they are there."""
        self._refuse_options({"a pair of texts": pair is not None})
        encoding = self._pre_tokenize([text], is_split_into_words=False)[0]
        return [word for word, index in zip(encoding.tokens, encoding.ids, strict=True) if index]

    def split_into_words(self, text: str) -> list[str]:
        """Return all words of a text as they are written, known or not."""
        return [text[begin:end] for begin, end in self._pre_tokenize([text], is_split_into_words=False)[0].offsets]

    def look_up_feature_ids(self, word: str) -> list[int]:
        """Return the ids (NUM_FEATURES,) of the features of a word; 0 for those that are not known.

        Texts repeat their words, so they are kept.
        """
        if self._id_of_feature is None:
            self._id_of_feature = {name: number for number, name in enumerate(self.init_kwargs["features"], start=1)}
        if self._feature_ids_of_word is None or len(self._feature_ids_of_word) > MOST_KEPT:
            self._feature_ids_of_word = {}
        if word not in self._feature_ids_of_word:
            ids = [self._id_of_feature.get(feature, 0) for feature in list_word_features(word)]
            self._feature_ids_of_word[word] = ids
        return self._feature_ids_of_word[word]

    def map_ids_to_words(self, text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the words that each id of a text stands for, where the text is cut at `word_limit`, as for a model.

        Returns:
            Offsets of the words that ids stand for, from left to right: of the known ones, and with n-grams of all
            (which are cut at the last known one that is read); and for each id of
            `tokenizer(text, truncation=True)` the first of these words, counted from 0, and the one after the last.
        """
        encoding = self._pre_tokenize([text], is_split_into_words=False)[0]
        # Removed words have the id 0.
        known_positions = [position for position, index in enumerate(encoding.ids) if index or self.keeps_unknown]
        kept_positions = known_positions[: self.word_limit]
        if not self._num_buckets:
            return _select_items(kept_positions, encoding.offsets), [
                (word, word + 1) for word in range(len(kept_positions))
            ]
        words = pre_tokenize(self._tokenizer, text)
        # Where something was cut off, at least one word was kept: a limit is 1 or more.
        words = words if len(kept_positions) == len(known_positions) else words[: kept_positions[-1] + 1]
        # The order is that of `_compute_ngram_ids`.
        spans = [(word, word + 1) for word in kept_positions]
        for order in range(2, self.ngram_order + 1):
            spans += [(start, start + order) for start in range(len(words) - order + 1)]
        if self.char_ngrams is not None:
            for number, word in enumerate(words):
                spans += [(number, number + 1) for _ in generate_character_ngrams(word, *self.char_ngrams)]
        return encoding.offsets[: len(words)], spans

    def encode_to_arrays(
        self, texts: Sequence[str], max_length: int | None = None
    ) -> tuple[list["array[int]"], list[int]]:
        """Encode texts without padding, faster than a call, with the same ids.

        Args:
            texts: Texts.
            max_length: Largest number of known words of a text, as with `truncation=True`; None: all of them.

        Returns:
            The ids of each text, and how many known words of each were cut off.

        Raises:
            TypeError: something that is not text.
            ValueError: half of a surrogate pair in a text.
        """
        rows, cut_off = [], []
        texts, _ = _to_text_list(texts, is_split_into_words=False)
        encodings = [] if self._num_buckets else self._pre_tokenize(texts, is_split_into_words=False)
        for words, ids in self._read_words(texts, False, encodings):
            known_ids = array("i", filter(None, ids))
            cut_off.append(max(0, len(known_ids) - max_length) if max_length is not None else 0)
            # Positions are needed where something is cut off alone.
            known_positions = [position for position, index in enumerate(ids) if index] if cut_off[-1] else []
            rows.append(known_ids[:max_length] + self._compute_ngram_ids(words, known_positions, max_length))
        return rows, cut_off

    def _list_unsupported_options(self, text_pair: Any, options: EncodingOptions) -> dict[str, Any]:
        return {
            "a pair of texts (a classifier reads one)": text_pair is not None,
            'truncation="only_second"': options.truncation_strategy == TruncationStrategy.ONLY_SECOND,
        }

    def _encode_texts(self, text: Any, text_pair: Any, options: EncodingOptions) -> UnpaddedBatch:
        """Encode texts without padding them.

        Raises:
            TypeError: something that is not text.
            ValueError: an empty batch, a `max_length` without room for a word, or `padding="max_length"` where n-grams
                make a text longer than that.
        """
        max_length, split = options.max_length, options.is_split_into_words
        limit = None if options.truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        if limit is not None and limit < 1:
            raise ValueError(f"max_length={limit} leaves no word; expected at least 1")

        texts, batched = _to_text_list(text, split)
        columns: dict[str, list[Any]] = {"input_ids": []}
        if options.return_offsets_mapping:
            columns["offset_mapping"] = []
        if self.encoder_tokenizer is not None:
            columns[SUBWORDS] = []
        if options.return_overflowing_tokens:
            columns |= {"overflowing_tokens": [], "num_truncated_tokens": []}
        needs_encodings = options.return_offsets_mapping or self.encoder_tokenizer is not None
        needs_encodings = needs_encodings or not self._num_buckets
        encodings = self._pre_tokenize(texts, split) if needs_encodings else []
        if self.num_feature_ids:
            columns["feature_ids"] = [
                self._list_feature_ids(text, encoding, split)[:limit]
                for text, encoding in zip(texts, encodings, strict=True)
            ]
        for number, (words, ids) in enumerate(self._read_words(texts, split, encodings)):
            known_positions = [position for position, index in enumerate(ids) if index]
            kept_positions = known_positions[:limit]
            ngrams = self._compute_ngram_ids(words, known_positions, limit).tolist()
            columns["input_ids"].append([*_select_items(kept_positions, ids), *ngrams])
            if options.return_offsets_mapping:
                offsets = _select_items(kept_positions, encodings[number].offsets)
                columns["offset_mapping"].append([*offsets, *[NO_OFFSETS] * len(ngrams)])
            if self.encoder_tokenizer is not None:
                subwords = self._cut_text_into_subwords(texts[number], encodings[number], kept_positions)
                columns[SUBWORDS].append([*subwords, *[NO_SUBWORDS] * len(ngrams)])
            if options.return_overflowing_tokens:
                cut_off = len(known_positions) - len(kept_positions)
                columns["overflowing_tokens"].append(
                    _select_items(
                        known_positions[max(0, len(kept_positions) - options.stride) :] if cut_off else [], ids
                    )
                )
                columns["num_truncated_tokens"].append(cut_off)
        if options.return_attention_mask is not False:
            columns["attention_mask"] = [[1] * len(row) for row in columns["input_ids"]]
        if options.return_special_tokens_mask:
            columns["special_tokens_mask"] = [[0] * len(row) for row in columns["input_ids"]]
        padded_to_limit = options.padding_strategy == PaddingStrategy.MAX_LENGTH
        longest = max(map(len, columns["input_ids"]))
        if self._num_buckets and padded_to_limit and longest > (max_length or 0):
            raise ValueError(
                f"padding='max_length' with max_length={max_length}: with its n-grams a text has {longest} ids; "
                "use padding=True"
            )
        # Once words are removed, the backend's encodings count other positions.
        return UnpaddedBatch(columns, single=not batched, encodings=encodings if self.keeps_unknown else ())

    def _pad(
        self,
        encoded_inputs: Any,
        max_length: int | None = None,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
    ) -> Any:
        """Pad one text as transformers does, and offsets and features, which transformers leaves as they are."""
        self._refuse_left_padding(padding_side)
        padded = super()._pad(
            encoded_inputs, max_length, padding_strategy, pad_to_multiple_of, "right", return_attention_mask
        )
        if "offset_mapping" in padded:
            offsets = padded["offset_mapping"]
            padded["offset_mapping"] = [*offsets, *[NO_OFFSETS] * (len(padded["input_ids"]) - len(offsets))]
        if SUBWORDS in padded:
            subwords = list(padded[SUBWORDS])
            padded[SUBWORDS] = [*subwords, *[NO_SUBWORDS] * (len(padded["input_ids"]) - len(subwords))]
        if "feature_ids" in padded:
            features = padded["feature_ids"]
            missing = len(padded["input_ids"]) - len(features)
            padded["feature_ids"] = [*features, *([0] * NUM_FEATURES for _ in range(missing))]
        return padded

    def _pre_tokenize(self, texts: Sequence[Any], is_split_into_words: bool) -> list[Any]:
        """Return the backend's encodings, in which removed words are still there, with id 0."""
        # Otherwise "[PAD]" inside a word of the text would be cut out of it, as "[MASK]" should be.
        self._tokenizer.encode_special_tokens = self.mask_token is None
        if not (is_split_into_words and self.keeps_unknown):
            return self._encode_with_backend(texts, "text", is_split_into_words)
        own = self._tokenizer.pre_tokenizer
        self._tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        try:
            return self._encode_with_backend(texts, "text", is_split_into_words)
        finally:
            self._tokenizer.pre_tokenizer = own

    def _list_feature_ids(self, text: Any, encoding: Any, is_split_into_words: bool) -> list[list[int]]:
        """Return the ids (n, NUM_FEATURES) of the features of the words of a text or of a list of words."""
        places = zip(encoding.word_ids, encoding.offsets, strict=True)
        words = ((text[number] if is_split_into_words else text)[begin:end] for number, (begin, end) in places)
        return [self.look_up_feature_ids(word) for word in words]

    def _cut_text_into_subwords(self, entry: Any, encoding: Any, positions: list[int]) -> list[tuple[int, ...]]:
        """Return the encoder's sub-words of the words at some positions of a text, or of a list of words.

        A list counts as words with blanks between them, and a text too where the training read lists.
        """
        is_list, has_blanks = isinstance(entry, list), bool(self.init_kwargs.get("blanks_between_words"))
        words, after_blank, before = [], [], (0, 0)  # number of the list's entry, and where the word before ends
        for position in positions:
            begin, end = encoding.offsets[position]
            number = encoding.word_ids[position] if is_list else 0
            words.append((entry[number] if is_list else entry)[begin:end])
            after_blank.append(bool(words[1:]) and (has_blanks or (number, begin) > before))
            before = (number, end)
        return self.cut_into_subwords(words, after_blank)

    def _read_words(
        self, texts: Sequence[Any], is_split_into_words: bool, encodings: Sequence[Any]
    ) -> Iterator[tuple[list[str], list[int]]]:
        """Yield of each text its words, none where no n-grams are made of them, and the id of each word, 0: removed.

        Args:
            texts: Texts, or lists of words.
            is_split_into_words: Whether texts are lists of words.
            encodings: The backend's encodings of the texts; empty: ids are looked up here.
        """
        # Where unknown words are kept, the text "[PAD]" counts as unknown too.
        removed = self.unk_token_id if self.keeps_unknown else 0
        if not self._num_buckets:
            for encoding in encodings:
                yield [], [index or removed for index in encoding.ids] if removed else encoding.ids
            return
        cuts = self._get_kept_cuts()
        try:
            for number, text in enumerate(texts):
                words = list(chain.from_iterable(map(cuts.cut, text))) if is_split_into_words else cuts.cut(text)
                ids = encodings[number].ids if encodings else cuts.look_up(words)
                yield words, [index or removed for index in ids] if removed else ids
        except (TypeError, UnicodeEncodeError):
            self._pre_tokenize(texts, is_split_into_words)  # says which text cannot be read
            raise

    def _compute_ngram_ids(self, words: list[str], known_positions: list[int], limit: int | None) -> "array[int]":
        if not self._num_buckets:
            return array("i")
        # Words that were removed count in n-grams, those behind the last kept one do not.
        if limit is not None and len(known_positions) > limit:
            words = words[: known_positions[limit - 1] + 1]
        return self._get_kept_cuts().ngrams.encode(words)

    def _get_kept_cuts(self) -> "_KeptCuts":
        if self._kept_cuts is None:
            # Ids of n-grams begin behind those of words.
            sizes = self.ngram_buckets, self.ngram_order, self.char_ngrams, self.char_ngram_buckets
            self._kept_cuts = _KeptCuts(self._tokenizer, NgramIds(len(self), *sizes))
        return self._kept_cuts

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        known = self._tokenizer.get_vocab()
        unknown = [str(token) for token in new_tokens if str(token) not in known]
        if unknown:
            raise ValueError(
                f"cannot add {unknown}: the words are fixed, and ids after them are those of n-grams; build a "
                "tokenizer with these words, and train a model with it"
            )
        added: int = super()._add_tokens(new_tokens, special_tokens)
        return added


class KeptPieces(Generic[Value]):
    """What a function makes of the words of a text, kept for the pieces that texts repeat.

    A piece is what stands between blanks. The pre-tokenizers of `build_pre_tokenizer` cut a text at blanks, and look
    nowhere beyond them, so its words are those of its pieces; with another one each text is cut as a whole.

    Args:
        backend: Backend that cuts texts into words.
        convert: Function from the words of a piece, or of a text that is cut as a whole, to what is made of them.
    """

    def __init__(self, backend: Tokenizer, convert: Callable[[list[str]], Value]) -> None:
        self.backend = backend
        self._value_of_piece = KeptValues(self._convert_piece)
        self._convert = convert
        self._line_break: re.Pattern[str] | None = None
        self._cuts_pieces = self._leaves_pieces = False
        for name, lower_case, fold_digits in product(get_args(PreTokenizerName), (False, True), (False, True)):
            if _get_state(build_pre_tokenizer(lower_case, name, fold_digits)) == _get_state(backend):
                self._cuts_pieces = True
                self._leaves_pieces = name == "whitespace" and backend.normalizer is None
                if name != "whitespace":
                    self._line_break = re.compile(_BREAK_WITH_BLANK, re.IGNORECASE if lower_case else 0)

    def read(self, text: str) -> Iterator[Value]:
        """Return what is made of the words of a text, piece after piece."""
        if not self._cuts_pieces or any(blank in text for blank in _BLANKS_OF_PYTHON):
            return iter([self._convert(pre_tokenize(self.backend, text))])
        if self._line_break is not None and "<" in text:
            text = self._line_break.sub(" ", text)
        return map(self._value_of_piece.__getitem__, text.split())

    def _convert_piece(self, piece: str) -> Value:
        return self._convert([piece] if self._leaves_pieces else pre_tokenize(self.backend, piece))


class _KeptCuts:
    """Words of texts and ids of their n-grams, kept for pieces and words that texts repeat."""

    def __init__(self, backend: Tokenizer, ngrams: NgramIds) -> None:
        self.ngrams = ngrams
        self._index_of_word = backend.get_vocab()
        self._pieces: KeptPieces[list[str]] = KeptPieces(backend, list)

    def cut(self, text: str) -> list[str]:
        """Return all words of a text, known or not, as `pre_tokenize` does."""
        return list(chain.from_iterable(self._pieces.read(text)))

    def look_up(self, words: list[str]) -> list[int]:
        """Return the id of each word, 0 for those that are not in the vocabulary."""
        return list(map(self._index_of_word.get, words, repeat(0)))


def _get_state(backend: Tokenizer) -> tuple[str, str]:
    """Return what a backend does before it looks words up, as tokenizer.json has it."""
    parts = backend.normalizer, backend.pre_tokenizer
    return str(parts[0] and parts[0].__getstate__()), str(parts[1] and parts[1].__getstate__())


def build_word_tokenizer(
    words: Sequence[str],
    *,
    lower_case: bool = True,
    fold_digits: bool = False,
    keep_unknown: bool = False,
    pre_tokenizer: PreTokenizerName = "whitespace",
    exceptions: Sequence[str] = (),
    mask_token: bool = False,
    ngram_buckets: int = 0,
    ngram_order: int = 1,
    char_ngrams: tuple[int, int] | None = None,
    char_ngram_buckets: int = 0,
    encoder_tokenizer: Tokenizer | None = None,
    features: Sequence[str] = (),
    **kwargs: Any,
) -> WordTokenizer:
    """Return a tokenizer with the given words.

    Args:
        words: Words of the vocabulary in the order of their ids; `words[0]` has id 1, or 2 with `keep_unknown` or
            `mask_token`; id 0 is "[PAD]".
        lower_case: Whether texts are lower-cased; offsets still refer to the original text.
        fold_digits: Whether every digit is replaced by 0, so that numbers of one length are one word.
        keep_unknown: Whether unknown words get id 1, "[UNK]"; otherwise they are removed.
        pre_tokenizer: Pre-tokenizer: "whitespace", "english" or another rule of `build_pre_tokenizer`.
        exceptions: Words that the pre-tokenizer leaves whole, though its rule would cut them.
        mask_token: Whether "[MASK]" in a text has the id 1, for models that predict words.
        ngram_buckets: Number of ids that hashed n-grams share, after those of the words.
        ngram_order: Number of words in the longest n-gram; 1: no n-grams.
        char_ngrams: Smallest and largest number of characters of a character n-gram, as minn and maxn of fastText;
            None: none.
        char_ngram_buckets: Number of ids for character n-grams alone; 0: they share those of the other n-grams.
        encoder_tokenizer: Tokenizer of an encoder that reads the words; it needs `keep_unknown`, since the encoder
            reads unknown words too. None: there is no encoder.
        features: Features of words that have an id, as `find_word_features` gives them; none: words have no features.
        kwargs: Arguments of the tokenizer class, for example `model_max_length`, or `blanks_between_words`: whether an
            encoder reads a text as if there were blanks between all of its words.

    Raises:
        ValueError: a word twice, or one that no text can give (empty, with whitespace, not lower-cased, with other
            digits than 0 where they are folded, cut further by the rules for English, "[PAD]", "[MASK]"); buckets
            without n-grams or n-grams without buckets; n-grams with `mask_token`, or with `keep_unknown` where no
            encoder reads the words; `keep_unknown` with `mask_token`; an encoder or features without `keep_unknown`;
            sizes out of range; an unknown pre-tokenizer.
    """
    pre_tokenizer = kwargs.pop("cutter", pre_tokenizer)  # its name in earlier versions
    _check_ngrams(ngram_buckets, ngram_order, char_ngrams, char_ngram_buckets)
    if keep_unknown and mask_token:
        raise ValueError("keep_unknown is for taggers, mask_token for models that predict words; take one of them")
    if mask_token and (ngram_buckets or char_ngram_buckets):
        raise ValueError("n-grams would tell of a masked word; leave out either mask_token or the n-grams")
    if encoder_tokenizer is not None and not keep_unknown:
        raise ValueError("an encoder reads unknown words too: set keep_unknown=True beside encoder_tokenizer")
    if keep_unknown and encoder_tokenizer is None and (ngram_buckets or char_ngram_buckets):
        raise ValueError(
            f"keep_unknown with ngram_buckets={ngram_buckets}, char_ngram_buckets={char_ngram_buckets}: where unknown "
            "words are kept every id is one word's; set the buckets to 0"
        )
    if features and not keep_unknown:
        raise ValueError(
            f"{len(features)} features of words without keep_unknown; only taggers, which keep all, have them"
        )
    # Words of sentences that are cut already may be others than the pre-tokenizer gives.
    own = build_pre_tokenizer(lower_case, pre_tokenizer, fold_digits, exceptions=exceptions)
    backend = build_pre_tokenizer(lower_case, fold_digits=fold_digits) if keep_unknown else own
    special = (PAD_TOKEN, *([UNK_TOKEN] if keep_unknown else []), *([MASK_TOKEN] if mask_token else []))
    vocabulary = {token: index for index, token in enumerate(special)}
    for word in words:
        pieces = pre_tokenize(backend, word)
        if pieces != [word]:
            raise ValueError(
                f"no text can give the word {word!r}: with lower_case={lower_case}, fold_digits={fold_digits} and the "
                f"pre-tokenizer {pre_tokenizer!r} it is cut into {pieces}; leave it out"
            )
        if word in vocabulary:
            index = vocabulary[word]
            reason = f"is the name of id {index}" if word in special else f"has the id {index} already"
            raise ValueError(f"word {word!r} {reason}; leave it out")
        vocabulary[word] = len(vocabulary)
    backend.model = WordLevel(vocabulary, unk_token=UNK_TOKEN if keep_unknown else PAD_TOKEN)
    backend.pre_tokenizer = own.pre_tokenizer
    with_features = {
        "features": list(features),
        "model_input_names": [*WordTokenizer.model_input_names, "feature_ids"],
    }
    return WordTokenizer(
        **{
            "tokenizer_object": backend,
            "pad_token": PAD_TOKEN,
            **({"unk_token": UNK_TOKEN} if keep_unknown else {}),
            **({"mask_token": MASK_TOKEN} if mask_token else {}),
            "split_special_tokens": not mask_token,  # False lets "[MASK]" in a text have its id
            "ngram_buckets": ngram_buckets,
            "ngram_order": ngram_order,
            "char_ngrams": None if char_ngrams is None else list(char_ngrams),
            "char_ngram_buckets": char_ngram_buckets,
            **({} if encoder_tokenizer is None else {"encoder_tokenizer": encoder_tokenizer}),
            **(with_features if features else {}),
            **kwargs,
        }
    )


def build_pre_tokenizer(
    lower_case: bool,
    pre_tokenizer: PreTokenizerName = "whitespace",
    fold_digits: bool = False,
    *,
    exceptions: Sequence[str] = (),
) -> Tokenizer:
    """Return a backend without words that cuts text as `WordTokenizer` does; a trainer can count words with it.

    Args:
        lower_case, fold_digits: Whether text is lower-cased, and whether each digit becomes 0.
        pre_tokenizer: Rule by which text is cut. "whitespace"; "english", see `build_english_pre_tokenizer`;
            "treebank", the same, with hyphens, slashes and other single signs inside of words; "words", as that, with
            contractions whole; "signs", letters and digits together, each sign alone; "unspaced", each character alone
            in scripts without blanks such as Chinese, all else as "english"; "characters", each character alone.
        exceptions: Words that stay whole, though the rule would cut them.

    Raises:
        ValueError: an unknown pre-tokenizer.
    """
    if pre_tokenizer not in get_args(PreTokenizerName):
        raise ValueError(f"pre_tokenizer is {pre_tokenizer!r}; expected one of {', '.join(get_args(PreTokenizerName))}")
    backend = Tokenizer(WordLevel({PAD_TOKEN: 0}, unk_token=PAD_TOKEN))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lower_case else []
    if fold_digits:
        steps.append(normalizers.Replace(Regex(r"\p{Nd}"), "0"))
    if steps:
        backend.normalizer = steps[0] if len(steps) == 1 else normalizers.Sequence(steps)
    patterns = {
        **{"english": WORD, "treebank": _TREEBANK, "words": _WORDS, "signs": _SIGNS_ALONE},
        **{"unspaced": _UNSPACED_SCRIPTS, "characters": _CHARACTER},
    }
    if pre_tokenizer == "whitespace":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        normalize = backend.normalizer.normalize_str if steps else str
        backend.pre_tokenizer = _build_pattern_pre_tokenizer(
            patterns[pre_tokenizer], list(dict.fromkeys(map(normalize, exceptions)))
        )
    return backend


def build_english_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer for words, numbers and signs of English text.

    White space and line breaks in HTML or as "\\n" are left out.

    As in spaCy contractions are split (do|n't, it|'s, can|not), hyphens and slashes between letters are words, and
    abbreviations keep their period (U.S., Mr.). A text reads the same in capitals and in small letters, so what spaCy
    decides by capitals is decided by lengths: film.The is three words, U.S.A one. Unlike spaCy it cuts at
    brackets, quotes and backslashes inside of words.
    """
    return _build_pattern_pre_tokenizer(WORD, ())


def _build_pattern_pre_tokenizer(pattern: str, exceptions: Sequence[str]) -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer whose words fit a pattern, or are exceptions that no letters or digits stand beside."""
    if exceptions:
        longest_first = sorted(exceptions, key=lambda word: (-len(word), word))
        escaped = "|".join("".join(f"\\x{{{ord(sign):x}}}" for sign in word) for word in longest_first)
        pattern = rf"(?<!{_ALNUM})(?:{escaped}){_END}|{pattern}"
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LINE_BREAK), "removed"),
            pre_tokenizers.Split(Regex(pattern), "removed", invert=True),
        ]
    )


def pre_tokenize(backend: Tokenizer, text: str) -> list[str]:
    """Return all words of a text, known or not, as the backend normalises them."""
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]


def _check_ngrams(buckets: int, order: int, char_ngrams: tuple[int, int] | None, char_buckets: int) -> None:
    for name, value in (("ngram_buckets", buckets), ("char_ngram_buckets", char_buckets)):
        if value < 0:
            raise ValueError(f"{name} is {value}; expected 0 (no n-grams) or more")
    if order < 1:
        raise ValueError(f"ngram_order is {order}; expected 1 (no n-grams of words) or more")
    if char_ngrams is not None and not (len(char_ngrams) == 2 and 1 <= char_ngrams[0] <= char_ngrams[1]):
        raise ValueError(f"char_ngrams is {char_ngrams}; expected two sizes such as (3, 5), the smaller first")
    if char_buckets and char_ngrams is None:
        raise ValueError(f"char_ngram_buckets={char_buckets} would stay empty; set char_ngrams, for example (3, 5)")
    needs_buckets = order > 1 or (char_ngrams is not None and not char_buckets)
    if needs_buckets and not buckets:
        raise ValueError(f"ngram_order={order}, char_ngrams={char_ngrams} need ngram_buckets above 0")
    if buckets and not needs_buckets:
        raise ValueError(f"ngram_buckets={buckets} would stay empty; set ngram_order above 1 or char_ngrams")


def _select_items(positions: list[int], items: list[Any]) -> list[Any]:
    return [items[position] for position in positions]


def _to_text_list(value: Any, is_split_into_words: bool) -> tuple[list[Any], bool]:
    """Return the texts, and whether they came as a batch."""

    def is_text(entry: Any) -> bool:
        if is_split_into_words:
            return isinstance(entry, (list, tuple)) and all(isinstance(word, str) for word in entry)
        return isinstance(entry, str)

    if is_text(value):
        return [list(value) if is_split_into_words else value], False
    if isinstance(value, (list, tuple)) and all(map(is_text, value)):
        if not value:
            raise ValueError("no text in the batch")
        return [list(entry) if is_split_into_words else entry for entry in value], True
    expected = "a list of words" if is_split_into_words else "a string"
    kind = type(value).__name__
    if isinstance(value, (list, tuple)):
        wrong = next(number for number, entry in enumerate(value) if not is_text(entry))
        kind = f"{type(value[wrong]).__name__} as number {wrong} of a {kind}"
    raise TypeError(f"a text must be {expected}, a batch a list of such; got {kind}")
