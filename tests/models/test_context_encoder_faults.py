"""Tests of learned kernels can fail: each of these faults is found by the test that is for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ctxzoo.models import layers_context_encoder_density as density
from ctxzoo.models import layers_context_encoder_kernels as kernels
from ctxzoo.models import ops_context_encoder_kernels as ops
from ctxzoo.models import ops_context_encoder_pairwise as pairwise
from tests.models import test_layers_context_encoder_kernels as tests

Patch = pytest.MonkeyPatch


def _scale_without_root(patch: Patch) -> None:
    right = kernels.rbf_log_kernel
    patch.setattr(kernels, "rbf_log_kernel", lambda query, key, scale: right(query, key, scale**0.5))


def _the_share_of_the_length_is_kept(patch: Patch) -> None:
    right = kernels.fused_attention
    patch.setattr(kernels, "fused_attention", lambda *given, key_bias: right(*given))


def _a_later_key_is_seen_in_dot_products(patch: Patch) -> None:
    right = kernels.fused_attention
    patch.setattr(kernels, "fused_attention", lambda q, k, v, mask, causal: right(q, k, v, mask, False))


def _no_floor_below_squares(patch: Patch) -> None:
    patch.setattr(pairwise, "FLOOR", 0.0)


def _padding_joins_squares(patch: Patch) -> None:
    right = kernels.squared_product_attention
    patch.setattr(kernels, "squared_product_attention", lambda *given: right(*given[:4], None))


def _p_th_power_for_the_square(patch: Patch) -> None:
    patch.setattr(kernels, "squared_norm", lambda x, p_norm: x.abs().pow(p_norm).sum(dim=-1))


def _mean_over_the_whole_text(patch: Patch) -> None:
    right = kernels.running_means

    def wrong(query: Any, key: Any, mask: Any, sums: Any, count: Any) -> Any:
        means, *rest = right(query, key, mask, sums, count)
        return (means[:, :, -1:].expand_as(means), *rest)

    patch.setattr(kernels, "running_means", wrong)


def _no_mask_of_later_keys(patch: Patch) -> None:
    right = kernels.visible_keys
    patch.setattr(
        kernels, "visible_keys", lambda mask, queries, keys, causal, device: right(mask, queries, keys, False, device)
    )


def _means_that_forget(patch: Patch) -> None:
    right = kernels.running_means
    patch.setattr(kernels, "running_means", lambda query, key, mask, sums, count: right(query, key, mask, None, None))


def _a_mean_over_padding(patch: Patch) -> None:
    right = kernels.masked_means
    patch.setattr(
        kernels, "masked_means", lambda query, key, *masks: right(query, key, None, torch.ones_like(masks[1]))
    )


def _frequencies_too_wide(patch: Patch) -> None:
    patch.setattr(tests, "start_variance", lambda scale: 2 * kernels.start_variance(scale))


def _an_even_network(patch: Patch) -> None:
    right = tests.odd_network
    patch.setattr(tests, "odd_network", lambda z, maps: right(z.abs(), maps))


def _rows_of_any_length(patch: Patch) -> None:
    right = tests.copula_factor
    patch.setattr(tests, "copula_factor", lambda directions, unit_rows: right(directions, unit_rows=False))


def _a_divergence_without_the_copula(patch: Patch) -> None:
    right = tests.frequency_divergence
    patch.setattr(tests, "frequency_divergence", lambda *arguments: right(*arguments[:3], None))


def _fresh_noise_in_evaluation(patch: Patch) -> None:
    patch.setattr(
        density.SpectralDensity,
        "_noise",
        lambda self, summary: torch.randn_like(self.evaluation_noise)[:, None, :, None],
    )


def _a_uniform_row_where_nothing_is_seen(patch: Patch) -> None:
    def wrong(energy: Any, value: Any, visible: Any, rate: float = 0.0, training: bool = False) -> Any:
        weights = energy.masked_fill(~visible, torch.finfo(energy.dtype).min).softmax(dim=-1)
        return weights.to(value.dtype) @ value, weights

    patch.setattr(kernels, "attend", wrong)


def _a_mask_before_the_magnitudes(patch: Patch) -> None:
    right = ops.attend

    def wrong(energy: Any, value: Any, visible: Any, rate: float = 0.0, training: bool = False) -> Any:
        return right(energy.masked_fill(~visible, -11.5) + 0.0, value, torch.ones_like(visible), rate, training)

    patch.setattr(kernels, "attend", wrong)


FAULTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (_scale_without_root, tests.test_property_1_the_example_factorises),
    (_scale_without_root, lambda: tests.test_property_1_rbf_and_l2_are_dot_products(False, torch.float64)),
    (_the_share_of_the_length_is_kept, lambda: tests.test_attention_equals_its_reference(1.0)),
    (
        _a_later_key_is_seen_in_dot_products,
        lambda: tests.test_requested_weights_change_neither_output_nor_gradients("dot", True),
    ),
    (
        _no_floor_below_squares,
        lambda: tests.test_requested_weights_change_neither_output_nor_gradients("direct", False),
    ),
    (_padding_joins_squares, lambda: tests.test_property_10_order_and_padding("mikan")),
    (_p_th_power_for_the_square, lambda: tests.test_property_2_the_table_of_norms(3.0)),
    (_frequencies_too_wide, tests.test_property_4_many_frequencies_give_the_rbf_kernel),
    (_an_even_network, tests.test_property_6_the_network_of_frequencies_is_odd),
    (_rows_of_any_length, tests.test_property_7_the_copula_is_a_correlation_and_keeps_the_marginals),
    (_a_divergence_without_the_copula, tests.test_property_8_the_divergence_is_that_of_normal_distributions),
    (_fresh_noise_in_evaluation, lambda: tests.test_property_11_reading_in_parts_equals_reading_at_once("mikan")),
    (_a_mean_over_padding, lambda: tests.test_property_10_order_and_padding("ika")),
    (
        _mean_over_the_whole_text,
        lambda: tests.test_property_11_the_future_changes_nothing_where_it_must_not_be_read("ika"),
    ),
    (
        _no_mask_of_later_keys,
        lambda: tests.test_property_11_the_future_changes_nothing_where_it_must_not_be_read("linear"),
    ),
    (_means_that_forget, lambda: tests.test_property_11_reading_in_parts_equals_reading_at_once("mikan")),
    (_a_uniform_row_where_nothing_is_seen, lambda: tests.test_case_a_text_without_words_gives_zeros("linear")),
    (_a_mask_before_the_magnitudes, tests.test_case_a_mask_beats_the_largest_importance),
]


@pytest.mark.parametrize(("fault", "test"), FAULTS, ids=lambda one: getattr(one, "__name__", "").strip("_"))
def test_a_fault_is_found(fault: Callable[[Patch], None], test: Callable[[], None], monkeypatch: Patch) -> None:
    test()
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        test()
