"""The textbook BiDAF gives what ctxzoo's gives: values, loss, gradients and decoded spans, whatever the padding."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from benchmarks.textbook_bidaf import (
    SimilarityForm,
    TextbookBidaf,
    convert_to_textbook_weights,
    decode_spans_exhaustively,
)
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.ops_answer import decode_answers, span_log_probabilities

SIZES = {"vocab_size": 40, "word_embedding_size": 6, "hidden_size": 8, "max_position_embeddings": 50}
CHARACTERS = {"char_vocab_size": 12, "char_embedding_size": 5, "char_channels": 7, "char_kernel_size": 7}
CONFIGS = {
    "baseline": BidafConfig(**SIZES),
    "learned_char7": BidafConfig(**SIZES, **CHARACTERS, position_embedding="learned"),
    "squad 1.1, trained words": BidafConfig(**SIZES, squad_version="1.1", train_word_embeddings=True),
}
CONTEXTS, QUESTIONS = [17, 5, 30, 1], [4, 9, 2, 3]


def make_batch(config: BidafConfig) -> dict[str, torch.Tensor]:
    """Four rows of different lengths; words of one to 16 characters, all trimmed to the longest of the batch."""
    generator = torch.Generator().manual_seed(1)
    batch: dict[str, torch.Tensor] = {}
    for prefix, lengths in (("", CONTEXTS), ("question_", QUESTIONS)):
        shape = (len(lengths), max(lengths))
        mask = torch.arange(shape[1]) < torch.tensor(lengths).unsqueeze(1)
        batch[f"{prefix}input_ids"] = torch.randint(1, 40, shape, generator=generator) * mask
        batch[f"{prefix}attention_mask"] = mask.long()
        if config.char_vocab_size:
            characters = torch.randint(1, 12, (*shape, 16), generator=generator)
            word_lengths = torch.randint(1, 17, (*shape, 1), generator=generator)
            batch[f"{prefix}char_ids"] = characters * (torch.arange(16) < word_lengths) * mask.unsqueeze(-1)
    return batch


def both(config: BidafConfig, form: SimilarityForm) -> tuple[BidafForQuestionAnswering, TextbookBidaf]:
    """The two models with the same weights, large enough that attention and answers are sharp."""
    torch.manual_seed(0)
    ours = BidafForQuestionAnswering(config)
    with torch.no_grad():
        for name, weight in ours.named_parameters():
            weight.mul_(8.0 if "from_" in name or "similarity" in name else 1.5)
    textbook = TextbookBidaf(config, form)
    textbook.load_state_dict(convert_to_textbook_weights(ours.state_dict()))
    return ours, textbook


@pytest.mark.parametrize("form", ["products", "concatenation"])
@pytest.mark.parametrize("name", CONFIGS)
def test_values_loss_gradients_and_spans_are_those_of_ctxzoo(name: str, form: SimilarityForm) -> None:
    config = CONFIGS[name]
    ours, textbook = both(config, form)
    ours.eval(), textbook.eval()
    batch = make_batch(config)
    labels = {"start_positions": torch.tensor([2, 0, 11, 0]), "end_positions": torch.tensor([3, 0, 11, 0])}
    outputs = ours(**batch, **labels)
    log_start, log_end = textbook(**batch)
    mask = batch["attention_mask"].bool()
    start, end, _ = span_log_probabilities(outputs)
    assert_close(log_start[mask], start[mask], atol=1e-5, rtol=1e-5)
    assert_close(log_end[mask], end[mask], atol=1e-5, rtol=1e-5)
    assert log_start[mask].max().exp().item() > 0.5  # not two uniform distributions

    loss = textbook.loss(log_start, log_end, labels)
    assert_close(loss, outputs.loss, atol=1e-5, rtol=1e-5)
    outputs.loss.backward()
    loss.backward()
    gradients = {weight_name: weight.grad for weight_name, weight in ours.named_parameters() if weight.grad is not None}
    for weight_name, gradient in convert_to_textbook_weights(gradients).items():
        found = textbook.get_parameter(weight_name).grad
        assert_close(found, gradient, atol=1e-4, rtol=1e-4, msg=weight_name)

    may_refuse = config.squad_version == "2.0"
    spans = decode_answers(outputs, batch["attention_mask"], config.max_answer_length)
    starts, ends = decode_spans_exhaustively(log_start, log_end, config.max_answer_length, may_refuse)
    # Of the row without words only "no answer" is left.
    refuse = ((spans.no_answer_log_probs > spans.span_log_probs) & may_refuse) | (mask.sum(dim=1) == 1)
    assert starts.tolist() == spans.starts.masked_fill(refuse, 0).tolist()
    assert ends.tolist() == spans.ends.masked_fill(refuse, 0).tolist()


def test_padding_does_not_change_the_textbook() -> None:
    config = CONFIGS["learned_char7"]
    _, textbook = both(config, "concatenation")
    textbook.eval()
    batch = make_batch(config)
    together = textbook(**batch)[0]
    for row, (words, asked) in enumerate(zip(CONTEXTS, QUESTIONS, strict=True)):
        alone = {
            name: value[row : row + 1, : asked if name.startswith("question_") else words]
            for name, value in batch.items()
        }
        assert_close(textbook(**alone)[0][0], together[row, :words], atol=1e-5, rtol=1e-5)


def test_parameters_are_as_many_as_ctxzoo_has() -> None:
    ours, textbook = both(CONFIGS["learned_char7"], "products")
    assert sum(weight.numel() for weight in textbook.parameters()) == ours.num_parameters()


def test_decoding_looks_at_every_pair_within_the_limit() -> None:
    log_start = torch.tensor([[0.1, 0.5, 0.1, 0.1, 0.2]]).log()
    log_end = torch.tensor([[0.1, 0.1, 0.1, 0.1, 0.6]]).log()
    assert [int(place) for place in decode_spans_exhaustively(log_start, log_end, 4, True)] == [1, 4]
    assert [int(place) for place in decode_spans_exhaustively(log_start, log_end, 3, True)] == [4, 4]


def test_no_answer_wins_only_where_it_may() -> None:
    log_start = torch.tensor([[0.6, 0.3, 0.1]]).log()
    log_end = torch.tensor([[0.7, 0.1, 0.2]]).log()
    assert [int(place) for place in decode_spans_exhaustively(log_start, log_end, 15, True)] == [0, 0]
    assert [int(place) for place in decode_spans_exhaustively(log_start, log_end, 15, False)] == [1, 2]


@pytest.mark.parametrize("change", [{"self_attention": True}, {"position_embedding": "sinusoidal"}])
def test_other_variants_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change)).split("_")[0]):
        TextbookBidaf(BidafConfig(**SIZES, **change))
