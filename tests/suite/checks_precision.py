"""bfloat16 weights and bfloat16 autocast stay close to float32, values and gradients."""

from __future__ import annotations

from typing import Any

import torch

from tests.suite.marks import through_heads
from tests.suite.subjects import BEYOND_ANY_OUTPUT, Subject, gradients, named_tensors

# bfloat16 keeps 8 bits: one rounding is 0.4 %. Shares of the largest value of an output.
VALUE_TOLERANCE = 0.03
LEAST_COSINE = 0.99


def _compare(subject: Subject, model: Any, output: Any) -> None:
    exact_model = subject.model()
    exact = exact_model(**subject.batch(labels=True))
    expected = named_tensors(exact)
    for name, x in named_tensors(output).items():
        reference = expected[name]
        masked = reference.abs() > BEYOND_ANY_OUTPUT
        assert torch.equal(x.abs().double() > BEYOND_ANY_OUTPUT, masked), f"{name}: masked at other places"
        distance = (x.double() - reference).masked_fill(masked, 0).abs().max()
        scale = reference.masked_fill(masked, 0).abs().max()
        assert distance <= VALUE_TOLERANCE * scale, f"{name}: off by {distance} of {scale}"
    ours = torch.cat([g.flatten().double() for g in gradients(subject.scalar(output), model).values()])
    theirs = torch.cat([g.flatten().double() for g in gradients(subject.scalar(exact), exact_model).values()])
    assert torch.cosine_similarity(ours, theirs, dim=0) > LEAST_COSINE
    assert 0.95 < ours.norm() / theirs.norm() < 1.05


class PrecisionChecks:
    @through_heads
    def test_bfloat16_weights_are_close(self, subject: Subject) -> None:
        model = subject.model(dtype=torch.bfloat16)
        _compare(subject, model, model(**subject.batch(dtype=torch.bfloat16, labels=True)))

    @through_heads
    def test_bfloat16_autocast_is_close(self, subject: Subject) -> None:
        model = subject.model()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = model(**subject.batch(labels=True))
        _compare(subject, model, output)
        assert all(p.dtype == torch.float32 for p in model.parameters())
