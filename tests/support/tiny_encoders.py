"""Small random encoders of four kinds, with tokenizers of their own, as folders of transformers."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from transformers import (
    AutoModel,
    BertConfig,
    DistilBertConfig,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    set_seed,
)

KINDS = ("bert", "roberta", "distilbert", "modernbert")
CORPUS = (
    "a good film, not a bad one .",
    "the worst film of the year was good for nothing !",
    "who built the lighthouse at the coast ? the engineer did .",
)


def build_encoder(folder: Path, kind: str, corpus: Any = CORPUS, width: int = 8, positions: int = 40) -> str:
    """Write a random encoder and its tokenizer to a folder, and return the folder's name."""
    is_wordpiece = kind in ("bert", "distilbert")
    tokenizer = (_build_wordpiece if is_wordpiece else _build_byte_level)(corpus, positions)
    ids = {"pad_token_id": tokenizer.pad_token_id}
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": positions, **ids}
    usual = {"hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": width}
    special = {"bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    config: Any
    if kind == "bert":
        config = BertConfig(**sizes, **usual)
    elif kind == "distilbert":
        config = DistilBertConfig(**sizes, dim=width, n_layers=1, n_heads=2, hidden_dim=width)
    elif kind == "roberta":  # whose positions begin behind the row of padding
        config = RobertaConfig(**{**sizes, "max_position_embeddings": positions + 2}, **usual)
    else:
        config = ModernBertConfig(**sizes, **usual, **special, local_attention=16)
    set_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _build_wordpiece(corpus: Any, positions: int) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(corpus, WordPieceTrainer(vocab_size=80, special_tokens=names, show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokens = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=positions, **tokens)


def _build_byte_level(corpus: Any, positions: int) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = BpeTrainer(vocab_size=320, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokens = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=positions, **tokens)
