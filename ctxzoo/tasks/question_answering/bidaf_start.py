"""What is known of a reader of the BiDAF family by its checkpoint, from which a training goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transformers import AutoConfig
from transformers.utils import cached_file

from ctxzoo.hub.card_parts import parse_settings_table
from ctxzoo.hub.folder_files import CARD
from ctxzoo.hub.saved_model import locate_checkpoint
from ctxzoo.models.configuration_bidaf import EXTENSIONS, BidafConfig

LEARNED = "learned"
UNKNOWN_VECTORS = "of the checkpoint"
# Fields by which the named variants differ from each other, and from settings that have no name.
_OF_VARIANTS = ("position_embedding", "self_attention", "position_scale", "self_attention_residual")


@dataclass(frozen=True)
class BidafCheckpoint:
    """What results say of a reader.

    Attributes:
        variant: Name of the variant in `BidafConfig.variants`; empty: the settings match none, and none was required.
        extensions: Names of the options beyond the paper that are switched on, keys of `EXTENSIONS`, sorted.
        query_to_context, squad_version, hidden_size, dropout: Fields of the checkpoint's `BidafConfig`: kind of
            attention, version of SQuAD, width, dropout rate.
        word_vectors: Name of the pretrained word vectors that it keeps unchanged, "of the checkpoint" where the model
            card names none, or "learned".
    """

    variant: str
    extensions: tuple[str, ...]
    query_to_context: str
    squad_version: str
    hidden_size: int
    dropout: float
    word_vectors: str


def read_bidaf_checkpoint(path: str, *, needs_variant: bool = True) -> BidafCheckpoint:
    """Read from a BiDAF checkpoint what a training that continues from it needs: config, variant and word vectors.

    Args:
        path: Checkpoint folder or Hub id.
        needs_variant: Whether settings that match no named variant are an error.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: it is of another architecture, or its settings are those of no named variant.
    """
    path = locate_checkpoint(path)
    config = AutoConfig.from_pretrained(path)
    if not isinstance(config, BidafConfig):
        raise ValueError(
            f"{path} is a checkpoint of model type {config.model_type!r}; expected {BidafConfig.model_type!r}"
        )
    return BidafCheckpoint(
        variant=_find_variant(config, path) if needs_variant else "",
        extensions=tuple(sorted(name for name in EXTENSIONS if getattr(config, name))),
        query_to_context=config.query_to_context,
        squad_version=config.squad_version,
        hidden_size=config.hidden_size,
        dropout=config.dropout,
        word_vectors=LEARNED if config.train_word_embeddings else _read_vectors_name(path),
    )


def _find_variant(config: BidafConfig, path: str) -> str:
    """Return the name of the BiDAF variant that has the fields of a configuration; `path` names the checkpoint in
    errors.
    """
    for name, fields in BidafConfig.variants.items():
        plain = BidafConfig(**fields)
        same = all(getattr(config, key) == getattr(plain, key) for key in _OF_VARIANTS)
        if same and config.char_kernel_size * bool(config.char_vocab_size) == fields.get("char_kernel_size", 0):
            return name
    raise ValueError(f"the settings of {path} are those of no named variant ({', '.join(BidafConfig.variants)})")


def _read_vectors_name(path: str) -> str:
    """Return the name of the word vectors that the model card beside a checkpoint tells."""
    card = cached_file(path, CARD, _raise_exceptions_for_missing_entries=False)
    settings = {} if card is None else parse_settings_table(Path(card).read_text(encoding="utf-8"))
    name = settings.get("word_vectors", LEARNED)
    return UNKNOWN_VECTORS if name == LEARNED else name  # older cards call given vectors of a continued run learned
