"""The configuration of the BiLSTM tagger."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_TABLE
from .configuration_pretrained_encoder import PretrainedEncoderConfig
from .configuration_text import TextConfig


@strict
class BilstmTaggerConfig(PretrainedEncoderConfig, TextConfig):
    """A tagger of words: a bidirectional LSTM over word vectors (Ling et al. 2015).

    The defaults are the paper's. The fields of `TextConfig` and `PretrainedEncoderConfig` come first; `num_labels` is
    the number of tags.

    Args:
        recurrent_size: Hidden size h of each direction of the LSTM.
        projection_size: Width d_l of the tanh layer that joins the two directions.
        embedding_dropout: Dropout rate on the word vectors [ours].
        hidden_dropout: Dropout rate on the states of the LSTM and on the tanh layer [ours].
        crf: Whether a linear-chain CRF stands above the scores of words (Lafferty et al. 2001) [ours].
        num_features: Number of ids of features of words, such as endings and shapes, 0 (padding) among them; 0: none
            [ours].
        feature_dim: Width of the vectors of features, where words have some, whose sum stands beside the word vector;
            0: the LSTM reads no features [ours].
        feature_dropout: Rate at which single features are left out of the wide part in training [ours].
        wide_window: Number of words on each side whose features and given vectors (see `trained_words`) a wide part
            reads: scores linear in them are added to those of the network (Cheng et al. 2016); None: no wide part
            [ours].
        wide_dropout: Rate at which the wide part is left out of the scores of a sentence in training [ours].
        scheme: Scheme of spans that predicted sequences of tags keep, IOB1, IOB2, BIOES or BILOU; None: a tag may
            follow any other [ours].
    """

    model_type = "ctxzoo_bilstm_tagger"
    largest = MappingProxyType({"num_features": LARGEST_TABLE, "wide_window": 100})

    word_dim: int = 50
    position_dim: int = 0
    embedding_bound: float | int = 0.1
    recurrent_size: int = 50
    projection_size: int = 50
    embedding_dropout: float | int = 0.0
    hidden_dropout: float | int = 0.0
    num_features: int = 0
    feature_dim: int = 0
    feature_dropout: float | int = 0.0
    wide_window: int | None = None
    wide_dropout: float | int = 0.0
    crf: bool = False
    scheme: Literal["IOB1", "IOB2", "BIOES", "BILOU"] | None = None

    @property
    def decoding_scheme(self) -> Literal["IOB1", "IOB2", "BIOES", "BILOU"] | None:
        """The scheme, None where the labels have no names but those that transformers gives."""
        is_named = any(name != f"LABEL_{number}" for number, name in self.id2label.items())
        return self.scheme if is_named else None

    @property
    def decodes_sequences(self) -> bool:
        """Whether the tags of a sentence are chosen together."""
        return self.crf or self.scheme is not None

    def validate_sizes(self) -> None:
        """Check that the widths of LSTM and projection are at least 1."""
        self.check_at_least_one("recurrent_size", "projection_size")

    def validate_rates(self) -> None:
        """Check the dropout rates."""
        self.check_dropout_rates("embedding_dropout", "hidden_dropout", "feature_dropout", "wide_dropout")

    def validate_features(self) -> None:
        """Check the numbers of features and of words beside a word."""
        for name in ("num_features", "feature_dim", "wide_window"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must be 0 or more, got {getattr(self, name)}")
