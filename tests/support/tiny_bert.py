"""A tiny BERT with random weights, and its tokenizer, as a checkpoint folder of transformers."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # ids 0 to 4
PIECES = ("the", "screen", "not", "is", "good", "##s")


def tiny_tokenizer() -> BertTokenizerFast:
    """WordPiece over a few words."""
    return BertTokenizerFast({piece: index for index, piece in enumerate((*SPECIAL, *PIECES))})


def save_tiny_bert(folder: Path) -> Path:
    """Write an encoder without a classification head, and its tokenizer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(PIECES),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder
