"""An encoder of the Hub that reads the words of a model: its configuration, its tokenizer, its weights."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, AutoTokenizer, TokenizersBackend

from ctxzoo.data.notices import format_error_on_one_line, hide_weight_progress_bars
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.text_encoding import EncodedTexts
from ctxzoo.models.configuration_pretrained_encoder import check_is_encoder
from ctxzoo.models.layers_pretrained_encoder import EncoderWords
from ctxzoo.models.ops_subwords import MOST_SUBWORDS

# Fields of an encoder's configuration that say nothing of how it reads a text.
_LEFT_OUT = frozenset(
    {
        *("_name_or_path", "architectures", "auto_map", "dtype", "finetuning_task", "id2label", "label2id"),
        *("problem_type", "task_specific_params", "torch_dtype", "transformers_version"),
    }
)


@dataclass(frozen=True)
class WordEncoder:
    """An encoder that reads the words of a model.

    Attributes:
        name: Folder or Hub id of the encoder.
        config: Fields of its configuration, with the ids of its special tokens: `encoder_config` of a model.
        tokenizer: Tokenizer of the encoder, as the tokenizers library has it.
    """

    name: str
    config: dict[str, Any]
    tokenizer: Tokenizer

    @property
    def width(self) -> int:
        """The number of numbers in a state of the encoder."""
        width: int = AutoConfig.for_model(**self.config).hidden_size
        return width

    @property
    def capacity(self) -> int:
        """The number of sub-words that the encoder reads at once."""
        with torch.device("meta"):
            return EncoderWords(AutoConfig.for_model(**self.config), 1, trainable=False).capacity


@lru_cache(maxsize=4)
def read_word_encoder(name: str) -> WordEncoder:
    """Return an encoder of the Hub or of a folder, without its weights.

    Raises:
        OSError: there is no such folder, and the Hub does not deliver it.
        ValueError: a model that is no encoder; a tokenizer that is not fast, or does not put one special token before
            a text and one behind it.
    """
    config = _read_from_hub(AutoConfig, name)
    check_is_encoder(config, f"encoder {name!r}")
    tokenizer = _read_from_hub(AutoTokenizer, name)
    if not isinstance(tokenizer, TokenizersBackend):
        raise ValueError(
            f"encoder {name!r} has a {type(tokenizer).__name__}, which is not one of the tokenizers library; "
            "expected a fast tokenizer, with a file tokenizer.json"
        )
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    alone, whole = (backend.encode("a", add_special_tokens=special).ids for special in (False, True))
    if not alone or len(whole) != len(alone) + 2 or whole[1:-1] != alone:
        raise ValueError(
            f"encoder {name!r} reads 'a' as the tokens {backend.encode('a').tokens}; expected one special token "
            "before a text and one behind it"
        )
    padding = tokenizer.pad_token_id if config.pad_token_id is None else config.pad_token_id
    if padding is None:
        raise ValueError(f"encoder {name!r} has no token for padding, neither its model nor its tokenizer")
    special = {"cls_token_id": whole[0], "sep_token_id": whole[-1], "pad_token_id": padding}
    if max(backend.get_vocab().values()) >= config.vocab_size:
        raise ValueError(
            f"the tokenizer of encoder {name!r} gives ids up to {max(backend.get_vocab().values())}, but its model "
            f"has {config.vocab_size} rows: they do not belong together"
        )
    fields = {key: value for key, value in config.to_dict().items() if key not in _LEFT_OUT}
    return WordEncoder(name, {**fields, **special}, backend)


def load_encoder_weights(model: Any, name: str) -> None:
    """Load the weights of an encoder of the Hub or of a folder into the model that reads words through it.

    Raises:
        OSError: see `read_word_encoder`.
        ValueError: the folder holds no weights of the encoder.
    """
    words = next(module for module in model.modules() if isinstance(module, EncoderWords))
    with hide_weight_progress_bars():
        encoder, info = _read_from_hub(AutoModel, name, dtype=torch.float32, output_loading_info=True)
    expected = words.encoder.state_dict()
    missing = sorted(expected.keys() & set(info["missing_keys"]))
    if missing:
        raise ValueError(f"encoder {name!r} holds no weights of its own for {', '.join(missing[:3])}…; choose another")
    words.loaded_from = name
    words.encoder.load_state_dict({key: value for key, value in encoder.state_dict().items() if key in expected})


def note_cut_texts(name: str, texts: EncodedTexts, encoder: WordEncoder | None) -> None:
    """Note how many words an encoder reads the beginning of alone, and how many texts in parts.

    Args:
        name: Name of the data in the notes.
        texts: Encoded texts; without sub-words nothing is noted.
        encoder: Encoder that reads them; None: that of a checkpoint, of which parts are not counted.
    """
    if texts.subwords is None or texts.subword_table is None:
        return
    numbers = (texts.subword_table > 0).sum(axis=1)[texts.subwords]
    cut = f"words of {MOST_SUBWORDS} sub-words or more, of which the encoder reads the first {MOST_SUBWORDS}"
    record_note(name, cut, int((numbers == MOST_SUBWORDS).sum()))
    if encoder is not None:
        ends = np.concatenate([[0], np.cumsum(numbers)])
        parts = ends[texts.pointers[1:]] - ends[texts.pointers[:-1]] > encoder.capacity
        record_note(name, f"texts of more than {encoder.capacity} sub-words, read in parts", int(parts.sum()))


@lru_cache(maxsize=16)
def fingerprint_word_encoder(name: str) -> str:
    """Return what tells the content of an encoder: its commit on the Hub, or the hash of a folder's weights.

    Raises:
        OSError: see `read_word_encoder`.
    """
    if not Path(name).is_dir():
        return str(getattr(_read_from_hub(AutoConfig, name), "_commit_hash", None))
    digest = hashlib.sha256()
    for file in sorted(Path(name).glob("*.safetensors")):
        with file.open("rb") as content:
            for block in iter(lambda: content.read(2**20), b""):
                digest.update(block)
    return digest.hexdigest()[:16]


def _read_from_hub(auto_class: Any, name: str, **options: Any) -> Any:
    """Return what an Auto class of transformers reads of a folder or Hub id, with errors of one line."""
    try:
        return auto_class.from_pretrained(name, trust_remote_code=False, **options)
    except OSError as error:
        raise OSError(
            f"encoder {name!r} is no folder with an encoder, and the Hub does not deliver it "
            f"({format_error_on_one_line(error)}); check its name and the network, or name a folder"
        ) from error
    except (ValueError, KeyError, ImportError) as error:
        raise ValueError(
            f"encoder {name!r} cannot be read ({format_error_on_one_line(error)}); expected an encoder of "
            "transformers with a fast tokenizer"
        ) from error
