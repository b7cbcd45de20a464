"""Second-order attention: every implementation against the third-order tensor, in values and gradients."""

from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_second_order_attention import Implementation, second_order_attention, second_order_weights
from tests.references.second_order_attention import reference_second_order_attention

IMPLEMENTATIONS: tuple[Implementation, ...] = ("plain", "closed_form", "recompute")
Inputs = tuple[torch.Tensor, ...]


def inputs(lengths: tuple[int, ...] = (5, 1, 3), m: int = 4, u: int = 3, seed: int = 0) -> tuple[Inputs, torch.Tensor]:
    """x, c, U, V, W in float64 with gradients; the mask has a hole in its first row."""
    generator = torch.Generator().manual_seed(seed)
    n = max(lengths)
    shapes = ((len(lengths), n, m), (len(lengths), m), (u, m), (u, m), (m, u))
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    mask = torch.arange(n) < torch.tensor(lengths).unsqueeze(1)
    if lengths[0] > 2:
        mask[0, 1] = False
    return tuple(tensors), mask


def attend(tensors: Inputs, mask: torch.Tensor, implementation: Implementation) -> torch.Tensor:
    x, context, token, of_context, feature = tensors
    return second_order_attention(x, x @ token.T, context @ of_context.T, feature, mask, implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("lengths", [(5, 1, 3), (1,), (9, 0, 2)])
def test_values_and_gradients_equal_the_reference(implementation: Implementation, lengths: tuple[int, ...]) -> None:
    tensors, mask = inputs(lengths)
    expected, _ = reference_second_order_attention(*tensors, mask)
    found = attend(tensors, mask, implementation)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weight = torch.linspace(-1, 2, found.numel(), dtype=torch.float64).view_as(found)
    wanted = torch.autograd.grad((expected * weight).sum(), tensors)
    given = torch.autograd.grad((found * weight).sum(), tensors)
    for name, one, other in zip("xcUVW", given, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_gradcheck(implementation: Implementation) -> None:
    tensors, mask = inputs((3, 2), m=3, u=2)
    assert torch.autograd.gradcheck(lambda *given: attend(given, mask, implementation), tensors)


def test_only_the_plain_form_can_be_differentiated_twice() -> None:
    tensors, mask = inputs((3, 2), m=3, u=2)
    assert torch.autograd.gradgradcheck(lambda *given: attend(given, mask, "plain"), tensors)
    for implementation in IMPLEMENTATIONS[1:]:
        # Of a plain sum, of which what comes from above needs no gradient itself.
        loss = attend(tensors, mask, implementation).sum()
        with pytest.raises(RuntimeError, match="second-order attention has no second derivatives"):
            torch.autograd.grad(loss, tensors[:1], create_graph=True)


def test_the_closed_form_of_the_gradient_of_the_logits() -> None:
    """dL/d logit_ij = a_ij g_j (x_ij - c_j), against autograd."""
    generator = torch.Generator().manual_seed(3)
    logits, x = (torch.randn(2, 6, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    logits.requires_grad_()
    a = torch.softmax(logits, dim=1)
    c = (a * x).sum(dim=1)
    g = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    (wanted,) = torch.autograd.grad((c * g).sum(), logits)
    torch.testing.assert_close(a * g.unsqueeze(1) * (x - c.unsqueeze(1)), wanted, rtol=1e-12, atol=1e-12)


def test_weights_of_a_feature_sum_to_one_over_the_words() -> None:
    tensors, mask = inputs((5, 1, 0))
    x, context, token, of_context, feature = tensors
    weights = second_order_weights(x @ token.T, context @ of_context.T, feature, mask)
    torch.testing.assert_close(weights, reference_second_order_attention(*tensors, mask)[1])
    torch.testing.assert_close(
        weights.sum(dim=1), torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)[:, None].expand(3, 4)
    )
    assert weights[~mask].abs().max() == 0


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_new_context_lies_between_the_words(implementation: Implementation) -> None:
    tensors, mask = inputs((6, 4, 2))
    found = attend(tensors, mask, implementation)
    x = tensors[0]
    low = x.masked_fill(~mask.unsqueeze(-1), torch.inf).amin(dim=1)
    high = x.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1)
    assert bool(((found >= low - 1e-12) & (found <= high + 1e-12)).all())


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_word_is_the_context_whatever_the_weights(implementation: Implementation) -> None:
    tensors, mask = inputs((1, 1))
    torch.testing.assert_close(attend(tensors, mask, implementation), tensors[0][:, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("zero", [1, 2, 3, 4])
def test_without_one_factor_the_context_is_the_mean(implementation: Implementation, zero: int) -> None:
    tensors, mask = inputs((5, 2, 3))
    changed = tuple(torch.zeros_like(t) if place == zero else t for place, t in enumerate(tensors))
    real = mask.unsqueeze(-1)
    mean = (tensors[0] * real).sum(dim=1) / real.sum(dim=1)
    torch.testing.assert_close(attend(changed, mask, implementation), mean)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_factors_may_be_rescaled_against_each_other(implementation: Implementation) -> None:
    tensors, mask = inputs()
    x, c, u, v, w = tensors
    rescaled = (x, c, 3 * u, -2 * v, w / -6)
    torch.testing.assert_close(attend(rescaled, mask, implementation), attend(tensors, mask, implementation))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_number_added_to_all_logits_of_a_feature_changes_nothing(implementation: Implementation) -> None:
    """A further rank whose p is 1 for every word adds W_jr q_r to feature j."""
    tensors, mask = inputs()
    x, c, u, v, w = tensors
    p, q = x @ u.T, c @ v.T
    shifted = second_order_attention(
        x,
        torch.cat([p, torch.ones_like(p[..., :1])], dim=-1),
        torch.cat([q, torch.ones_like(q[:, :1])], dim=-1),
        torch.cat([w, torch.arange(4, dtype=torch.float64).unsqueeze(1) * 5], dim=1),
        mask,
        implementation,
    )
    torch.testing.assert_close(shifted, attend(tensors, mask, implementation))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_large_logits_stay_finite(implementation: Implementation) -> None:
    x = torch.tensor([[[1.0], [-1.0], [0.5]]]).requires_grad_()
    p = torch.tensor([[[1e4], [-1e4], [9e3]]]).requires_grad_()
    q, w = torch.ones(1, 1).requires_grad_(), torch.ones(1, 1).requires_grad_()
    out = second_order_attention(x, p, q, w, torch.ones(1, 3, dtype=torch.bool), implementation)
    assert out.item() == 1.0
    out.sum().backward()
    assert all(bool(t.grad is not None and t.grad.isfinite().all()) for t in (x, p, q, w))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("autocast", [False, True])
def test_bfloat16_is_close(implementation: Implementation, autocast: bool) -> None:
    tensors, mask = inputs((40, 7), m=12, u=6)
    tensors = (*tensors[:2], *((0.3 * factor).detach().requires_grad_() for factor in tensors[2:]))
    expected, _ = reference_second_order_attention(*tensors, mask)
    low = tuple(t.detach().to(torch.float32 if autocast else torch.bfloat16).requires_grad_() for t in tensors)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        found = attend(low, mask, implementation)
    assert found.dtype == low[0].dtype
    torch.testing.assert_close(found.double(), expected, rtol=0.03, atol=0.03)
    found.float().sum().backward()
    wanted = torch.autograd.grad(expected.sum(), tensors)
    for one, other in zip(low, wanted, strict=True):
        assert one.grad is not None
        assert one.grad.dtype == one.dtype
        assert float((one.grad.double() - other).norm() / other.norm()) < 0.05


def test_several_contexts_of_a_document() -> None:
    tensors, mask = inputs()
    x, _, u, v, w = tensors
    contexts = torch.randn(3, 2, 4, dtype=torch.float64)
    found = second_order_attention(x.unsqueeze(1), (x @ u.T).unsqueeze(1), contexts @ v.T, w, mask.unsqueeze(1))
    for place in range(2):
        alone, _ = reference_second_order_attention(x, contexts[:, place], u, v, w, mask)
        torch.testing.assert_close(found[:, place], alone)


def test_recomputing_keeps_less() -> None:
    """Beside its inputs only the result, and in closed form the weights."""
    tensors, mask = inputs((50, 50), m=8, u=6)
    x, context, token, of_context, feature = (t.detach() for t in tensors)
    given = [t.requires_grad_() for t in (x, x @ token.T, context @ of_context.T, feature)]
    kept: dict[str, set[int]] = {}
    for implementation in IMPLEMENTATIONS:
        sizes: dict[int, int] = {}

        def pack(t: torch.Tensor, sizes: dict[int, int] = sizes) -> torch.Tensor:
            sizes[t.untyped_storage().data_ptr()] = t.numel()
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            second_order_attention(*given, mask, implementation)
        inputs_kept = {t.untyped_storage().data_ptr() for t in (*given, mask)}
        kept[implementation] = {size for pointer, size in sizes.items() if pointer not in inputs_kept}
    assert max(kept["plain"]) == x.numel()
    assert kept["closed_form"] == {x.numel(), context.numel()}
    assert kept["recompute"] == {context.numel()}


@pytest.mark.parametrize(
    ("implementation", "message"),
    [("fast", "'fast' is none of auto"), ("triton", "needs the package triton and a CUDA")],
)
def test_implementations_that_cannot_run(implementation: Implementation, message: str) -> None:
    tensors, mask = inputs()
    with pytest.raises(ValueError, match=message):
        attend(tensors, mask, implementation)
