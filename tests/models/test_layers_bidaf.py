from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from ctxzoo.models.layers_bidaf import (
    AttentionFlow,
    CharCnn,
    ContextSelfAttention,
    Highway,
    PositionEmbedding,
    SingleHeadSelfAttention,
    TrilinearSimilarity,
    WordEmbedding,
    WordPositionEmbedding,
    trilinear_init_bound,
)
from tests.references.bidaf import reference_attention_flow
from tests.references.position import reference_sinusoidal_positions


def test_given_vectors_are_frozen_and_trained_ones_are_not() -> None:
    frozen, trained = WordEmbedding(7, 3, trainable=False), WordEmbedding(7, 3, trainable=True)
    assert not frozen.weight.requires_grad
    assert (frozen.weight[:2] == 0).all()
    assert (frozen.weight[2:] != 0).any(1).all()
    assert trained.weight.requires_grad
    assert (trained.weight[0] == 0).all()
    assert (trained.weight[1] != 0).any()


def test_padding_is_never_trained() -> None:
    words = WordEmbedding(7, 3, trainable=True)
    words(torch.tensor([0, 1, 0, 4])).sum().backward()
    assert words.weight.grad is not None
    assert words.weight.grad.any(1).tolist() == [False, True, False, False, True, False, False]


def test_no_positions_leave_the_input_as_it_is() -> None:
    x = torch.randn(2, 5, 4)
    module = PositionEmbedding("none", 3, 4)
    assert torch.equal(module(x), x)
    assert not list(module.parameters())


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_sinusoids_are_added_with_their_scale(scale: float) -> None:
    x = torch.randn(2, 30, 4, dtype=torch.float64)
    module = PositionEmbedding("sinusoidal", 3, 4, scale)  # longer than max_positions, which is for the table
    torch.testing.assert_close(module(x), x + scale * reference_sinusoidal_positions(30, 4), rtol=0, atol=1e-12)
    assert not list(module.parameters())


def test_learned_rows_are_added_and_only_used_ones_get_gradients() -> None:
    module = PositionEmbedding("learned", 6, 4)
    x = torch.randn(2, 4, 4)
    out = module(x)
    assert torch.equal(out[1, 3], x[1, 3] + module.table[3])
    out.sum().backward()
    assert module.table.grad is not None
    assert torch.equal(module.table.grad, torch.tensor([2.0, 2, 2, 2, 0, 0]).unsqueeze(1).expand(6, 4))


def test_learned_rows_start_like_a_linear_layer() -> None:
    torch.manual_seed(0)
    table = PositionEmbedding("learned", 500, 100).table
    assert 0.099 < table.abs().max() <= 0.1
    assert table.mean().item() == pytest.approx(0, abs=0.001)


def test_input_as_long_as_the_table_passes_and_one_word_more_does_not() -> None:
    module = PositionEmbedding("learned", 6, 4)
    assert module(torch.zeros(1, 6, 4)).shape == (1, 6, 4)
    with pytest.raises(ValueError, match="input of 7 words is longer than max_position_embeddings=6"):
        module(torch.zeros(1, 7, 4))


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "learned"])
def test_words_are_projected_and_then_placed(kind: Literal["none", "sinusoidal", "learned"]) -> None:
    torch.manual_seed(0)
    words, position = WordEmbedding(9, 6, trainable=False), PositionEmbedding(kind, 8, 4)
    module = WordPositionEmbedding(words, 4, position, dropout=0.5).eval()
    ids = torch.tensor([[1, 4, 8, 0]])
    expected = position(words.weight[ids] @ module.projection.weight.T)
    torch.testing.assert_close(module(ids), expected)


@pytest.mark.parametrize(("kind", "zeros"), [("none", False), ("learned", True)])
def test_a_second_dropout_follows_the_positions(kind: Literal["none", "learned"], zeros: bool) -> None:
    torch.manual_seed(0)
    words, position = WordEmbedding(9, 6, trainable=False), PositionEmbedding(kind, 8, 4)
    module = WordPositionEmbedding(words, 4, position, dropout=0.3)
    out = module(torch.randint(2, 9, (8, 8)))
    # After the projection a value is exactly 0 only if it was dropped itself (or all six inputs were: 0.07 %).
    assert ((out == 0).float().mean().item() > 0.15) == zeros


