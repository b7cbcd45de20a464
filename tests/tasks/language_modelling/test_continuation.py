from __future__ import annotations

import pytest
import torch

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForCausalLM
from ctxzoo.tasks.language_modelling.continuation import continue_text
from ctxzoo.tasks.language_modelling.vocabulary import LineVocabulary

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
