from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

import ctxzoo  # noqa: F401 - registers the architectures
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForCausalLM
from ctxzoo.tasks.language_modelling.continuation import PART, continue_text
from ctxzoo.tasks.language_modelling.data import LineVocabulary
from ctxzoo.tasks.language_modelling.experiments import ENCODERS, build_default_experiment, get_variants
from tests.support.own_trainings import config_of

TOKENIZER = LineVocabulary(min_word_count=1).build_tokenizer(["a b c d", "a b c", "a b", "a"])


def made(seed: int = 0) -> BetaLstmForCausalLM:
    torch.manual_seed(seed)
    config = BetaLstmConfig(
        vocab_size=TOKENIZER.num_ids, word_dim=4, hidden_size=5, embedding_seed=None, embedding_bound=2.0
    )
    return BetaLstmForCausalLM(config)


def test_the_likeliest_word_is_taken_until_the_line_ends() -> None:
    model = made().eval()
    never = [TOKENIZER.pad_token_id, TOKENIZER.unk_token_id]
    ids, expected = [TOKENIZER.eos_token_id, *TOKENIZER("a c")["input_ids"]], []
    for _ in range(6):
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        logits[never] = -torch.inf
        if int(logits.argmax()) == TOKENIZER.eos_token_id:
            break
        ids.append(int(logits.argmax()))
        expected.append(TOKENIZER.convert_ids_to_tokens(ids[-1]))
    assert expected
    assert continue_text(model, TOKENIZER, "a c", 6, temperature=None).split() == expected
    with torch.no_grad():
        model.lm_head.bias[TOKENIZER.eos_token_id] = 100
    assert continue_text(model, TOKENIZER, "a c", 6, temperature=None) == ""


def test_draws_follow_from_the_seed_and_leave_that_of_others_alone() -> None:
    model = made().train()
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    found = [continue_text(model, TOKENIZER, "", 30, temperature=2.0, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert torch.equal(torch.rand(2), expected)
    assert model.training
    words = set(" ".join(found).split())
    assert words <= set("abcd")


def test_numbers_out_of_range_are_named() -> None:
    for arguments, message in (({"words": 0}, "words is 0"), ({"words": 3, "temperature": 0.0}, "temperature is 0.0")):
        with pytest.raises(ValueError, match=message):
            continue_text(made(), TOKENIZER, "a", **arguments)


SMALL = {"hidden_size": 8, "num_layers": 2, "word_dim": 8, "vocab_size": TOKENIZER.num_ids}


def of_architecture(name: str) -> Any:
    """A language model as `ctxzoo train` makes it, small, which forgets no word."""
    variant = next(iter(get_variants(name)))
    config = {**config_of(build_default_experiment(name, variant)), **SMALL}
    config |= {"memory_length": 0} if "memory_length" in config else {}
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(f"ctxzoo_{name}", **config))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)  # so that words differ
    return model


@pytest.mark.parametrize("name", ["beta_lstm", *ENCODERS])
def test_a_long_prompt_is_read_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt = of_architecture(name), "a b c d b a c a d b b"
    logits: list[torch.Tensor] = []
    model.register_forward_hook(lambda module, inputs, output: logits.append(output.logits[:, -1]))
    whole = continue_text(model, TOKENIZER, prompt, 5, temperature=None)
    (first, *_), number = logits, len(logits)
    monkeypatch.setattr("ctxzoo.tasks.language_modelling.continuation.PART", 4)
    assert continue_text(model, TOKENIZER, prompt, 5, temperature=None) == whole
    torch.testing.assert_close(logits[number], first)


def test_a_text_of_one_line_is_continued_in_bounded_memory() -> None:
    """Of no layer are the values of all words there at once."""
    tokenizer = LineVocabulary(min_word_count=1).build_tokenizer([" ".join(f"w{n}" for n in range(50))])
    config = BetaLstmConfig(vocab_size=tokenizer.num_ids, word_dim=4, hidden_size=5, embedding_seed=None)
    model, prompt = BetaLstmForCausalLM(config), " ".join(f"w{n * n % 50}" for n in range(5_000))
    seen: list[int] = []
    model.register_forward_hook(lambda module, inputs, output: seen.append(output.logits.size(1)))
    model.encoder.register_forward_hook(lambda module, inputs, output: seen.append(output.last_hidden_state.size(1)))
    assert continue_text(model, tokenizer, prompt, 2, seed=0)
    assert max(seen) <= PART
