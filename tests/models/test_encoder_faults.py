"""Tests of the encoders' four ideas can fail: each of these faults is found by the test that is for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ctxzoo.models import layers_encoder as dots
from ctxzoo.models import layers_kernel_encoder as kernels
from ctxzoo.models import layers_time_encoder as time_position
from ctxzoo.models import ops_encoder as ops
from ctxzoo.models import ops_higher_order_encoder as triples
from ctxzoo.models import ops_kernel_encoder as pairwise
from ctxzoo.models import ops_linear_encoder as linear
from ctxzoo.models import ops_time_encoder as time
from tests.models import test_layers_kernel_encoder as tests
from tests.models import test_layers_time_encoder as time_layer_tests
from tests.models import test_ops_higher_order_encoder as triples_tests
from tests.models import test_ops_linear_encoder as linear_tests
from tests.models import test_ops_time_encoder as time_tests

Patch = pytest.MonkeyPatch


def _scale_without_root(patch: Patch) -> None:
    right = kernels.rbf_log_kernel
    patch.setattr(kernels, "rbf_log_kernel", lambda query, key, scale: right(query, key, scale**0.5))


def _the_share_of_the_length_is_kept(patch: Patch) -> None:
    right = kernels.fused_attention
    patch.setattr(kernels, "fused_attention", lambda *given, key_bias: right(*given))


def _a_later_key_is_seen_in_dot_products(patch: Patch) -> None:
    right = dots.fused_attention
    patch.setattr(dots, "fused_attention", lambda q, k, v, mask, causal: right(q, k, v, mask, False))


def _no_floor_below_squares(patch: Patch) -> None:
    right = kernels.squared_product_attention

    def wrong(*given: Any) -> Any:
        with patch.context() as inside:
            inside.setattr(pairwise, "FLOOR", 0.0)
            return right(*given)

    patch.setattr(kernels, "squared_product_attention", wrong)


def _padding_joins_squares(patch: Patch) -> None:
    right = kernels.squared_product_attention
    patch.setattr(kernels, "squared_product_attention", lambda *given: right(*given[:4], None))


def _p_th_power_for_the_square(patch: Patch) -> None:
    patch.setattr(kernels, "squared_norm", lambda x, p_norm: x.abs().pow(p_norm).sum(dim=-1))


def _mean_over_the_whole_text(patch: Patch) -> None:
    right = kernels.running_mean_query_and_key

    def wrong(query: Any, key: Any, mask: Any, sums: Any, count: Any) -> Any:
        means, *rest = right(query, key, mask, sums, count)
        return (means[:, :, -1:].expand_as(means), *rest)

    patch.setattr(kernels, "running_mean_query_and_key", wrong)


def _no_mask_of_later_keys(patch: Patch) -> None:
    right = kernels.make_visibility_mask
    patch.setattr(
        kernels,
        "make_visibility_mask",
        lambda mask, queries, keys, causal, device: right(mask, queries, keys, False, device),
    )


def _means_that_forget(patch: Patch) -> None:
    right = kernels.running_mean_query_and_key
    patch.setattr(
        kernels, "running_mean_query_and_key", lambda query, key, mask, sums, count: right(query, key, mask, None, None)
    )


def _a_mean_over_padding(patch: Patch) -> None:
    right = kernels.mean_query_and_key
    patch.setattr(
        kernels, "mean_query_and_key", lambda query, key, *masks: right(query, key, None, torch.ones_like(masks[1]))
    )


def _frequencies_too_wide(patch: Patch) -> None:
    patch.setattr(tests, "initial_frequency_variance", lambda scale: 2 * kernels.initial_frequency_variance(scale))


def _an_even_network(patch: Patch) -> None:
    right = tests.apply_odd_network
    patch.setattr(tests, "apply_odd_network", lambda z, maps: right(z.abs(), maps))


def _rows_of_any_length(patch: Patch) -> None:
    right = kernels.copula_factor
    patch.setattr(kernels, "copula_factor", lambda directions, strength: 2 * right(directions, strength))


def _heads_that_are_not_joined(patch: Patch) -> None:
    patch.setattr(
        kernels, "correlate_noise_of_heads", lambda factor, noise: noise.expand(len(factor), *noise.shape[1:])
    )


def _a_divergence_without_the_copula(patch: Patch) -> None:
    right = kernels.frequency_kl_divergence
    patch.setattr(kernels, "frequency_kl_divergence", lambda *arguments: right(*arguments[:3], None))


def _padding_in_a_causal_summary(patch: Patch) -> None:
    right = kernels.running_mean_query_and_key
    patch.setattr(
        kernels, "running_mean_query_and_key", lambda q, k, mask, *past: right(q, k, torch.ones_like(mask), *past)
    )


def _a_divergence_of_all_positions(patch: Patch) -> None:
    patch.setattr(kernels, "_average_over_positions", lambda values, mask: values.sum(dim=1))


def _fresh_noise_in_evaluation(patch: Patch) -> None:
    patch.setattr(
        kernels.SpectralDensity,
        "draw_noise",
        lambda self, summary: torch.randn_like(self.evaluation_noise)[:, None, :, None],
    )


def _a_uniform_row_where_nothing_is_seen(patch: Patch) -> None:
    def wrong(energy: Any, value: Any, visible: Any, rate: float = 0.0, training: bool = False) -> Any:
        weights = energy.masked_fill(~visible, torch.finfo(energy.dtype).min).softmax(dim=-1)
        return weights.to(value.dtype) @ value, weights

    patch.setattr(kernels, "softmax_attention", wrong)


def _a_mask_before_the_magnitudes(patch: Patch) -> None:
    right = ops.softmax_attention

    def wrong(energy: Any, value: Any, visible: Any, rate: float = 0.0, training: bool = False) -> Any:
        return right(energy.masked_fill(~visible, -11.5) + 0.0, value, torch.ones_like(visible), rate, training)

    patch.setattr(kernels, "softmax_attention", wrong)


# Attention in linear time


def _rotations_as_lapack_leaves_them(patch: Patch) -> None:
    patch.setattr(torch, "sgn", torch.ones_like)


def _half_the_length_in_features(patch: Patch) -> None:
    right = linear.squared_norm
    patch.setattr(linear, "squared_norm", lambda x, p_norm: right(x, p_norm) / 2)


def _one_largest_feature_for_all_keys(patch: Patch) -> None:
    right = linear._find_largest_log_features

    def wrong(key: Any, mask: Any) -> Any:
        levels = right(key, mask)
        return levels.amax(dim=-1, keepdim=True).expand_as(levels)

    patch.setattr(linear, "_find_largest_log_features", wrong)


def _a_chunk_sees_all_of_itself(patch: Patch) -> None:
    right = linear._compute_causal_decay
    patch.setattr(
        linear, "_compute_causal_decay", lambda of_query, of_key, before: right(of_query, of_key, of_key.size(-1))
    )


def _sums_of_earlier_steps_are_lost(patch: Patch) -> None:
    right = linear.sum_keys
    patch.setattr(linear, "sum_keys", lambda key, value, mask, state: right(key, value, mask))


# Attention to pairs


def _a_softmax_for_each_first_key(patch: Patch) -> None:
    patch.setattr(
        triples, "_compute_pair_softmax", lambda scores, pairs: scores.masked_fill(~pairs, -1e9).softmax(-1) * pairs
    )


def _a_query_that_is_next_to_itself(patch: Patch) -> None:
    right = triples.modulate_query
    patch.setattr(triples_tests, "modulate_query", lambda query, *rest: right(query * (1 + 1e-6), *rest))


def _later_keys_join_pairs(patch: Patch) -> None:
    right = triples.make_visibility_mask
    patch.setattr(
        triples,
        "make_visibility_mask",
        lambda mask, queries, keys, causal, device: right(mask, queries, keys, False, device),
    )


def _tuples_of_the_last_chunk_alone(patch: Patch) -> None:
    right = triples.factorised_attention
    patch.setattr(triples_tests, "factorised_attention", lambda *given, state=None, **options: right(*given, **options))


# Times


def _envelopes_of_twice_the_power(patch: Patch) -> None:
    right = time.log_envelopes
    patch.setattr(time, "log_envelopes", lambda tau, parameters: 2 * right(tau, parameters))


def _behaviour_of_the_whole_history(patch: Patch) -> None:
    right = time_position.running_mean

    def wrong(vectors: Any, mask: Any) -> Any:
        means = right(vectors, mask)
        return means[:, -1:].expand_as(means)

    patch.setattr(time_position, "running_mean", wrong)


FAULTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (_scale_without_root, tests.test_property_1_the_example_factorises),
    (_scale_without_root, lambda: tests.test_property_1_rbf_and_l2_are_dot_products(False, torch.float64)),
    (_the_share_of_the_length_is_kept, lambda: tests.test_attention_equals_its_reference(1.0)),
    (
        _a_later_key_is_seen_in_dot_products,
        lambda: tests.test_requested_weights_are_those_of_the_output_and_change_no_bit_of_it("dot", True),
    ),
    (
        _no_floor_below_squares,
        lambda: tests.test_requested_weights_are_those_of_the_output_and_change_no_bit_of_it("direct", False),
    ),
    (_padding_joins_squares, lambda: tests.test_property_10_order_and_padding("mikan")),
    (_p_th_power_for_the_square, lambda: tests.test_property_2_the_table_of_norms(3.0)),
    (_frequencies_too_wide, tests.test_property_4_many_frequencies_give_the_rbf_kernel),
    (_an_even_network, tests.test_property_6_the_network_of_frequencies_is_odd),
    (_rows_of_any_length, tests.test_property_7_and_8_the_density_joins_its_heads_and_pays_for_it),
    (_heads_that_are_not_joined, tests.test_property_7_and_8_the_density_joins_its_heads_and_pays_for_it),
    (_heads_that_are_not_joined, tests.test_property_7_draws_in_training_have_the_correlation_and_the_marginals),
    (_a_divergence_without_the_copula, tests.test_property_7_and_8_the_density_joins_its_heads_and_pays_for_it),
    (_padding_in_a_causal_summary, lambda: tests.test_property_10_a_causal_summary_reads_no_padding("ika")),
    (_a_divergence_of_all_positions, lambda: tests.test_property_10_a_causal_summary_reads_no_padding("mikan")),
    (_fresh_noise_in_evaluation, lambda: tests.test_property_11_reading_in_parts_equals_reading_at_once("mikan")),
    (_a_mean_over_padding, lambda: tests.test_property_10_order_and_padding("ika")),
    (
        _mean_over_the_whole_text,
        lambda: tests.test_property_11_the_future_changes_nothing_where_it_must_not_be_read("ika"),
    ),
    (
        _no_mask_of_later_keys,
        lambda: tests.test_property_11_the_future_changes_nothing_where_it_must_not_be_read("direct"),
    ),
    (_means_that_forget, lambda: tests.test_property_11_reading_in_parts_equals_reading_at_once("mikan")),
    (_a_uniform_row_where_nothing_is_seen, lambda: tests.test_case_a_text_without_words_gives_zeros("ika")),
    (_a_mask_before_the_magnitudes, tests.test_case_a_mask_beats_the_largest_importance),
    (_rotations_as_lapack_leaves_them, linear_tests.test_02_orthogonal_projections_are_unbiased_too),
    (
        _half_the_length_in_features,
        lambda: linear_tests.test_02_products_of_features_are_unbiased_for_the_rbf_kernel("favor"),
    ),
    (
        _one_largest_feature_for_all_keys,
        lambda: linear_tests.test_06_a_changed_token_changes_no_output_before_it_by_a_single_bit("favor", 4),
    ),
    (_one_largest_feature_for_all_keys, linear_tests.test_a_huge_later_key_does_not_make_the_past_vanish),
    (
        _a_chunk_sees_all_of_itself,
        lambda: linear_tests.test_06_a_changed_token_changes_no_output_before_it_by_a_single_bit("elu", 4),
    ),
    (
        _a_chunk_sees_all_of_itself,
        lambda: linear_tests.test_01_sums_over_keys_equal_the_matrix_of_weights("learned", True, True),
    ),
    (
        _sums_of_earlier_steps_are_lost,
        lambda: linear_tests.test_07_a_stream_of_single_tokens_equals_the_whole("hyperbolic"),
    ),
    (
        _a_softmax_for_each_first_key,
        lambda: triples_tests.test_01_second_keys_and_values_of_one_give_softmax_attention(True, False),
    ),
    (
        _a_query_that_is_next_to_itself,
        lambda: triples_tests.test_07_contextual_attention_of_strength_zero_is_softmax_attention_bit_for_bit(
            False, torch.float64
        ),
    ),
    (
        _later_keys_join_pairs,
        lambda: triples_tests.test_09_a_changed_token_changes_no_output_before_it_by_a_single_bit("volume"),
    ),
    (
        _tuples_of_the_last_chunk_alone,
        lambda: triples_tests.test_10_a_stream_of_single_tokens_equals_the_whole_with_a_state_of_fixed_size(2, False),
    ),
    (_envelopes_of_twice_the_power, time_tests.test_property_1_one_component_and_one_frequency),
    (
        _behaviour_of_the_whole_history,
        lambda: time_layer_tests.test_property_9_later_events_and_times_leave_earlier_outputs_alone(
            "lste_behaviour", "kernel"
        ),
    ),
]


@pytest.mark.parametrize(("fault", "test"), FAULTS, ids=lambda one: getattr(one, "__name__", "").strip("_"))
def test_a_fault_is_found(fault: Callable[[Patch], None], test: Callable[[], None], monkeypatch: Patch) -> None:
    test()
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        test()
