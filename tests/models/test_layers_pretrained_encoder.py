"""An encoder of transformers in the place of word vectors, in every architecture that may have one."""

from __future__ import annotations

import copy
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoModel, AutoTokenizer, GPT2Config, T5Config

from ctxzoo.data import word_encoder
from ctxzoo.data.word_encoder import load_encoder_weights, read_word_encoder
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.configuration_bilstm_tagger import BilstmTaggerConfig
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.layers_pretrained_encoder import EncoderWords
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.modeling_bilstm_tagger import BilstmTaggerForTokenClassification
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.ops_subwords import MOST_SUBWORDS
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer
from tests.support.tiny_encoders import KINDS, build_encoder

WORDS = ["good", "bad", "film", "the", "not", "a"]
TEXTS = ["A good film, isn't it?", "the unheard-of ENGINEER", "not bad " * 30]
TEXT_LABELS = {"labels": torch.tensor([0, 1, 0])}
ARCHITECTURES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "contextualizer": (ContextualizerConfig, ContextualizerForSequenceClassification, {"rank": 2, "position_dim": 2}),
    "lama": (LamaConfig, LamaForSequenceClassification, {"recurrent_size": 3, "num_heads": 2}),
    "text_baseline": (
        TextBaselineConfig,
        TextBaselineForSequenceClassification,
        {"position_dim": 0, "wide_buckets": 6, "encoder": "cnn", "kernel_sizes": [2], "num_filters": 3},
    ),
    "bilstm_tagger": (
        BilstmTaggerConfig,
        BilstmTaggerForTokenClassification,
        {"recurrent_size": 3, "projection_size": 3},
    ),
    "bidaf": (BidafConfig, BidafForQuestionAnswering, {"hidden_size": 4, "squad_version": "1.1"}),
}
FEW = list(zip(ARCHITECTURES, (*KINDS, "roberta"), (False, True, True, False, True), strict=True))
ALL = [one for one in product(ARCHITECTURES, KINDS, (False, True)) if one not in FEW]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("encoders")
    return {kind: build_encoder(folder / kind, kind) for kind in KINDS}


def build_tokenizer(name: str, encoder: str) -> WordTokenizer | WordCharTokenizer:
    backend = read_word_encoder(encoder).tokenizer
    if name == "bidaf":
        return build_word_char_tokenizer(WORDS, characters=None, encoder_tokenizer=backend)
    ngrams = {"ngram_buckets": 6, "ngram_order": 2} if name == "text_baseline" else {}
    return build_word_tokenizer(WORDS, keep_unknown=True, encoder_tokenizer=backend, **ngrams)


