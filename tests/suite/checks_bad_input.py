"""Mistakes of a caller raise an error that names them."""

from __future__ import annotations

import pytest

from tests.suite.marks import needs_sequences, through_heads
from tests.suite.subjects import Subject


class BadInputChecks:
    def test_bad_input_is_named(self, subject: Subject) -> None:
        model = subject.model()
        mistakes = subject.case.bad_inputs(subject.config(), subject.head)
        assert mistakes
        for mistake in mistakes:
            batch = subject.batch(labels=True)
            mistake.change(batch)
            try:
                with pytest.raises(mistake.error, match=mistake.message):
                    model(**batch)
            except (Exception, pytest.fail.Exception) as failure:
                raise AssertionError(f"bad input {mistake.name!r}: {failure}") from failure

    @needs_sequences
    @through_heads
    def test_a_mask_of_other_numbers_than_0_and_1_is_refused(self, subject: Subject) -> None:
        model = subject.model()
        for name in subject.case.sequences:
            for value in (-1.0, 0.5, float("nan")):
                batch = subject.batch()
                batch[name] = batch[name].double()
                batch[name][0, -1] = value
                with pytest.raises(ValueError, match=f"mask.* holds {value}; expected 1 at words and 0 at padding"):
                    model(**batch)
