"""What the configurations of models that read the words of texts, and of those that classify them, have in common."""

from types import MappingProxyType

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE, ZooConfig


@strict
class TextConfig(ZooConfig):
    """The base of the configurations of models that read words.

    Words enter as vectors of a table, side by side with sinusoids of their positions: m = v + p numbers for each.

    Args:
        vocab_size: Size of the vocabulary, rows of the word table; id 0 is padding.
        word_dim: Width v of the word vectors.
        position_dim: Width p of the sinusoids that are concatenated to the word vectors; 0: no positions.
        freeze_embeddings: Whether the word vectors are frozen.
        embedding_seed: Seed of frozen word vectors, which are recomputed from it and not saved. None: the table is
            drawn like other weights, or set from outside, and saved.
        embedding_bound: Bound of the uniform distribution U(-bound, bound) from which word vectors are drawn.
        trained_words: Number of first rows of a table of given word vectors to which training adds a difference; all
            rows have a fixed int8 vector, `layers_text_input.PretrainedEmbedding` [ours]. None: no given vectors.
    """

    largest = MappingProxyType({"embedding_seed": 2**63 - 1, "trained_words": LARGEST_TABLE})
    nominal_sizes = MappingProxyType({"vocab_size": 2})

    vocab_size: int = 10_000
    word_dim: int = 250
    position_dim: int = 20
    freeze_embeddings: bool = False
    embedding_seed: int | None = 0
    embedding_bound: float | int = 1.0
    trained_words: int | None = None
    pad_token_id: int = 0

    @property
    def num_words(self) -> int:
        """The number of rows of the word table, padding among them."""
        return self.vocab_size

    @property
    def hidden_size(self) -> int:
        """The width m = v + p of a token: its word vector and its position."""
        return self.word_dim + self.position_dim

    def validate_words(self) -> None:
        """Check the size and the bound of the word table and the width of positions."""
        self.check_at_least_one("vocab_size", "word_dim")
        if self.position_dim < 0 or self.position_dim % 2:
            raise ValueError(
                f"position_dim must be even (sines and cosines in pairs), 0 for no positions; got {self.position_dim}"
            )
        if self.embedding_bound <= 0:
            raise ValueError(f"embedding_bound must be above 0, got {self.embedding_bound}")
        if self.trained_words is not None and not 1 <= self.trained_words <= self.num_words:
            raise ValueError(
                f"trained_words must be from 1 (padding) to the {self.num_words} words, got {self.trained_words}"
            )


@strict
class TextClassifierConfig(TextConfig):
    """The base of the configurations of models that classify texts.

    Args:
        wide_buckets: Number of ids of hashed n-grams, the last ones, for the wide part of a classifier: a linear
            classifier on TF-IDF whose scores are added to those of the network (Cheng et al. 2016); 0: no wide part
            [ours].
        wide_char_buckets: Number of these ids, the last ones, that belong to character n-grams; their part of the
            TF-IDF vector is normalised by itself [ours].
        wide_ids: Number of ids that the wide part has weights of, kept as int8; the others count nothing. None: all
            have float weights, which training changes [ours].
        wide_dropout: Rate at which the wide part is left out of a text's scores in training; 1: always, so that the
            network learns by itself [ours].
        deep_scale: Factor of the network's scores where those of the wide part are added [ours].
        label_threshold: Probability from which a label is predicted where a text may have several; None: .5 [ours].
        unsure_below: Probability of a prediction below which `ctxzoo predict --unsure auto` calls it unsure, chosen on
            validation; None: not chosen [ours].
    """

    takes_several_labels = True
    largest = MappingProxyType(dict.fromkeys(("wide_buckets", "wide_char_buckets", "wide_ids"), LARGEST_TABLE))

    wide_buckets: int = 0
    wide_char_buckets: int = 0
    wide_ids: int | None = None
    wide_dropout: float | int = 0.0
    deep_scale: float | int = 1.0
    label_threshold: float | None = None
    unsure_below: float | None = None

    @property
    def num_words(self) -> int:
        """The number of ids that stand for words, without those of the wide part."""
        return self.vocab_size - self.wide_buckets

    @property
    def wide_group_starts(self) -> list[int]:
        """The first id of each group of ids whose part of the TF-IDF has length 1."""
        return [0, self.vocab_size - self.wide_char_buckets] if self.wide_char_buckets else [0]

    def validate_wide(self) -> None:
        """Check that the ids of the wide part fit the vocabulary, its dropout rate and scale, and thresholds."""
        self.check_probabilities("label_threshold", "unsure_below")
        if not 0 <= self.wide_buckets < self.vocab_size:
            raise ValueError(
                f"wide_buckets must be at least 0 and below vocab_size = {self.vocab_size}, got {self.wide_buckets}"
            )
        if not 0 <= self.wide_char_buckets <= self.wide_buckets:
            raise ValueError(
                f"wide_char_buckets must be from 0 to wide_buckets = {self.wide_buckets}, got {self.wide_char_buckets}"
            )
        if self.wide_ids is not None and not 0 <= self.wide_ids <= self.vocab_size:
            raise ValueError(f"wide_ids must be from 0 to vocab_size = {self.vocab_size}, got {self.wide_ids}")
        if not 0 <= self.wide_dropout <= 1:
            raise ValueError(f"wide_dropout must be from 0 to 1, got {self.wide_dropout}")
        if self.deep_scale < 0:
            raise ValueError(f"deep_scale must be 0 or more, got {self.deep_scale}")