def build(name: str, encoder: str, *, trained: bool = False) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """Return a model with an encoder, its tokenizer, and a batch with labels."""
    config_class, model_class, sizes = ARCHITECTURES[name]
    tokenizer = build_tokenizer(name, encoder)
    found = read_word_encoder(encoder)
    vocab_size = len(tokenizer) if name == "bidaf" else tokenizer.num_ids
    width = {config_class.encoder_width_field: found.width}
    torch.manual_seed(0)
    model = model_class(
        config_class(vocab_size=vocab_size, encoder_config=found.config, train_encoder=trained, **width, **sizes)
    )
    load_encoder_weights(model, encoder)
    if name == "bidaf":
        batch = tokenizer(["who ?", "the film"], TEXTS[:2], padding=True, return_tensors="pt")
        return (
            model,
            tokenizer,
            {**batch, "start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([2, 2])},
        )
    batch = dict(tokenizer(TEXTS, padding=True, return_tensors="pt"))
    labels = batch["attention_mask"].where(batch["attention_mask"] > 0, -100) if name == "bilstm_tagger" else None
    return model, tokenizer, {**batch, **(TEXT_LABELS if labels is None else {"labels": labels})}


def check_training_and_saving(name: str, encoder: str, folder: Path, *, trained: bool) -> None:
    """A step changes a trained encoder and no frozen one; a saved model gives the same outputs."""
    model, tokenizer, batch = build(name, encoder, trained=trained)
    before = {key: value.clone() for key, value in model.get_input_embeddings().state_dict().items()}
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.1)
    model.train()(**batch).loss.backward()
    assert model.get_input_embeddings().encoder.training is trained
    without = [key for key, one in model.named_parameters() if one.requires_grad and one.grad is None]
    assert [key for key in without if "words.encoder" in key or name != "text_baseline"] == []
    optimizer.step()
    after = model.get_input_embeddings().state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items()) is not trained
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    loaded, read = type(model).from_pretrained(folder), type(tokenizer).from_pretrained(folder)
    assert {key for key, one in loaded.named_parameters() if one.requires_grad} == {
        key for key, one in model.named_parameters() if one.requires_grad
    }
    model.eval()
    inputs = read(["who ?"], TEXTS[:1], return_tensors="pt") if name == "bidaf" else read(TEXTS[0], return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(loaded(**inputs)[0], model(**inputs)[0], rtol=1e-6, atol=1e-6)
    saved = loaded.state_dict()
    assert all(torch.equal(value, saved[key]) for key, value in model.state_dict().items())


@pytest.mark.parametrize(("name", "kind", "trained"), FEW)
def test_a_model_with_an_encoder_is_trained_and_saved(
    name: str, kind: str, trained: bool, encoders: dict[str, str], tmp_path: Path
) -> None:
    check_training_and_saving(name, encoders[kind], tmp_path, trained=trained)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "trained"), ALL)
