from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.ops_words import sinusoidal_positions, word_positions
from tests.references.position import reference_sinusoidal_positions


def test_published_values() -> None:
    """Width 512: position 0 is 0, 1, 0, 1, …; position 1 begins with sin 1, cos 1, then the next wavelength."""
    table = sinusoidal_positions(3, 512, dtype=torch.float64)
    assert table[0].tolist() == [0.0, 1.0] * 256
    expected = [0.8414710, 0.5403023, 0.8218562, 0.5696950, 0.8019618, 0.5973753]
    torch.testing.assert_close(table[1, :6], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-7)
    assert table[2, :2].tolist() == pytest.approx([0.9092974, -0.4161468], abs=1e-7)


def test_wavelengths_go_from_two_pi_to_ten_thousand_times_two_pi() -> None:
    """The angle of pair i grows by 10000^(-2i/d) a position: 1 at the first pair, nearly 1/10000 at the last."""
    width = 100
    first, second = sinusoidal_positions(2, width, dtype=torch.float64)
    angles = torch.atan2(second[0::2], second[1::2]) - torch.atan2(first[0::2], first[1::2])
    steps = torch.tensor([10000 ** (-2 * i / width) for i in range(width // 2)], dtype=torch.float64)
    torch.testing.assert_close(angles, steps, rtol=1e-9, atol=0)


@pytest.mark.parametrize("width", [2, 6, 100])
def test_equals_the_reference(width: int) -> None:
    expected = reference_sinusoidal_positions(40, width)
    torch.testing.assert_close(sinusoidal_positions(40, width, dtype=torch.float64), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(sinusoidal_positions(40, width).double(), expected, rtol=0, atol=1e-7)


def test_a_shift_is_one_rotation_for_all_positions() -> None:
    width, shift = 8, 7
    table = sinusoidal_positions(50, width, dtype=torch.float64)
    for pair in range(width // 2):
        angle = shift * 10000 ** (-2 * pair / width)
        # (sin, cos) of a sum of angles.
        rotation = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64
        )
        part = table[:, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(part[shift:], part[:-shift] @ rotation.T, rtol=0, atol=1e-12)


def test_far_positions_keep_full_precision_in_float32() -> None:
    table = sinusoidal_positions(100_001, 4)
    expected = [math.sin(100_000), math.cos(100_000), math.sin(1000), math.cos(1000)]
    assert table.dtype == torch.float32
    assert table[100_000].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_position_does_not_depend_on_the_length_and_length_zero_is_empty() -> None:
    assert torch.equal(sinusoidal_positions(5, 6), sinusoidal_positions(90, 6)[:5])
    assert sinusoidal_positions(0, 6).shape == (0, 6)


def test_positions_of_words_count_the_words_of_each_text() -> None:
    table = sinusoidal_positions(4, 6, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 0], [0, 1, 0, 1]], dtype=torch.bool)
    found = word_positions(mask, 6, torch.float64)
    assert torch.equal(found[0, :3], table[:3])
    assert torch.equal(found[1, [1, 3]], table[:2])
