"""What a reader is called when its training goes on comes from the checkpoint."""

from __future__ import annotations

import pytest

from ctxzoo.hub.card_parts import parse_settings_table
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.tasks.question_answering.bidaf_start import read_bidaf_checkpoint
from tests.support.tiny_checkpoint import tiny_result, write_tiny

SIZES = {"vocab_size": 9, "word_embedding_size": 6, "char_vocab_size": 5}


@pytest.mark.parametrize("variant", BidafConfig.variants)
def test_every_variant_is_known_again(tmp_path, variant):
    extensions = {"word_features": True, "context_self_attention": True}
    BidafConfig.of_variant(variant, **SIZES, **extensions, query_to_context="max").save_pretrained(tmp_path)
    found = read_bidaf_checkpoint(str(tmp_path))
    assert (found.variant, found.extensions) == (variant, ("context_self_attention", "word_features"))
    assert found.query_to_context == "max"


def test_the_vectors_are_those_of_the_card(tmp_path):
    settings = {**tiny_result().settings, "word_vectors": "wiki.50d"}
    write_tiny(tmp_path / "a", result=tiny_result(settings=settings))
    assert read_bidaf_checkpoint(str(tmp_path / "a")).word_vectors == "wiki.50d"
    write_tiny(tmp_path / "b", result=tiny_result(settings=settings), train_word_embeddings=True)
    assert read_bidaf_checkpoint(str(tmp_path / "b")).word_vectors == "learned"


def test_without_a_card_given_vectors_are_not_called_learned(tmp_path):
    BidafConfig.of_variant("baseline", **SIZES).save_pretrained(tmp_path)
    assert read_bidaf_checkpoint(str(tmp_path)).word_vectors == "of the checkpoint"


def test_settings_without_a_name_are_refused(tmp_path):
    BidafConfig.of_variant("sinusoidal", **SIZES, position_scale=0.5).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="no named variant"):
        read_bidaf_checkpoint(str(tmp_path))


def test_a_card_tells_its_settings_again(tmp_path):
    folder = write_tiny(
        tmp_path / "a", result=tiny_result(settings={"word_vectors": "a|b", "epochs": 3, "tiny": False})
    )
    found = parse_settings_table((folder / "README.md").read_text(encoding="utf-8"))
    assert found == {"epochs": "3", "tiny": "False", "word_vectors": "a|b"}
    assert parse_settings_table("no table") == {}