def test_each_model_with_each_encoder_is_trained_and_saved(
    name: str, kind: str, trained: bool, encoders: dict[str, str], tmp_path: Path
) -> None:
    check_training_and_saving(name, encoders[kind], tmp_path, trained=trained)


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_is_the_mean_of_its_states_in_the_run_of_transformers(kind: str, encoders: dict[str, str]) -> None:
    """Words are set apart by blanks, so that the encoder's own tokenizer cuts the text alike."""
    text = "the good engineer was not heard-of"
    theirs, reads = AutoTokenizer.from_pretrained(encoders[kind]), AutoModel.from_pretrained(encoders[kind]).eval()
    tokens = theirs(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = tokens.pop("offset_mapping")[0]
    with torch.no_grad():
        states = reads(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state[0]
    expected = []
    for word in re.finditer(r"\S+", text):
        begins = enumerate(offsets[1:-1, 0].tolist(), start=1)  # without the special tokens
        places = [row for row, begin in begins if word.start() <= begin < word.end()]
        expected.append(states[places].mean(dim=0))
    tokenizer = build_word_tokenizer(
        ["the"], keep_unknown=True, encoder_tokenizer=read_word_encoder(encoders[kind]).tokenizer
    )
    model, _, _ = build("bilstm_tagger", encoders[kind])
    words = model.eval().get_input_embeddings()
    for inputs in (
        tokenizer(text, return_tensors="pt"),
        tokenizer([text.split()], is_split_into_words=True, return_tensors="pt"),
    ):
        found = words(inputs["subword_ids"], inputs["attention_mask"].bool())[0]
        torch.testing.assert_close(found, torch.stack(expected), rtol=1e-5, atol=1e-6)


def test_blanks_before_words_are_those_of_the_text_or_between_all(encoders: dict[str, str]) -> None:
    options: dict[str, Any] = {"keep_unknown": True, "pre_tokenizer": "english"}
    options["encoder_tokenizer"] = backend = read_word_encoder(encoders["roberta"]).tokenizer
    plain = build_word_tokenizer(["the"], **options)
    as_lists = build_word_tokenizer(["the"], **options, blanks_between_words=True)

    def cut(tokenizer: WordTokenizer, text: Any, **how: Any) -> list[int]:
        return [index - 1 for word in tokenizer(text, **how)["subword_ids"] for index in word if index]

    assert cut(plain, "the film, then") == backend.encode("the film, then", add_special_tokens=False).ids
    with_blanks = backend.encode("the film , then", add_special_tokens=False).ids
    assert cut(as_lists, "the film, then") == with_blanks
    assert cut(plain, ["the", "film", ",", "then"], is_split_into_words=True) == with_blanks


def test_a_long_text_is_read_in_parts_whatever_stands_beside_it(encoders: dict[str, str]) -> None:
    model, tokenizer, batch = build("contextualizer", encoders["bert"])
    words = model.eval().get_input_embeddings()
    assert int((batch["subword_ids"][2] > 0).sum()) > words.capacity == 38
    together = words(batch["subword_ids"], batch["attention_mask"].bool())
    alone = tokenizer(TEXTS[2], return_tensors="pt")["subword_ids"]
    mask = torch.ones(alone.shape[:2], dtype=torch.bool)
    torch.testing.assert_close(words(alone, mask)[0], together[2, : alone.size(1)], rtol=1e-5, atol=1e-6)
    step = words.capacity - MOST_SUBWORDS + 1
    first = (alone[0] > 0).sum(dim=1).cumsum(0) - (alone[0] > 0).sum(dim=1)
    parts = [alone[:, first // step == part] for part in range(int(first.max()) // step + 1)]
    expected = torch.cat([words(part, torch.ones(part.shape[:2], dtype=torch.bool))[0] for part in parts])
    torch.testing.assert_close(words(alone, mask)[0], expected, rtol=1e-5, atol=1e-6)
    assert words(alone[:, :0], mask[:, :0]).shape == (1, 0, 8)


def test_padding_and_ngrams_have_no_state(encoders: dict[str, str]) -> None:
    model, tokenizer, batch = build("text_baseline", encoders["distilbert"])
    x, mask = model.eval().base_model.embeddings(
        batch["input_ids"], batch["attention_mask"], None, batch["subword_ids"]
    )
    is_word = (batch["input_ids"] < len(tokenizer)) & batch["attention_mask"].bool()
    assert torch.equal(mask, is_word)
    assert not x[~is_word].any()
    assert bool(x[is_word].any(dim=1).all())
    shorter = tokenizer(["good", ""], padding=True, return_tensors="pt")
    assert torch.isfinite(model(**shorter).logits).all()
    assert model(**tokenizer("", return_tensors="pt")).logits.shape == (1, 2)


def test_states_of_a_frozen_encoder_are_computed_once_for_each_text(encoders: dict[str, str]) -> None:
    model, _, batch = build("contextualizer", encoders["roberta"])
    words, calls = model.get_input_embeddings(), []
    words.encoder.register_forward_hook(lambda *_: calls.append(1))
    subword_ids, mask = batch["subword_ids"], batch["attention_mask"].bool()
    expected = words.eval()(subword_ids, mask)
    calls.clear()
    first = words.train()(subword_ids, mask)
    torch.testing.assert_close(first, expected, rtol=1e-5, atol=1e-6)
    assert (len(calls), first.requires_grad) == (3, False)
    # In other company, with more padding, and with columns of sub-words that no word needs.
    again = words(
        torch.nn.functional.pad(subword_ids[1:2, :, :9], (0, 2, 0, 4)), torch.nn.functional.pad(mask[1:2], (0, 4))
    )
    assert torch.equal(again[0, : mask.size(1)], first[1])
    assert len(calls) == 3
    with torch.autocast("cpu", dtype=torch.bfloat16):
        words(subword_ids[:1], mask[:1])
    assert len(calls) == 4
    assert not copy.deepcopy(words)._kept
    assert len(words._kept) == 4


@pytest.mark.slow
def test_a_graph_of_any_size_gives_the_same_states(encoders: dict[str, str]) -> None:
    model, _, batch = build("bilstm_tagger", encoders["bert"])
    words = model.eval().get_input_embeddings()
    inputs = (batch["subword_ids"][:2, :7, :4].clone(), batch["attention_mask"][:2, :7].bool())
    sizes = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2)}
    program = torch.export.export(words, inputs, dynamic_shapes=({**sizes}, {**sizes}))
    with torch.no_grad():
        torch.testing.assert_close(program.module()(*inputs), words(*inputs), rtol=1e-5, atol=1e-6)
        longer = (batch["subword_ids"][:, :, :4], batch["attention_mask"].bool())
        torch.testing.assert_close(program.module()(*longer), words(*longer), rtol=1e-5, atol=1e-6)


def test_mistakes_are_answered(encoders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, batch = build("contextualizer", encoders["bert"])
    ids = batch["input_ids"]
    with pytest.raises(ValueError, match="pass subword_ids, which its tokenizer gives"):
        model(ids)
    with pytest.raises(ValueError, match=r"subword_ids of shape \(3, 1, 16\): expected \(3, 60\)"):
        model(ids, subword_ids=batch["subword_ids"][:, :1])
    with pytest.raises(ValueError, match="subword id 999 lies outside 0 to"):
        model(ids, subword_ids=torch.full_like(batch["subword_ids"], 999))
    with pytest.raises(ValueError, match="has no table of word vectors to replace"):
        model.set_input_embeddings(torch.nn.Embedding(3, 8))
    plain = ContextualizerForSequenceClassification(ContextualizerConfig(vocab_size=99, word_dim=4, rank=2))
    with pytest.raises(ValueError, match="subword_ids for a model that reads words from a table"):
        plain(**batch)
    config = read_word_encoder(encoders["bert"]).config
    with pytest.raises(StrictDataclassError, match="word_dim=7 beside an encoder whose states have 8 numbers"):
        ContextualizerConfig(word_dim=7, encoder_config=config)
    with pytest.raises(StrictDataclassError, match="encoder_config has no sep_token_id"):
        ContextualizerConfig(word_dim=8, encoder_config={**config, "sep_token_id": None})
    with pytest.raises(StrictDataclassError, match="trained_words beside encoder_config"):
        LamaConfig(word_dim=8, trained_words=3, encoder_config=config)
    for name, value in (("num_hidden_layers", 10**9), ("vocab_size", 10**12)):  # which would take all memory
        with pytest.raises(ValueError, match=f"encoder_config has {name}={value}; expected at most"):
            LamaConfig(word_dim=8, encoder_config={**config, name: value})
    with pytest.raises(ValueError, match="no encoder has the encoder_config of the model"):
        EncoderWords(
            LamaConfig(word_dim=8, encoder_config={**config, "pad_token_id": 99_999}).encoder_config, 9, trainable=False
        )
    with pytest.raises(ValueError, match="the encoder has 12 positions; expected at least 18"):
        EncoderWords(
            LamaConfig(word_dim=8, encoder_config={**config, "max_position_embeddings": 12}).encoder_config,
            9,
            trainable=False,
        )
    with pytest.raises(ValueError, match="an encoder reads unknown words too: set keep_unknown=True"):
        build_word_tokenizer(["a"], encoder_tokenizer=read_word_encoder(encoders["bert"]).tokenizer)
    for config_class, reason in (
        (T5Config, "has an encoder and a decoder"),
        (GPT2Config, "reads no word with the words"),
    ):
        config_class().save_pretrained(tmp_path / reason)
        with pytest.raises(ValueError, match=f"which {reason}.*; expected an encoder, such as"):
            read_word_encoder(str(tmp_path / reason))
    tokenizers = {AutoConfig: AutoConfig.from_pretrained(encoders["bert"]), AutoTokenizer: object()}
    monkeypatch.setattr(word_encoder, "_read_from_hub", lambda auto_class, name: tokenizers[auto_class])
    with pytest.raises(ValueError, match="has a object, which is not one of the tokenizers library; expected a fast"):
        read_word_encoder("slow")
    monkeypatch.undo()
    with pytest.raises(OSError, match="is no folder with an encoder, and the Hub does not deliver it"):
        read_word_encoder(str(tmp_path / "nowhere"))