LENGTH, CHARACTERS = 16, 12


def char_cnn(kernel_size: int = 5) -> CharCnn:
    torch.manual_seed(0)
    module = CharCnn(CHARACTERS, 3, 4, kernel_size, LENGTH, dropout=0.0).double()
    with torch.no_grad():
        module.embedding.weight.normal_()[0].zero_()
    return module


def word(length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(1, CHARACTERS, (length,), generator=torch.Generator().manual_seed(seed))


def padded(characters: torch.Tensor, length: int = LENGTH) -> torch.Tensor:
    return torch.nn.functional.pad(characters, (0, length - len(characters)))


def explicit(module: CharCnn, characters: torch.Tensor) -> torch.Tensor:
    """conv2d with one input channel over (L, e), ReLU, maximum: place by place, channel by channel."""
    rows = module.embedding.weight[padded(characters)]  # (L, e)
    kernel, bias = module.convolution.weight, module.convolution.bias
    assert bias is not None
    places = []
    for place in range(LENGTH - module.kernel_size + 1):
        window = rows[place : place + module.kernel_size]  # (w, e)
        places.append(torch.stack([(kernel[f].T * window).sum() + bias[f] for f in range(4)]).clamp(min=0))
    return torch.stack(places).max(0).values


@pytest.mark.parametrize("kernel_size", [1, 3, 7, 9, 16])
@pytest.mark.parametrize("length", [1, 2, 8, 16])
@pytest.mark.parametrize("trained", [True, False], ids=["convolution", "looked up"])
def test_equals_an_explicit_loop(kernel_size: int, length: int, trained: bool) -> None:
    module = char_cnn(kernel_size).train(trained)
    characters = word(length)
    with torch.set_grad_enabled(trained):
        out = module(torch.stack([padded(characters), padded(word(4, 1))]).view(1, 2, -1))
    torch.testing.assert_close(out[0, 0], explicit(module, characters), rtol=0, atol=1e-12)


@torch.no_grad()
def test_products_are_looked_up_where_there_is_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch without words included, and each word has the same bits whatever stands beside it."""
    module = char_cnn().eval()
    monkeypatch.delattr(CharCnn, "_embed_distinct_words")
    words = torch.stack([padded(word(length, length)) for length in range(1, 16)])
    together = module(words[None])
    assert all(module(words[None, number : number + 1]).equal(together[:, number : number + 1]) for number in range(15))
    assert module(words[None, :0]).shape == (1, 0, 4)


def test_a_long_word_is_its_first_sixteen_characters() -> None:
    """Cutting is the tokenizer's; here a word of 40 characters is refused, its first 16 are taken."""
    module, characters = char_cnn(), word(40)
    with pytest.raises(ValueError, match="char_ids has 40 characters for each word, the model takes 16"):
        module(characters.view(1, 1, -1))
    out = module(characters[:16].view(1, 1, -1))
    torch.testing.assert_close(out[0, 0], explicit(module, characters[:16]), rtol=0, atol=1e-12)


def test_a_word_does_not_depend_on_its_neighbours() -> None:
    module = char_cnn()
    one = padded(word(5))
    first = torch.stack([one, padded(word(9, 1)), padded(word(1, 2))])
    second = torch.stack([padded(word(16, 3)), one, torch.zeros(LENGTH, dtype=torch.long)])
    out = module(torch.stack([first, second]))
    torch.testing.assert_close(out[0, 0], out[1, 1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kernel_size", [3, 9])
def test_a_batch_trimmed_to_its_longest_word_gives_the_same_vectors(kernel_size: int) -> None:
    """Even narrower than the kernel: the places over padding count, as they do in a batch with a longer word."""
    module = char_cnn(kernel_size)
    for longest in (1, 4, 8, 16):
        words = torch.stack([padded(word(longest), longest), padded(word(1, 1), longest)])
        full = torch.stack([padded(word(longest)), padded(word(1, 1))])
        torch.testing.assert_close(module(words[None]), module(full[None]), rtol=0, atol=1e-14)


def test_a_word_without_characters_is_the_bias_after_relu() -> None:
    module = char_cnn()
    out = module(torch.zeros(1, 1, 0, dtype=torch.long))
    assert module.convolution.bias is not None
    torch.testing.assert_close(out[0, 0], module.convolution.bias.clamp(min=0))


def test_padding_row_stays_zero_under_training() -> None:
    module = char_cnn()
    module(torch.stack([padded(word(3)), padded(word(2, 1))])[None]).sum().backward()
    gradient = module.embedding.weight.grad
    assert gradient is not None
    assert (gradient[0] == 0).all()
    assert gradient.abs().sum() > 0


def test_embeddings_start_from_a_normal_of_a_tenth() -> None:
    torch.manual_seed(0)
    weight = CharCnn(2000, 64, 1, 3, LENGTH, dropout=0.0).embedding.weight
    assert (weight[0] == 0).all()
    assert weight[1:].std().item() == pytest.approx(0.1, rel=0.02)
    assert weight[1:].mean().item() == pytest.approx(0, abs=0.001)


def test_dropout_hits_the_embeddings_only_in_training() -> None:
    module = char_cnn()
    module.dropout = 0.5
    one = padded(word(16))
    trained = torch.cat([module(one[None, None]) for _ in range(50)])
    assert trained.std(0).max() > 0
    torch.testing.assert_close(module.eval()(one[None, None])[0, 0], explicit(module, one), rtol=0, atol=1e-12)


def test_gradients_of_repeated_words_add_up() -> None:
    module = char_cnn()
    one, other = padded(word(5)), padded(word(9, 1))

    def gradients(words: list[torch.Tensor], weights: list[float]) -> list[torch.Tensor]:
        out = module(torch.stack(words)[None])[0]
        total = (out.sum(1) * torch.tensor(weights).double()).sum()
        return list(torch.autograd.grad(total, list(module.parameters())))

    repeated = gradients([one, other, one, one], [1.0, 2.0, 3.0, -1.5])
    for ours, expected in zip(repeated, gradients([one, other], [2.5, 2.0]), strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)


def highway(gate_bias: float, layers: int = 2) -> Highway:
    torch.manual_seed(0)
    module = Highway(4, layers).double()
    for gate in module.gates:
        torch.nn.init.constant_(gate.get_parameter("bias"), gate_bias)
    return module


def test_closed_gates_are_the_identity() -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert torch.equal(highway(-float("inf"))(x), x)
    torch.testing.assert_close(highway(-60.0)(x), x, rtol=0, atol=1e-12)


def test_open_gates_are_plain_layers() -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    module = highway(float("inf"))
    expected = x
    for transform in module.transforms:
        expected = torch.relu(transform(expected))
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_equals_the_equation(layers: int) -> None:
    x = torch.randn(5, 4, dtype=torch.float64)
    module = highway(0.3, layers)
    expected = x
    for gate, transform in zip(module.gates, module.transforms, strict=True):
        g = 1 / (1 + torch.exp(-(expected @ gate.get_parameter("weight").T + 0.3)))
        t = (expected @ transform.get_parameter("weight").T + transform.get_parameter("bias")).clamp(min=0)
        expected = g * t + (1 - g) * expected
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-14)


WIDTH = 6


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    context, question = torch.randn(2, 7, WIDTH).double(), torch.randn(2, 4, WIDTH).double()
    return context, question, torch.arange(7) < torch.tensor([[7], [3]]), torch.arange(4) < torch.tensor([[2], [4]])


@pytest.mark.parametrize("mode", ["coattention", "max"])
def test_equals_the_reference(mode: Literal["coattention", "max"]) -> None:
    context, question, context_mask, question_mask = inputs()
    module = AttentionFlow(WIDTH, 0.2, mode).double().eval()
    s = module.similarity
    torch.nn.init.constant_(s.bias, 0.7)
    weight = torch.cat([s.context_weight.flatten(), s.question_weight.flatten(), s.product_weight.flatten()])
    expected = reference_attention_flow(context, question, weight, s.bias[0], context_mask, question_mask, mode)
    flow = module(context, question, context_mask, question_mask)[0]
    torch.testing.assert_close(flow[context_mask], expected[context_mask], rtol=0, atol=1e-12)


def test_dropout_reaches_the_similarity_alone() -> None:
    """In training S is of dropped-out words, while c and q themselves enter G whole."""
    context, question, context_mask, question_mask = inputs()
    module = AttentionFlow(WIDTH, 0.5).double()
    flow, to_question, _ = module(context, question, context_mask, question_mask)
    assert torch.equal(flow[..., :WIDTH], context)
    torch.testing.assert_close(flow[..., WIDTH : 2 * WIDTH], to_question @ question)
    evaluated = module.eval()(context, question, context_mask, question_mask)[1]
    assert not torch.allclose(to_question, evaluated)


@pytest.mark.parametrize("width", [1, 6, 200])
def test_the_product_starts_as_that_of_the_starter(width: int) -> None:
    """Whose weight has the shape (1, 1, d), of which Xavier's rule takes d for both of its widths."""
    torch.manual_seed(0)
    expected = torch.nn.init.xavier_uniform_(torch.empty(1, 1, width, dtype=torch.float64))
    torch.manual_seed(0)
    bound = trilinear_init_bound(width)
    ours = torch.empty(1, 1, width, dtype=torch.float64).uniform_(-bound, bound)
    torch.testing.assert_close(ours, expected, rtol=1e-14, atol=0)


def test_initial_values_are_xavier_uniform_with_zero_bias() -> None:
    torch.manual_seed(0)
    module = TrilinearSimilarity(400)
    bounds = ((6 / 401) ** 0.5, (6 / 401) ** 0.5, trilinear_init_bound(400))
    for weight, bound in zip(
        (module.context_weight, module.question_weight, module.product_weight), bounds, strict=True
    ):
        assert 0.95 * bound < weight.abs().max().item() <= bound
    assert module.bias.item() == 0


ATTENTION_WIDTH = 4
LENGTHS = [6, 3, 1]


def case(residual: bool = False) -> tuple[SingleHeadSelfAttention, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    module = SingleHeadSelfAttention(ATTENTION_WIDTH, 0.2, residual).double().eval()
    mask = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
    return module, 2 * torch.randn(3, 6, ATTENTION_WIDTH, dtype=torch.float64), mask


@pytest.mark.parametrize("residual", [False, True])
def test_equals_the_equation_on_each_sequence_alone(residual: bool) -> None:
    module, x, mask = case(residual)
    out = module(x, mask)
    for row, length in enumerate(LENGTHS):
        words = x[row, :length]
        query, key, value = (
            words @ linear.get_parameter("weight").T for linear in (module.query, module.key, module.value)
        )
        scores = (query @ key.T / math.sqrt(ATTENTION_WIDTH)).exp()
        expected = scores / scores.sum(1, keepdim=True) @ value
        if residual:
            expected = words + expected
            centred = expected - expected.mean(1, keepdim=True)
            expected = centred / (centred.pow(2).mean(1, keepdim=True) + 1e-5).sqrt()
        torch.testing.assert_close(out[row, :length], expected, rtol=0, atol=1e-12)


def test_without_queries_it_is_the_mean_of_the_values() -> None:
    module, x, mask = case()
    torch.nn.init.zeros_(module.query.weight)
    out = module(x, mask)
    for row, length in enumerate(LENGTHS):
        mean = module.value(x[row, :length]).mean(0)
        torch.testing.assert_close(out[row, :length], mean.expand(length, ATTENTION_WIDTH), rtol=0, atol=1e-13)


def test_padding_has_weight_zero() -> None:
    module, x, mask = case()
    weights = module.attention_weights(x, mask)
    assert (weights.transpose(1, 2)[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(2), torch.ones(3, 6, dtype=torch.float64))
    torch.testing.assert_close(module(x, mask), weights @ module.value(x), rtol=0, atol=1e-13)
    x[~mask] = 1e4
    assert torch.equal(module.attention_weights(x, mask)[mask], weights[mask])


@pytest.mark.parametrize("residual", [False, True])
def test_only_the_residual_layer_has_a_path_around_the_attention(residual: bool) -> None:
    module, x, mask = case(residual)
    torch.nn.init.zeros_(module.value.weight)
    x.requires_grad_()
    (module(x, mask) ** 2 * torch.rand_like(x)).sum().backward()
    assert x.grad is not None
    assert bool(x.grad.abs().max() > 0) == residual


def test_no_bias_and_no_output_map() -> None:
    assert {name for name, _ in case()[0].named_parameters()} == {"query.weight", "key.weight", "value.weight"}


def test_dropout_is_on_the_weights_in_training_only() -> None:
    module, _, mask = case()
    torch.nn.init.zeros_(module.query.weight)
    torch.nn.init.eye_(module.value.weight)
    one_hot = torch.eye(6, ATTENTION_WIDTH, dtype=torch.float64)[
        None
    ]  # the output then shows the weights of the first 4 words
    full = mask[:1]
    torch.manual_seed(0)
    seen = torch.cat([module.train()(one_hot, full) for _ in range(50)])
    assert sorted(set(seen.flatten().tolist())) == pytest.approx([0.0, 1 / (6 * 0.8)])
    assert (seen == 0).double().mean().item() == pytest.approx(0.2, abs=0.05)
    torch.testing.assert_close(
        module.eval()(one_hot, full), torch.full((1, 6, ATTENTION_WIDTH), 1 / 6, dtype=torch.float64)
    )


# ---- after the attention flow ----------------------------------------------------------------------------------------


def context_case() -> tuple[ContextSelfAttention, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    module = ContextSelfAttention(10, 3, 0.2).double().eval()
    mask = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
    return module, torch.randn(3, 6, 10, dtype=torch.float64), mask


def test_context_attention_equals_the_equations() -> None:
    module, flow, mask = context_case()
    out, weights = module(flow, mask)
    similarity = module.similarity
    w = torch.cat([part.flatten() for part in (similarity.context_weight, similarity.question_weight)])
    w = torch.cat([w, similarity.product_weight.flatten()])
    for row, length in enumerate(LENGTHS):
        x = module.reduce(flow[row, :length]).clamp(min=0)
        r = module.encoder.rnn(x[None])[0][0]
        for i in range(length):
            others = [j for j in range(length) if j != i]
            chances = torch.zeros(length, dtype=torch.float64)
            if others:
                scores = torch.stack([torch.cat([r[i], r[j], r[i] * r[j]]) @ w for j in others]).exp()
                chances[others] = scores / scores.sum()
            attended = chances @ r
            merged = module.merge(torch.cat([r[i], attended, r[i] * attended]))
            torch.testing.assert_close(out[row, i], x[i] + merged.clamp(min=0), rtol=0, atol=1e-12)
            torch.testing.assert_close(weights[row, i, :length], chances, rtol=0, atol=1e-12)


def test_no_word_attends_to_itself_or_to_padding() -> None:
    module, flow, mask = context_case()
    weights = module(flow, mask)[1]
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    assert (weights.transpose(1, 2)[~mask] == 0).all()
    sums = weights.sum(2)[mask]
    # The context of one word has nothing to look at.
    torch.testing.assert_close(sums, torch.tensor([1.0] * 9 + [0.0], dtype=torch.float64))


def test_context_attention_ignores_padding() -> None:
    module, flow, mask = context_case()
    before = module(flow, mask)[0][mask]
    flow[~mask] = 1e3
    torch.testing.assert_close(module(flow, mask)[0][mask], before, rtol=0, atol=1e-13)


def test_context_attention_has_a_residual_path() -> None:
    module, flow, mask = context_case()
    torch.nn.init.zeros_(module.merge.weight)
    torch.nn.init.constant_(module.merge.bias, -1.0)
    torch.testing.assert_close(module(flow, mask)[0], torch.relu(module.reduce(flow)))
