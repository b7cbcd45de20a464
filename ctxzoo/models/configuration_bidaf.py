"""The configuration of BiDAF and its variants."""

from types import MappingProxyType
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import OfVariant
from .configuration_pretrained_encoder import PretrainedEncoderConfig

WORD_FEATURES = 12  # numbers beside each word, as `WordCharTokenizer` gives them


@strict
class BidafConfig(PretrainedEncoderConfig):
    """BiDAF with positions, self-attention and characters in front of the highway layer (Patel 2022).

    The defaults are the paper's baseline: word vectors, highway, BiLSTM, attention flow, modelling, pointers.
    `variants` names the rows of the paper's table, and three variants of ours. The fields of `PretrainedEncoderConfig`
    come first.

    Args:
        vocab_size: Size of the vocabulary, rows of the word table; row 0 is padding, row 1 unknown words (both zero
            with pretrained vectors).
        word_embedding_size: Width of the word vectors (GloVe 840B: 300).
        train_word_embeddings: Whether the word vectors are trained.
        hidden_size: Hidden size h, the width of the projection and of each LSTM direction.
        dropout: Dropout rate, at all places where the paper has dropout.
        position_embedding: Position embedding: none, sinusoidal (Vaswani et al.) or learned (a table, U(-1/sqrt(h),
            1/sqrt(h)) at the start).
        max_position_embeddings: Number of rows of the learned position table; longer inputs are an error.
        trained_positions: Number of positions that training reached: words of the longest training text and the extra
            token. Later rows of the learned table are untrained. None: unknown.
        position_scale: Factor of the sinusoids [ours]; 1 in the paper, 0 leaves only the dropout behind them.
        self_attention: Whether the projected words pass one head of self-attention without residual, norm and output
            map, as the paper literally has it.
        self_attention_residual: Whether that self-attention has a residual path and a LayerNorm [ours].
        char_vocab_size: Number of rows of the character table (0 padding, 1 unknown); 0: there is no character CNN.
        char_embedding_size, char_channels, char_kernel_size: Width of a character vector, number of filters and width w
            of the filters.
        max_word_length: Number L of characters to which words are cut.
        num_highway_layers: Number of layers of the highway network.
        query_to_context: Query-to-context attention: coattention (the paper's, after the Stanford course's starter
            code) or max (Seo et al. 2017).
        squad_version: Version of SQuAD: "2.0" may answer "no answer" (position 0), "1.1" never does.
        max_answer_length: Longest answer in words that decoding considers.
        no_answer_threshold: Threshold in [0, 1]: the answer is "no answer" when p_na / (p_na + p_span) exceeds it,
            p_span being the best span's probability; tuned on validation by the recipe. None: 0.5.
        word_features: Whether each word has features beside its vector: exact match with the other text in three forms,
            term frequency and word shape [ours].
        context_self_attention: Whether there is self-attention after the attention flow (Clark and Gardner 2018)
            [ours].
    """

    model_type = "ctxzoo_bidaf"
    encoder_width_field = "word_embedding_size"
    former_fields = MappingProxyType(
        {
            "scale_embeddings": 1.0,
            "num_word_features": WORD_FEATURES,
            "condition_end_on_start": False,
            "no_answer_head": False,
            "variational_dropout": False,
        }
    )
    largest = MappingProxyType(
        {
            "max_position_embeddings": 10_000_000,
            "trained_positions": 10_000_000,
            "char_vocab_size": 2_000_000,
            "char_kernel_size": 1000,
            "max_word_length": 1000,
            "max_answer_length": 10_000,
            "num_highway_layers": 1000,
        }
    )
    # The rows of the paper's table. `char_kernel_size` stands for a variant with characters: whoever builds the config
    # adds the sizes that come from data (vocab_size, word_embedding_size, char_vocab_size).
    variants = MappingProxyType(
        {
            "baseline": {},
            "sinusoidal": {"position_embedding": "sinusoidal"},
            "learned": {"position_embedding": "learned"},
            "learned_attention": {"position_embedding": "learned", "self_attention": True},
            "learned_char3": {"position_embedding": "learned", "char_kernel_size": 3},
            "learned_char7": {"position_embedding": "learned", "char_kernel_size": 7},
            "learned_char9": {"position_embedding": "learned", "char_kernel_size": 9},
            # The next ones are ours and in no row of the paper: characters without learned positions; the dropout that
            # positions bring along, without the positions; self-attention with a path around it.
            "char7": {"char_kernel_size": 7},
            "second_dropout": {"position_embedding": "sinusoidal", "position_scale": 0},
            "learned_attention_residual": {
                "position_embedding": "learned",
                "self_attention": True,
                "self_attention_residual": True,
            },
        }
    )
    nominal_sizes = MappingProxyType({"vocab_size": 2, "word_embedding_size": 300, "char_vocab_size": 100})

    vocab_size: int = 2
    word_embedding_size: int = 300
    train_word_embeddings: bool = False
    hidden_size: int = 100
    dropout: float | int = 0.2
    position_embedding: Literal["none", "sinusoidal", "learned"] = "none"
    max_position_embeddings: int = 1024
    trained_positions: int | None = None
    position_scale: float | int = 1.0
    self_attention: bool = False
    self_attention_residual: bool = False
    char_vocab_size: int = 0
    char_embedding_size: int = 64
    char_channels: int = 100
    char_kernel_size: int = 7
    max_word_length: int = 16
    num_highway_layers: int = 2
    query_to_context: Literal["coattention", "max"] = "coattention"
    squad_version: Literal["1.1", "2.0"] = "2.0"
    max_answer_length: int = 15
    no_answer_threshold: float | None = None
    word_features: bool = False
    context_self_attention: bool = False

    @classmethod
    def of_variant(cls: type[OfVariant], name: str, **changes: Any) -> OfVariant:
        """Return the configuration of one of `variants`, as `ZooConfig.of_variant` does.

        Variants with characters need a `char_vocab_size` among the `changes`; the others ignore it.

        Raises:
            ValueError: an unknown variant name, or no `char_vocab_size` for a variant with characters.
        """
        if "char_kernel_size" not in cls.variants.get(name, {}):
            changes.pop("char_vocab_size", None)
        elif "char_vocab_size" not in changes:
            raise ValueError(f"variant {name!r} reads characters; give char_vocab_size, how many there are")
        return super().of_variant(name, **changes)

    def validate_sizes(self) -> None:
        """Check that every size is positive and the dropout rate a probability."""
        self.check_at_least_one(
            "word_embedding_size",
            "hidden_size",
            "max_position_embeddings",
            "char_embedding_size",
            "char_channels",
            "char_kernel_size",
            "max_word_length",
            "max_answer_length",
        )
        if self.vocab_size < 2:
            raise ValueError(f"vocab_size must be at least 2 (padding and unknown), got {self.vocab_size}")
        if self.trained_positions is not None:
            self.check_at_least_one("trained_positions")
        if self.char_vocab_size != 0 and self.char_vocab_size < 2:
            raise ValueError(f"char_vocab_size must be 0 (no characters) or at least 2, got {self.char_vocab_size}")
        self.check_not_negative("num_highway_layers")
        self.check_dropout_rates("dropout")
        if self.no_answer_threshold is not None and not 0 <= self.no_answer_threshold <= 1:
            raise ValueError(f"no_answer_threshold must be in [0, 1], or null; got {self.no_answer_threshold}")

    def validate_combinations(self) -> None:
        """Check the settings that only mean something together."""
        if self.self_attention_residual and not self.self_attention:
            raise ValueError("self_attention_residual=True needs self_attention=True")
        if self.position_embedding == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(f"sinusoidal positions need an even hidden_size, got {self.hidden_size}")
        if self.char_vocab_size and self.char_kernel_size > self.max_word_length:
            raise ValueError(
                f"char_kernel_size {self.char_kernel_size} is wider than max_word_length {self.max_word_length}"
            )


# The options beyond the paper that gained, each of them an ablation of its own against learned_char7.
EXTENSIONS = ("context_self_attention", "word_features")
