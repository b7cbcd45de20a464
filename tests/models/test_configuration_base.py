"""What is the same in every configuration: bounds, and models too large to build."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoModel, AutoModelForSequenceClassification, PreTrainedConfig

from ctxzoo.hub.folder_checks import build_meta_model
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.configuration_vote_baseline import VoteBaselineConfig
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification

TINY = ContextualizerConfig(vocab_size=9, word_dim=4, rank=2)


def test_variants_are_their_settings_with_changes_on_top() -> None:
    config = ContextualizerConfig.of_variant("learned_embeddings", vocab_size=9, word_dim=4)
    assert (config.vocab_size, config.word_dim, config.freeze_embeddings) == (9, 4, False)
    assert ContextualizerConfig.variants["learned_embeddings"]["word_dim"] == 250
    with pytest.raises(ValueError, match="unknown WordEmbeddingConfig variant 'cbow'; known: none"):
        WordEmbeddingConfig.of_variant("cbow")


def test_nominal_sizes_are_fields_of_their_configuration() -> None:
    for known in ARCHITECTURES.values():
        config = known.config_class(**known.config_class.nominal_sizes)
        assert {name: getattr(config, name) for name in known.config_class.nominal_sizes} == dict(
            known.config_class.nominal_sizes
        )
        assert known.config_class.nominal_sizes or not known.config_class.variants


MOST_FIELDS = 28
ABOVE = {"NipenConfig": 33, "TextBaselineConfig": 34, "LamaConfig": 31}  # these numbers may only fall


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_configuration_has_few_fields(architecture: str) -> None:
    """What serves no result, no user and no paper is removed; fields of transformers are not counted."""
    config_class = ARCHITECTURES[architecture].config_class
    own = {field.name for field in fields(config_class)} - {field.name for field in fields(PreTrainedConfig)}
    assert len(own) <= ABOVE.get(config_class.__name__, MOST_FIELDS), sorted(own)


FORMER = [
    (known.config_class, name, left)
    for known in ARCHITECTURES.values()
    for name, left in known.config_class.former_fields.items()
]


@pytest.mark.parametrize(
    ("config_class", "name", "left"), FORMER, ids=[f"{one[0].__name__}-{one[1]}" for one in FORMER]
)
def test_a_former_field_is_read_where_it_has_the_value_that_is_left(
    config_class: type[ZooConfig], name: str, left: Any
) -> None:
    config = config_class.from_dict({**config_class().to_dict(), name: left})
    assert name not in config.to_dict()
    other = not left if isinstance(left, bool) else 7
    message = f"^{name}={other}: {config_class.__name__} has no such field any more, .* ctxzoo 0.1.0"
    with pytest.raises(ValueError, match=message):
        config_class(**{name: other})


def test_bounds_are_inclusive_and_those_of_parents_hold() -> None:
    assert TextBaselineConfig(vocab_size=100_000_000, num_steps=10_000, kernel_sizes=[1000]).num_steps == 10_000
    assert LamaConfig(embedding_seed=2**63 - 1).embedding_seed == 2**63 - 1
    assert LamaConfig(embedding_seed=-5).embedding_seed == -5
    for settings, message in (
        ({"vocab_size": 100_000_001}, "vocab_size must be at most 100,000,000, got 100000001"),
        ({"num_steps": 10_001}, "num_steps must be at most 10,000, got 10001"),
        ({"kernel_sizes": [3, 1001]}, "kernel_sizes must be at most 1,000, got 1001"),
        ({"recurrent_size": 100_001}, "recurrent_size must be at most 100,000, got 100001"),
        (
            {"embedding_bound": float("inf")},
            r"embedding_bound must be a finite number, at most 1e\+30 .*; got inf",
        ),
        ({"embedding_bound": 10**400}, "embedding_bound must be a finite number"),
        ({"overlap_penalty": float("nan")}, "overlap_penalty must be a finite number, .* got nan"),
        ({"encoder": "transformer", "num_heads": 0}, "num_heads must be at least 1, got 0"),
    ):
        with pytest.raises(StrictDataclassError, match=message):
            TextBaselineConfig(**settings)
    with pytest.raises(StrictDataclassError, match=r"logit_scale must be a finite number, .* got nan"):
        LamaConfig(logit_scale=float("nan"))
    with pytest.raises(StrictDataclassError, match=r"no_answer_threshold must be in \[0, 1\], or null; got 7"):
        BidafConfig(no_answer_threshold=7.0)


def test_sizes_that_data_have_may_be_large() -> None:
    """A file of 3,000 texts has more n-grams than that, a shop more items, and each of these may have a name."""
    many = 150_000
    text = {"vocab_size": 600_000, "wide_buckets": 262_144, "wide_char_buckets": 100_000}
    assert TextBaselineConfig(**text, wide_ids=many, trained_words=many).wide_ids == many
    for config in (
        HcrnnConfig(num_items=many, item_names=[f"i{n}" for n in range(many)], item_counts=[many] * many),
        VoteBaselineConfig(num_legislators=many, num_bills=many, bill_names=[f"b{n}" for n in range(many)]),
    ):
        assert type(config).from_dict(config.to_dict()).to_dict() == config.to_dict()


def test_a_list_of_fractions_is_bounded_as_fractions_are() -> None:
    """Incomes and Unix times are such; every such field of every configuration holds them."""
    lists = {
        (known.config_class, field.name)
        for known in ARCHITECTURES.values()
        for field in fields(known.config_class)
        if "list[float]" in str(field.type)
    }
    assert {name for _, name in lists} == {
        *("kl_gamma_prior", "interval_errors", "ideal_points", "ideal_point_errors", "state_decay")
    }
    for config_class, name in lists:
        bounded = partial(config_class.validate_numbers, config := config_class())
        setattr(config, name, [1.7e9, -250_000.5])
        bounded()
        setattr(config, name, [1.0, 1e31])
        with pytest.raises(ValueError, match=rf"{name} must be a finite number, at most 1e\+30 in size; got 1e\+31"):
            bounded()


def test_a_number_without_end_is_not_saved(tmp_path: Path) -> None:
    config = LamaConfig()
    config.logit_scale = float("inf")
    with pytest.raises(StrictDataclassError, match="logit_scale"):
        config.save_pretrained(tmp_path)


def test_a_frozen_table_that_no_file_holds_is_not_allocated(tmp_path: Path) -> None:
    """Such a table follows from a seed: a file of a few kilobytes could ask for any size."""
    ContextualizerForSequenceClassification(TINY).save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "vocab_size": 100_000_000, "word_dim": 100_000}))
    for auto in (AutoModel, AutoModelForSequenceClassification):
        with pytest.raises(ValueError, match=r"of 10,000,00[\d,]+ numbers; expected at most 4,294,967,296: choose"):
            auto.from_pretrained(tmp_path)


def test_a_model_without_memory_draws_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> torch.Tensor:
        raise AssertionError("a table was drawn")

    monkeypatch.setattr("ctxzoo.models.layers_text_input.seeded_uniform", refuse)
    model = build_meta_model(ContextualizerForSequenceClassification, TINY)
    assert {x.device.type for x in model.parameters()} == {"meta"}
    with pytest.raises(AssertionError, match="a table was drawn"):
        ContextualizerForSequenceClassification(TINY)
