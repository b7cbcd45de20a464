"""Word embeddings against their equations: place by place, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch.nn import functional as F
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, pipeline

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.ops_word_embedding import gather_word_windows
from tests.models.cases_word_embedding import ARCHITECTURES, move_weights
from tests.references.word_embedding import (
    parameters_of,
    reference_logits,
    reference_loss,
    reference_sampled_loss,
    surroundings,
)
from tests.support.tiny_word_embedding import TEXT, tiny_model, tiny_tokenizer

SIZES: dict[str, Any] = {"vocab_size": 20, "num_special_tokens": 2, "word_dim": 4, "window": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"architecture": name} for name in ARCHITECTURES},
    "word_logits_alone": {"position_logits": False},
    "position_logits_alone": {"word_logits": False},
    "low_rank": {"logit_rank": 2},
}
EACH_WORD = ("skip_gram", "structured_skip_gram")
# A mask inside, a word twice in one window, and the centre among its own context.
SENTENCES = ([3, 7, 3, 3, 1, 12, 5], [5], [8, 1], [2, 19, 4])
every_setting = pytest.mark.parametrize("setting", SETTINGS)
every_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)


def model_of(**changes: Any) -> WordEmbeddingForMaskedLM:
    torch.manual_seed(0)
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(**{**SIZES, **changes}))
    move_weights(model)
    return model.double().eval()


def batch_of(sentences: Any = SENTENCES) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, sentences))
    ids = torch.tensor([[*sentence, *[0] * (width - len(sentence))] for sentence in sentences])
    return ids, (ids > 0).long()


def draw(model: WordEmbeddingForMaskedLM, own_noise: bool = False) -> dict[str, torch.Tensor]:
    """Windows of `SENTENCES` with three noise words each, some of which are left out."""
    ids, mask = batch_of()
    contexts, present = model.word_embedding.collect_windows(ids, mask)
    places = (ids >= 2) & present.any(dim=-1)
    generator = torch.Generator().manual_seed(1)
    centres = ids[places]
    shape = (len(centres), *([contexts.size(-1)] if own_noise else []), 3)
    noise = torch.randint(2, 20, shape, generator=generator)
    kept = (noise != centres.view(-1, *[1] * (len(shape) - 1))) & (torch.rand(shape, generator=generator) < 0.8)
    windows = {"contexts": contexts[places], "present": present[places], "centres": centres}
    return {**windows, "noise": noise, "noise_kept": kept}


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@every_setting
def test_logits_and_loss_equal_loops(setting: str) -> None:
    model = model_of(**SETTINGS[setting])
    ids, mask = batch_of()
    labels = torch.full_like(ids, -100)
    losses = []
    for row, place, label in ((0, 0, 9), (0, 3, 3), (1, 0, 4), (2, 1, 6), (3, 1, 19)):
        labels[row, place] = label
        losses.append(reference_loss(model, SENTENCES[row], place, label))
    with torch.no_grad():
        output = model(ids, mask, labels=labels)
    for row, sentence in enumerate(SENTENCES):
        close(output.logits[row, : len(sentence), 2:], reference_logits(model, sentence))
    close(output.loss, torch.tensor(losses, dtype=torch.float64).mean())
    assert (output.logits[..., :2] == torch.finfo(torch.float64).min).all()


@every_setting
@pytest.mark.parametrize("own_noise", [False, True])
def test_sampled_loss_equals_loops(setting: str, own_noise: bool) -> None:
    model = model_of(**SETTINGS[setting])
    if own_noise and model.config.architecture not in EACH_WORD:
        with pytest.raises(ValueError, match=r"noise has shape \(9, 4, 3\); expected \(9, S\)"):
            model.sampled_loss(**draw(model, own_noise))
        return
    given = draw(model, own_noise)
    found = model.sampled_loss(**given)
    assert found.shape == given["centres"].shape
    for row, loss in enumerate(found):
        around = [(column, int(given["contexts"][row, column])) for column in range(4) if given["present"][row, column]]
        noise = {}
        for column in range(4):
            words, kept = (
                given[name][row, column] if own_noise else given[name][row] for name in ("noise", "noise_kept")
            )
            noise[column] = words[kept].tolist()
        assert loss.item() == pytest.approx(
            reference_sampled_loss(model, around, int(given["centres"][row]), noise), rel=1e-12
        )


@pytest.mark.parametrize("setting", ["attention_cbow", "cbow"])
def test_gradients_are_those_of_the_paper(setting: str) -> None:
    """g_y = label - sigma(O[y].c), h = sum of g_y O[y]; the ascent directions of the specification."""
    model = model_of(**SETTINGS[setting])
    given, p = draw(model), parameters_of(model)
    model.sampled_loss(**given).sum().backward()
    expected = {name: torch.zeros_like(x) for name, x in p.items()}
    of_windows = []
    for row, centre in enumerate(given["centres"].tolist()):
        columns = given["present"][row].nonzero().flatten().tolist()
        words = given["contexts"][row, columns].tolist()
        logits = [
            sum(float(p[name][index]) for name, index in (("K", (word, column)), ("s", column)) if name in p)
            for column, word in zip(columns, words, strict=True)
        ]
        a = torch.tensor(logits, dtype=torch.float64).exp()
        a = a / a.sum()
        c = a @ p["W"][words]
        h = torch.zeros_like(c)
        noise = given["noise"][row][given["noise_kept"][row]].tolist()
        for y, label in ((centre, 1.0), *((n, 0.0) for n in noise)):
            g = label - (p["O"][y] @ c).sigmoid()
            expected["O"][y] += g * c
            h += g * p["O"][y]
        for place, (column, word) in enumerate(zip(columns, words, strict=True)):
            expected["W"][word] += a[place] * h
            if "K" in p:
                change = a[place] * (p["W"][word] @ h - c @ h)
                expected["K"][word, column] += change
                expected["s"][column] += change
        of_windows.append(sum(float(a[i] * (p["W"][word] @ h - c @ h)) for i, word in enumerate(words)))
    assert max(map(abs, of_windows)) < 1e-12  # the sum of dK over a window
    base = model.word_embedding
    found = {"O": model.output_vectors.grad, "W": base.word_vectors.weight.grad}
    if setting == "attention_cbow":
        assert base.word_position_logits is not None
        assert base.position_logits is not None
        found |= {"K": base.word_position_logits.weight.grad, "s": base.position_logits.grad}
    for name, gradient in found.items():
        assert gradient is not None
        close(-gradient, expected[name])


def test_gradient_of_word2vec() -> None:
    """The whole h for every context word; everything else as it is."""
    model = model_of(architecture="cbow")
    given = draw(model)
    exact, whole = model.sampled_loss(**given), model.sampled_loss(**given, input_gradient="word2vec")
    assert torch.equal(exact, whole)
    parameters = (model.output_vectors, model.word_embedding.word_vectors.weight)
    of_exact, of_whole = (torch.autograd.grad(loss[:1].sum(), parameters) for loss in (exact, whole))
    assert torch.equal(of_exact[0], of_whole[0])
    close(of_whole[1], of_exact[1] * given["present"][0].sum())
    for architecture in ("attention_cbow", "skip_gram", "positional_cbow"):
        other = model_of(architecture=architecture)
        with pytest.raises(ValueError, match=f"'word2vec' with architecture='{architecture}'"):
            other.sampled_loss(**draw(other), input_gradient="word2vec")


@every_setting
def test_sparse_gradients_are_the_dense_ones(setting: str) -> None:
    models = [model_of(**SETTINGS[setting]) for _ in range(2)]
    models[1].set_sparse_gradients(True)
    for model in models:
        model.sampled_loss(**draw(model)).sum().backward()
    tables = {"output_vectors", *(name for name, _ in models[0].named_parameters() if name.endswith("weight"))}
    for (name, dense), sparse in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        assert dense.grad is not None
        assert sparse.grad is not None
        assert sparse.grad.is_sparse == (name in tables), name
        close(sparse.grad.to_dense(), dense.grad)


def test_weights_are_shares_of_the_words_that_are_there() -> None:
    model = model_of()
    ids, mask = batch_of()
    _, present = gather_word_windows(ids, (ids >= 2), 2)
    present &= mask.bool().unsqueeze(-1)
    (weights,) = model(ids, mask, output_attentions=True).attentions
    assert (weights[present] > 0).all()
    assert not weights[~present].any()
    close(weights.sum(dim=-1), present.any(dim=-1).double())


def test_a_start_without_attention_is_cbow_step_by_step() -> None:
    torch.manual_seed(0)
    plain, attentive = (
        WordEmbeddingForMaskedLM(WordEmbeddingConfig(**SIZES, architecture=name)) for name in ARCHITECTURES[:2]
    )
    attentive.word_embedding.word_vectors.load_state_dict(plain.word_embedding.word_vectors.state_dict())
    for model in (plain, attentive):
        tables = [model.output_vectors, model.word_embedding.word_vectors.weight]  # K and s stay 0
        optimizer = torch.optim.SGD(tables, lr=0.3)
        for _ in range(5):
            optimizer.zero_grad()
            model.sampled_loss(**draw(model)).sum().backward()
            optimizer.step()
    assert plain.output_vectors.any()
    assert torch.equal(plain.output_vectors, attentive.output_vectors)
    assert torch.equal(plain.word_embedding.word_vectors.weight, attentive.word_embedding.word_vectors.weight)


def test_what_the_softmax_cancels() -> None:
    model, ids = model_of(), batch_of()
    base = model.word_embedding
    assert base.position_logits is not None
    assert base.word_position_logits is not None
    with torch.no_grad():
        before = model(*ids).logits
        base.position_logits += 3.0  # all positions alike
        close(model(*ids).logits, before)
        base.position_logits[1] -= 2.0  # from s to its column of K
        base.word_position_logits.weight[:, 1] += 2.0
        close(model(*ids).logits, before)
        base.position_logits[1] -= 2.0
        assert (model(*ids).logits - before).abs().max() > 1e-3


@every_setting
def test_mirrored_text_with_mirrored_positions(setting: str) -> None:
    model, mirrored = model_of(**SETTINGS[setting]), model_of(**SETTINGS[setting])
    base = mirrored.word_embedding
    with torch.no_grad():
        if base.word_position_logits is not None:
            base.word_position_logits.weight.copy_(base.word_position_logits.weight.flip(1))
        if base.position_factors is not None:
            base.position_factors.copy_(base.position_factors.flip(1))
        for parameter in (base.position_logits, base.position_vectors):
            if parameter is not None:
                parameter.copy_(parameter.flip(0))
        if setting == "structured_skip_gram":
            mirrored.output_vectors.copy_(mirrored.output_vectors.flip(0))
        if setting == "cwindow":
            mirrored.output_vectors.copy_(mirrored.output_vectors.unflatten(1, (4, 4)).flip(1).flatten(1))
        ids = torch.tensor([[3, 7, 3, 9, 1, 12]])
        close(mirrored(ids.flip(1)).logits.flip(1), model(ids).logits)


@every_architecture
def test_a_place_does_not_see_its_own_word(architecture: str) -> None:
    model = model_of(architecture=architecture)
    with torch.no_grad():
        logits = [model(torch.tensor([[3, 7, word, 9, 12]])).logits[0] for word in (5, 1)]
    assert torch.equal(logits[0][2], logits[1][2])
    assert not torch.equal(logits[0][3], logits[1][3])


@every_architecture
def test_special_tokens_are_no_context_and_have_no_vector(architecture: str) -> None:
    model = model_of(architecture=architecture, num_special_tokens=3)
    with torch.no_grad():
        model.word_embedding.word_vectors.weight[:3] = 7.0  # must not be read
        first, second = (model(torch.tensor([[3, special, 9, 12]]), output_hidden_states=True) for special in (1, 2))
    close(first.logits, second.logits)
    words, context = first.hidden_states
    assert not words[0, 1].any()
    assert torch.equal(words[0, 2], model.word_embedding.word_vectors.weight[9])
    assert context.shape == (1, 4, model.config.context_size)


@every_architecture
def test_a_place_without_words_around(architecture: str) -> None:
    model = model_of(architecture=architecture)
    output = model(torch.tensor([[5]]), labels=torch.tensor([[9]]), output_hidden_states=True)
    assert not output.hidden_states[1].any()
    close(output.loss, torch.tensor(18.0, dtype=torch.float64).log())
    output.loss.backward()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())
    empty = model(torch.empty(2, 0, dtype=torch.long), torch.empty(2, 0))
    assert empty.logits.shape == (2, 0, 20)


@every_architecture
def test_a_batch_without_a_label_costs_nothing(architecture: str) -> None:
    """A collator that masks words by chance masks none in some batch."""
    model = model_of(architecture=architecture)
    ids, mask = batch_of()
    loss = model(ids, mask, labels=torch.full_like(ids, -100)).loss
    assert loss.item() == 0
    loss.backward()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())
    at_padding = torch.where(mask.bool(), -100, 9)
    assert model(ids, mask, labels=at_padding).loss.item() == 0


def test_learns_which_position_tells() -> None:
    """Every second word follows from the one before it, and all else is chance."""
    torch.manual_seed(0)
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=22, word_dim=8, window=2))
    assert model.word_embedding.position_logits is not None
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(120):
        causes = torch.randint(2, 12, (16, 6))
        ids = torch.stack([causes, causes + 10], dim=2).flatten(1)
        labels = ids.clone()
        labels[:, ::2] = -100
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 < 2.5 < losses[0]
    assert model.word_embedding.position_logits.argmax() == 1  # column of position -1


def test_start() -> None:
    torch.manual_seed(0)
    for setting, changes in SETTINGS.items():
        model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(**{**SIZES, **changes}))
        base = model.word_embedding
        assert not model.output_vectors.any()
        vectors = base.word_vectors.weight
        assert not vectors[:2].any()
        assert 0.1 < vectors.abs().max() <= 0.5 / 4
        p = parameters_of(model)
        assert not any(p[name].any() for name in ("K", "s") if name in p), setting
        assert "d" not in p or (p["d"] == 1).all()


def test_parameters_of_the_paper() -> None:
    with torch.device("meta"):
        model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=100_000))
    assert sum(p.numel() for p in model.parameters()) == 14_000_040
    with torch.device("meta"):
        model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=100, architecture="structured_skip_gram"))
        assert model.output_vectors.shape == (40, 100, 50)
        model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=100, architecture="cwindow"))
        assert model.output_vectors.shape == (100, 2000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"word_dim": 0}, "word_dim must be at least 1, got 0"),
        ({"num_special_tokens": 0}, "num_special_tokens must be at least 1"),
        ({"vocab_size": 2}, "vocab_size must be above num_special_tokens = 2, .* got 2"),
        ({"architecture": "glove"}, "architecture"),
        ({"word_logits": False, "position_logits": False}, "take architecture='cbow'"),
        ({"logit_rank": -1}, "logit_rank must be 0 .* got -1"),
        ({"logit_rank": 3, "word_logits": False}, "logit_rank=3 belongs to K"),
        ({"logit_rank": 3, "architecture": "cbow"}, "architecture='cbow' with word_logits=True does not have"),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, StrictDataclassError), match=message):
        WordEmbeddingConfig(**{**SIZES, **changes})


def test_windows_that_do_not_fit() -> None:
    model = model_of()
    given = draw(model)
    for name, x, message in (
        ("contexts", given["contexts"][:, 1:], r"contexts has shape \(9, 3\); expected \(9, 4\)"),
        ("present", given["present"][1:], r"present has shape \(8, 4\)"),
        ("noise", given["noise"][1:], r"noise_kept has shape \(9, 3\); expected \(8, 3\)"),
        ("noise_kept", given["noise_kept"][:, 1:], r"noise_kept has shape \(9, 2\); expected \(9, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.sampled_loss(**{**given, name: x})
    with pytest.raises(ValueError, match="input_gradient='whole'"):
        model.sampled_loss(**given, input_gradient="whole")  # type: ignore[arg-type]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    tiny_model().save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    return tmp_path


def test_fill_mask_pipeline(checkpoint: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    inputs = tokenizer(TEXT, return_tensors="pt")
    rest = ["stands", "in", "town", "0000", "."]
    assert tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]) == ["the", "[MASK]", *rest]
    with torch.no_grad():
        logits = AutoModelForMaskedLM.from_pretrained(checkpoint)(**inputs).logits[0, 1]
    fill = pipeline("fill-mask", model=str(checkpoint))
    found = fill(TEXT, top_k=9)
    assert [one["token"] for one in found[:7]] == logits.argsort(descending=True)[:7].tolist()
    assert [one["score"] for one in found] == pytest.approx(F.softmax(logits, dim=0).sort(descending=True)[0].tolist())
    assert [one["score"] for one in found[7:]] == [0.0, 0.0]  # [PAD] and [MASK]
    assert found[0]["sequence"] == f"the {found[0]['token_str']} {' '.join(rest)}"
    (both, alone) = fill([TEXT, "the [MASK]"], targets=["mill", "town"], batch_size=2)
    assert {one["token_str"] for one in (*both, *alone)} == {"mill", "town"}


def test_feature_extraction_pipeline_gives_the_word_vectors(checkpoint: Path) -> None:
    found = pipeline("feature-extraction", model=str(checkpoint))("The mill unknown 1984", return_tensors=True)
    table = AutoModel.from_pretrained(checkpoint).get_input_embeddings().weight
    assert torch.equal(found[0], table[[2, 3, 7]])


def test_surroundings_of_the_reference() -> None:
    assert surroundings([3, 1, 4, 5], 2, 2, special=2) == [(0, 3), (2, 5)]
