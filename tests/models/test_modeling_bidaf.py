"""BiDAF as a whole, against `tests.references.bidaf` and the properties of its equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_bidaf import EXTENSIONS, WORD_FEATURES, BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering, BidafModel
from ctxzoo.models.ops_answer import decode_answers, span_log_probabilities
from tests.references.bidaf import Text, log_softmax, numpy_state, reference_bidaf, reference_loss

VOCABULARY, CHARACTERS, FEATURES = 40, 14, WORD_FEATURES
TINY: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "word_embedding_size": 6,
    "char_vocab_size": CHARACTERS,
    "hidden_size": 4,
    "char_embedding_size": 3,
    "char_channels": 5,
    "max_position_embeddings": 20,
}
CASES: dict[str, dict[str, Any]] = {
    **{name: {"variant": name} for name in BidafConfig.variants},
    "max": {"variant": "baseline", "query_to_context": "max"},
    "scaled": {"variant": "sinusoidal", "position_scale": 0.3},
    "no_highway": {"variant": "learned_char7", "num_highway_layers": 0},
    **{name: {"variant": "learned_char7", name: True} for name in EXTENSIONS},
    "all_extensions": {"variant": "learned_char7", **dict.fromkeys(EXTENSIONS, True)},
}


def tiny_model(case: dict[str, Any], dtype: torch.dtype = torch.float64, **changes: Any) -> BidafForQuestionAnswering:
    """A model in evaluation mode with every parameter drawn anew, wide enough that each of them shows in the logits."""
    settings = {**TINY, **case, **changes}
    model = BidafForQuestionAnswering(BidafConfig.of_variant(settings.pop("variant", "baseline"), **settings))
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    model.to(dtype).eval()
    return model


def random_text(generator: np.random.Generator, length: int) -> Text:
    characters = [generator.integers(1, CHARACTERS, generator.integers(1, 17)).tolist() for _ in range(length)]
    return Text(
        [1, *generator.integers(2, VOCABULARY, length - 1).tolist()],
        [[1], *characters[1:]],
        generator.random((length, FEATURES)).tolist(),
    )


def examples(lengths: list[tuple[int, int]], seed: int = 3) -> list[tuple[Text, Text]]:
    generator = np.random.default_rng(seed)
    return [(random_text(generator, context), random_text(generator, question)) for context, question in lengths]


def collate(
    pairs: list[tuple[Text, Text]],
    config: BidafConfig,
    dtype: torch.dtype = torch.float64,
    extra: tuple[int, int] = (0, 0),
    junk: bool = False,
) -> dict[str, torch.Tensor]:
    """A padded batch; `extra` more padded words, and with `junk` arbitrary ids where the mask is 0."""
    batch: dict[str, torch.Tensor] = {}
    for index, prefix in enumerate(("", "question_")):
        texts = [pair[index] for pair in pairs]
        length = max(len(text.words) for text in texts) + extra[index]
        longest = max(len(word) for text in texts for word in text.characters)
        shape = (len(texts), length)
        generator = torch.Generator().manual_seed(11)
        ids = torch.randint(2, VOCABULARY, shape, generator=generator) * junk
        characters = torch.randint(2, CHARACTERS, (*shape, longest), generator=generator) * junk
        features = torch.rand(*shape, FEATURES, generator=generator).to(dtype) * junk
        mask = torch.zeros(shape, dtype=torch.long)
        for row, text in enumerate(texts):
            mask[row, : len(text.words)] = 1
            ids[row, : len(text.words)] = torch.tensor(text.words)
            features[row, : len(text.words)] = torch.tensor(text.features, dtype=dtype)
            for place, word in enumerate(text.characters):
                characters[row, place] = torch.tensor(word + [0] * (longest - len(word)))
        batch |= {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask}
        if config.char_vocab_size:
            batch[f"{prefix}char_ids"] = characters
        if config.word_features:
            batch[f"{prefix}word_features"] = features
    return batch


LENGTHS = [(9, 5), (6, 2), (12, 4), (2, 6)]
STARTS, ENDS = [3, 0, 10, 1], [5, 0, 10, 1]


def labels(starts: list[int] = STARTS, ends: list[int] = ENDS) -> dict[str, torch.Tensor]:
    return {"start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}


# ---- against the independent reference -------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 3e-5)])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_equals_the_reference(case: dict[str, Any], dtype: torch.dtype, tolerance: float) -> None:
    model = tiny_model(case, dtype)
    pairs = examples(LENGTHS)
    with torch.no_grad():
        outputs = model(
            **collate(pairs, model.config, dtype), **labels(), output_attentions=True, output_hidden_states=True
        )
    expected = [reference_bidaf(numpy_state(model), model.config, *pair) for pair in pairs]
    for row, scores in enumerate(expected):
        size = len(scores.start)
        for logits, reference in ((outputs.start_logits[row], scores.start), (outputs.end_logits[row], scores.end)):
            got = logits.log_softmax(0).double().numpy()[:size]
            np.testing.assert_allclose(got, log_softmax(reference), rtol=0, atol=tolerance)
        to_question = outputs.attentions[0][row, :size, : scores.to_question.shape[1]]
        np.testing.assert_allclose(to_question, scores.to_question, rtol=0, atol=tolerance)
        np.testing.assert_allclose(outputs.hidden_states[2][row, :size], scores.flow, rtol=0, atol=tolerance)
    assert outputs.loss.item() == pytest.approx(reference_loss(expected, STARTS, ENDS), abs=tolerance)
    start, end, no_answer = span_log_probabilities(outputs)
    rows, first, last = torch.arange(len(pairs)), *labels().values()
    spans = torch.where(first == 0, no_answer, start[rows, first] + end[rows, last])
    torch.testing.assert_close(-spans.mean(), outputs.loss)  # decoding goes by the probabilities of the loss


def test_scores_depend_on_every_parameter() -> None:
    """The comparison above would miss a parameter that does not show in the scores: all do but those that cannot."""
    model = tiny_model(CASES["all_extensions"], self_attention=True, train_word_embeddings=True)
    model(**collate(examples(LENGTHS), model.config), **labels()).loss.backward()
    # A value added to all logits of one softmax leaves it as it is.
    added = {"bidaf.attention_flow.similarity.bias"}
    added |= {f"{end}_from_{part}.bias" for end in ("start", "end") for part in ("flow", "modelling")}
    added |= {f"bidaf.context_self_attention.similarity.{name}" for name in ("bias", "context_weight")}
    without = {name for name, p in model.named_parameters() if p.grad is None or p.grad.abs().max() < 1e-9}
    assert without == added


# ---- padding, batches ------------------------------------------------------------------------------------------------


def loss_gradients(model: BidafForQuestionAnswering, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    model.zero_grad()
    model(**batch).loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    "name", ["baseline", "max", "learned_attention", "learned_attention_residual", "learned_char9", "all_extensions"]
)
def test_padding_and_companions_change_neither_outputs_nor_gradients(name: str) -> None:
    model = tiny_model(CASES[name], train_word_embeddings=True)
    pairs = examples(LENGTHS)
    together = {**collate(pairs, model.config, extra=(5, 3), junk=True), **labels()}
    outputs = model(**together)
    alone_gradients = []
    for row, pair in enumerate(pairs):
        alone = {**collate([pair], model.config), **labels(STARTS[row : row + 1], ENDS[row : row + 1])}
        single = model(**alone)
        size = len(pair[0].words)
        for kind in ("start_logits", "end_logits"):
            ours = outputs[kind][row].log_softmax(0)[:size]
            torch.testing.assert_close(ours, single[kind][0].log_softmax(0), rtol=0, atol=1e-12)
        alone_gradients.append(loss_gradients(model, alone))
    for parameter, gradient in loss_gradients(model, together).items():
        mean = torch.stack([gradients[parameter] for gradients in alone_gradients]).mean(0)
        torch.testing.assert_close(gradient, mean, rtol=0, atol=1e-12, msg=parameter)


def test_batch_order_only_permutes_the_rows() -> None:
    model = tiny_model(CASES["all_extensions"])
    pairs = examples(LENGTHS)
    order = [2, 0, 3, 1]
    straight = model(**collate(pairs, model.config))
    permuted = model(**collate([pairs[row] for row in order], model.config))
    torch.testing.assert_close(permuted.start_logits, straight.start_logits[order], rtol=0, atol=1e-12)
    torch.testing.assert_close(permuted.end_logits, straight.end_logits[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["baseline", "all_extensions"])
def test_batch_of_one_and_texts_of_one_word(name: str) -> None:
    """Only the extra token: an empty context and an empty question."""
    model = tiny_model(CASES[name])
    outputs = model(**collate(examples([(1, 1)]), model.config), **labels([0], [0]))
    assert outputs.start_logits.shape == outputs.end_logits.shape == (1, 1)
    # "No answer" is the only outcome, so it has probability 1.
    assert outputs.loss.item() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["baseline", "all_extensions"])
def test_an_empty_context_in_a_batch_has_finite_gradients(name: str) -> None:
    model = tiny_model(CASES[name], torch.float32)
    batch = {**collate(examples([(1, 3), (8, 3)]), model.config, torch.float32), **labels([0, 2], [0, 4])}
    assert all(gradient.isfinite().all() for gradient in loss_gradients(model, batch).values())


def test_no_mask_means_all_words_are_real() -> None:
    model = tiny_model(CASES["learned_char3"])
    batch = collate(examples([(7, 4), (7, 4)]), model.config)
    without = {name: value for name, value in batch.items() if not name.endswith("attention_mask")}
    torch.testing.assert_close(model(**without).end_logits, model(**batch).end_logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["baseline", "learned_char7"])
def test_probabilities_sum_to_one_over_real_positions(name: str, dtype: torch.dtype) -> None:
    model = tiny_model(CASES[name], dtype)
    batch = collate(examples(LENGTHS), model.config, dtype, extra=(3, 0), junk=True)
    outputs = model(**batch)
    real = batch["attention_mask"].bool()
    for logits in (outputs.start_logits, outputs.end_logits):
        probabilities = logits.log_softmax(1).exp()
        torch.testing.assert_close((probabilities * real).sum(1), torch.ones(4, dtype=dtype))
        assert (probabilities[~real] == 0).all()
        assert (probabilities[real] > 0).all()


# ---- positions, self-attention, characters inside the model ----------------------------------------------------------


def test_only_used_rows_of_the_position_table_get_gradients() -> None:
    model = tiny_model(CASES["learned"])
    batch = {**collate(examples([(9, 5), (6, 2)]), model.config, extra=(4, 4), junk=True), **labels([3, 0], [5, 0])}
    gradient = loss_gradients(model, batch)["bidaf.embeddings.position.table"]
    assert (gradient[:9].abs().sum(1) > 0).all()
    assert (gradient[9:] == 0).all()


def test_context_longer_than_the_table_is_an_error_and_sinusoids_have_no_limit() -> None:
    pairs = examples([(21, 3)])
    learned, sinusoidal = tiny_model(CASES["learned"]), tiny_model(CASES["sinusoidal"])
    with pytest.raises(ValueError, match="21 words is longer than max_position_embeddings=20"):
        learned(**collate(pairs, learned.config))
    assert sinusoidal(**collate(pairs, sinusoidal.config)).start_logits.isfinite().all()


def test_literal_self_attention_is_the_only_way_from_words_to_scores() -> None:
    """With W_v = 0 no gradient reaches the words through the literal layer; the residual one has a path around it."""
    for name, reaches in (("learned_attention", False), ("learned_attention_residual", True)):
        model = tiny_model(CASES[name])
        torch.nn.init.zeros_(model.get_parameter("bidaf.self_attention.value.weight"))
        batch = {**collate(examples(LENGTHS), model.config), **labels()}
        gradients = loss_gradients(model, batch)
        assert (gradients["bidaf.embeddings.projection.weight"].abs().max() > 0) == reaches
        assert (gradients["bidaf.embeddings.position.table"].abs().max() > 0) == reaches


def test_the_second_dropout_alone_is_the_baseline_but_for_its_dropout() -> None:
    """At the same weights: the same scores when nothing is dropped, others when it is."""
    base, second = tiny_model(CASES["baseline"]), tiny_model(CASES["second_dropout"])
    second.load_state_dict(base.state_dict())
    batch = collate(examples(LENGTHS), base.config)
    assert torch.equal(base(**batch).start_logits, second(**batch).start_logits)
    # Only what stands behind the positions is left to drop.
    for model in (base, second):
        model.eval()
        model.bidaf.embeddings.train()
        model.bidaf.embeddings.words.weight.data.fill_(1.0)
    torch.manual_seed(0)  # a word all of whose numbers are dropped would be 0 in the baseline too
    drawn = [model.bidaf.embeddings(batch["input_ids"]) for model in (base, second)]
    assert [bool((x == 0).any()) for x in drawn] == [False, True]


def test_characters_padded_to_the_full_length_or_trimmed_give_the_same_scores() -> None:
    model = tiny_model(CASES["learned_char9"])
    pairs = examples(LENGTHS)
    for context, question in pairs:
        for text in (context, question):
            text.characters = [word[:4] for word in text.characters]
    batch = collate(pairs, model.config)
    assert batch["char_ids"].size(2) == 4  # narrower than the kernel of 9
    padded = dict(batch)
    for name in ("char_ids", "question_char_ids"):
        padded[name] = torch.nn.functional.pad(batch[name], (0, 12))
    torch.testing.assert_close(model(**batch).start_logits, model(**padded).start_logits, rtol=0, atol=1e-12)


def test_attention_maps_on_request() -> None:
    model = tiny_model(CASES["all_extensions"], self_attention=True)
    batch = collate(examples(LENGTHS), model.config)
    to_question, to_context, words, context_map = model(**batch, output_attentions=True).attentions
    real, real_question = batch["attention_mask"].bool(), batch["question_attention_mask"].bool()
    torch.testing.assert_close(to_question.sum(2)[real], torch.ones(int(real.sum()), dtype=torch.float64))
    assert (to_question[~real_question.unsqueeze(1).expand_as(to_question)] == 0).all()
    assert (to_context[~real.unsqueeze(2).expand_as(to_context)] == 0).all()
    assert (words[~real.unsqueeze(1).expand_as(words)] == 0).all()
    assert (context_map.diagonal(dim1=1, dim2=2) == 0).all()
    assert model(**batch).attentions is None


def test_without_dropout_training_mode_equals_evaluation_mode() -> None:
    for name in ("learned_attention", "all_extensions"):
        model = tiny_model(CASES[name], dropout=0.0)
        batch = collate(examples(LENGTHS), model.config)
        evaluation = model(**batch).end_logits
        torch.testing.assert_close(model.train()(**batch).end_logits, evaluation, rtol=0, atol=1e-12)


# ---- numbers of parameters -------------------------------------------------------------------------------------------


def count(module: torch.nn.Module | None) -> int:
    return 0 if module is None else sum(p.numel() for p in module.parameters() if p.requires_grad)


def full_size(name: str, **changes: Any) -> BidafForQuestionAnswering:
    with torch.device("meta"):
        return BidafForQuestionAnswering(
            BidafConfig.of_variant(name, vocab_size=1000, word_embedding_size=300, char_vocab_size=90, **changes)
        )


def test_parameters_of_the_baseline_by_component() -> None:
    model = full_size("baseline")
    base = model.bidaf
    assert count(base.embeddings) == count(base.embeddings.projection) == 30_000
    assert count(base.highway) == 40_400
    assert count(base.encoder) == 161_600
    assert count(base.attention_flow) == 601
    assert count(base.modelling) == 963_200
    assert count(model) - count(base) == 243_604
    assert count(model) == 1_439_405


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("baseline", 1_439_405),
        ("sinusoidal", 1_439_405),
        ("learned", 1_439_405 + 100 * 1024),
        ("learned_attention", 1_439_405 + 100 * 1024 + 30_000),
        ("learned_char3", 1_659_105 + 64 * 90 + 100 * 1024),
        ("learned_char7", 1_684_705 + 64 * 90 + 100 * 1024),
        ("learned_char9", 1_697_505 + 64 * 90 + 100 * 1024),
        ("char7", 1_684_705 + 64 * 90),
        ("second_dropout", 1_439_405),
        ("learned_attention_residual", 1_439_405 + 100 * 1024 + 30_200),
    ],
)
def test_trainable_parameters_of_the_paper(name: str, expected: int) -> None:
    assert count(full_size(name)) == expected


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        # reduce 800 -> 200, BiGRU 200 -> 100, trilinear 200, merge 600 -> 200; G is then 200 wide instead of 800.
        (
            {"context_self_attention": True},
            (160_200 + 181_200 + 601 + 120_200) - 2 * 4 * 100 * 600 - 2 * 600,
        ),
        # Words are 212 wide instead of 200 in the highway network and at the encoder's input.
        ({"word_features": True}, 4 * (212 * 213 - 200 * 201) + 2 * 4 * 100 * 12),
        ({"self_attention": True, "self_attention_residual": True}, 30_000 + 200),
        ({"query_to_context": "max"}, 0),
        ({"train_word_embeddings": True}, 300 * 1000),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, dict) else None,
)
def test_parameters_each_switch_adds(settings: dict[str, Any], more: int) -> None:
    assert count(full_size("learned_char7", **settings)) - count(full_size("learned_char7")) == more


def test_initial_values() -> None:
    torch.manual_seed(0)
    model = BidafForQuestionAnswering(
        BidafConfig.of_variant("learned_char7", vocab_size=50, word_embedding_size=300, char_vocab_size=500)
    )
    table = model.bidaf.embeddings.position.table
    assert table.abs().max() <= 0.1
    assert table.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.02)
    characters = model.get_parameter("bidaf.char_cnn.embedding.weight")
    assert (characters[0] == 0).all()
    assert characters[1:].std().item() == pytest.approx(0.1, rel=0.02)
    for name, weight in model.named_parameters():
        if ".rnn." in name:
            assert weight.abs().max() <= 0.1, name
            assert weight.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.2), name
    words = model.bidaf.embeddings.words.weight
    assert not words.requires_grad
    assert (words[:2] == 0).all()
    trained = BidafModel(BidafConfig(vocab_size=50, train_word_embeddings=True)).embeddings.words.weight
    assert (trained[0] == 0).all()
    assert (trained[1] != 0).any()


def test_padding_characters_are_never_trained() -> None:
    torch.manual_seed(0)
    settings = {**TINY, "dropout": 0.0}
    model = BidafForQuestionAnswering(BidafConfig.of_variant("learned_char3", **settings))
    gradients = loss_gradients(model, {**collate(examples(LENGTHS), model.config, torch.float32), **labels()})
    gradient = gradients["bidaf.char_cnn.embedding.weight"]
    assert (gradient[0] == 0).all()
    assert gradient[1:].abs().max() > 0


# ---- learning --------------------------------------------------------------------------------------------------------


def predictions(outputs: Any, mask: torch.Tensor) -> list[tuple[int, int]]:
    """(0, 0) where no answer is more probable than the best span."""
    answers = decode_answers(outputs, mask, 15)
    none = answers.no_answer_log_probs > answers.span_log_probs
    chosen = zip(answers.starts.tolist(), answers.ends.tolist(), none.tolist(), strict=True)
    return [(0, 0) if no_answer else (i, j) for i, j, no_answer in chosen]


@pytest.mark.slow  # four examples are overfitted in the shared suite
@pytest.mark.parametrize("name", ["learned_char3", "all_extensions"])
def test_overfits_32_questions(name: str) -> None:
    torch.manual_seed(0)
    settings = {**TINY, **CASES[name], "hidden_size": 16, "dropout": 0.0}
    model = BidafForQuestionAnswering(BidafConfig.of_variant(settings.pop("variant"), **settings))
    pairs = examples([(8 + row % 7, 3 + row % 3) for row in range(32)])
    starts = [0 if row % 3 == 0 else 1 + (5 * row) % (7 + row % 7) for row in range(32)]
    ends = [min(start + row % 3, 7 + row % 7) if start else 0 for row, start in enumerate(starts)]
    batch = {**collate(pairs, model.config, torch.float32), **labels(starts, ends)}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(120):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    with torch.no_grad():
        found = predictions(model.eval()(**batch), batch["attention_mask"])
    right = sum(pair == wanted for pair, wanted in zip(found, zip(starts, ends, strict=True), strict=True))
    assert right / 32 > 0.95


def test_a_model_that_only_ever_saw_no_answer_says_so_everywhere() -> None:
    torch.manual_seed(0)
    model = BidafForQuestionAnswering(BidafConfig.of_variant("baseline", **{**TINY, "hidden_size": 16, "dropout": 0.0}))
    none = [0] * 16
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = {**collate(examples([(10, 4)] * 16, seed=1), model.config, torch.float32), **labels(none, none)}
    for _ in range(25):
        optimizer.zero_grad()
        model(**train).loss.backward()
        optimizer.step()
    unseen = collate(examples([(4 + row % 9, 5) for row in range(16)], seed=2), model.config, torch.float32)
    with torch.no_grad():
        assert predictions(model.eval()(**unseen), unseen["attention_mask"]) == [(0, 0)] * 16


# ---- types of numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_autocast_gives_a_float32_loss(name: str) -> None:
    model = tiny_model(CASES[name], torch.float32)
    batch = {**collate(examples(LENGTHS), model.config, torch.float32), **labels()}
    exact = model(**batch).loss
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = model(**batch)
    assert outputs.loss.dtype == outputs.start_logits.dtype == outputs.end_logits.dtype == torch.float32
    assert outputs.loss.item() == pytest.approx(exact.item(), rel=0.1)
    outputs.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["baseline", "all_extensions"])
def test_cuda_equals_the_cpu(name: str) -> None:
    model = tiny_model(CASES[name])
    batch = {**collate(examples(LENGTHS), model.config, extra=(3, 3), junk=True), **labels()}
    on_cpu, gradients = model(**batch), loss_gradients(model, batch)
    on_device = {key: value.cuda() for key, value in batch.items()}
    on_gpu = model.cuda()(**on_device)
    torch.testing.assert_close(on_gpu.start_logits.cpu(), on_cpu.start_logits, rtol=0, atol=1e-10)
    torch.testing.assert_close(on_gpu.end_logits.cpu(), on_cpu.end_logits, rtol=0, atol=1e-10)
    for key, gradient in loss_gradients(model, on_device).items():
        torch.testing.assert_close(gradient.cpu(), gradients[key], rtol=0, atol=1e-10, msg=key)


# ---- bad input -------------------------------------------------------------------------------------------------------


def changed(batch: dict[str, torch.Tensor], **changes: torch.Tensor | None) -> dict[str, torch.Tensor | None]:
    return {**batch, **changes}


def test_bad_input_is_named() -> None:
    model = tiny_model(CASES["all_extensions"])
    batch = collate(examples([(5, 3)]), model.config)
    outside = batch["input_ids"].clone()
    outside[0, 2] = VOCABULARY
    negative = batch["char_ids"].clone()
    negative[0, 2, 0] = -1
    cases: list[tuple[dict[str, torch.Tensor | None], str]] = [
        (changed(batch, input_ids=torch.zeros(1, 0, dtype=torch.long)), "input_ids holds no words"),
        (changed(batch, input_ids=torch.zeros(5, dtype=torch.long)), r"\(batch, words\), got shape \(5,\)"),
        (changed(batch, question_attention_mask=torch.ones(1, 9)), r"\(1, 9\) does not fit question_input_ids"),
        (changed(batch, input_ids=outside), "word id 40 is outside the table of 40 rows"),
        (changed(batch, char_ids=negative), "character id -1 is outside the table of 14 rows"),
        (changed(batch, char_ids=None), "pass char_ids and question_char_ids"),
        (changed(batch, question_char_ids=None), "pass char_ids and question_char_ids"),
        (changed(batch, word_features=None), "pass word_features and question_word_features"),
        (changed(batch, char_ids=batch["char_ids"][:, :3]), r"do not fit word ids of shape \(1, 5\)"),
        (
            changed(batch, char_ids=torch.ones(1, 5, 17, dtype=torch.long)),
            "17 characters for each word, the model takes",
        ),
        (changed(batch, **labels([5], [4])), r"start_positions must lie in 0\.\.4, .* got 5"),
        (changed(batch, **labels([1], [-1])), r"end_positions must lie in 0\.\.4, .* got -1"),
    ]
    for inputs, message in cases:
        with pytest.raises(ValueError, match=message):
            model(**inputs)


def test_tuple_output_on_request() -> None:
    model = tiny_model(CASES["baseline"])
    batch = {**collate(examples(LENGTHS), model.config), **labels()}
    loss, start_logits, end_logits = model(**batch, return_dict=False)
    outputs = model(**batch)
    assert torch.equal(loss, outputs.loss)
    assert torch.equal(start_logits, outputs.start_logits)
    assert torch.equal(end_logits, outputs.end_logits)
