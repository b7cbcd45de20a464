"""Tiny checkpoints of the problems whose pipelines are ours: rows, sessions, events, votes, music, lines of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForCausalLM, BetaLstmForTokenClassification
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForRegression
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.language_modelling.data import END_MARK
from ctxzoo.tasks.polyphonic_music.rolls import KEYS

FEATURES, TARGET = ["height", "width"], "price"
ITEMS = ["tea", "cup", "pot", "10"]
EVENTS = ["water", "feed", "trim"]
LEGISLATORS = ["Ada", "Ben", "Cyd"]
BILLS = ["S. 1", "S. 2"]
WORDS = ["the", "old", "road", "bridge"]
SEED = 3


def _write(folder: Path, model: Any, tokenizer: Any = None) -> Path:
    return write_checkpoint_folder(folder, model=model.eval(), tokenizer=tokenizer, card="# Card")


def write_regression(folder: Path) -> Path:
    torch.manual_seed(SEED)
    sizes = {"hidden_size": 8, "inner_size": 8, "num_heads": 2, "num_features": 4, "num_layers": 1}
    names = {"input_size": 2, "feature_names": FEATURES, "target_name": TARGET, "num_context_rows": 3}
    attention = {"attention": "ikan", "kernel": "direct", "position": "none", "p_norm": 2.0}
    model = KernelEncoderForRegression(KernelEncoderConfig(**sizes, **names, **attention))
    model.scaling.set_offsets_and_scales([1.0, 2.0, 10.0], [1.0, 0.5, 4.0])
    model.context.rows.copy_(torch.tensor([[0.0, 1.0], [0.5, -1.0], [-1.0, 0.25]]))
    return _write(folder, model)


def write_sessions(folder: Path) -> Path:
    torch.manual_seed(SEED)
    sizes = {"num_items": len(ITEMS), "embedding_size": 6, "hidden_size": 5, "num_topics": 4}
    return _write(folder, HcrnnForNextItem(HcrnnConfig(**sizes, item_names=ITEMS)))


def write_events(folder: Path) -> Path:
    torch.manual_seed(SEED)
    sizes = {"vocab_size": len(EVENTS) + 1, "word_dim": 6, "hidden_size": 8, "num_heads": 2, "inner_size": 10}
    config = TimeEncoderConfig(**sizes, position="lste", num_layers=1, time_unit=5.0, event_names=EVENTS)
    return _write(folder, TimeEncoderForNextEvent(config))


def write_votes(folder: Path) -> Path:
    torch.manual_seed(SEED)
    sizes = {"num_legislators": len(LEGISLATORS), "num_bills": len(BILLS), "vocab_size": len(WORDS)}
    names = {"legislator_names": LEGISLATORS, "bill_names": BILLS, "words": WORDS}
    config = NipenConfig(**sizes, **names, num_topics=3, encoder_widths=[6, 5], amortized_bills=True)
    return _write(folder, NipenForVotePrediction(config))


def write_music(folder: Path) -> Path:
    torch.manual_seed(SEED)
    keys = {"input_size": KEYS, "num_labels": KEYS}
    return _write(folder, BetaLstmForTokenClassification(BetaLstmConfig(**keys, cell="lstm", hidden_size=8)))


def write_language(folder: Path) -> Path:
    torch.manual_seed(SEED)
    tokenizer = build_word_tokenizer([END_MARK, *WORDS], keep_unknown=True, eos_token=END_MARK)
    sizes = {"word_dim": 6, "hidden_size": 8, "cell": "lstm", "vocab_size": tokenizer.num_ids}
    config = BetaLstmConfig(**sizes, eos_token_id=tokenizer.eos_token_id)
    return _write(folder, BetaLstmForCausalLM(config), tokenizer)


WRITERS: dict[str, Callable[[Path], Path]] = {
    "regression": write_regression,
    "session-recommendation": write_sessions,
    "next-event": write_events,
    "vote-prediction": write_votes,
    "polyphonic-music": write_music,
    "language-modelling": write_language,
}
