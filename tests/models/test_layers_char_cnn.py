from __future__ import annotations

import pytest
import torch

from ctxzoo.models.layers_char_cnn import CharCnn

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
def test_equals_an_explicit_loop(kernel_size: int, length: int) -> None:
    module = char_cnn(kernel_size)
    characters = word(length)
    out = module(padded(characters).view(1, 1, -1))
    torch.testing.assert_close(out[0, 0], explicit(module, characters), rtol=0, atol=1e-12)


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
