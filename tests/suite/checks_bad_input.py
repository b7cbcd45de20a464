"""Mistakes of a caller raise an error that names them."""

from __future__ import annotations

import pytest

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
