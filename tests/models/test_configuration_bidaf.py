from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering


def test_defaults_are_the_baseline_of_the_paper() -> None:
    config = BidafConfig()
    assert (config.hidden_size, config.word_embedding_size, config.num_highway_layers) == (100, 300, 2)
    assert (config.dropout, config.max_answer_length, config.max_word_length) == (0.2, 15, 16)
    assert config.position_scale == 1.0
    assert config.position_embedding == "none"
    assert config.query_to_context == "coattention"
    assert config.char_vocab_size == 0
    switches = ["self_attention", "self_attention_residual", "word_features", "context_self_attention"]
    switches += ["train_word_embeddings"]
    assert not any(getattr(config, name) for name in switches)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("hiden_size", "hidden_size"), ("char_kernel", "char_kernel_size"), ("position_embeddings", "position_embedding")],
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=rf"BidafConfig has no field '{name}' \(value 7\); did you mean '{nearest}'\?"):
        BidafConfig(**{name: 7})


def test_a_name_like_no_other_lists_the_fields() -> None:
    with pytest.raises(TypeError, match=r"no field 'qqqq'.*known fields: .*'hidden_size'"):
        BidafConfig(qqqq=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"word_embedding_size": 0}, "word_embedding_size must be at least 1, got 0"),
        ({"hidden_size": -4}, "hidden_size must be at least 1, got -4"),
        ({"max_position_embeddings": 0}, "max_position_embeddings must be at least 1, got 0"),
        ({"char_embedding_size": 0}, "char_embedding_size must be at least 1, got 0"),
        ({"char_channels": 0}, "char_channels must be at least 1, got 0"),
        ({"char_kernel_size": 0}, "char_kernel_size must be at least 1, got 0"),
        ({"max_word_length": 0}, "max_word_length must be at least 1, got 0"),
        ({"max_answer_length": 0}, "max_answer_length must be at least 1, got 0"),
        ({"vocab_size": 1}, "vocab_size must be at least 2 .*got 1"),
        ({"char_vocab_size": 1}, "char_vocab_size must be 0 .* or at least 2, got 1"),
        ({"char_vocab_size": -1}, "char_vocab_size must be 0 .* or at least 2, got -1"),
        ({"num_highway_layers": -1}, "num_highway_layers must be 0 or above, got -1"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": -0.1}, r"dropout must be at least 0 and below 1, got -0.1"),
        ({"self_attention_residual": True}, "self_attention_residual=True needs self_attention=True"),
        ({"position_embedding": "sinusoidal", "hidden_size": 5}, "need an even hidden_size, got 5"),
        ({"char_vocab_size": 9, "char_kernel_size": 17}, "char_kernel_size 17 is wider than max_word_length 16"),
        ({"hidden_size": "100"}, "hidden_size"),
        ({"self_attention": 1}, "self_attention"),
        ({"position_embedding": "rotary"}, "position_embedding"),
        ({"query_to_context": "mean"}, "query_to_context"),
        ({"squad_version": "2"}, "squad_version"),
    ],
    ids=str,
)
def test_every_rule(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError) as error:
        BidafConfig(**settings)
    error.match(message)


def test_rules_hold_at_their_edges() -> None:
    BidafConfig(vocab_size=2, char_vocab_size=2, char_kernel_size=16, num_highway_layers=0, dropout=0)
    BidafConfig(char_vocab_size=0, char_kernel_size=99)  # without characters their width means nothing
    BidafConfig(hidden_size=5)
    BidafConfig(squad_version="1.1")


def test_a_wrong_value_is_neither_saved_nor_loaded(tmp_path: Path) -> None:
    config = BidafConfig()
    config.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**stored, "dropout": 1.5}))
    with pytest.raises(StrictDataclassError, match="dropout must be at least 0"):
        BidafConfig.from_pretrained(tmp_path)
    config.dropout = 1.5
    with pytest.raises(StrictDataclassError, match="dropout must be at least 0"):
        config.save_pretrained(tmp_path / "other")


def test_json_round_trip(tmp_path: Path) -> None:
    config = BidafConfig.of_variant(
        "learned_char9",
        vocab_size=12,
        word_embedding_size=6,
        char_vocab_size=7,
        dropout=0.3,
        position_scale=0.5,
        squad_version="1.1",
        context_self_attention=True,
    )
    config.save_pretrained(tmp_path)
    loaded = BidafConfig.from_pretrained(tmp_path)
    assert loaded.to_dict() == config.to_dict()
    assert (loaded.char_kernel_size, loaded.dropout, loaded.squad_version) == (9, 0.3, "1.1")
    assert BidafConfig.from_dict(json.loads(config.to_json_string())).to_dict() == config.to_dict()
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "ctxzoo_bidaf"


def test_variants_are_the_seven_rows_of_the_paper_and_three_of_ours() -> None:
    sizes: dict[str, Any] = {"vocab_size": 9, "word_embedding_size": 4, "char_vocab_size": 8}
    seen = {}
    for name in BidafConfig.variants:
        config = BidafConfig.of_variant(name, **sizes)
        width = config.char_kernel_size if config.char_vocab_size else 0
        seen[name] = (config.position_embedding, config.self_attention, width)
        assert config.position_scale == (0 if name == "second_dropout" else 1)
        assert config.self_attention_residual == (name == "learned_attention_residual")
        assert (config.vocab_size, config.word_embedding_size) == (9, 4)
    assert seen == {
        "baseline": ("none", False, 0),
        "sinusoidal": ("sinusoidal", False, 0),
        "learned": ("learned", False, 0),
        "learned_attention": ("learned", True, 0),
        "learned_char3": ("learned", False, 3),
        "learned_char7": ("learned", False, 7),
        "learned_char9": ("learned", False, 9),
        "char7": ("none", False, 7),
        "second_dropout": ("sinusoidal", False, 0),
        "learned_attention_residual": ("learned", True, 0),
    }


@pytest.mark.parametrize("name", BidafConfig.variants)
def test_every_variant_builds(name: str) -> None:
    config = BidafConfig.of_variant(name, vocab_size=9, word_embedding_size=4, char_vocab_size=8, hidden_size=4)
    words = torch.tensor([[1, 5, 8]])
    characters = torch.ones(1, 3, 16, dtype=torch.long)
    outputs = BidafForQuestionAnswering(config)(words, words, char_ids=characters, question_char_ids=characters)
    assert outputs.start_logits.shape == outputs.end_logits.shape == (1, 3)


def test_changes_override_a_variant_and_leave_it_as_it_was() -> None:
    sizes: dict[str, Any] = {"vocab_size": 9, "word_embedding_size": 4, "char_vocab_size": 8}
    changed = BidafConfig.of_variant("learned_char7", **sizes, char_kernel_size=5, position_embedding="none")
    assert (changed.char_kernel_size, changed.position_embedding) == (5, "none")
    assert BidafConfig.of_variant("learned_char7", **sizes).char_kernel_size == 7


def test_an_unknown_variant_lists_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"unknown BidafConfig variant 'char5'; known: baseline, sinusoidal, .*learned_char9"
    ):
        BidafConfig.of_variant("char5", vocab_size=9, word_embedding_size=4, char_vocab_size=8)
