"""A smaller sample of questions: where any will do, the 6,800 of the generated sample take a second each time."""

from __future__ import annotations

from functools import partial

import pytest

from ctxzoo.tasks.question_answering import reader
from ctxzoo.tasks.question_answering.sample import sample_squad


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "sample_squad", partial(sample_squad, train=300, validation=60, test=60))
